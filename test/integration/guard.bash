# Tests what cluster-watcher-guard allows the account of a watcher. Sourced by
# injection_manifests_test.sh.
# shellcheck shell=bash disable=SC2154

# account NAMESPACE: makes cluster-watcher, with its Role and another one that allows nearly
# everything.
account() {
  kubectl create namespace "$1"
  kubectl -n "$1" create serviceaccount cluster-watcher
  kubectl -n "$1" create rolebinding cluster-watcher --clusterrole=cluster-watcher \
    --serviceaccount="$1:cluster-watcher"
  kubectl -n "$1" apply -f - <<'WIDE'
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: wide}
rules:
- {apiGroups: ["", apps, batch, autoscaling, policy, events.k8s.io], resources: ["*"], verbs: ["*"]}
WIDE
  kubectl -n "$1" create rolebinding wide --role=wide --serviceaccount="$1:cluster-watcher"
} >/dev/null

# guarded ARGUMENT...: kubectl with the account's token.
guarded() { kubectl -n lab --kubeconfig="$tmp/guarded.kubeconfig" "$@"; }
# patch OBJECT PATCH [FLAG...]
patch() { guarded patch "$1" --type=merge -p "$2" "${@:3}"; }

# guards WHAT COMMAND...: checks that the guard refuses it.
guards() { check "it may not $1" refuses "'cluster-watcher-guard'" "${@:2}"; }
# allows WHAT COMMAND...
allows() { check "it may $1" quietly "${@:2}"; }

# Makes the objects that the account will try to change.
lab() {
  account lab
  kubectl --kubeconfig="$tmp/guarded.kubeconfig" config set-cluster test --server="$APISERVER" \
    --certificate-authority="$APISERVER_CA"
  kubectl --kubeconfig="$tmp/guarded.kubeconfig" config set-credentials test \
    --token="$(kubectl -n lab create token cluster-watcher)"
  kubectl --kubeconfig="$tmp/guarded.kubeconfig" config set-context test --cluster=test --user=test
  kubectl --kubeconfig="$tmp/guarded.kubeconfig" config use-context test
  jq -nc '
    {containers: [{name: "c", image: "c"}]} as $spec
    | def object($kind; $version; $name; $labels; $spec):
        {apiVersion: $version, kind: $kind, metadata: {name: $name, labels: $labels}} + $spec;
    def template($labels): {selector: {matchLabels: $labels}, template: {metadata: {labels: $labels}, spec: $spec}};
    def claim: {spec: {accessModes: ["ReadWriteOnce"], resources: {requests: {storage: "1Mi"}}}};
    {"oshinko-cluster": "bob"} as $bob
    | object("ConfigMap"; "v1"; "foreign"; {app: "a"}; {data: {a: "b"}}),
      object("ConfigMap"; "v1"; "empty"; {"oshinko-cluster": ""}; {}),
      object("ConfigMap"; "v1"; "member"; $bob; {data: {a: "b"}}),
      object("ConfigMap"; "v1"; "mounted"; $bob; {}),
      (object("ConfigMap"; "v1"; "kept"; $bob; {}) | .metadata.annotations = {"cluster-watcher/keep": "true"}),
      object("ServiceAccount"; "v1"; "member"; $bob; {}),
      object("Pod"; "v1"; "foreign"; {app: "a"}; {spec: $spec}),
      object("Pod"; "v1"; "member"; $bob; {spec: $spec}),
      object("PersistentVolumeClaim"; "v1"; "data-foreign-0"; {app: "s"}; claim),
      object("PersistentVolumeClaim"; "v1"; "data"; {app: "s"}; claim),
      object("PersistentVolumeClaim"; "v1"; "data-member-0"; $bob; claim),
      object("Deployment"; "apps/v1"; "foreign"; {app: "d"}; {spec: template({app: "d"})}),
      (object("Deployment"; "apps/v1"; "root"; {app: "r"}; {spec: template($bob + {app: "r"})})
        | .metadata.annotations = {"example.com/a": "b"}),
      object("StatefulSet"; "apps/v1"; "foreign"; {app: "s"}; {spec: template({app: "s"})}),
      object("StatefulSet"; "apps/v1"; "member"; $bob; {spec: template($bob + {app: "s"})}),
      object("HorizontalPodAutoscaler"; "autoscaling/v2"; "foreign"; {}; {spec: {maxReplicas: 3,
        scaleTargetRef: {apiVersion: "apps/v1", kind: "Deployment", name: "foreign"}}})' |
    kubectl -n lab create -f -
} >/dev/null

