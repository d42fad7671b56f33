#!/usr/bin/env bash
# Installs cluster-watcher on a real control plane step by step, breaks it again, and lets `doctor` and
# `enable` say so: to an administrator, to the namespace's, and to somebody who may do almost nothing.
#
#   test/integration/doctor_test.sh BUILD_DIR
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
WATCH_PID=$$ "$source_dir/test/kubernetes/start" "$tmp/kubernetes"
# shellcheck source=/dev/null
. "$tmp/kubernetes/env"
cp -r -- "$source_dir/manifests" "$tmp/manifests"
PATH=$(dirname -- "$watcher"):$PATH

# doctor [FLAG...]: sets report and code.
doctor() { code=0; report=$(cluster-watcher doctor -n spark "$@" 2>&1) || code=$?; }
# finds EXIT LINE...: each line, of which may follow more, is in the report.
finds() {
  local line
  doctor "${flags[@]}"
  [[ $code == "$1" ]] || return
  for line in "${@:2}"; do grep -qE -- "^$line" <<<"$report" || return; done
}
# only EXIT LINE...: all others are ok.
only() { finds "$@" && [[ $(grep -cv '^ok ' <<<"$report") == $(($# - 1)) ]]; }
flags=()
# finding WHAT finds|only EXIT LINE...: the API server learns of changes after a while.
finding() {
  local before=$failed
  check "$1" within "${@:2}"
  ((failed == before)) || echo "$report"
}
# shellcheck disable=SC2120
enable() { cluster-watcher enable spark "$@"; }
# a_master NAME
a_master() {
  kubectl -n spark create -f - >/dev/null <<<'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "'"$1"'",
    "labels": {"oshinko-type": "master", "oshinko-cluster": "bob"}}, "spec": {"containers": [{"name": "c", "image": "c"}]}}'
}
# As docs/injection.md has it: the block in this section that begins with these words.
documented() {
  sed -n '/^## Does it work here/,/^## Pods/p' "$source_dir/docs/injection.md" |
    awk -v language="$1" '/^```/ { inside = $0 == "```" language; next } inside'
}

before_it_is_installed() {
  finding "without an installation and a namespace both are errors, with their remedy" finds 1 \
    'ok +version: Kubernetes v1\.' 'error +injection: .*; remedy: kubectl apply -k manifests/policy$' \
    'error +namespace: there is no namespace spark; remedy: kubectl create namespace spark$'
  check "a namespace that isn't there is not enabled" refuses "kubectl create namespace spark" enable
  kubectl create namespace spark >/dev/null
  check "nor is one without an installation" refuses "kubectl apply -k manifests/policy" enable
  check "and nothing was made" absent spark serviceaccount/cluster-watcher-master
  a_master old
  finding "what the namespace lacks is an error" finds 1 \
    'error +namespace: .*; remedy: cluster-watcher enable spark$' \
    'error +account: .*; remedy: cluster-watcher enable spark$' 'error +new-masters: '
}

enabled() {
  kubectl apply -k "$source_dir/manifests/policy" >/dev/null
  check "every pod's account is refused" refuses "every pod's account" enable --service-account=default
  check "and nothing was made" absent spark serviceaccount/cluster-watcher-master
  check "no namespace is wrong usage" refuses "name it, as in" cluster-watcher enable
  said=$(enable 2>"$tmp/warnings")
  check "enable makes what is missing" is "$(grep -o ' made' <<<"$said" | wc -l)" 3
  check "and says where, and warns of nothing" is "$(sed 's/ (.*/ (/' "$tmp/warnings")" "cluster-watcher: namespace spark ("
  said=$(enable 2>&1)
  check "said again it says what was there" is "$(grep -o ' was there' <<<"$said" | wc -l)" 3
  check "the account may do what a watcher may" within kubectl auth can-i delete deployments -n spark --quiet \
    --as=system:serviceaccount:spark:cluster-watcher-master
  finding "a master that is older is named" only 0 'warning  masters: masters without a watcher: old; remedy: '
  kubectl -n spark delete pod old --grace-period=0 --force >/dev/null 2>&1
  finding "then all is well" only 0
  check "the documents' command" is "$(documented sh)" "cluster-watcher doctor -n spark"
  check "says what the documents show" same <(documented text) <(bash -ec "$(documented sh)")
  check "no pod is left of it" is "$(kubectl -n spark get pods -o name)" ""
  doctor -o json
  check "as JSON too" is "$(jq -r '"\(.namespace) \(.checks | length) \([.checks[].state] | unique[])"' <<<"$report")" "spark 10 ok"
  check "an unknown format is wrong usage" is "$(doctor -o xml; echo "$code")" 2
}

broken() {
  kubectl label namespace spark cluster-watcher/enabled- >/dev/null
  finding "without the label" only 1 'error +namespace: .*; remedy: cluster-watcher enable spark' 'error +new-masters: '
  enable >/dev/null
  kubectl label namespace spark cluster-watcher/brake= >/dev/null
  finding "with a brake" only 0 'warning +brake: .* in namespace spark'
  kubectl label namespace spark cluster-watcher/brake- >/dev/null
  kubectl apply -k "$source_dir/manifests/brake" >/dev/null
  finding "with the brake everywhere" only 0 'warning +brake: .*; remedy: kubectl delete -k manifests/brake$'
  kubectl delete -k "$source_dir/manifests/brake" >/dev/null
  kubectl delete validatingadmissionpolicybinding cluster-watcher-guard-kube-system >/dev/null
  finding "without a binding of the guard" only 0 'warning +guard: .*binding cluster-watcher-guard-kube-system'
  kubectl apply -k "$source_dir/manifests/policy" >/dev/null
  kubectl -n spark create -f - >/dev/null <<'LIMITS'
{"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "least"},
 "spec": {"limits": [{"type": "Container", "min": {"cpu": "100m"}}]}}
LIMITS
  finding "with a LimitRange that refuses the sidecar" only 1 \
    'error +new-masters: a new master is refused because of its sidecar: .*minimum cpu.*; remedy: set .*cpuRequest'
  check "enable warns of it" in_warnings "minimum cpu"
  kubectl -n spark delete limitrange least >/dev/null
  kubectl -n spark create quota most --hard=requests.cpu=505m >/dev/null
  finding "with a quota that is too small for it" only 1 'error +new-masters: .* because of its sidecar: .*exceeded quota'
  kubectl -n spark delete quota most >/dev/null
  kubectl -n spark create quota none --hard=pods=0 >/dev/null
  finding "where any master is refused it isn't known" only 0 'warning +new-masters: .*, with the sidecar and without: .*exceeded quota'
  kubectl -n spark delete quota none >/dev/null
  finding "and well again" only 0
}
# in_warnings TEXT
in_warnings() { enable 2>"$tmp/warnings" >/dev/null && in_file "$1" "$tmp/warnings"; }

accounts_and_pods() {
  kubectl -n spark create serviceaccount ci >/dev/null
  kubectl -n spark create rolebinding ci --clusterrole=cluster-watcher --serviceaccount=spark:ci >/dev/null
  kubectl -n spark create rolebinding ci-edit --clusterrole=edit --serviceaccount=spark:ci >/dev/null
  check "enable warns of an account that does more than watch" within in_warnings "which the guard refuses them: ci: give"
  kubectl -n spark create rolebinding ci-unguarded --clusterrole=cluster-watcher-unguarded --serviceaccount=spark:ci >/dev/null
  check "but not of one that is exempted" within not in_warnings ": ci:"
  kubectl -n spark delete rolebinding ci ci-edit ci-unguarded >/dev/null
  kubectl -n spark create rolebinding everybody --clusterrole=cluster-watcher --serviceaccount=spark:default >/dev/null
  finding "every pod's account is named" only 0 'warning +account: account default .*is every pod'
  kubectl -n spark delete rolebinding everybody >/dev/null
  kubectl -n spark delete rolebinding cluster-watcher >/dev/null
  kubectl -n spark create serviceaccount sweep >/dev/null
  kubectl -n spark create -f "$source_dir/manifests/chart/objects/sweep/role.yaml" >/dev/null
  kubectl -n spark create rolebinding sweep --role=cluster-watcher-sweep --serviceaccount=spark:sweep >/dev/null
  finding "the account of a sweep is no master's" only 1 'error +account: no account of the namespace'
  kubectl -n spark delete rolebinding/sweep role/cluster-watcher-sweep serviceaccount/sweep >/dev/null
  kubectl -n spark create rolebinding cluster-watcher --clusterrole=view --serviceaccount=spark:ci >/dev/null
  check "a name that is taken is left, and another used" in_file "rolebinding cluster-watcher-cluster-watcher-master made" \
    <(enable 2>&1)
  kubectl -n spark delete rolebinding cluster-watcher cluster-watcher-cluster-watcher-master >/dev/null
  enable >/dev/null 2>&1
  a_master bob
  kubectl -n spark patch pod bob --subresource=status --type=merge -p '{"status": {"initContainerStatuses": [
    {"name": "cluster-watcher", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
     "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such host"}}}]}}' >/dev/null
  finding "an image that can't be pulled is an error" only 1 \
    "error +image: the watcher of pod bob can't start: ImagePullBackOff: no such host; remedy: kubectl -n spark describe pod bob; push the image"
  kubectl -n spark delete pod bob --grace-period=0 --force >/dev/null 2>&1
}

