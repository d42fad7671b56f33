# Compares the chart with the kustomizations. Sourced by injection_manifests_test.sh.
# shellcheck shell=bash disable=SC2154

chart() {
  HELM_CACHE_HOME=$tmp/helm HELM_CONFIG_HOME=$tmp/helm HELM_DATA_HOME=$tmp/helm \
    "$tools/helm" "$1" cluster-watcher "${older:-$source_dir/manifests/chart}" -n cluster-watcher \
    --set image.repository=cluster-watcher "${@:2}"
}

# objects: turns manifests into JSON in a canonical order. With Helm the namespace is made by
# --create-namespace; kustomize breaks Base64 into lines.
objects() {
  kubectl create --dry-run=client --validate=false -o json -f - |
    jq -cS 'select(.kind != "Namespace")
      | select(.metadata.annotations["helm.sh/hook"] | not)
      | del(.metadata.annotations["helm.sh/resource-policy"], .metadata.labels["app.kubernetes.io/instance",
        "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"])
      | if .metadata.annotations == {} then del(.metadata.annotations) else . end
      | if .kind == "Secret" then .data |= map_values(gsub("\n"; "")) else . end
      | if .webhooks then .webhooks |= map(.clientConfig |= if .caBundle then .caBundle |= gsub("\n"; "") else . end) else . end' |
    jq -sS 'sort_by(.kind, .metadata.name)'
}
# renders KUSTOMIZATION FLAG...: whether the chart renders the same.
renders() {
  kubectl kustomize "$1" | objects >"$tmp/kustomized"
  chart template "${@:2}" | objects >"$tmp/charted"
  [[ -s $tmp/kustomized ]] && same "$tmp/kustomized" "$tmp/charted"
}
# locks: of the manifests in the standard input the names of guards and brakes, each with its binding.
locks() {
  objects | jq -r '.[] | select(.kind | test("^ValidatingAdmissionPolicy")).metadata.name | select(test("guard|brake"))' |
    LC_ALL=C sort
}
locks_there() {
  kubectl get validatingadmissionpolicies,validatingadmissionpolicybindings -o json | jq -c '.items[]' | locks
}
# older_chart: sets older to a chart whose values are those of the first version.
older_chart() {
  older=$tmp/older
  cp -r -- "$source_dir/manifests/chart" "$older"
  sed -i '/^ *\(mode\|mutatedByOthers\|stepPriority\|allNamespaces\):/d; /^brake:/,/^$/d; /^sweep:/,/^$/d
    /^monitoring:/,/^$/c monitoring: false\n' "$older/values.yaml"
  rm "$older/values.schema.json"
}
# other_labels OVERLAY: adds the patch from the head of the guard's policy.
other_labels() {
  local directory
  directory=$(with "$1")
  sed -n '/^#   patches:/,/^#$/s/^#   //p' "$source_dir/manifests/chart/objects/guard/policy.yaml" \
    >>"$directory/kustomization.yaml"
  echo "$directory"
}
# with_a_row: which policies know a framework that the chart's values add.
with_a_row() {
  chart template --kube-version=1.36.0 --set-json 'profiles=[{"name": "mine", "master": {"role": ["boss"]},
    "cluster": "example.com/c", "root": {"resource": "mines.example.com", "kind": "Mine"},
    "pods": {"fixed": "-boss", "random": "always"}}]' | objects | jq -r '.[] | select(.kind | endswith("Policy"))
    | .metadata.name as $name | [.. | strings] | join("\n") as $text
    | ["{\"example.com/c\":[\"*\"],\"role\":[\"boss\"]}", "\"Mine.example.com\":{\"cut\":\"0\"",
       "[\"RayCluster.ray.io\",\"Mine.example.com\"", "[{\"oshinko-cluster\":[\"*\"]},{\"example.com/c\":[\"*\"]}",
       "\\\"name\\\":\\\"mine\\\""] as $wanted
    | {"cluster-watcher": [0, 4], "cluster-watcher-guard": [0, 1, 2, 3], "cluster-watcher-injection": [0]}[$name]
    | select(.) | "\($name): \(all(.[]; . as $which | $text | contains($wanted[$which])))"' | LC_ALL=C sort
}
# monitors_wanted: what becomes of the values of monitoring.
monitors_wanted() {
  local ends='"relabelings":[{"replacement":"west","targetLabel":"zone"}]}'
  echo '{"ends":[{"interval":"20s","port":"watcher-metrics",'"$ends"'],"label":"main","limit":900,"name":"cluster-watcher"}'
  echo '{"ends":[{"interval":"20s","port":"metrics",'"$ends"'],"label":"main","limit":900,"name":"cluster-watcher-webhook"}'
  echo '{"ends":null,"label":"main","limit":null,"name":"cluster-watcher"}'
}
# conditions_of OBJECT JQ: of one in chart/objects.
# the_pods_choices: the values that a chart's pods usually have.
the_pods_choices() {
  jq -ncS '{resources: {limits: {memory: "1Gi"}}, extraEnv: [{name: "A", value: "b"}], nodeSelector: {a: "b"},
    tolerations: [{operator: "Exists"}], affinity: {nodeAffinity: {}}, topologySpreadConstraints: [{maxSkew: 2}],
    priorityClassName: "high", podLabels: {x: "y"}, podAnnotations: {c: "d"}}'
}
# chosen KIND: these, of the manifests in the standard input.
chosen() {
  objects | jq -cS --arg kind "$1" '.[] | select(.kind == $kind).spec | (.jobTemplate.spec.template // .template)
    | .spec.containers[0] as $container | (.spec | {nodeSelector, tolerations, affinity, topologySpreadConstraints, priorityClassName})
      + {resources: $container.resources, extraEnv: [$container.env[] | select(.name == "A")],
         podLabels: {x: .metadata.labels.x}, podAnnotations: .metadata.annotations}'
}
conditions_of() {
  kubectl create --dry-run=client --validate=false -o json -f "$tmp/manifests/chart/objects/$1.yaml" | jq -S "$2"
}
# elsewhere: the webhook in another namespace and under another name, and monitored from a third.
elsewhere() {
  chart template "${webhook[@]}" -n lab --set nameOverride=mine,webhook.certManager=true,sweep.enabled=true \
    --set monitoring.enabled=true,monitoring.namespace=mon
}
# a_part_of_another: the chart in somebody's chart, in a namespace of theirs, and its test.
a_part_of_another() {
  local older=$tmp/platform report
  local here=(-n platform --set cluster-watcher.image.repository=cluster-watcher)
  mkdir -p "$older/charts"
  cp -r -- "$source_dir/manifests/chart" "$older/charts/cluster-watcher"
  printf '%s\n' 'apiVersion: v2' 'name: platform' 'version: 1.0.0' 'dependencies:' \
    '- {name: cluster-watcher, version: 0.1.0, condition: cluster-watcher.enabled}' >"$older/Chart.yaml"
  check "a chart that has it can leave it out" is "$(chart template "${here[@]}" --set cluster-watcher.enabled=false)" ""
  check "or install it where it is itself" quietly chart install "${here[@]}" --create-namespace \
    --set cluster-watcher.namespaces[0].name=pods
  check "and pods are injected" within injects
  # There is no node to run the test's pod.
  HELM_DATA_HOME=$tmp/helm "$tools/helm" get hooks cluster-watcher -n platform |
    kubectl create --dry-run=client --validate=false -o json -f - | jq -c 'select(.kind != "Pod")' | kubectl create -f - >/dev/null
  identity test "$(kubectl -n platform create token cluster-watcher-test)"
  report=$(env -i "$watcher" doctor --kubeconfig="$tmp/test.kubeconfig" -n pods) || true
  check "what helm tests may read all that it looks at" is "$(grep -v '^ok ' <<<"$report")" ""
  check "helm takes that off too" quietly env HELM_DATA_HOME="$tmp/helm" "$tools/helm" uninstall cluster-watcher -n platform
}
the_chart() {
  local webhook=(--kube-version=1.30.0 --set injection=webhook) certificate older='' command words
  local -a left
  local label="kubectl label namespace lab cluster-watcher/enabled=true"
  local lacking=(--set guard.mode=null,guard.clusterLabels=null,guard.mutatedByOthers=null,guard.stepPriority=null
    --set image.pullPolicy=null,settings=null,defaults=null,rejectInvalid=null,allNamespaces=null,brake=null,sweep=null,monitoring=null)
  certificate=(--set-file "webhook.certificate.crt=$tmp/manifests/webhook/tls.crt"
    --set-file "webhook.certificate.key=$tmp/manifests/webhook/tls.key")
  check "the chart renders what manifests/policy has" renders "$tmp/manifests/policy" --kube-version=1.36.0
  check "and manifests/webhook" renders "$tmp/manifests/webhook" "${webhook[@]}" "${certificate[@]}"
  check "and manifests/webhook-cert-manager" renders "$tmp/manifests/webhook-cert-manager" "${webhook[@]}" \
    --set webhook.certManager=true
  check "and the components" renders "$(with policy monitoring reject-invalid)" \
    --kube-version=1.36.0 --set monitoring.enabled=true,rejectInvalid=true
  check "and those of the webhook" renders "$(with webhook-cert-manager monitoring scrape-annotations)" \
    "${webhook[@]}" --set webhook.certManager=true,monitoring.enabled=true --set-string settings.scrape=true
  check "monitoring that is only on, as older values have it, is the same" renders "$(with policy monitoring)" \
    --kube-version=1.36.0 --set monitoring=true
  check "Prometheus' labels are on monitors and rules, and the monitors have the rest" same <(monitors_wanted) \
    <(chart template "${webhook[@]}" --set webhook.certManager=true,monitoring.enabled=true,monitoring.labels.release=main \
      --set 'monitoring.interval=20s,monitoring.sampleLimit=900,monitoring.relabelings[0].targetLabel=zone,monitoring.relabelings[0].replacement=west' |
      objects | jq -cS '.[] | select(.kind | test("^(PodMonitor|PrometheusRule)$"))
        | {name: .metadata.name, label: .metadata.labels.release, limit: .spec.sampleLimit, ends: .spec.podMetricsEndpoints}')
  check "and the guard of other labels, as it says itself" renders "$(other_labels policy)" \
    --kube-version=1.36.0 --set 'guard.clusterLabels={oshinko-cluster,example.com/cluster},guard.mutatedByOthers={example.com/seen},guard.stepPriority=1000'
  check "a framework's row stands in each list and goes to the sidecar" same <(printf '%s\n' \
    'cluster-watcher-guard: true' 'cluster-watcher-injection: true' 'cluster-watcher: true') <(with_a_row)
  check "and its words go there as they are" same \
    <(echo '[{"cluster":"example.com/c","master":{"role":["boss"]},"name":"mine","root":{"kind":"Mine","resource":"mines.example.com"},"theirs":{"Mines.example.com":"-x"}}]') \
    <(chart template "${webhook[@]}" --set webhook.certManager=true --set-json 'profiles=[{"name": "mine", "master": {"role": ["boss"]},
      "cluster": "example.com/c", "root": {"resource": "mines.example.com", "kind": "Mine"}, "theirs": {"Mines.example.com": "-x"}}]' |
      objects | jq -r '.[] | select(.kind == "ConfigMap").data.profiles')
  check "and owners from creators" renders "$(with policy owner-from-creator)" --kube-version=1.36.0 \
    --set ownerFromCreator=true
  check "which all namespaces don't widen" renders "$(with policy owner-from-creator all-namespaces)" \
    --kube-version=1.36.0 --set ownerFromCreator=true,allNamespaces=true
  check "and the webhook asks in the same words" same <(conditions_of owner-from-creator/policy .spec.matchConditions) \
    <(conditions_of webhook/mutating .webhooks[1].matchConditions)
  check "and the sweep of all namespaces" renders "$(with policy sweep)" --kube-version=1.36.0 --set sweep.enabled=true
  check "whose schedule and flags can be set" same <(echo '{"args":["sweep","--all-namespaces","--dry-run"],"schedule":"@hourly"}') \
    <(chart template --kube-version=1.36.0 --set 'sweep.enabled=true,sweep.schedule=@hourly,sweep.extraArgs={--dry-run}' | objects |
      jq -cS '.[] | select(.kind == "CronJob").spec | {schedule, args: .jobTemplate.spec.template.spec.containers[0].args}')
  check "and memory, and what is tried out is by a sweep too" same \
    <(echo '{"args":["sweep","--all-namespaces","--dry-run"],"resources":{"limits":{"memory":"1Gi"}}}') \
    <(chart template --kube-version=1.36.0 --set sweep.enabled=true,sweep.resources.limits.memory=1Gi \
      --set-string defaults.dry-run=true | objects | jq -cS '.[] | select(.kind == "CronJob")
        | .spec.jobTemplate.spec.template.spec.containers[0] | {args, resources}')
  check "and other settings, as the policy says itself" renders "$(with_settings policy)" --kube-version=1.36.0 \
    --set image=registry.example.com/cluster-watcher:0.1.0 --set-string settings.port=9300
  check "and one with a digest" same <(echo '"example.com/w@sha256:'"$(printf '%064d' 0)"'"') <(chart template \
    "${webhook[@]}" "${certificate[@]}" --set image.repository=example.com/w,image.digest=sha256:"$(printf '%064d' 0)" |
    objects | jq -c '.[] | select(.kind == "Deployment").spec.template.spec.containers[0].image')
  check "what pods have elsewhere, the webhook's can have" same <(the_pods_choices) <(chart template "${webhook[@]}" \
    --set-json webhook="$(the_pods_choices)" --set-file webhook.caBundle="$tmp/manifests/webhook/tls.crt" \
    --set webhook.existingSecret=theirs,webhook.failurePolicy=Fail,webhook.networkPolicy.enabled=false | chosen Deployment)
  check "and the sweep's" same <(the_pods_choices) <(chart template --kube-version=1.36.0 --set-json sweep="$(
    the_pods_choices | jq -c '.enabled = true')" | chosen CronJob)
  check "a Secret that is there is used, and no other made" same <(echo '["theirs","Fail",0]') <(chart template "${webhook[@]}" \
    --set-file webhook.caBundle="$tmp/manifests/webhook/tls.crt" \
    --set webhook.existingSecret=theirs,webhook.failurePolicy=Fail,webhook.networkPolicy.enabled=false | objects |
    jq -c '[(.[] | select(.kind == "Deployment").spec.template.spec.volumes[] | select(.secret).secret.secretName),
      (.[] | select(.kind == "MutatingWebhookConfiguration").webhooks[0].failurePolicy),
      ([.[] | select(.kind | IN("Secret", "NetworkPolicy"))] | length)]')
  check "namespaces get an account and the Role" same <(echo '["lab/cluster-watcher-master","lab/masters","yard/cluster-watcher-master"]') \
    <(chart template --kube-version=1.36.0 --set-json 'namespaces=[{"name": "yard", "create": true}, {"name": "lab"},
      {"name": "lab", "serviceAccount": "masters"}]' | objects | jq -c '[.[] | select(.kind == "RoleBinding").subjects[0]
        | .namespace + "/" + .name] | sort')
  check "its defaults are the settings that watch takes by annotation, but for the owner" same <("$watcher" help watch | tr '\n' ' ' |
    sed 's/  *--/\n--/g' | grep -v 'not by annotation' | sed -nE 's/^--([a-z-]+).*/\1/p' | grep -vxE 'help|owner(-kind|-namespace)?' |
    LC_ALL=C sort -u) \
    <(jq -r '.properties.defaults.properties | keys[] | select(endswith("e-delete") or endswith("r-delete") | not)' \
      "$source_dir/manifests/chart/values.schema.json" | LC_ALL=C sort)
  check "and a guard that only warns, in all namespaces" renders "$(with policy guard-audit all-namespaces)" \
    --kube-version=1.36.0 --set guard.mode=audit,allNamespaces=true
  check "and the webhook in all namespaces" renders "$(with webhook-cert-manager all-namespaces)" \
    "${webhook[@]}" --set webhook.certManager=true,allNamespaces=true

  check "what older values lack has its default" renders "$tmp/manifests/policy" --kube-version=1.36.0 "${lacking[@]}"
  check "for the webhook too" renders "$tmp/manifests/webhook-cert-manager" "${webhook[@]}" "${lacking[@]}" \
    --set webhook.certManager=true,webhook.replicas=null,webhook.certificate=null
  check "the brake needs no guard" same <(printf '%s\n' cluster-watcher-brake cluster-watcher-brake) \
    <(chart template --kube-version=1.36.0 --set guard.mode=disabled | locks)
  check "but can be left out" same <(printf '%s\n' cluster-watcher-guard{,,-kube-system} cluster-watcher-guard-namespaces{,}) \
    <(chart template --kube-version=1.36.0 --set brake.enabled=false | locks)
  check "without the guard it widens to all namespaces" quietly chart template --kube-version=1.36.0 \
    --set guard.mode=disabled,allNamespaces=true

  local refused
  while IFS=: read -r refused; do
    check "the chart refuses $refused" refuses "don't meet the specifications of the schema" \
      chart template --set "$refused"
  done <<'REFUSED'
injection=sidecar
image=
image=two words
image.repository=Two words
image.pullPolicy=Sometimes
image.pullSecrets={registry}
nameOverride=Mine
image.tag=a b
image.digest=sha256:0
namespaces[0].name=Lab
namespaces[0]=lab
webhook.failurePolicy=Never
webhook.timeoutSeconds=31
webhook.nodeName=a
namespaces[0].name=kube-system
guard.mutatedByOthers={cluster-watcher/phase}
imagePullPolicy=Always
settings.port=80
settings.port=9090
settings.prot=9090
settings.scrape=yes
settings.cpuLimit=much
defaults.dry-run=true
defaults.Dry=a
defaults.foo-bar=a
defaults.poll-interval=banana
defaults.observe=sometimes
profiles=ray
profiles[0].name=mine
ownerFromCreator=maybe
guard.enabled=true
guard.clusterLabels=a
guard.mode=warn
guard.mutatedByOthers=a
brake.enabled=maybe
brake.on=true
sweep.enabled=maybe
sweep.schedule=hourly
sweep.extraArgs={now}
sweep.on=true
settings.seccompProfile=Unconfined
allNamespaces=yes
webhook.replicas=0
webhook.certificate.crt=none
monitor=true
monitoring=yes
monitoring.on=true
monitoring.enabled=maybe
monitoring.labels.release=two words
monitoring.interval=2m
monitoring.interval=30
monitoring.sampleLimit=100
monitoring.relabelings=zone
image=
REFUSED
  while read -r refused; do
    check "the chart refuses in a row $refused" refuses "don't meet the specifications of the schema" chart template \
      --set-json 'profiles=['"$(jq -c '{name: "mine", master: {role: ["boss"]}, cluster: "example.com/c",
        root: {resource: "mines.example.com", kind: "Mine"}, uses: {resource: "jobs.example.com", cluster: "spec.c", state: "status.s"}}
        | '"$refused" <<<null)]"
  done <<'ROWS'
