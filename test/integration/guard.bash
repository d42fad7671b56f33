# Tests what cluster-watcher-guard allows the account of a watcher. Sourced by guard_test.sh.
# shellcheck shell=bash disable=SC2154

# Two namespaces that are alike but for the guard: in `open` its label says something else than
# "true", so that each attack succeeds, and shows by that that it is one.
guarded_namespaces() {
  account lab
  account open
  kubectl label namespace lab cluster-watcher/enabled=true
  kubectl label namespace open cluster-watcher/enabled=yes
} >/dev/null

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

# bound_to NAMESPACE POD [ACCOUNT]: a token of the account, bound to the pod.
bound_to() {
  kubectl -n "$1" create token "${3-cluster-watcher}" --bound-object-kind=Pod --bound-object-name="$2"
}

# Where guarded acts, and as whom: the account of the pod of the master root, unless told otherwise.
ns=lab who=''
# guarded ARGUMENT...: kubectl with the account's token; in `open` everything is only tried.
guarded() {
  local tried=()
  [[ $ns != open || $1 == auth || $1 == get ]] || tried=(--dry-run=server)
  kubectl -n "$ns" --kubeconfig="$tmp/${who:-$ns}.kubeconfig" "$@" "${tried[@]}"
}
# raw VERB PATH [ARGUMENT...]: the same, for the path below the namespace. VERB: create or delete.
raw() {
  local tried=''
  [[ $ns != open ]] || tried='?dryRun=All'
  kubectl --kubeconfig="$tmp/${who:-$ns}.kubeconfig" "$1" --raw "${2/NS/$ns}$tried" "${@:3}"
}
# patch OBJECT PATCH [FLAG...]
patch() { guarded patch "$1" --type=merge -p "$2" "${@:3}"; }
# sends MAKER ARGUMENT...: the same with the manifest that MAKER prints.
sends() { guarded "${@:2}" -f <("$1"); }
# raw_sends PATH MAKER
raw_sends() { raw create "$1" -f <("$2"); }
# uid OBJECT...
uid() { kubectl -n "$ns" get "$@" -o 'jsonpath={.metadata.uid}'; }

# guards WHAT COMMAND...: checks that the guard refuses it, and that it can be done without.
guards() {
  check "it may not $1" refuses "'cluster-watcher-guard'" "${@:2}"
  local ns=open
  check "without the guard it could $1" quietly "${@:2}"
}
# allows WHAT COMMAND...
allows() { check "it may $1" quietly "${@:2}"; }

declare -A root_pods=()
# Makes the objects that the account will try to change.
lab() {
  jq -nc '
    {serviceAccountName: "cluster-watcher", containers: [{name: "c", image: "c"}]} as $spec
    | def object($kind; $version; $name; $labels; $spec):
        {apiVersion: $version, kind: $kind, metadata: {name: $name, labels: $labels}} + $spec;
    def template($labels): {selector: {matchLabels: $labels}, template: {metadata: {labels: $labels}, spec: $spec}};
    def claim: {spec: {accessModes: ["ReadWriteOnce"], resources: {requests: {storage: "1Mi"}}}};
    def root($name; $cluster): object("Deployment"; "apps/v1"; $name; {app: $name};
      {spec: template({"oshinko-cluster": $cluster, "oshinko-type": "master", app: $name})});
    {"oshinko-cluster": "bob"} as $bob
    | object("ConfigMap"; "v1"; "foreign"; {app: "a"}; {data: {a: "b"}}),
      object("ConfigMap"; "v1"; "empty"; {"oshinko-cluster": ""}; {}),
      object("ConfigMap"; "v1"; "member"; $bob; {data: {a: "b"}}),
      object("ConfigMap"; "v1"; "mounted"; $bob; {}),
      (object("ConfigMap"; "v1"; "kept"; $bob; {}) | .metadata.annotations = {"cluster-watcher/keep": "true"}),
      object("ServiceAccount"; "v1"; "member"; $bob; {}),
      object("Pod"; "v1"; "foreign"; {app: "a"}; {spec: $spec}),
      object("Pod"; "v1"; "root-evil"; {app: "a"}; {spec: $spec}),
      object("Pod"; "v1"; "member"; $bob; {spec: $spec}),
      object("PersistentVolumeClaim"; "v1"; "data-foreign-0"; {app: "s"}; claim),
      object("PersistentVolumeClaim"; "v1"; "data"; {app: "s"}; claim),
      object("PersistentVolumeClaim"; "v1"; "data-member-0"; $bob; claim),
      object("Deployment"; "apps/v1"; "foreign"; {app: "d"}; {spec: template({app: "d"})}),
      (root("root"; "bob") | .metadata.annotations = {"example.com/a": "b"}),
      root("roo"; "carol"),
      (root("other"; "alice") | .metadata.labels["oshinko-cluster"] = "alice"),
      object("StatefulSet"; "apps/v1"; "foreign"; {app: "s"};
        {spec: (template({app: "s"}) + {persistentVolumeClaimRetentionPolicy: {whenDeleted: "Delete"}})}),
      object("StatefulSet"; "apps/v1"; "member"; $bob; {spec: template($bob + {app: "s"})}),
      object("Deployment"; "apps/v1"; "worker"; $bob; {spec: template($bob + {app: "worker", "oshinko-type": "worker"})}),
      object("ServiceAccount"; "v1"; "sweep"; {}; {}),
      object("Pod"; "v1"; "sweeper"; {app: "a"}; {spec: ($spec + {serviceAccountName: "sweep"})}),
      (object("Deployment"; "apps/v1"; "by-annotation"; $bob; {spec: (template({app: "i"}) + {replicas: 0})})
        | .spec.template.metadata.annotations = {"cluster-watcher/inject": "true"}),
      (object("Deployment"; "apps/v1"; "by-image"; $bob; {spec: (template({app: "image"}) + {replicas: 0})})
        | .spec.template.spec.containers[0].image = "example.com/cluster-watcher:1"),
      (object("Deployment"; "apps/v1"; "by-registry"; $bob; {spec: (template({app: "registry"}) + {replicas: 0})})
        | .spec.template.spec.containers[0].image = "cluster-watcher:5000/team/worker:1"),
      (object("Deployment"; "apps/v1"; "by-hand"; $bob; {spec: (template({app: "h"}) + {replicas: 0})})
        | .spec.template.spec.containers[0].name = "cluster-watcher"),
      object("Deployment"; "apps/v1"; "by-label"; $bob + {"oshinko-type": "master"}; {spec: (template({app: "l"}) + {replicas: 0})}),
      object("Pod"; "v1"; "by-label"; $bob + {"oshinko-type": "master"}; {spec: $spec}),
      object("HorizontalPodAutoscaler"; "autoscaling/v2"; "foreign"; {}; {spec: {maxReplicas: 3,
        scaleTargetRef: {apiVersion: "apps/v1", kind: "Deployment", name: "foreign"}}})' |
    kubectl -n "$ns" create -f - >/dev/null
  within pod_of "$ns" app=root || return 1
  identity "$ns" "$(bound_to "$ns" "$pod")"
  root_pods[$ns]=$pod
  identity "$ns-unbound" "$(kubectl -n "$ns" create token cluster-watcher)"
  identity "$ns-evil" "$(bound_to "$ns" root-evil)"
  local name
  for name in worker other; do
    within pod_of "$ns" "app=$name" || return 1
    identity "$ns-$name" "$(bound_to "$ns" "$pod")"
    root_pods[$ns-$name]=$pod
  done
  a_sweep_of "$ns"
}
# a_sweep_of NAMESPACE: the account of a sweep with the shipped rules, and a token that is bound to its pod.
a_sweep_of() {
  kubectl -n "$1" create -f "$source_dir/manifests/chart/objects/sweep/role.yaml"
  kubectl -n "$1" create rolebinding sweep --role=cluster-watcher-sweep --serviceaccount="$1:sweep"
  identity "$1-sweep" "$(bound_to "$1" sweeper sweep)"
} >/dev/null

