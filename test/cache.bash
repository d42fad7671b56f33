# What tests need and what takes long to make or to get is kept outside of the tree, in $cache: one
# directory for each, named after all that decides what is in it. What is there is complete, and of two
# that want the same at once one waits. Sourced by the scripts that print such a directory.
# shellcheck shell=bash disable=SC2030,SC2031
cache=$(realpath -m -- "${CLUSTER_WATCHER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cluster-watcher}")
kept=''

this_script=$(realpath -- "$0")
this_script=${this_script#"$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")/..")/"}
say() { echo "$this_script: $*" >&2; }
# die TEXT...: with an exit code that tells who made it that all is said.
die() { say "$@"; exit 3; }

# key WORD...: a short name for all of these.
key() { printf '%s\n' "$@" | sha256sum | cut -c 1-12; }

# has DIR FILE...: each is there, and not empty.
has() {
  local file
  for file in "${@:2}"; do [[ -s $1/$file ]] || return 1; done
}

# keep NAME WHAT MAKE CHECK...: sets $kept to the directory NAME of the cache. Where `CHECK[0] DIR
# CHECK[1]...` doesn't find it complete, MAKE fills $made; it may use $scratch. Exits where that fails.
# Call it as a command of its own, not in a condition, so that each failure within MAKE ends it.
keep() {
  local name=$1 what=$2 make=$3 check=$4
  shift 4
  kept=$cache/$name
  if "$check" "$kept" "$@"; then return; fi
  (
    { mkdir -p -- "$cache" && exec 9>"$kept.lock"; } 2>/dev/null ||
      die "$kept.lock can't be written: mend that, or set CLUSTER_WATCHER_CACHE to another directory."
    if ! flock -n 9; then
      say "waiting for another that makes $what and holds $kept.lock."
      flock -w 3600 9 || die "$kept.lock has been held for an hour: end who holds it, and run this again."
    fi
    if "$check" "$kept" "$@"; then exit; fi
    [[ ! -e $kept ]] || say "$kept is incomplete: $what is made again."
    # What was left by those who were killed.
    rm -rf -- "$kept" "$kept".[A-Za-z0-9][A-Za-z0-9][A-Za-z0-9][A-Za-z0-9][A-Za-z0-9][A-Za-z0-9]
    scratch=$(mktemp -d "$kept.XXXXXX")
    made=$scratch/made
    chmod 755 "$scratch"
    mkdir -m 755 -- "$made"
    trap 'left "$what" $?' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    "$make" 9>&-
    "$check" "$made" "$@"
    mv -T -- "$made" "$kept"
  )
}
# left WHAT EXIT: how the making of it ended.
left() {
  rm -rf -- "$scratch"
  (($2 == 0 || $2 == 3 || $2 > 128)) ||
    say "$1 could not be made, for what is said above: mend that (is there a network?), and run this again."
}
