#!/usr/bin/env bash
# plugin_test.sh: the archive of kubectl's plugin is unpacked, and kubectl finds and runs what is in it;
# krew installs it by its manifest.
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
krew=$(test/supply/build)/krew
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
with() { env -i HOME="$work" PATH="$1:$kubernetes:/usr/bin:/bin" KREW_ROOT="$work/krew" \
  KREW_DEFAULT_INDEX_URI="$work/index" KREW_NO_UPGRADE_CHECK=1 "${@:2}"; }
said=$("$work/bin/kubectl-cluster_watcher" --version)
check "the program says its version" is "${said% *}" "cluster-watcher $version"
check "kubectl lists it, without a warning" is "$(with "$work/bin" kubectl plugin list 2>&1 | tail -n +3)" "$work/bin/kubectl-cluster_watcher"
check "and runs it" is "$(with "$work/bin" kubectl cluster-watcher --version)" "$said"
check "and completes its words" is "$(with "$work/bin" kubectl __complete cluster-watcher vers 2>/dev/null | head -n 1 | cut -f 1)" version

# krew, with an index of its own and without a network.
mkdir -p "$work/index/plugins"
cp "$manifest" "$work/index/plugins"
git -C "$work/index" init -q
git -C "$work/index" add plugins
git -C "$work/index" -c user.name=test -c user.email=test commit -q -m test
by_krew() { with "$work/krew/bin" "$krew" "$@" >"$work/said" 2>&1; }
cp "$archive" "$work/other.tar.gz"
echo >>"$work/other.tar.gz"
by_krew update
check "krew finds it in an index" by_krew info cluster-watcher
check "with its version" grep -qx "VERSION: v$version" "$work/said"
check "it refuses another archive" not by_krew install --manifest="$manifest" --archive="$work/other.tar.gz"
check "by its hash" grep -q 'checksum does not match' "$work/said"
check "it installs it" by_krew install --manifest="$manifest" --archive="$archive"
check "and says where it is from" grep -q https://git.example.com/cluster-watcher "$work/said"
check "kubectl runs what krew has installed" is "$(with "$work/krew/bin" kubectl cluster-watcher --version)" "$said"
check "it takes it off" by_krew uninstall cluster-watcher
check "and kubectl has it no more" not with "$work/krew/bin" kubectl cluster-watcher --version 2>/dev/null

finished=true
echo "$passed passed, $failed failed"
((failed == 0))
