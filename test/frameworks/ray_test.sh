#!/usr/bin/env bash
# Runs KubeRay on a real control plane. Pods make RayClusters as notebooks do, and RayJobs use them or
# make their own: they are injected, watched over, kept while their owners are there, and deleted
# behind them; also where the operator is down by then. What the program relies on of the operator is
# checked too.
#
#   test/frameworks/ray_test.sh BUILD_DIR
set -euo pipefail
# shellcheck disable=SC2034
cluster=ray.io/cluster master=ray.io/node-type=head worker=ray.io/node-type=worker
# shellcheck disable=SC2034
root=ray.io/v1/RayCluster least='{headGroupSpec: {template: {}}}'
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"

kuberay=$("$source_dir/test/frameworks/build" ray)
lab "$kuberay"/*.yaml
run_operator() {
  ENABLE_DETERMINISTIC_HEAD_POD_NAME=${fixed_names-false} exec "$kuberay/operator" --watch-namespace=lab \
    --enable-leader-election=false --use-kubernetes-proxy --metrics-addr=0 --health-probe-bind-address=0
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
# all_gone CLUSTER: and all that carries its label.
all_gone() { absent lab "raycluster/$1" && gone lab "$cluster=$1" serviceaccounts,roles,rolebindings; }
job_is() { [[ $(read_of "rayjob/$1" .status.jobDeploymentStatus) == "$2" ]]; }
# cluster_of JOB: sets its, if there is one.
cluster_of() {
  its=$(kubectl -n lab get rayclusters -l "ray.io/originated-from-cr-name=$1" -o name)
  its=${its#*/}
  [[ -n $its ]]
}
# The longest name that KubeRay takes, and that of a RayJob whose RayCluster's isn't cut.
longest=$(printf 'c%.0s' {1..53}) longest_job=$(printf 'j%.0s' {1..44})
begin() {
  notebook one
  cluster_with one-ray '.spec.workerGroupSpecs[0].replicas = 2' | as one create -f - >/dev/null
  check "the pod that makes a cluster is its owner" is "$(owner_of raycluster/one-ray)" pod/one
  made one-ray 2
  driver bob
  cluster_with two-ray "$(owned_by deployment/bob)" | as one create -f - >/dev/null
  check "an owner that is named stays" is "$(owner_of raycluster/two-ray)" deployment/bob
  made two-ray 1 --observe=watch
  two_head=$(uid_of "pod/$pod")
}

what_the_operator_makes() {
  check "the RayCluster controls head, workers and Service" is "$(controllers one-ray pods,services)" \
    "Pod of RayCluster/one-ray, Service of RayCluster/one-ray"
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
  check "a head that is deleted is made again" within master_of one-ray
  check "by another name" [ "$pod" != "$old" ]
  check "and injected again" is_injected "$pod"
  watched one-ray 2
  check "the workers are those they were" is "$(kubectl -n lab get pods -l "$cluster=one-ray,$worker" -o name)" "$workers"
  service_again one-ray-head-svc
}

by_name() {
  notebook three
  cluster_with three-ray | as three create -f - >/dev/null
  made three-ray 1 --observe=watch
  check "list shows them by their names" shows "one-ray .*pod/one.*two-ray .*deployment.apps/bob" ours list
  check "check looks at one of them" reason one-ray active
  held three-ray three
  check "then it is deleted" within all_gone three-ray
}