# Prints those that the account must leave unchanged.
foreign() {
  kubectl -n lab get configmaps,serviceaccounts,pods,persistentvolumeclaims,deployments,statefulsets,hpa -o json |
    jq -S '.items[] | select(.metadata.name | test("foreign|empty|kept|^data$|^member$|^root$|^other$|^roo$|^worker$"))
      | del(.status, .metadata.resourceVersion, .metadata.managedFields, .metadata.generation,
          .metadata.annotations["deployment.kubernetes.io/revision"])'
}

owner_that_is_gone='{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap",
  "name": "gone", "uid": "00000000-0000-0000-0000-000000000000"}]}}'
retain='{"spec": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain"}}}'
take_along=${retain/Retain/Delete}
# The next server-side apply of `ci` takes off what it is said to have applied, and doesn't.
applied_by_ci='{"metadata": {"managedFields": [{"manager": "ci", "operation": "Apply", "apiVersion": "apps/v1",
  "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]}}'

# instance OWN|NAME: the account's own pod, or another name.
instance() { [[ $1 == OWN ]] && echo "${root_pods[$ns]}" || echo "$1"; }
# event_of REPORTER INSTANCE
event_of() {
  jq -nc --arg reporter "$1" --arg instance "$(instance "$2")" --arg ns "$ns" '
    {apiVersion: "events.k8s.io/v1", kind: "Event", metadata: {generateName: "a-"},
     eventTime: "2026-01-01T00:00:00.000000Z", reportingController: $reporter,
     reportingInstance: $instance, action: "A", reason: "A", type: "Normal",
     regarding: {kind: "ConfigMap", namespace: $ns, name: "foreign"}}'
}
# core_event_of COMPONENT INSTANCE SOURCE: one of the old API.
core_event_of() {
  jq -nc --arg component "$1" --arg instance "$(instance "$2")" --arg source "$3" --arg ns "$ns" '
    {apiVersion: "v1", kind: "Event", metadata: {generateName: "a-"}, reportingComponent: $component,
     reportingInstance: $instance, source: {component: $source}, reason: "A", type: "Normal", message: "a",
     involvedObject: {kind: "ConfigMap", namespace: $ns, name: "foreign"}}'
}
reports() { guarded create -f <("$@"); }

