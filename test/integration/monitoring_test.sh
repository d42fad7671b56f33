#!/usr/bin/env bash
# Runs a real Prometheus with the scrape configuration, the rules and the queries of the manifests,
# over watchers in all states, each for a real pod, and a webhook that an API server uses.
#
#   test/integration/monitoring_test.sh BUILD_DIR
#
# There are no kubelets: a pod's address is one of 127.0.0.0/8, where its watcher listens at the
# port that the pod declares. Time runs faster: the rules' minutes are seconds (`fast` below).
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
promtool=$("$source_dir/test/monitoring/prometheus")/promtool
prometheus=$("$source_dir/test/monitoring/build" prometheus)/prometheus
objects=$source_dir/manifests/chart/objects
network=127.$((RANDOM % 250 + 2)).$((RANDOM % 250 + 2))
next_address=1

# create: creates the objects on stdin, in JSON.
create() { kubectl create -f - >/dev/null; }

# cluster NAME [ANNOTATIONS [LABELS]]: makes a driver and its cluster: a master, of the account that
# $runs_as names, and a member.
cluster() {
  jq -nc --arg name "$1" --arg account "${runs_as:-cluster-watcher}" --argjson annotations "${2:-"{}"}" --argjson labels "${3:-"{\"ephemeral\": \"driver-$1\"}"}" '
    {serviceAccountName: $account, containers: [{name: "c", image: "c"}]} as $spec
    | def deployment($name; $labels; $pod; $annotations): {apiVersion: "apps/v1", kind: "Deployment",
        metadata: {namespace: "fleet", name: $name, labels: $labels},
        spec: {selector: {matchLabels: $pod}, template: {metadata: {labels: $pod, annotations: $annotations}, spec: $spec}}};
    deployment("driver-" + $name; {}; {app: ("driver-" + $name)}; {}),
    deployment($name + "-m"; $labels + {"oshinko-cluster": $name};
      {"oshinko-cluster": $name, "oshinko-type": "master"}; $annotations),
    {apiVersion: "v1", kind: "ConfigMap", metadata: {namespace: "fleet", name: $name, labels: {"oshinko-cluster": $name}}}' | create
}
# runs NAMESPACE SELECTOR: puts its pod on a node, with an address of its own; sets pod and address.
runs() {
  within pod_of "$1" "$2"
  address=$network.$((next_address++))
  kubectl create --raw "/api/v1/namespaces/$1/pods/$pod/binding" -f - >/dev/null <<BINDING
{"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "$pod"}, "target": {"apiVersion": "v1", "kind": "Node", "name": "node"}}
BINDING
  kubectl -n "$1" patch pod "$pod" --subresource=status --type=merge \
    -p "{\"status\": {\"phase\": \"Running\", \"podIP\": \"$address\", \"podIPs\": [{\"ip\": \"$address\"}]}}" >/dev/null
}
declare -A pods processes addresses
# watches NAME ACCOUNT [FLAG...]: runs the cluster's watcher for its pod.
watches() {
  runs fleet "oshinko-cluster=$1,oshinko-type=master"
  jq -n --arg server "$APISERVER" --arg ca "$APISERVER_CA" \
    --arg token "$(kubectl -n fleet create token "$2" --bound-object-kind=Pod --bound-object-name="$pod")" '
    {apiVersion: "v1", kind: "Config", clusters: [{name: "t", cluster: {server: $server, "certificate-authority": $ca}}],
     users: [{name: "t", user: {token: $token}}], contexts: [{name: "t", context: {cluster: "t", user: "t"}}],
     "current-context": "t"}' >"$tmp/$1.kubeconfig"
  env -i POD_NAME="$pod" POD_NAMESPACE=fleet "$watcher" watch --kubeconfig="$tmp/$1.kubeconfig" \
    --poll-interval=500ms --listen="$address:9090" "${@:3}" >"$tmp/$1.log" 2>&1 &
  watchers+=("$!")
  pods[$1]=$pod processes[$1]=$! addresses[$1]=$address
}

certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=webhook \
    -addext "subjectAltName=IP:$1" -keyout "$tmp/tls.key" -out "$tmp/tls.crt" 2>/dev/null
}
# Runs the shipped Deployment, a process that acts as one of its pods, and an API server that uses
# it.
webhook_runs() {
  kubectl apply -f "$objects/webhook/serviceaccount.yaml" >/dev/null
  kubectl create --dry-run=client -o json -f "$objects/webhook/deployment.yaml" | jq '.spec.replicas = 1' | create
  runs cluster-watcher app.kubernetes.io/component=webhook
  certificate "$address"
  kubectl create --dry-run=client -o json -f "$objects/webhook/mutating.yaml" -f "$objects/webhook/validating.yaml" |
    jq --arg url "https://$address:8443" --arg ca "$(base64 -w 0 "$tmp/tls.crt")" \
      '.webhooks[].clientConfig |= {url: ($url + .service.path), caBundle: $ca}' | create
  # Failures from before Prometheus started must not alert.
  check "an API server passes by a webhook that isn't there yet" within fails_open
  mkdir "$tmp/config"
  printf cluster-watcher:0.1.0 >"$tmp/config/image"
  env -i "$watcher" webhook --config="$tmp/config" --tls-cert="$tmp/tls.crt" --tls-key="$tmp/tls.key" \
    --webhook-listen="$address:8443" --listen="$address:9090" >"$tmp/webhook.log" 2>&1 &
  webhook=$! webhook_address=$address
  watchers+=("$webhook")
  within in_file "metrics and health" "$tmp/webhook.log" 2>/dev/null
}
fails_open() {
  tried 0 >/dev/null && kubectl get --raw /metrics | grep 'webhook_fail_open_count{name="inject.cluster-watcher.svc"' >/dev/null
}
# tried PORTS: prints what becomes of a pod that asks for the sidecar and has so many ports.
tried() {
  jq -nc --argjson ports "$1" '{apiVersion: "v1", kind: "Pod", metadata: {name: "probe", namespace: "fleet",
      labels: {"oshinko-type": "master"}},
    spec: {containers: [{name: "c", image: "c", ports: [range($ports) | {containerPort: (9090 + .)}]}]}}' |
    kubectl create --dry-run=server -o json -f - 2>/dev/null
}
injects() { tried 0 | jq -e '.spec.initContainers[0].ports[0].name == "watcher-metrics"' >/dev/null; }

