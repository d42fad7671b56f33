# Sends the pods of this directory through one of the ways of injection, and prints them in a
# canonical form. Sourced by tests that have a kubectl for a cluster, and $tmp.
# shellcheck shell=bash disable=SC2154
pods_dir=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

# Makes the namespaces of the pods, with the injection on.
pod_namespaces() {
  local namespace
  for namespace in pods restricted opted-out; do
    kubectl create namespace "$namespace"
    kubectl label namespace "$namespace" cluster-watcher/enabled=true
  done
  kubectl label namespace restricted pod-security.kubernetes.io/enforce=restricted
  kubectl label namespace opted-out cluster-watcher/inject=false
} >/dev/null

# Prints each as a line of JSON; one more has a hundred volumes. The oldest API server knows no resources of pods.
written_pods() {
  kubectl create --dry-run=client -o json -f "$pods_dir/pods.yaml" |
    jq -c --arg oldest "${CONTROL_PLANE-}" 'select($oldest == "" or .spec.resources == null)
      | del(.metadata.creationTimestamp, .status)
      | if .metadata.namespace == "default" then .metadata.namespace = "pods" else . end
      | ., (select(.metadata.name == "volumes")
        | .metadata.name = "hundred-volumes"
        | .spec.volumes = [range(100) | {name: "volume-\(.)", emptyDir: {}}]
        | .spec.containers[0].volumeMounts[0].name = "volume-99")'
}

# admitted: prints the pods on stdin as the API server would make them, by a dry run.
admitted() { kubectl create --dry-run=server -o json -f -; }

# warned_of: prints the names of those pods on stdin, as lines of JSON, whose author gets a warning.
# Doesn't use kubectl, which prints equal warnings only once.
warned_of() {
  local line name namespace
  while read -r line; do
    read -r name namespace < <(jq -r '"\(.metadata.name) \(.metadata.namespace)"' <<<"$line")
    curl -sS --max-time 10 --cacert "$APISERVER_CA" -H "Authorization: Bearer $APISERVER_TOKEN" \
      -H "Content-Type: application/json" --data-binary @- -D - -o "$tmp/answer" \
      "$APISERVER/api/v1/namespaces/$namespace/pods?dryRun=All" <<<"$line" |
      grep -qi '^warning: .*cluster-watcher' || continue
    echo "$name"
  done
}

# normalised_pods NONE|POLICY|WEBHOOK|INJECT: prints the pods after that way of injection, a line
# each, by name: {name, warns, pod}. The cluster must be set up for it: with the policy, with the
# webhook, or for NONE and INJECT with neither. For INJECT the caller defines inject_pods, which
# takes and prints pods as lines of JSON. It knows nothing of namespaces, so pods in excluded ones
# are left out.
normalised_pods() {
  local pods
  case $1 in
    NONE | POLICY | WEBHOOK) pods=$(written_pods) ;;
    INJECT)
      pods=$(written_pods | jq -c 'select(.metadata.name | IN("opted-out", "system") | not)' | inject_pods)
      ;;
    *) echo "normalised_pods: $1 is unknown" >&2; return 2 ;;
  esac || return
  warned_of <<<"$pods" >"$tmp/warned_of"
  admitted <<<"$pods" 2>/dev/null | jq -S -f "$pods_dir/normalise.jq" |
    jq -c --rawfile warned "$tmp/warned_of" '
      .metadata.name as $name
      | {name: $name, warns: ($warned | split("\n") | any(. == $name)), pod: .}' | LC_ALL=C sort
}

# expected_pods NORMALISED_NONE SETTINGS: prints the expected result in the same form. SETTINGS is
# the ConfigMap's data as JSON.
expected_pods() {
  local name port warns
  while read -r name port warns; do
    [[ -n $name && $name != "#" ]] || continue
    jq -cS --arg name "$name" 'select(.name == $name) | .pod' "$1" |
      if [[ $port == - ]]; then cat; else
        jq -cS --argjson port "$port" --argjson settings "$2" -f "$pods_dir/expected.jq"
      fi | jq -c --arg warns "$warns" '{name: .metadata.name, warns: ($warns == "warns"), pod: .}'
  done <"$pods_dir/expected.txt" | LC_ALL=C sort
}
