# Drivers that run as `cluster-watcher run -- python script`, whatever the framework: bob has its cluster
# made, is interrupted, rolled out and killed; alice uses the same cluster besides.
# shellcheck shell=bash disable=SC2154

# deployment NAME SHOWN LABELS COMMAND...
deployment() {
  jq -nc --arg name "$1" --argjson labels "$3" --argjson spec "$(driver_pod "$2" "${@:4}")" '{
    apiVersion: "apps/v1", kind: "Deployment", metadata: {name: $name, labels: $labels},
    spec: {selector: {matchLabels: {app: $name}}, template: {metadata: {labels: {app: $name}}, spec: $spec}}}' |
    kube create -f - >/dev/null
}
# driver_of NAME [OLD]: sets driver to the pod of the Deployment, another than OLD.
driver_of() {
  local pod
  master_of "app=$1" && [[ $pod != "${2-}" ]] && driver=$pod
}
# kill_driver NAME: the Deployment and its pod at once, without notice.
kill_driver() {
  kube delete deployment "$1" --cascade=orphan >/dev/null
  kube delete replicasets -l "app=$1" --cascade=orphan >/dev/null
  kube delete pods -l "app=$1" --grace-period=0 --force >/dev/null 2>&1
}
# same_cluster: all pods of it are those that were there, and no container was started again.
same_cluster() {
  is "$(uids "$label=pi")" "$members" && is "$(kube get pods -l "$label=pi" -o json |
    jq '[.items[].status | .containerStatuses[], .initContainerStatuses[]? | .restartCount] | add')" 0
}
# is_used_by POD: it computes the first result and a round.
is_used_by() { within printed "$1" "sum 332833500" && within printed "$1" "round 1 140"; }

# listed: what `list` says of the cluster.
listed() {
  "$watcher" list pi -n "$namespace" --kubeconfig="$KUBECONFIG" -o json |
    jq -r '.items[0] | "\(.status), of \(.owner), \(.ephemeral)"'
}

# drivers_come_and_go SHOWN SCRIPT MASTER: of the cluster pi, which /scripts/cluster.json describes; MASTER are
# the further labels of its master.
drivers_come_and_go() {
  local driver="" first pod="" members selector="$label=pi,$3"
  deployment bob "$1" '{}' /cluster-watcher run --cluster=pi -f /scripts/cluster.json --ephemeral --timeout=170s \
    --stop-timeout=5s -- python "/scripts/$2"
  check "the driver has a pod" within driver_of bob
  check "run makes its cluster, and its program computes on it" is_used_by "$driver"
  check "the cluster has a master" within master_of "$selector"
  check "with our sidecar" within watched "$pod"
  check "the watcher keeps it" within says "$pod" active
  check "and no right is refused to it" may_all "$pod"
  check "it is listed as the driver's own" is "$(listed)" "Running, of deployment.apps/bob, bob"
  ((failed == failed_before)) || return 0
  members=$(uids "$label=pi")

  first=$driver
  kube delete pod "$driver" --wait=false >/dev/null
  check "told to stop it gets another pod" within driver_of bob "$first"
  check "which computes on the same cluster" is_used_by "$driver"
  check "the cluster is kept" same_cluster

  first=$driver
  kube rollout restart deployment/bob >/dev/null
  check "a rollout replaces the pod" within driver_of bob "$first"
  check "which computes on the same cluster too" is_used_by "$driver"
  check "the old one is gone" within absent "$namespace" "pod/$first"
  check "and the cluster is kept" same_cluster
  check "for its driver is active" within says "$pod" active

  deployment alice "$1" '{"uses-oshinko-cluster": "pi"}' /usr/bin/env OSHINKO_CLUSTER_NAME=pi \
    OSHINKO_SPARK_MASTER=spark://pi:7077 python "/scripts/$2"
  check "another driver has a pod" within driver_of alice
  check "and computes on the same cluster" is_used_by "$driver"
  kill_driver bob
  check "the first one killed in mid-job, the other one keeps it" within says "$pod" in-use
  check "and goes on computing" goes_on "$driver"
  check "on the same pods" same_cluster
  kill_driver alice
  check "that one killed too, the cluster goes" within gone "$namespace" "$label=pi" "$kinds"
  check "an Event says so" within has_event ClusterDeleted pi
}