# Prints those that the account must leave unchanged.
foreign() {
  kubectl -n lab get configmaps,serviceaccounts,pods,persistentvolumeclaims,deployments,statefulsets,hpa -o json |
    jq -S '.items[] | select(.metadata.name | test("foreign|empty|kept|^data$|^member$|root"))
      | del(.status, .metadata.resourceVersion, .metadata.managedFields, .metadata.generation)'
}

owner_that_is_gone='{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap",
  "name": "gone", "uid": "00000000-0000-0000-0000-000000000000"}]}}'
retain='{"spec": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain"}}}'
take_along=${retain/Retain/Delete}

what_it_may_not() {
  local uid
  foreign >"$tmp/foreign"
  guards "delete what has no label" guarded delete configmap foreign
  guards "try to" guarded delete configmap foreign --dry-run=server
  guards "delete what has an empty label" guarded delete configmap empty
  guards "delete all there are" guarded delete --raw /api/v1/namespaces/lab/configmaps
  guards "delete a pod" guarded delete pod foreign --grace-period=0 --force
  guards "delete a claim" guarded delete persistentvolumeclaim data-foreign-0
  guards "delete in another version" guarded delete --raw \
    /apis/autoscaling/v1/namespaces/lab/horizontalpodautoscalers/foreign
  guards "delete what is kept" guarded delete configmap kept
  guards "delete a ServiceAccount that has the label" guarded delete serviceaccount member
  guards "delete its namespace" guarded delete namespace lab --wait=false
  guards "evict" guarded create --raw /api/v1/namespaces/lab/pods/foreign/eviction -f - <<'EVICTION'
{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "foreign", "namespace": "lab"}}
EVICTION
  guards "label first" guarded label configmap foreign oshinko-cluster=bob
  guards "label by another's hand" guarded apply --server-side -f - <<'LABELLED'
apiVersion: v1
kind: ConfigMap
metadata: {name: foreign, namespace: lab, labels: {oshinko-cluster: bob}}
LABELLED
  guards "change the label" guarded label configmap member oshinko-cluster=alice --overwrite
  guards "fill the empty one" guarded label configmap empty oshinko-cluster=bob --overwrite
  guards "label what has no cluster's label" guarded label configmap foreign team=x
  guards "make a master root a member" guarded label deployment root oshinko-cluster=bob
  guards "change another label" guarded label deployment root app=b --overwrite
  guards "take off another label" guarded label deployment root app-
  guards "change an annotation" guarded annotate deployment root example.com/a=c --overwrite
  guards "take off an annotation" guarded annotate deployment root example.com/a-
  guards "create what has the label" guarded create -f - <<'NEW'
apiVersion: v1
kind: ConfigMap
metadata: {name: new, labels: {oshinko-cluster: bob}}
NEW
  guards "create what takes others over" guarded create -f - <<'NEW'
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: new}
spec:
  replicas: 0
  selector: {matchLabels: {app: a}}
  template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: c}]}}
