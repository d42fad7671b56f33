# within SECONDS COMMAND...: waits until the command succeeds.
# shellcheck shell=bash
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.05
  done
}
