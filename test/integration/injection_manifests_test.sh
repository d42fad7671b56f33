#!/usr/bin/env bash
# Applies the manifests that install the injection to a real control plane, and checks what the API
# server does with pods and annotations.
#
#   test/integration/injection_manifests_test.sh BUILD_DIR
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=injection_pods/pods.bash
. "$source_dir/test/integration/injection_pods/pods.bash"
# shellcheck source=chart.bash
. "$source_dir/test/integration/chart.bash"

# applied KUSTOMIZATION: applies it twice; the second time must change nothing.
applied() {
  kubectl apply -k "$1" >/dev/null && versions "$1" >"$tmp/versions" &&
    kubectl apply -k "$1" >/dev/null && versions "$1" | same "$tmp/versions" - &&
    kubectl diff -k "$1"
}
versions() {
  kubectl kustomize "$1" | kubectl get -f - \
    -o 'jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.generation} {.metadata.annotations}{"\n"}{end}'
}

# injects [JQ_CONDITION [NAMESPACE]]: checks what a pod that asks for the sidecar gets.
injects() {
  printf '%s' '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": "'"${2-pods}"'",
    "labels": {"oshinko-type": "master"}}, "spec": {"containers": [{"name": "c", "image": "c"}]}}' |
    admitted 2>/dev/null | jq -e ".spec.initContainers[0] | ${1-.name == \"cluster-watcher\"}" >/dev/null
}
# changes SETTINGS: sets the policy's settings, as JSON.
changes() {
  kubectl patch mutatingadmissionpolicy cluster-watcher --type=json -p "$(jq -nc --arg settings "$1" \
    '[{op: "test", path: "/spec/variables/0/name", value: "settings"},
      {op: "replace", path: "/spec/variables/0/expression", value: $settings}]')" >/dev/null
}

# pods_are_as_wanted HOW SETTINGS
pods_are_as_wanted() {
  normalised_pods "$1" >"$tmp/found"
  expected_pods "$tmp/none" "$2" >"$tmp/wanted"
  [[ $(wc -l <"$tmp/found") == "$(wc -l <"$tmp/none")" ]] || return 1
  same <(jq -S . "$tmp/wanted") <(jq -S . "$tmp/found")
}

# A pod that was injected before stays unchanged.
injected_twice_is_injected_once() {
  local pods
  pods=$(written_pods | admitted 2>/dev/null | jq -c '
    select(.metadata.annotations["cluster-watcher/status"]) | del(.status, .metadata.uid,
      .metadata.creationTimestamp, .metadata.managedFields, .metadata.generation)')
  jq -Sf "$pods_dir/normalise.jq" <<<"$pods" >"$tmp/once"
  admitted <<<"$pods" 2>/dev/null | jq -Sf "$pods_dir/normalise.jq" >"$tmp/twice"
  [[ -s $tmp/once ]] && same "$tmp/once" "$tmp/twice"
}

some_settings='{"image": "example.com/cluster-watcher:1", "imagePullPolicy": "Always",
  "cpuRequest": "20m", "memoryRequest": "33Mi", "cpuLimit": "1", "memoryLimit": "65Mi",
  "tokenAudience": "https://example.com", "tokenExpirationSeconds": "7200", "scrape": "true",
  "imagePullSecrets": "registry,a.registry",
  "default.dry-run": "true", "default.poll-interval": "20s"}'

# Settings with which the API server would refuse a pod, as "key value".
wrong_settings() {
  cat <<'SETTINGS'
image
image two words
image "
imagePullPolicy Sometimes
imagePullPolicy
imagePullSecrets Registry
imagePullSecrets a,,b
imagePullSecrets a,b,a
port 80
port 65527
port http
port -1
port 99999999999999999999
cpuRequest much
cpuRequest -1
cpuRequest 2
memoryRequest 65Mi
memoryLimit 0
tokenExpirationSeconds 599
tokenExpirationSeconds 86401
tokenExpirationSeconds 1h
scrape yes
seccompProfile Unconfined
SETTINGS
  printf 'default.completed-when %05000d\n' 1
}

# What a LimitRange would add to the sidecar must not exceed what the pod has for all its containers.
a_limit_range() {
  kubectl create namespace limited >/dev/null
  kubectl label namespace limited cluster-watcher/enabled=true >/dev/null
  kubectl -n limited create -f - >/dev/null <<'LIMITS'
{"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "usual"}, "spec": {"limits": [{"type": "Container",
  "default": {"cpu": "1", "memory": "1Gi"}, "defaultRequest": {"cpu": "500m", "memory": "512Mi"}}]}}
