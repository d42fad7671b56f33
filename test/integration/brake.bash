# Tests the brake: manifests/brake, and the namespace label by which it is put on at once. Sourced by
# guard_test.sh.
# shellcheck shell=bash disable=SC2154

# brakes WHAT COMMAND...: checks that the brake refuses it.
brakes() { check "under the brake $1" refuses "'cluster-watcher-brake" "${@:2}"; }
braked() { refuses "'cluster-watcher-brake" as lab let-alone delete configmap braked --dry-run=server; }

# Beside the accounts that the guard's tests made: one of another namespace that is a watcher's here
# alone, and one that is nobody's watcher, but may do everything.
others() {
  kubectl -n elsewhere create serviceaccount visitor
  kubectl -n lab create rolebinding visitor --clusterrole=cluster-watcher --serviceaccount=elsewhere:visitor
  kubectl create clusterrolebinding visitor --clusterrole=cluster-watcher-unguarded --serviceaccount=elsewhere:visitor
  kubectl -n lab create serviceaccount pipeline
  kubectl -n lab create rolebinding pipeline --role=wild --serviceaccount=lab:pipeline
} >/dev/null

what_it_stops() {
  kubectl -n lab create configmap braked >/dev/null
  kubectl -n lab label configmap braked oshinko-cluster=bob >/dev/null  # so that the guard lets it go
  kubectl -n lab create deployment marked --image=c >/dev/null
  kubectl -n lab annotate deployment marked cluster-watcher/phase=deleting cluster-watcher/condemned-by=a/b >/dev/null
  others
  kubectl apply -k "$source_dir/manifests/brake" >/dev/null
  check "the brake is on" within braked
  brakes "nobody condemns" kubectl -n lab annotate deployment other cluster-watcher/phase=condemned
  brakes "or begins to delete" kubectl -n lab annotate deployment other cluster-watcher/phase=deleting
  brakes "or writes that it does" kubectl -n lab annotate deployment other cluster-watcher/condemned-by=a/b
  brakes "nor takes over" kubectl -n lab annotate deployment marked cluster-watcher/condemned-by=c/d --overwrite
  brakes "nor makes what is marked" kubectl -n lab create -f - <<'MARKED'
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new", "annotations": {"cluster-watcher/phase": "deleting"}}}
MARKED
  check "marks can be taken off" quietly kubectl -n lab annotate deployment marked \
    cluster-watcher/phase- cluster-watcher/condemned-by-
  check "other annotations can be written" quietly kubectl -n lab annotate deployment marked a=b
  brakes "an exempted account deletes nothing" as lab let-alone delete configmap braked
  brakes "nor evicts" as lab let-alone create --raw /api/v1/namespaces/lab/pods/foreign/eviction -f <(ns=lab eviction)
  brakes "nor takes replicas off" as lab let-alone scale deployment other --replicas=0
  brakes "by no patch either" as lab let-alone patch deployment other -p '{"spec": {"replicas": 0}}'
  check "more of them are let pass" quietly as lab let-alone scale deployment other --replicas=2 --dry-run=server
  brakes "nor all there are" as lab let-alone delete --raw /api/v1/namespaces/lab/configmaps
  check "in a namespace that isn't enabled too" refuses "'cluster-watcher-brake" \
    kubectl -n open --kubeconfig="$tmp/open.kubeconfig" delete configmap member --dry-run=server
  check "somebody else deletes as ever" quietly kubectl -n lab delete configmap braked --dry-run=server
  check "also one who may do everything" quietly as lab wild delete configmap braked --dry-run=server
  check "also another namespace's, who may do everything here" quietly as elsewhere gitops delete configmap braked --dry-run=server
  brakes "a watcher's of another namespace deletes nothing, whatever it may here," as elsewhere watcher delete configmap braked --dry-run=server
  brakes "nor one that is a watcher's here alone, exempted or not," as elsewhere visitor delete configmap braked --dry-run=server
  check "nor one who may do everything in its own namespace, and it is told what to do" refuses \
    "of a namespace (label cluster-watcher/brake)" as lab pipeline delete configmap braked --dry-run=server
  a_left_cluster
  check "a sweep keeps what it would delete, and says why" a_sweep_is_held
  check "all of it" exists lab deployment/left-m configmap/left pvc/left
  check "nor can its account delete anything else" refuses "'cluster-watcher-brake" \
    kubectl -n lab --kubeconfig="$tmp/sweep.kubeconfig" delete configmap braked --dry-run=server
  check "the system's controllers still work" within a_replica_is_made_and_goes
  kubectl delete -k "$source_dir/manifests/brake" >/dev/null
  check "the brake is off" within quietly as lab let-alone delete configmap braked --dry-run=server
  check "and a sweep deletes again" a_sweep_works
  kubectl label namespace lab cluster-watcher/brake= >/dev/null
  check "a label puts it on" within braked
  kubectl label namespace lab cluster-watcher/brake=false --overwrite >/dev/null
  check "and off" within quietly as lab let-alone delete configmap braked --dry-run=server
  the_proof
}
a_sweep_is_held() {
  local said text="the brake of cluster-watcher is on"
  said=$(sweep) && [[ $said == *"lab/claim left kept: "*"$text"*"lab/cluster left kept: held ("*"$text"* ]] ||
    { echo "$said"; false; }
}
# As docs/guard.md proves that the label works, where the guard isn't on.
the_proof() {
  local proof words
  proof=$(sed -n 's/^\(kubectl -n spark annotate .*--dry-run=server\)$/\1/p' "$source_dir/docs/guard.md")
  proof=${proof/spark/open} proof=${proof/ X / member }
  read -ra words <<<"${proof/deployment/configmap}"
  check "without the label of the brake a mark can be tried" quietly "${words[@]}"
  kubectl label namespace open cluster-watcher/brake= >/dev/null
  check "with it that is refused, as docs/guard.md says" within refuses "'cluster-watcher-brake'" "${words[@]}"
  kubectl label namespace open cluster-watcher/brake- >/dev/null
}
a_replica_is_made_and_goes() {
  kubectl -n lab scale deployment marked --replicas=2 && kubectl -n lab rollout restart deployment marked &&
    [[ $(kubectl -n lab get replicasets -l app=marked -o name | wc -l) -gt 1 ]]
} >/dev/null

