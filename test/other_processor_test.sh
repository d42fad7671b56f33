#!/usr/bin/env bash
# other_processor_test.sh: the released program for the processor that this machine isn't deletes a
# whole cluster, under qemu's emulation of that processor.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=checks.bash
. test/checks.bash
work=$(mktemp -d)
clean_up() {
  "$finished" || echo "not ok - the test ended early"
  rm -rf -- "$work"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM
case $(dpkg --print-architecture) in
  arm64) other=amd64 emulator=qemu-x86_64-static ;;
  *) other=arm64 emulator=qemu-aarch64-static ;;
esac

scripts/build "release-$other" cluster-watcher >"$work/build.log" 2>&1 || { tail -n 20 "$work/build.log"; exit 1; }
program="$emulator $PWD/build-release-$other/cluster-watcher"
check "it says its version" grep -q '^cluster-watcher [0-9]' <($program version)
# shellcheck disable=SC2024
deletes() { PROGRAM=$program scripts/demo >"$work/demo" 2>&1 || { tail -n 40 "$work/demo"; return 1; }; }
check "it deletes a cluster whose driver is gone, and nothing of its neighbours" deletes
check "and says so" grep -q 'luster .* is deleted' "$work/demo"

finished=true
echo "$passed passed, $failed failed"
((failed == 0))
