#!/usr/bin/env bash
# Applies the manifests to a real control plane that serves the frameworks' kinds, and checks in each
# framework's words: whose pods are injected, who is written as the owner of what a pod makes, which
# account its master gets, and what the guard lets that account do.
#
#   test/integration/profiles_test.sh BUILD_DIR
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"

cp -r -- "$source_dir/manifests" "$tmp/manifests"
WATCH_PID=$$ "$source_dir/test/kubernetes/start" "$tmp/kubernetes"
# shellcheck source=/dev/null
. "$tmp/kubernetes/env"
for kind in rayclusters.ray.io rayjobs.ray.io daskclusters.kubernetes.dask.org daskjobs.kubernetes.dask.org \
  flinkdeployments.flink.apache.org flinksessionjobs.flink.apache.org \
  sparkconnects.sparkoperator.k8s.io sparkclusters.spark.apache.org; do
  kubectl apply -f "$source_dir/test/custom_resources/$kind.json" >/dev/null
done
within quietly kubectl wait --for=condition=Established --timeout=30s crd --all
kubectl apply -k "$(with policy owner-from-creator)" >/dev/null
for ns in lab plain; do kubectl create namespace "$ns" >/dev/null; done
kubectl label namespace lab cluster-watcher/enabled=true cluster-watcher/owner-from-creator=true >/dev/null

# pod_with LABELS: prints a pod, LABELS as JSON.
pod_with() {
  jq -nc --argjson labels "$1" '{apiVersion: "v1", kind: "Pod",
    metadata: {name: "p", labels: $labels}, spec: {containers: [{name: "c", image: "c"}]}}'
}
# is_injected LABELS
is_injected() {
  kubectl -n lab create --dry-run=server -o json -f <(pod_with "$1") 2>/dev/null |
    jq -e '.spec.initContainers[0].name == "cluster-watcher"' >/dev/null
}
is_left() { ! is_injected "$1"; }

# made_by KUBECONFIG PLURAL [JQ]: what is made of a resource that is called `new`.
made_by() {
  local group kind version
  read -r group version kind <<<"${kinds[$2]}"
  kubectl --kubeconfig="$1" -n "${ns-lab}" create --dry-run=server --field-manager="${manager-kubectl}" -o json -f <(jq -nc \
    --arg version "$group/$version" --arg kind "$kind" \
    "{apiVersion: \$version, kind: \$kind, metadata: {name: \"new\"}, spec: {}} | ${3-.}")
}
# is_owned_by OWNER KUBECONFIG PLURAL [JQ]
is_owned_by() {
  [[ $(made_by "${@:2}" | jq -r '.metadata.annotations["cluster-watcher/owner"] // "none"') == "$1" ]]
}
# gets ACCOUNT KUBECONFIG PLURAL [JQ]: whether its master gets this account, and no token beside it.
gets() {
  [[ $(made_by "${@:2}" | jq -c '.spec | (.scheduler // .headGroupSpec.template).spec |
    [.serviceAccountName, .automountServiceAccountToken]') == "$1" ]]
}
# What makes a cluster is its root where it names an owner.
declare -A kinds=([rayjobs]="ray.io v1 RayJob" [daskjobs]="kubernetes.dask.org v1 DaskJob"
  [rayclusters]="ray.io v1 RayCluster" [daskclusters]="kubernetes.dask.org v1 DaskCluster"
  [flinkdeployments]="flink.apache.org v1beta1 FlinkDeployment"
  [sparkconnects]="sparkoperator.k8s.io v1alpha1 SparkConnect"
  [sparkclusters]="spark.apache.org v1 SparkCluster")

# bound_as NAMESPACE POD: makes the pod, and $tmp/POD.kubeconfig with its token.
bound_as() {
  pod_with '{}' | jq '.metadata.name = "'"$2"'" | .spec.serviceAccountName = "cluster-watcher"' |
    kubectl -n "$1" create -f - >/dev/null
  identity "$2" "$(kubectl -n "$1" create token cluster-watcher --bound-object-kind=Pod \
    --bound-object-name="$2")"
}
# as POD ARGUMENT...: kubectl with its token.
as() { kubectl --kubeconfig="$tmp/$1.kubeconfig" -n lab "${@:2}"; }
# marks POD OBJECT PHASE: with the token of the pod.
marks() {
  local uid pod_uid
  uid=$(kubectl -n lab get "$2" -o 'jsonpath={.metadata.uid}')
  pod_uid=$(kubectl -n lab get pod "$1" -o 'jsonpath={.metadata.uid}')
  as "$1" patch "$2" --type=merge -p '{"metadata": {"annotations": {"cluster-watcher/phase": "'"$3"'",
    "cluster-watcher/condemned-by": "'"$1/$pod_uid"'", "cluster-watcher/root-uid": "'"$uid"'"}}}'
}

