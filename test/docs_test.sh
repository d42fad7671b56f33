#!/usr/bin/env bash
# docs_test.sh BUILD_DIR: what the documents say of flags, metrics, Events, annotations and YAML is
# what the program and the manifests have; what they point at exists.
set -uo pipefail
shopt -s lastpipe # so that `... | check` counts
build=$(realpath -- "$1")
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
. test/checks.bash
guides=(README.md docs/*.md)
documents=("${guides[@]}" CONTRIBUTING.md)

# section FILE TITLE
section() { sed -n "/^## $2\$/,/^## /p" "$1"; }
# Each of standard input's words that isn't a line of FILE.
missing_in() { sort -u | comm -23 - <(sort -u "$1"); }
flag_rows() { section docs/settings.md 'Flags of `watch`' | grep -E '^\| `--'; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk 'END { if (NR > 200) print "it has " NR }' README.md | check "the README has at most 200 lines" empty

"$build/cluster-watcher" help watch >"$work/help"
grep -oE -- '(^|[ ,])--[a-z-]+' "$work/help" | tr -d ' ,' | sort -u >"$work/flags"
flag_rows | cut -d'|' -f2 | grep -oE -- '--[a-z-]+' | sort -u >"$work/documented"
missing_in "$work/flags" <"$work/documented" | check "each flag in docs/settings.md exists" empty
grep -v -- '--help' "$work/flags" | missing_in "$work/documented" | check "each flag is in docs/settings.md" empty

flag_rows | while IFS='|' read -r _ flags default _; do
  [[ $(grep -oE -- '--[a-z-]+' <<<"$flags" | wc -l) == 1 ]] || continue
  flag=$(grep -oE -- '--[a-z-]+' <<<"$flags")
  value=$(sed -nE 's/^ *`([^`]*)` *$/\1/p' <<<"$default")
  [[ -n $value ]] || continue
  tr '\n' ' ' <"$work/help" | tr -s ' ' | grep -qE -- "$flag[=[][^(]*\(default ${value//\//\\/}\)" ||
    echo "$flag: docs/settings.md says $value"
done | check "each default in docs/settings.md is the program's" empty

# Inline code that begins with a flag is about the program, but for these of helm and kubectl.
for command in check inject webhook run create await claim release delete hold unhold list doctor enable sweep; do "$build/cluster-watcher" help "$command"; done |
  grep -oE -- '--[a-z-]+' | sort -u - "$work/flags" <(printf '%s\n' --set --set-string --cascade --reset-then-reuse-values --take-ownership) >"$work/all-flags"
grep -ohE -- '`--[a-z-]+' "${guides[@]}" | tr -d '`' | missing_in "$work/all-flags" |
  check "each flag in the other documents exists" empty

scripts/chart_readme | diff - <(sed -n '/^| `/p' manifests/chart/README.md) |
  check "the chart's README has its values, as scripts/chart_readme prints them" empty

# Helm would take all values of the chart that is installed, and none that are new.
grep -nE -- '(^|[^-a-z])--reuse-values' "${guides[@]}" | check "no document keeps an upgrade from the chart's new values" empty

# The alerts' commands too: what nobody can run is no help at night.
"$build/cluster-watcher" help | awk '/^Commands:/ { ours = 1; next } !NF { ours = 0 } ours { print $1 }' >"$work/commands"
cat "${guides[@]}" manifests/chart/objects/monitoring/prometheusrule.yaml manifests/chart/templates/NOTES.txt |
  grep -oE '(^ *|`|: +|\| )cluster-watcher [a-z]+( |$|`)' | sed -E 's/.*cluster-watcher ([a-z]+).*/\1/' |
  missing_in "$work/commands" | check "each command in the documents and alerts exists" empty

grep -rhoE '"(cluster_watcher|rest_client)_[a-z_]+"' metrics/*.cc metrics/http/*.cc | tr -d '"' | sort -u >"$work/metrics"
section docs/metrics.md "The metrics" | grep -E '^\| `' | cut -d'|' -f2 | grep -oE '[a-z_]+' | sort -u >"$work/documented"
missing_in "$work/metrics" <"$work/documented" | check "each metric in docs/metrics.md exists" empty
missing_in "$work/documented" <"$work/metrics" | check "each metric is in docs/metrics.md" empty

grep -rhoE '"Cluster[A-Z][a-z]+"' watcher/reporting/*.cc | tr -d '"' | sort -u >"$work/events"
section docs/events-and-logs.md Events | grep -oE '`Cluster[A-Z][a-z]+`' | tr -d '`' | sort -u >"$work/documented"
diff "$work/events" "$work/documented" | check "the Events in docs/events-and-logs.md are those of the program" empty

grep -hoE '(Field|Key)\("[A-Za-z]+"' watcher/reporting/announcer.cc watcher/reporting/logging.cc | cut -d'"' -f2 | sort -u >"$work/keys"
section docs/events-and-logs.md Logs | grep -E '^(With|\|)' | grep -oE '`[A-Za-z]+`' | tr -d '`' | sort -u >"$work/documented"
missing_in "$work/documented" <"$work/keys" | check "each key of the log is in docs/events-and-logs.md" empty

{ grep -rhoE '"cluster-watcher/[a-z-]+"' watcher --include='*.h' --include='*.cc' | tr -d '"'
  cat manifests/chart/objects/*/*binding.yaml | grep -oE 'cluster-watcher/[a-z-]+'  # of namespaces
  # Of the settings those that may be annotated: a description goes on over several lines.
  awk '/^ +(-n, )?--[a-z]/ { print entry; entry = "" } { entry = entry " " $0 } END { print entry }' "$work/help" |
    tr -s ' ' | grep -v 'not by annotation' | grep -oE -- '^ --[a-z-]+' | sed 's,^ --,cluster-watcher/,'
} | sort -u >"$work/annotations"
grep -ohE '(^|[^a-zA-Z./-])cluster-watcher/[a-z-]+' "${documents[@]}" | grep -oE 'cluster-watcher/.*' |
  missing_in "$work/annotations" | check "each annotation in the documents exists" empty