LIMITS
  check "so does one that has only memory for all" quietly kubectl -n limited create --dry-run=server -f - <<'MEMORY'
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "m", "labels": {"oshinko-type": "master"}},
  "spec": {"resources": {"limits": {"memory": "2Gi"}}, "containers": [{"name": "c", "image": "c"}]}}
MEMORY
  check "a master with resources of its own starts beside a LimitRange" is "$(
    jq -nc '{requests: {cpu: "100m", memory: "64Mi"}, limits: {cpu: "200m", memory: "64Mi"}} as $resources
      | {apiVersion: "v1", kind: "Pod", metadata: {name: "m", labels: {"oshinko-type": "master"}},
         spec: {resources: $resources, containers: [{name: "c", image: "c", resources: $resources}]}}' |
      kubectl -n limited create --dry-run=server -o json -f - | jq -c '.spec.initContainers[0].resources')" \
    '{"limits":{"cpu":"200m","memory":"64Mi"},"requests":{"cpu":"0","memory":"0"}}'
}

# The sidecar's resources as annotations ask for them, "NAME VALUE".
sidecar_amounts() {
  local name value
  for name in cpu-request cpu-limit memory-request memory-limit; do
    for value in 0 1m 0.5m 5m 500m 700m 1 1.5 2 2.0 2.001 2001m 3 31Mi 32Mi 33554432 33554431 0.5Gi 512Mi 513Mi 524288k \
      536871k 1Gi 0.001T none None -1 +1 1e0 1. .5 0.1234 0000000001 much 1u 1Ei 1,5; do echo "$name $value"; done
  done
}
# asked_amounts NAMESPACE: pods that ask for these, as lines of JSON.
asked_amounts() {
  sidecar_amounts | jq -Rc --arg namespace "$1" '(. / " ") as [$name, $value]
    | {apiVersion: "v1", kind: "Pod", metadata: {name: "a\(input_line_number)", namespace: $namespace,
        labels: {"oshinko-type": "master"}, annotations: {("cluster-watcher/sidecar-" + $name): $value}},
       spec: {containers: [{name: "c", image: "c"}]}}'
}
amounts_got() { admitted 2>/dev/null | jq -cS '[.metadata.name, .spec.initContainers[0].resources]' | LC_ALL=C sort; }
# The policies and `inject` must take, and warn of, the same.
amounts_are_judged_alike() {
  asked_amounts pods | amounts_got >"$tmp/by_policy"
  asked_amounts off | "$watcher" inject 2>"$tmp/said" | amounts_got >"$tmp/by_inject"
  asked_amounts pods | warned_of | LC_ALL=C sort >"$tmp/warned"
  [[ $(wc -l <"$tmp/by_policy") == 148 ]] && same "$tmp/by_inject" "$tmp/by_policy" && [[ -s $tmp/warned ]] &&
    same <(sed -n 's,.*: pod/\(a[0-9]*\): annotation .* is not taken: .*,\1,p' "$tmp/said" | LC_ALL=C sort) "$tmp/warned"
}
# master_in NAMESPACE [ANNOTATIONS]: what its sidecar gets.
master_in() {
  jq -nc --argjson annotations "${2-{\}}" '{apiVersion: "v1", kind: "Pod", metadata: {name: "m", $annotations,
      labels: {"oshinko-type": "master"}}, spec: {containers: [{name: "c", image: "c",
        resources: {requests: {cpu: "1", memory: "1Gi"}, limits: {cpu: "1", memory: "1Gi"}}}]}}' |
    kubectl -n "$1" create --dry-run=server -o json -f - | jq -c '.spec.initContainers[0].resources'
}
sidecars_of_a_namespace() {
  check "policy and inject take the same of what annotations ask for the sidecar" amounts_are_judged_alike
  kubectl create namespace narrow >/dev/null
  kubectl label namespace narrow cluster-watcher/enabled=true >/dev/null
  within exists narrow serviceaccount default
  kubectl -n narrow create -f - >/dev/null <<'LIMITS'
{"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "narrow"}, "spec": {"limits": [{"type": "Container",
  "min": {"cpu": "20m"}, "maxLimitRequestRatio": {"cpu": "4"}}]}}
