#!/usr/bin/env bash
# Applies manifests/examples/spark to a real control plane and lets the watcher delete that cluster
# with the token of the manifests' own ServiceAccount.
#
#   test/integration/manifests_test.sh BUILD_DIR
#
# The API server's audit log records the account's requests: all of them must be allowed by the
# Role, and all of the Role must have been used. The Role must also contain what the watcher itself
# says that it needs.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"

# An API server that writes an audit log of our accounts' requests.
start_kubernetes() {
  WATCH_PID=$$ "$source_dir/test/kubernetes/start" "$tmp/kubernetes"
  # shellcheck source=/dev/null
  . "$tmp/kubernetes/env"
  cat >"$tmp/kubernetes/audit-policy.yaml" <<'POLICY'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts:example", "system:serviceaccounts:refused", "system:serviceaccounts:kinds", "system:serviceaccounts:swept"]
- level: None
POLICY
  audit_log=$tmp/kubernetes/audit.json
  printf '%s\0' --audit-policy-file="$tmp/kubernetes/audit-policy.yaml" \
    --audit-log-path="$audit_log" >>"$tmp/kubernetes/kube-apiserver.args"
  "$source_dir/test/kubernetes/apiserver" "$tmp/kubernetes" stop
  "$source_dir/test/kubernetes/apiserver" "$tmp/kubernetes" start
}

# Which account is asked about.
who=cluster-watcher
# audited NAMESPACES DECISION: the account's requests, as "resource.group verb", except those that
# everyone may make.
audited() {
  jq -r --arg who "$who" --arg namespaces " $1 " --arg decision "$2" '
    (.user.username | split(":")) as $user
    | select($user[3] == $who and ($namespaces | contains(" " + $user[2] + " ")))
    | select(.annotations["authorization.k8s.io/decision"] == $decision and .objectRef.resource)
    | .objectRef.resource + (if .objectRef.apiGroup then "." + .objectRef.apiGroup else "" end)
      + " " + .verb' "$audit_log" | but_for_what_everyone_may | LC_ALL=C sort -u
}
but_for_what_everyone_may() { sed -E '/^self.*\.(authorization|authentication)\.k8s\.io create$/d'; }

# apply NAMESPACE KUSTOMIZATION: applies it in that namespace, under the strictest Pod Security.
apply() {
  local overlay=$tmp/overlay-$1
  mkdir -- "$overlay"
  cat >"$overlay/kustomization.yaml" <<OVERLAY
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: $1
resources:
- $(realpath --relative-to="$(realpath -- "$overlay")" -- "$source_dir/manifests/$2")
OVERLAY
  kubectl create namespace "$1" >/dev/null
  kubectl label namespace "$1" pod-security.kubernetes.io/{enforce,warn}=restricted >/dev/null
  # Pod Security only warns of a workload whose pods it would refuse.
  kubectl apply --warnings-as-errors -k "$overlay" >/dev/null
}

# lacks NAME: the missing permissions that the watcher reports, as "resource.group verb".
lacks() {
  curl -sf --max-time 5 "http://127.0.0.1:$(port_of "$1")/metrics" |
    sed -nE 's/^cluster_watcher_permission_missing\{resource="(.*)",verb="(.*)"\} 1$/\1 \2/p'
}
# has_asked NAME: whether it has asked about all, or nearly all, of its permissions.
has_asked() { metric "$1" 'rest_client_requests_total\{code="201",method="POST"\}' 40; }

as_watcher() { kubectl --as="system:serviceaccount:$1:$who" "${@:2}"; }