.name = "ray"
.name = "oshinko"
.name = null
.mastr = {}
.master = {}
.master = {role: []}
.master = {role: ["the boss"]}
.master = {"a b": ["boss"]}
.members = {"/a": ["b"]}
.cluster = "example.com/"
.cluster = "a b"
.cluster = "oshinko-cluster"
.root.resource = "mines"
.root.resource = "mines.example."
.root.kind = ""
del(.root)
.template = [""]
.rollout = 1
.pods = {fixed: "-Boss"}
.pods = {random: "perhaps"}
.uses.resource = "jobs"
.uses.until = "x"
.uses.blocks = true
.uses.ended = "x"
del(.uses.cluster)
del(.uses.state)
.theirs = {Maker: ""}
ROWS
  check "the chart refuses two rows of one name" refuses "given twice" chart template --set-json \
    'profiles=[{"name": "a", "master": {"r": ["b"]}, "cluster": "c"}, {"name": "a", "master": {"r": ["d"]}, "cluster": "c"}]'
  check "the chart refuses a row for a resource that has one" refuses "RayJob.ray.io is a root of a profile that is known already" \
    chart template --set-json 'profiles=[{"name": "a", "master": {"r": ["b"]}, "cluster": "c",
      "root": {"resource": "as.example.com", "kind": "A"}, "theirs": {"RayJob.ray.io": ""}}]'
  check "the chart refuses a namespace twice" refuses "account cluster-watcher-master is given twice in lab" \
    chart template --set-json 'namespaces=[{"name": "lab"}, {"name": "lab"}]'
  check "the chart refuses to install an image that is nowhere" refuses "image.repository is needed" \
    chart template --set image.repository=
  check "the chart refuses a limit below its request" refuses "the limit of memory, 64Mi, is below the request, 1Gi" \
    chart template --set-string settings.memoryRequest=1Gi
  check "the chart refuses a pull secret twice" refuses "a name is given twice" \
    chart template --set-string 'settings.imagePullSecrets=a\,a'
  check "the chart takes another namespace and name in each place" same <(echo '["lab","mon"] true') <(elsewhere | objects |
    jq -cr '([.[].metadata.namespace | values] | unique | tojson) + " "
      + ([.. | strings | select(test("cluster-watcher-(webhook|sweep)|^cluster-watcher[.]svc"))] == [] | tojson)')
  check "accounts that are there are used" same <(echo '["mine","theirs"] 0') <(chart template "${webhook[@]}" \
    --set webhook.certManager=true,sweep.enabled=true,sweep.serviceAccount.create=false,sweep.serviceAccount.name=mine \
    --set webhook.serviceAccount.create=false,webhook.serviceAccount.name=theirs | objects |
    jq -cr '([.. | objects | .serviceAccountName | values] | sort | tojson) + " \([.[] | select(.kind == "ServiceAccount")] | length)"')
  check "disabled, it injects nothing and guards all the same" same <(echo '["ClusterRole","ValidatingAdmissionPolicy","ValidatingAdmissionPolicyBinding"]') \
    <(chart template --kube-version=1.30.0 --set injection=disabled | objects | jq -c '[.[].kind] | unique')
  check "the chart refuses the policy before Kubernetes 1.36" \
    refuses "needs Kubernetes 1.36" chart template --kube-version=1.35.9
  check "the chart refuses the webhook without a certificate" \
    refuses "needs a certificate" chart template "${webhook[@]}"

  kubectl delete -k "$(with webhook-cert-manager monitoring)" --ignore-not-found >/dev/null
  kubectl delete -k "$tmp/manifests/policy" --ignore-not-found >/dev/null
  kubectl -n cluster-watcher delete secret cluster-watcher-webhook --ignore-not-found >/dev/null 2>&1
  check "helm says which namespaces to label" in_file "$label" <(chart install --dry-run=client)
  check "unless it is on in all" not in_file "$label" <(chart install --dry-run=client --set allNamespaces=true)
  older_chart
  check "helm installs the policy" quietly chart install --create-namespace \
    --set-string settings.port=9300,defaults.dry-run=true
  check "and pods are injected with its values" within injects '.ports[0].containerPort == 9300'
  older=
  check "helm upgrades it from a chart that has fewer values" quietly chart upgrade --reuse-values
  check "and its guard and brake are whole" same <(chart template --kube-version=1.36.0 | locks) <(locks_there)
  command=$(sed -n 's/^helm upgrade cluster-watcher manifests.chart -n cluster-watcher \(--[^ ]*\) --set monitoring.enabled=true$/\1/p' \
    "$source_dir/docs/metrics.md")
  check "helm upgrades it, with monitoring, as docs/metrics.md says" quietly chart upgrade "$command" \
    --set monitoring.enabled=true --set-string settings.port=9310
  check "and pods are injected with the new ones" within injects '.ports[0].containerPort == 9310'
  check "the dashboard and the rules are there" exists cluster-watcher configmap/cluster-watcher-dashboard \
    prometheusrule/cluster-watcher
  check "helm makes the webhook of it" quietly chart upgrade --reset-then-reuse-values \
    --set injection=webhook,webhook.certManager=true
  check "with the values in the ConfigMap" same \
    <(echo '{"default.dry-run":"true","image":"cluster-watcher:0.1.0","port":"9310"}') \
    <(kubectl -n cluster-watcher get configmap cluster-watcher -o json | jq -cS .data)
  check "and the policy is gone" absent default mutatingadmissionpolicy/cluster-watcher
  check "helm takes it off" quietly env HELM_DATA_HOME="$tmp/helm" "$tools/helm" uninstall cluster-watcher -n cluster-watcher
  check "and nothing is left but the Roles of watchers that run" absent default \
    {mutating,validating}webhookconfiguration/cluster-watcher clusterrole/cluster-watcher-unguarded
  words=$(sed -n 's/^\(kubectl delete clusterrole cluster-watcher cluster-watcher-.*\)$/\1/p' "$source_dir/docs/injection.md")
  read -ra left <<<"$words"
  check "which docs/injection.md takes off" quietly "${left[@]}"
  check "all of them" is "$(kubectl get clusterroles -o name | grep cluster-watcher)" ""
  a_part_of_another
}