LIMITS
  check "a LimitRange refuses a master because of its sidecar" within refuses 'minimum cpu usage' master_in narrow
  kubectl annotate namespace narrow cluster-watcher/sidecar-cpu-request=20m cluster-watcher/sidecar-cpu-limit=80m >/dev/null
  takes_masters() { [[ $(master_in narrow) == '{"limits":{"cpu":"80m","memory":"64Mi"},"requests":{"cpu":"20m","memory":"32Mi"}}' ]]; }
  check "its namespace's annotations make the sidecar fit" within takes_masters
  check "the pod's win" is "$(master_in narrow '{"cluster-watcher/sidecar-cpu-limit": "40m"}')" \
    '{"limits":{"cpu":"40m","memory":"64Mi"},"requests":{"cpu":"20m","memory":"32Mi"}}'
  check "and what the namespace asks for follows them" is "$(master_in narrow '{"cluster-watcher/sidecar-cpu-request": "100m"}')" \
    '{"limits":{"cpu":"100m","memory":"64Mi"},"requests":{"cpu":"100m","memory":"32Mi"}}'
  check "where the pod's are not taken the namespace's count" is "$(master_in narrow '{"cluster-watcher/sidecar-cpu-limit": "3"}' 2>/dev/null)" \
    '{"limits":{"cpu":"80m","memory":"64Mi"},"requests":{"cpu":"20m","memory":"32Mi"}}'
  check "whoever annotates a namespace wrongly is warned" in_file "sidecar-cpu-limit is not taken: give 1m to 2, or none" \
    <(kubectl annotate --overwrite namespace narrow cluster-watcher/sidecar-cpu-limit=3 2>&1)
}

