# Our sidecar and its peers, by one way to start, to read and to end them. After control_plane.bash
# and measure.bash; uses $binary and $peers, the directory that peers/build prints.
#
# WHO is one of $everybody; "watching" is ours with --observe=watch.
# shellcheck shell=bash disable=SC2034,SC2154
everybody=(ours watching standard_library client_go kube_rs kubectl_loop)
declare -A labels=(
  [ours]="cluster-watcher" [watching]="cluster-watcher --observe=watch"
  [standard_library]="Go, standard library" [client_go]="Go, client-go"
  [kube_rs]="Rust, kube-rs" [kubectl_loop]="kubectl in a loop")

# command_of WHO CLUSTER OWNER INTERVAL [FLAG...]: sets $command, and $verdict, how its first verdict
# begins. A FLAG is for ours alone.
command_of() {
  local who=$1 cluster=$2 owner=$3 interval=$4
  shift 4
  case $who in
    ours | watching)
      master_pod "$cluster-m" || die "the pod of $cluster-m is not there"
      command=("$binary" watch --kubeconfig="$KUBECONFIG" --namespace="$namespace" --pod="$pod"
        --owner="deployment/$owner" --poll-interval="$interval"
        --listen=127.0.0.1:0 "$@")
      [[ $who == ours ]] || command+=(--observe=watch)
      verdict=' keep: active'
      ;;
    *)
      command=("$peers/$who" --server="$APISERVER" --ca="$APISERVER_CA" --token-file="$work/token"
        --namespace="$namespace" --deployment="$owner" --interval="$interval")
      [[ $who != kubectl_loop ]] || command[0]=test/bench/peers/kubectl_loop
      verdict='verdict: active'
      ;;
  esac
}

# start WHO NAME CLUSTER OWNER INTERVAL [FLAG...]: starts it as NAME, in $pids, with its output in
# $work/NAME.log. A peer's lines have microseconds since 1970 before them.
start() {
  local who=$1 name=$2
  shift 2
  command_of "$who" "$@"
  log=$work/$name.log
  : >"$log"
  case $who in
    ours | watching) "${command[@]}" </dev/null >/dev/null 2>"$log" & ;;
    *) "${command[@]}" </dev/null 2>&1 > >(while read -r line; do echo "${EPOCHREALTIME/[.,]/} $line"; done >"$log") & ;;
  esac
  pids["$name"]=$!
}
# started WHO NAME: waits for its first verdict.
started() {
  local text='verdict: active'
  [[ $1 != ours && $1 != watching ]] || text='keep: active'
  (until_true 60 grep -q "$text" "$work/$2.log") || die "${labels[$1]} says: $(tail -n 3 "$work/$2.log")"
}
# ended NAME...: kills them.
ended() {
  local name
  for name in "$@"; do
    { kill -KILL "${pids[$name]}" && wait "${pids[$name]}"; } 2>/dev/null || :
    unset "pids[$name]"
  done
}

# metrics_of NAME: where ours serves them.
metrics_of() { echo "http://127.0.0.1:$(sed -nE 's/.*health on port ([0-9]+).*/\1/p' "$work/$1.log")/metrics"; }
# polls_of WHO NAME: how often it has polled; sets $polls.
polls_of() {
  local log=$work/$2.log answers
  case $1 in
    ours | watching)
      polls=$(curl -sS --fail "$(metrics_of "$2")" | awk '/^cluster_watcher_polls_total/ { n += $NF } END { print n + 0 }')
      ;;
    *)
      answers=$(grep -c ' polls: ' "$log") || :
      kill -USR1 "${pids[$2]}"
      until_true 60 more_lines "$answers" ' polls: ' "$log"
      polls=$(sed -n 's/.* polls: //p' "$log" | tail -n 1)
      ;;
  esac
}
more_lines() { (($(grep -c -e "$2" "$3") > $1)); }
# polled_by WHO NAME COUNT
polled_by() { polls_of "$1" "$2" && ((polls >= $3)); }

# cpu_of PID: µs, with those of its children that have ended.
cpu_of() {
  local line clock
  local -a fields
  clock=$(build-optimized/cpu_clock "$1")
  line=$(<"/proc/$1/stat")
  read -r -a fields <<<"${line##*) }"
  echo $((clock + (fields[13] + fields[14]) * 1000000 / $(getconf CLK_TCK)))
}
# map_of PID: what its resident memory is made of, "KIB KIND" in each line.
map_of() {
  awk -v program="$(readlink "/proc/$1/exe")" '
    /^[0-9a-f]+-[0-9a-f]+ / {
      kind = "libraries and files"
      if ($6 == program) kind = "file of the program"
      if ($6 == "" || $6 ~ /^\[/) kind = $6 == "[heap]" ? "heap" : "other anonymous"
    }
    $1 == "Rss:" { rss[kind] += $2 }
    $1 == "Anonymous:" && kind ~ /file/ { rss[kind] -= $2; rss["written pages of files"] += $2 }
    END { for (kind in rss) if (rss[kind]) printf "%d %s\n", rss[kind], kind }' "/proc/$1/smaps" | sort -rn
}
