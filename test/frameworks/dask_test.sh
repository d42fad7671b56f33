#!/usr/bin/env bash
# Runs Dask's own operator on a real control plane. A pod makes a DaskCluster with Python, as a
# notebook does, without a line for the watcher: it is injected, watched over, kept while the pod is
# there, and deleted behind it; also where the operator is down by then.
#
#   test/frameworks/dask_test.sh BUILD_DIR
set -euo pipefail
# shellcheck source=../integration/common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/../integration/common.bash"

dask=$("$source_dir/test/frameworks/dask_build")
definitions=$(echo "$dask"/lib/python3*/site-packages/dask_kubernetes/operator/deployment/helm/dask-kubernetes-operator/crds)
cp -r -- "$source_dir/manifests" "$tmp/manifests"
WATCH_PID=$$ "$source_dir/test/kubernetes/start" "$tmp/kubernetes"
# shellcheck source=/dev/null
. "$tmp/kubernetes/env"
for kind in daskcluster daskworkergroup daskjob daskautoscaler; do
  kubectl apply -f "$definitions/$kind.yaml" >/dev/null
done
within 60 quietly kubectl wait --for=condition=Established --timeout=30s crd --all
# A new kind is listed before it can be created.
can_be_made() {
  [[ $(kubectl create --validate=false --dry-run=server -f - 2>&1 <<<'{"apiVersion": "kubernetes.dask.org/v1", "kind": "DaskCluster",
    "metadata": {"name": "probe", "namespace": "default"}, "spec": {}}') != *"not found"* ]]
}
within 60 can_be_made
kubectl apply -k "$(with policy owner-from-creator)" >/dev/null
kubectl create namespace lab >/dev/null
kubectl label namespace lab cluster-watcher/enabled=true cluster-watcher/owner-from-creator=true >/dev/null
# The API server takes a policy up a moment after it was written.
is_in_force() {
  kubectl -n lab create --dry-run=server -o json -f - 2>/dev/null <<<'{"apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "probe", "labels": {"dask.org/component": "scheduler", "dask.org/cluster-name": "c"}},
    "spec": {"containers": [{"name": "c", "image": "c"}]}}' | jq -e '.spec.initContainers != null' >/dev/null
}
within 30 is_in_force
kubectl -n lab create serviceaccount notebook >/dev/null
kubectl -n lab create role notebook --verb='*' --resource=daskclusters.kubernetes.dask.org >/dev/null
kubectl -n lab create rolebinding notebook --role=notebook --serviceaccount=lab:notebook >/dev/null
# The example's watcher needs one account: that of the scheduler.
kubectl -n lab create serviceaccount cluster-watcher >/dev/null
kubectl -n lab create rolebinding cluster-watcher --clusterrole=cluster-watcher \
  --serviceaccount=lab:cluster-watcher >/dev/null

operator=''
start_operator() {
  "$dask/bin/python" -m kopf run --namespace=lab --standalone -m dask_kubernetes.operator.controller >"$tmp/operator.log" 2>&1 &
  operator=$!
  watchers+=("$operator")
}
stop_operator() { kill -KILL "$operator" && wait "$operator" 2>/dev/null || :; }

# notebook NAME: a pod, and what Python in it makes: the DaskCluster NAME-dask.
notebook() {
  jq -nc --arg name "$1" '{apiVersion: "v1", kind: "Pod", metadata: {name: $name},
    spec: {serviceAccountName: "notebook", containers: [{name: "c", image: "c"}]}}' |
    kubectl -n lab create -f - >/dev/null
  identity "$1" "$(kubectl -n lab create token notebook --bound-object-kind=Pod --bound-object-name="$1")"
  "$dask/bin/python" - "$1-dask" <<'PYTHON' | kubectl --kubeconfig="$tmp/$1.kubeconfig" -n lab create -f - >/dev/null
import json, sys
from dask_kubernetes.operator import make_cluster_spec
spec = make_cluster_spec(name=sys.argv[1], n_workers=2)
spec["spec"]["scheduler"]["spec"]["serviceAccountName"] = "cluster-watcher"
print(json.dumps(spec))
PYTHON
}
scheduler_of() { pod_of lab "dask.org/cluster-name=$1,dask.org/component=scheduler"; }
has_workers() {
  [[ $(kubectl -n lab get pods -l "dask.org/cluster-name=$1,dask.org/component=worker" -o name | wc -l) == "$2" ]]
}
is_injected() {
  kubectl -n lab get pod "$1" -o json | jq -e '.spec.initContainers[0].name == "cluster-watcher"' >/dev/null
}
none_of_the_workers_is() {
  kubectl -n lab get pods -l "dask.org/cluster-name=$1,dask.org/component=worker" -o json |
    jq -e '[.items[].spec.initContainers // [] | .[] | select(.name == "cluster-watcher")] == []' >/dev/null
}
owner_of() { kubectl -n lab get daskcluster "$1" -o 'jsonpath={.metadata.annotations.cluster-watcher/owner}'; }
no_pods() { [[ -z $(kubectl -n lab get pods -l "dask.org/cluster-name=$1" -o name) ]]; }
# starts_as POD: as the kubelet would say, which isn't there.
starts_as() {
  kubectl -n lab patch pod "$1" --subresource=status --type=merge -p '{"status": {"phase": "Running",
    "podIP": "127.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]}}' >/dev/null
}
pods_go() { # without a kubelet nobody takes a terminating pod off
  local pod
  for pod in $(kubectl -n lab get pods -l "dask.org/cluster-name=$1" -o json |
    jq -r '.items[] | select(.metadata.deletionTimestamp) | .metadata.name'); do
    quietly kubectl -n lab delete pod "$pod" --grace-period=0 --force || :
  done
  no_pods "$1"
}

# made NAME: makes the cluster NAME-dask, and watches over it.
made() {
  notebook "$1"
  check "the pod that made it is its owner" is "$(owner_of "$1-dask")" "pod/$1"
  check "the operator makes a scheduler" within 60 scheduler_of "$1-dask"
  [[ -n ${pod:-} ]] || { tail -n 40 "$tmp/operator.log"; return 1; }
  check "which is injected" is_injected "$pod"
  starts_as "$pod"
  check "and workers" within 90 has_workers "$1-dask" 2
  check "which aren't" none_of_the_workers_is "$1-dask"
  watch_over lab "$pod" "$1"
  check "it is kept while the pod is there" within 30 metric "$1" 'cluster_watcher_verdict\{.*"active".*\}'
}

start_operator
made one
made two
kubectl -n lab delete pod one --grace-period=0 --force >/dev/null 2>&1
check "behind its pod the cluster is deleted" within 60 absent lab daskcluster/one-dask
check "with its pods" within 60 pods_go one-dask
check "its neighbour stays" exists lab daskcluster/two-dask
check "with its workers" has_workers two-dask 2
check "and is kept" metric two 'cluster_watcher_verdict\{.*"active".*\}'
stop_operator
kubectl -n lab delete pod two --grace-period=0 --force >/dev/null 2>&1
check "where the operator is down the pods go all the same" within 120 pods_go two-dask
check "and its resource is held" exists lab daskcluster/two-dask
check "nothing was refused" not grep -q "forbidden" "$tmp/one.log" "$tmp/two.log"
start_operator
check "back again it lets the rest go" within 60 absent lab daskcluster/two-dask

((failed == 0)) || tail -n 30 "$tmp"/*.log
finished=true
echo "$passed passed, $failed failed"
((failed == 0))
