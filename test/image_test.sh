#!/usr/bin/env bash
# image_test.sh: builds the container image twice and inspects it: it is valid, the same each time,
# and contains what it needs and no more; SBOM and provenance refer to it. Needs root, to run the
# program in the image's own root.
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
machine=$(dpkg --print-architecture)

mkdir "$work/first" "$work/second"
unset BUILDER
export SOURCE=''
scripts/image "$work/first"
scripts/image "$work/second" >/dev/null
image=$work/first/image
version=$(jq -r '.manifests[0].annotations["org.opencontainers.image.ref.name"]' "$image/index.json")
digest() { jq -r '.manifests[0].digest' "$1/index.json"; }
blob() { echo "$image/blobs/${1/://}"; }
index=$(blob "$(digest "$image")")
manifest() { blob "$(jq -r --arg a "$1" '.manifests[] | select(.platform.architecture == $a) | .digest' "$index")"; }
config() { blob "$(jq -r .config.digest "$(manifest "$1")")"; }
layer() { blob "$(jq -r '.layers[0].digest' "$(manifest "$1")")"; }

check "it is for two architectures" is "$(jq -c '[.manifests[].platform.architecture]' "$index")" '["amd64","arm64"]'
for architecture in amd64 arm64; do
  check "skopeo can read it for $architecture" is \
    "$(skopeo --override-arch "$architecture" inspect "oci:$image:$version" | jq -r .Architecture)" "$architecture"
done
wrong_blobs() {
  local file
  for file in "$image"/blobs/sha256/*; do
    [[ $(sha256sum <"$file") == "${file##*/} "* ]] || echo "$file"
  done
}
check "each blob has the digest that it is named by" is "$(wrong_blobs)" ""
# shellcheck source=image_referrers.bash
. test/image_referrers.bash
{
  basename "$index"
  referrers_blobs
  for architecture in amd64 arm64; do
    basename "$(manifest "$architecture")"
    jq -r '.config.digest, .layers[].digest' "$(manifest "$architecture")" | sed 's/.*://'
  done
} | sort -u >"$work/referred"
ls "$image/blobs/sha256" >"$work/blobs"
check "there are no other blobs" same "$work/referred" "$work/blobs"
check "two builds have one digest" is "$(digest "$work/second/image")" "$(digest "$image")"
check "and are the same archive" cmp "$work/first/image.tar" "$work/second/image.tar"
mkdir "$work/archive"
tar -C "$work/archive" -xf "$work/first/image.tar"
check "the archive is the layout" diff -r "$image" "$work/archive"

# A clone elsewhere, of what is committed and what is not.
git clone -q . "$work/elsewhere"
git diff HEAD --binary | (cd "$work/elsewhere" && git apply --allow-empty)
git ls-files -o --exclude-standard -z | xargs -0r cp --parents -t "$work/elsewhere"
# Two rooms, since the whole takes as long as the first build.
(cd "$work/elsewhere" && scripts/build release cluster_watcher_base cluster_watcher_metrics) >/dev/null
for room in probes/base/libcluster_watcher_base.a metrics/libcluster_watcher_metrics.a; do
  check "${room##*/}, built at another path, is the same" cmp "$work/elsewhere/build-release/$room" "build-release/$room"
done
check "no path of the build is in the program" not grep -qF "$PWD" build-release/cluster-watcher

(
  export ARCHITECTURES=$machine COMPRESSION=gzip SOURCE=https://git.example.com/mine BUILDER=https://builds.example.com/1
  scripts/image "$work/second"
) >/dev/null
gzipped=$(jq -r '.manifests[0].digest | sub(":"; "/")' "$work/second/image/index.json")
gzipped=$(jq -r '.manifests[0].digest | sub(":"; "/")' "$work/second/image/blobs/$gzipped")
check "it says where its sources are" is \
  "$(jq -c '.annotations | [.["org.opencontainers.image.source"], .["org.opencontainers.image.url"]]' "$work/second/image/blobs/$gzipped")" \
  '["https://git.example.com/mine","https://git.example.com/mine"]'
check "so does its provenance, and who made it" is \
  "$(jq -c '.predicate | [.buildDefinition.externalParameters.source, .runDetails.builder.id]' "$work/second/provenance.json")" \
  '["https://git.example.com/mine","https://builds.example.com/1"]'
gzipped=$(jq -r '.layers[0].digest | sub(":"; "/")' "$work/second/image/blobs/$gzipped")
check "by gzip it contains the same" is "$(gzip -dc "$work/second/image/blobs/$gzipped" | sha256sum)" \
  "$(zstd -qdc "$(layer "$machine")" | sha256sum)"