others() {
  kubectl create namespace elsewhere >/dev/null
  kubectl -n elsewhere create serviceaccount nobody >/dev/null
  kubectl -n elsewhere create serviceaccount owner >/dev/null
  kubectl -n spark create rolebinding owner --clusterrole=admin --serviceaccount=elsewhere:owner >/dev/null
  local name
  for name in nobody owner; do identity "$name" "$(kubectl -n elsewhere create token "$name")"; done
  flags=(--kubeconfig="$tmp/nobody.kubeconfig")
  finding "who may read nothing is told which rules are missing" only 0 \
    'warning +injection: .*"mutatingadmissionpolicies"' 'warning +guard: .*"validatingadmissionpolicies"' \
    'warning +namespace: .*"namespaces"' 'warning +brake: .*"validatingadmissionpolicybindings"' \
    'warning +account: .*"serviceaccounts"' 'warning +new-masters: .*"pods".*"create"' \
    'warning +image: .*"pods".*"list"' 'warning +masters: .*"pods".*"list"'
  check "each as a rule to add" is "$(grep -c '; remedy: a \(Cluster\)\?Role .*needs rules: \[{' <<<"$report")" 8
  flags=(--kubeconfig="$tmp/owner.kubeconfig")
  finding "the namespace's administrator sees what is in it" only 0 'warning +injection: ' 'warning +guard: ' 'warning +brake: '
  check "and may give another account the Role" quietly cluster-watcher enable spark --service-account=another "${flags[@]}"
  kubectl label namespace spark cluster-watcher/enabled- >/dev/null
  check "but not label it, and is told how far it came" refuses "; before: serviceaccount third made, rolebinding" \
    cluster-watcher enable spark --service-account=third "${flags[@]}"
  kubectl label namespace spark cluster-watcher/enabled=true >/dev/null
  flags=()
}

