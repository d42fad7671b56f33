// A day of many sidecars in one process, in virtual time: each is the program's loop with its own
// client and metrics, over the small Kubernetes without sockets. Memory must stay, and no
// descriptor may be open that wasn't at the start. Prints a line for each tenth.
//
//   fleet_day [SIDECARS [HOURS]]    1000 and 24: 17 million polls
#include <spdlog/sinks/null_sink.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "probes/kube/token_source.h"
#include "test/simulation/fiber.h"
#include "test/small_kubernetes/local_transport.h"
#include "watcher/loop/watch_loop.h"

namespace cluster_watcher {
namespace {

using simulation::Fiber;
using simulation::Stacks;
using small_kubernetes::LocalTransport;
using small_kubernetes::SmallKubernetes;

constexpr int kTenths = 10;
// What the last tenth may have more than the first. A thousand sidecars that leaked a byte with
// each poll would take 17 MiB more in a day.
constexpr long kMoreKilobytes = 1024;

// Time passes only while everybody waits.
class Timeline {
 public:
  MonotonicTime Now() const { return now_; }
  void WakeAt(MonotonicTime time, Fiber& fiber) { due_.push({time, order_++, &fiber}); }
  void RunUntil(MonotonicTime end) {
    while (!due_.empty() && due_.top().time <= end) {
      const Due next = due_.top();
      due_.pop();
      now_ = std::max(now_, next.time);
      next.fiber->Resume();
    }
    now_ = end;
  }

 private:
  struct Due {
    MonotonicTime time;
    std::uint64_t order;
    Fiber* fiber;
    bool operator<(const Due& other) const {
      return std::tie(time, order) > std::tie(other.time, other.order);
    }
  };
  MonotonicTime now_{std::chrono::hours(1)};
  std::uint64_t order_ = 0;
  std::priority_queue<Due> due_;
};

// The clock of a sidecar; without a fiber it is that of the API server.
class SidecarClock final : public Clock {
 public:
  explicit SidecarClock(Timeline& timeline) : timeline_(timeline) {}

  MonotonicTime Now() override { return timeline_.Now(); }
  WallTime WallNow() override {
    return WallTime(std::chrono::sys_days(std::chrono::year(2026) / 12 / 24)) +
           std::chrono::duration_cast<WallTime::duration>(timeline_.Now().time_since_epoch());
  }
  bool WaitUntil(MonotonicTime deadline, std::stop_token stop) override {
    if (deadline > Now()) {
      timeline_.WakeAt(deadline, *fiber);
      fiber->Suspend();
    }
    return !stop.stop_requested();
  }

  Fiber* fiber = nullptr;

 private:
  Timeline& timeline_;
};

class Sidecar {
 public:
  Sidecar(int number, SmallKubernetes& kubernetes, Timeline& timeline, Stacks& stacks)
      : ns_("lab-" + std::to_string(number)),
        clock_(timeline),
        transport_(kubernetes, clock_),
        fiber_(stacks, [this] { Run(); }) {
    clock_.fiber = &fiber_;
    MakeCluster(kubernetes);
    // They don't begin at once, nor do they have the same jitter.
    timeline.WakeAt(timeline.Now() + std::chrono::milliseconds(7 * number), fiber_);
  }
  double definite_polls() const { return polls_; }

