# What refers to the image, and what scanners find in it: sourced by image_test.sh, which has $work,
# $image, $index and blob.
# shellcheck shell=bash disable=SC2154
referrers() { jq -r '.manifests[1:][].digest' "$image/index.json"; }
# referrers_blobs: the names of all that belongs to them.
referrers_blobs() {
  local digest
  for digest in $(referrers); do
    echo "$digest"
    jq -r '.config.digest, .layers[].digest' "$(blob "$digest")"
  done | sed 's/.*://'
}
# wrong_descriptors FILE: those in it that aren't as the blob is.
wrong_descriptors() {
  local digest size
  jq -r '.. | objects | select(.digest? and .size?) | "\(.digest) \(.size)"' "$1" | while read -r digest size; do
    [[ -e $(blob "$digest") && $(wc -c <"$(blob "$digest")") == "$size" ]] || echo "$digest $size"
  done
}
# referrer TYPE [SUBJECT]: the first of this type, of this subject.
referrer() {
  local digest
  for digest in $(referrers); do
    jq -e --arg type "$1" --arg subject "${2-}" '.artifactType == $type and
      ($subject == "" or .subject.digest == $subject)' "$(blob "$digest")" >/dev/null || continue
    blob "$digest"
    return
  done
  echo /nothing
}
attached() { blob "$(jq -r '.layers[0].digest' "$1")"; }

check "SBOMs and provenance are listed after the image, by their types" is \
  "$(jq -c '[.manifests[1:][].artifactType]' "$image/index.json")" \
  '["application/vnd.cyclonedx+json","application/vnd.cyclonedx+json","application/vnd.in-toto+json"]'
check "only the image has a name" is "$(jq -c '[.manifests[].annotations["org.opencontainers.image.ref.name"]]' "$image/index.json")" \
  "[\"$version\",null,null,null]"
check "the layout's descriptors are right" is "$(wrong_descriptors "$image/index.json")" ""
for digest in $(referrers); do
  check "so are those of a referrer, its subject's too" is "$(wrong_descriptors "$(blob "$digest")")" ""
  check "it is an artifact without a configuration" is \
    "$(jq -c '[.schemaVersion, .mediaType, .config.mediaType, (.layers | length)]' "$(blob "$digest")")" \
    '[2,"application/vnd.oci.image.manifest.v1+json","application/vnd.oci.empty.v1+json",1]'
  check "and is listed with its type and annotations" is \
    "$(jq -cS --arg digest "$digest" '.manifests[] | select(.digest == $digest) | {artifactType, annotations}' "$image/index.json")" \
    "$(jq -cS '{artifactType, annotations}' "$(blob "$digest")")"
done
for architecture in amd64 arm64; do
  subject=sha256:$(basename "$(manifest "$architecture")")
  check "the SBOM for $architecture refers to its image" \
    cmp "$(attached "$(referrer application/vnd.cyclonedx+json "$subject")")" "$work/first/sbom-$architecture.json"
done
provenance=$work/first/provenance.json
check "the provenance refers to the index" \
  cmp "$(attached "$(referrer application/vnd.in-toto+json "$(digest "$image")")")" "$provenance"
check "it is an in-toto statement of SLSA's provenance" is "$(jq -c '[._type, .predicateType]' "$provenance")" \
  '["https://in-toto.io/Statement/v1","https://slsa.dev/provenance/v1"]'
check "it names the index and both images" is "$(jq -r '.subject[].digest.sha256' "$provenance")" \
  "$(basename "$index"; jq -r '.manifests[].digest | ltrimstr("sha256:")' "$index")"
revision=$(jq -r '.annotations["org.opencontainers.image.revision"]' "$index")
check "it names the revision" is "$(jq -r .predicate.buildDefinition.externalParameters.revision "$provenance")" "$revision"
check "by its digest, unless files are changed" is \
  "$(jq -r '.predicate.buildDefinition.resolvedDependencies[].digest.gitCommit // empty' "$provenance")" \
  "$([[ $revision == *-changed ]] || echo "$revision")"
check "it names all that is linked in" is "$(jq -r '.components[].purl // empty' "$work"/first/sbom-*.json | sort -u |
  comm -23 - <(jq -r '.predicate.buildDefinition.resolvedDependencies[].uri // empty' "$provenance" | sort))" ""
for tool in 'g[+][+]-[0-9]+' 'g[+][+]-[0-9]+-[a-z0-9-]+' 'binutils-[a-z0-9-]+' zstd tar; do
  check "and of the tools $tool" test -n "$(jq -r '.predicate.buildDefinition.resolvedDependencies[].uri // empty' "$provenance" |
    sed -E 's/%2B/+/g' | grep -E "^pkg:deb/debian/$tool@")"