what_it_may_not() {
  local instance
  foreign >"$tmp/foreign"
  guards "delete what has no label" guarded delete configmap foreign
  guards "delete what has an empty label" guarded delete configmap empty
  guards "delete all there are" raw delete /api/v1/namespaces/NS/configmaps
  guards "delete a pod" guarded delete pod foreign --grace-period=0 --force
  guards "delete a claim" guarded delete persistentvolumeclaim data-foreign-0
  guards "delete in another version" raw delete \
    /apis/autoscaling/v1/namespaces/NS/horizontalpodautoscalers/foreign
  guards "delete what is kept" guarded delete configmap kept
  guards "delete a ServiceAccount that has the label" guarded delete serviceaccount member
  guards "evict" raw_sends /api/v1/namespaces/NS/pods/foreign/eviction eviction
  guards "label first" guarded label configmap foreign oshinko-cluster=bob
  guards "label by another's hand" sends labelled apply --server-side
  guards "change the label" guarded label configmap member oshinko-cluster=alice --overwrite
  guards "fill the empty one" guarded label configmap empty oshinko-cluster=bob --overwrite
  guards "make a pod an endpoint of somebody's Service" guarded label pod member app=a
  guards "label what has no cluster's label" guarded label configmap foreign team=x
  guards "make a master root a member" guarded label deployment root oshinko-cluster=bob
  guards "change another label" guarded label deployment root app=b --overwrite
  guards "take off another label" guarded label deployment root app-
  guards "change an annotation" guarded annotate deployment root example.com/a=c --overwrite
  guards "add one" guarded annotate deployment root example.com/b=c
  guards "take off an annotation" guarded annotate deployment root example.com/a-
  guards "create what has the label" guarded create configmap new
  guards "create what takes others over" sends taker create
  guards "take off what keeps" patch configmap/kept '{"metadata": {"annotations": {"cluster-watcher/keep": null}}}'
  guards "take off a hold" guarded annotate deployment root cluster-watcher/hold-until=2020-01-01T00:00:00Z
  guards "mark what is no root" guarded annotate deployment foreign cluster-watcher/phase=deleting
  guards "mark a member" guarded annotate statefulset member cluster-watcher/phase=condemned
  guards "mark a pod that isn't its own" guarded annotate pod foreign cluster-watcher/phase=deleting
  guards "mark a claim for collection" guarded annotate pvc data-foreign-0 cluster-watcher/collect-after=2020-01-01T00:00:00Z
  guards "delete its master root unmarked" guarded delete deployment root
  guards "delete another master root" guarded delete deployment other
  guards "delete a master's pod as a member" guarded delete deployment roo
  for instance in deployment/by-annotation deployment/by-{image,hand,label} pod/by-label; do
    guards "delete a master as a member, $instance" guarded delete "$instance"
  done
  check "a member from a registry of the watcher's name is none" quietly guarded delete deployment by-registry --dry-run=server
  guards "scale to 0" guarded scale deployment foreign --replicas=0
  guards "scale a member to 0" guarded scale statefulset member --replicas=0
  guards "set replicas to 0" patch deployment/foreign '{"spec": {"replicas": 0}}'
  guards "set those of a master root to 0" patch deployment/root '{"spec": {"replicas": 0}}'
  guards "set those of a StatefulSet to 0" patch statefulset/member '{"spec": {"replicas": 0}}'
  guards "change a template" guarded set image deployment/root c=evil
  guards "scale through an autoscaler" patch hpa/foreign '{"spec": {"maxReplicas": 1}}'
  guards "change data" patch configmap/member '{"data": {"a": "c"}}'
  guards "have somebody's next apply take fields off" patch deployment/foreign "$applied_by_ci"
  guards "and of a member" patch statefulset/member "$applied_by_ci"
  guards "or annotations of its own root" patch deployment/root "$(
    jq -c '.metadata.managedFields[0].fieldsV1 = {"f:metadata": {"f:annotations": {"f:example.com/a": {}}}}' \
      <<<"$applied_by_ci")"
  guards "take fields of client-side apply over" patch deployment/foreign "$(
    jq -c '.metadata.managedFields[0] += {manager: "kubectl-client-side-apply", operation: "Update"}' \
      <<<"$applied_by_ci")"
  guards "add a finalizer" patch configmap/member '{"metadata": {"finalizers": ["example.com/a"]}}'
  guards "give away to a gone owner" patch configmap/foreign "$owner_that_is_gone"
  guards "give a member away to one" patch configmap/member "$owner_that_is_gone"
  guards "give a claim away" patch persistentvolumeclaim/data-foreign-0 "$owner_that_is_gone"
  guards "give away what is kept" patch configmap/kept "$owner_that_is_gone"
  guards "give a master root away" patch deployment/root "$owner_that_is_gone"
  guards "give a ServiceAccount away" patch serviceaccount/member "$owner_that_is_gone"
  guards "let claims go with a StatefulSet" patch statefulset/member "$take_along"
  guards "write a status" patch pod/foreign '{"status": {"message": "a"}}' --subresource=status
  guards "write a member's status" patch pod/member '{"status": {"message": "a"}}' --subresource=status
  guards "debug" patch pod/foreign '{"spec": {"ephemeralContainers": [{"name": "e", "image": "e"}]}}' \
    --subresource=ephemeralcontainers
  guards "bind a pod" raw_sends /api/v1/namespaces/NS/pods/foreign/binding binding
  guards "take another's token" raw_sends /api/v1/namespaces/NS/serviceaccounts/default/token token_request
  guards "write Events in the kubelet's name" reports event_of kubelet OWN
  guards "write them in another pod's name" reports event_of cluster-watcher root-evil
  guards "write them by the old API in the kubelet's name" reports core_event_of kubelet OWN kubelet
  guards "or as from the kubelet" reports core_event_of cluster-watcher OWN kubelet
  guards "or in another pod's name" reports core_event_of cluster-watcher root-evil ""
  check "run commands" refuses "'cluster-watcher-guard'" guarded exec foreign -- true

  # Marks, on somebody else's root and in somebody else's name.
  for instance in other roo; do
    guards "write a mark on $instance" guarded annotate deployment "$instance" cluster-watcher/reason=a
    guards "condemn $instance" guarded annotate deployment "$instance" cluster-watcher/phase=condemned
    guards "forge its owner" guarded annotate deployment "$instance" cluster-watcher/recorded-owner='{}'
  done
  guards "condemn in another pod's name" guarded annotate deployment root cluster-watcher/phase=condemned \
    cluster-watcher/condemned-by=root-evil/1
  guards "condemn in nobody's" guarded annotate deployment root cluster-watcher/phase=condemned
  for instance in unbound evil other worker; do
    who="$ns-$instance" guards_as "mark a root by a token that is bound to $instance" \
      annotate deployment root cluster-watcher/reason=a
    who="$ns-$instance" guards_as "condemn by it" annotate deployment root cluster-watcher/phase=condemned
  done
  who="$ns-worker" guards_as "mark a worker's own Deployment, which would make it a root" \
    annotate deployment worker cluster-watcher/phase=deleting \
    "cluster-watcher/condemned-by=${root_pods[lab-worker]}/$(uid pod "${root_pods[lab-worker]}")"
  who="$ns-worker" guards_as "label it by a worker" label deployment worker oshinko-type=master --overwrite
  who=''
  guards "write 11,000 annotations" many_annotations
  # Messages see less than the rules do.
  check "it is told which annotation" refuses "or, by a sweep, on any, not example.com/b: what" \
    guarded annotate deployment root example.com/b=c
  check "and which label" refuses "may be changed, as team: what" guarded label configmap foreign team=x
  check "and whose the root is" refuses "not marked as being deleted by pod ${root_pods[lab]}: do that" guarded delete deployment root
  check "and whose name it should be" refuses "in another's name than ${root_pods[lab]}/" \
    guarded annotate deployment root cluster-watcher/phase=condemned
  check "all that it tried has changed nothing" same "$tmp/foreign" <(foreign)
}
# guards_as WHAT ARGUMENT...: as guards, for another identity that both namespaces have.
guards_as() {
  local identity=${who#*-}
  who="lab-$identity"
  check "it may not $1" refuses "'cluster-watcher-guard'" guarded "${@:2}"
  local ns=open
  who="open-$identity"
  check "without the guard it could $1" quietly guarded "${@:2}"
}
many_annotations() {
  jq -nc '{metadata: {annotations: ([range(11000) | {("a/\(.)"): ""}] | add)}}' >"$tmp/many"
  guarded patch configmap foreign --type=merge --patch-file="$tmp/many"
}
# What the account of a sweep may not do either, and what it may.
what_a_sweep_may_not() {
  local by
  kubectl -n lab annotate deployment roo cluster-watcher/phase=deleting cluster-watcher/condemned-by=roo-a/b \
    "cluster-watcher/root-uid=$(uid deployment roo)" >/dev/null
  who="$ns-sweep"
  guards_as "change an image by a sweep's account" set image deployment/foreign c=evil
  guards_as "change one of a cluster" set image deployment/root c=evil
  guards_as "scale to 0 by it" patch statefulset/member -p '{"spec": {"replicas": 0}}'
  guards_as "delete by it what has no label" delete configmap foreign
  guards_as "delete a claim that nobody has marked" delete persistentvolumeclaim data
  guards_as "mark one" annotate pvc data cluster-watcher/collect-after=2020-01-01T00:00:00Z
  guards_as "delete a master root that nobody has marked" delete deployment other
  guards_as "delete one that a watcher has marked" delete deployment roo
  guards_as "mark what is no master" annotate deployment foreign cluster-watcher/phase=deleting cluster-watcher/condemned-by=cli/a
  guards_as "mark in a watcher's name" annotate deployment other cluster-watcher/phase=condemned cluster-watcher/condemned-by=other-a/b
  guards_as "take off a hold" annotate deployment other cluster-watcher/hold-until=2020-01-01T00:00:00Z
  guards_as "give a claim away" patch persistentvolumeclaim/data --type=merge -p "$owner_that_is_gone"
  who=lab-sweep
  by=cluster-watcher/condemned-by=cli/abc
  allows "mark any master root by it" guarded annotate deployment other cluster-watcher/phase=deleting "$by" \
    "cluster-watcher/root-uid=$(uid deployment other)" --dry-run=server
  allows "take a root over that a watcher has marked" guarded annotate deployment roo "$by" --overwrite
  allows "delete it then" guarded delete deployment roo --dry-run=server
  jq -nc 'def pod($name; $labels): {apiVersion: "v1", kind: "Pod", metadata: {name: $name, labels: $labels},
      spec: {containers: [{name: "c", image: "c"}]}};
    pod("ended"; {"oshinko-cluster": "ended", "oshinko-type": "master"}),
    pod("head"; {"ray.io/cluster": "r", "ray.io/node-type": "head"})' | kubectl -n lab create -f - >/dev/null
  kubectl -n lab patch pod ended --subresource=status --type=merge -p '{"status": {"phase": "Failed"}}' >/dev/null
  allows "go on with a bare master that has ended" guarded annotate pod ended cluster-watcher/phase=deleting "$by"
  allows "delete the head of a Ray cluster, which nothing controls" guarded delete pod head --grace-period=0 --force
  who=''
  kubectl -n lab delete pod ended --grace-period=0 --force >/dev/null 2>&1
  kubectl -n lab annotate deployment roo cluster-watcher/{phase,condemned-by,root-uid}- >/dev/null
}
# What is bound for all namespaces must not reach kube-system.
not_in_kube_system() {
  local attack=(kubectl --kubeconfig="$tmp/lab-sweep.kubeconfig" -n kube-system delete configmap labelled --dry-run=server)
  kubectl -n lab get role cluster-watcher-sweep -o json | jq '.kind = "ClusterRole" | .metadata = {name: "everywhere"}' |
    kubectl create -f - >/dev/null
  kubectl create clusterrolebinding everywhere --clusterrole=everywhere --serviceaccount=lab:sweep >/dev/null
  kubectl -n kube-system create configmap labelled >/dev/null
  kubectl -n kube-system create deployment system --image=c >/dev/null
  kubectl -n kube-system label configmap labelled oshinko-cluster=bob >/dev/null
  check "a sweep of all namespaces may not delete in kube-system" within refuses "may change nothing in kube-system" "${attack[@]}"
  check "nor change anything there" refuses "may change nothing in kube-system" \
    kubectl --kubeconfig="$tmp/lab-sweep.kubeconfig" -n kube-system set image deployment/system c=evil --dry-run=server
  kubectl delete validatingadmissionpolicybinding cluster-watcher-guard-kube-system >/dev/null
  check "without the guard it could" within quietly "${attack[@]}"
  kubectl apply -k "$source_dir/manifests/policy" >/dev/null
  check "with it again it may not" within refuses "may change nothing in kube-system" "${attack[@]}"
  kubectl delete clusterrolebinding,clusterrole everywhere >/dev/null
}
taker() {
  cat <<'NEW'
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: new}
spec:
  replicas: 0
  selector: {matchLabels: {app: a}}
  template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: c}]}}
