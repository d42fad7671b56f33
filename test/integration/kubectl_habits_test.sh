#!/usr/bin/env bash
# Says the same to kubectl about Deployments, and to the program about clusters, on a real control plane:
# docs/kubectl.md has what must come out the same, and what doesn't.
#
#   test/integration/kubectl_habits_test.sh BUILD_DIR
set -uo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
WATCH_PID=$$ "$source_dir/test/kubernetes/start" "$tmp/kubernetes"
# shellcheck source=/dev/null
. "$tmp/kubernetes/env"
mkdir "$tmp/bin"
ln -s "$watcher" "$tmp/bin/kubectl-cluster_watcher"
PATH=$tmp/bin:$PATH

# they WORD..., we WORD...: what each says, but for where we do it, and its exit code.
they() {
  code=0
  kubectl "$@" --namespace="$ns" >"$tmp/said" 2>"$tmp/errors" || code=$?
  said=$(grep -hv '^$\|: namespace ' "$tmp/said" "$tmp/errors")
}
we() { they cluster-watcher "$@"; }
says() { grep -qE -- "$1" <<<"$said" || { echo "# not $1: $said"; return 1; }; }
# alike WHAT THEIRS OURS THEIR_WORDS... -- OUR_WORDS...: both end well, or neither does, and what each says has
# its pattern.
alike() {
  local what=$1 theirs=$2 ours=$3 words=() their_code
  shift 3
  while [[ $1 != -- ]]; do words+=("$1"); shift; done
  shift
  they "${words[@]}"
  their_code=$code
  check "$what: kubectl" says "$theirs"
  we "$@"
  check "$what: we" says "$ours"
  check "$what: the exit codes" is "$((code > 0))" "$((their_code > 0))"
}
# begin NAMESPACE: with Deployments a and b, and clusters a and b.
begin() {
  ns=$1
  kubectl create namespace "$ns" >/dev/null
  local name
  for name in a b; do
    kubectl -n "$ns" create deployment "$name" --image=c >/dev/null
    kubectl -n "$ns" label deployment "$name" "squad=$name" >/dev/null
    cluster "$name" | kubectl -n "$ns" create -f - >/dev/null
  done
}
# cluster NAME: its master.
cluster() {
  sed "s/NAME/$1/g" <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME-m, labels: {oshinko-cluster: NAME, oshinko-type: master, team: NAME}}
spec:
  selector: {matchLabels: {of: NAME}}
  template:
    metadata: {labels: {of: NAME, oshinko-cluster: NAME, oshinko-type: master}}
    spec: {containers: [{name: c, image: c}]}
YAML
}
# held NAME..., freed NAME...: puts a finalizer on Deployments, takes it off.
held() { kubectl -n "$ns" patch deployment "$@" --type=merge -p '{"metadata":{"finalizers":["example.com/held"]}}' >/dev/null; }
freed() { kubectl -n "$ns" patch deployment "$@" --type=merge -p '{"metadata":{"finalizers":null}}' >/dev/null; }
gone() { [[ -z $(kubectl -n "$ns" get deployment -o name "$@") ]]; }

begin one
alike "one that isn't there" 'not found' 'no cluster none' delete deployment none -- delete none
alike "it is ignored" '^$' '^$' delete deployment none --ignore-not-found -- delete none --ignore-not-found
alike "a selector that nothing fits" '^No resources found$' '^no clusters found in namespace one$' \
  delete deployment -l team=none -- delete -l team=none
alike "one that is none" 'unable to parse|invalid' 'unable to parse' delete deployment -l '&&' -- delete -l '&&'
alike "names and a selector" 'selector' 'contradicts' delete deployment a -l team=a -- delete a -l team=a
alike "nothing is named" 'no name' 'no cluster is given' delete deployment -- delete
alike "a dry run" 'deployment.apps "a" deleted.* \(server dry run\)' '^cluster a deleted \(server dry run\): deployment.apps/a-m' \
  delete deployment a --dry-run=server -- delete a --dry-run=server
alike "by a selector" 'deployment.apps "a" deleted' '^cluster a deleted$' delete deployment -l squad=a -- delete -l team=a
check "in one line, and one that says where" is "$(cat "$tmp/said" "$tmp/errors" | wc -l)" 2
check "nothing of it is left" gone a a-m --ignore-not-found
check "the others are" not gone b b-m
alike "several, of which one isn't there" 'deployment.apps "b" deleted' '^cluster b deleted' \
  delete deployment none b -- delete none b
alike "all of none" '^No resources found$' '^no clusters found' delete deployment --all -- delete --all

begin two
held a b a-m b-m
alike "its time is over" 'timed out' 'timed out after 2s: cluster a is being deleted' \
  delete deployment a --timeout=2s -- delete a --timeout=2s
TERM=xterm script -qec 'stty cols 20; kubectl cluster-watcher delete a -n two --timeout=5s' /dev/null >"$tmp/said"
check "a terminal shows what is waited for, as far as it is wide" \
  grep -qE $'\r\e\\[Kwaiting for deploym\r\e\\[K' "$tmp/said"
alike "nobody waits" 'deployment.apps "b" deleted' '^cluster b is being deleted$' \
  delete deployment b --wait=false -- delete b --wait=false
freed a b a-m b-m
check "all goes on" within gone

begin three
alike "as nobody" 'forbidden' 'forbidden|needs rules' delete deployment a --as=nobody -- delete a --as=nobody
alike "as one of a group" '"a" deleted' '^cluster a deleted \(server' \
  delete deployment a --dry-run=server --as=x --as-group=y --as-group=system:masters -- \
  delete a --dry-run=server --as=x --as-group=y --as-group=system:masters
alike "a group of nobody's" 'without impersonating' '--as-group without --as' \
  delete deployment a --as-group=y -- delete a --as-group=y
alike "a wrong token" 'nauthorized|logged in' '401' delete deployment a --token=wrong -- delete a --token=wrong
alike "a server that isn't there" 'refused' 'Couldn.t connect|refused' \
  delete deployment a -s https://127.0.0.1:1 -- delete a -s https://127.0.0.1:1
alike "the server that is there" '"a" deleted' '^cluster a deleted' \
  delete deployment a --dry-run=server --server="$APISERVER/" -- delete a --dry-run=server --server="$APISERVER/"
alike "no time" 'imeout|deadline' 'imed out|imeout' delete deployment a --request-timeout=1ms -- delete a --request-timeout=1ms
alike "time in a form of its own" 'timeout' '--request-timeout' \
  delete deployment a --request-timeout=5x -- delete a --request-timeout=5x
for time in 0 5 10s 1m; do
  alike "$time" '"a" deleted' '^cluster a deleted' delete deployment a --dry-run=server --request-timeout=$time -- \
    delete a --dry-run=server --request-timeout=$time
done
we get a --no-headers
check "get is list" is "${said%% *}" a
we ls
check "so is ls" says '^CLUSTER'
we describe a
check "describe names check" says 'unknown command "describe"; did you mean check\?'
check "as a plugin it says how it is called" says '^kubectl cluster-watcher: .*See "kubectl cluster-watcher help"'
we help delete
check "in its help, too" says '^  kubectl cluster-watcher delete CLUSTER'

finished=true
echo "$passed passed, $failed failed"
((failed == 0))
