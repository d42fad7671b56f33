# The tools of scripts/bench: clocks, medians, test objects, and readings of a watcher. Uses $work,
# $api, $binary, $namespace and the environment of test/kubernetes/start.
# shellcheck shell=bash disable=SC2154

# clock: sets $now to microseconds since 1970.
clock() { now=${EPOCHREALTIME/[.,]/}; }

# spread FILE: the median, minimum and maximum of the numbers in it.
spread() {
  sort -g "$1" | awk '{ v[NR] = $1 }
    END {
      if (NR == 0) exit 1
      middle = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
      print middle, v[1], v[NR]
    }'
}
median() { spread "$1" | cut -d ' ' -f 1; }

# wall_ms COMMAND...: how long it takes, in ms.
wall_ms() {
  local began now
  clock
  began=$now
  "$@" >/dev/null
  clock
  awk -v us=$((now - began)) 'BEGIN { printf "%.2f\n", us / 1000 }'
}

# cpu_us_each COUNT COMMAND...: user and system time of one of COUNT runs, in µs.
cpu_us_each() {
  local count=$1 TIMEFORMAT='%3U %3S' times
  shift
  times=$({ time for ((run = 0; run < count; run++)); do "$@" >/dev/null; done; } 2>&1)
  awk -v n="$count" '{ printf "%.0f\n", ($1 + $2) * 1e6 / n }' <<<"$times"
}

# until_true SECONDS COMMAND...
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || die "waited in vain for: $*"
    sleep 0.02
  done
}

# --- objects ---

# shellcheck source=../deployment.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/../deployment.bash"

# configmaps PREFIX COUNT LABELS [OWNER UID]: with an ownerReference if an owner is given.
configmaps() {
  local i references=
  [[ -z ${4-} ]] ||
    references=", ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: $4, uid: $5}]"
  for ((i = 0; i < $2; i++)); do
    echo "---"
    echo "{apiVersion: v1, kind: ConfigMap, metadata: {name: $1-$i, labels: {$3}$references}}"
  done
}

