# What scripts/bench_goals measures, one function for each row of its table. Each writes numbers, one a
# line, to $work/FIGURE.WHO.
# shellcheck shell=bash disable=SC2154
kib_to_mb() { awk -v v="$1" 'BEGIN { printf "%.2f\n", v * 1024 / 1e6 }'; }

# make_cluster NAME OWNER: and its driver, if that isn't there.
make_cluster() {
  {
    kubectl -n "$namespace" get deployment "$2" >/dev/null 2>&1 || deployment "$2" ""
    deployment "$1-m" "oshinko-cluster: $1, oshinko-type: master"
  } | create
  until_true 60 master_pod "$2"
  until_true 60 master_pod "$1-m"
}
delete_deployment() { fetch -o /dev/null -X DELETE "$APISERVER/apis/apps/v1/namespaces/$namespace/deployments/$1"; }

# A peer must see its owner scaled to zero, back, and gone, and ask as often as it says.
try_verdicts() {
  local who
  make_cluster trial trial-driver
  for who in $(those ours watching); do
    start "$who" "trial-$who" trial trial-driver 100ms
    started "$who" "trial-$who"
    polls_of "$who" "trial-$who"
    until_true 60 polled_by "$who" "trial-$who" $((polls + 3))
  done
  kubectl -n "$namespace" scale deployment trial-driver --replicas=0 >/dev/null
  each_says 'verdict: gone' 1
  kubectl -n "$namespace" scale deployment trial-driver --replicas=1 >/dev/null
  each_says 'verdict: active' 2
  delete_deployment trial-driver
  each_says 'verdict: gone' 2
  for who in $(those ours watching); do ended "trial-$who"; done
}
# each_says TEXT TIMES: waits until each peer has.
each_says() {
  local who
  for who in $(those ours watching); do
    until_true 30 more_lines $(($2 - 1)) "$1" "$work/trial-$who.log"
  done
}

# --- size ---

# The others' image would be their program alone.
measure_sizes() {
  local layout=$work/delivered/image manifest layer who file
  # Of the image's index, what is for this machine.
  manifest=$(jq -r '.manifests[0].digest | sub(":"; "/")' "$layout/index.json")
  manifest=$(jq -r '.manifests[0].digest | sub(":"; "/")' "$layout/blobs/$manifest")
  jq '[.layers[].size] | add / 1e6' "$layout/blobs/$manifest" >"$work/image.ours"
  for layer in $(jq -r '.layers[].digest | sub(":"; "/")' "$layout/blobs/$manifest"); do
    zstd -qdc "$layout/blobs/$layer" | tar -tv
  done >"$work/files"
  awk '$1 ~ /^-/ && $NF ~ /\/cluster-watcher$/ { print $3 / 1e6 }' "$work/files" >"$work/program.ours"
  grep -cE '\.so(\.[0-9.]+)?$' "$work/files" >"$work/libraries.ours" || :
  for who in $(those ours watching); do
    file=$peers/$who
    [[ $who != kubectl_loop ]] || file=$(command -v kubectl)
    mb "$(wc -c <"$file")" >"$work/program.$who"
    mb "$(tar -C "$(dirname -- "$file")" -c "$(basename -- "$file")" | gzip | wc -c)" >"$work/image.$who"
  done
}

# --- exec ---

measure_exec() {
  local round who
  say "exec of version, 200 runs each"
  for round in {1..5}; do
    build-optimized/stopwatch 40 "" /bin/true >>"$work/version-true"
    for who in $(those watching); do
      case $who in
        ours) command=("$binary" version) ;;
        kubectl_loop) command=(kubectl version --client) ;;
        *) command=("$peers/$who" version) ;;
      esac
      build-optimized/stopwatch 40 "" "${command[@]}" >>"$work/version-$who"
    done
  done
  say "exec to first verdict, 20 runs each"
  for round in {0..20}; do
    for who in "${available[@]}"; do
      command_of "$who" spark bob 5s
      build-optimized/stopwatch 1 "$verdict" "${command[@]}" >>"$work/first-$who"
      # What the first leaves behind, as kubectl's discovery, the others find.
      ((round > 0)) || : >"$work/first-$who"
    done
  done
  for who in true "${available[@]}"; do
    [[ ! -s $work/version-$who ]] || cut -d ' ' -f 1 "$work/version-$who" >"$work/version.$who"
    [[ ! -s $work/first-$who ]] || cut -d ' ' -f 1 "$work/first-$who" >"$work/first.$who"
  done
}

