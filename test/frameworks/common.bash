# Shared by the tests of frameworks' own operators: a real control plane without a kubelet, and the
# namespace lab, in which masters are injected and pods own what they make. Sourced with the test's own
# arguments. The test says before, in the framework's words:
#   cluster         the label whose value is the cluster's name
#   master, worker  the label of such a pod, KEY=VALUE, or more of them with commas
#   root            the kind that stands for the cluster, with its version: GROUP/VERSION/KIND
#   least           the least that its spec must have, for jq
# and defines run_operator.
# shellcheck shell=bash disable=SC2154
# shellcheck source=../integration/common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/../integration/common.bash"

# lab DEFINITION...: starts it, with the kinds in these files.
lab() {
  local definition
  cp -r -- "$source_dir/manifests" "$tmp/manifests"
  WATCH_PID=$$ "$source_dir/test/kubernetes/start" "$tmp/kubernetes"
  # shellcheck source=/dev/null
  . "$tmp/kubernetes/env"
  for definition; do quietly kubectl create -f "$definition"; done
  within quietly kubectl wait --for=condition=Established --timeout=30s crd --all
  kubectl apply -k "$(with policy owner-from-creator)" >/dev/null
  kubectl create namespace lab >/dev/null
  kubectl label namespace lab cluster-watcher/enabled=true cluster-watcher/owner-from-creator=true >/dev/null
  kubectl -n lab create serviceaccount notebook >/dev/null
  jq -nc --arg group "${root%%/*}" '{apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: {name: "notebook"},
    rules: [{apiGroups: [$group], resources: ["*"], verbs: ["*"]}]}' | kubectl -n lab create -f - >/dev/null
  kubectl -n lab create rolebinding notebook --role=notebook --serviceaccount=lab:notebook >/dev/null
  # That of the masters.
  kubectl -n lab create serviceaccount cluster-watcher >/dev/null
  kubectl -n lab create rolebinding cluster-watcher --clusterrole=cluster-watcher \
    --serviceaccount=lab:cluster-watcher >/dev/null
  within is_in_force
  notebook probe
  within writes_the_owner
  delete_pod probe
}
# The API server takes a policy up a moment after it was written.
is_in_force() {
  pod_with probe "$(labels "$cluster=c,$master")" |
    kubectl -n lab create --dry-run=server -o json -f - 2>/dev/null | jq -e '.spec.initContainers != null' >/dev/null
}
# A new kind is listed before it can be created, and created before a policy can change it.
writes_the_owner() {
  jq -nc --arg root "$root" '{apiVersion: ($root | sub("/[^/]*$"; "")), kind: ($root | sub(".*/"; "")),
    metadata: {name: "probe"}, spec: '"$least"'}' |
    as probe create --dry-run=server -o json -f - 2>/dev/null |
    jq -e '.metadata.annotations["cluster-watcher/owner"] == "pod/probe"' >/dev/null
}
# labels SELECTOR: prints these labels, for jq.
labels() { jq -Rc 'split(",") | map(split("=") | {(.[0]): .[1]}) | add' <<<"$1"; }
# pod_with NAME [LABELS]: prints a pod.
pod_with() {
  jq -nc --arg name "$1" --argjson labels "${2-null}" '{apiVersion: "v1", kind: "Pod", metadata: {name: $name, labels: $labels},
    spec: {serviceAccountName: "notebook", containers: [{name: "c", image: "c"}]}}'
}

operator=''
declare -A watcher_of=()
start_operator() {
  run_operator >>"$tmp/operator.log" 2>&1 &
  operator=$!
  watchers+=("$operator")
}
stop() { kill -KILL "$1" && wait "$1" 2>/dev/null || :; }
stop_operator() { stop "$operator"; }
stop_watcher() { stop "${watcher_of[$1]}"; }

# notebook NAME: a pod that can make clusters.
notebook() {
  pod_with "$1" | kubectl -n lab create -f - >/dev/null
  identity "$1" "$(kubectl -n lab create token notebook --bound-object-kind=Pod --bound-object-name="$1")"
}
# as NAME ARGUMENT...: kubectl with the token of such a pod.
as() { kubectl --kubeconfig="$tmp/$1.kubeconfig" -n lab "${@:2}"; }
delete_pod() { kubectl -n lab delete pod "$1" --grace-period=0 --force >/dev/null 2>&1; }