# Somebody else's policies, one of which comes after ours, and wants a port that is free no longer.
another_injector() {
  local name
  for name in a-injector z-injector; do
    kubectl create -f - >/dev/null <<INJECTOR
apiVersion: v1
kind: List
items:
- apiVersion: admissionregistration.k8s.io/v1
  kind: MutatingAdmissionPolicy
  metadata: {name: $name}
  spec:
    failurePolicy: Fail
    reinvocationPolicy: IfNeeded
    matchConstraints:
      resourceRules:
      - {apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}
    matchConditions:
    - {name: asked, expression: 'object.metadata.name == "$name" && !object.spec.containers.exists(c, c.name == "also")'}
    mutations:
    - patchType: JSONPatch
      jsonPatch:
        expression: |-
          [JSONPatch{op: "add", path: "/spec/containers/-", value: Object.spec.containers{name: "also", image: "a",
            ports: [Object.spec.containers.ports{containerPort: 9090}]}}]
          + (object.spec.?initContainers.orValue([]) == [] ? [] : [JSONPatch{op: "add", path: "/spec/initContainers/0",
              value: Object.spec.initContainers{name: "first", image: "a"}}])
- apiVersion: admissionregistration.k8s.io/v1
  kind: MutatingAdmissionPolicyBinding
  metadata: {name: $name}
  spec: {policyName: $name}
INJECTOR
  done
  for name in a-injector z-injector; do
    check "a port that $name takes is left to it" within leaves_the_port "$name"
  done
  kubectl delete mutatingadmissionpolicybinding,mutatingadmissionpolicy a-injector z-injector >/dev/null
}
leaves_the_port() {
  [[ $(jq -nc --arg name "$1" '{apiVersion: "v1", kind: "Pod", metadata: {name: $name, labels: {"oshinko-type": "master"}},
      spec: {containers: [{name: "c", image: "c"}]}}' |
    kubectl -n pods create --dry-run=server -o json -f - | jq -r '[.spec.containers[1].ports[0].containerPort,
      (.spec.initContainers[] | select(.name == "cluster-watcher") | .ports[0].containerPort, .livenessProbe.httpGet.port,
        (.env[] | select(.name == "CLUSTER_WATCHER_LISTEN").value)),
      (.metadata.annotations["cluster-watcher/status"] | fromjson.port)] | join(" ")') == "9090 9091 9091 :9091 9091" ]]
}

the_policy() {
  pod_namespaces
  normalised_pods NONE >"$tmp/none"
  check "manifests/policy is applied, and a second time changes nothing" \
    applied "$source_dir/manifests/policy"
  check "a pod that asks for it gets the sidecar" within injects
  kubectl create namespace off >/dev/null
  kubectl create namespace nearly-on >/dev/null
  kubectl label namespace nearly-on cluster-watcher/enabled=yes >/dev/null
  check "in a namespace without the label it gets none" injects '. == null' off
  check "nor where the label isn't \"true\"" injects '. == null' nearly-on
  check "each pod is as wanted" pods_are_as_wanted POLICY '{"image": "cluster-watcher:0.1.0"}'
  check "a pod that was injected isn't injected again" injected_twice_is_injected_once
  a_limit_range
  sidecars_of_a_namespace
  another_injector
  changes "$some_settings"
  check "a change of the settings counts" within injects '.image == "example.com/cluster-watcher:1"'
  check "each pod is as wanted with other settings" pods_are_as_wanted POLICY "$some_settings"
  changes "$(jq -c '.port = "9400"' <<<"$some_settings")"
  check "a change of the port counts" within injects '.ports[0].containerPort == 9400'

  local key value
  while read -r key value; do
    changes "$(jq -nc --arg key "$key" --arg value "$value" '{image: "cluster-watcher:2"} + {($key): $value}')"
    check "a pod is made without the sidecar where $key is '${value:0:30}'" within injects '. == null'
    changes '{"image": "cluster-watcher:0.1.0"}'
    within injects || check "and with it again" false
  done < <(wrong_settings)
  changes "$(jq -nc '{image: "cluster-watcher:3", ("default." + "a" * 64): "a"}')"
  check "a default whose annotation can't be is left out" within injects '.image == "cluster-watcher:3"'
  check "a number instead of text is refused when it is applied" not quietly \
    changes '{"image": "cluster-watcher:0.1.0", "port": 9300}'
  changes '{"image": "cluster-watcher:0.1.0", "seccompProfile": "none"}'
  check "the seccomp profile can be left out" within injects \
    '.name == "cluster-watcher" and .securityContext.seccompProfile == null'
  check "so is what can't be read" not quietly changes 'what is no CEL'

  kubectl delete -k "$source_dir/manifests/policy" >/dev/null
  check "the policy deleted, pods are made without the sidecar" within injects '. == null'
  kubectl apply -k "$source_dir/manifests/policy" >/dev/null
  check "installed again, it injects again" within injects
  changes '{"image": "cluster-watcher:4"}'
  check "and a change of its settings counts" within injects '.image == "cluster-watcher:4"'
  kubectl apply -k "$(with_settings policy)" >/dev/null
  check "so does a kustomization that is applied again" within injects \
    '.image == "registry.example.com/cluster-watcher:0.1.0" and .ports[0].containerPort == 9300'
  kubectl apply -k "$(with policy all-namespaces)" >/dev/null
  check "it can be widened to all namespaces" within injects '.name == "cluster-watcher"' off
  check "but for those that have it turned off" injects '. == null' opted-out
  kubectl apply -k "$source_dir/manifests/policy" >/dev/null
  check "and back" within injects '. == null' off
  the_upgrade
}
# The commands of docs/injection.md, as they stand there, with the ConfigMap of the first version.
the_upgrade() {
  local settings='{"image":"registry.example.com/it:1","port":"9320","tokenAudience":"it'"'"'s \"mine\""}' leftover
  kubectl -n cluster-watcher create -f - >/dev/null <<<"$(jq -c '{apiVersion: "v1", kind: "ConfigMap",
    metadata: {name: "cluster-watcher"}, data: .}' <<<"$settings")"
  check "the settings of the first version are moved as docs/injection.md says" \
    quietly bash -ec "cd '$tmp'; $(upgrading 'settings=')"
  check "and count" within injects '.image == "registry.example.com/it:1" and .ports[0].containerPort == 9320'
  check "all of them" same <(jq -S . <<<"$settings") <(kubectl get mutatingadmissionpolicy cluster-watcher \
    -o 'jsonpath={.spec.variables[0].expression}' | jq -S .)
  check "and the ConfigMap is gone" absent cluster-watcher configmap/cluster-watcher
  check "what going back leaves is taken off as it says" quietly bash -ec "$(upgrading 'kubectl delete')"
  for leftover in clusterrole/cluster-watcher-{driver,framework} \
    validatingadmissionpolicybinding/cluster-watcher-{annotations,injection}-{members,masters,injected} \
    validatingadmissionpolicybinding/cluster-watcher-advice-injected \
    validatingadmissionpolicy{,binding}/cluster-watcher-{advice,brake,guard-namespaces}; do
    check "such as $leftover" absent default "$leftover"
  done
  kubectl apply -k "$source_dir/manifests/policy" >/dev/null
}
# upgrading BEGINNING: the block of commands in "Upgrading" that begins so.
upgrading() {
  sed -n '/^## Upgrading$/,/^## Settings that/p' "$source_dir/docs/injection.md" | sed 's/^   //' | awk -v beginning="$1" '
    /^```/ { inside = !inside && $0 == "```sh"; first = inside; next }
    first { ours = index($0, beginning) == 1; first = 0 }
    inside && ours'
}
# with_settings OVERLAY: adds the patch that the policy itself shows.
with_settings() {
  local directory
  directory=$(with "$1")
  sed -n '/^  #   patches:/,/^  - name/s/^  #   //p' "$source_dir/manifests/chart/objects/policy/policy.yaml" \
    >>"$directory/kustomization.yaml"
  echo "$directory"
}

