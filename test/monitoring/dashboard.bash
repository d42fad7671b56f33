# Checks of the dashboard's file. Sourced by rules_test.sh.
# shellcheck shell=bash disable=SC2154
dashboard=$objects/dashboard.json

# none FILTER: passes if the filter finds nothing in the dashboard, else shows it.
none() {
  local found
  found=$(jq -rc "$1" "$dashboard") && [[ -z $found ]] || { echo "# $found"; return 1; }
}
# Each metric that a query or a rule names is one that docs/metrics.md lists, or of those that others have.
metrics_are_known() {
  expressions | grep -oE '\b(cluster_watcher|rest_client|process)_[a-z_]+\b' | sed -E 's/_bucket$//' | sort -u >"$tmp/used"
  sed -nE '/^## The metrics/,/^## /s/^\| `([a-z_]+)`.*/\1/p' docs/metrics.md >"$tmp/listed"
  {
    cat "$tmp/listed"
    sed 's/^[^:]*:\([^:]*\):.*/\1/' "$tmp/records"
    printf '%s\n' process_start_time_seconds process_cpu_seconds_total process_resident_memory_bytes
  } >"$tmp/known"
  same /dev/null <(sort -u "$tmp/known" | comm -23 "$tmp/used" -)
}
# expressions: those of the rules and of the dashboard.
expressions() {
  grep -v '^ *- record:' "$tmp/tests/cluster-watcher.rules.yml"
  jq -r '.. | .expr?, .definition? | strings' "$dashboard"
}
queries_parse() {
  jq '{groups: [{name: "dashboard", rules: [.panels[].targets[]?.expr
    | gsub("\\$__rate_interval"; "5m") | gsub("\\$[a-z]+"; "x")] | to_entries | map({record: "r:m\(.key):o", expr: .value})}]}' \
    "$dashboard" >"$tmp/dashboard.rules.yml"
  "$prometheus/promtool" check rules "$tmp/dashboard.rules.yml" >/dev/null
}

check "the dashboard is of a current schema and has an identity" none \
  'select(.schemaVersion < 39 or .uid == "" or (.id != null) or .title == "") | .uid'
check "ids of panels are unique" none '[.panels[].id] | group_by(.)[] | select(length > 1)'
check "panels have a title, a description and a source" none \
  '.panels[] | select(.type != "row" and (.title == "" or .description == "" or .datasource.uid != "${datasource}")) | .title'
check "titles are unique" none '[.panels[].title] | group_by(.)[] | select(length > 1)'
check "panels don't overlap, and stay within the width" none '
  [.panels[] | {title} + .gridPos] | . as $all
  | (.[] | select(.x + .w > 24 or .w < 1 or .h < 1)),
    (range(length) as $i | range($i + 1; length) as $j | [$all[$i], $all[$j]]
      | select(.[0].x < .[1].x + .[1].w and .[1].x < .[0].x + .[0].w
        and .[0].y < .[1].y + .[1].h and .[1].y < .[0].y + .[0].h) | map(.title))'
check "panels have queries, a unit and thresholds" none '
  .panels[] | select(.type != "row")
  | select((.targets | length) == 0 or .fieldConfig.defaults.unit == null
    or (.fieldConfig.defaults.thresholds.steps | length) == 0) | .title'
check "queries have ids of their own" none \
  '.panels[] | select(.targets) | [.targets[].refId] | group_by(.)[] | select(length > 1)'
check "each variable that is used exists" none '
  ([.templating.list[].name] + ["__rate_interval"]) as $known
  | [.. | .expr?, .definition? | strings | scan("\\$([a-z_]+)")[0]] | unique - $known | .[]'
sed -n 's/^ *- record: //p' "$tmp/tests/cluster-watcher.rules.yml" | LC_ALL=C sort -u >"$tmp/records"
check "metrics that rules and dashboard name are known" metrics_are_known
check "and so are records" lacks <(expressions | grep -oE '[a-z_]+(:[a-z0-9_]+){2}' | LC_ALL=C sort -u) "$tmp/records"
check "a table says what was deleted, when and why, and one leads to the runbook" is "$(
  jq '[.panels[] | select(.type == "table" and ((.targets[0].expr | test("_deleted_timestamp_seconds"))
    or (.description | test("docs/runbook.md"))))] | length' "$dashboard"
)" 2
check "each metric of a watcher is on the dashboard" same /dev/null <(
  grep '^cluster_watcher_' "$tmp/listed" | grep -v _build_info | while read -r metric; do
    grep -qF -- "${metric%_total}" "$dashboard" || echo "$metric"
  done)
check "the queries of the dashboard parse" queries_parse
