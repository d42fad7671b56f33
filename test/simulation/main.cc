// The simulation: runs the whole program over a simulated transport and clock, against a small
// Kubernetes, while drivers come and go and claim the cluster, people interfere, processes die and
// the network fails. Each history comes from a seed and takes minutes of virtual time; judges check
// the promises.
//
//   simulation [HISTORIES [FIRST_SEED]]
//   simulation --seed=N [--verbose]      repeats a history, and prints its events
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "test/simulation/history.h"

namespace cluster_watcher::simulation {
namespace {

constexpr std::uint64_t kHistories = 100'000;
// The number of seeds that a thread takes at once.
constexpr std::uint64_t kPortion = 64;
// More failures wouldn't tell more, so the rest isn't run.
constexpr std::size_t kMostShown = 20;
// With fewer deletions the histories prove nothing.
constexpr double kLeastDeletions = 0.2;
constexpr std::size_t kPromises = 13;  // of the judges

// The seed of this thread's history.
thread_local std::uint64_t current_seed = 0;

// A crash is a failure, too: prints the seed before the process ends.
void SayCrash(int signal) {
  char text[80];
  const int size = std::snprintf(text, sizeof text, "\nseed %llu: BROKEN the program crashes\n",
                                 static_cast<unsigned long long>(current_seed));
  if (write(STDOUT_FILENO, text, static_cast<std::size_t>(size)) < 0) _exit(2);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

Outcome RunOneHistory(Workshop& workshop, std::uint64_t seed, bool verbose) {
  current_seed = seed;
  return RunHistory(workshop, seed, verbose);
}

struct Total {
  std::map<std::string, std::uint64_t> counts;
  std::vector<Outcome> broken;  // the first ones
  std::uint64_t histories = 0;
  std::uint64_t failures = 0;
  std::uint64_t first_failure = 0;  // the least number of histories after which one failed
};

void Add(const Outcome& outcome, std::uint64_t number, Total& total) {
  for (const auto& [what, times] : outcome.counts) total.counts[what] += times;
  if (outcome.broken.empty()) return;
  if (total.failures++ == 0 || number < total.first_failure) total.first_failure = number;
  if (total.broken.size() < kMostShown) total.broken.push_back(outcome);
}

void Merge(const Total& part, Total& total) {
  for (const auto& [what, times] : part.counts) total.counts[what] += times;
  if (part.failures > 0 && (total.failures == 0 || part.first_failure < total.first_failure)) {
    total.first_failure = part.first_failure;
  }
  total.histories += part.histories;
  total.failures += part.failures;
  for (const Outcome& outcome : part.broken) {
    if (total.broken.size() < kMostShown) total.broken.push_back(outcome);
  }
}

Total RunAll(std::uint64_t histories, std::uint64_t first_seed) {
  Total total;
  std::mutex mutex;
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> failures{0};
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      Workshop workshop;
      Total mine;
      for (;;) {
        const std::uint64_t begin = next.fetch_add(kPortion);
        if (begin >= histories || failures >= kMostShown) break;
        for (std::uint64_t at = begin; at < std::min(begin + kPortion, histories); ++at) {
          const Outcome outcome = RunOneHistory(workshop, first_seed + at, false);
          if (!outcome.broken.empty()) ++failures;
          ++mine.histories;
          Add(outcome, at + 1, mine);
        }
      }
      const std::lock_guard lock(mutex);
      Merge(mine, total);
    });
  }
  workers.clear();
  return total;
}

void Show(const char* command, const Total& total) {
  std::string group;
  for (const auto& [what, times] : total.counts) {
    const std::size_t slash = what.find('/');
    if (what.substr(0, slash) != group)
      std::printf("%s:\n", (group = what.substr(0, slash)).c_str());
    std::printf("  %9llu %s\n", static_cast<unsigned long long>(times),
                what.substr(slash + 1).c_str());
  }
  for (const Outcome& outcome : total.broken) {
    const auto seed = static_cast<unsigned long long>(outcome.seed);
    std::printf("seed %llu: BROKEN %s\n  %s --seed=%llu --verbose\n", seed, outcome.broken.c_str(),
                command, seed);
  }
}

int RunMany(const char* command, std::uint64_t histories, std::uint64_t first_seed) {
  const auto begin = std::chrono::steady_clock::now();
  const Total total = RunAll(histories, first_seed);
  const std::uint64_t run = total.histories;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  Show(command, total);
  const auto deletions = total.counts.find("histories with/deletes begun");
  const bool vacuous =
      deletions == total.counts.end() ||
      static_cast<double>(deletions->second) < kLeastDeletions * static_cast<double>(run);
  if (vacuous) std::printf("too few histories reached a deletion\n");
  std::printf("%llu histories from seed %llu in %.1f s", static_cast<unsigned long long>(histories),
              static_cast<unsigned long long>(first_seed), took.count());
  if (total.failures > 0) {
    std::printf(", the first failure after %llu",
                static_cast<unsigned long long>(total.first_failure));
  }
  std::printf("\n%llu of them failed\n", static_cast<unsigned long long>(total.failures));
  // Counts broken promises, plus one if the histories prove nothing. A crash never gets here.
  std::set<std::string> broken;
  for (const Outcome& outcome : total.broken) {
    broken.insert(outcome.broken.substr(0, outcome.broken.find_first_of(",:")));
  }
  const std::size_t failed = broken.size() + (vacuous ? 1 : 0);
  std::printf("%zu passed, %zu failed\n", kPromises + 1 - failed, failed);
  return failed == 0 ? 0 : 1;
}

int RunOne(const char* command, std::uint64_t seed, bool verbose) {
  Workshop workshop;
  Total total;
  if (verbose) setvbuf(stdout, nullptr, _IOLBF, 0);
  Add(RunOneHistory(workshop, seed, verbose), 1, total);
  std::erase_if(total.counts, [](const auto& count) { return count.second == 0; });
  Show(command, total);
  std::printf("%d passed, %d failed\n", total.failures == 0, total.failures != 0);
  return total.failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cluster_watcher::simulation

int main(int argc, char** argv) {
  using namespace cluster_watcher::simulation;
  std::vector<std::uint64_t> numbers;
  const char* seed = nullptr;
  bool verbose = false;
  for (const int fatal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS}) signal(fatal, SayCrash);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    char* end = nullptr;
    const std::uint64_t number = std::strtoull(argv[i], &end, 10);
    if (argument == "--verbose") {
      verbose = true;
    } else if (argument.starts_with("--seed=")) {
      seed = argv[i] + 7;
    } else if (*end == '\0' && !argument.empty()) {
      numbers.push_back(number);
    } else {
      std::fprintf(stderr, "usage: %s [HISTORIES [FIRST_SEED]] | --seed=N [--verbose]\n", argv[0]);
      return 2;
    }
  }
  if (seed != nullptr) return RunOne(argv[0], std::strtoull(seed, nullptr, 10), verbose);
  return RunMany(argv[0], numbers.empty() ? kHistories : numbers[0],
                 numbers.size() > 1 ? numbers[1] : 1);
}