injection() {
  check "a Ray head is injected" within is_injected '{"ray.io/node-type": "head", "ray.io/cluster": "c"}'
  check "a Ray worker isn't" is_left '{"ray.io/node-type": "worker", "ray.io/cluster": "c"}'
  check "a head without a cluster isn't" is_left '{"ray.io/node-type": "head"}'
  check "a Dask scheduler is" is_injected '{"dask.org/component": "scheduler", "dask.org/cluster-name": "c"}'
  check "a Flink JobManager is" is_injected \
    '{"app": "c", "component": "jobmanager", "type": "flink-native-kubernetes"}'
  check "a component of something else isn't" is_left '{"app": "c", "component": "jobmanager"}'
  check "a Spark Connect server is" is_injected \
    '{"spark-role": "connect-server", "sparkoperator.k8s.io/connect-name": "c"}'
  check "a master of Apache's operator is" is_injected \
    '{"spark-role": "master", "spark.operator/spark-cluster-name": "c"}'
  check "a Spark driver isn't" is_left '{"spark-role": "driver", "sparkoperator.k8s.io/app-name": "c"}'
  check "a master of the chart is" is_injected '{"app.kubernetes.io/component": "master",
    "app.kubernetes.io/name": "spark", "app.kubernetes.io/instance": "c"}'
  check "another chart's master isn't" is_left '{"app.kubernetes.io/component": "master",
    "app.kubernetes.io/name": "redis", "app.kubernetes.io/instance": "c"}'
}

creators() {
  local ns resources=rayclusters.ray.io,daskclusters.kubernetes.dask.org,flinkdeployments.flink.apache.org
  resources+=,sparkconnects.sparkoperator.k8s.io,sparkclusters.spark.apache.org,rayjobs.ray.io,deployments.apps
  for ns in lab plain; do
    kubectl -n "$ns" create role maker --verb='*' --resource="$resources" >/dev/null
    kubectl -n "$ns" create serviceaccount notebook >/dev/null
    kubectl -n "$ns" create rolebinding maker --role=maker --serviceaccount=lab:notebook \
      --serviceaccount=plain:notebook >/dev/null
    pod_with '{}' | jq '.metadata.name = "nb" | .spec.serviceAccountName = "notebook"' |
      kubectl -n "$ns" create -f - >/dev/null
    identity "nb-$ns" "$(kubectl -n "$ns" create token notebook --bound-object-kind=Pod --bound-object-name=nb)"
  done
  ns=lab
  identity person "$(kubectl -n lab create token notebook)"
  local nb=$tmp/nb-lab.kubeconfig plural
  for plural in "${!kinds[@]}"; do
    [[ $plural == *jobs ]] ||
      check "what a pod makes of $plural is its own" is_owned_by pod/nb "$nb" "$plural"
  done
  local manager=cluster-watcher-create
  check "what our own commands make has the owner that they say" is_owned_by none "$nb" rayclusters
  unset manager
  check "but not a job, which ends by itself" is_owned_by none "$nb" rayjobs
  check "what a person makes is nobody's" is_owned_by none "$tmp/person.kubeconfig" rayclusters
  check "what a pod of another namespace makes is nobody's" is_owned_by none "$tmp/nb-plain.kubeconfig" rayclusters
  check "an owner that is named stays" is_owned_by deployment/bob "$nb" rayclusters \
    '.metadata.annotations = {"cluster-watcher/owner": "deployment/bob"}'
  check "so does one that the template names" is_owned_by none "$nb" rayclusters \
    '.spec.headGroupSpec.template.metadata.annotations = {"cluster-watcher/owner": "deployment/bob"}'
  check "and the label of an owner" is_owned_by none "$nb" daskclusters '.metadata.labels = {"ephemeral": "bob"}'
  check "what is owned is its owner's" is_owned_by none "$nb" rayclusters \
    '.metadata.ownerReferences = [{apiVersion: "ray.io/v1", kind: "RayJob", name: "j",
      uid: "00000000-0000-0000-0000-000000000000"}]'
  local deployment='.apiVersion = "apps/v1" | .kind = "Deployment" | .spec = {selector: {matchLabels: {a: "b"}},
    template: {metadata: {labels: {a: "b"}}, spec: {containers: [{name: "c", image: "c"}]}}}'
  check "a Deployment of no master is nobody's" is_owned_by none "$nb" rayclusters "$deployment"
  check "one of a master is its maker's" is_owned_by pod/nb "$nb" rayclusters \
    "$deployment"' | .spec.template.metadata.labels["oshinko-type"] = "master"'
  ns=plain
  check "where the namespace isn't labelled nobody is written" is_owned_by none "$tmp/nb-plain.kubeconfig" rayclusters
}

