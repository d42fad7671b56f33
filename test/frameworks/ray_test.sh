#!/usr/bin/env bash
# Runs KubeRay on a real control plane. Pods make RayClusters as notebooks do, and RayJobs use them or
# make their own: they are injected, watched over, kept while their owners are there, and deleted
# behind them; also where the operator is down by then. What the program relies on of the operator is
# checked too.
#
#   test/frameworks/ray_test.sh BUILD_DIR
set -euo pipefail
# shellcheck disable=SC2034
cluster=ray.io/cluster master=ray.io/node-type=head worker=ray.io/node-type=worker root=ray.io/v1/RayCluster
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"

kuberay=$("$source_dir/test/frameworks/build" ray)
lab "$kuberay"/*.yaml
run_operator() {
  exec "$kuberay/operator" --watch-namespace=lab --enable-leader-election=false --use-kubernetes-proxy \
    --metrics-addr=0 --health-probe-bind-address=0
}

# cluster_with NAME [JQ]: prints the example's RayCluster, without an owner.
cluster_with() {
  kubectl create --dry-run=client -o json -f "$source_dir/manifests/examples/ray/cluster.yaml" |
    jq --arg name "$1" '.metadata = {name: $name} |
      .spec.headGroupSpec.template.spec.serviceAccountName = "cluster-watcher" |'" ${2-.}"
}
# job_with NAME [JQ]: prints a RayJob that makes such a one itself.
job_with() {
  cluster_with "$1" | jq '.kind = "RayJob" | .spec = {entrypoint: "true", submitterConfig: {backoffLimit: 0},
    rayClusterSpec: .spec} |'" ${2-.}"
}
# owned_by OWNER: prints what adds the annotation.
owned_by() { echo ".metadata.annotations = {\"cluster-watcher/owner\": \"$1\"}"; }
# make: with an administrator's rights.
make() { kubectl -n lab create -f - >/dev/null; }
driver() { kubectl -n lab create deployment "$1" --image=c >/dev/null; }
uid_of() { read_of "$1" .metadata.uid; }
is_another() {
  local uid
  uid=$(uid_of "$1" 2>/dev/null) && [[ -n $uid && $uid != "$2" ]]
}
# all_gone CLUSTER: and all that carries its label.
all_gone() { absent lab "raycluster/$1" && gone lab "$cluster=$1" serviceaccounts,roles,rolebindings; }
job_is() { [[ $(read_of "rayjob/$1" .status.jobDeploymentStatus) == "$2" ]]; }
# cluster_of JOB: sets its, if there is one.
cluster_of() {
  its=$(kubectl -n lab get rayclusters -l "ray.io/originated-from-cr-name=$1" -o name)
  its=${its#*/}
  [[ -n $its ]]
}
ours() { "$watcher" "$1" --kubeconfig="$KUBECONFIG" -n lab "${@:2}"; }
# reason CLUSTER REASON: what `check` says.
reason() { [[ $(ours check "$1" -o json | jq -r .reason) == "$2" ]]; }

begin() {
  notebook one
  cluster_with one-ray '.spec.workerGroupSpecs[0].replicas = 2' | as one create -f - >/dev/null
  check "the pod that makes a cluster is its owner" is "$(owner_of raycluster/one-ray)" pod/one
  made one-ray 2
  driver bob
  cluster_with two-ray "$(owned_by deployment/bob)" | as one create -f - >/dev/null
  check "an owner that is named stays" is "$(owner_of raycluster/two-ray)" deployment/bob
  made two-ray 1
  two_head=$(uid_of "pod/$pod")
}

what_the_operator_makes() {
  check "the RayCluster controls head, workers and Service" is "$(kubectl -n lab get pods,services -l "$cluster=one-ray" -o json |
    jq -r '[.items[] | "\(.kind) \(.metadata.ownerReferences[0] | "\(.kind)/\(.name) \(.controller)")"] | sort | unique | join(", ")')" \
    "Pod RayCluster/one-ray true, Service RayCluster/one-ray true"
  check "it carries no label of the cluster, and no finalizer" is \
    "$(read_of raycluster/one-ray '[.metadata.labels, .metadata.finalizers] | tostring')" "[null,null]"
  check "the Service is labelled like a head" is \
    "$(read_of service/one-ray-head-svc '.metadata.labels["ray.io/node-type"]')" head
}

