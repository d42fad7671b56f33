# Checks that are counted, for tests in bash. The test sets finished=true at its end and prints "N
# passed, N failed" last.
# shellcheck shell=bash disable=SC2034
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
# within SECONDS COMMAND...: waits until the command succeeds.
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.1
  done
}
# same WANTED_FILE FOUND_FILE
same() { diff -u --label wanted "$1" --label found "$2"; }
# is FOUND WANTED
is() { [[ $1 == "$2" ]] || { echo "# '$1', not '$2'"; return 1; }; }
not() { ! "$@"; }