# allowed NAMESPACE: all that the account may do, as "resource.group verb", except what everyone
# may.
allowed() {
  as_watcher "$1" create --validate=false -o json -f - <<REVIEW |
apiVersion: authorization.k8s.io/v1
kind: SelfSubjectRulesReview
spec: {namespace: "$1"}
REVIEW
    jq -r '.status | if .incomplete then error("incomplete") else . end
      | .resourceRules[] | .verbs[] as $verb | .apiGroups[] as $group | .resources[] as $resource
      | (.resourceNames // [] | map("/" + .) | join("")) as $names
      | $resource + (if $group == "" then "" else "." + $group end) + $names + " " + $verb' |
    but_for_what_everyone_may | LC_ALL=C sort -u
}

# one_a_line: "resource.group verb", of lines with several verbs.
one_a_line() {
  local resource verbs verb
  while read -r resource verbs; do
    for verb in $verbs; do echo "$resource $verb"; done
  done | LC_ALL=C sort -u
}
# Kinds that only drivers can be of, by GROUP/VERSION:KIND and plural.
drivers=(sparkoperator.k8s.io/v1beta2:SparkApplication sparkoperator.k8s.io/v1beta2:ScheduledSparkApplication
  ray.io/v1:RayJob ray.io/v1:RayCronJob argoproj.io/v1alpha1:Workflow argoproj.io/v1alpha1:CronWorkflow
  argoproj.io/v1alpha1:Rollout jobset.x-k8s.io/v1alpha2:JobSet kubernetes.dask.org/v1:DaskJob)
# plural_of DRIVER: "rayjobs.ray.io"
plural_of() { tr '[:upper:]' '[:lower:]' <<<"${1#*:}s.${1%/*}"; }
readable_drivers() {
  local driver
  for driver in "${drivers[@]}"; do
    is_a_framework_s "$driver" || echo "$(plural_of "$driver") get list"
  done
}
# Those that make clusters are their roots where they name an owner.
is_a_framework_s() { [[ $1 == */v1:RayJob || $1 == */v1:DaskJob ]]; }

# Written apart from the Role, so that a change of the Role must be intended.
intended() {
  { readable_drivers && cat; } <<'PERMISSIONS' | one_a_line
deployments.apps get list watch patch delete
replicasets.apps get list watch patch delete
statefulsets.apps get list watch patch delete
replicationcontrollers get list watch patch delete
pods get list watch patch delete
jobs.batch get list watch patch delete
deploymentconfigs.apps.openshift.io get list watch patch delete
rayclusters.ray.io get list watch patch delete
daskclusters.kubernetes.dask.org get list watch patch delete
flinkdeployments.flink.apache.org get list watch patch delete
sparkconnects.sparkoperator.k8s.io get list watch patch delete
sparkclusters.spark.apache.org get list watch patch delete
rayjobs.ray.io get list watch patch delete
daskjobs.kubernetes.dask.org get list watch patch delete
daskworkergroups.kubernetes.dask.org get
rayservices.ray.io get
flinkbluegreendeployments.flink.apache.org get
flinksessionjobs.flink.apache.org get list delete
daemonsets.apps get list delete
cronjobs.batch get list delete
configmaps list delete
services list delete
ingresses.networking.k8s.io list delete
networkpolicies.networking.k8s.io list delete
horizontalpodautoscalers.autoscaling list delete
poddisruptionbudgets.policy list delete
routes.route.openshift.io list delete
persistentvolumeclaims list patch
events.events.k8s.io create
namespaces get
guard.cluster-watcher apply brake
PERMISSIONS
}

intended_for_sweep() {
  local kind
  {
    for kind in {deployments,replicasets,statefulsets}.apps jobs.batch replicationcontrollers pods \
      persistentvolumeclaims deploymentconfigs.apps.openshift.io rayclusters.ray.io \
      daskclusters.kubernetes.dask.org flinkdeployments.flink.apache.org \
      sparkconnects.sparkoperator.k8s.io sparkclusters.spark.apache.org rayjobs.ray.io \
      daskjobs.kubernetes.dask.org; do
      echo "$kind get list patch delete"
    done
    for kind in services configmaps routes.route.openshift.io {ingresses,networkpolicies}.networking.k8s.io \
      horizontalpodautoscalers.autoscaling poddisruptionbudgets.policy; do
      echo "$kind list delete"
    done
    printf '%s\n' {daemonsets.apps,cronjobs.batch}' get list delete'
    readable_drivers
    printf '%s get\n' daskworkergroups.kubernetes.dask.org rayservices.ray.io \
      flinkbluegreendeployments.flink.apache.org
    echo 'flinksessionjobs.flink.apache.org get list delete'
    printf '%s\n' 'events.events.k8s.io create' 'namespaces get' 'guard.cluster-watcher apply brake sweep'
  } | one_a_line
}

bystanders() {
  kubectl -n "$1" create configmap bystander >/dev/null
  kubectl -n "$1" apply -f - >/dev/null <<'CLAIMS'
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: bystander}
  spec: &spec
    accessModes: [ReadWriteOnce]
    resources: {requests: {storage: 1Mi}}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: data, labels: {oshinko-cluster: bob-cluster}}
  spec: *spec