done
check "without a SOURCE or an origin that others reach it names no address" is \
  "$(jq -c '[.. | strings | select(startswith("http"))]' "$provenance")" '["https://in-toto.io/Statement/v1","https://slsa.dev/provenance/v1"]'

# scanners_find_it ROOT SBOM: what Trivy, Grype and Syft read of an image without a package manager.
scanners_find_it() {
  local status=$1/var/lib/dpkg/status.d file
  check "of each component a file says name and version" same \
    <(jq -r '.components[] | select(.type == "library") | "\(.name) \(.version)"' "$2" | sort) \
    <(awk '/^Package:/ { name = $2 } /^Version:/ { print name, $2 }' "$status"/* | sort)
  check "each file is named after its package" is \
    "$(grep -H '^Package: ' "$status"/* | sed 's,.*/,,' | awk -F ':Package: ' '$1 != $2')" ""
  mkdir -p "$work/dpkg/updates" "$work/dpkg/info"
  for file in "$status"/*; do
    echo "Status: install ok installed"
    cat "$file"
    echo
  done >"$work/dpkg/status"
  check "dpkg understands them" is "$(dpkg-query --admindir="$work/dpkg" -W -f '${Package}\n' 2>&1 | sort)" "$(cd "$status" && printf '%s\n' * | sort)"
  check "of the C library they name the source that advisories name" quietly grep -qE '^Source: glibc( |$)' "$status"/libc6-dev*
  check "none is said to be of a cross compiler's source" is "$(grep -h '^Source: ' "$status"/* | grep cross)" ""
  check "they are of the Debian that the SBOM names" is "$(jq -r '.components[] | .purl // empty | sub(".*distro="; "") | sub("&.*"; "")' "$2" | sort -u)" \
    "$(. "$1/etc/os-release" && echo "$ID-$VERSION_ID")"
}

# Whose address becomes a label.
mkdir "$work/origin"
git -C "$work/origin" init -q
git -C "$work/origin" remote add origin none
script=$PWD/scripts/source
# source_of ORIGIN: what is printed where git knows that.
source_of() { (unset SOURCE; cd "$work/origin" && git remote set-url origin "$1" && "$script"); }
check "an address on the web is the source" is "$(source_of https://git.example.com/a/b.git)" https://git.example.com/a/b.git
check "without who signs in" is "$(source_of https://me:secret@Git.example.com:8443/a/b)" https://git.example.com:8443/a/b
for origin in git@git.example.com:a/b.git ssh://git.example.com/a/b file:///a/b /a/b http://localhost/a/b \
  http://10.0.0.1/a/b 'http://[::1]/a/b' https://git.corp.internal/a/b https://git/a/b https://git.local/a/b; do
  check "$origin isn't, which others can't reach" is "$(source_of "$origin")" ""
done
check "SOURCE wins" is "$(cd "$work/origin" && SOURCE=https://git.local/mine "$script")" https://git.local/mine
git -C "$work/origin" remote set-url origin https://git.example.com/a/b
check "also an empty one" is "$(cd "$work/origin" && SOURCE='' "$script")" ""
check "where there is no repository there is no source" is "$(unset SOURCE; cd / && "$script")" ""

# What tools make of it that know referrers, and what one that doesn't.
oras=$(test/supply/build)/oras
# found OPTION...: the referrers that oras finds in the layout.
found() { "$oras" discover --oci-layout "$image:$version" --format json "$@" | jq -r '.referrers[] | "\(.artifactType) \(.digest)"'; }
listed() { jq -r --arg type "$1" '.manifests[] | select(.artifactType == $type) | "\(.artifactType) \(.digest)"' "$image/index.json"; }
check "oras finds the provenance" is "$(found)" "$(listed application/vnd.in-toto+json)"
check "and the SBOM of each image" is "$(found --platform linux/amd64; found --platform linux/arm64)" "$(listed application/vnd.cyclonedx+json)"
"$oras" cp -r --from-oci-layout "$image:$version" --to-oci-layout "$work/copied:$version" >/dev/null
check "it copies them with the image" diff -r "$image/blobs" "$work/copied/blobs"
"$oras" cp -r --from-oci-layout "$work/first/image.tar:$version" --to-oci-layout "$work/from-archive:$version" >/dev/null
check "also from the archive" diff -r "$image/blobs" "$work/from-archive/blobs"
skopeo copy -q --all "oci-archive:$work/first/image.tar:$version" "oci:$work/alone:$version"
check "skopeo copies the image without them, and its digest stays" is \
  "$(jq -c '[.manifests[].digest]' "$work/alone/index.json")" "[\"$(digest "$image")\"]"