NEW
  guards "take off what keeps" patch configmap/kept '{"metadata": {"annotations": {"cluster-watcher/keep": null}}}'
  guards "take off a hold" guarded annotate statefulset member cluster-watcher/hold-until=2020-01-01T00:00:00Z
  guards "mark what is no member" guarded annotate deployment foreign cluster-watcher/phase=deleting
  uid=$(kubectl -n lab get pod foreign -o 'jsonpath={.metadata.uid}')
  guards "make it look like a master root" guarded annotate pod foreign \
    cluster-watcher/phase=deleting "cluster-watcher/root-uid=$uid"
  guards "mark a claim for collection" guarded annotate pvc data-foreign-0 cluster-watcher/collect-after=2020-01-01T00:00:00Z
  guards "delete a master root that isn't marked" guarded delete deployment root
  guards "scale to 0" guarded scale deployment foreign --replicas=0
  guards "scale a member to 0" guarded scale statefulset member --replicas=0
  guards "set replicas to 0" patch deployment/foreign '{"spec": {"replicas": 0}}'
  guards "set those of a master root to 0" patch deployment/root '{"spec": {"replicas": 0}}'
  guards "set those of a StatefulSet to 0" patch statefulset/member '{"spec": {"replicas": 0}}'
  guards "change a template" guarded set image deployment/root c=evil
  guards "scale through an autoscaler" patch hpa/foreign '{"spec": {"maxReplicas": 1}}'
  guards "change data" patch configmap/member '{"data": {"a": "c"}}'
  guards "replace" guarded replace -f <(kubectl -n lab get configmap foreign -o json | jq '.data.a = "c"')
  guards "add a finalizer" patch configmap/member '{"metadata": {"finalizers": ["example.com/a"]}}'
  guards "give away to a gone owner" patch configmap/foreign "$owner_that_is_gone"
  guards "give a claim away" patch persistentvolumeclaim/data-foreign-0 "$owner_that_is_gone"
  guards "give away what is kept" patch configmap/kept "$owner_that_is_gone"
  guards "give a master root away" patch deployment/root "$owner_that_is_gone"
  guards "give a ServiceAccount away" patch serviceaccount/member "$owner_that_is_gone"
  guards "let claims go with a StatefulSet" patch statefulset/member "$take_along"
  guards "change a foreign StatefulSet's policy" patch statefulset/foreign "$take_along"
  guards "write a status" patch pod/foreign '{"status": {"phase": "Failed"}}' --subresource=status
  guards "write a member's status" patch pod/member '{"status": {"phase": "Failed"}}' --subresource=status
  guards "debug" patch pod/foreign '{"spec": {"ephemeralContainers": [{"name": "e", "image": "e"}]}}' \
    --subresource=ephemeralcontainers
  guards "run commands" guarded exec foreign -- true
  guards "bind a pod" guarded create --raw /api/v1/namespaces/lab/pods/foreign/binding -f - <<'BINDING'
{"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "foreign"}, "target": {"kind": "Node", "name": "n"}}
BINDING
  guards "take another's token" guarded create token default
  check "all that it tried has changed nothing" same "$tmp/foreign" <(foreign)
}

# marks_between FIRST LAST: the annotations in watcher/protocol/annotations.h from one to the other.
marks_between() {
  sed -nE "/char $1\[\]/,/char $2\[\]/s/.*\"(.*)\".*/\1/p" "$source_dir/watcher/protocol/annotations.h"
}

what_it_may() {
  local uid mark
  local -a marks
  mapfile -t marks < <(marks_between kRootUid kOwnerGiven; marks_between kCollectAfter kCollectOf)
  check "the marks of a deletion are known" test "${#marks[@]}" == 18
  allows "write each mark of a deletion" guarded annotate statefulset member "${marks[@]/%/=a}"
  allows "take each off" guarded annotate statefulset member "${marks[@]/%/-}"
  for mark in $(marks_between kOwner kDeleteOrder) cluster-watcher/inject; do
    guards "write $mark" guarded annotate statefulset member "$mark=a"
  done
  allows "read" guarded get configmap foreign
  allows "ask what it may" guarded auth can-i delete pods
  allows "write Events" guarded create -f - <<'EVENT'
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: a}
eventTime: 2026-01-01T00:00:00.000000Z
reportingController: cluster-watcher
reportingInstance: a
action: A
reason: A
type: Normal
regarding: {kind: ConfigMap, namespace: lab, name: foreign}
EVENT
  guards "change Events" guarded annotate event a a=b
  guards "delete Events" guarded delete event a
  allows "mark a member" guarded annotate statefulset member cluster-watcher/phase=condemned
  allows "see to it that claims are retained" patch statefulset/member "$retain"
  allows "mark a labelled claim for collection" guarded annotate pvc data-member-0 cluster-watcher/collect-after=2199-01-01T00:00:00Z
  uid=$(kubectl -n lab get deployment root -o 'jsonpath={.metadata.uid}')
  allows "give what is mounted to the master root" patch configmap/mounted '{"metadata": {"ownerReferences":
    [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "root", "uid": "'"$uid"'",
      "controller": false, "blockOwnerDeletion": false}]}}'
  allows "try to delete a master root" guarded delete deployment root --dry-run=server
  allows "mark a master root" guarded annotate deployment root cluster-watcher/phase=deleting "cluster-watcher/root-uid=$uid"
  allows "delete one that is marked" guarded delete deployment root
  check "and what was mounted goes with it" within 30 absent lab configmap/mounted
  allows "delete members" guarded delete configmap/member pod/member statefulset/member --wait=false

  kubectl -n lab create rolebinding volumes --clusterrole=cluster-watcher-volumes \
    --serviceaccount=lab:cluster-watcher >/dev/null
  uid=$(kubectl -n lab get statefulset foreign -o 'jsonpath={.metadata.uid}')
  check "it may hand over claims where cluster-watcher-volumes is bound" within 30 \
    quietly patch persistentvolumeclaim/data-foreign-0 '{"metadata": {"ownerReferences": [{"apiVersion":
      "apps/v1", "kind": "StatefulSet", "name": "foreign", "uid": "'"$uid"'"}]}}'
  guards "hand over one that isn't a StatefulSet's" patch persistentvolumeclaim/data "$owner_that_is_gone"
  guards "delete a claim without the label then either" guarded delete persistentvolumeclaim data-foreign-0

}

