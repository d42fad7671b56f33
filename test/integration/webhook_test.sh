#!/usr/bin/env bash
# Tests the webhook with a real API server, on this machine: what happens to pods and annotations,
# what people read, and what happens if it is late, gone or untrusted. Also tests that `inject` by
# hand gives the same pods.
#
#   test/integration/webhook_test.sh BUILD_DIR
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=injection_pods/pods.bash
. "$source_dir/test/integration/injection_pods/pods.bash"

certificate() {  # NAME [DAYS]
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days "${2-2}" \
    -subj "/CN=$1" -addext subjectAltName=IP:127.0.0.1 -keyout "$tmp/$1.key" -out "$tmp/$1.crt" 2>/dev/null
}
# use_certificate NAME: replaces both files in one step, as a Secret's volume does.
use_certificate() {
  mkdir "$tmp/tls-$1"
  cp "$tmp/$1.crt" "$tmp/tls-$1/tls.crt"
  cp "$tmp/$1.key" "$tmp/tls-$1/tls.key"
  ln -sfn "tls-$1" "$tmp/tls.new"
  mv -T "$tmp/tls.new" "$tmp/tls"
}
# settings JSON: writes the keys of the ConfigMap, as files.
settings() {
  local directory
  directory=$(mktemp -d "$tmp/config-XXXXXX")
  jq -r 'to_entries[] | "\(.key)\t\(.value)"' <<<"$1" |
    while IFS=$'\t' read -r key value; do printf %s "$value" >"$directory/$key"; done
  ln -sfn "$(basename -- "$directory")" "$tmp/config.new"
  mv -T "$tmp/config.new" "$tmp/config"
}

# start_webhook [FLAG...]: starts it; sets webhook, port and metrics_port.
start_webhook() {
  : >"$tmp/webhook.log"  # what the one before it said must not be taken for its own
  env -i "$watcher" webhook --config="$tmp/config" --tls-cert="$tmp/tls/tls.crt" \
    --tls-key="$tmp/tls/tls.key" --webhook-listen=127.0.0.1:0 --listen=127.0.0.1:0 \
    --shutdown-delay=1s "$@" >"$tmp/webhook.log" 2>&1 &
  webhook=$!
  watchers+=("$webhook")
  within in_file "metrics and health" "$tmp/webhook.log"
  read -r port metrics_port < <(sed -nE \
    's/.*requests on port ([0-9]+), metrics and health on port ([0-9]+).*/\1 \2/p' "$tmp/webhook.log")
}
stop_webhook() { kill "$webhook" && wait "$webhook"; }

# register AUTHORITY: creates the shipped webhook configurations, with the address of this one.
register() {
  kubectl create --dry-run=client -o json -f "$source_dir/manifests/chart/objects/webhook/mutating.yaml" \
    -f "$source_dir/manifests/chart/objects/webhook/validating.yaml" |
    jq --arg url "https://127.0.0.1:$port" --arg ca "$(base64 -w 0 "$tmp/$1.crt")" \
      '.webhooks[].clientConfig |= {url: ($url + .service.path), caBundle: $ca}' |
    kubectl apply -f - >/dev/null
}

# probe: prints a pod that asks for the sidecar, made by a dry run.
probe() {
  printf '%s' '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": "pods",
    "labels": {"oshinko-type": "master"}}, "spec": {"containers": [{"name": "c", "image": "c"}]}}' |
    admitted 2>"$tmp/warnings"
}
injects() { probe | jq -e ".spec.initContainers[0] | ${1-.name == \"cluster-watcher\"}" >/dev/null; }
counted() {  # RESULT LEAST
  curl -sf "http://127.0.0.1:$metrics_port/metrics" | awk -v least="$2" \
    -v series="cluster_watcher_admission_requests_total{result=\"$1\"}" \
    '$1 == series && $2 >= least { found = 1 } END { exit !found }'
}

