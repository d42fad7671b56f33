#!/usr/bin/env bash
# docs_test.sh BUILD_DIR: what the README says of flags, metrics, Events and YAML is what the program
# and the manifests have.
set -uo pipefail
shopt -s lastpipe # so that `... | check` counts
build=$(realpath -- "$1")
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
passed=0 failed=0

# check NAME: passes where standard input is empty; else shows it.
check() {
  local differences
  differences=$(cat)
  if [[ -z $differences ]]; then
    echo "ok - $1"
    passed=$((passed + 1))
  else
    printf 'not ok - %s\n%s\n' "$1" "$differences"
    failed=$((failed + 1))
  fi
}
section() { sed -n "/^## $1\$/,/^## /p" README.md; }
# Each of standard input's words that isn't a line of FILE.
missing_in() { sort -u | comm -23 - <(sort -u "$1"); }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/cluster-watcher" help watch >"$work/help"
grep -oE -- '(^|[ ,])--[a-z-]+' "$work/help" | tr -d ' ,' | sort -u >"$work/flags"
section Settings | grep -E '^\| `--' | cut -d'|' -f2 | grep -oE -- '--[a-z-]+' | sort -u >"$work/documented"
missing_in "$work/flags" <"$work/documented" | check "each flag in the README exists"
grep -v -- '--help' "$work/flags" | missing_in "$work/documented" | check "each flag is in the README"

section Settings | grep -E '^\| `--' | while IFS='|' read -r _ flags default _; do
  [[ $(grep -oE -- '--[a-z-]+' <<<"$flags" | wc -l) == 1 ]] || continue
  flag=$(grep -oE -- '--[a-z-]+' <<<"$flags")
  value=$(sed -nE 's/^ *`([^`]*)` *$/\1/p' <<<"$default")
  [[ -n $value ]] || continue
  tr '\n' ' ' <"$work/help" | tr -s ' ' | grep -qE -- "$flag[=[][^(]*\(default ${value//\//\\/}\)" ||
    echo "$flag: the README says $value"
done | check "each default in the README is the program's"

grep -rhoE '"(cluster_watcher|rest_client)_[a-z_]+"' metrics/*.cc metrics/http/*.cc | tr -d '"' | sort -u >"$work/metrics"
section Metrics | grep -E '^\| `' | cut -d'|' -f2 | grep -oE '[a-z_]+' | sort -u >"$work/documented"
missing_in "$work/metrics" <"$work/documented" | check "each metric in the README exists"
missing_in "$work/documented" <"$work/metrics" | check "each metric is in the README"

grep -rhoE '"Cluster[A-Z][a-z]+"' watcher/reporting/*.cc | tr -d '"' | sort -u >"$work/events"
section Events | grep -oE '`Cluster[A-Z][a-z]+`' | tr -d '`' | sort -u >"$work/documented"
diff "$work/events" "$work/documented" | check "the Events in the README are those of the program"

grep -hoE '(Field|Key)\("[A-Za-z]+"' watcher/reporting/announcer.cc watcher/reporting/logging.cc | cut -d'"' -f2 | sort -u >"$work/keys"
section Logs | grep -E '^(With|\|)' | grep -oE '`[A-Za-z]+`' | tr -d '`' | sort -u >"$work/documented"
missing_in "$work/documented" <"$work/keys" | check "each key of the log is in the README"

sed -n '/^```yaml$/,/^```$/p' README.md | grep -v '^```' >"$work/yaml"
# The lines of the README's YAML, one after the other, in the manifest.
awk 'NR == FNR { want[++n] = $0; next }
     { at = ($0 == want[at + 1]) ? at + 1 : ($0 == want[1]); if (at == n) found = 1 }
     END { if (!found) print "it does not" }' "$work/yaml" manifests/examples/spark/cluster.yaml |
  check "the YAML in the README stands in the manifests"

# What the rows name, and what there is to be named: suites' cases, and scripts.
sed -n '/^## The failures of others/,/^## How/p' CONTRIBUTING.md | grep -E '^\| +[0-9]+ \|' >"$work/rows"
cut -d'|' -f4 "$work/rows" | grep -oE '`[A-Z][A-Za-z]+\.[A-Za-z0-9]+`|`test/[a-z/_.]+`' | tr -d '`' | sort -u >"$work/named"
{
  cat test/integration/*_test.cc | tr -d '\n' | grep -oE 'TEST_[FP]\([A-Za-z]+, *[A-Za-z0-9]+' | sed -E 's/.*\((.*), */\1./'
  ls test/integration/*.sh
} | sort >"$work/tests"
missing_in "$work/tests" <"$work/named" | check "each test of a failure case in CONTRIBUTING.md exists"
grep '^FailureCase\.' "$work/tests" | missing_in "$work/named" | check "each failure case's test is in CONTRIBUTING.md"
diff <(cut -d'|' -f2 "$work/rows" | tr -d ' ') <(seq 36) | check "there are 36 failure cases"
grep -vE '\| `[^|]*\|$' "$work/rows" | check "and each has its test"

section "Which driver, which cluster" | sed -nE 's/^\| ([A-Z][A-Za-z, ]+) \|.*/\1/p' | tr -d ' ' | tr ',' '\n' |
  tr '[:upper:]' '[:lower:]' | sort >"$work/documented"
sed -nE 's/.*plural = "([a-z]+)s".*/\1/p' probes/owner_kinds.cc | sort |
  diff "$work/documented" - | check "the kinds of owner in the README are those of the program"

for path in $(grep -ohE '(^|[ `(])(manifests|scripts|test|probes|watcher|metrics|docs)/[a-zA-Z0-9_/.-]+' README.md CONTRIBUTING.md docs/*.md |
  sed -E 's/^[ `(]//; s/[.,]$//' | sort -u); do
  compgen -G "$path*" >/dev/null || [[ $path == test/kubernetes/* && -e $path ]] || echo "$path"
done | check "each path in the documents exists"

echo "$passed passed, $failed failed"
((failed == 0))