# --- CPU ---

measure_cpu() {
  local who
  local -A cpu_before=() polls_before=()
  say "CPU for a poll at 1 s, all side by side, 3 times at least 60 polls"
  for who in $(those watching); do start "$who" "cpu-$who" spark bob 1s; done
  for who in $(those watching); do started "$who" "cpu-$who"; done
  sleep 5
  for _ in 1 2 3; do
    for who in $(those watching); do
      polls_of "$who" "cpu-$who"
      polls_before[$who]=$polls
      cpu_before[$who]=$(cpu_of "${pids[cpu-$who]}")
    done
    sleep 60
    for who in $(those watching); do
      until_true 120 polled_by "$who" "cpu-$who" $((polls_before[$who] + 60))
    done
    for who in $(those watching); do
      cpu_before[$who]=$(($(cpu_of "${pids[cpu-$who]}") - cpu_before[$who]))
      polls_of "$who" "cpu-$who"
      echo $((cpu_before[$who] / (polls - polls_before[$who]))) >>"$work/cpu.$who"
    done
  done
  for who in $(those watching); do ended "cpu-$who"; done
}

# --- what it costs the API server ---

# api_server_rate SECONDS: the µs of CPU that it uses in one second.
api_server_rate() {
  local began now before
  before=$(build-optimized/cpu_clock "$apiserver")
  clock
  began=$now
  sleep "$1"
  clock
  awk -v c=$(($(build-optimized/cpu_clock "$apiserver") - before)) -v t=$((now - began)) 'BEGIN { print c / t * 1e6 }'
}
# crowd WHO COUNT INTERVAL: starts COUNT of them within 5 s, since those that poll at the same moment
# cost the API server less than a fleet does, and waits for the first verdict of each.
crowd() {
  local i
  command_of "$1" spark bob "$3"
  for ((i = 0; i < $2; i++)); do
    "${command[@]}" </dev/null >"$work/crowd-$i.log" 2>&1 &
    pids["crowd-$i"]=$!
    sleep "$(awk -v n="$2" 'BEGIN { print 5 / n }')"
  done
  for ((i = 0; i < $2; i++)); do until_true 120 grep -q "$verdict" "$work/crowd-$i.log"; done
}
dispersed() {
  local i
  for ((i = 0; i < $1; i++)); do ended "crowd-$i"; done
}
# above IDLE RATE POLLS: for each of so many polls in a second.
above() { awk -v i="$1" -v r="$2" -v n="$3" 'BEGIN { printf "%.1f\n", (r - i) / n }'; }
each_second() { awk -v n="$1" -v s="$2" 'BEGIN { print n / s }'; }

# Controllers stand still meanwhile, so that the API server is idle without the sidecars.
measure_api_server() {
  local who idle began window many=$((sidecars * 3)) each
  each=$(each_second "$sidecars" 5)
  kill -STOP "$manager"
  for who in $(those kubectl_loop watching); do
    say "the API server's CPU for $sidecars times ${labels[$who]}"
    sleep 5
    idle=$(api_server_rate 30)
    began=$SECONDS
    crowd "$who" "$sidecars" 5s
    sleep 3
    # Ours ask for more when a minute has passed.
    ((SECONDS - began < 35)) || say "they have taken $((SECONDS - began)) s to start: less SIDECARS would be better."
    window=$(((48 - (SECONDS - began)) / 3))
    for _ in 1 2 3; do above "$idle" "$(api_server_rate $((window > 5 ? window : 5)))" "$each" >>"$work/api.$who"; done
    [[ $who != ours ]] || above "$idle" "$(api_server_rate 60)" "$each" >>"$work/api-minute.$who"
    dispersed "$sidecars"
    crowd "$who" "$sidecars" 500ms
    for _ in 1 2 3; do above "$idle" "$(api_server_rate 10)" "$(each_second "$sidecars" 0.5)" >>"$work/api-busy.$who"; done
    dispersed "$sidecars"
  done
  if [[ " ${available[*]} " == *" watching "* ]]; then
    say "the API server's CPU for $many times ${labels[watching]}"
    sleep 5
    idle=$(api_server_rate 60)
    crowd watching "$many" 5s
    # A watch begins after the first poll.
    sleep 15
    for _ in 1 2 3; do above "$idle" "$(api_server_rate 60)" "$(each_second "$many" 5)" >>"$work/api.watching"; done
    dispersed "$many"
  fi
  kill -CONT "$manager"
}

