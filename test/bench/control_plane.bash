# What benchmarks of the release build start with: a directory of their own, $work; the program; and a
# real control plane without scheduler and nodes. All of it goes with the script, and so do the
# processes in $pids. The script has $script, its name.
# shellcheck shell=bash disable=SC2034,SC2154
say() { echo "$script: $*" >&2; }
die() { say "$@"; exit 1; }

work=$(mktemp -d)
declare -A pids=()
main=$BASHPID
cleanup() {
  trap - EXIT
  local pid
  [[ $BASHPID == "$main" ]] || exit
  # Without the shell's messages about each.
  for pid in "${pids[@]}"; do kill -KILL "$pid" && wait "$pid"; done 2>/dev/null || :
  test/kubernetes/stop "$work/kubernetes" || :
  rm -rf -- "$work"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# quietly COMMAND...: its output is shown only where it fails.
quietly() { "$@" >"$work/quietly.log" 2>&1 || { cat "$work/quietly.log" >&2; die "$* failed"; }; }

# release_program FILE: builds the program as it is delivered, and puts it there.
release_program() {
  quietly scripts/build release cluster-watcher
  strip -o "$1" build-release/cluster-watcher
}

# start_control_plane: sets $namespace, which it makes, and $api, and the environment of
# test/kubernetes/start. Its controller manager has Kubernetes' default client limits.
start_control_plane() {
  say "starting a control plane"
  WATCH_PID=$$ CONTROLLER_MANAGER_FLAGS="--kube-api-qps=20 --kube-api-burst=30" \
    test/kubernetes/start "$work/kubernetes"
  # shellcheck source=/dev/null
  . "$work/kubernetes/env"
  namespace=bench
  api=$APISERVER/api/v1/namespaces/$namespace
  (umask 077 && echo "Authorization: Bearer $APISERVER_TOKEN" >"$work/authorization" &&
    printf %s "$APISERVER_TOKEN" >"$work/token")  # a Pod's has no line end either
  kubectl create namespace "$namespace" >/dev/null
}