made_again() {
  local old workers
  master_of one-ray
  old=$pod workers=$(kubectl -n lab get pods -l "$cluster=one-ray,$worker" -o name)
  stop_watcher one-ray
  delete_pod "$old"
  check "a head that is deleted is made again" within 60 master_of one-ray
  check "by another name" not is "$pod" "$old" >/dev/null
  check "and injected again" is_injected "$pod"
  watched one-ray 2
  check "the workers are those they were" is "$(kubectl -n lab get pods -l "$cluster=one-ray,$worker" -o name)" "$workers"
  old=$(uid_of service/one-ray-head-svc)
  kubectl -n lab delete service one-ray-head-svc >/dev/null
  check "the Service is made again too" within 60 is_another service/one-ray-head-svc "$old"
}

by_name() {
  notebook three
  cluster_with three-ray | as three create -f - >/dev/null
  made three-ray 1 --observe=watch
  local listed
  listed=$(ours list)
  check "list shows them by their names" eval '[[ $listed =~ one-ray\ .*pod/one.*two-ray\ .*deployment.apps/bob ]]'
  check "check looks at one of them" reason one-ray active
  check "hold holds one" quietly ours hold three-ray 1h
  delete_pod three
  check "which is kept without its owner" within 30 says three-ray held
  check "until it is held no longer" quietly ours unhold three-ray
  check "then it is deleted" within 60 all_gone three-ray
}

a_job_uses_it() {
  cluster_with user '.kind = "RayJob" | .spec = {entrypoint: "true", submitterConfig: {backoffLimit: 0},
    clusterSelector: {"ray.io/cluster": "two-ray"}}' | make
  check "a RayJob runs in the cluster" within 60 job_is user Running
  kubectl -n lab delete deployment bob >/dev/null
  check "which it uses, behind the owner too" within 60 says two-ray in-use
  check "the operator has left the injected head as it was" is "$(uid_of pod/"$(master_of two-ray; echo "$pod")")" "$two_head"
  pod_of lab batch.kubernetes.io/job-name=user
  kubectl -n lab patch pod "$pod" --subresource=status --type=merge -p '{"status": {"phase": "Failed"}}' >/dev/null
  check "its submitter fails, and so does the RayJob" within 60 job_is user Failed
  check "then the cluster is deleted" within 90 all_gone two-ray
  check "the RayJob stays" exists lab rayjob/user
  check "and makes nothing" not within 3 exists lab raycluster/two-ray
}

the_owner_goes() {
  delete_pod one
  check "behind its pod the cluster is deleted" within 60 all_gone one-ray
  check "its neighbour stays" exists lab raycluster/four-ray
  check "with its worker" has_workers four-ray 1
  check "and is kept" says four-ray active
}

a_jobs_own() {
  driver carol
  job_with own "$(owned_by deployment/carol)" | make
  check "a RayJob has a RayCluster of its own" within 60 cluster_of own
  check "to which its owner is copied" is "$(owner_of "raycluster/$its")" deployment/carol
  check "and which it controls" is "$(read_of "raycluster/$its" '.metadata.ownerReferences[0] | "\(.kind)/\(.name) \(.controller)"')" "RayJob/own true"
  within 60 master_of "$its"
  check "but to no pod" is "$(owner_of "pod/$pod")" null
  local uid
  uid=$(uid_of "raycluster/$its")
  kubectl -n lab delete raycluster "$its" >/dev/null
  check "the RayCluster is made again by its name" within 60 is_another "raycluster/$its" "$uid"
  made "$its" 1
  check "the RayJob runs" within 60 job_is own Running
  check "and is the root" eval '[[ $(ours check "$its") == *rayjob.ray.io/own* ]]'
  kubectl -n lab delete deployment carol >/dev/null
  check "behind its owner the RayJob is deleted" within 60 absent lab rayjob/own
  check "with its cluster" within 60 all_gone "$its"
  check "and its submitter" within 60 gone lab ray.io/originated-from-cr-name=own
}

the_operator_is_down() {
  job_with held "$(owned_by pod/four)" | make
  within 60 cluster_of held
  made "$its" 1
  within 60 job_is held Running
  stop_operator
  delete_pod four
  check "where the operator is down the cluster goes all the same" within 60 all_gone four-ray
  check "a RayJob is held by its finalizer" within 60 eval '[[ $(read_of rayjob/held .metadata.deletionTimestamp) != null ]]'
  check "but its pods go" within 60 no_pods "$its"
  check "its RayCluster too" within 60 all_gone "$its"
  check "and only it is left" exists lab rayjob/held
  start_operator
  check "back again the operator lets it go" within 60 absent lab rayjob/held
  check "and makes nothing again" not within 5 eval '[[ -n $(kubectl -n lab get rayclusters,pods -l "ray.io/cluster in (four-ray, $its)" -o name) ]]'
}

start_operator
begin
what_the_operator_makes
made_again
by_name
a_job_uses_it
notebook four
cluster_with four-ray | as four create -f - >/dev/null
made four-ray 1
the_owner_goes
a_jobs_own
the_operator_is_down
ended
