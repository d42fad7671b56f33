# A cluster as Oshinko makes it, on a node, and the checks of its deletion and of its sidecar.
# shellcheck shell=bash disable=SC2154

# workload NAME LABELS POD_LABELS REPLICAS DELAY: a Deployment of `idle`, which runs for DELAY
# milliseconds after SIGTERM. Its pods get no token; the user is set on the container, not the pod.
workload() {
  cat <<YAML
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1, labels: {$2}}
spec:
  replicas: $4
  strategy: {type: Recreate}
  selector: {matchLabels: {$3}}
  template:
    metadata: {labels: {$3}}
    spec:
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 20
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: main
        image: idle
        imagePullPolicy: Never
        args: ["$5"]
        securityContext: {runAsUser: 185, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
YAML
}
service() {
  cat <<YAML
---
apiVersion: v1
kind: Service
metadata: {name: $1, labels: {oshinko-cluster: bob-cluster, oshinko-type: $2}}
spec:
  selector: {oshinko-cluster: bob-cluster, oshinko-type: master}
  ports: [{port: $3}]
YAML
}
cluster() {
  local cluster="oshinko-cluster: bob-cluster"
  workload bob "uses-oshinko-cluster: bob-cluster" "app: bob" 1 0
  workload bystander "app: bystander" "app: bystander" 1 0
  workload bob-cluster-m "$cluster, oshinko-type: master, ephemeral: bob" "$cluster, oshinko-type: master" 1 1500
  workload bob-cluster-w "$cluster, oshinko-type: worker" "$cluster, oshinko-type: worker" 2 0
  service bob-cluster master 7077
  service bob-cluster-ui webui 8080
}

