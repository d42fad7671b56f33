#!/usr/bin/env bash
# Runs Kubeflow's Spark operator on a real control plane. Pods make SparkConnects as notebooks do:
# their servers are injected, watched over, kept while their owners are there, and deleted behind
# them with the executors that they made; also where the operator is down by then. What the program
# relies on of the operator is checked too.
#
#   test/frameworks/spark_test.sh BUILD_DIR
set -euo pipefail
# shellcheck disable=SC2034
cluster=sparkoperator.k8s.io/connect-name master=spark-role=connect-server worker=spark-role=executor
# shellcheck disable=SC2034
root=sparkoperator.k8s.io/v1alpha1/SparkConnect least='{sparkVersion: "4.0.1", server: {}, executor: {}}'
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"

spark=$("$source_dir/test/frameworks/build" spark)
lab "$spark"/*.yaml
run_operator() {
  # What it tells servers, as in a pod.
  KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT=${APISERVER##*:} exec "$spark/operator" \
    controller start --namespaces=lab --health-probe-bind-address=0
}
# That of the servers, which make executors.
watched_as=server
kubectl -n lab create serviceaccount server >/dev/null
kubectl -n lab create rolebinding server --clusterrole=cluster-watcher-framework --serviceaccount=lab:server >/dev/null
kubectl -n lab create role executors --verb='*' --resource=pods,configmaps,services >/dev/null
kubectl -n lab create rolebinding executors --role=executors --serviceaccount=lab:server \
  --serviceaccount=lab:cluster-watcher >/dev/null

# connect_with NAME [JQ]: prints the example's SparkConnect, without an owner.
connect_with() {
  kubectl create --dry-run=client -o json -f "$source_dir/manifests/examples/spark-connect/cluster.yaml" |
    jq --arg name "$1" --arg account "$watched_as" '.metadata = {name: $name} |
      .spec.server.template.spec.serviceAccountName = $account |'" ${2-.}"
}
# argument_of NAME: what the operator tells the server, $pod, about it.
argument_of() { read_of "pod/$pod" .spec.containers[0].args[0] | grep -oP -- "(?<=--conf $1=)\S+"; }
# executes NUMBER: the server makes an executor, labelled as the operator tells it.
executes() {
  local key labels='{}'
  for key in "$cluster" sparkoperator.k8s.io/launched-by-spark-operator; do
    labels=$(jq -c --arg key "$key" --arg value "$(argument_of "spark.kubernetes.executor.label.$key")" '.[$key] = $value' <<<"$labels")
  done
  identity "$pod" "$(kubectl -n lab create token "$watched_as" --bound-object-kind=Pod --bound-object-name="$pod")"
  pod_with "$(argument_of spark.kubernetes.executor.podNamePrefix)-exec-$1" "$labels" |
    jq --arg server "$pod" --arg uid "$(uid_of "pod/$pod")" '.metadata.labels["spark-role"] = "executor" |
      .metadata.ownerReferences = [{apiVersion: "v1", kind: "Pod", name: $server, uid: $uid, controller: true}]' |
    as "$pod" create -f - >/dev/null
}
all_gone() { absent lab "sparkconnect/$1" && gone lab "$cluster=$1"; }
begin() {
  notebook one
  connect_with one-spark | as one create -f - >/dev/null
  check "the pod that makes a SparkConnect is its owner" is "$(owner_of sparkconnect/one-spark)" pod/one
  made one-spark 0
  check "the server is told another account for executors" is \
    "$(argument_of spark.kubernetes.authenticate.executor.serviceAccountName)" default
  check "it controls server, Service and ConfigMap" is "$(controllers one-spark pods,services,configmaps)" \
    "ConfigMap of SparkConnect/one-spark, Pod of SparkConnect/one-spark, Service of SparkConnect/one-spark"
  check "it carries no label of the cluster, and no finalizer" is \
    "$(read_of sparkconnect/one-spark '[.metadata.labels, .metadata.finalizers] | tostring')" "[null,null]"
  check "its annotations aren't copied" is "$(owner_of "pod/$pod")" null
  executes 1
  check "an executor is the cluster's" has_workers one-spark 1
  check "and isn't injected" none_of_the_workers_is one-spark

  driver bob
  connect_with two-spark "$(owned_by deployment/bob)" | as one create -f - >/dev/null
  check "an owner that is named stays" is "$(owner_of sparkconnect/two-spark)" deployment/bob
  made two-spark 0
  executes 2
  two_server=$(uid_of "pod/$pod")
}

made_again() {
  local old
  old=$(uid_of pod/one-spark-server)
  stop_watcher one-spark
  delete_pod one-spark-server
  check "a server that is deleted is made again by its name" within is_another pod/one-spark-server "$old"
  made one-spark 0
  executes 3
  service_again one-spark-server
}

by_name() {
  check "list shows them by their names" shows "one-spark .*pod/one.*two-spark .*deployment.apps/bob" ours list
  check "check looks at one of them" reason two-spark active
  held one-spark one
  check "then it is deleted, with its executors" within all_gone one-spark
  check "its neighbour stays" exists lab sparkconnect/two-spark
  check "with its executor" has_workers two-spark 1
  check "and is kept" says two-spark active
  check "the operator has left the injected server as it was" is "$(uid_of pod/two-spark-server)" "$two_server"
}

# As the guard binds whoever has the watcher's Role alone.
guarded() {
  local watched_as=cluster-watcher
  connect_with bound | make
  check "a server of another account" within master_of bound
  check "whose Role is the watcher's could make no executors" refuses "'cluster-watcher-guard'" executes 4
}

# The operator takes a server of an earlier SparkConnect over, with an ownerReference.
adopted() {
  local old
  notebook three
  connect_with old | make
  within master_of old
  old=$(uid_of pod/old-server)
  kubectl -n lab delete sparkconnect old --cascade=orphan >/dev/null
  connect_with old | as three create -f - >/dev/null
  check "a SparkConnect takes over the server of an earlier one" within \
    shows "^Pod of SparkConnect/old$" controllers old pods
  check "as it is" is "$(uid_of pod/old-server)" "$old"
  made old 0
  delete_pod three
  check "and goes with it" within all_gone old
}

the_operator_is_down() {
  stop_operator
  kubectl -n lab delete deployment bob >/dev/null
  check "where the operator is down the cluster goes all the same" within all_gone two-spark
  start_operator
  notebook four
  connect_with four-spark | as four create -f - >/dev/null
  made four-spark 0
  check "back again the operator makes nothing again" all_gone two-spark
}

start_operator
begin
made_again
by_name
guarded
adopted
the_operator_is_down
ended
