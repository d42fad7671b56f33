# Shared by the tests of the manifests: counted checks, watchers that run with an account's token,
# and checks of what happens to their clusters. Sourced with the test's own arguments; the test has
# started its control plane in $tmp/kubernetes, and sets finished=true at its end.
# shellcheck shell=bash
[[ $# == 1 && -x $1/cluster-watcher ]] || { echo "usage: ${0##*/} BUILD_DIR" >&2; exit 2; }
watcher=$(realpath -- "$1/cluster-watcher")
source_dir=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=../checks.bash
. "$source_dir/test/checks.bash"
for tool in curl jq; do
  command -v "$tool" >/dev/null || { echo "${0##*/}: $tool is missing" >&2; exit 2; }
done

tmp=$(mktemp -d)
watchers=()
end_watchers() {
  ((${#watchers[@]})) || return 0
  kill -KILL "${watchers[@]}" 2>/dev/null || :
  wait "${watchers[@]}" 2>/dev/null || :
  watchers=()
}
clean_up() {
  "$finished" || echo "not ok - the test ended early"
  end_watchers
  "$source_dir/test/kubernetes/stop" "$tmp/kubernetes" || :
  rm -rf -- "$tmp"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

quietly() { "$@" >/dev/null 2>&1; }
# in_file TEXT FILE
in_file() { grep -qF -- "$1" "$2"; }

# identity NAME TOKEN: makes $tmp/NAME.kubeconfig.
identity() {
  local config=(kubectl --kubeconfig="$tmp/$1.kubeconfig" config)
  "${config[@]}" set-cluster test --server="$APISERVER" --certificate-authority="$APISERVER_CA"
  "${config[@]}" set-credentials test --token="$2"
  "${config[@]}" set-context test --cluster=test --user=test
  "${config[@]}" use-context test
} >/dev/null

# pod_of NAMESPACE SELECTOR: sets pod, if there is one.
pod_of() { pod=$(kubectl -n "$1" get pods -l "$2" -o name) && pod=${pod#pod/} && [[ -n $pod ]]; }

# [watched_as=ACCOUNT] watch_over NAMESPACE POD NAME [POLL_INTERVAL [FLAG...]]: runs a watcher like a
# sidecar, with a token of the account (cluster-watcher), bound to the pod, which must be of that account.
watch_over() {
  local token
  token=$(kubectl -n "$1" create token "${watched_as-cluster-watcher}" --bound-object-kind=Pod --bound-object-name="$2")
  cat >"$tmp/$3.kubeconfig" <<CONFIG
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "$APISERVER", certificate-authority: "$APISERVER_CA"}}]
users: [{name: test, user: {token: "$token"}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
current-context: test
CONFIG
  env -i POD_NAME="$2" POD_NAMESPACE="$1" "$watcher" watch --kubeconfig="$tmp/$3.kubeconfig" \
    --grace-period=1s --poll-interval="${4-200ms}" --listen=127.0.0.1:0 "${@:5}" >"$tmp/$3.log" 2>&1 &
  watchers+=("$!")
}

port_of() { sed -n 's/.*metrics and health on port \([0-9]*\).*/\1/p' "$tmp/$1.log"; }
# metric NAME REGEX [LEAST]: whether a matching series is at least so large (1).
metric() {
  local port
  port=$(port_of "$1")
  [[ -n $port ]] && curl -sf --max-time 5 "http://127.0.0.1:$port/metrics" |
    awk -v series="^$2\$" -v least="${3-1}" '$1 ~ series && $2 >= least { found = 1 }
      END { exit !found }'
}

# marked NAMESPACE OBJECT MARK
marked() {
  [[ -n $(kubectl -n "$1" get "$2" -o "jsonpath={.metadata.annotations.cluster-watcher/$3}") ]]
}

# gone NAMESPACE SELECTOR: whether nothing of it is left except claims.
gone() {
  local kinds=deployments,replicasets,statefulsets,replicationcontrollers,daemonsets,jobs,cronjobs
  kinds+=,pods,services,configmaps,ingresses,networkpolicies,horizontalpodautoscalers
  kinds+=,poddisruptionbudgets
  # There must be an answer, and it must be empty.
  local left
  left=$(kubectl -n "$1" get "$kinds${3+,$3}" -l "$2" -o name) && [[ -z $left ]]
}
exists() { quietly kubectl -n "$1" get "${@:2}"; }
absent() { [[ -z $(kubectl -n "$1" get "$2" --ignore-not-found -o name || echo unknown) ]]; }

# foreign_kind PLURAL GROUP VERSION KIND: defines a kind that an operator or OpenShift serves,
# without its controllers.
foreign_kind() {
  kubectl apply -f - >/dev/null <<CRD
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: $1.$2
  # Without it no kind of *.k8s.io is accepted.
  annotations: {api-approved.kubernetes.io: "unapproved, for a test"}
spec:
  group: $2
  scope: Namespaced
  names: {plural: $1, kind: $4}
  versions:
  - name: $3
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
CRD
  kubectl wait --for=condition=Established --timeout=30s "crd/$1.$2" >/dev/null
}

# with OVERLAY COMPONENT...: prints the directory of a kustomization that combines them.
with() {
  local component directory=$tmp/manifests/with
  mkdir -p -- "$directory"
  {
    printf '%s\n' 'apiVersion: kustomize.config.k8s.io/v1beta1' 'kind: Kustomization' "resources: [../$1]"
    (($# == 1)) || echo components:
    for component in "${@:2}"; do echo "- ../components/$component"; done
  } >"$directory/kustomization.yaml"
  echo "$directory"
}

# refuses TEXT COMMAND...: checks that it fails and says TEXT.
refuses() {
  local said
  ! said=$("${@:2}" 2>&1) && [[ $said == *"$1"* ]]
}