NEW
}
eviction() {
  echo '{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "foreign", "namespace": "'"$ns"'"}}'
}
labelled() {
  echo '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "foreign", "labels": {"oshinko-cluster": "bob"}}}'
}
binding() {
  echo '{"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "foreign"}, "target": {"kind": "Node", "name": "n"}}'
}
token_request() { echo '{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}'; }

# What it may not do anywhere: else it would take off the label by which it is guarded.
its_namespace() {
  local attacks=(label namespace lab cluster-watcher/enabled-)
  check "it may not take the guard's label off its namespace" refuses cluster-watcher-guard-namespaces \
    guarded "${attacks[@]}"
  check "nor change it" refuses cluster-watcher-guard-namespaces \
    guarded label namespace lab cluster-watcher/enabled=false --overwrite
  check "nor delete its namespace" refuses cluster-watcher-guard-namespaces \
    guarded delete namespace lab --wait=false
  check "not where it isn't enabled either" refuses cluster-watcher-guard-namespaces \
    kubectl --kubeconfig="$tmp/open.kubeconfig" label namespace open a=b --dry-run=server
  kubectl delete validatingadmissionpolicybinding cluster-watcher-guard-namespaces >/dev/null
  check "without the guard it could" within quietly guarded "${attacks[@]}" --dry-run=server
  kubectl apply -k "$source_dir/manifests/policy" >/dev/null
  check "with it again it may not" within refuses cluster-watcher-guard-namespaces \
    guarded "${attacks[@]}" --dry-run=server
}

# marks_between FIRST LAST: the annotations in watcher/protocol/annotations.h from one to the other.
marks_between() {
  sed -nE "/char $1\[\]/,/char $2\[\]/s/.*\"(.*)\".*/\1/p" "$source_dir/watcher/protocol/annotations.h"
}

applies_what_changes() {
  kubectl -n lab apply --server-side --field-manager=ci --force-conflicts --validate=false -f - >/dev/null <<APPLIED
apiVersion: v1
kind: List
items:
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: root, annotations: {cluster-watcher/reason: a, example.com/b: c}}}
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: member}
  spec: {persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Retain}}
APPLIED
}