says_that_it_is_held() {
  local report
  report=$(env -i POD_NAME="$pod" POD_NAMESPACE="$1" "$watcher" check -o json --kubeconfig="$tmp/$1.kubeconfig") &&
    [[ $report == *'"reason": "held"'*"the brake of cluster-watcher is on"* ]]
}

# The watcher waits as long as the brake is on, before its deletion and in the middle of it.
a_cluster_waits_for_its_release() {
  local ns=braked
  account "$ns"
  kubectl label namespace "$ns" cluster-watcher/enabled=true >/dev/null
  a_cluster "$ns" ', oshinko-cluster: bob'
  kubectl -n "$ns" patch service m --type=merge -p '{"metadata": {"finalizers": ["example.com/never"]}}' >/dev/null
  check "braked: there is a master pod" within pod_of "$ns" oshinko-type=master
  watch_over "$ns" "$pod" "$ns" 200ms
  check "braked: the owner is recorded on the master root" within marked "$ns" deployment/m recorded-owner
  kubectl label namespace "$ns" cluster-watcher/brake=true >/dev/null
  kubectl -n "$ns" delete deployment bob --wait=false >/dev/null
  check "braked: the cluster is held" within metric "$ns" 'cluster_watcher_verdict\{.*"held".*\}'
  check "braked: the refusal is a hold" within metric "$ns" 'cluster_watcher_refusals_total\{reason="hold"\}'
  check "braked: the brake's text is told" within in_file "the brake of cluster-watcher is on" "$tmp/$ns.log"
  check "braked: check says so too" says_that_it_is_held "$ns"
  check "braked: nothing is gone" exists "$ns" statefulset/w configmap/conf deployment/m
  kubectl label namespace "$ns" cluster-watcher/brake- >/dev/null
  check "released: the deletion begins" within absent "$ns" statefulset/w
  check "released: a member is stuck" within metric "$ns" 'cluster_watcher_phase\{phase="deleting"\}'
  kubectl label namespace "$ns" cluster-watcher/brake=true >/dev/null
  kubectl -n "$ns" create configmap late >/dev/null
  kubectl -n "$ns" label configmap late oshinko-cluster=bob >/dev/null
  check "braked again: it is held in the middle" within metric "$ns" 'cluster_watcher_refusals_total\{reason="hold"\}' 2
  kubectl -n "$ns" patch service m --type=merge -p '{"metadata": {"finalizers": null}}' >/dev/null
  check "braked again: the verdict is held" within metric "$ns" 'cluster_watcher_verdict\{.*"held".*\}'
  check "braked again: the marks stay" marked "$ns" deployment/m deleting-since
  check "braked again: what came meanwhile stays" exists "$ns" configmap/late deployment/m
  kubectl label namespace "$ns" cluster-watcher/brake- >/dev/null
  check "released again: the whole cluster goes" within gone "$ns" oshinko-cluster=bob
  check "released again: and its master root" within absent "$ns" deployment/m
  check "released again: the watcher is done" within metric "$ns" 'cluster_watcher_phase\{phase="done"\}'
  end_watchers
}

the_brake() {
  what_it_stops
  a_cluster_waits_for_its_release
}
