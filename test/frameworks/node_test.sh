#!/usr/bin/env bash
# Frameworks that compute, in pods on a real node: their own programs from PyPI, their own operators, and
# drivers whose results are checked. A driver is killed in the middle of its job, and its cluster must go;
# what another one uses must stay, and go on computing.
#
#   test/frameworks/node_test.sh BUILD_DIR [PART...]     the parts are dask, spark and ray; by default all
#
# Needs root, and a machine that can run a node; if it can't, the test says why and is skipped. Only one
# node runs at a time on a machine: a second waits. The pods see the machine's /usr, and the Python
# environment of their framework (python_build): no image is built but our own.
set -euo pipefail
parts=("${@:2}")
(($# > 1)) || parts=(dask spark ray)
set -- "${@:1:1}"
# shellcheck source=../integration/common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/../integration/common.bash"
frameworks=$source_dir/test/frameworks
# shellcheck source=node/lab.bash
. "$frameworks/node/lab.bash"
for part in "${parts[@]}"; do
  [[ $part =~ ^(dask|spark|ray)$ ]] || { echo "node_test.sh: there is no part $part" >&2; exit 2; }
  # shellcheck disable=SC1090
  . "$frameworks/node/$part.bash"
done

needs_a_node
for part in "${parts[@]}"; do "get_$part"; done
start_node
for part in "${parts[@]}"; do
  echo "# $part"
  begun=$SECONDS failed_before=$failed
  "try_$part"
  end_watchers  # and operators
  echo "# $part took $((SECONDS - begun)) s"
done
((failed == 0)) || show
finished=true
echo "$passed passed, $failed failed"
((failed == 0))