# The example, changed to run outside of a cluster: an API server and a token for the discovery; the
# API server itself, which has no endpoints here, as a fixed target; short intervals, of which a
# loaded machine's API server, whose answer is long, gets a longer one.
configuration() {
  kubectl -n cluster-watcher create serviceaccount prometheus >/dev/null
  kubectl create clusterrolebinding prometheus-view --clusterrole=view --serviceaccount=cluster-watcher:prometheus >/dev/null
  kubectl create clusterrole prometheus-metrics --verb=get --non-resource-url=/metrics >/dev/null
  kubectl create clusterrolebinding prometheus-metrics --clusterrole=prometheus-metrics \
    --serviceaccount=cluster-watcher:prometheus >/dev/null
  kubectl -n cluster-watcher create token prometheus >"$tmp/prometheus/token"
  sed -e "s,^  - role: pod,&\n    api_server: $APISERVER\n    authorization: {credentials_file: $tmp/prometheus/token}\n    tls_config: {ca_file: $APISERVER_CA}," \
    -e "s,/var/run/secrets/kubernetes.io/serviceaccount/token,$tmp/prometheus/token," \
    -e "s,/var/run/secrets/kubernetes.io/serviceaccount/ca.crt,$APISERVER_CA," \
    -e 's/scrape_interval: .*/scrape_interval: 500ms/; s/evaluation_interval: .*/evaluation_interval: 1s/' \
    -e '/^- job_name: apiserver/,/^  metric_relabel_configs/{
      /^  kubernetes_sd_configs/,/^    regex: kubernetes/d
      s,^  metric_relabel_configs,  scrape_interval: 3s\n  static_configs:\n  - targets: ["'"${APISERVER#https://}"'"]\n&,
    }' "$source_dir/manifests/examples/prometheus/prometheus.yml" >"$tmp/prometheus/prometheus.yml"
}
# fast: turns minutes into seconds, also in comparisons.
fast() {
  sed -E 's/\[([0-9]+)m\]/[\1s]/g; s/offset ([0-9]+)m/offset \1s/g; s/(for|interval): ([0-9]+)m/\1: \2s/
    s/> (60|300|600|1800|7800)$/> (\1 \/ 60)/; s/> time\(\) - 300$/> time() - 5/'
}

# query EXPRESSION: prints the result of an instant query.
query() {
  curl -s --max-time 20 --data-urlencode "query=$1" "http://$prometheus_address/api/v1/query" |
    jq -e 'if .status == "success" then .data.result else (.error | stderr | error("refused")) end'
}
# has EXPRESSION: whether the result isn't empty, so that a comparison in it holds.
has() { query "$1" | jq -e 'length > 0' >/dev/null; }
rules() { curl -sS --max-time 20 "http://$prometheus_address/api/v1/rules" | jq -c '[.data.groups[].rules[]]'; }

firing() {
  query 'ALERTS{alertstate="firing"}' | jq -r --argjson pods "$(
    for name in "${!pods[@]}"; do jq -nc --arg name "$name" --arg pod "${pods[$name]}" '{($pod): $name}'; done | jq -sc add)" '
    .[].metric | [.alertname, if .pod then $pods[.pod] // "webhook" else empty end] | join(" ")' | LC_ALL=C sort -u
}
fires_as_wanted() { firing >"$tmp/firing" && diff "$tmp/wanted" "$tmp/firing" >"$tmp/difference"; }

# lets_go NAME: ends its watcher and removes its pod, as a kubelet does, once the pod is told to end.
told_to_end() { [[ -n $(kubectl -n fleet get pod "$1" -o 'jsonpath={.metadata.deletionTimestamp}') ]]; }
ended() { ! kill -0 "$1" 2>/dev/null; }
lets_go() {
  within told_to_end "${pods[$1]}" && kill "${processes[$1]}" && within ended "${processes[$1]}" &&
    kubectl -n fleet delete pod "${pods[$1]}" --grace-period=0 --force >/dev/null 2>&1
}

# metrics_are_clean ADDRESS: runs promtool on them, which also reports style.
metrics_are_clean() { curl -sf --max-time 5 "http://$1:9090/metrics" | "$promtool" check metrics; }

# dashboard_queries POD: prints for each query of that pod its panel, a tab and the query. Without
# the part that shows 0 for no data: there must be data.
dashboard_queries() {
  jq -r --arg pod "$1" '.panels[] | .title as $title | .targets[]?.expr
    | gsub("\\$__rate_interval"; "30s") | gsub("\\$namespace|\\$cluster"; ".*") | gsub("\\$pod"; $pod)
    | gsub("\n"; " ") | sub(" or vector\\(0\\)$"; "") | [$title, .] | join("\t")' "$objects/monitoring/dashboard.json"
}
# may_be_empty PANEL QUERY: whether it is empty if all is well, or in this version.
may_be_empty() {
  case $2 in
    *watch_restarts_total*) return 0 ;;  # watchers poll
    *) return 1 ;;
  esac
}