# shows REGEX COMMAND...: what it prints.
shows() { [[ $("${@:2}") =~ $1 ]]; }
# controllers CLUSTER KINDS: prints what controls each of them.
controllers() {
  kubectl -n lab get "$2" -l "$cluster=$1" -o json |
    jq -r '[.items[] | "\(.kind) of \(.metadata | .ownerReferences[]? | select(.controller) |
      "\(.kind)/\(.name)")"] | unique | join(", ")'
}
# ours COMMAND ARGUMENT...: the program, from outside.
ours() { "$watcher" "$1" --kubeconfig="$KUBECONFIG" -n lab "${@:2}"; }
# reason CLUSTER REASON: what `check` says.
reason() { [[ $(ours check "$1" -o json | jq -r .reason) == "$2" ]]; }

# owned_by OWNER: prints what adds the annotation.
owned_by() { echo ".metadata.annotations = {\"cluster-watcher/owner\": \"$1\"}"; }
# make: what is given, with an administrator's rights.
make() { kubectl -n lab create -f - >/dev/null; }
driver() { kubectl -n lab create deployment "$1" --image=c >/dev/null; }
uid_of() { read_of "$1" .metadata.uid; }
is_another() {
  local uid
  uid=$(uid_of "$1" 2>/dev/null) && [[ -n $uid && $uid != "$2" ]]
}
is_terminating() { [[ $(read_of "$1" .metadata.deletionTimestamp) != null ]]; }

# master_of CLUSTER: sets pod.
master_of() { pod_of lab "$cluster=$1,$master"; }
# has_workers CLUSTER COUNT
has_workers() { [[ $(kubectl -n lab get pods -l "$cluster=$1,$worker" -o name | wc -l) == "$2" ]]; }
is_injected() {
  kubectl -n lab get pod "$1" -o json | jq -e '.spec.initContainers[0].name == "cluster-watcher"' >/dev/null
}
none_of_the_workers_is() {
  kubectl -n lab get pods -l "$cluster=$1,$worker" -o json |
    jq -e '[.items[].spec.initContainers // [] | .[] | select(.name == "cluster-watcher")] == []' >/dev/null
}
# read_of OBJECT JQ
read_of() { kubectl -n lab get "$1" -o json | jq -r "$2"; }
owner_of() { read_of "$1" '.metadata.annotations["cluster-watcher/owner"]'; }
no_pods() { [[ -z $(kubectl -n lab get pods -l "$cluster=$1" -o name) ]]; }
# any_of "CLUSTER, CLUSTER...": whether there are pods or Services of one of them.
any_of() { [[ -n $(kubectl -n lab get pods,services -l "$cluster in ($1)" -o name) ]]; }
# starts CLUSTER: all of its pods, as the kubelet would say, which isn't there.
starts() {
  local each
  for each in $(kubectl -n lab get pods -l "$cluster=$1" -o name); do
    kubectl -n lab patch "$each" --subresource=status --type=merge -p '{"status": {"phase": "Running",
      "podIP": "127.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]}}' >/dev/null
  done
}
# says NAME VERDICT: what the watcher of that name shows.
says() { metric "$1" "cluster_watcher_verdict\\{.*\"$2\".*\\}"; }

# made CLUSTER WORKERS [FLAG...]: what the operator makes of it (WORKERS is 0 where others make them),
# and that it is watched over.
made() {
  check "the operator makes a master pod of $1" within master_of "$1"
  [[ -n ${pod:-} ]] || { tail -n 40 "$tmp/operator.log"; return 1; }
  check "which is injected" is_injected "$pod"
  if (($2)); then
    check "and workers" within has_workers "$1" "$2"
    check "which aren't" none_of_the_workers_is "$1"
  fi
  watched "$@"
}
# watched CLUSTER WORKERS [FLAG...]: by its master, $pod.
watched() {
  starts "$1"
  watch_over lab "$pod" "$1" 200ms --operator-grace=3s "${@:3}"
  watcher_of[$1]=${watchers[-1]}
  check "it is kept while its owner is there" within says "$1" active
}

# service_again SERVICE: the operator makes it again.
service_again() {
  local old
  old=$(uid_of "service/$1")
  kubectl -n lab delete service "$1" >/dev/null
  check "the Service is made again too" within is_another "service/$1" "$old"
}
# held CLUSTER POD: holds it while its owner, the pod, goes.
held() {
  check "hold holds one" quietly ours hold "$1" 1h
  delete_pod "$2"
  check "which is kept without its owner" within says "$1" held
  check "until it is held no longer" quietly ours unhold "$1"
}

ended() {
  check "nothing was refused" not grep -q forbidden "$tmp"/*.log
  ((failed == 0)) || tail -n 30 "$tmp"/*.log
  finished=true
  echo "$passed passed, $failed failed"
  ((failed == 0))
}