a_job_uses_it() {
  kubectl -n lab patch raycluster two-ray --type=merge -p '{"spec": {"headGroupSpec": {"template": {"metadata":
    {"annotations": {"cluster-watcher/owner": "deployment/alice"}}}}}}' >/dev/null
  cluster_with user '.kind = "RayJob" | .spec = {entrypoint: "true", submitterConfig: {backoffLimit: 0},
    clusterSelector: {"ray.io/cluster": "two-ray"}}' | make
  check "a RayJob runs in the cluster" within job_is user Running
  kubectl -n lab delete deployment bob >/dev/null
  check "which it uses, behind the owner too" within says two-ray in-use
  master_of two-ray
  check "a change of its template has made no other head" is "$(uid_of "pod/$pod")" "$two_head"
  # Until it is known what Ray says: the operator takes "Failure" for that, of an answer that no head gave.
  ours hold two-ray 1h >/dev/null
  pod_of lab batch.kubernetes.io/job-name=user
  kubectl -n lab patch pod "$pod" --subresource=status --type=merge -p '{"status": {"phase": "Failed"}}' >/dev/null
  check "its submitter fails, and so does the RayJob" within job_is user Failed
  ray_says user RUNNING
  ours unhold two-ray >/dev/null
  check "but while Ray runs its job it uses the cluster" never absent lab raycluster/two-ray
  check "as is shown" within says two-ray in-use
  ray_says user FAILED
  check "then the cluster is deleted, whoever the template names" within all_gone two-ray
  check "the RayJob stays" exists lab rayjob/user
  check "and makes nothing" never exists lab raycluster/two-ray
}

# ray_says RAYJOB STATE: what its operator would hear.
ray_says() {
  kubectl -n lab patch rayjob "$1" --subresource=status --type=merge -p "{\"status\": {\"jobStatus\": \"$2\"}}" >/dev/null
}

the_owner_goes() {
  driver dan
  cluster_with four-ray "$(owned_by deployment/dan)" | make
  made four-ray 1
  delete_pod one
  check "behind its pod the cluster is deleted" within all_gone one-ray
  check "its neighbour stays" exists lab raycluster/four-ray
  check "with its worker" has_workers four-ray 1
  check "and is kept" says four-ray active
}

a_jobs_own() {
  driver carol
  job_with "$longest_job" "$(owned_by deployment/carol)" | make
  check "a RayJob makes a RayCluster" within cluster_of "$longest_job"
  check "which it controls" is "$(read_of "raycluster/$its" '.metadata.ownerReferences[] | select(.controller).name')" "$longest_job"
  check "to which its owner is copied" is "$(owner_of "raycluster/$its")" deployment/carol
  within master_of "$its"
  check "but to no pod" is "$(owner_of "pod/$pod")" null
  local uid
  uid=$(uid_of "raycluster/$its")
  kubectl -n lab delete raycluster "$its" >/dev/null
  check "the RayCluster is made again by its name" within is_another "raycluster/$its" "$uid"
  made "$its" 1
  check "the RayJob runs" within job_is "$longest_job" Running
  check "and is the root" shows "rayjob.ray.io/$longest_job" ours check "$its"
  kubectl -n lab delete deployment carol >/dev/null
  check "behind its owner the RayJob is deleted" within absent lab "rayjob/$longest_job"
  check "with its cluster" within all_gone "$its"
  check "and its submitter" within gone lab "ray.io/originated-from-cr-name=$longest_job"
}

a_services_own() {
  notebook four
  cluster_with serve '.kind = "RayService" | .spec = {serveConfigV2: "applications: []", rayClusterConfig: .spec}
    | '"$(owned_by pod/four)" | make
  check "a RayService makes a RayCluster" within cluster_of serve
  check "which is the RayService's to end, whatever owner that names" reason "$its" ambiguous
}

