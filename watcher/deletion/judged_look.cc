#include "watcher/deletion/judged_look.h"

#include <utility>

#include "watcher/protocol/master_root.h"

namespace cluster_watcher {

Decision DecideWithOthers(Observer& observer, const Snapshot& snapshot,
                          const std::stop_token& stop) {
  Decision decision = Decide(snapshot.facts);
  if (!decision.abandoned()) return decision;
  return Decide(snapshot.facts, observer.FindOtherDrivers(snapshot, stop));
}

Decision AskPolicy(KubeClient& client, const Snapshot& snapshot, Decision decision) {
  if (!snapshot.root) return decision;
  const auto policy = MasterRoot(client, *snapshot.root).PolicyAgainstMarks();
  return policy ? HeldByPolicy(std::move(decision), *policy) : decision;
}

JudgedLook LookAndDecide(Observer& observer, const std::stop_token& stop) {
  Snapshot snapshot = observer.SureLook(stop, OtherDriversToo::kYes);
  Decision decision = DecideWithOthers(observer, snapshot, stop);
  return {std::move(snapshot), std::move(decision)};
}

}  // namespace cluster_watcher