# record: starts recording the pods' histories in $work/pods and containerd's events in
# $work/events.
record() {
  kubectl -n "$namespace" get pods --watch --output-watch-events -o json >"$work/pods" 8>&- &
  pids+=("$!")
  test/kubernetes/node ctr "$kubernetes" events >"$work/events" 8>&- &
  pids+=("$!")
}
# last POD: its last recorded state.
last() { jq -c --arg name "$1" '.object | select(.metadata.name == $name)' "$work/pods" | tail -n 1; }
recorded_gone() {
  jq -r 'select(.type == "DELETED") | .object.metadata.name' "$work/pods" | grep -xF -- "$1" >/dev/null
}
# event CONTAINER start|exit: with the line's number, what containerd says of it; not of what was
# executed in it besides, which has another id.
event() {
  grep -anP "/tasks/$2 .*\"container_id\":\"$1\"(?!.*\"id\":\"(?!$1\"))" "$work/events" | head -n 1
}
# place CONTAINER start|exit: its line among containerd's events. when: its time in milliseconds.
place() { event "$@" | cut -d : -f 1; }
when() {
  local line
  line=$(event "$@" | cut -d : -f 2-)
  date -d "$(cut -d ' ' -f 1,2 <<<"$line") UTC" +%s%3N
}
process_of() { ctr tasks list | awk -v id="$1" '$1 == id { print $2 }'; }
# field PID NAME: a field of /proc/PID/status.
field() { awk -v name="$2:" '$1 == name { $1 = ""; print substr($0, 2) }' "/proc/$1/status"; }
# memory PID FILE_V1 FILE_V2: of the process's cgroup, in bytes.
memory() {
  local path
  if path=$(grep -E '^[0-9]+:memory:' "/proc/$1/cgroup"); then
    cat "/sys/fs/cgroup/memory/${path#*:*:}/$2"
  else
    path=$(grep '^0::' "/proc/$1/cgroup")
    cat "/sys/fs/cgroup/${path#0::}/$3"
  fi
}
metrics() { curl -sf --max-time 5 "http://$address:9090/metrics"; }
# scrape_every SECONDS: scrapes from now on, as Prometheus does; the last answer is in $work/scrape.
scrape_every() {
  while :; do
    metrics >"$work/scrape.new" && mv "$work/scrape.new" "$work/scrape"
    sleep "$1"
  done 8>&- &
  pids+=("$!")
}
shows() { metrics | grep -qE "$1"; }
running() {
  kubectl -n "$namespace" get pod "$1" -o json 2>/dev/null >"$work/pod.json" &&
    jq -e 'any(.status.conditions[]?; .type == "Ready" and .status == "True")' "$work/pod.json" >/dev/null
}
none_left() {
  [[ -z $(kubectl -n "$namespace" get deployments,replicasets,services,pods \
    -l oshinko-cluster=bob-cluster -o name) ]]
}
# pod_of SELECTOR: sets pod, if there is one.
pod_of() {
  pod=$(kubectl -n "$namespace" get pods -l "$1" -o name)
  pod=${pod#pod/}
  [[ -n $pod && $pod != *$'\n'* ]]
}
has_event() {
  [[ -n $(kubectl -n "$namespace" get events.events.k8s.io \
    -o "jsonpath={.items[?(@.reason==\"$1\")].metadata.name}") ]]
}
# container KIND NAME: its ID, from $work/pod.json.
container() {
  jq -r --arg kind "$1" --arg name "$2" \
    '.status[$kind][] | select(.name == $name) | .containerID | sub(".*//"; "")' "$work/pod.json"
}

a_cluster_goes() {
  local pod address sidecar main process secrets=/var/run/secrets/kubernetes.io/serviceaccount started
  kubectl create namespace "$namespace" >/dev/null
  kubectl label namespace "$namespace" cluster-watcher/enabled=true \
    pod-security.kubernetes.io/{enforce,warn}=restricted >/dev/null
  kubectl -n "$namespace" create rolebinding cluster-watcher --clusterrole=cluster-watcher \
    --serviceaccount="$namespace:default" >/dev/null
  record
  cluster | kubectl -n "$namespace" apply --warnings-as-errors -f - >/dev/null

  check "the master has a pod" within pod_of oshinko-cluster=bob-cluster,oshinko-type=master
  check "it runs" within running "$pod"
  address=$(jq -r .status.podIP "$work/pod.json")
  check "the Deployment says nothing of it" not grep -q '"cluster-watcher' \
    <(kubectl -n "$namespace" get deployment bob-cluster-m -o json | jq .spec)
  check "the sidecar was injected, and runs" \
    quietly jq -e '.status.initContainerStatuses[0] | .name == "cluster-watcher" and .ready and .started
      and .state.running and .restartCount == 0' "$work/pod.json"
  check "from the image that was built" \
    is "$(jq -r '.status.initContainerStatuses[0].imageID' "$work/pod.json")" "$image_id"
  check "workers have none" is "$(kubectl -n "$namespace" get pods -l oshinko-type=worker -o json |
    jq '[.items[].spec.initContainers // [] | length] | add')" 0

  sidecar=$(container initContainerStatuses cluster-watcher)
  main=$(container containerStatuses main)
  check "it was started before the master" test "$(place "$sidecar" start)" -lt "$(place "$main" start)"
  process=$(process_of "$sidecar")
  check "its user is the image's" is "$(field "$process" Uid)" "65532 65532 65532 65532"
  check "it has no capabilities" is "$((16#$(field "$process" CapEff) | 16#$(field "$process" CapBnd)))" 0
  check "and can't get any" is "$(field "$process" NoNewPrivs)" 1
  check "its system calls are filtered" is "$(field "$process" Seccomp)" 2
  check "its root is read-only" grep -qE '^[^ ]+ [^ ]+ [^ ]+ / / ro' "/proc/$process/mountinfo"
  check "it has a token, the CA and the namespace" \
    test -s "/proc/$process/root$secrets/token" -a -s "/proc/$process/root$secrets/ca.crt" -a \
    -s "/proc/$process/root$secrets/namespace"
  check "the master has no token" test ! -e "/proc/$(process_of "$main")/root$secrets"

  check "its metrics are served at the pod's address" \
    within shows '^cluster_watcher_phase\{phase="watching"\} 1'
  check "it keeps the cluster" within shows '^cluster_watcher_verdict\{.*verdict="keep".*\} 1'
  check "for the driver is active" within shows '^cluster_watcher_owner_state\{state="active"\} 1'
  check "no permission is missing" not shows '^cluster_watcher_permission_missing\{.*\} 1'
  check "who asks in the pod is told the same" is "$(kubectl -n "$namespace" exec "$pod" \
    -c cluster-watcher -- cluster-watcher check -o json | jq -r .verdict)" keep
  check "it is alive" curl -sf --max-time 5 -o /dev/null "http://$address:9090/healthz"
  check "its memory is limited" is "$(memory "$process" memory.limit_in_bytes memory.max)" 67108864
  local used
  used=$(memory "$process" memory.usage_in_bytes memory.current)
  check "half of it is enough" test "$used" -gt 0 -a "$used" -lt 33554432
  echo "# the sidecar's memory: $((used / 1024)) KiB in its cgroup, $(field "$process" VmRSS) resident"

  # Less often than the master takes to end, so only a wait for the scrape can catch the end.
  scrape_every 3
  started=$SECONDS
  kubectl -n "$namespace" delete deployment bob --wait=false >/dev/null
  check "the driver deleted, the cluster goes" within none_left
  echo "# it was gone after $((SECONDS - started)) s"
  check "what is not of the cluster stays" quietly kubectl -n "$namespace" get deployment bystander -o name
  check "an Event says so" within has_event ClusterDeleting
  check "a warning came before" has_event ClusterAbandoned
  check "the pod's end was seen" within recorded_gone "$pod"
  last "$pod" >"$work/pod.json"
  check "the master ended by itself" is \
    "$(jq -r '.status.containerStatuses[0].state.terminated.exitCode' "$work/pod.json")" 0
  check "the sidecar ended well" is \
    "$(jq -r '.status.initContainerStatuses[0].state.terminated.exitCode' "$work/pod.json")" 0
  check "the end of the deletion was scraped" grep -q '^cluster_watcher_phase{phase="done"} 1' "$work/scrape"
  check "and never before" is "$(jq -r '.status.initContainerStatuses[0].restartCount' "$work/pod.json")" 0
  check "the master before the sidecar" test "$(place "$main" exit)" -lt "$(place "$sidecar" exit)"
  echo "# the sidecar ended $(($(when "$sidecar" exit) - $(when "$main" exit))) ms after the master"
  kubectl -n "$namespace" delete deployment bystander --cascade=foreground >/dev/null
  end_recorders
}

