#!/usr/bin/env bash
# The server, user and namespace of a kubeconfig must be those that kubectl takes, or it is refused with
# the reason: test/kubeconfigs/cases.go has the kubeconfigs. Needs no API server.
#
#   test/integration/kubeconfigs_test.sh BUILD_DIR
set -euo pipefail
[[ $# == 1 && -x $1/cluster-watcher ]] || { echo "usage: ${0##*/} BUILD_DIR" >&2; exit 2; }
watcher=$(realpath -- "$1/cluster-watcher")
test=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
kubernetes=$("$test/kubernetes/build")
comparison=$("$test/kubeconfigs/build")
"$comparison/compare" "$kubernetes/kubectl" "$watcher"