other_heads() {
  notebook five
  kubectl -n lab create serviceaccount autoscaled >/dev/null
  kubectl -n lab create rolebinding autoscaled --clusterrole=cluster-watcher-framework --serviceaccount=lab:autoscaled >/dev/null
  cluster_with auto '.spec.enableInTreeAutoscaling = true | del(.spec.headGroupSpec.template.spec.serviceAccountName)' | make
  check "under the autoscaler a head" within master_of auto
  check "has an account that the operator makes" is "$(read_of "pod/$pod" .spec.serviceAccountName)" auto
  check "and is injected" is_injected "$pod"
  kubectl -n lab create rolebinding auto-watcher --clusterrole=cluster-watcher --serviceaccount=lab:auto >/dev/null
  identity auto "$(kubectl -n lab create token auto --bound-object-kind=Pod --bound-object-name="$pod")"
  check "the guard would refuse the autoscaler's work" within refuses "'cluster-watcher-guard'" scales auto auto
  local unguarded='.spec.headGroupSpec.template.spec.serviceAccountName = "autoscaled"'
  cluster_with auto-two "$unguarded | .spec.enableInTreeAutoscaling = true" | as five create -f - >/dev/null
  watched_as=autoscaled made auto-two 1
  check "an account that is named is left" is "$(read_of "pod/$pod" .spec.serviceAccountName)" autoscaled
  check "and may do that work" within quietly scales auto-two auto-two
  job_with side '.spec.submissionMode = "SidecarMode" | del(.spec.submitterConfig)' | make
  within cluster_of side
  check "a head with the submitter in it" within master_of "$its"
  check "is injected too" is_injected "$pod"
  check "beside it" is "$(read_of "pod/$pod" '[.spec.containers[].name] | join(" ")')" "ray-head ray-job-submitter"
  cluster_with "$longest" | as five create -f - >/dev/null
  made "$longest" 1

  cluster_with old | make
  within has_workers old 1 && within master_of old
  local uid
  uid=$(uid_of "pod/$pod")
  kubectl -n lab delete raycluster old --cascade=orphan >/dev/null
  cluster_with old | as five create -f - >/dev/null
  made old 1
  check "a RayCluster takes over the pods of an earlier one of its name" is "$(uid_of "pod/$pod")" "$uid"
  check "without an ownerReference" is "$(read_of "pod/$pod" .metadata.ownerReferences)" null

  delete_pod five
  check "behind the owner the autoscaled cluster is deleted" within all_gone auto-two
  check "and that of the longest name" within all_gone "$longest"
  check "and that with pods of an earlier one" within all_gone old
  check "an autoscaled one without an owner stays" exists lab raycluster/auto
}
# scales NAME CLUSTER: as the autoscaler does, by the identity NAME.
scales() {
  as "$1" patch raycluster "$2" --type=json -p '[{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 2}]'
}

the_operator_is_down() {
  notebook six
  cluster_with six-ray | as six create -f - >/dev/null
  made six-ray 1
  job_with held | make
  within cluster_of held
  kubectl -n lab annotate raycluster "$its" cluster-watcher/owner=pod/six >/dev/null
  check "a RayCluster of a RayJob without an owner is the RayJob's" reason "$its" ambiguous
  kubectl -n lab annotate rayjob held cluster-watcher/owner=pod/six >/dev/null
  made "$its" 1
  within job_is held Running
  stop_operator
  delete_pod six
  check "where the operator is down a RayCluster goes all the same" within all_gone six-ray
  check "a RayJob is held by its finalizer" within is_terminating rayjob/held
  check "but its cluster goes" within all_gone "$its"
  check "and only it is left" exists lab rayjob/held
  start_operator
  check "back again the operator lets it go" within absent lab rayjob/held
  check "and makes nothing again" never any_of "six-ray, $its"
}
# KubeRay can call heads alike whenever it makes them; older ones always did.
heads_of_fixed_names() {
  stop_operator
  fixed_names=true start_operator
  notebook seven
  cluster_with seven-ray | as seven create -f - >/dev/null
  made seven-ray 1
  check "a head may have a fixed name" is "$pod" seven-ray-head
  delete_pod seven
  check "and deletes its cluster all the same" within all_gone seven-ray
}

start_operator
begin
what_the_operator_makes
made_again
by_name
a_job_uses_it
the_owner_goes
a_jobs_own
a_services_own
other_heads
the_operator_is_down
heads_of_fixed_names
ended
