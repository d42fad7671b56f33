#!/usr/bin/env bash
# image_test.sh: builds the container image twice and inspects it: it is valid, the same each time,
# and contains what it needs and no more. Needs root, to run the program in the image's own root.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=checks.bash
. test/checks.bash
work=$(mktemp -d)
clean_up() {
  "$finished" || echo "not ok - the test ended early"
  [[ -z ${server-} ]] || kill "$server" 2>/dev/null || :
  rm -rf -- "$work"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM
[[ $(id -u) == 0 ]] || {
  echo "skipped: only root can run a program in another root directory"
  finished=true
  echo "0 passed, 0 failed, 1 skipped"
  exit
}

quietly() { "$@" >/dev/null; }

mkdir "$work/first" "$work/second"
scripts/image "$work/first"
scripts/image "$work/second" >/dev/null
image=$work/first/image
# umoci takes a colon in a path for the tag's.
version=$(umoci list --layout "$image")
digest() { jq -r '.manifests[0].digest' "$1/index.json"; }
blob() { echo "$image/blobs/${1/://}"; }
manifest=$(blob "$(digest "$image")")
config=$(blob "$(jq -r .config.digest "$manifest")")

check "umoci can read it" quietly umoci stat --json --image "$image:$version"
check "skopeo can read it" quietly skopeo inspect "oci:$image:$version"
wrong_blobs() {
  local file
  for file in "$image"/blobs/sha256/*; do
    [[ $(sha256sum <"$file") == "${file##*/} "* ]] || echo "$file"
  done
}
check "each blob has the digest that it is named by" is "$(wrong_blobs)" ""
jq -r '.config.digest, .layers[].digest' "$manifest" | sed 's/.*://' >"$work/referred"
basename "$manifest" >>"$work/referred"
sort -o "$work/referred" "$work/referred"
ls "$image/blobs/sha256" >"$work/blobs"
check "there are no other blobs" same "$work/referred" "$work/blobs"
check "two builds have one digest" is "$(digest "$work/second/image")" "$(digest "$image")"
check "and are the same archive" cmp "$work/first/image.tar" "$work/second/image.tar"
check "and have the same SBOM" cmp "$work/first/sbom.json" "$work/second/sbom.json"
mkdir "$work/archive"
tar -C "$work/archive" -xf "$work/first/image.tar"
check "the archive is the layout" diff -r "$image" "$work/archive"

check "user" is "$(jq -r .config.User "$config")" 65532:65532
check "entry point" is "$(jq -c .config.Entrypoint "$config")" '["/cluster-watcher"]'
check "no command" is "$(jq -c .config.Cmd "$config")" null
check "one layer" is "$(jq '.layers | length' "$manifest")" 1
check "the architecture is this machine's" is "$(jq -r .architecture "$config")" "$(dpkg --print-architecture)"
for key in title description version revision licenses created; do
  value=$(jq -r ".config.Labels[\"org.opencontainers.image.$key\"]" "$config")
  check "label $key" test -n "${value#null}"
  check "annotation $key" is "$(jq -r ".annotations[\"org.opencontainers.image.$key\"]" "$manifest")" "$value"
done
check "the label's time is the image's" is \
  "$(jq -r '.config.Labels["org.opencontainers.image.created"]' "$config")" "$(jq -r .created "$config")"

umoci unpack --image "$image:$version" "$work/bundle"
root=$work/bundle/rootfs
check "the program says the image's version" is \
  "$(chroot --userspec=65532:65532 "$root" /cluster-watcher version | cut -d ' ' -f 1,2)" "cluster-watcher $version"
(cd "$root" && find . -type f -printf '/%P\n' | sort) >"$work/files"
{ ldd build-release/cluster-watcher 2>/dev/null | grep -oE '/[^ ]+' || :; } >"$work/wanted"
printf '%s\n' /cluster-watcher /etc/passwd >>"$work/wanted"
sort -o "$work/wanted" "$work/wanted"
check "the program, its libraries and passwd, and nothing else" same "$work/wanted" "$work/files"
check "no shell and no package manager" is \
  "$(grep -E '/(sh|bash|dash|busybox|apt|dpkg|apk|rpm)$' "$work/files" || :)" ""
check "nothing that its user could write, or that runs as another" is \
  "$(find "$root" ! -type l \( -perm /o+w -o -perm /ug+s -o ! -user 0 \) -print)" ""
check "its user has a name" is "$(awk -F : '$3 == 65532 { print $1 }' "$root/etc/passwd")" cluster-watcher

# In a network of its own, with a name server that knows one address, where connections are refused.
cat >"$work/names.pl" <<'PERL'
use Socket;
socket(my $socket, PF_INET, SOCK_DGRAM, 0) or die $!;
bind($socket, sockaddr_in(53, INADDR_LOOPBACK)) or die $!;
open(my $ready, '>', $ARGV[0]) and close($ready);
while (my $from = recv($socket, my $question, 512, 0)) {
  my $name = substr($question, 12);
  my $end = index($name, "\0") + 5;
  my $v4 = substr($name, $end - 4, 2) eq "\0\1";
  send($socket, substr($question, 0, 2) . pack('n5', 0x8180, 1, $v4 ? 1 : 0, 0, 0) . substr($name, 0, $end) .
    ($v4 ? pack('n3Nna4', 0xc00c, 1, 1, 60, 4, "\x7f\0\0\5") : ''), 0, $from);
}
PERL
mkdir -p "$root/etc"
echo "nameserver 127.0.0.1" >"$root/etc/resolv.conf"
cat >"$root/etc/kubeconfig" <<'CONFIG'
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://api.example.test:6443"}}]
users: [{name: test, user: {token: none}}]
contexts: [{name: test, context: {cluster: test, user: test, namespace: test}}]
current-context: test
CONFIG
chmod 644 "$root/etc/kubeconfig" "$root/etc/resolv.conf"
# answered NAMES: what the program says about an API server with a name; NAMES runs beside it.
answered() {
  unshare --net sh -c '
    ip link set lo up
    "$1" "$2/names.pl" "$2/ready" & server=$!
    for i in 1 2 3 4 5 6 7 8 9 10; do [ "$1" = true ] || [ -e "$2/ready" ] || sleep 0.2; done
    chroot --userspec=65532:65532 "$3" /cluster-watcher check none --kubeconfig=/etc/kubeconfig
    kill $server' sh "$1" "$work" "$root" 2>&1 | grep -oE "Could not resolve host|Failed to connect" | head -n 1
}
check "it looks names up" is "$(answered perl)" "Failed to connect"
check "it says where it can't" is "$(answered true)" "Could not resolve host"

sbom=$work/first/sbom.json
jq -r '.. | objects | select(.type == "file") | "\(.hashes[0].content)  .\(.name)"' "$sbom" >"$work/hashes"
(cd "$root" && sha256sum -c --quiet "$work/hashes") >"$work/wrong" 2>&1 || :
check "the SBOM has the files' hashes" same /dev/null "$work/wrong"
{ sed 's/.*  \.//' "$work/hashes"; echo /etc/passwd; } | sort >"$work/named"
check "the SBOM names each file" same "$work/files" "$work/named"
check "each component of the SBOM has a version" is \
  "$(jq -r '.components[] | select((.version // "") == "" or (.purl // "") == "") | .name' "$sbom")" ""
for source in rapidjson boost1.74; do
  check "the SBOM names $source, which was compiled in" \
    quietly jq -e --arg source "$source" 'any(.components[]; .purl | endswith("upstream=" + $source))' "$sbom"
done

finished=true
echo "$passed passed, $failed failed"
((failed == 0))
