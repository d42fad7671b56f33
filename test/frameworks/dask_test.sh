#!/usr/bin/env bash
# Runs Dask's own operator on a real control plane. A pod makes a DaskCluster with Python, as a
# notebook does, without a line for the watcher, the account of the scheduler included, which the
# namespace names: it is injected, watched over, kept while the pod is there, and deleted behind it;
# also where the operator is down by then. Another names its account itself.
#
#   test/frameworks/dask_test.sh BUILD_DIR
set -euo pipefail
# shellcheck disable=SC2034
cluster=dask.org/cluster-name master=dask.org/component=scheduler worker=dask.org/component=worker
# shellcheck disable=SC2034
root=kubernetes.dask.org/v1/DaskCluster least='{worker: {spec: {containers: []}},
  scheduler: {spec: {containers: []}, service: {}}}'
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"

dask=$("$source_dir/test/frameworks/python_build" dask)
lab "$dask"/lib/python3*/site-packages/dask_kubernetes/operator/deployment/helm/dask-kubernetes-operator/crds/*.yaml
run_operator() {
  exec "$dask/bin/python" -m kopf run --namespace=lab --standalone -m dask_kubernetes.operator.controller
}

# made_by NAME [ACCOUNT]: a pod, and what Python in it makes: the DaskCluster NAME-dask.
made_by() {
  "$dask/bin/python" - "$1-dask" "${@:2}" <<'PYTHON' | as "$1" create -f - >/dev/null
import json, sys
from dask_kubernetes.operator import make_cluster_spec
spec = make_cluster_spec(name=sys.argv[1], n_workers=2)
for account in sys.argv[2:]:
    spec["spec"]["scheduler"]["spec"]["serviceAccountName"] = account
print(json.dumps(spec))
PYTHON
  check "the pod that made it is its owner" is "$(owner_of "daskcluster/$1-dask")" "pod/$1"
  made "$1-dask" 2
}

# The policies are in force, and the label is known a moment after it was written.
has_an_account() {
  "$dask/bin/python" -c 'import json; from dask_kubernetes.operator import make_cluster_spec
print(json.dumps(make_cluster_spec(name="probe")))' | as one create --dry-run=server -o json -f - |
    jq -e '.spec.scheduler.spec.serviceAccountName == "cluster-watcher"' >/dev/null
}
# account_of CLUSTER: that of its scheduler's pod, and what of it its containers see.
account_of() {
  master_of "$1"
  read_of "pod/$pod" '"\(.spec.serviceAccountName): " + ([(.spec.initContainers + .spec.containers)[] |
    select(.volumeMounts // [] | any(.mountPath == "/var/run/secrets/kubernetes.io/serviceaccount")).name] | join(" "))'
}

kubectl label namespace lab cluster-watcher/master-account=cluster-watcher >/dev/null
start_operator
notebook one
within has_an_account
made_by one
check "the scheduler runs under the account that the namespace names, whose token the watcher alone sees" \
  is "$(account_of one-dask)" "cluster-watcher: cluster-watcher"
notebook two
made_by two cluster-watcher
delete_pod one
check "behind its pod the cluster is deleted" within absent lab daskcluster/one-dask
check "with its pods" within no_pods one-dask
check "its neighbour stays" exists lab daskcluster/two-dask
check "with its workers" has_workers two-dask 2
check "and is kept" says two-dask active
stop_operator
delete_pod two
check "where the operator is down the pods go all the same" within no_pods two-dask
check "and its resource is held" exists lab daskcluster/two-dask
start_operator
check "back again it lets the rest go" within absent lab daskcluster/two-dask
ended
