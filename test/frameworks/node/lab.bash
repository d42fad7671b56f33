# The node, the namespaces and the pods of node_test.sh, and what is asked of them.
# shellcheck shell=bash disable=SC2034,SC2154

skip() {
  finished=true
  echo "skipped: $1"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
}
# needs_a_node: returns when this is the only test that runs one.
needs_a_node() {
  local code=0 why
  command -v flock >/dev/null || skip "flock is missing: run scripts/setup"
  [[ $(id -u) == 0 ]] || skip "a node needs root"
  PATH=$PATH:/usr/sbin command -v dnsmasq >/dev/null || skip "dnsmasq is missing: run scripts/setup node"
  exec 8>/run/cluster-watcher-node.lock
  flock --wait 900 8 || { echo "node_test.sh: another test's node has been running for 15 minutes" >&2; exit 1; }
  why=$("$source_dir/test/kubernetes/node" possible) || code=$?
  ((code != 1)) || skip "$why"
  ((code == 0)) || { echo "node_test.sh: $why" >&2; exit 1; }
}

# Short times for the test, which every injected pod gets.
settings='{"image": "cluster-watcher:0.1.0", "default.poll-interval": "200ms", "default.grace-period": "2s",
  "default.startup-grace": "2s", "default.operator-grace": "3s"}'
# start_node: with our image, and the policies as a user installs them.
start_node() {
  ARCHITECTURES=$(dpkg --print-architecture) "$source_dir/scripts/image" "$tmp" >/dev/null
  cp -- "$source_dir/build-release/cluster-watcher" "$tmp/program"
  chmod 755 "$tmp" "$tmp/program"  # as drivers see it, who aren't root
  WATCH_PID=$$ NODE=names "$source_dir/test/kubernetes/start" "$tmp/kubernetes"
  # shellcheck source=/dev/null
  . "$tmp/kubernetes/env"
  "$source_dir/test/kubernetes/node" import "$tmp/kubernetes" "$tmp/image" cluster-watcher:0.1.0
  cp -r -- "$source_dir/manifests" "$tmp/manifests"
  kubectl apply -k "$(with policy owner-from-creator)" >/dev/null
  kubectl patch mutatingadmissionpolicy cluster-watcher --type=json -p "$(jq -nc --argjson settings "$settings" \
    '[{op: "replace", path: "/spec/variables/0/expression", value: ($settings | tojson)}]')" >/dev/null
}

# namespace NAME SCRIPT LABELS: one in which masters, which have these labels, are injected, and pods own what
# they make. Masters run as cluster-watcher, drivers as driver; they see the script.
namespace() {
  namespace=$1
  kubectl create namespace "$namespace" >/dev/null
  kubectl label namespace "$namespace" cluster-watcher/enabled=true cluster-watcher/owner-from-creator=true >/dev/null
  local account
  for account in cluster-watcher driver; do kube create serviceaccount "$account" >/dev/null; done
  kube create rolebinding cluster-watcher --clusterrole=cluster-watcher \
    --serviceaccount="$namespace:cluster-watcher" >/dev/null
  kube create rolebinding driver --clusterrole=cluster-watcher-driver --serviceaccount="$namespace:driver" >/dev/null
  kube create configmap scripts --from-file="$frameworks/node/$2" >/dev/null
  within injected "$3"
}
# add_script FILE: drivers see it too.
add_script() {
  kube patch configmap scripts -p "$(jq -Rsc --arg name "${1##*/}" '{data: {($name): .}}' "$1")" >/dev/null
}
kube() { kubectl -n "$namespace" "$@"; }
# injected LABELS: whether a pod with these would get the sidecar, with our times.
injected() {
  jq -nc --argjson labels "$1" '{apiVersion: "v1", kind: "Pod", metadata: {name: "try", labels: $labels},
    spec: {containers: [{name: "c", image: "idle"}]}}' |
    kube create --dry-run=server -o json -f - 2>/dev/null |
    jq -e '.spec.initContainers[0].name == "cluster-watcher"
      and .metadata.annotations["cluster-watcher/grace-period"] == "2s"' >/dev/null
}
# definitions FILE...
definitions() {
  local file
  for file; do quietly kubectl create -f "$file"; done
  within quietly kubectl wait --for=condition=Established --timeout=30s crd --all
}

