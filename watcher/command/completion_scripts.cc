#include "watcher/command/completion.h"

namespace cluster_watcher {
namespace {

// Bash 4.2 and later, without the package bash-completion.
constexpr const char* kBash = R"script(# bash completion for cluster-watcher

_cluster_watcher() {
  local rest=${COMP_LINE:0:COMP_POINT} words=() blanks word i
  # COMP_WORDS is broken at "=" and ":" too; put together what no blank separates.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    blanks=${rest%%[![:space:]]*}
    rest=${rest#"$blanks"}
    word=${COMP_WORDS[i]}
    ((i < COMP_CWORD)) || word=$rest
    if [[ $i == 0 || -n $blanks ]]; then
      words+=("$word")
    else
      words[${#words[@]}-1]+=$word
    fi
    rest=${rest#*"$word"}
  done
  local quotes="[\"']"
  words=("${words[@]//$quotes/}")

  local program=${words[0]} lines=()
  [[ $program != "~/"* ]] || program=$HOME${program#"~"}
  type -P -- "$program" >/dev/null || program=cluster-watcher
  mapfile -t lines <<<"$("$program" __complete "${words[@]:1}" 2>/dev/null)"
  local directive=${lines[${#lines[@]}-1]}
  COMPREPLY=()
  [[ $directive == :* ]] || return 0

  # Readline replaces only $2, the end of the word.
  local current=${words[${#words[@]}-1]} lead=
  [[ $current != -*=* ]] || lead=${current%%=*}=
  for ((i = 0; i < ${#lines[@]} - 1; i++)); do
    word=$lead${lines[i]%%$'\t'*}
    COMPREPLY+=("${word#"${current%"$2"}"}")
  done
  ((!(${directive#:} & 2))) || compopt -o nospace
  ((${directive#:} & 4)) || compopt -o default
}

complete -F _cluster_watcher cluster-watcher kubectl-cluster_watcher
)script";

// To be sourced, or a file _cluster-watcher in $fpath.
constexpr const char* kZsh = R"script(#compdef cluster-watcher kubectl-cluster_watcher
# zsh completion for cluster-watcher

_cluster-watcher() {
  local program=${(Q)words[1]} line entry directive ret=1
  local -a lines plain open
  [[ $program != "~/"* ]] || program=$HOME${program#"~"}
  (( $+commands[$program] )) || [[ -x $program ]] || program=cluster-watcher
  lines=("${(@f)$("$program" __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  directive=${lines[-1]}
  [[ $directive == :* ]] || return 1

  [[ $PREFIX != -*=* ]] || compset -P 1 '*='
  for line in "${(@)lines[1,-2]}"; do
    entry=${${line%%$'\t'*}//:/\\:}
    [[ $line != *$'\t'* ]] || entry+=:${line#*$'\t'}
    # No space follows "--name=".
    if [[ ${line%%$'\t'*} == *= ]]; then open+=("$entry"); else plain+=("$entry"); fi
  done
  _describe cluster-watcher plain -- open -S '' && ret=0
  if (( ! (${directive#:} & 4) )); then
    [[ $PREFIX != -[^-]* ]] || compset -P '-?'
    _files && ret=0
  fi
  return ret
}

if [[ ${funcstack[1]} == _cluster-watcher ]]; then
  _cluster-watcher "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
  compdef _cluster-watcher cluster-watcher kubectl-cluster_watcher
fi
)script";

constexpr const char* kFish = R"script(# fish completion for cluster-watcher

function __cluster_watcher_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~(?=/)' -- "$HOME" $words[1])
    type -q -- $program; or set program cluster-watcher
    set -l lines ($program __complete $words[2..-1] "$current" 2>/dev/null)
    set -l directive $lines[-1]
    string match -q -- ':*' "$directive"; or return
    set -e lines[-1]

    set -l lead (string match -r -- '^-[^=]*=' "$current")
    for line in $lines
        printf '%s\n' "$lead$line"
    end
    if test "$directive" = :0
        for path in (__fish_complete_path (string sub -s (math 1 + (string length -- "$lead")) -- "$current"))
            printf '%s\n' "$lead$path"
        end
    end
end

complete -c cluster-watcher -c kubectl-cluster_watcher -f -a '(__cluster_watcher_complete)'
)script";

}  // namespace

std::string CompletionScript(Shell shell) {
  switch (shell) {
    case Shell::kBash:
      return kBash;
    case Shell::kZsh:
      return kZsh;
    case Shell::kFish:
      return kFish;
  }
  return "";
}

}  // namespace cluster_watcher