CLAIMS
}

token_is_the_sidecars_alone() {
  kubectl -n example get pod "$pod" -o json | jq -e '
    def tokens: .volumeMounts // [] | map(select(.name | startswith("kube-api-access")));
    (.spec.initContainers[] | select(.name == "cluster-watcher") | tokens | length == 1)
    and (.spec.containers | all(tokens | length == 0))' >/dev/null
}

# has_got RESOURCE: whether the watchers in `kinds` were allowed to get one.
has_got() { grep -qx "$1 get" <(audited kinds allow); }

# keeps NAME: whether a look at that cluster, with its watcher's account, finds it used.
keeps() {
  local found
  found=$(env -i POD_NAMESPACE=kinds "$watcher" check --kubeconfig="$tmp/$1.kubeconfig" "$1" 2>&1)
  [[ $found == *in-use* ]] || { echo "$found"; false; }
}

# all_watched: whether those have watched something of each kind that they may watch.
all_watched() {
  [[ -z $(LC_ALL=C comm -23 <(grep ' watch$' "$tmp/intended") <(audited kinds allow)) ]]
}

# may_not NAMESPACE VERB RESOURCE...: whether the account of `example` may not do it there.
may_not() {
  [[ $(as_watcher "${account-example}" auth can-i -n "$1" "${@:2}" 2>/dev/null || :) == no ]]
}

the_example() {
  apply example examples/spark
  bystanders example
  check "the master pod is admitted under Pod Security restricted" \
    within pod_of example oshinko-type=master
  check "so are driver and workers" \
    within kubectl_counts example "app=bob=1" "oshinko-type=worker=2"
  pod_of example oshinko-type=master
  check "only the sidecar has a token" token_is_the_sidecars_alone

  intended >"$tmp/intended"
  allowed example >"$tmp/allowed"
  check "the account may do what is intended and nothing else" same "$tmp/intended" "$tmp/allowed"
  check "it may not read secrets" may_not example get secrets
  check "it may not create workloads" may_not example create deployments.apps
  check "it may not update workloads" may_not example update deployments.apps
  check "it may not delete collections" may_not example deletecollection pods
  check "it may not run commands in pods" may_not example create pods --subresource=exec
  check "it may not change roles" may_not example patch roles.rbac.authorization.k8s.io
  check "it may read its own namespace" quietly as_watcher example get namespace example
  check "it may not read another namespace" not quietly as_watcher example get namespace default
  check "it may not list namespaces" not quietly as_watcher example get namespaces
  check "it may not delete pods of another namespace" may_not default delete pods

  watch_over example "$pod" example 200ms --grace-period=30s
  check "the owner is recorded on the master root" \
    within marked example deployment/bob-cluster-m recorded-owner
  check "it asks what its account may do" within has_asked example
  kubectl annotate namespace example cluster-watcher/hold-until=2199-01-01T00:00:00Z >/dev/null
  kubectl -n example delete deployment bob --wait=false >/dev/null
  check "a hold on the namespace keeps the cluster without its driver" \
    within metric example 'cluster_watcher_verdict\{.*"held".*\}'
  check "nothing of it is gone" exists example deployment/bob-cluster-m deployment/bob-cluster-w \
    service/bob-cluster service/bob-cluster-ui configmap/bob-cluster-conf
  kubectl annotate namespace example cluster-watcher/hold-until- >/dev/null
  check "the hold over, it is warned of" within has_event example ClusterAbandoned
  check "the command in the warning is one that kubectl runs" quietly run_warning example
  check "and it holds the cluster" within metric example 'cluster_watcher_verdict\{.*"held".*\}'
  check "which is said too" within has_event example ClusterSpared
  kubectl -n example annotate deployment bob-cluster-m cluster-watcher/hold-until- >/dev/null
  check "the hold over, the whole cluster goes" within gone example oshinko-cluster=bob-cluster
  check "the watcher is done" within metric example 'cluster_watcher_phase\{phase="done"\}'
  check "ServiceAccount, Role and RoleBinding stay" exists example serviceaccount/cluster-watcher \
    role/cluster-watcher rolebinding/cluster-watcher
  check "a ConfigMap without the label stays" exists example configmap/bystander
  check "claims stay, with and without the label" exists example pvc/bystander pvc/data
  check "Events were written" \
    within has_event example ClusterCondemned ClusterDeleting ClusterDeleted
  check "the log speaks of no 403" not in_file "HTTP 403" "$tmp/example.log"
  lacks example >"$tmp/lacks"
  check "the account lacks nothing" same /dev/null "$tmp/lacks"
  check "nor does the log say so" not in_file "permissions are missing" "$tmp/example.log"
  audited example forbid >"$tmp/forbidden"
  check "no request was forbidden" same /dev/null "$tmp/forbidden"
  end_watchers
}

