#!/usr/bin/env bash
# What `cluster-watcher inject` writes must be accepted by a real API server, for each kind, and
# except for the sidecar it must mean to kubectl what the manifest meant before.
#
#   test/integration/inject_test.sh BUILD_DIR
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"

inject() { "$watcher" inject "$@"; }
# exits CODE COMMAND...: checks the exit code; the output is in $tmp/out and $tmp/err.
exits() {
  local wanted=$1 code=0
  shift
  "$@" >"$tmp/out" 2>"$tmp/err" || code=$?
  [[ $code == "$wanted" ]]
}
no_output() { [[ ! -s $tmp/out ]]; }

WATCH_PID=$$ "$source_dir/test/kubernetes/start" "$tmp/kubernetes"
# shellcheck source=/dev/null
. "$tmp/kubernetes/env"

# as_kubectl_reads_it FILE: prints its objects with sorted keys, without asking the server.
as_kubectl_reads_it() {
  kubectl create --dry-run=client --validate=false -o json -f "$1" |
    jq -S 'if .kind == "List" then .items[] else . end'
}

# Removes the sidecar and what comes with it.
without_sidecar() {
  jq -S 'def clean: walk(if type == "object" then
      (if has("initContainers") then .initContainers |= map(select(.name != "cluster-watcher")) else . end)
      | (if .volumes | type == "array" then .volumes |= map(select(.name != "cluster-watcher-token")) else . end)
      | (if .annotations | type == "object" then del(.annotations["cluster-watcher/status"]) else . end)
      | (if .labels | type == "object" then del(.labels["cluster-watcher/injected"]) else . end)
      | del(.initContainers | select(. == [])) | del(.volumes | select(. == []))
      | del(.annotations | select(. == {}))
    else . end); clean'
}

# template INDENT [LINE...]: a pod template of a master with all sorts of scalars.
template() {
  local indent=$1
  shift
  sed "s/^/$indent/" <<'POD'
metadata:
  labels: {app: x, oshinko-type: master, "on": "yes", number: "0777"}
  annotations:
    text: |
      #!/bin/sh
      echo "é ☃"

      exit
    "1e3": '~'
    date: "2001-12-14"
spec:
  restartPolicy: RESTART
  terminationGracePeriodSeconds: 0o36
  containers:
  - name: master
    image: spark  # a comment
    args: ["-1", --port, "7077", 'null', "\u2028\ttab"]
    ports: [{containerPort: 0x1F90}]
    readinessProbe: {exec: {command: [true-ish]}, periodSeconds: 1e1}
    securityContext: {readOnlyRootFilesystem: yes, privileged: off}
    volumeMounts: [{name: conf, mountPath: /conf}]
  volumes:
  - name: conf
    emptyDir: {}
POD
}

# manifest KIND: writes one of that kind to $tmp/KIND.yaml.
manifest() {
  local kind=$1 version=apps/v1 restart=Always
  case $kind in
    Pod | PodTemplate | ReplicationController) version=v1 ;;
    Job | CronJob) version=batch/v1 restart=Never ;;
    DeploymentConfig) version=apps.openshift.io/v1 ;;
    Ray*) version=ray.io/v1 ;;
  esac
  {
    echo "# of kind $kind"
    echo "apiVersion: $version"
    echo "kind: $kind"
    case $kind in
      Pod) template "" | sed 's/^metadata:/&\n  name: bob/' ;;
      PodTemplate) printf '%s\n' 'metadata: {name: bob}' 'template:' && template "  " ;;
      CronJob)
        printf '%s\n' 'metadata: {name: bob}' 'spec:' '  schedule: "* * * * *"' '  jobTemplate:' \
          '    spec:' '      template:'
        template "        "
        ;;
      RayCluster)
        printf '%s\n' 'metadata: {name: bob}' 'spec:' '  headGroupSpec:' '    template:'
        template "      "
        ;;
      RayJob)
        printf '%s\n' 'metadata: {name: bob}' 'spec:' '  rayClusterSpec:' '    headGroupSpec:' '      template:'
        template "        "
        ;;
      RayService)
        printf '%s\n' 'metadata: {name: bob}' 'spec:' '  rayClusterConfig:' '    headGroupSpec:' '      template:'
        template "        "
        ;;
      *)
        printf '%s\n' 'metadata: &meta' '  name: bob' '  labels: &labels {app: x}' 'spec:'
        case $kind in
          ReplicationController | DeploymentConfig) echo '  selector: *labels' ;;
          Job) ;;
          *) echo '  selector: {matchLabels: {<<: *labels}}' ;;
        esac
        [[ $kind != StatefulSet ]] || echo '  serviceName: bob'
        echo '  template:'
        template "    "
        ;;
    esac
  } | sed "s/RESTART/$restart/" >"$tmp/$kind.yaml"
}