mkdir "$tmp/prometheus"
prometheus_address=$network.254:9090
export WATCH_PID=$$
"$source_dir/test/kubernetes/start" "$tmp/kubernetes"
# shellcheck source=/dev/null
. "$tmp/kubernetes/env"
kubectl create -f - >/dev/null <<<'{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}}'
kubectl create namespace fleet >/dev/null
kubectl label namespace fleet cluster-watcher/enabled=true >/dev/null
cp -r -- "$source_dir/manifests" "$tmp/manifests"
mkdir "$tmp/manifests/with"
cat >"$tmp/manifests/with/kustomization.yaml" <<'OVERLAY'
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../policy]
components: [../components/scrape-annotations]
OVERLAY
kubectl apply -k "$tmp/manifests/with" >/dev/null
for account in cluster-watcher narrow unmarking powerless; do
  kubectl -n fleet create serviceaccount "$account" >/dev/null
done
kubectl -n fleet create rolebinding cluster-watcher --clusterrole=cluster-watcher --serviceaccount=fleet:cluster-watcher >/dev/null
kubectl get clusterrole cluster-watcher -o json | jq '{apiVersion, kind, metadata: {name: "narrow"},
  rules: [.rules[] | select(.resources != ["services"]) | .resources -= ["services"]]}' | create
kubectl get clusterrole cluster-watcher -o json | jq '{apiVersion, kind, metadata: {name: "unmarking"},
  rules: [.rules[] | if .apiGroups == ["apps"] then .verbs -= ["patch"] else . end]}' | create
for account in narrow unmarking; do
  kubectl -n fleet create rolebinding "$account" --clusterrole="$account" --serviceaccount="fleet:$account" >/dev/null
done
check "pods get the sidecar" within injects