# kubectl_counts NAMESPACE SELECTOR=COUNT...
kubectl_counts() {
  local one
  for one in "${@:2}"; do
    [[ $(kubectl -n "$1" get pods -l "${one%=*}" -o name | wc -l) == "${one##*=}" ]] || return 1
  done
}

# run_warning NAMESPACE: runs the command in the warning Event.
run_warning() {
  local command
  command=$(kubectl -n "$1" get events.events.k8s.io \
    -o 'jsonpath={.items[?(@.reason=="ClusterAbandoned")].note}' |
    grep -oE 'kubectl annotate -n [a-z]+ [a-z./-]+ --overwrite cluster-watcher/hold-until=[0-9TZ:-]+' |
    tail -n 1)
  [[ -n $command ]] && $command
}

# has_event NAMESPACE REASON...
has_event() {
  local reason
  for reason in "${@:2}"; do
    [[ -n $(kubectl -n "$1" get events.events.k8s.io \
      -o "jsonpath={.items[?(@.reason==\"$reason\")].metadata.name}") ]] || return 1
  done
}

without_delete_on_deployments() {
  local account=refused
  apply refused examples/spark
  check "a second example has its master pod" within pod_of refused oshinko-type=master
  kubectl -n refused get role cluster-watcher -o json | jq 'del(.metadata.resourceVersion)' \
    >"$tmp/role.json"
  jq '.rules |= map(if .resources | index("deployments") then .verbs -= ["delete"] else . end)' \
    "$tmp/role.json" | kubectl replace -f - >/dev/null
  check "delete on deployments is taken away" \
    within may_not refused delete deployments.apps
  watch_over refused "$pod" refused
  within marked refused deployment/bob-cluster-m recorded-owner || :
  check "the lack is shown before it matters" within metric refused \
    'cluster_watcher_permission_missing\{resource="deployments",verb="delete"\}'
  lacks refused >"$tmp/lacks"
  local rule='{apiGroups: ["apps"], resources: ["deployments", "statefulsets", "replicasets"]'
  printf '%s delete\n' deployments replicasets statefulsets >"$tmp/taken"
  check "all that was taken with it is shown, and no more" same "$tmp/taken" "$tmp/lacks"
  check "the log has the one rule to add" \
    in_file "rules: [$rule, verbs: [\"delete\"]}]" "$tmp/refused.log"
  kubectl -n refused delete deployment bob --wait=false >/dev/null
  local forbidden='cluster_watcher_deletes_total\{resource="deployments",result="forbidden"\}'
  check "the refusal is counted" within metric refused "$forbidden"
  check "the delete is tried again" within metric refused "$forbidden" 2
  check "the log says what is missing" in_file 'delete deployments.apps "bob-cluster-w"' \
    "$tmp/refused.log"
  check "other members go all the same" within absent refused service/bob-cluster
  check "the master stays till the end" exists refused deployment/bob-cluster-m \
    configmap/bob-cluster-conf
  kubectl replace -f "$tmp/role.json" >/dev/null
  check "the permission given back, the deletion is finished" \
    within gone refused oshinko-cluster=bob-cluster
  audited refused forbid >"$tmp/forbidden"
  check "nothing else was forbidden" same <(echo "deployments.apps delete") "$tmp/forbidden"
  end_watchers
}