accounts() {
  local ns=lab nb=$tmp/nb-lab.kubeconfig given='["master",false]' none='[null,null]' plural
  local dask='.spec = {worker: {spec: {containers: []}}, scheduler: {spec: {containers: []}, service: {}}}'
  local ray='.spec = {headGroupSpec: {rayStartParams: {}, template: {spec: {containers: []}}}}'
  local owned='.metadata.annotations = {"cluster-watcher/owner": "deployment/bob"}'
  check "a scheduler gets no account" gets "$none" "$nb" daskclusters "$dask"
  kubectl label namespace lab cluster-watcher/master-account=master >/dev/null
  check "but where the namespace names one" within gets "$given" "$nb" daskclusters "$dask"
  check "a Ray head too" gets "$given" "$nb" rayclusters "$ray"
  check "also of what a person makes with an owner" gets "$given" "$tmp/person.kubeconfig" rayclusters "$ray | $owned"
  check "or an owner in its template" gets "$given" "$tmp/person.kubeconfig" daskclusters \
    "$dask"' | .spec.scheduler.metadata.annotations = {"cluster-watcher/owner": "deployment/bob"}'
  check "or in the label" gets "$given" "$tmp/person.kubeconfig" daskclusters "$dask"' | .metadata.labels = {"ephemeral": "bob"}'
  check "a shared cluster's master gets none" gets "$none" "$tmp/person.kubeconfig" rayclusters "$ray"
  check "an account that is named stays" gets '["other",null]' "$nb" daskclusters \
    "$dask"' | .spec.scheduler.spec.serviceAccountName = "other"'
  check "by its older name too" gets '[null,null]' "$nb" rayclusters \
    "$ray"' | .spec.headGroupSpec.template.spec.serviceAccount = "other"'
  check "whoever asks for a token keeps the account that it is of" gets '[null,true]' "$nb" daskclusters \
    "$dask"' | .spec.scheduler.spec.automountServiceAccountToken = true'
  check "a head with the autoscaler has KubeRay's" gets "$none" "$nb" rayclusters "$ray | .spec.enableInTreeAutoscaling = true"
  check "what is owned is its owner's affair" gets "$none" "$nb" rayclusters \
    "$ray | $owned"' | .metadata.ownerReferences =
      [{apiVersion: "ray.io/v1", kind: "RayJob", name: "j", uid: "00000000-0000-0000-0000-000000000000"}]'
  check "what has no master's spec is as it was" is_owned_by pod/nb "$nb" rayclusters
  ns=plain
  check "in other namespaces nothing is set" gets "$none" "$tmp/nb-plain.kubeconfig" rayclusters "$ray | $owned"
  kubectl label namespace lab cluster-watcher/master-account- >/dev/null
}