shared='{"app": "shared"}'
for name in active waiting held gone dry; do cluster "$name"; done
runs_as=narrow cluster stuck
runs_as=powerless cluster blind
runs_as=unmarking cluster unmarked
cluster shared '{}' "$shared"
kubectl -n fleet annotate deployment held-m cluster-watcher/hold-until=2199-01-01T00:00:00Z >/dev/null
cluster bad '{"cluster-watcher/grace-period": "soon"}' 2>/dev/null
kubectl -n fleet patch configmap stuck --type=merge -p '{"metadata": {"finalizers": ["example.com/never"]}}' >/dev/null
watches active cluster-watcher
watches shared cluster-watcher
watches bad cluster-watcher
watches blind powerless
watches waiting cluster-watcher --grace-period=1h
watches held cluster-watcher --grace-period=1s
watches dry cluster-watcher --grace-period=1s --dry-run
watches gone cluster-watcher --grace-period=1s
watches stuck narrow --grace-period=1s
watches unmarked unmarking --grace-period=1s
webhook_runs
configuration
fast <"$objects/monitoring/prometheusrule.yaml" | sed '1,/^spec:/d; s/^  //' >"$tmp/prometheus/cluster-watcher.rules.yml"
check "the rules are right, with their time running faster" quietly "$promtool" check rules "$tmp/prometheus/cluster-watcher.rules.yml"
(cd "$tmp/prometheus" && exec env -i HOME="$tmp" "$prometheus" --config.file=prometheus.yml --storage.tsdb.path=data \
  --web.listen-address="$prometheus_address" --log.level=warn >"$tmp/prometheus.log" 2>&1) &
watchers+=("$!")

check "each watcher is scraped, by the port's name" within has "count(up{job=\"cluster-watcher\"} == 1) == ${#pods[@]}"
check "and by its annotations" within has "count(up{job=\"cluster-watcher-annotations\"} == 1) == ${#pods[@]}"
check "so are the webhook and the API server" \
  within has 'count(up{job=~"cluster-watcher-webhook|apiserver"} == 1) == 2'
check "and nothing else" has "count(up) == 2 * ${#pods[@]} + 2"
for name in "${!pods[@]}"; do
  check "$name has its labels" has "count(cluster_watcher_phase{namespace=\"fleet\",pod=\"${pods[$name]}\",
    oshinko_cluster=\"$name\",job=~\"cluster-watcher(-annotations)?\",phase=\"watching\"}) == 2"
done
check "the webhook has its labels" \
  has 'cluster_watcher_admission_connections{job="cluster-watcher-webhook",namespace="cluster-watcher",pod=~"cluster-watcher-webhook-.*"}'

# shows NAME SERIES: checks that Prometheus has it as 1.
shows() {
  within has "${2%\}}${2:+,}oshinko_cluster=\"$1\"} == 1"
}
check "active is active" shows active 'cluster_watcher_verdict{verdict="keep",reason="active"}'
check "shared is shared" shows shared 'cluster_watcher_cluster_info{owner="<shared>"}'
check "blind is blind" shows blind 'cluster_watcher_owner_state{state="unknown"}'
check "bad is misconfigured" shows bad 'cluster_watcher_verdict{reason="misconfigured"}'
check "active is known by its names" \
  shows active 'cluster_watcher_cluster_info{cluster_name="active",owner="deployment.apps/driver-active",owner_namespace="fleet"}'
check "held is held" shows held 'cluster_watcher_verdict{reason="held"}'
# Long enough that a later change counts as an increase.
check "counters of the API server are there before" within has 'count_over_time(up{job="apiserver"}[16s]) > 4'
kubectl -n fleet delete deployment driver-{waiting,held,dry,gone,stuck,unmarked} --wait=false >/dev/null
check "the guard refuses what has no label" not quietly \
  kubectl --as=system:serviceaccount:fleet:cluster-watcher -n fleet delete configmap kube-root-ca.crt
# An increase is seen only where the API server is scraped twice within its seconds.
refusal_is_alerted_of() {
  tried 10 >/dev/null || :
  has 'max_over_time(ALERTS{alertname="ClusterWatcherInjectionRefused",policy="cluster-watcher",alertstate="firing"}[1m]) == 1'
}
check "a pod without a free port is alerted of" within refusal_is_alerted_of
check "waiting is abandoned, and due in an hour" within has \
  'cluster_watcher_deletion_due_timestamp_seconds{oshinko_cluster="waiting"} - time() > 3500'
