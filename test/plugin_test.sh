#!/usr/bin/env bash
# plugin_test.sh: the archive of kubectl's plugin is unpacked, and kubectl finds and runs what is in it.
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
kubernetes=$(test/kubernetes/build)
machine=$(dpkg --print-architecture)
uri=https://downloads.example.com/cluster-watcher

ARCHITECTURES=$machine SOURCE=https://git.example.com/cluster-watcher scripts/image "$work" >/dev/null
scripts/plugin "$uri/" "$work" >/dev/null
made=$work/plugin
version=$(jq -r '.manifests[0].annotations["org.opencontainers.image.ref.name"]' "$work/image/index.json")
archive=$made/kubectl-cluster_watcher-$version-linux-$machine.tar.gz
manifest=$made/cluster-watcher.yaml
check "there are an archive and a manifest" is "$(cd "$made" && echo *)" "${manifest##*/} ${archive##*/}"
field() { sed -nE "s/^ *(- )?$1: *//p" "$manifest"; }
check "the manifest has the archive's hash" is "$(field sha256)" "$(sha256sum <"$archive" | cut -d ' ' -f 1)"
check "and where it will be" is "$(field uri)" "$uri/${archive##*/}"
check "and where it is from" is "$(field homepage)" https://git.example.com/cluster-watcher
check "for this architecture" is "$(field os) $(field arch)" "linux $machine"
mv "$made" "$work/before"
scripts/plugin "$uri" "$work" >/dev/null
check "the same image gives the same bytes" diff -r "$work/before" "$made"
for wrong in downloads.example.com ftp://downloads.example.com 'https://a b' ''; do
  check "'$wrong' is no address to download from" not scripts/plugin "$wrong" "$work" 2>/dev/null
done
check "without an image there is no plugin" not scripts/plugin "$uri" "$work/none" 2>/dev/null

mkdir "$work/bin"
tar -C "$work/bin" -xzf "$archive"
(cd "$work/bin" && find . -type f -printf '%P\n' | grep -v '^licences/' | sort) >"$work/files"
check "it has the program, its completion and its licence" same \
  <(printf '%s\n' LICENSE kubectl-cluster_watcher kubectl_complete-cluster_watcher) "$work/files"
check "and those of what is linked in" is "$(jq -r '.components[] | select(.type == "library") | .name' "$work/sbom-$machine.json" |
  while read -r name; do test -s "$work/bin/licences/$name" || echo "$name"; done)" ""

# with DIR COMMAND...: DIR is in PATH, with kubectl and what a plugin may expect.
with() { env -i HOME="$work" PATH="$1:$kubernetes:/usr/bin:/bin" "${@:2}"; }
said=$("$work/bin/kubectl-cluster_watcher" --version)
check "the program says its version" is "${said% *}" "cluster-watcher $version"
check "kubectl lists it, without a warning" is "$(with "$work/bin" kubectl plugin list 2>&1 | tail -n +3)" "$work/bin/kubectl-cluster_watcher"
check "and runs it" is "$(with "$work/bin" kubectl cluster-watcher --version)" "$said"
check "and completes its words" is "$(with "$work/bin" kubectl __complete cluster-watcher vers 2>/dev/null | head -n 1 | cut -f 1)" version

finished=true
echo "$passed passed, $failed failed"
((failed == 0))