what_it_may() {
  local root by mark claim
  local -a marks
  mapfile -t marks < <(marks_between kRootUid kRecordedOwner)
  check "the marks of a deletion are known" test "${#marks[@]}" -ge 8
  by=cluster-watcher/condemned-by=${root_pods[lab]}/$(uid pod "${root_pods[lab]}")
  root=$(uid deployment root)
  mapfile -t marks < <(printf '%s\n' "${marks[@]}" | grep -v condemned-by)
  allows "write each mark on its own root" guarded annotate deployment root "${marks[@]/%/=a}" "$by"
  allows "take each off" guarded annotate deployment root "${marks[@]/%/-}" cluster-watcher/condemned-by-
  for mark in $(marks_between kOwner kDeleteOrder) cluster-watcher/inject; do
    guards "write $mark" guarded annotate deployment root "$mark=a"
  done
  allows "read" guarded get configmap foreign
  allows "ask what it may" guarded auth can-i delete pods
  allows "write Events in its own name" reports event_of cluster-watcher OWN
  allows "and by the old API" reports core_event_of cluster-watcher OWN ""
  check "somebody applies a mark and a policy" applies_what_changes
  allows "change a mark that somebody has applied" guarded annotate --overwrite deployment root cluster-watcher/reason=b
  allows "take it off" guarded annotate deployment root cluster-watcher/reason-
  allows "see to it that claims are retained" patch statefulset/member "$retain"
  allows "also those of a StatefulSet without the label" patch statefulset/foreign "$retain"
  allows "mark a labelled claim for collection" guarded annotate pvc data-member-0 \
    cluster-watcher/collect-after=2199-01-01T00:00:00Z "cluster-watcher/root-uid=$(uid pvc data-member-0)"
  claim='{"metadata": {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "root", "uid": "'"$root"'"}]}}'
  guards "give what is mounted to the master root" patch configmap/mounted "$claim"
  kubectl -n lab patch pvc data-member-0 --type=merge -p "$claim" >/dev/null
  allows "take an owner off a claim" patch pvc/data-member-0 '{"metadata": {"ownerReferences": null}}'
  for ns in lab open; do
    claim='{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "member", "uid": "'"$(uid pod member)"'"}]}}'
    kubectl -n "$ns" patch pvc data-member-0 --type=merge -p "$claim" >/dev/null
    kubectl -n "$ns" patch configmap mounted --type=merge -p "$claim" >/dev/null
  done
  ns=lab
  guards "take a pod off the claim of its volume" patch pvc/data-member-0 '{"metadata": {"ownerReferences": null}}'
  guards "take an owner off anything else" patch configmap/mounted '{"metadata": {"ownerReferences": null}}'
  guards "make its root the controller of it" patch configmap/member '{"metadata": {"ownerReferences":
    [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "root", "uid": "'"$root"'", "controller": true}]}}'
  allows "try to delete a master root" guarded delete deployment root --dry-run=server
  allows "mark a master root" guarded annotate deployment root cluster-watcher/phase=deleting \
    "cluster-watcher/root-uid=$root" "$by"
  check "another of its pods may not delete it" refuses "'cluster-watcher-guard'" \
    kubectl -n lab --kubeconfig="$tmp/lab-unbound.kubeconfig" delete deployment root
  allows "delete one that is marked" guarded delete deployment root
  allows "delete members" guarded delete configmap/member pod/member statefulset/member --wait=false
}

# An account that may deal with volumes.
what_it_may_with_volumes() {
  kubectl -n lab create rolebinding volumes --clusterrole=cluster-watcher-volumes \
    --serviceaccount=lab:cluster-watcher >/dev/null
  local to_root
  to_root='{"metadata": {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment",
    "name": "root", "uid": "'"$(uid deployment root)"'"}]}}'
  check "it may delete claims that are named as a StatefulSet's where cluster-watcher-volumes is bound" \
    within quietly guarded delete persistentvolumeclaim data-foreign-0 --wait=false
  guards "delete a claim without the label that isn't" guarded delete persistentvolumeclaim data
  guards "give a claim an owner then either" patch persistentvolumeclaim/data-member-0 "$to_root"
  guards "hand one to nobody" patch persistentvolumeclaim/data-member-0 "$owner_that_is_gone"
}

# The root is told by its pod's name, which is cut and has random parts: each kind with names of many
# lengths, made by the API server's own controllers.
names_of_roots() {
  local kind length name plural
  while read -r kind plural lengths; do
    for length in $lengths; do
      name=$(printf "%0${length}d" 0)
      name=${name//0/n}
      a_root "$kind" "$name" || { check "there is a $kind with a name of $length" false; continue; }
      check "$kind: the pod has come" within pod_of lab "n=$kind-$length"
      identity named "$(bound_to lab "$pod")"
      who=named allows "mark its root, a $kind with a name of $length" guarded annotate "$plural" "$name" \
        cluster-watcher/reason=a
      [[ $kind == Pod ]] || who=named \
        check "but not one with a longer name" refuses "'cluster-watcher-guard'" guarded annotate deployment other cluster-watcher/reason=a
      kubectl -n lab delete "$plural" "$name" --wait=false >/dev/null
    done
  done <<'NAMES'
Deployment deployments 1 40 46 47 52 57 58 63 200 253
ReplicaSet replicasets 1 52 56 57 58 253
ReplicationController replicationcontrollers 1 57 58 63
StatefulSet statefulsets 1 40 52
Job jobs 1 52 56 57 58 63
IndexedJob jobs 1 54 55 56 57 58 61
Pod pods 1 63 253
NAMES
}
# a_root KIND NAME: one whose pod has the label n=KIND-LENGTH.
a_root() {
  jq -nc --arg kind "$1" --arg name "$2" '
    {n: "\($kind)-\($name | length)", "oshinko-type": "master", "oshinko-cluster": "n"} as $labels
    | {serviceAccountName: "cluster-watcher", containers: [{name: "c", image: "c"}]} as $spec
    | {metadata: {labels: $labels}, spec: $spec} as $template
    | {kind: $kind, metadata: {name: $name, labels: $labels}} +
      if $kind == "Pod" then {apiVersion: "v1", spec: $spec}
      elif $kind == "Job" then {apiVersion: "batch/v1", spec: {template: ($template | .spec.restartPolicy = "Never")}}
      elif $kind == "IndexedJob" then {apiVersion: "batch/v1", kind: "Job", spec: {completionMode: "Indexed",
        completions: 1, template: ($template | .spec.restartPolicy = "Never")}}
      elif $kind == "ReplicationController" then {apiVersion: "v1", spec: {selector: $labels, template: $template}}
      else {apiVersion: "apps/v1", spec: {selector: {matchLabels: $labels}, template: $template}} end' |
    kubectl -n lab create -f - >/dev/null
}

# Which pods are of a root that no controller of the API server makes, and which only look like it.
pods_that_look_like_it() {
  local pod root verdict
  foreign_kind deploymentconfigs apps.openshift.io v1 DeploymentConfig
  foreign_kind rayclusters ray.io v1 RayCluster
  foreign_kind daskclusters kubernetes.dask.org v1 DaskCluster
  foreign_kind flinkdeployments flink.apache.org v1beta1 FlinkDeployment
  kubectl -n lab create role frameworks --verb='*' --resource=deploymentconfigs.apps.openshift.io \
    --resource=rayclusters.ray.io --resource=daskclusters.kubernetes.dask.org \
    --resource=flinkdeployments.flink.apache.org >/dev/null
  kubectl -n lab create rolebinding frameworks --role=frameworks --serviceaccount=lab:cluster-watcher >/dev/null
  while read -r pod root verdict; do
    jq -nc --arg pod "$pod" '{apiVersion: "v1", kind: "Pod", metadata: {name: $pod},
      spec: {serviceAccountName: "cluster-watcher", containers: [{name: "c", image: "c"}]}}' |
      kubectl -n lab apply -f - >/dev/null 2>&1
    named_root "${root%/*}" "${root#*/}"
    identity named "$(bound_to lab "$pod")"
    if [[ $verdict == own ]]; then
      who=named check "$pod may mark $root" within quietly guarded annotate "$root" cluster-watcher/reason=a --overwrite
    else
      who=named check "$pod may not mark $root" refuses "'cluster-watcher-guard'" \
        guarded annotate "$root" cluster-watcher/reason=b --overwrite
    fi
  done <<'PODS'
dc-1-bcdfg deploymentconfig/dc own
dc-x-bcdfg deploymentconfig/dc other
dc-1-abcde deploymentconfig/dc other
ray-head-bcdfg raycluster/ray own
ray-head raycluster/ray own
ray-worker-bcdfg raycluster/ray other
dask-scheduler-bcdfgh2456-bcdfg daskcluster/dask own
dask-worker-bcdfgh2456-bcdfg daskcluster/dask other
flink-bcdfgh2456-bcdfg flinkdeployment/flink own
flink-taskmanager-1-1 flinkdeployment/flink other
dep-bcdfgh-bcdfg deployment/dep own
dep-bcdfgh2456b-bcdfg deployment/dep other
dep-bcdfg-bcdfg deployment/dep other
dep-abcdef-bcdfg deployment/dep other
dep-bcdfgh-bcdfgh deployment/dep other
dep-x-bcdfgh-bcdfg deployment/dep other
dep2-bcdfgh-bcdfg deployment/dep other
dep-bcdfg deployment/dep other
dep-bcdfgh-bcdfg deployment/dep-bcdfgh other
set-0 statefulset/set own
set-00 statefulset/set other
set-x statefulset/set other
set-1-0 statefulset/set other
rs-bcdfg replicaset/rs own
rs-x-bcdfg replicaset/rs other
PODS
}
# named_root RESOURCE NAME
named_root() {
  exists lab "$1" "$2" || jq -nc --arg resource "$1" --arg name "$2" '
    {m: $name, "oshinko-type": "master"} as $labels
    | {metadata: {name: $name}, spec: {replicas: 0, selector: {matchLabels: $labels}, template: {metadata: {labels: $labels},
        spec: {containers: [{name: "c", image: "c"}]}}}}
      + {deployment: {apiVersion: "apps/v1", kind: "Deployment"}, statefulset: {apiVersion: "apps/v1", kind: "StatefulSet"},
         replicaset: {apiVersion: "apps/v1", kind: "ReplicaSet"},
         deploymentconfig: {apiVersion: "apps.openshift.io/v1", kind: "DeploymentConfig"},
         raycluster: {apiVersion: "ray.io/v1", kind: "RayCluster"},
         daskcluster: {apiVersion: "kubernetes.dask.org/v1", kind: "DaskCluster"},
         flinkdeployment: {apiVersion: "flink.apache.org/v1beta1", kind: "FlinkDeployment"}}[$resource]' |
    kubectl -n lab create -f - >/dev/null
}

