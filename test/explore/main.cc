// Walks, breadth first, through every order of events in a small world: reads, writes and deletes
// of two watchers and a command, each of which may be slow, killed, or not told that it was heard;
// a driver that ends and comes back; people who hold, keep, forge, and take things away. What is
// decided in it is decided by the program's own functions. In every state: nothing of a cluster
// that is in use is deleted, what is to be kept stays, and what was begun ends once all is well.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "test/explore/action.h"
#include "test/explore/state.h"

namespace cluster_watcher::explore {
namespace {

struct Options {
  int events = 3;
  std::size_t states = 10'000'000;
  int most_companions = kProcesses;  // of watcher A, one after the other
};

std::uint64_t HashOf(const State& state) {
  static_assert(sizeof(State) < 256);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&state);
  std::uint64_t hash = 0x9E3779B97F4A7C15;
  for (std::size_t at = 0; at < sizeof(State); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min<std::size_t>(8, sizeof(State) - at));
    hash = (hash ^ word) * 0xD6E8FEB86659FD93;
    hash ^= hash >> 32;
  }
  return hash == 0 ? 1 : hash;
}

// The hashes of all states that were met.
class Visited {
 public:
  explicit Visited(std::size_t most) : table_(RoundUp(2 * most)) {}
  // False: it was there.
  bool Add(std::uint64_t hash) {
    for (std::size_t at = hash % table_.size();; at = (at + 1) % table_.size()) {
      if (table_[at] == hash) return false;
      if (table_[at] != 0) continue;
      table_[at] = hash;
      return true;
    }
  }

 private:
  static std::size_t RoundUp(std::size_t size) {
    std::size_t power = 1024;
    while (power < size) power *= 2;
    return power;
  }
  std::vector<std::uint64_t> table_;
};

// How a state was reached.
struct Origin {
  std::uint32_t from;
  Action action;
};

class Explorer {
 public:
  explicit Explorer(const Options& options) : options_(options), visited_(options.states) {}

  // Whether no promise is broken.
  bool Run() {
    for (const bool is_kept_owned : {false, true}) {
      for (const bool has_finalizer : {false, true}) {
        for (int companion = 0; companion < options_.most_companions; ++companion) {
          Meet(Begin(is_kept_owned, has_finalizer, companion, options_.events));
        }
      }
    }
    std::size_t number = 0;
    while (!frontier_.empty() && number < options_.states && broken_.empty()) {
      std::vector<State> level;
      level.swap(frontier_);
      for (const State& state : level) {
        if (!Expand(state, static_cast<std::uint32_t>(number++))) break;
        if (origins_.size() >= options_.states) break;
      }
      ++depth_;
      if (origins_.size() >= options_.states) break;
    }
    Tell();
    return broken_.empty();
  }

 private:
  bool Expand(const State& state, std::uint32_t number) {
    for (const Action& action : Possible(state)) {
      State next = state;
      std::string broken;
      Apply(action, next, broken);
      ++steps_;
      if (!broken.empty()) return Break(number, action, broken);
      if (!visited_.Add(HashOf(next))) continue;
      origins_.push_back({number, action});
      frontier_.push_back(next);
      const bool is_marked = next.world.is_begun || next.world.phase != 0;
      if (is_marked && !Ends(next)) {
        return Break(number, action, "what was begun, or marked, never ends");
      }
    }
    return true;
  }

  void Meet(const State& first) {
    visited_.Add(HashOf(first));
    origins_.push_back({static_cast<std::uint32_t>(beginnings_.size()), {What::kTick}});
    beginnings_.push_back(first);
    frontier_.push_back(first);
  }

  // Whether a deletion ends, or is called off, once all is well and nothing more happens. Who is
  // the first at each deadline may take it over from the other time and again: not always the same.
  static bool Ends(const State& state) {
    return EndsWith(state, false, false) || EndsWith(state, true, false);
  }
  static bool EndsWith(State state, bool last_is_first, bool tells) {
    constexpr int kRounds = 24;
    constexpr int kMostSteps = 12;
    std::string broken;
    state.world.events = 0;
    Apply({What::kHeal}, state, broken);
    if (state.world.driver == Driver::kPodRuns) Apply({What::kDriverPodEnds}, state, broken);
    for (int round = 0; round < kRounds; ++round) {
      if (IsOver(state)) return true;
      for (std::uint8_t turn = 0; turn < kProcesses; ++turn) {
        const auto i = static_cast<std::uint8_t>(last_is_first ? kProcesses - 1 - turn : turn);
        if (i == 0 && state.processes[0].stage == Stage::kDown &&
            state.world.root.presence != Presence::kGone) {
          Apply({What::kStart, i}, state, broken);
        }
        for (int step = 0; step < kMostSteps && IsBusy(state, i); ++step) {
          const State before = state;
          const std::string said = Apply({What::kStep, i}, state, broken);
          if (tells) std::printf("      then %s\n", said.c_str());
          if (std::memcmp(&before, &state, sizeof(State)) == 0) break;
          // One poll a tick.
          if (state.processes[i].stage == Stage::kIdle) break;
        }
      }
      Apply({round % 4 == 3 ? What::kMinute : What::kTick}, state, broken);
    }
    return IsOver(state);
  }

  static bool IsOver(const State& state) {
    const World& world = state.world;
    if (world.root.presence == Presence::kGone) return true;
    const bool is_spared = world.phase == 0;
    const bool keeps = world.driver != Driver::kAbsent || world.hold || world.keep;
    // Its root would take along what is to be kept, or it is in use again.
    return is_spared && keeps;
  }

  bool Break(std::uint32_t number, const Action& last, const std::string& why) {
    broken_ = why;
    std::vector<Action> story{last};
    while (number >= beginnings_.size()) {
      story.push_back(origins_[number].action);
      number = origins_[number].from;
    }
    std::reverse(story.begin(), story.end());
    State state = beginnings_[number];
    std::printf("%s:\n", why.c_str());
    if (state.world.is_kept_owned) std::printf("  (what is to be kept belongs to the worker)\n");
    if (state.world.worker_finalizer) std::printf("  (a finalizer holds the worker)\n");
    int line = 0;
    for (const Action& action : story) {
      std::string broken;
      std::printf("  %2d. %s\n", ++line, Apply(action, state, broken).c_str());
    }
    if (state.world.is_begun || state.world.phase != 0) EndsWith(state, false, true);
    return false;
  }

  void Tell() const {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    std::printf("%zu states, %zu steps, depth %d, %.0f s, %d events in each story: %s\n",
                origins_.size(), steps_, depth_, seconds, options_.events,
                !broken_.empty()    ? "broken"
                : frontier_.empty() ? "all that can be reached"
                                    : "as many as were asked for");
    std::printf("%d passed, %d failed\n", broken_.empty() ? 1 : 0, broken_.empty() ? 0 : 1);
  }

  const Options options_;
  Visited visited_;
  std::vector<State> beginnings_;
  std::vector<Origin> origins_;
  std::vector<State> frontier_;
  std::size_t steps_ = 0;
  int depth_ = 0;
  std::string broken_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace
}  // namespace cluster_watcher::explore

// usage: explore [EVENTS [STATES [COMPANIONS]]]; 1 companion is none
int main(int argc, char** argv) {
  cluster_watcher::explore::Options options;
  if (argc > 1) options.events = std::atoi(argv[1]);
  if (argc > 2) options.states = static_cast<std::size_t>(std::atoll(argv[2]));
  if (argc > 3) options.most_companions = std::atoi(argv[3]);
  return cluster_watcher::explore::Explorer(options).Run() ? 0 : 1;
}