create() { kubectl -n "$namespace" create -f - >/dev/null; }
master_pod() {
  pod=$(kubectl -n "$namespace" get pods -l "app=$1" -o name) && pod=${pod#pod/} && [[ -n $pod ]]
}

# fetch CURL-ARGUMENT...: asks the API server.
fetch() {
  curl -sS --fail --cacert "$APISERVER_CA" -H "@$work/authorization" "$@"
}

# --- a watcher ---

# start_watcher CLUSTER OWNER FLAG...: sets $watcher and $metrics, and waits for "keep: active".
start_watcher() {
  master_pod "$1-m" || die "the pod of $1-m is not there"
  log=$work/$1.log
  local owner=$2
  shift 2
  : >"$log"
  "$binary" watch --kubeconfig="$KUBECONFIG" --namespace="$namespace" --pod="$pod" \
    --owner="deployment/$owner" --poll-interval=100ms \
    --listen=127.0.0.1:0 "$@" </dev/null >/dev/null 2>"$log" &
  watcher=$!
  pids[watcher]=$watcher
  until_true 30 grep -q 'keep: active' "$log"
  until_true 10 grep -q 'health on port' "$log"
  metrics=http://127.0.0.1:$(sed -nE 's/.*health on port ([0-9]+).*/\1/p' "$log")/metrics
}
stop_watcher() {
  kill -TERM "$watcher"
  wait "$watcher" || die "the watcher failed: $(tail -n 3 "$log")"
  unset 'pids[watcher]'
}

# reading: prints "polls requests cpu_us" of the watcher so far, from a single answer.
reading() {
  curl -sS --fail "$metrics" | awk '
    /^cluster_watcher_polls_total/ { polls += $NF }
    /^rest_client_requests_total/ { requests += $NF }
    /^process_cpu_seconds_total/ { cpu = $NF }
    END { printf "%d %d %.0f\n", polls, requests, cpu * 1e6 }'
}
polled() {
  local polls
  read -r polls _ < <(reading)
  ((polls >= $1))
}

# answers COUNT URL: asks the watcher so often, each time over a new connection; prints "cpu_us
# wall_us" for one answer. The CPU time is the watcher's, polls included; the wall time includes
# curl's.
answers() {
  local began now c0 c1
  read -r _ _ c0 < <(reading)
  clock
  began=$now
  curl -sS --fail -o /dev/null "$2?[1-$1]"
  clock
  read -r _ _ c1 < <(reading)
  awk -v n="$1" -v c=$((c1 - c0)) -v w=$((now - began)) 'BEGIN { printf "%.1f %.1f\n", c / n, w / n }'
}

# traffic PID: prints "port sent received" for each connection to the API server, in bytes so far.
traffic() {
  ss -tinpH state established dport = ":${APISERVER##*:}" | awk -v pid="pid=$1," '
    /users:/ { ours = index($0, pid); port = $3; sub(/.*:/, "", port) }
    ours && match($0, /bytes_received:[0-9]+/) {
      received = substr($0, RSTART + 15, RLENGTH - 15)
      sent = match($0, /bytes_acked:[0-9]+/) ? substr($0, RSTART + 12, RLENGTH - 12) : 0
      print port, sent, received
    }'
}
# traffic_for SECONDS PID EVERY: prints "sent received connections-opened" for that time. Misses
# what a connection carries between its last sample and its end.
traffic_for() {
  local began now sample
  clock
  began=$now
  for ((sample = 0;; sample++)); do
    traffic "$2" | sed "s/^/$sample /"
    ((sample > 0 && now - began >= $1 * 1000000)) && break
    sleep "$3"
    clock
  done | awk '
    !($2 in first) { first[$2] = $1; if ($1 == 0) { sent -= $3; received -= $4 } else opened++ }
    { s[$2] = $3; r[$2] = $4 }
    END {
      for (port in s) { sent += s[port]; received += r[port] }
      printf "%d %d %d\n", sent, received, opened
    }'
}

# cpu_ticks PID: user and system time, in clock ticks, as the kernel counts them.
cpu_ticks() {
  local line
  local -a fields
  line=$(<"/proc/$1/stat")
  read -r -a fields <<<"${line##*) }"
  echo $((fields[11] + fields[12]))
}
memory_kib() { awk -v key="$2:" '$1 == key { print $2 }' "/proc/$1/status"; }

# --- how long deleting members takes ---

# observe SELECTOR COUNT: follows the ConfigMaps of SELECTOR by a watch, which costs an idle server
# nothing; returns when it has seen all COUNT of them.
observe() {
  exec {members}< <(exec curl -sSN --cacert "$APISERVER_CA" -H "@$work/authorization" \
    -H 'Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' \
    "$api/configmaps?watch=1&timeoutSeconds=120&labelSelector=$1")
  pids[observer]=$!
  expect_members ADDED "$2"
}
# expect_members TYPE COUNT
expect_members() {
  local seen
  seen=$(grep -c -m "$2" "^{\"type\":\"$1\"" <&"$members") || seen=0
  ((seen == $2)) || die "the observer saw $seen of $2 members $1"
}
# all_gone SELECTOR COUNT: waits for them, and sets $gone to the time when the last one was gone. A
# consistent read afterwards proves that none is left.
all_gone() {
  local now
  expect_members DELETED "$2"
  clock
  gone=$now
  kill "${pids[observer]}" 2>/dev/null || :
  exec {members}<&-
  unset 'pids[observer]'
  fetch -o "$work/left" "$api/configmaps?labelSelector=$1"
  [[ $(tr -d ' \n' <"$work/left") == *'"items":[]'* ]] || die "members of $1 are left"
}

# our_members NAME COUNT: deletes the driver of a cluster of COUNT ConfigMaps. Prints
# - the ms from the end of the grace period until the last member was gone, as observed,
# - those until the watcher said that all is done, including the master root;
# - the ms from the first delete to the answer that verified that no member is left,
# - the requests in that time, for each member;
# - the peak of resident memory in KiB, above the value before.
our_members() {
  local name=$1 count=$2 selector=oshinko-cluster=$1 abandoned grace_end done_at idle_kib
  {
    deployment "$name-driver" ""
    deployment "$name-m" "oshinko-cluster: $name, oshinko-type: master"
    configmaps "$name" "$count" "oshinko-cluster: $name"
  } | create
  until_true 30 master_pod "$name-m"
  until_true 30 master_pod "$name-driver"
  start_watcher "$name" "$name-driver" --grace-period=1s --log-level=trace
  sleep 1
  idle_kib=$(memory_kib "$watcher" VmRSS)
  echo 5 >"/proc/$watcher/clear_refs"  # Resets VmHWM.
  observe "$selector" "$count"
  kubectl -n "$namespace" delete deployment "$name-driver" --wait=false >/dev/null
  all_gone "$selector" "$count"
  until_true 30 grep -q " Cluster $name is deleted" "$log"
  # The verdict that began the grace period: the first one with no "keep" after it.
  abandoned=$(awk '$3 == "keep:" { since = "" } $3 == "abandoned:" && since == "" { since = $1 }
    END { print since }' "$log")
  grace_end=$(($(microseconds "$abandoned") + 1000000))
  done_at=$(microseconds "$(awk '/ is deleted / { print $1; exit }' "$log")")
  idle_kib=$(($(memory_kib "$watcher" VmHWM) - idle_kib))
  stop_watcher
  awk -v gone=$((gone - grace_end)) -v all=$((done_at - grace_end)) -v memory=$idle_kib \
    -v members="$(members_gone "$log" "$count" "$name-m")" \
    'BEGIN { printf "%.1f %.1f %s %d\n", gone / 1000, all / 1000, members, memory }'
}

# members_gone LOG COUNT ROOT: prints "ms requests-per-member" from the first delete to the last answer
# before the watcher deleted the root, a Deployment, from its trace. Trace lines are "TIME trace METHOD
# TARGET STATUS in N us", written when the answer has arrived.
members_gone() {
  local first last requests
  read -r first requests last < <(awk -v root="/deployments/$3" '
    $2 == "trace" && $3 == "DELETE" && index($4, root) { print first, requests, last; exit }
    $2 == "trace" && $3 == "DELETE" && !begun { begun = 1; first = $1 " " $(NF - 1) }
    $2 == "trace" && begun { requests++; last = $1 }' "$log" |
    awk '{ print $1 "|" $2, $3, $4 }')
  awk -v us=$(($(microseconds "$last") - $(microseconds "${first%|*}") + ${first#*|})) \
    -v requests="$requests" -v count="$2" \
    'BEGIN { printf "%.1f %.2f", us / 1000, requests / count }'
}

# garbage_members NAME COUNT: the same for ConfigMaps whose owner is deleted, from the answer to the
# DELETE.
garbage_members() {
  local name=$1 count=$2 selector=bench-garbage=$1 uid began now
  configmaps "$name-owner" 1 "" | create
  uid=$(kubectl -n "$namespace" get configmap "$name-owner-0" -o 'jsonpath={.metadata.uid}')
  configmaps "$name" "$count" "bench-garbage: $name" "$name-owner-0" "$uid" | create
  sleep 3  # Lets its request allowance fill up.
  observe "$selector" "$count"
  fetch -o /dev/null -X DELETE "$api/configmaps/$name-owner-0?propagationPolicy=Background"
  clock
  began=$now
  all_gone "$selector" "$count"
  awk -v us=$((gone - began)) 'BEGIN { printf "%.1f\n", us / 1000 }'
}

# microseconds TIME: a time in the log as microseconds since 1970.
microseconds() { echo $(($(date -d "$1" +%s%N) / 1000)); }