foreign_kind deploymentconfigs apps.openshift.io v1 DeploymentConfig
foreign_kind rayclusters ray.io v1 RayCluster
foreign_kind rayjobs ray.io v1 RayJob
foreign_kind rayservices ray.io v1 RayService

server_takes() { kubectl apply --dry-run=server --warnings-as-errors -f "$1" >/dev/null; }
has_sidecar() {
  kubectl create --dry-run=server -o json -f "$1" | jq -e '
    [.. | objects | select(has("initContainers")) | .initContainers[0]
     | select(.name == "cluster-watcher" and .restartPolicy == "Always")] | length == 1' >/dev/null
}

kinds=(Pod PodTemplate ReplicationController Deployment ReplicaSet StatefulSet DaemonSet Job CronJob
  DeploymentConfig RayCluster RayJob RayService)
for kind in "${kinds[@]}"; do
  manifest "$kind"
  check "$kind: the manifest is right" server_takes "$tmp/$kind.yaml"
  check "$kind: injected" exits 0 inject -f "$tmp/$kind.yaml"
  check "$kind: no warning" same /dev/null "$tmp/err"
  cp "$tmp/out" "$tmp/injected.yaml"
  check "$kind: the API server takes it" server_takes "$tmp/injected.yaml"
  check "$kind: it has one sidecar" has_sidecar "$tmp/injected.yaml"
  as_kubectl_reads_it "$tmp/$kind.yaml" | without_sidecar >"$tmp/before.json"
  as_kubectl_reads_it "$tmp/injected.yaml" | without_sidecar >"$tmp/after.json"
  check "$kind: kubectl reads it as YAML 1.1" in_file '"terminationGracePeriodSeconds": 30' "$tmp/before.json"
  check "$kind: it means the same else" same "$tmp/before.json" "$tmp/after.json"
  check "$kind: injected again" exits 0 inject -f "$tmp/injected.yaml"
  check "$kind: nothing changes" same "$tmp/injected.yaml" "$tmp/out"
  as_kubectl_reads_it "$tmp/$kind.yaml" >"$tmp/$kind.json"
  check "$kind: injected as JSON" exits 0 inject -f "$tmp/$kind.json"
  check "$kind: which stays JSON" jq -e . "$tmp/out" >/dev/null
  check "$kind: the API server takes the JSON" server_takes "$tmp/out"
  check "$kind: which has one sidecar" has_sidecar "$tmp/out"
done

# All of them together, as separate files and as one List.
files=()
for kind in "${kinds[@]}"; do files+=(-f "$tmp/$kind.yaml"); done
check "several files" exits 0 inject "${files[@]}"
check "the API server takes them" server_takes "$tmp/out"
jsons=()
for kind in "${kinds[@]}"; do jsons+=("$tmp/$kind.json"); done
jq -s '{apiVersion: "v1", kind: "List", items: .}' "${jsons[@]}" >"$tmp/list.json"
check "a List" exits 0 inject -f "$tmp/list.json"
check "the API server takes the List" server_takes "$tmp/out"
check "each of its items has the sidecar" \
  [ "$(jq '[.. | objects | select(.name? == "CLUSTER_WATCHER_LISTEN")] | length' "$tmp/out")" = "${#kinds[@]}" ]

# A document that isn't injected stays unchanged, alone or beside others.
printf -- '---\n# a comment\napiVersion: v1\r\nkind:   ConfigMap\ndata: &x { "a" : '\''b'\'' }\nbinaryData: {}\nmetadata: {name: c}\n...\n' \
  >"$tmp/other.yaml"
check "another kind" exits 0 inject -f "$tmp/other.yaml"
check "stays byte for byte" cmp "$tmp/other.yaml" "$tmp/out"
cat "$tmp/Pod.yaml" "$tmp/other.yaml" "$tmp/other.yaml" >"$tmp/both.yaml"
check "beside a pod" exits 0 inject -f "$tmp/both.yaml"
tail -c "$(($(wc -c <"$tmp/other.yaml") * 2))" "$tmp/out" >"$tmp/tail.yaml"
cat "$tmp/other.yaml" "$tmp/other.yaml" >"$tmp/others.yaml"
check "it stays byte for byte" cmp "$tmp/others.yaml" "$tmp/tail.yaml"
check "the shipped manifests stay, for their master has the watcher" \
  exits 0 inject -f "$source_dir/manifests/examples/spark/cluster.yaml"