# A master that doesn't end by itself gets its grace period, and the sidecar only the time after it.
grace_is_kept() {
  local sidecar main pod=stubborn began
  record
  workload "$pod" "app: stubborn" "app: stubborn" 1 60000 | sed '/^---$/d' |
    kubectl create --dry-run=client -o json -f - |
    jq --arg name "$pod" '.spec.template | .apiVersion = "v1" | .kind = "Pod" | .metadata.name = $name
      | .metadata.annotations = {"cluster-watcher/inject": "true", "cluster-watcher/cluster": "none"}
      | .spec.securityContext.runAsUser = 185 | .spec.terminationGracePeriodSeconds = 5' |
    kubectl -n "$namespace" create -f - >/dev/null
  check "a pod that asks for it is injected" within running "$pod"
  sidecar=$(container initContainerStatuses cluster-watcher)
  main=$(container containerStatuses main)
  check "where the pod has a user, the sidecar has it too" \
    is "$(field "$(process_of "$sidecar")" Uid)" "185 185 185 185"
  began=$(date +%s%3N)
  kubectl -n "$namespace" delete pod "$pod" --wait=false >/dev/null
  check "the pod ends" within recorded_gone "$pod"
  last "$pod" >"$work/pod.json"
  check "its container was killed" is \
    "$(jq -r '.status.containerStatuses[0].state.terminated.exitCode' "$work/pod.json")" 137
  check "not before its time" test $(($(when "$main" exit) - began)) -ge 4900
  # It is told to stop when the other one is killed, and then has two seconds.
  check "the sidecar ended well" is \
    "$(jq -r '.status.initContainerStatuses[0].state.terminated.exitCode' "$work/pod.json")" 0
  check "not before its time" test $(($(when "$sidecar" exit) - began)) -ge 4900
  check "and in time" test $(($(when "$sidecar" exit) - began)) -lt 10500
  echo "# after $(($(when "$main" exit) - began)) and $(($(when "$sidecar" exit) - began)) ms of 5000"
  end_recorders
  kubectl delete namespace "$namespace" --wait=false >/dev/null
}