# wild NAMESPACE NAME: makes an account that may do everything in lab and, at home, is a watcher's.
wild() {
  kubectl -n "$1" create serviceaccount "$2"
  kubectl -n "$1" create rolebinding "$2" --clusterrole=cluster-watcher --serviceaccount="$1:$2"
  kubectl -n lab create rolebinding "$1-$2-wild" --role=wild --serviceaccount="$1:$2"
} >/dev/null
# as NAMESPACE NAME ARGUMENT...: runs kubectl in lab as that account.
as() { kubectl -n lab --as="system:serviceaccount:$1:$2" "${@:3}"; }
# is_exempt NAMESPACE NAME FLAG...
is_exempt() { quietly as "$1" "$2" auth can-i exempt guard.cluster-watcher "${@:3}"; }

whom_it_guards() {
  kubectl -n lab create role wild --verb='*' --resource='*.*' >/dev/null
  kubectl create namespace elsewhere >/dev/null
  wild lab wild
  check "an account may do everything in its namespace" within is_exempt lab wild
  check "and is not guarded there" quietly as lab wild label configmap foreign by=lab --overwrite
  wild elsewhere watcher
  check "a watcher's account of another namespace may do everything here" within is_exempt elsewhere watcher
  check "and is guarded all the same" refuses "'cluster-watcher-guard'" as elsewhere watcher delete configmap foreign
  kubectl -n elsewhere create serviceaccount gitops >/dev/null
  kubectl -n lab create rolebinding gitops --role=wild --serviceaccount=elsewhere:gitops >/dev/null
  check "one that isn't a watcher's isn't" within quietly as elsewhere gitops label configmap foreign by=elsewhere --overwrite
  kubectl -n lab create rolebinding foisted --clusterrole=cluster-watcher --serviceaccount=elsewhere:gitops >/dev/null
  check "nor does a Role that somebody binds to it here make it one" quietly as elsewhere gitops label configmap foreign by=b --overwrite
  kubectl create namespace grouped >/dev/null
  kubectl label namespace grouped cluster-watcher/enabled=true >/dev/null
  kubectl -n grouped create rolebinding all --clusterrole=cluster-watcher --group=system:serviceaccounts:grouped >/dev/null
  kubectl -n grouped create rolebinding edit --clusterrole=edit --group=system:serviceaccounts:grouped >/dev/null
  kubectl -n grouped create rolebinding wild --clusterrole=edit --serviceaccount=lab:wild >/dev/null
  kubectl -n grouped create configmap foreign >/dev/null
  check "a binding for a whole group counts" within refuses "'cluster-watcher-guard'" \
    kubectl -n grouped --as=system:serviceaccount:grouped:any --as-group=system:serviceaccounts:grouped \
    delete configmap foreign
  check "who may do everything at home isn't guarded elsewhere either" within quietly \
    kubectl -n grouped --as=system:serviceaccount:lab:wild delete configmap foreign --dry-run=server
  kubectl create clusterrolebinding wild --clusterrole=cluster-admin --serviceaccount=lab:wild >/dev/null
  check "nor in kube-system" within quietly \
    kubectl -n kube-system --as=system:serviceaccount:lab:wild create configmap of-lab --dry-run=server
  kubectl -n lab create serviceaccount let-alone >/dev/null
  kubectl -n lab create rolebinding let-alone --clusterrole=cluster-watcher --serviceaccount=lab:let-alone >/dev/null
  kubectl -n lab create rolebinding let-alone-edit --clusterrole=edit --serviceaccount=lab:let-alone >/dev/null
  check "an account that a watcher shares is guarded, and it is told what to do" within refuses \
    "do that under an account of its own" as lab let-alone create configmap new
  kubectl -n lab create rolebinding let-alone-unguarded --clusterrole=cluster-watcher-unguarded \
    --serviceaccount=lab:let-alone >/dev/null
  check "unless cluster-watcher-unguarded is bound to it" within \
    quietly as lab let-alone label configmap foreign by=let-alone --overwrite
  kubectl -n lab create rolebinding tenant --clusterrole=admin --user=tenant >/dev/null
  check "a tenant's admin isn't guarded" within quietly kubectl -n lab --as=tenant label configmap foreign by=tenant --overwrite
  check "and may make an account a watcher's" within quietly kubectl -n lab --as=tenant create rolebinding theirs \
    --clusterrole=cluster-watcher --serviceaccount=lab:theirs --dry-run=server
  check "but no sweep" not quietly kubectl -n lab --as=tenant create rolebinding theirs \
    --role=cluster-watcher-sweep --serviceaccount=lab:theirs --dry-run=server
  check "nor is one without the role" quietly kubectl label namespace lab a=b
  kubectl -n lab create serviceaccount driver >/dev/null
  kubectl -n lab create rolebinding driver --clusterrole=cluster-watcher-driver --serviceaccount=lab:driver >/dev/null
  check "nor is a driver's" within quietly as lab driver create configmap executors --dry-run=server
  kubectl -n lab create deployment app --image=x >/dev/null
  identity driver "$(kubectl -n lab create token driver)"
  check "whose run needs no other right" driver_runs
  the_sweep_installed
  check "the sweep's is, and needs no other right" a_sweep_works
  kubectl -n lab create serviceaccount framework >/dev/null
  kubectl -n lab create rolebinding framework --clusterrole=cluster-watcher-framework --serviceaccount=lab:framework >/dev/null
  kubectl -n lab create rolebinding framework-edit --clusterrole=edit --serviceaccount=lab:framework >/dev/null
  check "that of a framework's master isn't" within quietly as lab framework create configmap tasks --dry-run=server
  kubectl -n lab create rolebinding shared --clusterrole=cluster-watcher --serviceaccount=lab:framework >/dev/null
  check "but is once it has the watcher's Role too" within refuses "'cluster-watcher-guard'" \
    as lab framework create configmap tasks --dry-run=server
  check "what has no label can be deleted by the others" quietly as lab let-alone delete configmap foreign
}

