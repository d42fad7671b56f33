#!/usr/bin/env bash
# Runs Flink's operator on a real control plane. Pods make session clusters as notebooks do: their
# JobManagers are injected, watched over, kept while their owners are there or jobs run, and deleted
# behind them with their jobs; also where the operator is down by then. What the program relies on of
# the operator is checked too.
#
#   test/frameworks/flink_test.sh BUILD_DIR
set -euo pipefail
# shellcheck disable=SC2034
cluster=app master=component=jobmanager,type=flink-native-kubernetes worker=component=taskmanager
# shellcheck disable=SC2034
root=flink.apache.org/v1beta1/FlinkDeployment least='{}'
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"

flink=$("$source_dir/test/frameworks/build" flink)
lab "$flink"/*.yml
# JobManagers don't answer it, so that it deems all of them DEPLOYING.
mkdir "$tmp/flink"
cat >"$tmp/flink/flink-conf.yaml" <<CONFIG
kubernetes.operator.watched.namespaces: lab
kubernetes.operator.health.probe.enabled: false
kubernetes.operator.reconcile.interval: 2 s
kubernetes.operator.observer.progress-check.interval: 1 s
kubernetes.operator.flink.client.timeout: 2 s
kubernetes.operator.flink.client.cancel.timeout: 2 s
CONFIG
run_operator() {
  FLINK_CONF_DIR=$tmp/flink exec java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dlog4j.skipJansi=true \
    -cp "$flink/lib/*" org.apache.flink.kubernetes.operator.FlinkOperator
}
# That of the JobManagers, which make TaskManagers.
watched_as="cluster-watcher-framework"
kubectl -n lab create serviceaccount "$watched_as" >/dev/null
kubectl -n lab create rolebinding "$watched_as" --clusterrole=cluster-watcher-framework \
  --serviceaccount="lab:$watched_as" >/dev/null
kubectl -n lab create role taskmanagers --verb='*' --resource=pods,configmaps >/dev/null
kubectl -n lab create rolebinding taskmanagers --role=taskmanagers --serviceaccount="lab:$watched_as" \
  --serviceaccount=lab:cluster-watcher >/dev/null

# session_with NAME [JQ]: prints the example's FlinkDeployment, without an owner.
session_with() {
  kubectl create --dry-run=client -o json -f "$source_dir/manifests/examples/flink/cluster.yaml" |
    jq --arg name "$1" '.metadata = {name: $name} |'" ${2-.}"
}
highly_available='.spec.flinkConfiguration = {"high-availability.type": "kubernetes",
  "high-availability.storageDir": "file:///tmp/flink"}'
# works CLUSTER NUMBER: its JobManager, $pod, makes a TaskManager, as Flink does.
works() {
  identity "$pod" "$(kubectl -n lab create token "$watched_as" --bound-object-kind=Pod --bound-object-name="$pod")"
  pod_with "$1-taskmanager-1-$2" "$(labels "app=$1,component=taskmanager,type=flink-native-kubernetes")" |
    jq --arg name "$1" --arg uid "$(uid_of "deployment/$1")" '.metadata.ownerReferences =
      [{apiVersion: "apps/v1", kind: "Deployment", name: $name, uid: $uid, controller: true}]' |
    as "$pod" create -f - >/dev/null
}
# elects CLUSTER: its JobManager keeps what a later one needs; nothing owns it.
elects() {
  identity "$pod" "$(kubectl -n lab create token "$watched_as" --bound-object-kind=Pod --bound-object-name="$pod")"
  jq -nc --arg name "$1" '{apiVersion: "v1", kind: "ConfigMap", metadata: {name: ($name + "-cluster-config-map"),
    labels: {app: $name, type: "flink-native-kubernetes", "configmap-type": "high-availability"}}}' |
    as "$pod" create -f - >/dev/null
}
# job NAME CLUSTER: makes a FlinkSessionJob.
job() {
  jq -nc --arg name "$1" --arg cluster "$2" '{apiVersion: "flink.apache.org/v1beta1", kind: "FlinkSessionJob",
    metadata: {name: $name}, spec: {deploymentName: $cluster,
      job: {jarURI: "local:///job.jar", parallelism: 1, upgradeMode: "stateless"}}}' | make
}
# flink_says OBJECT STATE: what its operator would hear.
flink_says() {
  kubectl -n lab patch "$1" --subresource=status --type=merge -p "{\"status\": {\"jobStatus\": {\"state\": \"$2\"}}}" >/dev/null
}
is_held() { [[ $(read_of "$1" '.metadata.finalizers | tostring') == '["flinksessionjobs.flink.apache.org/finalizer"]' ]]; }
all_gone() { absent lab "flinkdeployment/$1" && gone lab "$cluster=$1"; }

begin() {
  notebook one
  session_with one-flink | as one create -f - >/dev/null
  check "the pod that makes a session is its owner" is "$(owner_of flinkdeployment/one-flink)" pod/one
  made one-flink 0
  works one-flink 1
  check "a TaskManager is the session's" has_workers one-flink 1
  check "and isn't injected" none_of_the_workers_is one-flink

  driver bob
  session_with two-flink "$highly_available | $(owned_by deployment/bob)" | as one create -f - >/dev/null
  check "an owner that is named stays" is "$(owner_of flinkdeployment/two-flink)" deployment/bob
  made two-flink 0 --observe=watch
  elects two-flink
}

what_the_operator_makes() {
  check "the FlinkDeployment owns the Deployment, without control" is \
    "$(read_of deployment/one-flink '.metadata.ownerReferences | map("\(.kind)/\(.name) \(.controller)") | join(", ")')" \
    "FlinkDeployment/one-flink false"
  check "which controls the rest" is "$(controllers one-flink services,configmaps,replicasets)" \
    "ConfigMap of Deployment/one-flink, ReplicaSet of Deployment/one-flink, Service of Deployment/one-flink"
  check "the FlinkDeployment carries no label of the session, but a finalizer" is \
    "$(read_of flinkdeployment/one-flink '[.metadata.labels, .metadata.finalizers] | tostring')" \
    '[null,["flinkdeployments.flink.apache.org/finalizer"]]'
  master_of one-flink
  check "its annotations aren't copied" is "$(owner_of "pod/$pod")" null
  check "the JobManager has the account that the session names" is "$(read_of "pod/$pod" .spec.serviceAccountName)" "$watched_as"
  check "and is told another one for TaskManagers" shows "kubernetes.taskmanager.service-account: default" \
    kubectl -n lab get configmap flink-config-one-flink -o yaml
}

made_again() {
  local old
  master_of one-flink
  old=$pod
  stop_watcher one-flink
  delete_pod "$old"
  check "a JobManager that is deleted is made again" within master_of one-flink
  check "by another name" [ "$pod" != "$old" ]
  made one-flink 0
  check "the TaskManager is left" has_workers one-flink 1

  session_with again "$highly_available" | make
  within master_of again
  old=$(uid_of deployment/again)
  kubectl -n lab delete deployment again >/dev/null
  check "with high availability the operator makes the Deployment again" within is_another deployment/again "$old"
  check "which nobody owns then" is "$(read_of deployment/again .metadata.ownerReferences)" null
  within absent lab "pod/$pod"
  check "its JobManager" within master_of again
  check "is injected" is_injected "$pod"
  kubectl -n lab delete flinkdeployment again --wait=false >/dev/null
  check "the operator ends it by its name" within all_gone again

  session_with lost | make
  within master_of lost
  kubectl -n lab delete deployment lost >/dev/null
  check "without, it says that it can't" within in_file \
    "[lab.lost] Could not recover lost jobmanager deployment without HA enabled" "$tmp/operator.log"
  check "and makes none" absent lab deployment/lost
}

by_name() {
  notebook three
  session_with three-flink | as three create -f - >/dev/null
  made three-flink 0
  check "list shows them by their names" shows "one-flink .*pod/one.*two-flink .*deployment.apps/bob" ours list
  check "check looks at one of them" reason one-flink active
  held three-flink three
  check "then it is deleted" within all_gone three-flink
  check "by its operator" in_file "[lab.three-flink] Stopping session cluster" "$tmp/operator.log"
}

jobs_use_it() {
  job first two-flink
  flink_says flinksessionjob/first RUNNING
  kubectl -n lab delete deployment bob >/dev/null
  check "while a FlinkSessionJob runs it uses the session, behind the owner too" within says two-flink in-use
  check "and has a finalizer" within is_held flinksessionjob/first
  job other one-flink
  flink_says flinksessionjob/other RUNNING
  check "which keeps the session" never is_terminating flinkdeployment/two-flink
  flink_says flinksessionjob/first FINISHED
  check "then the session is deleted" within all_gone two-flink
  check "with its job" absent lab flinksessionjob/first
  check "its neighbour stays" exists lab flinkdeployment/one-flink
  check "with its TaskManager" has_workers one-flink 1
  check "and its job" exists lab flinksessionjob/other
  check "and is kept" says one-flink active

  kubectl -n lab delete flinkdeployment lost --wait=false >/dev/null
  check "without jobs the operator ends a FlinkDeployment" within absent lab flinkdeployment/lost
  session_with blocked | make
  within master_of blocked
  job ended blocked
  flink_says flinksessionjob/ended FINISHED
  kubectl -n lab delete flinkdeployment blocked --wait=false >/dev/null
  check "with a job, even an ended one, it doesn't" within in_file \
    "The session jobs [ended] should be deleted first" "$tmp/operator.log"
  check "and leaves all of it" exists lab "pod/$pod"
  kubectl -n lab delete flinksessionjob ended >/dev/null
  check "until that is deleted" within all_gone blocked
}

# In this mode the operator makes the TaskManagers itself.
standalone() {
  local master=component=jobmanager,type=flink-standalone-kubernetes
  driver carol
  session_with alone '.spec.mode = "standalone" | .spec.taskManager.replicas = 2 | '"$(owned_by deployment/carol)" | make
  made alone 2
  kubectl -n lab delete deployment carol >/dev/null
  check "behind its owner a standalone session is deleted" within all_gone alone
}

an_application() {
  driver dan
  session_with app-flink '.spec.job = {jarURI: "local:///job.jar", parallelism: 1, upgradeMode: "stateless"} |
    '"$(owned_by deployment/dan)" | make
  made app-flink 0
  kubectl -n lab delete deployment dan >/dev/null
  check "its own job uses a cluster" within says app-flink in-use
  flink_says flinkdeployment/app-flink FINISHED
  check "which is deleted then" within all_gone app-flink
}

the_operator_is_down() {
  notebook four
  session_with four-flink "$highly_available" | as four create -f - >/dev/null
  made four-flink 0
  works four-flink 1
  elects four-flink
  notebook five
  session_with five-flink | as five create -f - >/dev/null
  made five-flink 0 --delete-deadline=5s
  job left five-flink
  flink_says flinksessionjob/left FINISHED
  within is_held flinksessionjob/left
  stop_operator
  delete_pod four
  check "where the operator is down the pods go all the same" within no_pods four-flink
  check "with all that is labelled" within gone lab "$cluster=four-flink"
  check "and the FlinkDeployment is held by its finalizer" is_terminating flinkdeployment/four-flink
  delete_pod five
  check "with a job, which the finalizer of its own holds, they go after the deadline" within no_pods five-flink
  check "and it is held" is_terminating flinksessionjob/left
  start_operator
  check "back again the operator lets it go" within absent lab flinkdeployment/four-flink
  check "and the other, with its job" within absent lab flinkdeployment/five-flink
  check "and makes nothing again" never any_of "four-flink, five-flink"
  flink_says flinksessionjob/other FINISHED
  delete_pod one
  check "and ends what a pod leaves then" within all_gone one-flink
}

start_operator
begin
what_the_operator_makes
made_again
by_name
jobs_use_it
standalone
an_application
the_operator_is_down
ended