marks=$(sed -n '/- name: marks$/,/- name: oldAnnotations$/p' manifests/chart/objects/guard/policy.yaml |
  grep -oE '"[^"]*"' | tr -d '"\n' | sed 's/\$^/$|^/')
section docs/design.md "What is written down" | grep -E '^\|' | grep -oE 'cluster-watcher/[a-z-]+' | sort -u >"$work/documented"
grep -E "$marks" "$work/annotations" | diff "$work/documented" - |
  check "the marks in docs/design.md are those that the guard knows" empty

sed -n '/^```mermaid$/,/^```$/p' README.md >"$work/mermaid"
{
  grep -oE 'Cluster[A-Z][a-z]+' "$work/mermaid" | missing_in "$work/events"
  { tr '\n' ' ' <metrics/watcher_metrics.cc | grep -oE ' kPhases =[^;]*' | grep -oE '"[a-z]+"' | tr -d '"'
    echo abandoned; } | sort >"$work/states"
  sed -nE 's/^ *([a-z]+) --> ([a-z]+).*/\1\n\2/p' "$work/mermaid" | sort -u | diff "$work/states" -
} | check "the states and Events in the README's picture are the program's" empty

# Each block's lines, one after the other, in the manifest.
awk -v base="$work/yaml" '
  FNR == 1 { inside = 0 }
  /^```yaml$/ { inside = 1; name = base "-" ++n; next }
  /^```$/ { inside = 0 }
  inside { print >name }' "${documents[@]}"
for block in "$work"/yaml-*; do
  [[ -e $block ]] || { echo "there is none"; break; }
  awk 'NR == FNR { want[++n] = $0; next }
       { at = ($0 == want[at + 1]) ? at + 1 : ($0 == want[1]); if (at == n) found = 1 }
       END { if (!found) print "not this: " want[1] }' "$block" <(cat manifests/examples/*/cluster.yaml)
done | check "the YAML in the documents stands in the manifests" empty

