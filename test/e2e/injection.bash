# Installs and removes the ways of injection, from the manifests. install_* returns when pods are
# injected, remove_* when they no longer are.
# shellcheck shell=bash disable=SC2154

# Short times for the test, which every injected pod gets.
settings='{"default.poll-interval": "200ms", "default.grace-period": "2s", "default.startup-grace": "2s"}'

apply() {
  kubectl apply --warnings-as-errors -k "$manifests/$1" >/dev/null
  kubectl label namespace default cluster-watcher/enabled=true --overwrite >/dev/null
}
# injected: whether a master's pod would get the sidecar, with our times.
injected() {
  kubectl create --dry-run=server -o json -f - 2>/dev/null <<'POD' |
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try", "namespace": "default",
  "labels": {"oshinko-type": "master"}}, "spec": {"containers": [{"name": "c", "image": "idle"}]}}
POD
    jq -e '.spec.initContainers[0].name == "cluster-watcher"
      and .metadata.annotations["cluster-watcher/grace-period"] == "2s"' >/dev/null
}

install_policy() {
  apply policy
  kubectl patch mutatingadmissionpolicy cluster-watcher --type=json -p "$(jq -nc --argjson settings "$settings" \
    '[{op: "replace", path: "/spec/variables/0/expression",
      value: ({image: "cluster-watcher:0.1.0"} + $settings | tojson)}]')" >/dev/null
  check "the policy injects" within injected
}
remove_policy() {
  kubectl delete -k "$manifests/policy" --wait=true >/dev/null
  check "the policy taken away, nothing is injected" within not injected
}

# The certificate is made by the command in the manifests.
install_webhook() {
  local name=cluster-watcher-webhook
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=cluster-watcher \
    -addext "subjectAltName=DNS:$name.cluster-watcher.svc" \
    -keyout "$manifests/webhook/tls.key" -out "$manifests/webhook/tls.crt" 2>/dev/null
  apply webhook
  kubectl -n cluster-watcher patch configmap cluster-watcher --type=merge -p "{\"data\": $settings}" >/dev/null
  check "the webhook's pods are ready" \
    kubectl -n cluster-watcher rollout status deployment/"$name" --timeout=60s
  kubectl -n cluster-watcher get pods -l app.kubernetes.io/component=webhook -o json >"$work/webhooks.json"
  check "they run the image" is "$(jq -r '[.items[].status.containerStatuses[].imageID] | unique | join(" ")' \
    "$work/webhooks.json")" "$image_id"
  check "they have no token" is "$(jq '[.items[].spec.volumes[] | select(.projected)] | length' \
    "$work/webhooks.json")" 0
  check "they are ready" curl -sf --max-time 5 -o /dev/null \
    "http://$(jq -r '.items[0].status.podIP' "$work/webhooks.json"):9090/readyz"
  # The settings were changed after it had started.
  check "the webhook injects" within injected
}
remove_webhook() {
  kubectl delete -k "$manifests/webhook" --wait=true >/dev/null
  check "the webhook taken away, nothing is injected" within not injected
}
