# A deletion of 200 members by a watcher whose container may have 8 MiB.
# shellcheck shell=bash disable=SC2154

# frugal_master: its sidecar is written by hand, since the ways of injection give more.
frugal_master() {
  local labels="oshinko-cluster: frugal, oshinko-type: master"
  cat <<YAML
---
apiVersion: v1
kind: Pod
metadata: {name: frugal-m, labels: {$labels}}
spec:
  terminationGracePeriodSeconds: 5
  securityContext: {runAsNonRoot: true, runAsUser: 185, seccompProfile: {type: RuntimeDefault}}
  initContainers:
  - name: cluster-watcher
    image: $image
    imagePullPolicy: Never
    restartPolicy: Always
    args: [watch, --owner=deployment/bob, --poll-interval=200ms, --grace-period=2s, --startup-grace=2s]
    env:
    - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, readOnlyRootFilesystem: true}
    resources: {limits: {memory: 8Mi}}
  containers:
  - name: main
    image: idle
    imagePullPolicy: Never
    args: ["1000"]
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
YAML
}
members() {
  local i
  for ((i = 0; i < $1; i++)); do
    printf -- '---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: member-%d, labels: {oshinko-cluster: frugal}}}\n' "$i"
  done
}
# oom_kills PID: of the process's cgroup.
oom_kills() { memory "$1" memory.oom_control memory.events | awk '$1 == "oom_kill" { print $2 }'; }
members_left() { kubectl -n "$namespace" get configmaps -l oshinko-cluster=frugal -o name | wc -l; }
no_members_left() { [[ $(members_left) == 0 ]]; }

little_memory_is_enough() {
  local pod=frugal-m sidecar process kills="" used="" said ended
  kubectl create namespace "$namespace" >/dev/null
  sed "s/^  name: .*/&\n  namespace: $namespace/" manifests/chart/objects/role/role.yaml | kubectl create -f - >/dev/null
  kubectl -n "$namespace" create rolebinding cluster-watcher --role=cluster-watcher \
    --serviceaccount="$namespace:default" >/dev/null
  record
  { workload bob "app: bob" "app: bob" 1 0; members 200; frugal_master; } |
    kubectl -n "$namespace" create -f - >/dev/null
  check "a master whose watcher may have 8 MiB runs" within running "$pod"
  address=$(jq -r .status.podIP "$work/pod.json")
  sidecar=$(container initContainerStatuses cluster-watcher)
  process=$(process_of "$sidecar")
  check "it may have no more" is "$(memory "$process" memory.limit_in_bytes memory.max)" 8388608
  check "it keeps the cluster" within shows '^cluster_watcher_verdict\{.*verdict="keep".*\} 1'
  kubectl -n "$namespace" delete deployment bob --wait=false >/dev/null
  # What its cgroup says last; that goes with the container.
  ended=$((SECONDS + 60))
  until recorded_gone "$pod" || ((SECONDS >= ended)); do
    said=$(oom_kills "$process" 2>/dev/null) && [[ -n $said ]] || break
    kills=$said
    said=$(memory "$process" memory.max_usage_in_bytes memory.peak 2>/dev/null) && used=$said
    sleep 0.05
  done
  check "200 members go" within no_members_left
  check "and the master" within recorded_gone "$pod"
  check "nothing was killed for its memory" is "$kills" 0
  last "$pod" >"$work/pod.json"
  check "the watcher ended well" is \
    "$(jq -r '.status.initContainerStatuses[0].state.terminated.exitCode' "$work/pod.json")" 0
  check "and never before" is "$(jq -r '.status.initContainerStatuses[0].restartCount' "$work/pod.json")" 0
  echo "# at most ${used:-?} bytes in its cgroup"
  end_recorders
  kubectl delete namespace "$namespace" --wait=false >/dev/null
}
