#!/usr/bin/env bash
# Upgrades the chart of an earlier revision to this one's on a real control plane, while one cluster is watched
# and another one's deletion has begun.
#
#   [FROM=REVISION] [PROGRAM=FILE] test/integration/upgrade_test.sh BUILD_DIR
#
# FROM is the newest tag, or, before the first one, what there was a week before the last commit; a checkout
# without it has nothing to upgrade from, which counts as skipped. PROGRAM, a cluster-watcher of FROM, is what
# runs before the upgrade; by default it is this one.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=../deployment.bash
. "$source_dir/test/deployment.bash"
a_week_before() {
  git -C "$source_dir" rev-list -1 --before="$(($(git -C "$source_dir" log -1 --format=%ct) - 7 * 86400))" HEAD
}
from=${FROM:-$(git -C "$source_dir" describe --tags --abbrev=0 2>/dev/null || a_week_before 2>/dev/null || :)}
if [[ -z $from ]]; then
  finished=true
  echo "skipped - the history has no earlier revision"
  echo "0 passed, 0 failed, 1 skipped"
  exit
fi
echo "from $(git -C "$source_dir" log -1 --format='%h of %cs' "$from")"
git -C "$source_dir" archive "$from" manifests | tar -x -C "$tmp"
tools=$("$source_dir/test/manifests/build")
WATCH_PID=$$ "$source_dir/test/kubernetes/start" "$tmp/kubernetes"
# shellcheck source=/dev/null
. "$tmp/kubernetes/env"

# chart COMMAND DIRECTORY [FLAG...]
chart() {
  HELM_CACHE_HOME=$tmp/helm HELM_CONFIG_HOME=$tmp/helm HELM_DATA_HOME=$tmp/helm \
    "$tools/helm" "$1" cluster-watcher "$2/manifests/chart" -n cluster-watcher "${@:3}"
}
# cluster NAME DRIVER: with a member that somebody's finalizer holds.
cluster() {
  {
    deployment "$2" "" cluster-watcher
    deployment "$1-m" "oshinko-cluster: $1, oshinko-type: master" cluster-watcher
    echo "---"
    echo "{apiVersion: v1, kind: ConfigMap, metadata: {name: $1-config, labels: {oshinko-cluster: $1}, finalizers: [example.com/held]}}"
  } | kubectl -n lab create -f - >/dev/null
  within pod_of lab "app=$1-m"
}
released() { quietly kubectl -n lab patch configmap "$1-config" --type=merge -p '{"metadata": {"finalizers": null}}'; }
# injected APP: whether its pod has the sidecar.
injected() {
  [[ $(kubectl -n lab get pods -l "app=$1" -o 'jsonpath={.items[0].spec.initContainers[*].name}') == *cluster-watcher* ]]
}
watches() { metric "$1" 'cluster_watcher_verdict\{reason="active",verdict="keep"\}'; }
polls_on() { metric "$1" 'cluster_watcher_polls_total\{outcome="active"\}' "$2"; }

check "the earlier chart is installed" quietly chart install "$tmp" --create-namespace
kubectl create namespace lab >/dev/null
kubectl label namespace lab cluster-watcher/enabled=true >/dev/null
kubectl -n lab create serviceaccount cluster-watcher >/dev/null
kubectl -n lab create rolebinding cluster-watcher --clusterrole=cluster-watcher --serviceaccount=lab:cluster-watcher >/dev/null
this=$watcher watcher=${PROGRAM:-$watcher}

cluster spark bob
check "its masters get the sidecar" within injected spark-m
watch_over lab "$pod" spark 200ms --owner=deployment/bob
check "a cluster is watched" within watches spark
cluster begun carol
begun_pod=$pod
watch_over lab "$begun_pod" begun 200ms --owner=deployment/carol
check "so is another" within watches begun
kubectl -n lab delete deployment carol >/dev/null
deleting() { [[ $(kubectl -n lab get deployment begun-m -o 'jsonpath={.metadata.annotations.cluster-watcher/phase}') == deleting ]]; }
check "whose deletion begins" within deleting
kill -KILL "${watchers[-1]}"

watcher=$this
check "helm upgrades it" quietly chart upgrade "$source_dir" --reset-then-reuse-values --set image.repository=cluster-watcher
check "the watcher that runs polls on" within polls_on spark 50
cluster other dave
check "masters get the sidecar as before" within injected other-m
watch_over lab "$pod" other 200ms --owner=deployment/dave
check "their watchers ask for their rights" within metric other 'rest_client_requests_total\{code="201",method="POST"\}' 40
check "and lack none" not metric other 'cluster_watcher_permission_missing.*'
released begun
watch_over lab "$begun_pod" later 200ms --owner=deployment/carol
check "the deletion is finished" within gone lab oshinko-cluster=begun
released spark
kubectl -n lab delete deployment bob >/dev/null
check "the watcher deletes its cluster under the new guard" within gone lab oshinko-cluster=spark
check "and nothing else" exists lab deployment/other-m configmap/other-config deployment/dave
finished=true
echo "$passed passed, $failed failed"
((failed == 0))