for architecture in amd64 arm64; do
  config=$(config "$architecture")
  check "user" is "$(jq -r .config.User "$config")" 65532:65532
  check "entry point" is "$(jq -c .config.Entrypoint "$config")" '["/cluster-watcher"]'
  check "no command" is "$(jq -c .config.Cmd "$config")" null
  check "one layer" is "$(jq '.layers | length' "$(manifest "$architecture")")" 1
  check "its digest is that of what is unpacked" is \
    "sha256:$(zstd -qdc "$(layer "$architecture")" | sha256sum | cut -d ' ' -f 1)" "$(jq -r '.rootfs.diff_ids[0]' "$config")"
  check "the architecture" is "$(jq -r .architecture "$config")" "$architecture"
  for key in title description version revision licenses created; do
    value=$(jq -r ".config.Labels[\"org.opencontainers.image.$key\"]" "$config")
    check "label $key" test -n "${value#null}"
    check "annotation $key" is \
      "$(jq -r ".annotations[\"org.opencontainers.image.$key\"]" "$(manifest "$architecture")")" "$value"
  done
  check "the label's time is the image's" is \
    "$(jq -r '.config.Labels["org.opencontainers.image.created"]' "$config")" "$(jq -r .created "$config")"

  root=$work/root-$architecture
  mkdir "$root"
  tar -C "$root" --zstd -xf "$(layer "$architecture")"
  check "the program is for $architecture" is \
    "$(readelf -h "$root/cluster-watcher" | sed -nE 's/^ *Machine: *//p')" \
    "$([[ $architecture == amd64 ]] && echo "Advanced Micro Devices X86-64" || echo AArch64)"
  check "it needs no library and no interpreter" is \
    "$(readelf -dl "$root/cluster-watcher" | grep -E 'NEEDED|INTERP|interpreter' || :)" ""
  (cd "$root" && find . -type f -printf '/%P\n' | sort) >"$work/files"
  grep -vE '^(/licences|/var/lib/dpkg/status.d)/' "$work/files" >"$work/others" || :
  printf '%s\n' /cluster-watcher /etc/debian_version /etc/os-release /etc/passwd >"$work/wanted"
  check "the program, what scanners read, passwd and licences, and nothing else" same "$work/wanted" "$work/others"
  check "nothing that its user could write, or that runs as another" is \
    "$(find "$root" ! -type l \( -perm /o+w -o -perm /ug+s -o ! -user 0 \) -print)" ""
  check "its user has a name" is "$(awk -F : '$3 == 65532 { print $1 }' "$root/etc/passwd")" cluster-watcher

  sbom=$work/first/sbom-$architecture.json
  jq -r '.. | objects | select(.type == "file") | "\(.hashes[0].content)  .\(.name)"' "$sbom" >"$work/hashes"
  (cd "$root" && sha256sum -c --quiet "$work/hashes") >"$work/wrong" 2>&1 || :
  check "the SBOM has the files' hashes" same /dev/null "$work/wrong"
  sed 's/.*  \.//' "$work/hashes" | sort >"$work/named"
  jq '.components |= map(select(.type == "library"))' "$sbom" >"$work/libraries"
  scanners_find_it "$root" "$sbom"
  check "the SBOM names no package by a cross compiler's sources, of which no advisory speaks" is \
    "$(jq -r '.components[].purl | select(test("upstream=[^&]*cross"))' "$work/libraries")" ""
  check "the SBOM names each file" same "$work/files" "$work/named"
  check "each component of the SBOM has a version, a URL and a licence" is \
    "$(jq -r '.components[] | select((.version // "") == "" or (.purl // "") == "" or
      (.licenses[0] | (.license.id // .expression // "") == "")) | .name' "$work/libraries")" ""
  check "the licence of each component is in the image" is \
    "$(jq -r '.components[].name' "$work/libraries" | while read -r name; do test -s "$root/licences/$name" || echo "$name"; done)" ""
  for name in openssl curl prometheus-cpp libmicrohttpd yaml-cpp libyaml libspdlog-dev libfmt-dev rapidjson-dev 'libboost.*' \
    'libc6-dev.*' 'libstdc[+][+].*'; do
    check "the SBOM names $name, which is linked in" \
      quietly jq -e --arg name "^$name\$" 'any(.components[]; .name | test($name))' "$sbom"
  done
done
root=$work/root-$machine
in_root() { chroot --userspec=65532:65532 "$root" /cluster-watcher "$@"; }
check "the program says the image's version" is "$(in_root version | cut -d ' ' -f 1,2)" "cluster-watcher $version"

# In a network of its own, with a name server that knows one name by IPv4 and one by IPv6, where
# connections are refused.
cat >"$work/names.pl" <<'PERL'
use Socket;
my %known = ('four.test.svc.cluster.local 1' => "\x7f\0\0\5", 'six.test.svc.cluster.local 28' => "\0" x 15 . "\1");
socket(my $socket, PF_INET, SOCK_DGRAM, 0) or die $!;
bind($socket, sockaddr_in(53, INADDR_LOOPBACK)) or die $!;
open(my $ready, '>', $ARGV[0]) and close($ready);
while (my $from = recv($socket, my $question, 512, 0)) {
  my $end = index($question, "\0", 12) + 5;
  my @labels = unpack('(C/a)*', substr($question, 12, $end - 17));
  my $type = unpack('n', substr($question, $end - 4, 2));
  my $name = join('.', @labels);
  my $address = $known{"$name $type"};
  my $exists = $name =~ /^(four|six)\.test\.svc\.cluster\.local$/;
  send($socket, substr($question, 0, 2) . pack('n5', $exists ? 0x8180 : 0x8183, 1, defined $address ? 1 : 0, 0, 0) .
    substr($question, 12, $end - 12) .
    (defined $address ? pack('n3Nn', 0xc00c, $type, 1, 60, length $address) . $address : ''), 0, $from);
}
PERL
# answered NAMES HOST: what the program says about an API server of this name; NAMES runs beside it.
answered() {
  cat >"$root/etc/kubeconfig" <<CONFIG
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://$2:6443"}}]
users: [{name: test, user: {token: none}}]
contexts: [{name: test, context: {cluster: test, user: test, namespace: test}}]
current-context: test
CONFIG
  chmod 644 "$root"/etc/*
  rm -f "$work/ready"
  unshare --net sh -c '
    ip link set lo up
    "$1" "$2/names.pl" "$2/ready" & server=$!
    for i in 1 2 3 4 5 6 7 8 9 10; do [ "$1" = true ] || [ -e "$2/ready" ] || sleep 0.2; done
    chroot --userspec=65532:65532 "$3" /cluster-watcher check none --kubeconfig=/etc/kubeconfig
    kill $server' sh "$1" "$work" "$root" 2>&1 | grep -oE "Could not resolve host|Failed to connect to $2" | head -n 1
}
printf '%s\n' "nameserver 127.0.0.1" "search test.svc.cluster.local svc.cluster.local cluster.local" "options ndots:5" \
  >"$root/etc/resolv.conf"
printf '%s\n' "127.0.0.1 localhost" "127.0.0.7 hosts.test" "::1 hosts-six.test" >"$root/etc/hosts"
for name in four six four.test.svc four.test.svc.cluster.local hosts.test hosts-six.test; do
  check "it looks $name up" is "$(answered perl "$name")" "Failed to connect to $name"
done
check "it says what it can't find" is "$(answered perl five)" "Could not resolve host"
check "and where no name server answers" is "$(answered true four)" "Could not resolve host"
check "nor needs it one for a name in /etc/hosts" is "$(answered true hosts.test)" "Failed to connect to hosts.test"
rm "$root/etc/hosts" "$root/etc/resolv.conf"
check "without either file an address is reached" is "$(answered true 127.0.0.1)" "Failed to connect to 127.0.0.1"
check "and a name isn't known" is "$(answered true four)" "Could not resolve host"

# What the libraries were left: TLS 1.2 and 1.3, and certificates of servers and clients.
rm -f "$root"/etc/kubeconfig
for kind in rsa:2048 ec:P-256 ec:P-384 rsa:1024; do
  options=(-newkey "$kind")
  [[ $kind == rsa* ]] || options=(-newkey ec -pkeyopt "ec_paramgen_curve:${kind#ec:}")
  openssl req -x509 "${options[@]}" -nodes -keyout "$root/etc/key" -out "$root/etc/certificate" -days 2 \
    -subj /CN=test -addext subjectAltName=IP:127.0.0.1 2>/dev/null
  cat >"$root/etc/kubeconfig" <<'CONFIG'
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://127.0.0.1:6443", certificate-authority: /etc/certificate}}]
users: [{name: test, user: {client-certificate: /etc/certificate, client-key: /etc/key}}]
contexts: [{name: test, context: {cluster: test, user: test, namespace: test}}]
current-context: test
CONFIG
  chmod 644 "$root"/etc/*
  for version in tls1_2 tls1_3; do
    # The server wants the client's certificate, and then sends a page.
    page() {
      unshare --net sh -c '
        ip link set lo up
        openssl s_server -accept 127.0.0.1:6443 -"$1" -cipher DEFAULT@SECLEVEL=0 -cert "$2/etc/certificate" -key "$2/etc/key" \
          -CAfile "$2/etc/certificate" -Verify 1 -verify_return_error -www -quiet >/dev/null 2>&1 & server=$!
        for i in 1 2 3 4 5 6 7 8 9 10; do [ -n "$(ss -Hltn)" ] || sleep 0.2; done
        chroot --userspec=65532:65532 "$2" /cluster-watcher check none --kubeconfig=/etc/kubeconfig
        kill $server' sh "$version" "$root" 2>&1 | grep -oE "HTTP 200 with a body that is not JSON|key too (weak|small)" | head -n 1
    }
    if [[ $kind == rsa:1024 ]]; then
      check "it refuses keys as weak as of $kind by $version" is "$(page | sed 's/ [a-z]*$//')" "key too"
      continue
    fi
    check "it speaks $version with certificates of $kind on both sides" is "$(page)" "HTTP 200 with a body that is not JSON"
  done
done

finished=true
echo "$passed passed, $failed failed"
((failed == 0))