# --- verdicts that last ---

lasting=(shared shared-by-replicas held in-use refused)
requests_of() { curl -sS --fail "$(metrics_of "$1")" | awk '/^rest_client_requests_total/ { n += $NF } END { print n + 0 }'; }
# An admission that refuses to condemn the cluster.
refuse_to_condemn() {
  kubectl create -f - >/dev/null <<POLICY
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: bench-refused}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [UPDATE]}]
  validations:
  - expression: |-
      object.metadata.name != "$1"
      || object.metadata.?annotations[?"cluster-watcher/phase"].orValue("") != "condemned"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: bench-refused}
spec: {policyName: bench-refused, validationActions: [Deny]}
POLICY
}
# Counts the requests of a minute, side by side, when each verdict has lasted for three.
measure_standing() {
  local state verdict
  local -A before=()
  say "requests of verdicts that last"
  make_cluster standing-shared driver-active
  master_pod standing-shared-m
  "$binary" watch --kubeconfig="$KUBECONFIG" --namespace="$namespace" --pod="$pod" --listen=127.0.0.1:0 \
    </dev/null >/dev/null 2>"$work/standing-shared.log" &
  pids[standing-shared]=$!
  for state in active "${lasting[@]:1}"; do
    make_cluster "standing-$state" "driver-$state"
    start ours "standing-$state" "standing-$state" "driver-$state" 5s
    started ours "standing-$state"
  done
  kubectl -n "$namespace" scale deployment driver-shared-by-replicas --replicas=2 >/dev/null
  kubectl -n "$namespace" annotate deployment standing-held-m \
    cluster-watcher/hold-until="$(date -u -d '+1 day' +%FT%TZ)" >/dev/null
  deployment standing-user "uses-oshinko-cluster: standing-in-use" | create
  refuse_to_condemn standing-refused-m
  kubectl -n "$namespace" scale deployment driver-in-use driver-refused --replicas=0 >/dev/null
  for state in "${lasting[@]}"; do
    verdict=$state
    [[ $state != refused ]] || verdict=held
    until_true 180 grep -qE "keep: $verdict( |\$)" "$work/standing-$state.log"
  done
  sleep 180
  for state in active "${lasting[@]}"; do before[$state]=$(requests_of "standing-$state"); done
  sleep 60
  for state in active "${lasting[@]}"; do
    echo $(($(requests_of "standing-$state") - before[$state])) >"$work/standing.$state"
    ended "standing-$state"
  done
}

# --- the reaction ---

# first_sent LOG SINCE: when the first request after that was sent, in µs, from its trace.
first_sent() {
  local time took sent
  while read -r time took; do
    sent=$(($(microseconds "$time") - took))
    if ((sent >= $2)); then echo "$sent"; return; fi
  done < <(awk '$2 == "trace" { print $1, $(NF - 1) }' "$1" | awk -v since="$(date -u -d "@${2:0:10}" +%FT%T)" '$1 >= since')
  die "no request was sent after the driver was gone"
}
in_log() { microseconds "$(awk -v word="$2" '$3 == word { print $1; exit }' "$1")"; }
ms_since() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f\n", (a - b) / 1000 }'; }

