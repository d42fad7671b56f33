#include "test/explore/action.h"

#include <algorithm>

#include "test/explore/process.h"

namespace cluster_watcher::explore {
namespace {

const char* const kNames[kProcesses] = {"watcher A", "watcher B", "delete"};

bool IsUsed(const World& world) { return world.driver != Driver::kAbsent || world.hold; }

// `most`: up to where somebody asks.
void Older(Age& age, bool by_minutes, Age most = kOld) {
  age = std::min<Age>(by_minutes ? kVeryOld : static_cast<Age>(age + 1), std::max(most, age));
}
// What only a deadline asks for.
void MuchOlder(Age& age, bool by_minutes) {
  if (by_minutes) age = kVeryOld;
}

void Pass(State& state, bool by_minutes) {
  World& world = state.world;
  if (IsUsed(world)) {
    Older(world.used_for, by_minutes);
    MuchOlder(world.used_for, by_minutes);
  }
  if (world.keep) Older(world.kept_for, by_minutes);
  if (world.phase == 2) MuchOlder(world.deleting_for, by_minutes);
  if (world.root.presence == Presence::kGone) Older(world.root_gone_for, by_minutes);
  for (Process& process : state.processes) {
    const Stage stage = process.stage;
    if (stage == Stage::kDown || stage == Stage::kDone) continue;
    if (process.seen_phase != 0) MuchOlder(process.seen_age, by_minutes);
    if (process.count > 0 && stage == Stage::kIdle) Older(process.span, by_minutes, 1);
    if (stage == Stage::kIdle) continue;
    if (stage != Stage::kCondemned && process.LooksAgain()) {
      Older(process.look_age, by_minutes);
      if (process.accepted != 0) MuchOlder(process.look_age, by_minutes);
    }
    if (process.is_root_read) Older(process.root_age, by_minutes);
    if (stage >= Stage::kBegun || process.has_view) MuchOlder(process.began_age, by_minutes);
  }
}

// Clears what the process won't ask for again, so that states that differ in it are one.
void Forget(Process& process) {
  const Process before = process;
  switch (before.stage) {
    case Stage::kDown:
    case Stage::kDone:
      process = Process();
      process.stage = before.stage;
      return;
    case Stage::kIdle:
      process = Process();
      process.stage = before.stage;
      process.seen = before.seen;
      process.takes_marks_off = before.takes_marks_off;
      process.count = before.count;
      process.count_generation = before.count_generation;
      process.span = before.span;
      process.seen_phase = before.seen_phase;
      process.seen_by = before.seen_by;
      process.seen_serial = before.seen_serial;
      process.seen_age = before.seen_age;
      return;
    case Stage::kLooked:
    case Stage::kConfirmed:
      break;
    case Stage::kCondemned:
      process.look_age = 0;
      [[fallthrough]];
    case Stage::kWaits:
    case Stage::kBegun:
    case Stage::kListed:
    case Stage::kSends:
    case Stage::kLast:
    case Stage::kRoot:
    case Stage::kAwaits:
      process.reason = process.read_generation = process.phase = process.by = 0;
      process.deleting_for = process.deleting_serial = process.recorded = 0;
      process.has_root = process.is_root_as_read = false;
      if (!before.LooksAgain()) process.look_age = 0;
      break;
  }
  if (before.stage != Stage::kLooked) {
    process.count = process.count_generation = process.span = 0;
    process.seen_phase = process.seen_by = process.seen_serial = process.seen_age = 0;
  }
  if (before.stage < Stage::kBegun && !before.has_view) process.began_age = 0;
}

// Counts the times of the mark from that which is written now: they are only ever compared.
void CountFromNow(State& state) {
  const auto from_now = [&](std::uint8_t serial) {
    return static_cast<std::uint8_t>((serial + 4 - state.world.deleting_serial) % 4);
  };
  for (Process& process : state.processes) {
    if (process.phase == 2) process.deleting_serial = from_now(process.deleting_serial);
    if (process.phase != 2) process.deleting_serial = 0;
    if (process.seen_phase == 2) process.seen_serial = from_now(process.seen_serial);
  }
  state.world.deleting_serial = 0;
}

void MarkWritten(State& state) {
  for (Process& process : state.processes) process.is_root_as_read = process.is_root_fresh = false;
}

void Kill(Process& process, Stage stage) {
  process = Process();
  process.stage = stage;
}

// A world that stops being used, or begins to be.
void NoteUse(World& world, bool was_used) {
  if (was_used != IsUsed(world)) world.used_for = 0;
}

// Those of which only so many happen in a story.
bool IsEvent(What what) {
  return what != What::kStep && what != What::kStart && what != What::kTick &&
         what != What::kMinute && what != What::kDriverLeaves && what != What::kDriverPodEnds &&
         what != What::kHeal;
}

}  // namespace

State Begin(bool is_kept_owned, bool worker_finalizer, int companion, int events) {
  State state{};
  state.world.is_kept_owned = is_kept_owned;
  state.world.worker_finalizer = worker_finalizer;
  state.world.events = static_cast<std::uint8_t>(events);
  for (int i = 1; i < kProcesses; ++i) {
    if (i != companion) state.processes[static_cast<std::size_t>(i)].stage = Stage::kDown;
  }
  return state;
}

bool IsBusy(const State& state, int number) {
  const Process& process = state.processes[static_cast<std::size_t>(number)];
  if (process.stage == Stage::kDown || process.stage == Stage::kDone) return false;
  return process.stage != Stage::kWaits || process.look_age >= kOld;
}

std::vector<Action> Possible(const State& state) {
  std::vector<Action> actions;
  const World& world = state.world;
  // Nothing more is sent to a cluster that has gone.
  const bool is_over = world.root.presence == Presence::kGone && world.root_gone_for >= kOld;
  if (is_over &&
      std::none_of(state.processes.begin(), state.processes.end(), [](const Process& one) {
        return one.stage == Stage::kSends || one.stage == Stage::kLast;
      })) {
    return actions;
  }
  const bool has_root = world.root.presence != Presence::kGone;
  const bool more = world.events > 0;
  for (int i = 0; i < kProcesses; ++i) {
    const auto number = static_cast<std::uint8_t>(i);
    const Stage stage = state.processes[number].stage;
    if (IsBusy(state, i)) {
      actions.push_back({What::kStep, number});
      if (more && Writes(state, i)) actions.push_back({What::kLoseAnswer, number});
    }
    const bool runs = stage != Stage::kDown && stage != Stage::kDone;
    if (runs && more) actions.push_back({What::kKill, number});
    if (runs && more && i == 1) actions.push_back({What::kKillPod, number});
    if (!runs && i == 0 && stage == Stage::kDown && has_root) {
      actions.push_back({What::kStart, number});
    }
  }
  actions.push_back({What::kTick});
  actions.push_back({What::kMinute});
  if (world.driver == Driver::kPodRuns) actions.push_back({What::kDriverPodEnds});
  if (world.maps_fail || world.api_fails || world.owner_fails) actions.push_back({What::kHeal});
  if (world.driver == Driver::kActive) actions.push_back({What::kDriverLeaves});
  if (!more) return actions;
  if (world.driver != Driver::kActive) actions.push_back({What::kDriverReturns});
  actions.push_back({world.hold ? What::kUnhold : What::kHold});
  if (has_root) {
    actions.push_back({world.keep ? What::kUnkeep : What::kKeep});
    if (world.phase == 0) actions.push_back({What::kForgeMarks});
    if (world.phase != 0) actions.push_back({What::kTakeMarksOff});
    actions.push_back({What::kDeleteRoot});
  }
  if (world.worker.presence == Presence::kGone && world.worker.generation == 0) {
    actions.push_back({What::kMakeWorker});
  }
  if (world.worker_finalizer) actions.push_back({What::kReleaseWorker});
  if (!world.maps_fail) actions.push_back({What::kMapsFail});
  if (!world.api_fails) actions.push_back({What::kApiFails});
  if (!world.owner_fails) actions.push_back({What::kOwnerFails});
  return actions;
}

std::string Apply(const Action& action, State& state, std::string& broken) {
  World& world = state.world;
  Process& process = state.processes[action.process];
  const bool was_used = IsUsed(world);
  const std::string name = kNames[action.process];
  std::string said;
  if (IsEvent(action.what)) --world.events;
  switch (action.what) {
    case What::kStep:
    case What::kLoseAnswer: {
      const bool had_root = world.root.presence != Presence::kGone;
      said = name + " " + Step(state, action.process, action.what == What::kLoseAnswer, broken);
      if (action.what == What::kLoseAnswer) said += ", and isn't told";
      if (had_root && world.root.presence == Presence::kGone) world.root_gone_for = 0;
      Forget(process);
      break;
    }
    case What::kKill:
      Kill(process, action.process == kCommand ? Stage::kDone : Stage::kDown);
      said = name + " is killed";
      break;
    case What::kKillPod:
      Kill(process, Stage::kDown);
      said = name + "'s pod goes";
      break;
    case What::kStart:
      Kill(process, Stage::kIdle);
      process.seen = world.recorded;
      said = name + " starts";
      break;
    case What::kTick:
      Pass(state, false);
      said = "3 s pass";
      break;
    case What::kMinute:
      Pass(state, true);
      said = "a minute passes";
      break;
    case What::kDriverLeaves:
      world.driver = Driver::kPodRuns;
      said = "the driver's Deployment is deleted";
      break;
    case What::kDriverPodEnds:
      world.driver = Driver::kAbsent;
      said = "the driver's pod ends";
      break;
    case What::kDriverReturns:
      world.driver = Driver::kActive;
      world.driver_generation = 1;
      said = "the driver is made again";
      break;
    case What::kHold:
    case What::kUnhold:
      world.hold = action.what == What::kHold;
      said = world.hold ? "somebody holds the namespace" : "the hold ends";
      break;
    case What::kKeep:
    case What::kUnkeep:
      world.keep = action.what == What::kKeep;
      world.kept_for = 0;
      MarkWritten(state);
      said = world.keep ? "somebody annotates the root to be kept" : "that is taken off";
      break;
    case What::kForgeMarks:
      world.phase = 2;
      world.by = 1;
      world.deleting_for = 0;
      MarkWritten(state);
      said = "a rollback brings back the marks of a deletion by watcher A";
      break;
    case What::kTakeMarksOff:
      world.phase = world.by = world.deleting_for = 0;
      MarkWritten(state);
      said = "somebody takes the marks off";
      break;
    case What::kDeleteRoot:
      world.root.presence = Presence::kGone;
      world.root_gone_for = 0;
      said = "somebody deletes the root";
      break;
    case What::kMakeWorker:
      world.worker = {Presence::kThere, 1};
      said = "a controller makes the worker again";
      break;
    case What::kReleaseWorker:
      world.worker_finalizer = false;
      if (world.worker.presence == Presence::kTerminating) world.worker.presence = Presence::kGone;
      said = "the worker's finalizer is taken off";
      break;
    case What::kMapsFail:
      world.maps_fail = true;
      said = "ConfigMaps can't be listed";
      break;
    case What::kApiFails:
      world.api_fails = true;
      said = "the API server is away";
      break;
    case What::kOwnerFails:
      world.owner_fails = true;
      said = "the driver's Deployment can't be read";
      break;
    case What::kHeal:
      world.maps_fail = world.api_fails = world.owner_fails = false;
      said = "the API server is well";
      break;
  }
  NoteUse(world, was_used);
  CountFromNow(state);
  return said;
}

}  // namespace cluster_watcher::explore
