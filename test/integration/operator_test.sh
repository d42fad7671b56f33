#!/usr/bin/env bash
# Runs the Prometheus operator with a real API server: from the PodMonitors and the PrometheusRule
# of the manifests it makes a configuration and a rules file, with which a Prometheus must find a
# watcher.
#
#   test/integration/operator_test.sh BUILD_DIR
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
promtool=$("$source_dir/test/monitoring/prometheus")/promtool
prometheus=$("$source_dir/test/monitoring/build" prometheus)/prometheus
operator=$("$source_dir/test/monitoring/build" operator)
address=127.$((RANDOM % 250 + 2)).$((RANDOM % 250 + 2)).1

# The operator takes no kubeconfig, so it connects through kubectl proxy.
operator_runs() {
  kubectl proxy --port=0 >"$tmp/proxy.log" 2>&1 &
  watchers+=("$!")
  within in_file "Starting to serve" "$tmp/proxy.log"
  env -i "$operator/operator" --apiserver="http://$(sed -n 's/.*Starting to serve on //p' "$tmp/proxy.log")" \
    --web.listen-address="$address:8080" >"$tmp/operator.log" 2>&1 &
  watchers+=("$!")
}
generated() {
  kubectl -n cluster-watcher get secret prometheus-main -o 'jsonpath={.data.prometheus\.yaml\.gz}' 2>/dev/null |
    base64 -d | gunzip >"$tmp/generated.yaml" 2>/dev/null && [[ -s $tmp/generated.yaml ]] &&
    kubectl -n cluster-watcher get configmap prometheus-main-rulefiles-0 -o json 2>/dev/null |
    jq -er '.data[]?' >"$tmp/rules.yaml"
}
has() {
  curl -s --max-time 10 --data-urlencode "query=$1" "http://$address:9091/api/v1/query" |
    jq -e '.data.result | length > 0' >/dev/null
}

export WATCH_PID=$$
"$source_dir/test/kubernetes/start" "$tmp/kubernetes"
# shellcheck source=/dev/null
. "$tmp/kubernetes/env"
kubectl apply --server-side -f "$operator" >/dev/null
kubectl wait --for=condition=Established --timeout=30s -f "$operator" >/dev/null
kubectl apply -k "$source_dir/manifests/policy" >/dev/null
kubectl label namespace default cluster-watcher/enabled=true >/dev/null
check "the API server takes PodMonitors, PrometheusRule and dashboard" \
  quietly kubectl apply -k "$source_dir/manifests/chart/objects/monitoring"
kubectl -n cluster-watcher create serviceaccount prometheus >/dev/null
kubectl create clusterrolebinding prometheus --clusterrole=view --serviceaccount=cluster-watcher:prometheus >/dev/null
kubectl create -f - >/dev/null <<'PROMETHEUS'
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: main, namespace: cluster-watcher}
spec:
  serviceAccountName: prometheus
  podMonitorSelector: {}
  podMonitorNamespaceSelector: {}
  ruleSelector: {}
  ruleNamespaceSelector: {}
PROMETHEUS
operator_runs
check "the operator makes a configuration and a file of rules" within generated
check "promtool takes its rules" quietly "$promtool" check rules "$tmp/rules.yaml"
check "which are all" is "$("$promtool" check rules "$tmp/rules.yaml" | sed -n 's/.* \([0-9]*\) rules found$/\1/p')" \
  "$(grep -cE '^ *- (alert|record):' "$source_dir/manifests/chart/objects/monitoring/prometheusrule.yaml")"
check "nothing was left out" not grep -qE 'level=(warn|error).*(cluster-watcher|PodMonitor|PrometheusRule)' "$tmp/operator.log"

# A master with an injected sidecar; its watcher runs here.
master() {
  kubectl -n default create -f - >/dev/null <<'MASTER'
apiVersion: v1
kind: Pod
metadata: {generateName: bob-, labels: {oshinko-type: master, oshinko-cluster: bob}}
spec: {containers: [{name: c, image: c, ports: [{containerPort: 7077, name: spark}]}]}
MASTER
  pod_of default oshinko-cluster=bob
  [[ $(kubectl -n default get pod "$pod" -o 'jsonpath={.spec.initContainers[0].ports[0].name}') == watcher-metrics ]] ||
    ! quietly kubectl -n default delete pod "$pod" --grace-period=0 --force
}
master_has_the_sidecar() { master && exists default "pod/$pod"; }
check "a master gets the sidecar" within master_has_the_sidecar
kubectl -n default patch pod "$pod" --subresource=status --type=merge \
  -p "{\"status\": {\"phase\": \"Running\", \"podIP\": \"$address\", \"podIPs\": [{\"ip\": \"$address\"}]}}" >/dev/null
env -i POD_NAME="$pod" POD_NAMESPACE=default "$watcher" watch --kubeconfig="$KUBECONFIG" --listen="$address:9090" \
  >"$tmp/watcher.log" 2>&1 &
watchers+=("$!")

# Adds what the operator's reloader would, and the address of the API server.
mkdir "$tmp/prometheus"
kubectl -n cluster-watcher create token prometheus >"$tmp/prometheus/token"
sed -e "s,^  - role: pod,&\n    api_server: $APISERVER\n    authorization: {credentials_file: $tmp/prometheus/token}\n    tls_config: {ca_file: $APISERVER_CA}," \
  -e 's/\$(POD_NAME)/main-0/; s/\$(SHARD)/0/; s/\(scrape\|evaluation\)_interval: .*/\1_interval: 1s/' \
  -e "s,/etc/prometheus/rules/.*,$tmp/rules.yaml," "$tmp/generated.yaml" >"$tmp/prometheus/prometheus.yml"
env -i HOME="$tmp" "$prometheus" --config.file="$tmp/prometheus/prometheus.yml" --storage.tsdb.path="$tmp/prometheus/data" \
  --web.listen-address="$address:9091" --log.level=warn >"$tmp/prometheus.log" 2>&1 &
watchers+=("$!")
check "a Prometheus with this configuration scrapes it" within \
  has "up{job=\"cluster-watcher/cluster-watcher\",namespace=\"default\",pod=\"$pod\",oshinko_cluster=\"bob\"} == 1"
check "the rules find it by these labels" within has 'namespace_phase:cluster_watcher_phase:count{namespace="default",phase="watching"} == 1'
finished=true
echo "$passed passed, $failed failed"
((failed == 0))