# A driver makes, uses and deletes its own cluster.
driver_runs() {
  local objects='[{"apiVersion": "v1", "kind": "Service",
      "metadata": {"name": "$(CLUSTER)", "labels": {"oshinko-type": "master"}},
      "spec": {"selector": {"app": "m"}, "ports": [{"port": 7077}]}}'
  for part in master worker; do
    objects+=',{"apiVersion": "apps/v1", "kind": "Deployment",
      "metadata": {"name": "$(CLUSTER)-'$part'", "labels": {"oshinko-type": "'$part'"}},
      "spec": {"selector": {"matchLabels": {"app": "'$part'"}}, "template": {
        "metadata": {"labels": {"app": "'$part'", "oshinko-type": "'$part'"}},
        "spec": {"containers": [{"name": "main", "image": "x"}]}}}}'
  done
  printf '{"apiVersion": "v1", "kind": "List", "items": %s]}' "$objects" >"$tmp/driver.json"
  env -i PATH="$PATH" HOME="$tmp" "$watcher" run -n lab --kubeconfig="$tmp/driver.kubeconfig" --app=deployment/app -f "$tmp/driver.json" \
    --ephemeral --cluster=own -- kubectl --kubeconfig="$KUBECONFIG" -n lab get deployment own-master >"$tmp/run" 2>&1 &&
    grep -qE "cluster own is (being )?deleted" "$tmp/run" && within gone_in lab own-master || { cat "$tmp/run"; false; }
}
gone_in() { [[ -z $(kubectl -n "$1" get deployment "$2" --ignore-not-found -o name) ]]; }

# Puts manifests/sweep into lab. Sets `left`, the master root of a cluster without driver and watcher.
the_sweep_installed() {
  mkdir -p "$tmp/manifests/of-lab"
  printf '%s\n' 'apiVersion: kustomize.config.k8s.io/v1beta1' 'kind: Kustomization' 'namespace: lab' \
    'resources: [../sweep]' >"$tmp/manifests/of-lab/kustomization.yaml"
  kubectl apply -k "$tmp/manifests/of-lab"
  kubectl -n lab create -f - <<<'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "sweep"},
    "spec": {"serviceAccountName": "cluster-watcher-sweep", "containers": [{"name": "c", "image": "c"}]}}'
  identity sweep "$(bound_to lab sweep cluster-watcher-sweep)"
  a_left_cluster
} >/dev/null
# Makes the cluster `left`, whose driver is gone, and a claim whose time is over.
a_left_cluster() {
  kubectl -n lab create -f - <<'LEFT'
apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: left-m
    labels: {oshinko-cluster: left}
    annotations: {cluster-watcher/owner: deployment.apps/gone}
  spec:
    selector: {matchLabels: {app: left-m}}
    template:
      metadata: {labels: {app: left-m, oshinko-cluster: left, oshinko-type: master}}
      spec: {containers: [{name: c, image: c}]}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: left, labels: {oshinko-cluster: left}}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: left}
  spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
LEFT
  kubectl -n lab annotate pvc left cluster-watcher/collect-{after=2020-01-01T00:00:00Z,of=older} \
    cluster-watcher/root-uid="$(ns=lab uid pvc left)"
  within pod_of lab app=left-m
} >/dev/null
# sweep: prints what it says.
sweep() {
  env -i POD_NAME=sweep POD_NAMESPACE=lab "$watcher" sweep -n lab --kubeconfig="$tmp/sweep.kubeconfig" --startup-grace=1s --grace-period=1s \
    --poll-interval=200ms 2>&1
}
a_sweep_works() {
  local said
  said=$(sweep) && [[ $said == *"lab/claim left deleted"*"lab/cluster left deleted: owner-absent"* &&
    $said != *"HTTP 403"* ]] && within absent lab deployment/left-m && absent lab configmap/left && absent lab pvc/left ||
    { echo "$said"; false; }
}

