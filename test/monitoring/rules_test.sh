#!/usr/bin/env bash
# rules_test.sh: tests the alerts, their runbook, the scrape configurations and the dashboard
# without a Kubernetes. With MUTATIONS=yes each weakness in `mutations` must make a test of an alert fail: the
# change is made to the alert, and to what it is made of.
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
# rule NAME: its lines, with those of the records that it is made of, and the lines that must precede them.
rule() {
  awk -v wanted="$1" '
    $1 == "-" && $2 == "name:" { group = $0 ORS "  rules:" }
    $1 == "-" && $2 ~ /^(alert|record):$/ { name[++rules] = $3; head[rules] = group }
    rules && !/^ *- name:|^ *rules:|^ *#/ { text[rules] = text[rules] $0 ORS }
    END {
      needed[wanted]
      do {
        more = 0
        for (i = 1; i <= rules; i++)
          for (user in needed)
            if (!(name[i] in needed) && index(name[i], ":") && made_of(user, name[i])) { needed[name[i]]; more = 1 }
      } while (more)
      print "groups:"
      for (i = 1; i <= rules; i++) {
        if (!(name[i] in needed)) continue
        if (head[i] != last) print last = head[i]
        printf "%s", text[i]
      }
    }
    function made_of(user, record,    i) {
      for (i = 1; i <= rules; i++) if (name[i] == user && index(text[i], record)) return 1
      return 0
    }' "$tmp/tests/cluster-watcher.rules.yml"
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
mkdir "$tmp/days"
cp "$tmp/tests/cluster-watcher.rules.yml" "$tmp/days/"
awk -f test/monitoring/batch_day.awk >"$tmp/days/ordinary.yaml"
awk -v surge=615 -f test/monitoring/batch_day.awk >"$tmp/days/surge.yaml"
check "their tests pass" tests_pass "$tmp/tests"
cat "$tmp/tests/output"
check "no alert fires on a day of batch jobs, and one if all their drivers are deleted" tests_pass "$tmp/days"

sed -nE 's/^ *- alert: //p' "$tmp/tests/cluster-watcher.rules.yml" >"$tmp/alerts"
sed -nE 's/^ *- (alert|record): //p' "$tmp/tests/cluster-watcher.rules.yml" | LC_ALL=C sort -u >"$tmp/rules"
sed -nE 's/^## (ClusterWatcher.*)/\1/p' docs/runbook.md >"$tmp/sections"
check "each alert has a section in the runbook, in this order" same "$tmp/alerts" "$tmp/sections"
sed -nE 's/^ *runbook: //p' "$tmp/tests/cluster-watcher.rules.yml" >"$tmp/links"
check "and links to it" same <(tr '[:upper:]' '[:lower:]' <"$tmp/alerts" | sed 's,^,docs/runbook.md#,') "$tmp/links"
check "none is named twice" same /dev/null <(sort "$tmp/alerts" | uniq -d)
sed -nE 's/^- name: ([A-Za-z0-9_:]+),?( .*)?$/\1/p' test/monitoring/*.yaml | LC_ALL=C sort -u >"$tmp/tested"
grep -v '^#' test/monitoring/mutations | cut -f1 | LC_ALL=C sort -u >"$tmp/weakened"
# final: the rules that no other is made of. What others are made of is tested, and weakened, with those.
final() {
  local name
  while read -r name; do
    grep -F -- "$name" "$tmp/tests/cluster-watcher.rules.yml" | grep -qvF -- "- record: $name" || echo "$name"
  done <"$tmp/rules"
}
lacks() { same /dev/null <(LC_ALL=C comm -23 "$1" "$2"); }
final >"$tmp/final"
check "each rule, if no other is made of it, is in a test" lacks "$tmp/final" "$tmp/tested"
check "and has a weakness that is looked for" lacks "$tmp/final" "$tmp/weakened"
check "tests are of rules" lacks "$tmp/tested" "$tmp/rules"
if [[ ${MUTATIONS-} == yes ]]; then
  while read -r name; do
    check "the tests of $name pass with it alone" alone_tests_pass "$name"
  done <"$tmp/tested"
  while IFS=$'\t' read -r name change; do
    [[ $name != "#"* ]] || continue
    check "a test fails where $name is weak: $change" mutant_is_killed "$name" "$change"
  done <test/monitoring/mutations
fi

# shellcheck source=dashboard.bash
. test/monitoring/dashboard.bash

finished=true
echo "$passed passed, $failed failed"
((failed == 0))