check "byte for byte" cmp "$source_dir/manifests/examples/spark/cluster.yaml" "$tmp/out"

# The typical use.
check "from stdin to kubectl" bash -c "set -o pipefail
  '$watcher' inject <'$tmp/both.yaml' | kubectl apply --dry-run=server -f - >/dev/null"
check "from - to kubectl" bash -c "set -o pipefail
  '$watcher' inject -f - --image=registry.example/w:1 <'$tmp/Job.yaml' |
    kubectl create --dry-run=server -o json -f - | grep -qF registry.example/w:1"

# Settings.
cat >"$tmp/config.yaml" <<'CONFIG'
apiVersion: v1
kind: ConfigMap
metadata: {name: cluster-watcher, namespace: cluster-watcher}
data:
  image: example/watcher:2
  port: "9191"
  default.dry-run: "true"
CONFIG
check "settings of a manifest" exits 0 inject --config="$tmp/config.yaml" -f "$tmp/Pod.yaml"
check "are taken" in_file "containerPort: 9191" "$tmp/out"
check "also the watcher's" in_file 'cluster-watcher/dry-run: "true"' "$tmp/out"
mkdir "$tmp/config"
echo example/watcher:3 >"$tmp/config/image"
check "settings of a directory" exits 0 inject --config="$tmp/config" -f "$tmp/Pod.yaml"
check "are taken, too" in_file "image: example/watcher:3" "$tmp/out"
check "an image for a sidecar that is there" exits 0 inject --image=example/watcher:4 -f "$tmp/injected.yaml"
check "replaces its own" in_file "image: example/watcher:4" "$tmp/out"
check "and nothing else" same <(sed 's,cluster-watcher:0.1.0,example/watcher:4,' "$tmp/injected.yaml") "$tmp/out"
check "the settings' image" exits 0 inject --config="$tmp/config" -f "$tmp/injected.yaml"
check "doesn't" same "$tmp/injected.yaml" "$tmp/out"
check "and says so" in_file 'its sidecar keeps the image "cluster-watcher:0.1.0": --image replaces it' "$tmp/err"
check "nor does one for a sidecar by hand" exits 0 inject --image=example/watcher:4 -f "$source_dir/manifests/examples/spark/cluster.yaml"
check "which says so too" in_file "it has a container called cluster-watcher already" "$tmp/err"
echo x >"$tmp/config/port"
check "wrong settings" exits 2 inject --config="$tmp/config" -f "$tmp/Pod.yaml"
check "are named" in_file "$tmp/config: port: " "$tmp/err"
check "without output" no_output

# Ten thousand manifests with all that readers of YAML disagree about: except for the sidecar each
# means to kubectl's reader what it meant. Refused are only rare ones, with place and reason.
judge=$("$source_dir/test/yaml/build")/judge
check "10,000 generated manifests" exits 0 "$judge" "$watcher" 10000 1
tail -n 12 "$tmp/out"

# Errors.
check "no such file" exits 1 inject -f "$tmp/Pod.yaml" -f "$tmp/none"
check "is named" in_file "$tmp/none can't be read" "$tmp/err"
check "no output" no_output
{ cat "$tmp/Pod.yaml" && printf -- '---\na: b: c\n'; } >"$tmp/broken.yaml"
check "what is no YAML" exits 1 inject -f "$tmp/broken.yaml"
check "is named by line and column" in_file \
  "broken.yaml, line $(wc -l <"$tmp/broken.yaml"), column 5: it is not valid YAML" "$tmp/err"
check "nothing of it is written" no_output
sed 's/oshinko-type: master/&, x: y/; s|^  annotations:|&\n    cluster-watcher/poll-interval: soon|' \
  "$tmp/Pod.yaml" >"$tmp/soon.yaml"
check "a bad annotation" exits 0 inject -f "$tmp/soon.yaml"
check "is warned of" in_file "cluster-watcher: $tmp/soon.yaml: pod/bob: annotation" "$tmp/err"
check "a bad annotation" exits 1 inject --reject-invalid -f "$tmp/soon.yaml"
check "can be refused" no_output

finished=true
echo "$passed passed, $failed failed"
((failed == 0))
