// How long a deletion takes, and what it costs: where requests fail or answers are late, and with
// very many members. Prints tables; a figure never makes it fail, a deletion that doesn't end does.
// It is a part of the integration suite in an executable of its own, with that suite's options:
//
//   deletion_bench --kubernetes=small|real [--control-plane=DIR] [--binary=FILE]
//
// RUNS (5): how often each is measured. MEMBERS ("1000 10000 30000"): how many.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "test/integration/failure_case.h"

namespace cluster_watcher::integration {
namespace {

using std::chrono::milliseconds;
using Seconds = std::chrono::duration<double>;

constexpr auto kLongest = std::chrono::minutes(9);
constexpr int kMakers = 8;  // threads that make members
constexpr std::size_t kAnnotationBytes = 4096;
// A fifth of the failures asks to be left alone for a second, so nothing can be said of a grace
// period that is shorter than that.
constexpr const char* kPollInterval = "--poll-interval=1s";
constexpr const char* kGracePeriod = "--grace-period=5s";

int Runs() {
  const char* text = std::getenv("RUNS");
  return text == nullptr ? 5 : std::max(1, std::atoi(text));
}

std::vector<int> Sizes() {
  const char* text = std::getenv("MEMBERS");
  std::istringstream words(text == nullptr ? "1000 10000 30000" : text);
  std::vector<int> sizes;
  for (int size; words >> size;) sizes.push_back(size);
  return sizes;
}

// "1.20 [1.10–1.90]": the median, and the extremes.
std::string Spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  char text[80];
  std::snprintf(text, sizeof text, "%6.2f [%.2f–%.2f]", values[values.size() / 2], values.front(),
                values.back());
  return text;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class DeletionBench : public FailureCase {
 protected:
  // From the driver's deletion to the master root's, in seconds.
  double Measure(double share, milliseconds delay, unsigned seed) {
    MakeCluster();
    MakeDriver();
    Proxy& proxy = BehindProxy();
    Watcher& watcher = WatchOver("deployment/bob", {kPollInterval, kGracePeriod});
    EXPECT_TRUE(Shows(watcher, "keep: active"));
    proxy.FailAtRandom(share, seed);
    proxy.DelayAnswers(delay);
    const auto began = std::chrono::steady_clock::now();
    api().Delete("deployments", ns_, "bob");
    EXPECT_TRUE(Eventually([&] { return watcher.Phase() == "done"; }, kLongest))
        << share << " of the requests fail, " << delay.count() << " ms of delay\n"
        << watcher.Log();
    const Seconds took = std::chrono::steady_clock::now() - began;
    watcher.Stop(SIGKILL);
    EnterNamespace();
    return took.count();
  }

  // Half of them ConfigMaps, half bare pods.
  void MakeMany(int count) {
    std::atomic<int> next{0};
    std::vector<std::jthread> makers;
    for (int i = 0; i < kMakers; ++i) {
      makers.emplace_back([&] {
        Api own(server().Admin());
        for (int n; (n = next++) < count;) {
          Metadata metadata = Labelled("member-" + std::to_string(n));
          metadata.annotations["example.com/filling"] = std::string(kAnnotationBytes, 'x');
          if (n % 2 == 0) {
            own.Create("configmaps", ns_, ConfigMapOf(metadata));
          } else {
            own.Create("pods", ns_, R"({"metadata": )" + metadata.Json() + R"(, "spec": {
                "containers": [{"name": "main", "image": "example.invalid/none"}]}})");
          }
        }
      });
    }
  }
};

TEST_F(DeletionBench, WhereRequestsFailAndAnswersAreLate) {
  std::printf(
      "driver deleted to master root deleted, s: median [least–greatest] of %d, and ratio\n"
      "(%s %s)\n",
      Runs(), kPollInterval, kGracePeriod);
  double clean = 0;
  const auto row = [&](double share, int delay) {
    std::vector<double> took;
    for (int run = 0; run < Runs(); ++run) {
      took.push_back(Measure(share, milliseconds(delay), static_cast<unsigned>(run + 1)));
    }
    if (clean == 0) clean = Median(took);
    std::printf("  %3.0f %% fail, %3d ms late  %-26s %5.1f×\n", share * 100, delay,
                Spread(took).c_str(), Median(took) / clean);
    std::fflush(stdout);
  };
  for (const double share : {0.0, 0.03, 0.1, 0.3}) row(share, 0);
  for (const int delay : {100, 400, 800}) row(0, delay);
}

TEST_F(DeletionBench, WithVeryManyMembers) {
  std::printf("members  deleted in, s  per member, µs  requests per member  most memory, MiB\n");
  for (const int size : Sizes()) {
    MakeCluster();
    MakeDriver();
    MakeMany(size);
    Watcher& watcher = WatchOver("deployment/bob", {"--delete-deadline=1h"});
    EXPECT_TRUE(Shows(watcher, "keep: active"));
    api().Delete("deployments", ns_, "bob");
    EXPECT_TRUE(Eventually([&] { return watcher.Phase() == "deleting"; }, kLongest));
    const double before = watcher.Requests();
    EXPECT_TRUE(Eventually([&] { return watcher.Phase() == "done"; }, kLongest)) << watcher.Log();
    const double took = watcher.Metric("cluster_watcher_deletion_duration_seconds");
    std::printf("%7d %14.2f %15.0f %20.2f %17.1f\n", size, took, took / size * 1e6,
                (watcher.Requests() - before) / size,
                static_cast<double>(watcher.PeakMemoryKilobytes()) / 1024);
    std::fflush(stdout);
    watcher.Stop(SIGKILL);
    EnterNamespace();
  }
}

}  // namespace
}  // namespace cluster_watcher::integration