# Valid and invalid values, as "annotation value".
annotations() {
  cat <<'ANNOTATIONS'
owner deployment/bob
owner bob
owner deployment.v1.apps/bob
owner a b
owner a/b/c
owner /bob
owner deployment/
owner Bob
owner -bob
owner
owner-kind deployment
owner-kind Deployment.apps
owner-kind a b
owner-kind -a
owner-kind deployment.
owner-namespace lab
owner-namespace Lab
owner-namespace a.b
owner-namespace
cluster-label ray.io/cluster
cluster-label a/b/c
cluster-label -a
poll-interval 10s
poll-interval 1h
poll-interval 1h0m0.0s
poll-interval 100ms
poll-interval +1m30s
poll-interval .5s
poll-interval 1.s
poll-interval 99ms
poll-interval 1h1ms
poll-interval 10
poll-interval 0
poll-interval -10s
poll-interval 10 s
poll-interval 1d
poll-interval ten
poll-interval .s
poll-interval
grace-period 0
grace-period 0s
grace-period 168h
grace-period 168h1ms
grace-period 1m1
scaled-to-zero-grace-period 5m
scaled-to-zero-grace-period 169h
startup-grace 1h
startup-grace 1000h
operator-grace 0s
operator-grace 1h
operator-grace 1h1ms
volume-retention 8760h
volume-retention 8761h
steps-deadline 1s
steps-deadline 999ms
delete-deadline 24h
delete-deadline 25h
confirmations 1
confirmations 100
confirmations 007
confirmations 0
confirmations 101
confirmations -1
confirmations +1
confirmations 1.0
confirmations 0x1
confirmations 99999999999999999999
confirmations
surge-limit 0
surge-limit 00010000
surge-limit 10001
surge-limit 100000
surge-limit -1
surge-limit
surge-grace 10m
surge-grace 169h
concurrency 64
concurrency 0
concurrency 65
observe poll
observe watch
observe push
volumes collect
volumes keep
dry-run true
dry-run yes
dry-run True
log-level trace
log-level verbose
log-format json
log-format logfmt
completed-when
completed-when {.status.phase}=Succeeded,Failed
completed-when .status.phase
completed-when {.status.phase}
completed-when phase=
completed-when {.status.phase}=done=
completed-when {.status.phase}=done,
completed-when {.status.phase}=done,,failed
completed-when {.status.phase=a
resources deployments.apps,services
resources deployments.apps
resources Deployments
resources a,,b
resources a,
resources
hold-until 2020-12-24T18:00:00Z
hold-until 2020-12-24T18:00:00.5+01:00
hold-until 2020-12-24t18:00:00z
hold-until 2020-12-24 18:00:00Z
hold-until 2020-12-24
hold-until 2020-13-24T18:00:00Z
hold-until 2020-12-32T18:00:00Z
hold-until 2020-12-24T24:00:00Z
hold-until 2020-12-24T18:00:00
hold-until tomorrow
hold-until
namespace lab
pod a
listen :9090
kubeconfig /a
context a
polls 3
Owner bob
status {}
delete-order 1
root-uid a
ANNOTATIONS
  # At, and beyond, what is looked into.
  echo "completed-when {.status.phase}=$(printf 'a%.0s' {1..4080})"
  echo "completed-when {.status.phase}=$(printf 'a%.0s' {1..4081})"
  echo "hold-until $(printf '%.0s1' {1..100000})"
  printf 'before-delete [{"name":"a","http":{"method":"POST","url":"http://h/"}}%*s]\n' 65479 ''
  printf 'before-delete [{"name":"a","http":{"method":"POST","url":"http://h/"}}%*s]\n' 65480 ''
}

# The watcher and the policy must judge each value alike.
annotations_are_judged_alike() {
  local number=0 key value name reason
  kubectl create namespace judged >/dev/null
  kubectl label namespace judged cluster-watcher/enabled=true >/dev/null
  while read -r key value; do
    name=p$((number += 1))
    printf '%s\t%s\n' "$name" "$key $value" >>"$tmp/judged"
    jq -nc --arg name "$name" --arg key "cluster-watcher/$key" --arg value "$value" '
      {apiVersion: "v1", kind: "Pod", metadata: {name: $name, namespace: "judged",
        labels: {"oshinko-cluster": $name, "ray.io/cluster": $name, ephemeral: "bob"}, annotations: {($key): $value}},
       spec: {containers: [{name: "c", image: "c"}]}}'
  done < <(annotations) >"$tmp/judged.json"
  warned_of <"$tmp/judged.json" | LC_ALL=C sort >"$tmp/policy_refuses"
  kubectl create -f "$tmp/judged.json" >/dev/null 2>&1
  while read -r name _; do
    reason=$("$watcher" check -n judged --pod="$name" -o json 2>/dev/null | jq -r .reason) || :
    [[ $reason != misconfigured && $reason != held ]] || echo "$name"
  done <"$tmp/judged" | LC_ALL=C sort >"$tmp/watcher_refuses"
  kubectl delete namespace judged --wait=false >/dev/null
  [[ -s $tmp/watcher_refuses ]] || return 1
  same <(grep -wFf "$tmp/watcher_refuses" "$tmp/judged") <(grep -wFf "$tmp/policy_refuses" "$tmp/judged")
}

# The policy must know all settings: one that has no value there is unknown to it.
settings_are_known() {
  local known warnings
  known=$("$watcher" help watch | sed -nE 's/^ +(-., )?--([a-z-]+)=.*/\2/p' | LC_ALL=C sort)
  [[ $(wc -l <<<"$known") -gt 25 ]] || return 1
  warnings=$(jq -nc --arg names "$known" '{apiVersion: "v1", kind: "Pod",
      metadata: {name: "all", namespace: "pods", labels: {"oshinko-cluster": "all"},
        annotations: ($names | split("\n") | map({key: "cluster-watcher/\(.)", value: "?"}) | from_entries)},
      spec: {containers: [{name: "c", image: "c"}]}}' |
    kubectl create --dry-run=server -f - 2>&1 >/dev/null)
  grep -qF "is not a duration" <<<"$warnings" && not grep -F "is unknown: correct it" <<<"$warnings"
}