guard() {
  kubectl -n lab create serviceaccount cluster-watcher >/dev/null
  kubectl -n lab create rolebinding cluster-watcher --clusterrole=cluster-watcher \
    --serviceaccount=lab:cluster-watcher >/dev/null
  local object plural group version kind
  for plural in "${!kinds[@]}"; do
    read -r group version kind <<<"${kinds[$plural]}"
    for object in c other; do
      jq -nc --arg version "$group/$version" --arg kind "$kind" --arg name "$object" \
        '{apiVersion: $version, kind: $kind, metadata: {name: $name}, spec: {}}' |
        kubectl -n lab create -f - >/dev/null
    done
  done
  for object in c-head-bcdfg c-head c-scheduler-6bb547c6bc-mzv2l c-b97b46cbd-hxq25 c-server c-master-0 \
    c-7vn6l-head-gcvbj worker; do
    bound_as lab "$object"
  done
  local pod
  while read -r pod object; do
    check "the pod $pod may mark $object" quietly marks "$pod" "$object/c" deleting
    check "but not another one" refuses "'cluster-watcher-guard'" marks "$pod" "$object/other" deleting
    check "and a worker may not" refuses "'cluster-watcher-guard'" marks worker "$object/c" deleting
    check "nor delete it, marked or not" refuses "'cluster-watcher-guard'" as worker delete "$object/c"
    check "it may delete it" quietly as "$pod" delete "$object/c" --dry-run=server
    check "but no other" refuses "'cluster-watcher-guard'" as "$pod" delete "$object/other"
  done <<'OBJECTS'
c-head-bcdfg raycluster.ray.io
c-scheduler-6bb547c6bc-mzv2l daskcluster.kubernetes.dask.org
c-b97b46cbd-hxq25 flinkdeployment.flink.apache.org
c-server sparkconnect.sparkoperator.k8s.io
c-master-0 sparkcluster.spark.apache.org
c-7vn6l-head-gcvbj rayjob.ray.io
c-scheduler-6bb547c6bc-mzv2l daskjob.kubernetes.dask.org
OBJECTS
  check "an older KubeRay's head may too" quietly marks c-head raycluster.ray.io/c deleting
  kubectl -n lab create configmap shop >/dev/null
  kubectl -n lab label configmap shop app=c >/dev/null
  check "what is labelled app alone is everybody's" refuses "'cluster-watcher-guard'" as worker delete configmap/shop
  kubectl -n lab label configmap shop type=flink-native-kubernetes >/dev/null
  check "with the type it is the cluster's" quietly as worker delete configmap/shop
  kubectl -n lab create -f - >/dev/null <<'JOB'
{"apiVersion": "flink.apache.org/v1beta1", "kind": "FlinkSessionJob", "metadata": {"name": "j"},
 "spec": {"deploymentName": "c"}}
JOB
  check "a session job that runs may not be deleted" refuses "'cluster-watcher-guard'" \
    as worker delete flinksessionjob.flink.apache.org/j
  kubectl -n lab patch flinksessionjob.flink.apache.org/j --subresource=status --type=merge \
    -p '{"status": {"jobStatus": {"state": "FINISHED"}}}' >/dev/null
  check "but one that has ended" quietly as worker delete flinksessionjob.flink.apache.org/j
}

# The pages of the documents show parts of these.
examples() {
  local example
  for example in ray dask dask-saved flink spark-connect; do
    check "the example $example is accepted" quietly kubectl -n lab create --dry-run=server --validate=strict \
      -f "$source_dir/manifests/examples/$example/cluster.yaml"
  done
}

injection
examples
creators
accounts
guard
finished=true
echo "$passed passed, $failed failed"
((failed == 0))
