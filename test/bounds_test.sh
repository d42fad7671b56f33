#!/usr/bin/env bash
# Checks that the program's files and classes stay small: no file above 400 lines, no class above 15
# fields or 2 booleans. (No function above 60 lines: clang-tidy checks that, in `make lint`.)
# Fields are the members whose names end with an underscore; a struct in a class counts as the
# fields of that class that it is. Checks too that the lists for scripts/mutate keep up with the sources.
set -uo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
shopt -s lastpipe
. test/checks.bash
readonly kMostLines=400 kMostFields=15 kMostBooleans=2
mapfile -t sources < <(git ls-files -co --exclude-standard -- {probes,metrics,watcher}/'*.'{cc,h})

wc -l -- "${sources[@]}" | awk -v most=$kMostLines '$2 != "total" && $1 > most' |
  check "no file is above $kMostLines lines" empty

# Prints "FILE CLASS FIELDS BOOLEANS" for each class.
classes() {
  awk '
    function close_class() { if (name != "") print file, name, fields, booleans; name = "" }
    FNR == 1 { close_class() }
    name == "" && /^ *(class|struct) [A-Za-z]+( final)?( :.*)? \{$/ {
      file = FILENAME; name = $2; fields = booleans = 0
      match($0, /^ */); margin = substr($0, 1, RLENGTH)
      next
    }
    name == "" { next }
    $0 == margin "};" { close_class(); next }
    index($0, margin "  ") == 1 && substr($0, length(margin) + 3, 1) != " " \
        && /[^(]*[> &*}][a-z0-9_]*_( = [^()]*|\{.*\})?;/ && !/return|^ *\/\// {
      fields++
      if ($1 == "bool" || $2 == "bool") booleans++
    }
    END { close_class() }' "${sources[@]}"
}
classes | awk -v fields=$kMostFields -v booleans=$kMostBooleans '$3 > fields || $4 > booleans' |
  check "no class is above $kMostFields fields or $kMostBooleans booleans" empty

check "the faults that people chose fit the sources" scripts/mutate --fits test/mutations/*.txt

# The check itself sees what it is to see.
check "the classes are counted" [ "$(classes | awk '$3 > 5' | wc -l)" -gt 20 ]

echo "$passed passed, $failed failed"
finished=true
((failed == 0))