# shown DIR ENVIRONMENT [FURTHER...]: prints what a pod and its containers get so that they see the machine's
# programs, the Python environment DIR and further directories.
shown() {
  jq -nc --arg dir "$1" --arg program "$tmp/program" --argjson environment "$2" '
    def reads($path): {name: $path[1:] | gsub("[^a-z0-9]+"; "-") | .[-60:] | ltrimstr("-"), path: $path};
    ([reads("/usr", $dir, $ARGS.positional[])] + [{name: "program", path: $program}]) as $seen
    | {
      pod: {
        securityContext: {runAsNonRoot: true, runAsUser: 185, seccompProfile: {type: "RuntimeDefault"}},
        volumes: ([$seen[] | {name, hostPath: {path}}]
          + [{name: "scripts", configMap: {name: "scripts"}}, {name: "tmp", emptyDir: {}}])},
      container: {
        image: "idle", imagePullPolicy: "Never",
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}, readOnlyRootFilesystem: true},
        env: ([{name: "PATH", value: "\($dir)/bin:/usr/bin"}, {name: "HOME", value: "/tmp"},
            {name: "PYTHONUNBUFFERED", value: "1"}]
          + ["POD_NAME metadata.name", "POD_NAMESPACE metadata.namespace", "POD_IP status.podIP"
              | split(" ") | {name: .[0], valueFrom: {fieldRef: {fieldPath: .[1]}}}]
          + ($environment | to_entries | map({name: .key, value}))),
        volumeMounts: ([$seen[] | {name, mountPath: (if .name == "program" then "/cluster-watcher" else .path end), readOnly: true}]
          + [{name: "scripts", mountPath: "/scripts"}, {name: "tmp", mountPath: "/tmp"}])}}' --args -- "${@:3}"
}
# driver_pod SHOWN COMMAND...: prints the spec of a driver's pod.
driver_pod() {
  jq -nc --argjson shown "$1" '$shown.pod + {serviceAccountName: "driver", terminationGracePeriodSeconds: 20,
    containers: [$shown.container + {name: "driver", command: $ARGS.positional}]}' --args -- "${@:2}"
}
# pod NAME SPEC
pod() {
  jq -nc --arg name "$1" --argjson spec "$2" '{apiVersion: "v1", kind: "Pod", metadata: {name: $name},
    spec: ($spec + {restartPolicy: "Never"})}' | kube create -f - >/dev/null
}

# master_of SELECTOR: sets pod, to one that has not begun to end.
master_of() {
  pod=$(kube get pods -l "$1" -o json | jq -r '[.items[] | select(.metadata.deletionTimestamp == null)] |
    if length == 1 then .[0].metadata.name else "" end')
  [[ -n $pod ]]
}
# watched POD: it has our sidecar, which runs, beside all else of it.
watched() {
  kube get pod "$1" -o json | jq -e '.status | .initContainerStatuses[0] as $sidecar
    | $sidecar.name == "cluster-watcher" and $sidecar.ready and ($sidecar.state | has("running"))
    and all(.containerStatuses[]; .ready)' >/dev/null
}
metrics() { curl -sf --max-time 5 "http://$(kube get pod "$1" -o jsonpath='{.status.podIP}'):9090/metrics"; }
# says POD REASON: what the watcher there shows.
says() { metrics "$1" | grep -E "^cluster_watcher_verdict\{.*reason=\"$2\".*\} 1" >/dev/null; }
# may_all POD: its watcher has seen no right refused.
may_all() { metrics "$1" | awk '/^cluster_watcher_permission_missing.* 1$/ { print; exit 1 }'; }
uids() { kube get pods -l "$1" -o json | jq -r '[.items[].metadata.uid] | sort | join(" ")'; }
# printed POD LINE: whether its program has printed such a line, a basic regular expression.
printed() { kube logs "$1" 2>/dev/null | grep -x -- "$2" >/dev/null; }
# rounds POD: how many rounds of its job it has ended.
rounds() { kube logs "$1" 2>/dev/null | grep -c '^round ' || :; }
further() { (($(rounds "$1") > $2)); }
# goes_on POD: it ends two more rounds, the second of which has begun from now on.
goes_on() {
  local so_far
  so_far=$(rounds "$1")
  within further "$1" "$((so_far + 2))"
}
# kill_pod POD...: without notice.
kill_pod() { kube delete pod "$@" --grace-period=0 --force >/dev/null 2>&1; }
has_event() {
  [[ -n $(kube get events.events.k8s.io -o json |
    jq -r --arg reason "$1" --arg name "$2" '.items[] | select(.reason == $reason and (.note | contains($name)))') ]]
}

# show: what can be seen of a failure.
show() {
  local each
  kubectl get pods -A -o wide || :
  kubectl get events -A --sort-by=.metadata.creationTimestamp | tail -n 30 || :
  for each in "$tmp"/kubernetes/node/logs/*/*/*.log "$tmp"/*.log; do
    [[ -s $each ]] || continue
    echo "# ${each#"$tmp"/}"
    tail -n 25 "$each" | cut -c -300
  done
  grep -E '^E' "$tmp/kubernetes/kubelet.log" | tail -n 10 | cut -c -300 || :
}