measure_reaction() {
  local round who now gone asked log grace=12
  say "the reaction to a driver that is gone, $rounds rounds"
  for ((round = 0; round < rounds; round++)); do
    for who in "${available[@]}"; do
      if [[ $who == ours || $who == watching ]]; then make_cluster "gone-$round-$who" "driver-$round"; fi
      start "$who" "gone-$who" "gone-$round-$who" "driver-$round" 5s --grace-period=${grace}s --log-level=trace
    done
    for who in "${available[@]}"; do started "$who" "gone-$who"; done
    # A watch begins after the first poll. Anywhere between two polls.
    sleep "$((7 + RANDOM % 5)).$((RANDOM % 10))"
    clock
    asked=$now
    delete_deployment "driver-$round"
    clock
    gone=$now
    for who in "${available[@]}"; do
      log=$work/gone-$who.log
      case $who in
        ours | watching)
          until_true 60 grep -q ' condemned: ' "$log"
          ms_since "$(first_sent "$log" "$asked")" "$gone" >>"$work/noticed.$who"
          ms_since "$(in_log "$log" abandoned:)" "$gone" >>"$work/verdict.$who"
          ms_since "$(in_log "$log" condemned:)" $((gone + grace * 1000000)) >>"$work/condemned.$who"
          until_true 60 grep -q ' is deleted' "$log"
          ;;
        *)
          until_true 60 grep -q ' verdict: gone' "$log"
          ms_since "$(sed -n 's/ verdict: gone$//p' "$log")" "$gone" >>"$work/verdict.$who"
          ;;
      esac
      ended "gone-$who"
    done
  done
}

# --- members ---

# bare_members NAME COUNT: what deleting such ConfigMaps takes that are just sent deletes; prints "ms to
# open the connections, ms to delete".
bare_members() {
  configmaps "$1" "$2" "bench-bare: $1" | create
  kubectl -n "$namespace" get configmaps -l "bench-bare=$1" -o 'jsonpath={range .items[*]}'"/api/v1/namespaces/$namespace/configmaps/"'{.metadata.name} {.metadata.uid} {.metadata.resourceVersion}{"\n"}{end}' >"$work/bare"
  (($(wc -l <"$work/bare") == $2)) || die "there are $(wc -l <"$work/bare") of $2 ConfigMaps"
  build-optimized/bare_deletes "$APISERVER" "$APISERVER_CA" "$work/token" <"$work/bare"
}
measure_members() {
  local count=$1 run runs=$rounds verified memory opened deleted
  ((count < 1000 || runs < 3)) || runs=3
  say "$count members, $runs runs after one that doesn't count"
  for ((run = 0; run <= runs; run++)); do
    our_members "members-$count-$run" "$count" >"$work/ours"
    read -r _ _ verified _ memory <"$work/ours"
    bare_members "bare-$count-$run" "$count" >"$work/bare-ms"
    read -r opened deleted <"$work/bare-ms"
    ((run > 0)) || continue
    echo "$verified" >>"$work/members-$count"
    kib_to_mb "$memory" >>"$work/memory-$count"
    echo "$opened" >>"$work/open-$count"
    echo "$deleted" >>"$work/bare-$count"
  done
  awk -v a="$(median "$work/memory-$count")" -v b="$(median "$work/memory-20")" 'BEGIN { print a - b }' >"$work/memory-growth"
}

# --- memory ---

measure_residence() {
  local who
  say "$polls_wanted polls each 100 ms, and as many scrapes of ours"
  for who in $(those watching kubectl_loop); do
    start "$who" "long-$who" spark bob 100ms
    started "$who" "long-$who"
  done
  curl -sS --fail --rate 10/s -o /dev/null "$(metrics_of long-ours)?[1-$polls_wanted]" || die "a scrape failed"
  for who in $(those watching kubectl_loop); do
    until_true 1800 polled_by "$who" "long-$who" "$polls_wanted"
  done
  sleep 2
  for who in $(those watching kubectl_loop); do
    kib_to_mb "$(memory_kib "${pids[long-$who]}" VmRSS)" >"$work/resident.$who"
    kib_to_mb "$(memory_kib "${pids[long-$who]}" RssAnon)" >"$work/private.$who"
    map_of "${pids[long-$who]}" >"$work/map.$who"
    ended "long-$who"
  done
  # Of kubectl the process that asks, while it does.
  build-optimized/stopwatch 5 "" kubectl -n "$namespace" get deployment bob -o name |
    while read -r _ kib; do kib_to_mb "$kib"; done >"$work/resident.kubectl_loop"
}