monitoring() {
  foreign_kind podmonitors monitoring.coreos.com v1 PodMonitor
  foreign_kind prometheusrules monitoring.coreos.com v1 PrometheusRule
  foreign_kind prometheuses monitoring.coreos.com v1 Prometheus
  finding "monitoring that isn't installed is a warning" only 0 'warning +monitoring: .*; remedy: kubectl apply -k manifests/chart/objects/monitoring'
  kubectl apply -k "$source_dir/manifests/chart/objects/monitoring" >/dev/null
  kubectl -n elsewhere create -f - >/dev/null <<'PROMETHEUS'
{"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus", "metadata": {"name": "main"}, "spec": {
  "podMonitorSelector": {"matchLabels": {"release": "main"}}, "podMonitorNamespaceSelector": {}, "ruleSelector": {}, "ruleNamespaceSelector": {}}}
PROMETHEUS
  finding "so is a Prometheus that doesn't select it" only 0 'warning +monitoring: no Prometheus selects podmonitor.*; remedy: .*podMonitorSelector'
  kubectl -n elsewhere patch prometheus main --type=json -p '[{"op": "replace", "path": "/spec/podMonitorSelector", "value": {}}]' >/dev/null
  finding "one that does is well" only 0
}

by_webhook() {
  kubectl delete -k "$source_dir/manifests/policy" >/dev/null
  finding "the policy gone" finds 1 'error +injection: ' 'error +new-masters: '
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=cluster-watcher \
    -keyout "$tmp/manifests/webhook/tls.key" -out "$tmp/manifests/webhook/tls.crt" 2>/dev/null
  kubectl apply -k "$tmp/manifests/webhook" >/dev/null
  finding "a webhook without a pod" finds 1 \
    'error +injection: no pod answers for .*; remedy: kubectl -n cluster-watcher get pods' 'error +new-masters: a new master gets no sidecar'
  kubectl delete mutatingwebhookconfiguration cluster-watcher >/dev/null
  finding "the webhook's configuration gone" finds 1 'error +injection: neither a policy nor a webhook'
}

without_an_answer() {
  flags=(--kubeconfig="$tmp/nobody.kubeconfig")
  identity nobody revoked
  finding "a token that is of nobody is said once" finds 1 'cluster-watcher: get namespaces "spark": HTTP 401'
  flags=()
  "$source_dir/test/kubernetes/apiserver" "$tmp/kubernetes" stop >/dev/null
  finding "so is an API server that is away" finds 1 'cluster-watcher: get namespaces "spark": '
  check "and no more" is "$(wc -l <<<"$report")" 1
}

before_it_is_installed
enabled
broken
accounts_and_pods
others
monitoring
by_webhook
without_an_answer
finished=true
echo "$passed passed, $failed failed"
((failed == 0))