# The example without a watcher, in whose place a sweep finds the driver gone.
the_sweep() {
  local who=cluster-watcher-sweep
  apply swept examples/spark
  mkdir "$tmp/overlay"
  cat >"$tmp/overlay/kustomization.yaml" <<OVERLAY
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: swept
resources: [$(realpath --relative-to="$(realpath -- "$tmp/overlay")" -- "$source_dir/manifests/sweep")]
OVERLAY
  check "manifests/sweep is applied under Pod Security restricted" \
    quietly kubectl apply --warnings-as-errors -k "$tmp/overlay"
  bystanders swept
  kubectl -n swept get pvc bystander -o json | jq '.metadata = {name: "old"} | del(.status)' |
    kubectl create -n swept -f - >/dev/null
  kubectl -n swept annotate pvc old cluster-watcher/collect-after=2020-01-01T00:00:00Z \
    cluster-watcher/collect-of=older \
    cluster-watcher/root-uid="$(kubectl -n swept get pvc old -o 'jsonpath={.metadata.uid}')" >/dev/null
  kubectl -n swept create job sweep-now --from=cronjob/cluster-watcher-sweep >/dev/null
  check "its pod is admitted" within pod_of swept app.kubernetes.io/component=sweep

  intended_for_sweep >"$tmp/intended-for-sweep"
  allowed swept >"$tmp/allowed"
  check "the sweep may do what is intended and nothing else" same "$tmp/intended-for-sweep" "$tmp/allowed"

  identity sweep "$(kubectl -n swept create token "$who" --bound-object-kind=Pod --bound-object-name="$pod")"
  check "with its driver there a cluster is left alone" sweeps "1 cluster: 0 deleted, 1 kept (active 1)"
  check "a claim whose time is over goes" absent swept pvc/old
  kubectl -n swept delete deployment bob --wait=false >/dev/null
  check "without, it goes" within sweeps "1 cluster: 1 deleted, 0 kept"
  check "all of it" within gone swept oshinko-cluster=bob-cluster
  check "an Event names the sweep's pod" is "$(kubectl -n swept get events.events.k8s.io -o json |
    jq -r '[.items[] | select(.reason == "ClusterDeleted").reportingInstance] | unique[]')" "$pod"
  check "ServiceAccount, Role and RoleBinding stay" exists swept \
    {serviceaccount,role,rolebinding}/cluster-watcher{,-sweep}
  check "what isn't the cluster's stays, and other claims" exists swept configmap/bystander \
    pvc/bystander pvc/data cronjob/cluster-watcher-sweep
  audited swept forbid >"$tmp/forbidden"
  check "no request was forbidden" same /dev/null "$tmp/forbidden"
}
# sweeps SUMMARY: sweeps with the account of manifests/sweep; whether that is how it ends.
sweeps() {
  env -i POD_NAMESPACE=swept POD_NAME="$pod" "$watcher" sweep --kubeconfig="$tmp/sweep.kubeconfig" --startup-grace=1s \
    --grace-period=1s --poll-interval=200ms >"$tmp/sweep" 2>&1 && in_file "$1" "$tmp/sweep" || { cat "$tmp/sweep"; false; }
}

