#!/usr/bin/env bash
# Runs Dask's own operator on a real control plane. A pod makes a DaskCluster with Python, as a
# notebook does, without a line for the watcher: it is injected, watched over, kept while the pod is
# there, and deleted behind it; also where the operator is down by then.
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

# made_by NAME: a pod, and what Python in it makes: the DaskCluster NAME-dask.
made_by() {
  notebook "$1"
  "$dask/bin/python" - "$1-dask" <<'PYTHON' | as "$1" create -f - >/dev/null
import json, sys
from dask_kubernetes.operator import make_cluster_spec
spec = make_cluster_spec(name=sys.argv[1], n_workers=2)
spec["spec"]["scheduler"]["spec"]["serviceAccountName"] = "cluster-watcher"
print(json.dumps(spec))
PYTHON
  check "the pod that made it is its owner" is "$(owner_of "daskcluster/$1-dask")" "pod/$1"
  made "$1-dask" 2
}

start_operator
made_by one
made_by two
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