# Before it refuses anything it can be tried.
audit_first() {
  kubectl apply -k "$(with policy guard-audit)" >/dev/null
  check "in audit mode it only warns" within warns_and_lets
  kubectl apply -k "$source_dir/manifests/policy" >/dev/null
  check "and then it refuses" within refuses "'cluster-watcher-guard'" guarded label configmap foreign a=b --dry-run=server
}
warns_and_lets() {
  local said
  said=$(guarded label configmap foreign a=b --dry-run=server 2>&1) && [[ $said == *Warning*cluster-watcher-guard* ]]
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
  [[ $(guarded annotate deployment root cluster-watcher/reason=a --dry-run=server \
    -o 'jsonpath={.metadata.labels.team} {.metadata.annotations.example\.com/seen}' 2>/dev/null) == "x yes" ]]
}
# that_lets OVERLAY NAMES: a kustomization in which others may change these labels and annotations.
that_lets() {
  local directory
  directory=$(with "$1")
  cat >>"$directory/kustomization.yaml" <<PATCH
patches:
- target: {kind: ValidatingAdmissionPolicy, name: cluster-watcher-guard}
  patch: |
    - op: test
      path: /spec/variables/1/name
      value: mutatedByOthers
    - op: replace
      path: /spec/variables/1/expression
      value: '$2'
PATCH
  echo "$directory"
}
what_others_add() {
  somebody_elses_policy
  check "what somebody else's policy adds is refused" within refuses "'cluster-watcher-guard'" \
    guarded annotate deployment root cluster-watcher/reason=a --dry-run=server
  kubectl apply -k "$(that_lets policy '["team","example.com/seen"]')" >/dev/null
  check "unless the installation names it" within has_a_team
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
        serviceAccountName: cluster-watcher
        containers: [{name: c, image: c, volumeMounts: [{name: conf, mountPath: /conf}]}]
        volumes: [{name: conf, configMap: {name: conf}}]
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: conf, labels: {oshinko-cluster: bob}}
- apiVersion: v1
  kind: Service
  metadata: {name: m, labels: {oshinko-cluster: bob, oshinko-type: master}}
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
  kubectl label namespace "$ns" cluster-watcher/enabled=true >/dev/null
  [[ $1 == preserve ]] || kubectl -n "$ns" create rolebinding volumes \
    --clusterrole=cluster-watcher-volumes --serviceaccount="$ns:cluster-watcher" >/dev/null
  a_cluster "$ns" "$2"
  check "$1: there is a master pod" within pod_of "$ns" oshinko-type=master
  check "$1: there are claims" within exists "$ns" pvc/data-w-0 pvc/data-x-0
  watch_over "$ns" "$pod" "$ns" 200ms --volumes="$1"
  check "$1: the owner is recorded on the master root" within marked "$ns" deployment/m recorded-owner
  check "$1: with what somebody else's policy adds" of_team "$ns"
  kubectl -n "$ns" delete deployment bob --wait=false >/dev/null
  check "$1: the whole cluster goes under the guard" within gone "$ns" oshinko-cluster=bob
  check "$1: and its master root" within absent "$ns" deployment/m
  check "$1: the watcher is done" within metric "$ns" 'cluster_watcher_phase\{phase="done"\}'
  check "$1: the guard refused nothing" not in_file cluster-watcher-guard "$tmp/$ns.log"
  check "$1: bystanders stay" exists "$ns" configmap/bystander pvc/bystander
  case $1 in
    delete)
      check "delete: claims go" within absent "$ns" pvc/data-w-0
      check "delete: claims without the label too" within absent "$ns" pvc/data-x-0
      ;;
    collect) check "collect: claims are marked" within collected "$ns" ;;
    preserve) check "preserve: claims stay" exists "$ns" pvc/data-w-0 pvc/data-x-0 ;;
  esac
  end_watchers
}

# Runs the real watcher under the guard, with the shipped Role alone, where the master root owns a claim
# that stays.
a_claim_of_the_root_stays() {
  local ns=guard-claim root
  account "$ns"
  kubectl -n "$ns" delete rolebinding wide >/dev/null
  kubectl label namespace "$ns" cluster-watcher/enabled=true >/dev/null
  kubectl -n "$ns" create deployment bob --image=c >/dev/null
  jq -nc '
    {"oshinko-cluster": "bob", "oshinko-type": "master"} as $labels
    | {apiVersion: "v1", kind: "ReplicationController", metadata: {name: "m", labels: ($labels + {ephemeral: "bob"})},
       spec: {replicas: 1, selector: $labels, template: {metadata: {labels: $labels},
         spec: {serviceAccountName: "cluster-watcher", containers: [{name: "c", image: "c"}]}}}}' |
    kubectl -n "$ns" create -f - >/dev/null
  root=$(kubectl -n "$ns" get rc m -o json | jq -c '[{apiVersion, kind, name: .metadata.name, uid: .metadata.uid}]')
  jq -nc --argjson owners "$root" '{apiVersion: "v1", kind: "PersistentVolumeClaim",
    metadata: {name: "data", labels: {"oshinko-cluster": "bob"}, ownerReferences: $owners},
    spec: {accessModes: ["ReadWriteOnce"], resources: {requests: {storage: "1Mi"}}}}' | kubectl -n "$ns" create -f - >/dev/null
  check "claim: there is a master pod" within pod_of "$ns" oshinko-type=master
  watch_over "$ns" "$pod" "$ns"
  check "claim: the owner is recorded on the master root" within marked "$ns" rc/m recorded-owner
  kubectl -n "$ns" delete deployment bob --wait=false >/dev/null
  check "claim: the whole cluster goes" within gone "$ns" oshinko-cluster=bob
  check "claim: the watcher is done" within metric "$ns" 'cluster_watcher_phase\{phase="done"\}'
  check "claim: the guard refused nothing" not in_file cluster-watcher-guard "$tmp/$ns.log"
  check "claim: it stays" exists "$ns" pvc/data
  end_watchers
}

the_guard() {
  guarded_namespaces
  lab
  ns=open lab
  check "the guard watches over the account" within refuses "'cluster-watcher-guard'" \
    guarded label configmap foreign a=b
  check "in a namespace with another label it doesn't" quietly kubectl -n open \
    --kubeconfig="$tmp/open.kubeconfig" label configmap foreign a=b --dry-run=server
  what_it_may_not
  what_a_sweep_may_not
  not_in_kube_system
  steps_run_as_pods
  other_pods_are_none
  its_namespace
  audit_first
  what_it_may_with_volumes
  what_others_add
  what_it_may
  names_of_roots
  pods_that_look_like_it
  a_whole_cluster_goes preserve ', oshinko-cluster: bob'
  a_whole_cluster_goes delete ''
  a_whole_cluster_goes collect ', oshinko-cluster: bob'
  a_claim_of_the_root_stays
  kubectl delete mutatingadmissionpolicybinding,mutatingadmissionpolicy team >/dev/null
  whom_it_guards
}
