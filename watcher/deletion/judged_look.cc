#include "watcher/deletion/judged_look.h"

#include <utility>

#include "watcher/protocol/master_root.h"

namespace cluster_watcher {

Decision DecideWithOthers(Observer& observer, const Snapshot& snapshot,
                          const std::stop_token& stop) {
  if (snapshot.others) return Decide(snapshot.facts, *snapshot.others);
  Decision decision = Decide(snapshot.facts);
  if (!decision.abandoned()) return decision;
  return Decide(snapshot.facts, observer.FindOtherDrivers(snapshot, stop));
}

std::optional<WatcherId> PodOf(const Snapshot& snapshot) {
  if (!snapshot.pod) return std::nullopt;
  return WatcherId{snapshot.pod->meta.name, snapshot.pod->meta.uid};
}

Decision AskPolicy(KubeClient& client, const std::optional<WatcherId>& pod,
                   const Snapshot& snapshot, Decision decision) {
  if (!snapshot.root) return decision;
  const WatcherId by = pod.value_or(WatcherId{"cli", "tried"});
  MasterRoot root(client, *snapshot.root);
  const auto policy = root.PolicyAgainstMarks(by);
  decision.refused_by = WhoRefuses(root.problem().message);
  return policy ? HeldByPolicy(std::move(decision), *policy) : decision;
}

JudgedLook LookAndDecide(Observer& observer, const std::stop_token& stop, OtherDriversToo others) {
  Snapshot snapshot = observer.SureLook(stop, others);
  Decision decision = DecideWithOthers(observer, snapshot, stop);
  return {std::move(snapshot), std::move(decision)};
}

}  // namespace cluster_watcher