# What docs/drivers.md begins with, from `kubectl apply` to the end, without a warning. No node runs its
# pods: here its program is run in the name of its pod, by that one's account and arguments.
the_drivers_example() {
  local words driver run
  kubectl apply -f "$source_dir/manifests/chart/objects/base/driver_role.yaml" >/dev/null
  apply drivers examples/driver
  check "the driver's pod is admitted" within pod_of drivers app=pi
  driver=$pod
  identity driver "$(kubectl -n drivers create token driver --bound-object-kind=Pod --bound-object-name="$driver")"
  kubectl -n drivers get configmap pi-cluster -o 'jsonpath={.data.cluster\.yaml}' >"$tmp/cluster.yaml"
  mapfile -t words < <(kubectl -n drivers get job pi -o json | jq -r --arg file "$tmp/cluster.yaml" \
    '.spec.template.spec.containers[0].command | .[1:index("--")][] | if startswith("/cluster/") then $file else . end')
  env -i PATH="$PATH" HOME="$tmp" POD_NAME="$driver" POD_NAMESPACE=drivers "$watcher" "${words[@]}" \
    --kubeconfig="$tmp/driver.kubeconfig" -- sleep 10 >"$tmp/run" 2>&1 &
  run=$!
  check "its cluster has a master pod" within pod_of drivers oshinko-type=master
  watch_over drivers "$pod" drivers 200ms
  check "whose watcher finds the driver active" within metric drivers 'cluster_watcher_verdict\{.*"active".*\}'
  check "the driver ends well" wait "$run"
  check "nothing of its cluster is left" within gone drivers oshinko-cluster=pi
  check "it has warned of nothing" not grep -iE 'warning|error|HTTP [45]' "$tmp/run"
  check "the watcher lacks nothing" not in_file "permissions are missing" "$tmp/drivers.log"
  end_watchers
}

# object APIVERSION KIND NAME SPEC [LABELS [OWNER_KIND OWNER_NAME OWNER_RESOURCE]]
object() {
  local references=[]
  if [[ -n ${6-} ]]; then
    references=$(kubectl -n kinds get "$8" "$7" -o json | jq -c '
      [{apiVersion, kind, name: .metadata.name, uid: .metadata.uid, controller: true}]')
  fi
  kubectl -n kinds create -f - >/dev/null <<OBJECT
{"apiVersion": "$1", "kind": "$2", "spec": $4,
 "metadata": {"name": "$3", "labels": {${5-}}, "ownerReferences": $references}}
OBJECT
}

# Makes a master of every possible kind, each with its own watcher and all with the same driver; one
# of the clusters has a member of every other kind.
all_kinds() {
  local security='"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}'
  local pod_spec='{"restartPolicy": "RESTART", "automountServiceAccountToken": false,
    "serviceAccountName": "cluster-watcher",
    "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [{"name": "c", "image": "none", "securityContext": {'$security'}}]}'
  local once=${pod_spec/RESTART/Never} always=${pod_spec/RESTART/Always}
  local labels cluster template selector roots

  apply kinds namespaced
  object apps/v1 Deployment driver '{"selector": {"matchLabels": {"app": "driver"}},
    "template": {"metadata": {"labels": {"app": "driver"}}, "spec": '"$always"'}}'

  # for_cluster NAME: sets labels, template and selector.
  for_cluster() {
    cluster=$1
    labels='"oshinko-cluster": "'$1'", "oshinko-type": "master"'
    template='{"metadata": {"labels": {'$labels'}}, "spec": '$always'}'
    selector='{"matchLabels": {'$labels'}}'
  }
  # master APIVERSION KIND SPEC: makes one with the name of its cluster.
  master() { object "$1" "$2" "$cluster" "$3" "$labels, \"ephemeral\": \"driver\""; }

