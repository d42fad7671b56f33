#!/usr/bin/env bash
# completion_test.sh BUILD_DIR: what `cmake --install` installs for shells, kubectl and man works in
# them: keys are typed into each shell that is there, in a terminal of its own.
set -uo pipefail
build=$(realpath -- "$1")
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=checks.bash
. test/checks.bash
skipped=0
work=$(mktemp -d)
clean_up() {
  "$finished" || echo "not ok - the test ended early"
  rm -rf -- "$work"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

usr=$work/usr
cmake --install "$build" --prefix "$usr" >/dev/null || exit
export PATH=$usr/bin:$PATH
unset XDG_CONFIG_HOME XDG_DATA_HOME

# --- What is installed.
cat >"$work/wanted" <<'FILES'
bin/cluster-watcher
bin/kubectl-cluster_watcher
bin/kubectl_complete-cluster_watcher
share/bash-completion/completions/cluster-watcher
share/fish/vendor_completions.d/cluster-watcher.fish
share/man/man1/cluster-watcher.1
share/zsh/site-functions/_cluster-watcher
FILES
(cd "$usr" && find . ! -type d -printf '%P\n' | sort) >"$work/found"
check "the program and its company are installed" same "$work/wanted" "$work/found"
check "as a plugin of kubectl it is the same program" \
  same <(cluster-watcher version) <(kubectl-cluster_watcher version)
check "a link that can be moved with it" is "$(readlink "$usr/bin/kubectl-cluster_watcher")" cluster-watcher
check "below DESTDIR too" same "$work/wanted" <(
  DESTDIR=$work/stage cmake --install "$build" --prefix /usr >/dev/null
  cd "$work/stage/usr" && find . ! -type d -printf '%P\n' | sort)

# --- The manual.
if command -v groff >/dev/null; then
  manual() { groff -man -ww -rLL="$1"n -Tascii -P-c "$usr/share/man/man1/cluster-watcher.1"; }
  warnings() { manual "$1" 2>&1 >/dev/null | head -n 5; }
  check "groff has nothing to say against the manual" is "$(warnings 80)" ""
  check "nor on a narrow screen" is "$(warnings 60)" ""
  manual 200 2>/dev/null | sed 's/.\x08//g' >"$work/manual"
  # As a person would copy them.
  missing() {
    local command flag
    cluster-watcher help | awk '/^Commands:/ { ours = 1; next } !NF { ours = 0 } ours && /^  [a-z]/ { print $1 }' |
      while read -r command; do
        grep -qE "^   $command\$" "$work/manual" || echo "$command"
        cluster-watcher help "$command" | sed -nE 's/^ +(-., )?(--[^ ]+).*/\2/p' | while read -r flag; do
          grep -qF -- "$flag" "$work/manual" || echo "$command: $flag"
        done
      done
  }
  check "the manual has the commands and flags of help" is "$(missing)" ""
else
  echo "skipped: there is no groff to read the manual"
  skipped=$((skipped + 3))
fi

# --- kubectl
tools=$(test/kubernetes/build) || exit
as_plugin() { "$tools/kubectl" __complete cluster-watcher "$@" 2>/dev/null; }
check "kubectl completes commands of the plugin" is \
  "$(as_plugin che)" "$(cluster-watcher __complete che)"
check "and flags" is "$(as_plugin check --outp)" "$(cluster-watcher __complete check --outp)"
check "and values" is "$(as_plugin check --output=)" $'text\njson\nyaml\n:4'
check "and leaves files to the shell" is "$(as_plugin inject -f '')" :0
check "the script for it in the documents is the one that is installed" same \
  "$usr/bin/kubectl_complete-cluster_watcher" <(sed -n '/^#!\/bin\/sh$/,/^```$/p' docs/shells.md | grep -v '```')

# --- Shells
mkdir -p "$work/home/.kube" "$work/files"
cat >"$work/home/.kube/config" <<'YAML'
{apiVersion: v1, kind: Config, contexts: [{name: "arn:aws:eks:eu:1:cluster/x", context: {cluster: c}}, {name: "a b", context: {cluster: c}}]}
YAML
unset KUBECONFIG
touch "$work/files/some file.yaml"
ln -s "$usr" "$work/home/usr"

# Keys, and the words of the command line that they make. \t is the key that completes.
cat >"$work/keys" <<'KEYS'
cluster-watcher comp\t|<cluster-watcher><completion>
cluster-watcher completion z\t|<cluster-watcher><completion><zsh>
cluster-watcher help web\t|<cluster-watcher><help><webhook>
cluster-watcher -n lab chec\tc1|<cluster-watcher><-n><lab><check><c1>
cluster-watcher check -o j\t|<cluster-watcher><check><-o><json>
cluster-watcher check -oj\t|<cluster-watcher><check><-ojson>
cluster-watcher check -o=j\t|<cluster-watcher><check><-o=json>
cluster-watcher check --outp\tj\t|<cluster-watcher><check><--output=json>
cluster-watcher check --log-format=json --outp\tt\t|<cluster-watcher><check><--log-format=json><--output=text>
cluster-watcher watch --dry-r\t--listen=:1 --obs\tp\t|<cluster-watcher><watch><--dry-run><--listen=:1><--observe=poll>
cluster-watcher watch --dry-run=f\t|<cluster-watcher><watch><--dry-run=false>
cluster-watcher inject -f som\t|<cluster-watcher><inject><-f><some file.yaml>
cluster-watcher inject --config=som\t|<cluster-watcher><inject><--config=some file.yaml>
cluster-watcher completion som\t|<cluster-watcher><completion><som>
cluster-watcher check som\t|<cluster-watcher><check><som>
cluster-watcher list --context a\t|<cluster-watcher><list><--context><arn:aws:eks:eu:1:cluster/x>
cluster-watcher list --context=arn:aws:e\t|<cluster-watcher><list><--context=arn:aws:eks:eu:1:cluster/x>
kubectl-cluster_watcher vers\t|<kubectl-cluster_watcher><version>
~/usr/bin/cluster-watcher vers\t|<~/usr/bin/cluster-watcher><version>
KEYS
cut -d '|' -f 2 "$work/keys" | sed "s,~,$work/home," >"$work/lines"

# typed SHELL...: types the keys into the shell, which has a command `show`, and prints what lines they
# made.
typed() {
  local log=$work/terminal keys lines=0
  : >"$log"
  {
    within grep -q 'ready>' "$log"
    while IFS='|' read -r keys _; do
      printf '%b\001show \n' "${keys/#\~/\\x7e}"
      lines=$((lines + 1))
      within ended "$lines" || break
    done <"$work/keys"
    printf 'exit\n'
  } | (cd "$work/files" && HOME=$work/home ZDOTDIR=$work/home INPUTRC=/dev/null TERM=xterm \
    exec script -qefc "$*" "$log" >/dev/null 2>&1)
  grep -aoE '<[^>]*cluster.watcher>.*<end>' "$log" | sed 's/<end>$//'
}
ended() { (($(grep -aoE '<end>' "$work/terminal" | wc -l) >= $1)); }
completes() { # HOW SHELL...
  local how=$1
  shift
  if ! command -v "$1" >/dev/null; then
    echo "skipped: $how: there is no $1"
    skipped=$((skipped + 1))
    return
  fi
  typed "$@" >"$work/made"
  check "$how" same "$work/lines" "$work/made"
}

show='show() { printf "<%s>" "$@" end; echo; }'
cat >"$work/bashrc" <<RC
$show
PS1='ready> '
RC
for options in "" "set -o posix" "set -u" "COMP_WORDBREAKS=\${COMP_WORDBREAKS//:}"; do
  { cat "$work/bashrc"; echo "$options"; echo 'eval "$(cluster-watcher completion bash)"'; } >"$work/bashrc-eval"
  completes "bash, evaluated${options:+, $options}" bash --noprofile --rcfile "$work/bashrc-eval" -i
done
{ cat "$work/bashrc"; echo 'source <(cluster-watcher completion bash)'; } >"$work/bashrc-sourced"
completes "bash, sourced" bash --noprofile --rcfile "$work/bashrc-sourced" -i

zshrc() { printf '%s\n' "$show" "PS1='ready> '" "$@" >"$work/home/.zshrc"; }
zshrc 'autoload -Uz compinit' 'compinit -u' 'source <(cluster-watcher completion zsh)'
completes "zsh, sourced" zsh -d -i
zshrc 'source <(cluster-watcher completion zsh)'
completes "zsh, sourced without compinit" zsh -d -i
zshrc "fpath=($usr/share/zsh/site-functions \$fpath)" 'autoload -Uz compinit' 'compinit -u'
completes "zsh, installed" zsh -d -i

# Where fish has these, its first start makes none of the manuals in the background.
mkdir -p "$work/home/.config/fish" "$work/home/.local/share/fish/generated_completions"
cat >"$work/home/.config/fish/config.fish" <<'RC'
set -g fish_greeting
function fish_prompt; echo 'ready> '; end
function show; printf '<%s>' $argv end; echo; end
RC
XDG_DATA_DIRS=$usr/share:/usr/share completes "fish, installed" fish -i
mkdir -p "$work/home/.config/fish/completions"
cluster-watcher completion fish >"$work/home/.config/fish/completions/cluster-watcher.fish"
completes "fish, a file of the user's" fish -i

finished=true
line="$passed passed, $failed failed"
((skipped == 0)) || line+=", $skipped skipped"
echo "$line"
((failed == 0))