# bare LABELS ANNOTATIONS: what kubectl says of a pod with a misspelt annotation and these.
bare() {
  jq -nc --argjson labels "$1" --argjson annotations "$2" '{apiVersion: "v1", kind: "Pod",
      metadata: {name: "bare", namespace: "pods", labels: $labels,
        annotations: ($annotations + {"cluster-watcher/polls": "3"})},
      spec: {containers: [{name: "c", image: "c"}]}}' | kubectl create --dry-run=server -f - 2>&1
}

# workload KIND: with a bad annotation in its template.
workload() {
  jq -nc --arg kind "$1" '
    {metadata: {labels: {app: "a"}, annotations: {"cluster-watcher/polls": "3"}},
     spec: {containers: [{name: "c", image: "c"}]}} as $template
    | {matchLabels: {app: "a"}} as $selector
    | {apiVersion: ({Job: "batch/v1", CronJob: "batch/v1", ReplicationController: "v1",
          DeploymentConfig: "apps.openshift.io/v1"}[$kind] // "apps/v1"),
       kind: $kind, metadata: {name: "w", namespace: "pods"},
       spec: (if $kind == "CronJob" then {schedule: "0 0 1 1 *",
            jobTemplate: {spec: {template: ($template * {spec: {restartPolicy: "Never"}})}}}
          elif $kind == "Job" then {template: ($template * {spec: {restartPolicy: "Never"}})}
          elif $kind == "ReplicationController" then {selector: {app: "a"}, template: $template}
          else {selector: $selector, template: $template} end)}'
}
# beside_its_pods KIND: a workload with annotations of its own, one of which is its pods' too.
beside_its_pods() {
  workload "$1" | jq -c '.metadata.annotations = {"cluster-watcher/inject": "true", "cluster-watcher/polls": "3",
    "cluster-watcher/owner": "deployment/bob", "cluster-watcher/phase": "condemned", "example.com/a": "b"}'
}
warns_of_misplaced() {
  beside_its_pods "$1" | kubectl create --dry-run=server -f - 2>&1 | in_file "annotation cluster-watcher/inject counts only on pods" -
}
# What asks for a watcher when the injection has been there already.
a_late_asker() {
  kubectl create -f - >/dev/null <<'ASKER'
apiVersion: v1
kind: List
items:
- apiVersion: admissionregistration.k8s.io/v1
  kind: MutatingAdmissionPolicy
  metadata: {name: late-asker}
  spec:
    reinvocationPolicy: Never
    matchConstraints:
      resourceRules:
      - {apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}
    matchConditions: [{name: asked, expression: 'object.metadata.name == "late"'}]
    mutations:
    - patchType: ApplyConfiguration
      applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"oshinko-type": "master"}}}'}
- apiVersion: admissionregistration.k8s.io/v1
  kind: MutatingAdmissionPolicyBinding
  metadata: {name: late-asker}
  spec: {policyName: late-asker}
