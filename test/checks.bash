# Checks that are counted, for tests in bash. The test sets finished=true at its end and prints "N
# passed, N failed" last.
# shellcheck shell=bash disable=SC2034
# shellcheck source=within.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/within.bash"
passed=0 failed=0 finished=false

# check WHAT COMMAND...
check() {
  local what=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
    echo "ok - $what"
  else
    failed=$((failed + 1))
    echo "not ok - $what"
  fi
}
# empty: passes if standard input is empty; else shows it. Before `... | check WHAT empty` counts, the
# test needs `shopt -s lastpipe`.
empty() {
  local found
  found=$(cat)
  [[ -z $found ]] || { printf '%s\n' "$found"; return 1; }
}
# same WANTED_FILE FOUND_FILE
same() { diff -u --label wanted "$1" --label found "$2"; }
# is FOUND WANTED
is() { [[ $1 == "$2" ]] || { echo "# '$1', not '$2'"; return 1; }; }
not() { ! "$@"; }
