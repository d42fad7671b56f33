#include "test/simulation/history.h"

#include "test/simulation/kubelet.h"

namespace cluster_watcher::simulation {
namespace {

class NoListener final : public Listener {
 public:
  void Sent(const Exchange&) override {}
  void Arriving(const Exchange&) override {}
  void Handled(const Exchange&, int) override {}
};

}  // namespace

Outcome RunHistory(Workshop& workshop, std::uint64_t seed, bool verbose) {
  const Plan plan = Plan::Draw(seed);
  Timeline timeline;
  Journal journal(timeline, verbose);
  World world(timeline, plan, journal, seed);
  NoListener listener;
  Network network(timeline, world, Random(seed ^ 0x1111), listener);
  Kubelet kubelet(workshop, timeline, world, network, Random(seed ^ 0x2222));
  kubelet.Look();
  timeline.After(std::chrono::seconds(8),
                 [&] { world.Do("person", "DELETE", world.DriverPath()); });
  const MonotonicTime end = plan.calm + std::chrono::seconds(120);
  while (timeline.RunNext(end)) {
    kubelet.Look();
    if (world.Root() == nullptr) break;
  }
  Outcome outcome;
  outcome.seed = seed;
  ++outcome.counts[world.Root() == nullptr ? "deleted" : "kept"];
  outcome.counts["requests"] += network.exchanges().size();
  return outcome;
}

}  // namespace cluster_watcher::simulation
