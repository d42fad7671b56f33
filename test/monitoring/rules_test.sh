#!/usr/bin/env bash
# rules_test.sh: tests the alerts, their runbook, the scrape configurations and the dashboard
# without a Kubernetes. Each weakness in `mutations` must make a test of an alert fail.
set -uo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/../.." || exit
# shellcheck source=../checks.bash
. test/checks.bash
prometheus=$(test/monitoring/prometheus) || exit 1
tmp=$(mktemp -d)
trap '$finished || echo "not ok - the test ended early"; rm -rf -- "$tmp"' EXIT
objects=manifests/chart/objects/monitoring

# tests_pass DIR: runs the tests in it; promtool wants the rules beside them.
tests_pass() { (cd "$1" && "$prometheus/promtool" test rules -- *.yaml >output 2>&1); }
# rule NAME: its lines, with the lines that must precede them.
rule() {
  awk -v name="$1" '
    $1 == "-" && $2 == "name:" { head = $0 ORS "  rules:"; ours = 0 }
    $1 == "-" && $2 ~ /^(alert|record):$/ { ours = $3 == name; if (ours) print "groups:" ORS head }
    ours' "$tmp/tests/cluster-watcher.rules.yml"
}
# expanded FILE: a line with {2..9} is eight lines.
expanded() {
  awk 'match($0, /\{[0-9]+\.\.[0-9]+\}/) {
      split(substr($0, RSTART + 1, RLENGTH - 2), ends, /\.\./)
      for (i = ends[1]; i <= ends[2]; i++) print substr($0, 1, RSTART - 1) i substr($0, RSTART + RLENGTH)
      next
    } 1' "$1"
}
# tests_of NAME: the file with its tests, without those of other alerts.
tests_of() {
  awk -v name="$1" '
    !began || /^- name: / { ours = !began || $3 ~ "^" name ",?$" }
    /^tests:/ { began = 1 }
    ours' "$(grep -l "^- name: $1" "$tmp"/tests/*.yaml)"
}
# mutant NAME SED: sets directory to one with the changed rule and its tests.
mutant() {
  directory=$(mktemp -d "$tmp/mutant-XXXXXX")
  rule "$1" >"$directory/rule"
  sed -e "$2" "$directory/rule" >"$directory/cluster-watcher.rules.yml"
  tests_of "$1" >"$directory/tests.yaml"
}
alone_tests_pass() { mutant "$1" "" && tests_pass "$directory"; }
mutant_is_killed() {
  mutant "$@"
  not cmp -s "$directory/rule" "$directory/cluster-watcher.rules.yml" || { echo "# it changes nothing"; return 1; }
  "$prometheus/promtool" check rules "$directory/cluster-watcher.rules.yml" >"$directory/output" 2>&1 || {
    sed 's/^/# /' "$directory/output"
    return 1
  }
  not tests_pass "$directory" && grep -q "FAILED" "$directory/output"
}

mkdir "$tmp/tests"
command=$(sed -n '/^ *sed .*prometheusrule.yaml/p' docs/metrics.md)
extract() { bash -c "${command/>*/>\"\$1\"}" - "$1"; }
check "the command in docs/metrics.md makes a file of the rules" extract "$tmp/tests/cluster-watcher.rules.yml"
check "the file of the rules says the same command" grep -qF -- "${command# }" "$objects/prometheusrule.yaml"
check "the rules are right" "$prometheus/promtool" check rules --lint=all --lint-fatal \
  "$tmp/tests/cluster-watcher.rules.yml"
for file in test/monitoring/*.yaml; do expanded "$file" >"$tmp/tests/${file##*/}"; done
check "their tests pass" tests_pass "$tmp/tests"
cat "$tmp/tests/output"

sed -nE 's/^ *- alert: //p' "$tmp/tests/cluster-watcher.rules.yml" >"$tmp/alerts"
sed -nE 's/^ *- (alert|record): //p' "$tmp/tests/cluster-watcher.rules.yml" | LC_ALL=C sort >"$tmp/rules"
sed -nE 's/^## (ClusterWatcher.*)/\1/p' docs/runbook.md >"$tmp/sections"
check "each alert has a section in the runbook, in this order" same "$tmp/alerts" "$tmp/sections"
sed -nE 's/^ *runbook: //p' "$tmp/tests/cluster-watcher.rules.yml" >"$tmp/links"
check "and links to it" same <(tr '[:upper:]' '[:lower:]' <"$tmp/alerts" | sed 's,^,docs/runbook.md#,') "$tmp/links"
check "none is named twice" same /dev/null <(sort "$tmp/alerts" | uniq -d)
check "each rule is in a test" same <(cut -d: -f1 "$tmp/rules" | LC_ALL=C sort -u) \
  <(grep -ohE 'alertname: [A-Za-z]+|namespace[a-z_]*:' test/monitoring/*.yaml | sed 's/^alertname: //; s/:$//' | LC_ALL=C sort -u)
check "each rule has a weakness that is looked for" same "$tmp/rules" \
  <(grep -v '^#' test/monitoring/mutations | cut -f1 | LC_ALL=C sort -u)
while read -r name; do
  check "the tests of $name pass with it alone" alone_tests_pass "$name"
done <"$tmp/rules"
while IFS=$'\t' read -r name change; do
  [[ $name != "#"* ]] || continue
  check "a test fails where $name is weak: $change" mutant_is_killed "$name" "$change"
done <test/monitoring/mutations

# shellcheck source=dashboard.bash
. test/monitoring/dashboard.bash

finished=true
echo "$passed passed, $failed failed"
((failed == 0))