# wild NAMESPACE NAME: makes an account that may do everything in lab and is a watcher's.
wild() {
  kubectl -n "$1" create serviceaccount "$2"
  kubectl -n lab create rolebinding "$1-$2" --clusterrole=cluster-watcher --serviceaccount="$1:$2"
  kubectl -n lab create rolebinding "$1-$2-wild" --role=wild --serviceaccount="$1:$2"
} >/dev/null
# as NAMESPACE NAME ARGUMENT...: runs kubectl in lab as that account.
as() { kubectl -n lab --as="system:serviceaccount:$1:$2" "${@:3}"; }
# may_skip NAMESPACE NAME FLAG...
may_skip() { quietly as "$1" "$2" auth can-i skip guard.cluster-watcher "${@:3}"; }

whom_it_guards() {
  kubectl -n lab create role wild --verb='*' --resource='*.*' >/dev/null
  kubectl create namespace elsewhere >/dev/null
  wild lab wild
  check "an account may do everything in its namespace" within 30 may_skip lab wild
  guards "delete what has no label all the same" as lab wild delete configmap foreign
  guards "delete its namespace either" as lab wild delete namespace lab --wait=false
  check "the refusal says what to do" refuses "give this one the ClusterRole cluster-watcher-unguarded" \
    as lab wild create configmap new
  wild elsewhere gitops
  check "an account of another namespace may do everything there" within 30 may_skip elsewhere gitops
  check "and is not guarded" within 30 quietly as elsewhere gitops label configmap foreign by=elsewhere
  kubectl create clusterrolebinding wild --clusterrole=cluster-admin --serviceaccount=lab:wild >/dev/null
  check "an account may do everything everywhere" within 30 may_skip lab wild --all-namespaces
  check "and is not guarded" within 30 quietly as lab wild label configmap foreign by=lab --overwrite
  wild lab let-alone
  kubectl create clusterrolebinding let-alone --clusterrole=cluster-watcher-unguarded \
    --serviceaccount=lab:let-alone >/dev/null
  check "nor is one that cluster-watcher-unguarded is bound to" within 30 \
    quietly as lab let-alone label configmap foreign by=let-alone --overwrite
  check "nor is one without the role" quietly kubectl label namespace lab a=b
  check "what has no label can be deleted by these" quietly as lab wild delete configmap foreign
}

# Somebody else's policy that adds a label and an annotation to whatever a watcher changes.
somebody_elses_policy() {
  kubectl create -f - <<'MUTATING'
apiVersion: v1
kind: List
items:
- apiVersion: admissionregistration.k8s.io/v1
  kind: MutatingAdmissionPolicy
  metadata: {name: team}
  spec:
    failurePolicy: Fail
    reinvocationPolicy: Never
    matchConstraints:
      resourceRules:
      - {apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [UPDATE]}
    matchConditions:
    - name: by-a-watcher
      expression: request.userInfo.username.endsWith(":cluster-watcher")
    mutations:
    - patchType: ApplyConfiguration
      applyConfiguration:
        expression: |-
          Object{metadata: Object.metadata{labels: {"team": "x"}, annotations: {"example.com/seen": "yes"}}}
- apiVersion: admissionregistration.k8s.io/v1
  kind: MutatingAdmissionPolicyBinding
  metadata: {name: team}
  spec: {policyName: team}
MUTATING
} >/dev/null
has_a_team() {
  [[ $(guarded annotate deployment root cluster-watcher/phase=deleting --dry-run=server \
    -o 'jsonpath={.metadata.labels.team} {.metadata.annotations.example\.com/seen}') == "x yes" ]]
}

