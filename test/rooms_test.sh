#!/usr/bin/env bash
# Checks the includes between folders: each may use itself and those named beside it in the table. A
# folder or an include that isn't in the table fails.
set -uo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
shopt -s lastpipe
declare -A uses=(
  [probes/base]=""
  [probes/kube]="probes/base"
  [probes]="probes/kube probes/base"
  [metrics]=""
  [metrics/http]=""
  [watcher/protocol]="probes probes/kube probes/base"
  [watcher/settings]="watcher/protocol probes probes/kube probes/base metrics/http"
  [watcher/observation]="watcher/settings watcher/protocol probes probes/kube probes/base"
  [watcher/decision]="watcher/observation watcher/settings probes probes/base"
  [watcher/reporting]="watcher/decision watcher/observation watcher/settings probes/kube probes/base metrics"
  [watcher/deletion]="watcher/reporting watcher/decision watcher/observation watcher/settings watcher/protocol probes probes/kube probes/base metrics"
  [watcher/engine]="watcher/deletion watcher/reporting watcher/decision watcher/observation watcher/protocol probes probes/kube probes/base"
  [watcher/loop]="watcher/engine watcher/deletion watcher/reporting watcher/decision watcher/observation watcher/protocol probes probes/kube probes/base"
  [watcher/sweep]="watcher/driver watcher/engine watcher/deletion watcher/reporting watcher/decision watcher/observation watcher/settings watcher/protocol probes probes/base"
  [watcher/driver]="watcher/engine watcher/admission watcher/admission/manifest watcher/deletion watcher/decision watcher/observation watcher/settings watcher/protocol probes probes/kube probes/base"
  [watcher/installation]="watcher/driver watcher/protocol probes probes/base"
  [watcher/admission]="watcher/settings watcher/protocol probes probes/kube probes/base"
  [watcher/admission/manifest]="watcher/admission probes/base"
  [watcher/admission/server]="watcher/admission probes/base metrics metrics/http"
  [watcher/command]="watcher/sweep watcher/installation watcher/loop watcher/driver watcher/deletion watcher/reporting watcher/decision watcher/observation watcher/settings watcher/admission watcher/admission/manifest watcher/admission/server probes probes/kube probes/base metrics metrics/http"
  [watcher]="watcher/command"
)
. test/checks.bash

# Prints "FILE INCLUDED" for includes of the program's own headers.
includes() { grep -oHE '^#include "[^"]+"' -- $(git ls-files -co --exclude-standard -- 'probes/*.cc' 'probes/*.h' 'metrics/*.cc' 'metrics/*.h' 'watcher/*.cc' 'watcher/*.h') | sed -E 's/:#include "/ /; s/"$//'; }

includes | while read -r file header; do
  from=${file%/*} to=${header%/*}
  [[ -v uses[$from] ]] || { echo "$file: the room $from is not in the table"; continue; }
  [[ $from == "$to" || " ${uses[$from]} " == *" $to "* ]] || echo "$file includes $header: $from may not use $to"
done | sort -u | check "each include is one that the table allows" empty

for room in "${!uses[@]}"; do
  for used in ${uses[$room]}; do
    [[ -v uses[$used] ]] || { echo "$room: there is no room $used"; continue; }
    # A folder must not be used by one that it uses, not even through others.
    seen=" $used " queue=($used)
    while ((${#queue[@]})); do
      for next in ${uses[${queue[0]}]:-}; do
        [[ $seen == *" $next "* ]] || { seen+="$next " && queue+=("$next"); }
      done
      queue=("${queue[@]:1}")
    done
    [[ $seen != *" $room "* ]] || echo "$room uses $used, which leads back to it"
  done
done | check "the table has no circle" empty

all=$(includes)
for room in "${!uses[@]}"; do
  for used in ${uses[$room]}; do
    awk -v from="$room" -v to="$used" '
      { f = $1; sub("/[^/]*$", "", f); h = $2; sub("/[^/]*$", "", h); if (f == from && h == to) found = 1 }
      END { exit !found }' <<<"$all" || echo "$room doesn't use $used: take it out of the table"
  done
done | check "the table allows no more than is used" empty

for test in $(git ls-files -co --exclude-standard 'test/unit/*_test.cc'); do
  room=${test#test/unit/}
  [[ -d ${room%/*} || $room == small_kubernetes/* ]] || echo "$test: there is no folder ${room%/*}"
done | check "test/unit mirrors the tree" empty

finished=true
echo "$passed passed, $failed failed"
((failed == 0))
