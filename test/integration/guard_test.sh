#!/usr/bin/env bash
# Applies the guard and the brake to a real control plane, and attacks them with the token of a
# watcher's account, which is bound to a pod as a sidecar's is.
#
#   test/integration/guard_test.sh BUILD_DIR
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=guard.bash
. "$source_dir/test/integration/guard.bash"
# shellcheck source=guard_steps.bash
. "$source_dir/test/integration/guard_steps.bash"
# shellcheck source=brake.bash
. "$source_dir/test/integration/brake.bash"

cp -r -- "$source_dir/manifests" "$tmp/manifests"
WATCH_PID=$$ "$source_dir/test/kubernetes/start" "$tmp/kubernetes"
# shellcheck source=/dev/null
. "$tmp/kubernetes/env"
kubectl apply -k "$source_dir/manifests/policy" >/dev/null
the_guard
the_brake

finished=true
echo "$passed passed, $failed failed"
((failed == 0))