# a_cluster NAMESPACE LABELS: makes a driver, a master under a Deployment with these labels, and two
# StatefulSets; the claims of one don't have the cluster's label.
a_cluster() {
  kubectl -n "$1" create -f - >/dev/null <<CLUSTER
apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: bob}
  spec: &driver
    selector: {matchLabels: {app: bob}}
    template: {metadata: {labels: {app: bob}}, spec: {containers: [{name: c, image: c}]}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: m, labels: {ephemeral: bob$2}}
  spec:
    selector: {matchLabels: {app: m}}
    template:
      metadata: {labels: {app: m, oshinko-cluster: bob, oshinko-type: master}}
      spec:
        containers: [{name: c, image: c, volumeMounts: [{name: conf, mountPath: /conf}]}]
        volumes: [{name: conf, configMap: {name: conf}}]
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: conf, labels: {oshinko-cluster: bob}}
- apiVersion: v1
  kind: Service
  metadata: {name: m, labels: {oshinko-cluster: bob}}
  spec: {selector: {app: m}, ports: [{port: 7077}]}
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: w, labels: {oshinko-cluster: bob}}
  spec:
    replicas: 1
    persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}
    selector: {matchLabels: {oshinko-cluster: bob, oshinko-type: worker}}
    template:
      metadata: {labels: {oshinko-cluster: bob, oshinko-type: worker}}
      spec: {containers: [{name: c, image: c}]}
    volumeClaimTemplates: &claims
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: x, labels: {oshinko-cluster: bob}}
  spec:
    replicas: 1
    selector: {matchLabels: {app: x}}
    template:
      metadata: {labels: {app: x, oshinko-cluster: bob}}
      spec: {containers: [{name: c, image: c}]}
    volumeClaimTemplates: *claims
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: bystander}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: bystander}
  spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
CLUSTER
}

collected() {
  [[ $(kubectl -n "$1" get pvc -o json | jq -r '[.items[] | select(.metadata.annotations["cluster-watcher/collect-after"])
    .metadata.name] | sort | join(" ")') == "data-w-0 data-x-0" ]]
}

of_team() { [[ $(kubectl -n "$1" get deployment m -o 'jsonpath={.metadata.labels.team}') == x ]]; }

# a_whole_cluster_goes VOLUMES LABELS: runs the real watcher under the guard. VOLUMES says what
# happens to volumes; the master has these labels.
a_whole_cluster_goes() {
  local ns=guard-$1
  account "$ns"
  [[ $1 == preserve ]] || kubectl -n "$ns" create rolebinding volumes \
    --clusterrole=cluster-watcher-volumes --serviceaccount="$ns:cluster-watcher" >/dev/null
  a_cluster "$ns" "$2"
  check "$1: there is a master pod" within 30 pod_of "$ns" oshinko-type=master
  check "$1: there are claims" within 30 exists "$ns" pvc/data-w-0 pvc/data-x-0
  watch_over "$ns" "$pod" "$ns" 200ms --volumes="$1"
  check "$1: the owner is recorded on the master root" within 30 marked "$ns" deployment/m recorded-owner
  check "$1: with what somebody else's policy adds" of_team "$ns"
  kubectl -n "$ns" delete deployment bob --wait=false >/dev/null
  check "$1: the whole cluster goes under the guard" within 60 gone "$ns" oshinko-cluster=bob
  check "$1: and its master root" within 30 absent "$ns" deployment/m
  check "$1: the watcher is done" within 30 metric "$ns" 'cluster_watcher_phase\{phase="done"\}'
  check "$1: the guard refused nothing" not in_file cluster-watcher-guard "$tmp/$ns.log"
  check "$1: bystanders stay" exists "$ns" configmap/bystander pvc/bystander
  case $1 in
    delete)
      check "delete: claims go" within 30 absent "$ns" pvc/data-w-0
      check "delete: claims without the label too" within 30 absent "$ns" pvc/data-x-0
      ;;
    collect) check "collect: claims are marked" within 30 collected "$ns" ;;
    preserve) check "preserve: claims stay" exists "$ns" pvc/data-w-0 pvc/data-x-0 ;;
  esac
  end_watchers
}

the_guard() {
  lab
  check "the guard watches over the account" within 30 refuses "'cluster-watcher-guard'" \
    guarded label configmap foreign a=b
  what_it_may_not
  somebody_elses_policy
  check "somebody else's policy may add labels and annotations to a mark" within 30 has_a_team
  what_it_may
  a_whole_cluster_goes preserve ', oshinko-cluster: bob'
  a_whole_cluster_goes delete ''
  a_whole_cluster_goes collect ', oshinko-cluster: bob'
  kubectl delete mutatingadmissionpolicybinding,mutatingadmissionpolicy team >/dev/null
  whom_it_guards
}
