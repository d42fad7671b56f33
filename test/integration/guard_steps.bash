# Tests that a watcher under the guard runs pods as steps of its deletion, where the ClusterRole for it
# is bound, and that it can make no other pods. Called by guard.bash.
# shellcheck shell=bash disable=SC2154

step_pod() { kubectl -n "${1-$ns}" get pods -l cluster-watcher/step -o json | jq -e '.items[0]'; }
has_step() { step_pod "$1" >/dev/null; }
step_says() { [[ $(step_pod "$1" | jq -r .metadata.labels[\"cluster-watcher/step\"]) == "$2" ]]; }
# step_ends NAMESPACE STATUS: as the kubelet would say, which isn't there.
step_ends() {
  kubectl -n "$1" patch pod "$(step_pod "$1" | jq -r .metadata.name)" --subresource=status --type=merge \
    -p "{\"status\": $2}" >/dev/null
}
note_says() { [[ $(kubectl -n "$1" get events.events.k8s.io -o json) == *"$2"* ]]; }

# With the shipped Roles alone.
steps_run_as_pods() {
  local ns=guard-steps steps
  account "$ns"
  kubectl -n "$ns" delete rolebinding wide >/dev/null
  kubectl label namespace "$ns" cluster-watcher/enabled=true >/dev/null
  a_cluster "$ns" ', oshinko-cluster: bob'
  steps='[{"name": "save", "image": "books:1", "command": ["save"], "env": [{"name": "TO", "value": "x"}]}]'
  kubectl -n "$ns" annotate deployment m "cluster-watcher/before-delete=$steps" \
    "cluster-watcher/after-delete=${steps/save/tell}" >/dev/null
  check "steps: there is a master pod" within pod_of "$ns" oshinko-type=master
  watch_over "$ns" "$pod" "$ns" 200ms --steps-deadline=3m
  check "steps: the watcher names the right that is missing" within grep -qE 'permissions are missing.*pods.*create' "$tmp/$ns.log"
  end_watchers
  kubectl -n "$ns" create serviceaccount cluster-watcher-steps >/dev/null
  kubectl -n "$ns" create rolebinding steps --clusterrole=cluster-watcher-runs-steps \
    --serviceaccount="$ns:cluster-watcher" >/dev/null
  watch_over "$ns" "$pod" "$ns" 200ms --steps-deadline=3m
  check "steps: the owner is recorded on the master root" within marked "$ns" deployment/m recorded-owner
  kubectl -n "$ns" delete deployment bob --wait=false >/dev/null
  check "steps: a pod runs before the deletion" within has_step "$ns"
  check "steps: of the account that has no rights" is \
    "$(step_pod "$ns" | jq -r .spec.serviceAccountName)" cluster-watcher-steps
  step_pod "$ns" | jq 'del(.status, .metadata.uid, .metadata.resourceVersion, .metadata.managedFields,
    .metadata.creationTimestamp)' >"$tmp/step.json"
  check "steps: while nothing is deleted" exists "$ns" statefulset/w service/m
  step_ends "$ns" '{"phase": "Failed", "containerStatuses": [{"name": "step", "image": "", "imageID": "",
    "ready": false, "restartCount": 0, "state": {"terminated": {"exitCode": 7, "message": "no room left"}}}]}'
  check "steps: an Event has the end of its log" within note_says "$ns" "exit code 7, no room left"
  check "steps: the members go" within absent "$ns" statefulset/w
  check "steps: and another runs after them" within step_says "$ns" after-delete
  check "steps: while the master root is there" exists "$ns" deployment/m
  step_ends "$ns" '{"phase": "Succeeded"}'
  check "steps: the whole cluster goes" within gone "$ns" oshinko-cluster=bob
  check "steps: and these pods" within not has_step "$ns"
  check "steps: the watcher is done" within metric "$ns" 'cluster_watcher_phase\{phase="done"\}'
  check "steps: the guard refused nothing" not in_file cluster-watcher-guard "$tmp/$ns.log"
  end_watchers
}

# step_with JQ: prints the pod of the step with this change, under another name.
step_with() { jq --arg ns "$ns" ".metadata.name = \"stolen\" | .metadata.namespace = \$ns | $1" "$tmp/step.json"; }
runs() { guarded create -f <(step_with "$1"); }
other_pods_are_none() {
  local ns=lab change what
  kubectl -n lab create serviceaccount cluster-watcher-steps >/dev/null
  kubectl -n open create serviceaccount cluster-watcher-steps >/dev/null
  jq -nc '{apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: {name: "important"}, value: 1000}' |
    kubectl create -f - >/dev/null
  # It sets defaults, and an annotation that says so.
  jq -nc '{apiVersion: "v1", kind: "LimitRange", metadata: {name: "usual"},
    spec: {limits: [{type: "Container", default: {cpu: "1"}, defaultRequest: {cpu: "100m"}}]}}' |
    kubectl -n lab create -f - >/dev/null
  check "it may run a step" quietly guarded create --dry-run=server -f <(step_with .)
  check "where the namespace picks the nodes too" quietly guarded create --dry-run=server \
    -f <(step_with '.spec.nodeSelector = {"example.com/team": "a"}')
  while IFS='|' read -r what change; do guards "run a step that $what" runs "$change"; done <<'CHANGES'
runs as a watcher|.spec.serviceAccountName = "cluster-watcher" | del(.spec.serviceAccount)
has a token|.spec.automountServiceAccountToken = true
has its account by default|del(.spec.serviceAccountName, .spec.serviceAccount)
never ends|del(.spec.activeDeadlineSeconds)
reads a Secret|.spec.containers[0].env = [{name: "A", valueFrom: {secretKeyRef: {name: "s", key: "k"}}}]
reads all of one|.spec.containers[0].envFrom = [{secretRef: {name: "s"}}]
mounts the node|.spec.volumes = [{name: "v", hostPath: {path: "/"}}]
mounts a Secret|.spec.volumes = [{name: "v", secret: {secretName: "s"}}]
is on the host's network|.spec.hostNetwork = true
sees the host's processes|.spec.hostPID = true
is more important than others|.spec.priorityClassName = "important" | del(.spec.priority)
goes to nodes that others may not use|.spec.tolerations = [{operator: "Exists"}]
takes its time to end|.spec.terminationGracePeriodSeconds = 3600
is started again|.spec.restartPolicy = "Always"
is an endpoint of a Service of a chart's|.metadata.labels["app.kubernetes.io/instance"] = "a"
is a cluster's|.metadata.labels["oshinko-cluster"] = "bob"
has no bounds|.spec.containers[0].securityContext = {}
is allowed to get more rights|.spec.containers[0].securityContext.allowPrivilegeEscalation = true
has a capability|.spec.containers[0].securityContext.capabilities.add = ["SYS_ADMIN"]
keeps what others have|.spec.containers[0].securityContext.capabilities = {}
calls anything|.spec.containers[0].securityContext.seccompProfile.type = "Unconfined"
runs as root|.spec.containers[0].securityContext.runAsUser = 0
is another in SELinux|.spec.securityContext.seLinuxOptions = {type: "spc_t"}
changes sysctls|.spec.securityContext.sysctls = [{name: "net.ipv4.ip_local_port_range", value: "1 2"}]
has a second container|.spec.containers += [{name: "b", image: "b"}]
begins with another container|.spec.initContainers = [{name: "b", image: "b"}]
picks its node|.spec.nodeName = "n"
opens a port of the node|.spec.containers[0].ports = [{containerPort: 80, hostPort: 80}]
is no step|del(.metadata.labels["cluster-watcher/step"])
is an endpoint of somebody's Service|.metadata.labels.service = "a"
uses a cluster|.metadata.labels["uses-oshinko-cluster"] = "alice"
is a master|.metadata.labels["oshinko-type"] = "master"
names an owner|.metadata.annotations = {"cluster-watcher/owner": "deployment/x"}
is another's to keep|.metadata.ownerReferences[0].controller = true
keeps its owner there|.metadata.ownerReferences[0].blockOwnerDeletion = true
can't be deleted|.metadata.finalizers = ["example.com/a"]
CHANGES
  who=lab-unbound
  check "a token that is bound to no pod runs none" refuses "'cluster-watcher-guard'" runs .
  who=''
  kubectl -n lab delete limitrange usual >/dev/null
}