ASKER
  check "a pod that another policy makes ask, after the injection, is warned of" within is_late
  kubectl delete mutatingadmissionpolicybinding,mutatingadmissionpolicy late-asker >/dev/null
}
# Which of two policies comes first an API server leaves to chance, again whenever one changes.
is_late() {
  kubectl annotate mutatingadmissionpolicy late-asker --overwrite "try=$RANDOM" >/dev/null
  jq -nc '{apiVersion: "v1", kind: "Pod", metadata: {name: "late"}, spec: {containers: [{name: "c", image: "c"}]}}' |
    kubectl -n pods create --dry-run=server -f - 2>&1 | in_file "asks for a watcher and has none: " -
}
warns_of() { workload "$1" | kubectl create --dry-run=server -f - 2>&1 | in_file "cluster-watcher/polls is unknown" -; }

the_warnings() {
  check "watcher and policy judge annotations alike" annotations_are_judged_alike
  check "each setting of the watcher is known to the policy" settings_are_known
  check "a pod that got the sidecar by annotation is warned of" \
    in_file "cluster-watcher/polls is unknown" <(bare '{}' '{"cluster-watcher/inject": "true"}')
  check "one that is a master by its label" in_file "cluster-watcher/polls is unknown" \
    <(bare '{"oshinko-type": "master"}' '{"cluster-watcher/inject": "false"}')
  check "and only once where it is all of that" is "$(bare '{"oshinko-cluster": "a", "oshinko-type": "master"}' \
    '{"cluster-watcher/inject": "true"}' | grep -c "polls is unknown")" 1
  check "one that is nothing of a cluster isn't even looked at" not in_file Warning <(bare '{}' '{}')
  foreign_kind deploymentconfigs apps.openshift.io v1 DeploymentConfig
  local kind
  for kind in Deployment StatefulSet ReplicaSet DaemonSet Job CronJob ReplicationController DeploymentConfig; do
    check "the template of a $kind is warned of" within warns_of "$kind"
  done
  for kind in Deployment StatefulSet ReplicaSet DaemonSet Job CronJob ReplicationController DeploymentConfig; do
    check "so is an annotation of a $kind that counts on its pods" within warns_of_misplaced "$kind"
  done
  check "not one that its pods have too, or that means itself" is "$(beside_its_pods Deployment |
    kubectl create --dry-run=server -f - 2>&1 | grep -c 'polls counts\|owner\|phase\|example')" 0
  a_late_asker
  workload Deployment | kubectl create -f - >/dev/null 2>&1
  check "one that is annotated later is warned of" in_file "annotation cluster-watcher/dry-run counts only on pods" \
    <(kubectl -n pods annotate deployment w cluster-watcher/dry-run=true 2>&1)
  check "an update that leaves the annotations is not warned of" \
    not in_file Warning <(kubectl -n pods label deployment w a=b 2>&1)

  kubectl apply -k "$(with policy reject-invalid)" >/dev/null
  workload StatefulSet >"$tmp/statefulset.json"
  check "with reject-invalid it is refused" within refuses "cluster-watcher/polls is unknown" \
    kubectl create --dry-run=server -f "$tmp/statefulset.json"
  check "not what is misplaced" quietly kubectl create --dry-run=server \
    -f <(beside_its_pods Deployment | jq '.metadata.name = "new" | del(.spec.template.metadata.annotations)')
  check "pods of one that is there are made again" a_pod_is_made_anew app=a
  check "so is the Job of a CronJob" quietly kubectl create --dry-run=server -f <(controlled Job CronJob)
  check "not one that nothing controls" refuses "cluster-watcher/polls is unknown" \
    kubectl create --dry-run=server -f <(controlled Job CronJob | jq '.metadata.ownerReferences[0].controller = false')
  check "an update of one that is there gets through" quietly kubectl -n pods label deployment w c=d
  check "so does one that adds to its annotations" quietly kubectl -n pods rollout restart deployment w
  check "a further wrong one is refused, and only that" refuses "annotation cluster-watcher/owned is unknown" \
    kubectl -n pods patch deployment w -p \
    '{"spec": {"template": {"metadata": {"annotations": {"cluster-watcher/owned": "by"}}}}}'
  kubectl apply -k "$source_dir/manifests/policy" >/dev/null
  check "without it it is warned of again" within quietly \
    kubectl create --dry-run=server -f "$tmp/statefulset.json"
}

# controlled KIND OWNER_KIND: a workload as its controller would make it.
controlled() {
  workload "$1" | jq -c --argjson owner "$(workload "$2")" '.metadata.ownerReferences =
    [$owner | {apiVersion, kind, name: "w", uid: "00000000-0000-0000-0000-000000000000", controller: true}]'
}
# a_pod_is_made_anew SELECTOR: deletes a pod; its controller must make another one.
a_pod_is_made_anew() {
  local old pod
  within pod_of pods "$1" && old=$pod || return 1
  kubectl -n pods delete pod "$old" --grace-period=0 --force >/dev/null 2>&1
  within pod_of pods "$1" && [[ $pod != "$old" ]]
}