# made_by KUBECONFIG [JQ]: the owner that a master's Deployment has when it is made.
made_by() {
  deployment 30s | sed 's/bob-m/new/g' | kubectl create --dry-run=client -o json -f - | jq "${2-.}" |
    kubectl --kubeconfig="$tmp/$1.kubeconfig" create --dry-run=server -o json -f - |
    jq -r '.metadata.annotations["cluster-watcher/owner"] // "none"'
}
owners_from_creators() {
  kubectl -n pods create serviceaccount notebook >/dev/null
  kubectl -n pods create role notebook --verb=create --resource=deployments.apps >/dev/null
  kubectl -n pods create rolebinding notebook --role=notebook --serviceaccount=pods:notebook >/dev/null
  kubectl -n pods create -f - >/dev/null <<<'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "nb"},
    "spec": {"serviceAccountName": "notebook", "containers": [{"name": "c", "image": "c"}]}}'
  identity nb "$(kubectl -n pods create token notebook --bound-object-kind=Pod --bound-object-name=nb)"
  identity person "$(kubectl -n pods create token notebook)"
  check "an owner is written in labelled namespaces only" is "$(made_by nb)" none
  kubectl label namespace pods cluster-watcher/owner-from-creator=true >/dev/null
  has_an_owner() { [[ $(made_by nb) == pod/nb ]]; }
  check "there a pod owns the cluster that it makes" within has_an_owner
  check "a person doesn't" is "$(made_by person)" none
  check "an owner that is named stays" is \
    "$(made_by nb '.spec.template.metadata.annotations["cluster-watcher/owner"] = "deployment/bob"')" none
  check "and so does what is no cluster" is \
    "$(made_by nb 'del(.spec.template.metadata.labels["oshinko-type"])')" none
  check "which is counted" counted owned 1
}

inject_pods() { "$watcher" inject --config="$tmp/config" 2>/dev/null; }
injected_by_hand_are_as_wanted() {
  normalised_pods INJECT | jq -c 'del(.warns)' >"$tmp/found"
  expected_pods "$tmp/none" "$1" |
    jq -c 'select(.name | IN("opted-out", "system") | not) | del(.warns)' >"$tmp/wanted"
  same <(jq -S . "$tmp/wanted") <(jq -S . "$tmp/found")
}
pods_are_as_wanted() {
  normalised_pods WEBHOOK >"$tmp/found"
  expected_pods "$tmp/none" "$1" >"$tmp/wanted"
  same <(jq -S . "$tmp/wanted") <(jq -S . "$tmp/found")
}

deployment() {  # GRACE_PERIOD
  cat <<DEPLOYMENT
apiVersion: apps/v1
kind: Deployment
metadata: {name: bob-m, namespace: pods}
spec:
  selector: {matchLabels: {app: bob-m}}
  template:
    metadata:
      labels: {app: bob-m, oshinko-type: master}
      annotations: {cluster-watcher/grace-period: "$1"}
    spec: {containers: [{name: c, image: c}], terminationGracePeriodSeconds: ${2-30}}
DEPLOYMENT
}

export WATCH_PID=$$
"$source_dir/test/kubernetes/start" "$tmp/kubernetes"
# shellcheck source=/dev/null
. "$tmp/kubernetes/env"
pod_namespaces
for namespace in pods restricted opted-out; do
  within exists "$namespace" serviceaccount default
done
normalised_pods NONE >"$tmp/none"
certificate one
certificate two
use_certificate one

settings '{"image": "two words", "scrape": "maybe"}'
check "settings that can't be used end it at the start, with 2" \
  bash -c '"$1" webhook --config="$2/config" --tls-cert="$2/missing" --tls-key="$2/one.key" 2>"$2/errors"; (($? == 2))' \
  - "$watcher" "$tmp"
check "each is named" grep -q 'image: "two words" is not an image' "$tmp/errors"
check "so is the next" grep -q 'scrape: "maybe": give true or false' "$tmp/errors"
check "and the certificate" grep -q "missing can't be read" "$tmp/errors"

some_settings='{"image": "example.com/cluster-watcher:1", "imagePullPolicy": "Always",
  "cpuRequest": "20m", "memoryRequest": "33Mi", "cpuLimit": "1", "memoryLimit": "65Mi",
  "tokenAudience": "https://example.com", "tokenExpirationSeconds": "7200", "scrape": "true",
  "imagePullSecrets": "registry,a.registry",
  "default.dry-run": "true", "default.poll-interval": "20s"}'
settings "$some_settings"
check "inject, other settings: each pod is as wanted" injected_by_hand_are_as_wanted "$some_settings"
settings '{"image": "cluster-watcher:0.1.0"}'
check "inject: each pod is as wanted" injected_by_hand_are_as_wanted '{"image": "cluster-watcher:0.1.0"}'
start_webhook
register one
check "a pod that asks for it gets the sidecar" within injects
check "each pod is as wanted" pods_are_as_wanted '{"image": "cluster-watcher:0.1.0"}'
check "what came of them is counted" counted injected 20
owners_from_creators