# What the rows name, and what there is to be named: suites' cases, and scripts.
sed -n '/^## The failures of others/,/^## How/p' CONTRIBUTING.md | grep -E '^\| +[0-9]+ \|' >"$work/rows"
cut -d'|' -f4 "$work/rows" | grep -oE '`[A-Z][A-Za-z]+\.[A-Za-z0-9]+`|`test/[a-z/_.]+`' | tr -d '`' | sort -u >"$work/named"
{
  cat test/integration/*_test.cc $(find test/unit -name '*_test.cc') | tr -d '\n' | grep -oE 'TEST(_[FP])?\([A-Za-z]+, *[A-Za-z0-9]+' | sed -E 's/.*\((.*), */\1./'
  ls test/integration/*.sh
} | sort >"$work/tests"
missing_in "$work/tests" <"$work/named" | check "each test of a failure case in CONTRIBUTING.md exists" empty
grep '^FailureCase\.' "$work/tests" | missing_in "$work/named" | check "each failure case's test is in CONTRIBUTING.md" empty
diff <(cut -d'|' -f2 "$work/rows" | tr -d ' ') <(seq 36; seq 38 84; echo 88; seq 91 92) | check "the failure cases are numbered as ever" empty
grep -vE '\| `[^|]*\|$' "$work/rows" | check "and each has its test" empty

section docs/drivers.md "Run a driver" | grep -E '^\|' | cut -d'|' -f4 | grep -oE '`[A-Z][A-Za-z]+\.[A-Za-z0-9]+`' | tr -d '`' |
  missing_in "$work/tests" | check "each test of a driver's scenario in docs/drivers.md exists" empty
section docs/drivers.md "Run a driver" | sed -n '/^| what happens/,/^$/p' | tail -n +3 | grep -vE '`[A-Za-z]+\.[A-Za-z0-9]+` \|$' | grep . |
  check "and each scenario has one" empty

section docs/owners-and-rules.md "What an owner wants" | sed -nE 's/^\| ([A-Z][A-Za-z, ]+) \|.*/\1/p' | tr -d ' ' | tr ',' '\n' |
  tr '[:upper:]' '[:lower:]' | sort >"$work/documented"
sed -nE 's/.*plural = "([a-z]+)s".*/\1/p' probes/owner_table.h | sort |
  diff "$work/documented" - | check "the kinds of owner in docs/owners-and-rules.md are those of the program" empty

section docs/metrics.md Alerts | awk '
  /^[^- ]/ { next }  # not of the list
  /^- / { severity = $2; sub(":", "", severity) }
  { while (match($0, /`ClusterWatcher[A-Za-z]+`/)) {
      print substr($0, RSTART + 1, RLENGTH - 2), severity; $0 = substr($0, RSTART + RLENGTH) } }' |
  sort >"$work/documented"
awk '$2 == "alert:" { alert = $3 } $1 == "severity:" { print alert, $2 }' \
  manifests/chart/objects/monitoring/prometheusrule.yaml | sort |
  diff "$work/documented" - | check "the alerts in docs/metrics.md are those of the rules, with their severity" empty

{
  sed '/^## /,$d' docs/runbook.md | grep -q 'kubectl apply -k manifests/brake' || echo "the head"
  for title in ManyClustersAbandoned Surge DeletesFailing; do
    section docs/runbook.md "ClusterWatcher$title" | grep -q 'brake' || echo "ClusterWatcher$title"
  done
  section docs/runbook.md ClusterWatcherMisconfigured | grep -q 'mutatedByOthers' || echo "ClusterWatcherMisconfigured"
} | check "the runbook names the brake and the guard where they help" empty

grep -oE '^- `[a-z/]+`:' docs/design.md | tr -d '`: -' | sort >"$work/documented"
find probes metrics watcher -name '*.cc' -printf '%h\n' | sort -u |
  diff "$work/documented" - | check "the rooms in docs/design.md are those of the tree" empty

grep -oE '`[A-Z][a-z]+[A-Za-z]*`' docs/design.md | tr -d '`' | sort -u | while read -r name; do
  grep -rqE "(class|struct|enum class) $name\b|\b$name\(" probes metrics watcher --include='*.h' --include='*.cc' || echo "$name"
done | check "each class and function in docs/design.md is one of the program" empty

for path in $(grep -ohE '(^|[ `(])(manifests|scripts|test|probes|watcher|metrics|docs)/[a-zA-Z0-9_/.-]+' "${documents[@]}" |
  sed -E 's/^[ `(]//; s/[.,]$//' | sort -u); do
  compgen -G "$path*" >/dev/null || [[ $path == test/kubernetes/* && -e $path ]] || echo "$path"
done | check "each path in the documents exists" empty

# anchors FILE: what a link may name of it, as GitHub makes it of its headings.
anchors() {
  awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ /, ""); print tolower($0) }' "$1" |
    sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}
for document in "${documents[@]}"; do
  # A link may be broken over two lines, and code has none.
  awk '/^```/ { code = !code; next } !code' "$document" | sed -E 's/`[^`]*`//g' | tr '\n' ' ' |
    grep -oE '\]\([^)]*\)' | sed -E 's/^\]\(//; s/\)$//' | while read -r link; do
    [[ $link != http* ]] || continue
    file=${link%%#*}
    target=$document
    [[ -z $file ]] || target=$(dirname -- "$document")/$file
    if [[ ! -e $target ]]; then
      echo "$document: $link: there is no such file"
    elif [[ $link == *#* ]] && ! anchors "$target" | grep -qxF -- "${link#*#}"; then
      echo "$document: $link: there is no such heading"
    fi
  done
done | check "each link in the documents leads somewhere" empty

# Plain English: a comment begins with a verb or the thing itself, in 99 of 100 blocks.
git ls-files 'watcher/*.cc' 'watcher/*.h' 'probes/*.cc' 'probes/*.h' 'metrics/*.cc' 'metrics/*.h' |
  xargs awk '
    { is_comment = /^ *\/\// }
    is_comment && (!was_comment || FNR == 1) {
      ++blocks
      if (/^ *\/\/ (What|Who|Whoever|Whose|Of|As|Else|So|But)[^A-Za-z]/) bad[++count] = FILENAME ":" FNR ":" $0
    }
    { was_comment = is_comment }
    END { if (count * 100 >= blocks) for (i = 1; i <= count; ++i) print bad[i] }' |
  check "comments begin with a verb or the thing itself" empty
git grep -nwiE "anew|in passing|for good|say it again" -- watcher probes metrics test manifests scripts docs '*.md' ':!test/docs_test.sh' |
  check "plain words: again, transient, permanently" empty

finished=true
echo "$passed passed, $failed failed"
((failed == 0))
