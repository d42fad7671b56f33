# Shared by start, stop, apiserver and node: the processes of the control plane in $dir.
# $dir/pids/NAME holds a pid and the start time of its process (as the kernel counts it), so that
# another process with the same pid is never taken for ours.
# shellcheck shell=bash disable=SC2034,SC2154

# A node's addresses, from a range reserved for testing networks, which hardly anyone else on a
# machine uses.
node_network=198.18.1.0/24 node_address=198.18.1.1 node_services=198.18.1.0/25 node_pods=198.18.1.128/25

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
say() { echo "test/kubernetes/${0##*/}: $*" >&2; }
die() { say "$@"; exit 1; }

# shellcheck source=../within.bash
. "$here/../within.bash"

# stat PID: reads the words of /proc/PID/stat, from the state on, into $stat.
stat() {
  local line
  read -r line <"/proc/$1/stat" && read -r -a stat <<<"${line##*) }"
} 2>/dev/null

# alive NAME: sets pid. A process lives until it has released its files and ports: an entry that its
# parent hasn't collected yet (state Z, and no other thread) doesn't count.
alive() {
  local began
  local -a stat
  read -r pid began <"$dir/pids/$1" && stat "$pid" &&
    [[ ${stat[19]} == "$began" && (${stat[0]} != Z || ${stat[17]} -gt 1) ]]
} 2>/dev/null
dead() { ! alive "$1"; }

# launch NAME COMMAND...: starts it in a session of its own, in $dir, with an empty environment and
# none of the caller's files.
launch() {
  local name=$1
  local -a stat
  shift
  (
    cd "$dir" || exit
    exec setsid env -i PATH="$PATH" HOME="$dir" "$@" \
      </dev/null >>"$dir/$name.log" 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
  ) &
  pid=$!
  disown "$pid"
  stat "$pid" || die "$name ended at once."
  echo "$pid ${stat[19]}" >"$dir/pids/$name"
}

# end NAME: kills it, because there is nothing to save and a kube-apiserver with open watches takes
# ten seconds to stop; returns when it has ended.
end() {
  if alive "$1" && ((pid != $$)); then
    kill -KILL -- "-$pid" "$pid" 2>/dev/null || :
    within dead "$1" || die "process $pid ($1) does not end."
  fi
  rm -f -- "$dir/pids/$1"
}

# kubectl ARGUMENT...: as the administrator; leaves nothing in the home directory.
kubectl() {
  KUBECONFIG="$dir/kubeconfig" KUBECACHEDIR="$dir/cache" KUBERC=off \
    "$bin/kubectl" --request-timeout=5s "$@"
}

# apiserver_settled: whether it is ready or has ended.
apiserver_settled() { dead kube-apiserver || kubectl get --raw /readyz >/dev/null 2>&1; }

# start_apiserver: runs the command in $dir/kube-apiserver.args; fails if it ends or isn't ready in
# time.
start_apiserver() {
  local -a args
  mapfile -d '' args <"$dir/kube-apiserver.args"
  launch kube-apiserver "${args[@]}"
  within apiserver_settled && alive kube-apiserver
}