the_webhooks() {
  local overlay=$tmp/manifests
  check "without a certificate manifests/webhook says which file is missing" \
    refuses tls.crt kubectl kustomize "$overlay/webhook"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
    -subj /CN=cluster-watcher -addext subjectAltName=DNS:cluster-watcher-webhook.cluster-watcher.svc \
    -keyout "$overlay/webhook/tls.key" -out "$overlay/webhook/tls.crt" 2>/dev/null
  check "manifests/webhook is applied, and a second time changes nothing" applied "$overlay/webhook"
  check "the API server trusts the certificate" trusts "$overlay/webhook/tls.crt"
  check "the webhook's pods are admitted under Pod Security restricted" \
    within two_webhooks
  check "only the webhook's own ports are reachable, and it reaches nobody" is_walled_in "$overlay/webhook"
  kubectl apply --server-side -f "$tools" >/dev/null
  kubectl wait --for=condition=Established --timeout=30s -f "$tools" >/dev/null
  check "manifests/webhook-cert-manager is applied, and a second time changes nothing" \
    applied "$overlay/webhook-cert-manager"
  check "the webhook's certificate is of an authority that stays" \
    has_an_authority "$overlay/webhook-cert-manager"
  check "so is the component monitoring" applied "$(with webhook-cert-manager monitoring)"
  check "a pod is made while no webhook answers" injects '.name == "cluster-watcher"'
}
# has_an_authority KUSTOMIZATION: checks that the certificate's issuer uses another certificate's
# Secret.
has_an_authority() {
  kubectl kustomize "$1" | kubectl create --dry-run=client --validate=false -o json -f - | jq -se '
    def one(f): map(select(f)) | if length == 1 then .[0] else error("not one") end;
    def named($kind; $name): one(.kind == $kind and .metadata.name == $name);
    named("Certificate"; "cluster-watcher-webhook") as $leaf
    | named("Issuer"; $leaf.spec.issuerRef.name) as $issuer
    | one(.kind == "Certificate" and .spec.secretName == $issuer.spec.ca.secretName) as $ca
    | named("Issuer"; $ca.spec.issuerRef.name) as $root
    | $ca.spec.isCA and $ca.spec.privateKey.rotationPolicy == "Never" and ($leaf.spec.isCA | not)
      and $leaf.spec.secretName == "cluster-watcher-webhook" and $root.spec == {selfSigned: {}}
      and all(.[] | select(.webhooks); .metadata.annotations["cert-manager.io/inject-ca-from"]
        == "cluster-watcher/cluster-watcher-webhook")' >/dev/null
}
# is_walled_in KUSTOMIZATION: checks what the NetworkPolicy lets through, if anything enforces it.
is_walled_in() {
  kubectl kustomize "$1" | kubectl create --dry-run=client --validate=false -o json -f - | jq -se '
    def one(f): map(select(f)) | if length == 1 then .[0] else error("not one") end;
    one(.kind == "Deployment") as $webhook | one(.kind == "NetworkPolicy") as $wall
    | $wall.metadata.namespace == $webhook.metadata.namespace
      and $wall.spec.podSelector.matchLabels == $webhook.spec.template.metadata.labels
      and $wall.spec.policyTypes == ["Ingress", "Egress"] and ($wall.spec.egress // []) == []
      and ([$wall.spec.ingress[].ports[] | {port, protocol}] | sort)
        == ([$webhook.spec.template.spec.containers[].ports[] | {port: .containerPort, protocol}] | sort)
      and all($wall.spec.ingress[]; has("from") | not)' >/dev/null
}
trusts() {
  [[ $(kubectl get mutatingwebhookconfiguration cluster-watcher \
    -o 'jsonpath={.webhooks[0].clientConfig.caBundle}' | base64 -d) == "$(<"$1")" ]]
}
two_webhooks() {
  [[ $(kubectl -n cluster-watcher get pods -l app.kubernetes.io/component=webhook -o name | wc -l) == 2 ]]
}

cp -r -- "$source_dir/manifests" "$tmp/manifests"
rm -f -- "$tmp"/manifests/webhook/tls.*
tools=$("$source_dir/test/manifests/build")
WATCH_PID=$$ "$source_dir/test/kubernetes/start" "$tmp/kubernetes"
# shellcheck source=/dev/null
. "$tmp/kubernetes/env"
the_policy
the_warnings
the_webhooks
the_chart

finished=true
echo "$passed passed, $failed failed"
((failed == 0))