 private:
  void MakeCluster(SmallKubernetes& kubernetes) {
    const auto workload = [&](const std::string& name, const std::string& labels) {
      kubernetes.Apply(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":")" +
                       name + R"(","namespace":")" + ns_ + R"(","labels":{)" + labels +
                       R"("app":")" + name +
                       R"("}},"spec":{"replicas":1,"selector":{"matchLabels":{"app":")" + name +
                       R"("}},"template":{"metadata":{"labels":{)" + labels + R"("app":")" + name +
                       R"("}},"spec":{"containers":[{"name":"main","image":"x"}]}}}})");
    };
    kubernetes.Apply(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + ns_ +
                     "\"}}");
    workload("bob", "");
    workload("spark-m", R"("oshinko-cluster":"spark","oshinko-type":"master",)");
    const auto pods = JsonDocument::Parse(
        kubernetes.Admin("GET", "/api/v1/namespaces/" + ns_ + "/pods?labelSelector=app%3Dspark-m")
            .body);
    pod_ = std::string(*pods->root()["items"].At(0)["metadata"]["name"].AsString());
  }

  void Run() {
    const auto resolve = [this](const TextMap& annotations) {
      return ResolveSettings(
          {{"namespace", ns_}, {"pod", pod_}, {"owner", "deployment/bob"}},
          [](const std::string&) { return std::nullopt; }, annotations);
    };
    SettingsInForce settings(resolve({}), resolve);
    ApiServer server;
    server.token = SmallKubernetes::kAdminToken;
    TokenSource tokens(server, clock_);
    prometheus::Registry registry;
    WatcherMetrics metrics(registry, "1.2.3", "0a1b2c3");
    LoopHealth health;
    bool answered = true;
    KubeClient client(transport_, tokens, [&](const RequestRecord& request) {
      metrics.Requested(std::to_string(request.status), ToString(request.method), request.elapsed);
      answered = true;
    });
    Discovery discovery(client);
    Log log(LogLevel::kInfo, LogFormat::kText, std::make_shared<spdlog::sinks::null_sink_st>());
    const Tools tools{client, discovery, clock_, settings, metrics, log.logger(), [&](Duration) {
                        if (std::exchange(answered, false) && health.IsReady()) ++polls_;
                      }};
    Observer observer(client, discovery, clock_, settings);
    EventRecorder events(client, clock_, log.logger(), pod_);
    Announcer announcer(events, clock_, log);
    WatchLoop loop(
        tools, observer, announcer, health,
        [](const std::string&) -> Result<std::unique_ptr<Transport>> {
          return Failure("there are no steps");
        },
        [](MonotonicTime) { return std::nullopt; });
    loop.Run({});
  }

  const std::string ns_;
  std::string pod_;
  SidecarClock clock_;
  LocalTransport transport_;
  double polls_ = 0;
  Fiber fiber_;
};

long Kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::atol(&line[6]);
  }
  return 0;
}

long Descriptors() {
  const std::filesystem::directory_iterator open("/proc/self/fd");
  return std::distance(begin(open), end(open));
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int Run(int count, double hours) {
  const long descriptors = Descriptors();
  Timeline timeline;
  SidecarClock server_clock(timeline);
  SmallKubernetes kubernetes(server_clock);
  kubernetes.log_requests = false;
  Stacks stacks;
  std::vector<std::unique_ptr<Sidecar>> sidecars;
  for (int i = 0; i < count; ++i) {
    sidecars.push_back(std::make_unique<Sidecar>(i, kubernetes, timeline, stacks));
  }
  const auto polls = [&] {
    double sum = 0;
    for (const auto& sidecar : sidecars) sum += sidecar->definite_polls();
    return sum;
  };
  const auto day = std::chrono::seconds(static_cast<long>(hours * 3600));
  // The second sure look, within eleven minutes, makes the last of what is made once.
  timeline.RunUntil(timeline.Now() + day / 20 + std::chrono::minutes(12));

  std::printf("     hours      polls   memory KiB  descriptors  CPU per poll, us\n");
  long first = 0, last = 0;
  const double wanted = static_cast<double>(count) * static_cast<double>((day / 10).count()) / 5.5;
  for (int i = 1; i <= kTenths; ++i) {
    const double polls_before = polls(), cpu_before = CpuSeconds();
    timeline.RunUntil(timeline.Now() + day / 10);
    const double made = polls() - polls_before;
    last = Kilobytes();
    if (i == 1) first = last;
    std::printf("%10.2f %10.0f   %10ld  %11ld  %16.1f\n", hours * i / 10, polls(), last,
                Descriptors(), (CpuSeconds() - cpu_before) * 1e6 / made);
    std::fflush(stdout);
    if (made < wanted) {
      std::printf("%.0f polls are too few: %.0f are wanted\n", made, wanted);
      return 1;
    }
    if (Descriptors() > descriptors) {
      std::printf("%ld descriptors are open, not %ld\n", Descriptors(), descriptors);
      return 1;
    }
  }
  if (last > first + kMoreKilobytes) {
    std::printf("the memory grew by %ld KiB\n", last - first);
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace cluster_watcher

int main(int count, char** arguments) {
  const int sidecars = count > 1 ? std::atoi(arguments[1]) : 1000;
  const double hours = count > 2 ? std::atof(arguments[2]) : 24;
  if (count > 3 || sidecars < 1 || hours <= 0) {
    std::fputs("usage: fleet_day [SIDECARS [HOURS]]\n", stderr);
    return 2;
  }
  return cluster_watcher::Run(sidecars, hours);
}
