#!/usr/bin/env bash
# Installs cluster-watcher on the oldest Kubernetes that is supported as the documents say, without what that
# lacks, and lets `doctor` tell of it.
#
#   test/integration/oldest_test.sh BUILD_DIR
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
export CONTROL_PLANE=oldest
WATCH_PID=$$ "$source_dir/test/kubernetes/start" "$tmp/kubernetes"
# shellcheck source=/dev/null
. "$tmp/kubernetes/env"
cp -r -- "$source_dir/manifests" "$tmp/manifests"
installation=$tmp/manifests/webhook/kustomization.yaml

# says LINE...: each is the beginning of one of doctor's.
says() {
  local line report
  report=$("$watcher" doctor -n spark 2>&1) || :
  for line; do grep -qE -- "^$line" <<<"$report" || { echo "$report"; return 1; }; done
}
# as_documented: what the file says, from the certificate on.
as_documented() { (cd "$tmp" && quietly bash -ec "$(sed -n 's/^#   //p' "$installation")" 2>&1); }
held() { [[ -n $(kubectl get namespace spark -o jsonpath='{.metadata.annotations.cluster-watcher/hold-until}') ]]; }

kubectl create namespace spark >/dev/null
check "without an installation doctor names the way in" says \
  'ok +version: Kubernetes v1\.[0-9.]+ has no MutatingAdmissionPolicy .* by the webhook' \
  'error +injection: .*; remedy: kubectl apply -k manifests/webhook$'
check "so does enable" refuses "or manifests/webhook before" "$watcher" enable spark
sed -i '/components\/guard$/d' "$installation"
check "without the guard the webhook is installed" as_documented
check "a namespace is enabled" quietly "$watcher" enable spark
check "and doctor says that there is neither guard nor brake" says 'error +injection: no pod answers ' \
  'warning +guard: .* the guard can.t be either; remedy: upgrade Kubernetes to 1\.30' 'warning +brake: .* a brake can.t be either' \
  'ok +namespace: ' 'ok +account: '
kubectl label namespace spark cluster-watcher/brake= >/dev/null
check "also where a label is for one" says 'warning +brake: .* a brake can.t be either'
check "instead namespaces are held" quietly bash -ec "$(sed -n '/^## On Kubernetes 1.29/,/^## Where/p' "$source_dir/docs/guard.md" |
  sed -n '/^```sh$/,/^```$/{ /^```/d; p }')"
check "all that are enabled" held
finished=true
echo "$passed passed, $failed failed"
((failed == 0))