  for_cluster replicaset
  master apps/v1 ReplicaSet '{"selector": '"$selector"', "template": '"$template"'}'
  for_cluster statefulset
  master apps/v1 StatefulSet '{"selector": '"$selector"', "template": '"$template"',
    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"},
    "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
      "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}}]}'
  for_cluster replicationcontroller
  master v1 ReplicationController '{"selector": {'"$labels"'}, "template": '"$template"'}'
  for_cluster job
  master batch/v1 Job '{"template": {"metadata": {"labels": {'"$labels"'}}, "spec": '"$once"'}}'
  for_cluster pod
  master v1 Pod "$always"
  for_cluster deploymentconfig
  master apps.openshift.io/v1 DeploymentConfig '{"replicas": 1}'
  object v1 ReplicationController deploymentconfig-1 \
    '{"selector": {'"$labels"'}, "template": '"$template"'}' "$labels" \
    DeploymentConfig deploymentconfig deploymentconfigs.apps.openshift.io
  local kind
  for kind in ray.io/v1:RayCluster kubernetes.dask.org/v1:DaskCluster \
    flink.apache.org/v1beta1:FlinkDeployment sparkoperator.k8s.io/v1alpha1:SparkConnect \
    spark.apache.org/v1:SparkCluster ray.io/v1:RayJob kubernetes.dask.org/v1:DaskJob; do
    for_cluster "$(tr '[:upper:]' '[:lower:]' <<<"${kind#*:}")"
    master "${kind%:*}" "${kind#*:}" '{}'
    object v1 Pod "$cluster-0" "$always" "$labels" "${kind#*:}" "$cluster" "$cluster"
  done

  for_cluster replicaset
  local member='"oshinko-cluster": "replicaset"' worker='{"matchLabels": {"app": "worker"}}'
  object apps/v1 DaemonSet member '{"selector": '"$worker"', "template":
    {"metadata": {"labels": {"app": "worker"}}, "spec": '"$always"'}}' "$member"
  object batch/v1 CronJob member '{"schedule": "0 0 1 1 *", "suspend": true, "jobTemplate":
    {"spec": {"template": {"spec": '"$once"'}}}}' "$member"
  object networking.k8s.io/v1 Ingress member '{"defaultBackend":
    {"service": {"name": "none", "port": {"number": 80}}}}' "$member"
  object networking.k8s.io/v1 NetworkPolicy member '{"podSelector": {}}' "$member"
  object autoscaling/v2 HorizontalPodAutoscaler member '{"maxReplicas": 2, "scaleTargetRef":
    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "none"}}' "$member"
  object policy/v1 PodDisruptionBudget member '{"selector": '"$worker"'}' "$member"
  object route.openshift.io/v1 Route member '{}' "$member"
  # The garbage collector would take it along.
  object v1 PersistentVolumeClaim member '{"accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Mi"}}}' "$member" DaemonSet member daemonset
  # The example's ConfigMap is mounted, and so deleted last.
  kubectl -n kinds create configmap member >/dev/null
  kubectl -n kinds label configmap member oshinko-cluster=replicaset >/dev/null

  # Only the controllers of these objects tell whose driver they are.
  local uses='"uses-oshinko-cluster": "statefulset"'
  object apps/v1 DaemonSet user '{"selector": {"matchLabels": {"app": "user"}}, "template":
    {"metadata": {"labels": {"app": "user"}}, "spec": '"$always"'}}'
  object v1 Pod user "$always" "$uses, \"app\": \"user\"" DaemonSet user daemonset
  object batch/v1 CronJob user '{"schedule": "0 0 1 1 *", "suspend": true, "jobTemplate":
    {"spec": {"template": {"spec": '"$once"'}}}}'
  object batch/v1 Job user '{"template": {"spec": '"$once"'}}' "$uses" CronJob user cronjob
  for kind in "${drivers[@]}"; do
    object "${kind%:*}" "${kind#*:}" user '{}'
    object v1 Pod "user-$(plural_of "$kind")" "$always" "$uses" "${kind#*:}" user "$(plural_of "$kind")"
  done

  roots=(replicaset statefulset replicationcontroller job pod deploymentconfig raycluster
    daskcluster flinkdeployment sparkconnect sparkcluster rayjob daskjob)
  local foreign=deploymentconfigs,rayclusters,daskclusters,flinkdeployments,sparkconnects,sparkclusters
  foreign+=,rayjobs,daskjobs,routes
  for cluster in "${roots[@]}"; do
    check "a $cluster has its master pod" within pod_of kinds "oshinko-cluster=$cluster"
    watch_over kinds "$pod" "$cluster" 1s --observe=watch
  done
  for cluster in "${roots[@]}"; do
    check "a $cluster as the master root is marked" \
      within marked kinds "$cluster/$cluster" recorded-owner
    check "the account of its watcher is asked about" within has_asked "$cluster"
  done
  check "each of these kinds is watched" within all_watched
  kubectl -n kinds delete deployment driver --wait=false >/dev/null
  for cluster in "${roots[@]}"; do
    [[ $cluster == statefulset ]] ||
      check "a $cluster as the master root goes, with its cluster" \
        within gone kinds "oshinko-cluster=$cluster" "$foreign"
  done
  check "other drivers keep a cluster" \
    within metric statefulset 'cluster_watcher_verdict\{.*"in-use".*\}'
  # The first that is found is enough, so each has to be the only one.
  kubectl -n kinds delete cronjob/user >/dev/null
  check "so does a pod, whose controller is asked for" within has_got daemonsets.apps
  kubectl -n kinds delete daemonset/user >/dev/null
  for kind in $(printf '%s\n' "${drivers[@]}" | while read -r kind; do plural_of "$kind"; done | LC_ALL=C sort); do
    # The watcher looks more and more seldom at what stays the same.
    check "a pod of one of the $kind keeps it too" keeps statefulset
    check "and is asked for" within has_got "$kind"
    kubectl -n kinds delete "pod/user-$kind" --grace-period=0 --force >/dev/null 2>&1
  done
  check "without them a statefulset as the master root goes too" \
    within gone kinds oshinko-cluster=statefulset "$foreign"
  check "its claim stays" exists kinds pvc/data-statefulset-0
  check "so does one that a member owned" exists kinds pvc/member
  for cluster in "${roots[@]}"; do
    check "the account lacks nothing for a $cluster" \
      not in_file "permissions are missing" "$tmp/$cluster.log"
  done
  # `check` shows Events to those who may list them.
  audited kinds forbid | sed '/^events list$/d' >"$tmp/forbidden"
  check "no request but for Events was forbidden" same /dev/null "$tmp/forbidden"
  end_watchers
}

