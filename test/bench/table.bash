# The tables of benchmarks. After measure.bash.
# shellcheck shell=bash disable=SC2154

# number N: with three significant digits.
number() { awk -v v="$1" 'BEGIN { a = v < 0 ? -v : v; printf(a >= 100 ? "%.0f" : a >= 10 ? "%.1f" : "%.2f", v) }'; }
# figure FILE: median [least–greatest], or the one number that there is.
figure() {
  local middle least most
  read -r middle least most < <(spread "$1")
  if (($(grep -c '' "$1") == 1)); then number "$middle"; return; fi
  echo "$(number "$middle") [$(number "$least")–$(number "$most")]"
}
# ratio OURS PEER
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (a > 0) printf "%.1f×", b / a; else printf "–" }'; }
# pad WIDTH TEXT: by characters, not bytes.
pad() { (LC_ALL=C.UTF-8; printf '%s%*s' "$2" $(($1 > ${#2} ? $1 - ${#2} : 0)) ''); }
row() { echo "$(pad 48 "$1") $(pad 28 "${2-}") $(pad 34 "${3-}") ${4-}"; }
# files FIGURE OURS PEER'S-NAME PEERS: a row of medians.
files() { row "$1" "$(figure "$2")" "$3 $(figure "$4")" "$(ratio "$(median "$2")" "$(median "$4")")"; }
mb() { awk -v v="$1" 'BEGIN { printf "%.2f", v / 1e6 }'; }
mib() { awk -v v="$1" 'BEGIN { printf "%.1f", v / 1024 }'; }
# machine PROGRAM: what was measured, and where.
machine() {
  echo "$("$1" version | head -n 1); $(kubectl version 2>/dev/null | grep -i server); $(nproc) processors, load $(cut -d ' ' -f 1-2 /proc/loadavg)"
}

# --- figures that have a goal; after sidecars.bash. What was measured of WHO is in $work/FIGURE.WHO. ---

# goal TEXT FILE LIMIT [WORDS]: ours, beside its limit, in numbers or in words.
goal() {
  local met=no
  if [[ ! -s $2 ]]; then row "$1" "not there" "goal ${4-≤ $3}"; return; fi
  ! awk -v v="$(median "$2")" -v l="$3" 'BEGIN { exit !(v <= l) }' || met=yes
  row "$1" "$(figure "$2")" "goal ${4-≤ $3}: $met"
}
# beside FIGURE: the others', and what they are of ours.
beside() {
  local who
  for who in "${everybody[@]}"; do
    [[ $who != ours && $who != watching && -s $work/$1.$who ]] || continue
    row "    ${labels[$who]}" "$(figure "$work/$1.$who")" "$(ratio "$(median "$work/$1.ours")" "$(median "$work/$1.$who")")"
  done
}
