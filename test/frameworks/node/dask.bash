# Dask: scripts in pods make DaskClusters and compute on them, without a line for the watcher.
# shellcheck shell=bash disable=SC2154

get_dask() { dask=$("$frameworks/python_build" dask); }

# dask_script NAME: the pod NAME makes the DaskCluster NAME-dask.
dask_script() {
  local shown
  shown=$(shown "$dask" '{}')
  shown=$(shown "$dask" "$(jq -nc --arg name "$1-dask" --arg shown "$shown" '{CLUSTER: $name, SHOWN: $shown}')")
  pod "$1" "$(driver_pod "$shown" python /scripts/dask_driver.py)"
}
# dask_computes NAME: its script has the first result. The operator can leave a DaskCluster Pending for ever,
# where it takes up the scheduler's Service before it has ended its own work: then a change of the
# Service makes it look again.
dask_computes() {
  ! printed "$1" "sum 332833500" || return 0
  if [[ $(kube get daskcluster "$1-dask" -o jsonpath='{.status.phase}' 2>/dev/null) == Pending ]]; then
    kube patch service "$1-dask-scheduler" --subresource=status --type=merge -p '{"status": {"conditions": [
      {"type": "LookAgain", "status": "True", "reason": "Test", "message": "'"$SECONDS"'",
       "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}' >/dev/null || :
  fi
  sleep 0.5
  return 1
}
try_dask() {
  local each pod="" before
  local -A scheduler=()
  definitions "$dask"/lib/python3*/site-packages/dask_kubernetes/operator/deployment/helm/dask-kubernetes-operator/crds/*.yaml
  namespace dask dask_driver.py '{"dask.org/cluster-name": "c", "dask.org/component": "scheduler"}'
  kube create -f - >/dev/null <<'ROLE'
{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "notebook"}, "rules": [
  {"apiGroups": ["kubernetes.dask.org"], "resources": ["*"], "verbs": ["*"]},
  {"apiGroups": [""], "resources": ["pods", "services", "events"], "verbs": ["get", "list", "watch"]},
  {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "watch"]}]}
ROLE
  kube create rolebinding notebook --role=notebook --serviceaccount=dask:driver >/dev/null
  "$dask/bin/python" -m kopf run --namespace=dask --standalone -m dask_kubernetes.operator.controller \
    >"$tmp/dask-operator.log" 2>&1 8>&- &
  watchers+=("$!")

  for each in one two; do dask_script "$each"; done
  for each in one two; do
    check "the script in the pod $each computes on its DaskCluster" within dask_computes "$each"
    check "the pod is its owner, without a line of the user's" is \
      "$(kube get daskcluster "$each-dask" -o json | jq -r '.metadata.annotations["cluster-watcher/owner"]')" "pod/$each"
    check "it has a scheduler" within master_of "dask.org/cluster-name=$each-dask,dask.org/component=scheduler"
    check "with our sidecar" within watched "$pod"
    scheduler[$each]=$pod
    check "its workers have none" is "$(kube get pods -l "dask.org/cluster-name=$each-dask,dask.org/component=worker" -o json |
      jq '[.items[].spec.initContainers | select(. != null)] | length')" 0
    check "the watcher keeps it" within says "$pod" active
    check "and no right is refused to it" may_all "$pod"
    check "two workers compute" within printed "$each" "round [0-9]* 140 by 2"
    ((failed == failed_before)) || return 0
  done

  before=$(uids dask.org/cluster-name=two-dask)
  kill_pod one
  check "its script killed in mid-job, the cluster goes" within absent dask daskcluster/one-dask
  check "with pods, Services and all" within gone dask dask.org/cluster-name=one-dask daskworkergroups
  check "an Event says so" within has_event ClusterDeleted one-dask
  check "its neighbour's pods stay" is "$(uids dask.org/cluster-name=two-dask)" "$before"
  check "it goes on computing" goes_on two
  check "and is kept" says "${scheduler[two]}" active
  check "no sidecar was started again" is "$(kube get pods -l dask.org/component=scheduler -o json |
    jq -c '[.items[].status.initContainerStatuses[].restartCount]')" '[0]'

  kube exec two -- touch /tmp/end
  check "a script that ends in order takes its cluster down itself" within absent dask daskcluster/two-dask
  check "with all that belongs to it" within gone dask dask.org/cluster-name=two-dask daskworkergroups
  check "and ends well" within is_phase two Succeeded
}
is_phase() { [[ $(kube get pod "$1" -o jsonpath='{.status.phase}') == "$2" ]]; }
