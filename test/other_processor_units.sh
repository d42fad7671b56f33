#!/usr/bin/env bash
# other_processor_units.sh: the unit tests of rooms that deal in bytes, numbers, the system and threads,
# built for the processor that this machine isn't, under qemu's emulation of that processor: what the
# other rooms decide is the same on each. Those that the emulator or the release's OpenSSL can't run are
# named and count as skipped. The last line counts.
set -uo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.." || exit
export LC_ALL=C
# shellcheck source=other_processor.bash
. test/other_processor.bash
build=build-release-tests-$other
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 1' HUP INT TERM

scripts/build "release-tests-$other" processor_tests >"$work/build.log" 2>&1 || {
  tail -n 30 "$work/build.log"
  echo "0 passed, 1 failed"
  exit 1
}

# What an emulated program starts is the emulator's child: that it could not be started isn't told,
# some signals and long arguments don't arrive, and one of the C library's own signals is ignored. A
# system call filter is this machine's.
emulators=(
  ChildProcessTest.HasTheDefaultsForSignals
  ChildProcessTest.LeavesItsGroupBehindAsAShellDoes
  ChildProcessTest.SaysThatACommandCanNotBeExecuted
  ChildProcessTest.SaysThatACommandDoesNotExist
  ChildProcessTest.SaysThatTheArgumentsAreTooLong
  ChildProcessTest.WhichIgnoresStopSignalsIsKilledWithItsGroupOnceItsTimeIsOver
  MemoryTest.AKernelThatCanNotDoItLeavesAllAsItIs
  RunExecPluginTest.SaysHowToGetOneThatIsMissing
  RunProgramTest.PassesArgumentsWithoutAShell
  RunProgramTest.SaysWhyItCantBeStarted)
filter=$(IFS=:; echo "-${emulators[*]}")
# tried PROGRAM: runs it; leaves what GoogleTest says in a file of its name, and its exit code.
tried() {
  local name=${1##*/} code=0
  timeout 2400 "$emulator" "$1" --gtest_brief=1 --gtest_filter="$filter" --gtest_output="json:$work/$name.json" \
    >"$work/$name.log" 2>&1 || code=$?
  echo "$code" >"$work/$name.code"
}
export -f tried
export emulator filter work
find "$build/test" -maxdepth 1 -name '*_test' -type f | sort | xargs -P "$(nproc)" -I {} bash -c 'tried {}'

passed=0 failed=0 skipped=0
for code in "$work"/*.code; do
  name=$(basename "$code" .code)
  if [[ -s $work/$name.json ]]; then
    read -r tests failures <<<"$(jq -r '"\(.tests) \(.failures)"' "$work/$name.json")"
    passed=$((passed + tests - failures)) failed=$((failed + failures))
    [[ $failures != 0 || $(<"$code") == 0 ]] || failed=$((failed + 1))
  else
    failed=$((failed + 1))
  fi
  [[ $(<"$code") == 0 ]] || { echo "not ok - $name ended with $(<"$code")"; tail -n 30 "$work/$name.log"; }
done
for name in $(sed -n 's/^set(tests_of_the_machine \(.*\))$/\1/p' test/CMakeLists.txt); do
  count=$(grep -cE '^TEST(_F|_P)?\(' "$(find test/unit -name "$name.cc")")
  echo "skipped: $name ($count), which isn't linked to the release's libraries"
  skipped=$((skipped + count))
done
for test in "${emulators[@]}"; do
  echo "skipped: $test, which the emulator can't run"
  skipped=$((skipped + 1))
done
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0 && passed > 500))