start_kubernetes
foreign_kind deploymentconfigs apps.openshift.io v1 DeploymentConfig
foreign_kind routes route.openshift.io v1 Route
foreign_kind rayclusters ray.io v1 RayCluster
foreign_kind daskclusters kubernetes.dask.org v1 DaskCluster
foreign_kind flinkdeployments flink.apache.org v1beta1 FlinkDeployment
foreign_kind sparkconnects sparkoperator.k8s.io v1alpha1 SparkConnect
foreign_kind sparkclusters spark.apache.org v1 SparkCluster
for driver in "${drivers[@]}"; do
  group_version=${driver%:*} plural=$(plural_of "$driver")
  foreign_kind "${plural%%.*}" "${group_version%/*}" "${group_version#*/}" "${driver#*:}"
done
the_example
the_sweep
the_drivers_example
without_delete_on_deployments
all_kinds
audited "example kinds" allow >"$tmp/used"
# No such API is served; the right to guard.cluster-watcher only exists for the policy of that name.
# What stands between a framework's cluster and its pods, or uses it, is served elsewhere
# (profiles_test.sh).
check "every permission of the Role was used" \
  same <(grep -vE '^(guard\.cluster-watcher|daskworkergroups|rayservices|flinkbluegreen|flinksessionjobs)' \
    "$tmp/intended") "$tmp/used"

finished=true
echo "$passed passed, $failed failed"
((failed == 0))
