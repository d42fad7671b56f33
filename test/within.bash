# within COMMAND...: waits until the command succeeds, as long as a machine that others load may need.
# shellcheck shell=bash
within() {
  local end=$((SECONDS + 300))
  until "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.05
  done
}

# never COMMAND...: it doesn't succeed, for as long as what must not happen would take.
never() {
  local end=$((SECONDS + 10))
  while ((SECONDS < end)); do
    ! "$@" || return 1
    sleep 0.05
  done
}