check "dry is abandoned, and nothing becomes of it" shows dry 'cluster_watcher_verdict{verdict="abandoned",reason="owner-absent"}'
check "stuck is being deleted" shows stuck 'cluster_watcher_phase{phase="deleting"}'
check "by a deadline" has 'cluster_watcher_deletion_deadline_timestamp_seconds{oshinko_cluster="stuck"} > time()'
check "gone goes" lets_go gone
check "and its last metrics are seen" has 'max_over_time(cluster_watcher_phase{oshinko_cluster="gone",phase="done"}[10m]) == 1'
check "with no member left" has 'last_over_time(cluster_watcher_members{oshinko_cluster="gone",state="remaining"}[10m]) == 0'
check "it is no target any more" within has "count(up{job=\"cluster-watcher\"}) == ${#pods[@]} - 1"
check "held is held still, and due never" has \
  'cluster_watcher_deletion_due_timestamp_seconds{oshinko_cluster="held"} == 0 and on (pod) cluster_watcher_verdict{reason="held"} == 1'

check "the metrics of a watcher are clean" metrics_are_clean "${addresses[stuck]}"
check "and of the webhook" metrics_are_clean "$webhook_address"
rules >"$tmp/rules"
check "all rules are loaded" is "$(jq length "$tmp/rules")" \
  "$(grep -cE '^ *- (alert|record):' "$objects/monitoring/prometheusrule.yaml")"
while read -r record; do
  check "$record has data" within has "$record"
done < <(curl -sS "http://$prometheus_address/api/v1/rules" |
  jq -r '.data.groups[] | select(.name == "cluster-watcher.fleet").rules[].name')
check "it is recorded what was deleted, when and why" has 'time() - 3600 < min_over_time(
  namespace_pod_cluster_name_owner_reason:cluster_watcher_deleted_timestamp_seconds:last{namespace="fleet",cluster_name="gone",
    owner="deployment.apps/driver-gone",owner_namespace="fleet",reason=~"owner-.*"}[1h])'

# Waits until all these alerts fire; no others may, not of dry runs, nor of waiting clusters.
cat >"$tmp/wanted" <<'ALERTS'
ClusterWatcherAbandonedNotDeleted unmarked
ClusterWatcherBlind blind
ClusterWatcherDeletesFailing stuck
ClusterWatcherDeletionStuck stuck
ClusterWatcherMisconfigured bad
ClusterWatcherPermissionMissing blind
ClusterWatcherPermissionMissing stuck
ClusterWatcherPermissionMissing unmarked
ClusterWatcherPollsUnknown blind
ClusterWatcherSparedRepeatedly unmarked
ClusterWatcherWebhookCertificateExpires webhook
ALERTS
check "alerts fire for blind, stuck, bad, unmarked and a certificate of two days, and no others" within fires_as_wanted
[[ ! -s $tmp/difference ]] || sed 's/^/# /' "$tmp/difference"
while IFS=$'\t' read -r title expression; do
  if may_be_empty "$title" "$expression"; then
    check "$title: is understood" quietly query "$expression"
  else
    check "$title: ${expression:0:60}" within has "$expression"
  fi
done < <(dashboard_queries "${pods[stuck]}")
jq -r '.templating.list[] | select(.type == "query").definition | capture("label_values\\((?<series>.*), (?<label>[a-z_]+)\\)")
  | "\(.series | gsub("\\$namespace"; ".*"))\t\(.label)"' "$objects/monitoring/dashboard.json" >"$tmp/variables"
while IFS=$'\t' read -r series label; do
  check "there are values for $label" has "count by ($label) ($series{$label!=\"\"})"
done < <(sed 's/{[^}]*}//' "$tmp/variables")

# The webhook is killed, and a watcher hangs.
kill -KILL "$webhook"
wait "$webhook" 2>/dev/null || :
kill -STOP "${processes[active]}"
within has 'up{job="cluster-watcher-webhook"} == 0'
cat >>"$tmp/wanted" <<'ALERTS'
ClusterWatcherDown active
ClusterWatcherInjectionFailsOpen
ClusterWatcherWebhookDown
ALERTS
LC_ALL=C sort -o "$tmp/wanted" "$tmp/wanted"
new_alerts_fire() { tried 0 >/dev/null; firing >"$tmp/firing" && [[ -z $(grep -E 'Down|FailsOpen' "$tmp/wanted" | LC_ALL=C comm -23 - "$tmp/firing") ]]; }
check "a webhook that is gone and a watcher that hangs are alerted of" within new_alerts_fire
check "each rule is healthy, to its end" is "$(rules | jq -r '.[] | select(.health != "ok") | .name + ": " + .lastError')" ""
finished=true
echo "$passed passed, $failed failed"
((failed == 0))