settings "$some_settings"
check "a change of the settings counts, without a restart" within injects '.image == "example.com/cluster-watcher:1"'
check "each pod is as wanted with other settings" pods_are_as_wanted "$some_settings"
settings '{"image": "two words"}'
check "settings that can't be used are said" within in_file 'image: "two words" is not an image' "$tmp/webhook.log"
check "and the ones before them stay" injects '.image == "example.com/cluster-watcher:1"'
settings '{"image": "cluster-watcher:0.1.0"}'

check "a Deployment with an annotation that its pods' watcher would refuse is made" \
  quietly kubectl apply -f <(deployment soon 0)
kubectl delete -n pods deployment bob-m >/dev/null
deployment soon 0 | kubectl apply -f - >/dev/null 2>"$tmp/warnings"
check "and kubectl shows why" grep -q '^Warning: cluster-watcher: .*cluster-watcher/grace-period' "$tmp/warnings"
check "and that its pods get no time" grep -q '^Warning: cluster-watcher: terminationGracePeriodSeconds is 0' "$tmp/warnings"

deployment 5s 30 | kubectl annotate --local -o yaml -f - cluster-watcher/inject=true | kubectl apply -f - >/dev/null 2>"$tmp/warnings"
check "and that an annotation of the Deployment counts on its pods" grep -q \
  '^Warning: cluster-watcher: annotation cluster-watcher/inject counts only on pods' "$tmp/warnings"
check "not again when the watchers mark it" is \
  "$(kubectl -n pods annotate deployment bob-m cluster-watcher/phase=condemned 2>&1 >/dev/null)" ""
kubectl delete mutatingwebhookconfiguration cluster-watcher >/dev/null
asks_in_vain() { quietly probe && grep -q '^Warning: cluster-watcher: the pod asks for a watcher and has none: ' "$tmp/warnings"; }
check "a pod that asks and has no sidecar when the webhooks have been there is warned of" within asks_in_vain

use_certificate two
within in_file "a new certificate is in use" "$tmp/webhook.log"
register two
check "a new certificate is used without a restart" within injects
certificate stranger
register stranger
check "whose authority the API server doesn't know: pods are made, without the sidecar" \
  within injects '. == null'
register two
within injects
certificate old 1
openssl x509 -in "$tmp/old.crt" -signkey "$tmp/old.key" -days -1 -out "$tmp/old.crt.new" 2>/dev/null &&
  mv "$tmp/old.crt.new" "$tmp/old.crt"
use_certificate old
check "a certificate that has expired isn't taken for one that hasn't" \
  within in_file "has expired: the one before it stays in use" "$tmp/webhook.log"
check "and pods get the sidecar" injects
rm "$tmp/tls-old/tls.key"
check "a key that is gone is said" within in_file "tls.key can't be read" "$tmp/webhook.log"
check "and pods get the sidecar still" injects

kill -STOP "$webhook"
began=$SECONDS
check "a webhook that hangs: a pod is made" quietly probe
check "without the sidecar" injects '. == null'
check "after its time-out" test $((SECONDS - began)) -lt 25
kill -CONT "$webhook"
check "and with it again" within injects
check "told to stop it ends with 0" stop_webhook
check "a webhook that is gone: a pod is made, without the sidecar" injects '. == null'
use_certificate_again() { ln -sfn tls-two "$tmp/tls.new" && mv -T "$tmp/tls.new" "$tmp/tls"; }
use_certificate_again
start_webhook --reject-invalid
register two
check "it is back: so is the sidecar" within injects
kubectl delete -n pods deployment bob-m >/dev/null
check "with --reject-invalid such a Deployment is refused" \
  not quietly kubectl apply -f <(deployment soon)
deployment soon | kubectl apply -f - >/dev/null 2>"$tmp/warnings" || :
check "and kubectl shows why it is" grep -q 'denied the request: .*cluster-watcher/grace-period' "$tmp/warnings"
check "one without is made" quietly kubectl apply -f <(deployment 30s)
check "rejections are counted" counted rejected 2
finished=true
echo "$passed passed, $failed failed"
((failed == 0))
