#include "watcher/observation/master_rollouts.h"

#include <iterator>
#include <utility>

#include "probes/kube/look_reads.h"
#include "probes/kube/pod_state.h"

namespace cluster_watcher {
namespace {

// How our pod stands to the pod template of its root.
enum class PodAge { kCurrent, kOlder, kUnknown };

// A ReplicaSet that a Deployment has made is known to be made from its template, whatever an
// admission has put on the pod beside it; a pod that a custom resource took over, as an earlier one
// of its name had left it, is not its own. Others tell nothing.
PodAge AgeOfPod(const Snapshot& look, const Surroundings& around) {
  if (look.pod && look.cluster->IsResource(*look.root) &&
      look.pod->meta.owner_references().empty()) {
    return look.facts.root_owner ? PodAge::kUnknown : PodAge::kOlder;
  }
  const OwnerReference* maker = look.pod ? look.pod->meta.Controller() : nullptr;
  if (maker == nullptr || !around.makers || look.root->type->kind != "Deployment") {
    return PodAge::kUnknown;
  }
  const auto made_from = around.makers->templates.find(maker->uid);
  if (made_from == around.makers->templates.end()) return PodAge::kUnknown;
  return made_from->second == around.pods_to_come->text ? PodAge::kCurrent : PodAge::kOlder;
}

}  // namespace

std::vector<ApiRequest> ThatCanBeReadAhead(std::vector<ApiRequest> requests) {
  // Whether a kind is served is evidence only if it is read after the list, and a first page leads
  // to later ones of its own.
  std::erase_if(requests, [](const ApiRequest& request) {
    return request.expect == ApiRequest::Expect::kDocument ||
           request.http.target.find("&continue=") != std::string::npos;
  });
  return requests;
}

bool IsOwnMember(const std::optional<ClusterId>& cluster, const std::optional<KubeObject>& root,
                 const OwnerSight& sight) {
  if (!sight.object || !cluster) return false;
  const ObjectMeta& owner = sight.object->meta;
  const bool is_root = root && root->meta.uid == owner.uid;
  return is_root || (owner.ns() == cluster->ns &&
                     (cluster->Owns(owner) || cluster->IsResource(*sight.object)));
}

std::vector<ApiRequest> MasterRollouts::TakeAsked() { return std::exchange(asked_, {}); }

void MasterRollouts::Find(Snapshot& look, const Surroundings& around, const ClusterOfPods& cluster,
                          const Patience& patience) {
  const auto gone_before = std::exchange(gone_since_, {});
  asked_.clear();
  auto& ambiguities = look.facts.ambiguities;
  const auto compare = [&](const std::string& what, const WatcherOrders& orders,
                           const std::string& ns_unsaid, bool may_lead_nowhere) {
    const auto another = NamesAnotherDriver(look, orders, ns_unsaid);
    const auto nowhere = may_lead_nowhere ? LeadsNowhere(look, orders) : std::nullopt;
    if (!another && !nowhere) return;
    const Next next{what, nowhere ? *nowhere : *another, &orders};
    if (!nowhere && !Keeps(look, next, cluster, gone_before, patience)) return;
    ambiguities.push_back("a rollout is under way to something else: " + what + " " + next.how);
  };
  if (around.pods_to_come) {
    const bool is_older = AgeOfPod(look, around) == PodAge::kOlder;
    if (is_older || around.pods_to_come->are_rolled_out) {
      compare("the pod template of " + look.root->Describe(), around.pods_to_come->orders, "",
              is_older);
    }
  }
  std::vector<const KubeObject*> others;
  std::vector<ApiRequest> requests;
  for (const KubeObject& pod : around.master_pods) {
    if (look.pod && look.pod->meta.uid == pod.meta.uid) continue;
    others.push_back(&pod);
    requests.push_back(ApiRequest::Get(pod.type, pod.meta.ns(), pod.meta.name));
  }
  const auto answers = client_.DoAll(requests, kReadsSideBySide, patience);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i] && answers[i].error().failure == ApiFailure::kNotFound) continue;
    if (!answers[i]) {
      NoteProblem(look, answers[i].error());
      continue;
    }
    const JsonValue pod = answers[i]->document.root();
    if (!IsRunning(pod)) continue;
    // An admission has given a pod all that it will have.
    compare("the other " + others[i]->Describe(), ReadWatcherOrders(pod), settings_->ns, false);
  }
}

// Nothing is looked up where the cluster is kept anyway.
bool MasterRollouts::Keeps(const Snapshot& look, const Next& next, const ClusterOfPods& cluster,
                           const std::map<std::string, MonotonicTime>& gone_before,
                           const Patience& patience) {
  const auto named = OwnerNamedBy(*next.orders);
  if (!look.facts.ambiguities.empty() || !look.GoesOn() || !look.NeedsProof() || !named) {
    return true;
  }
  if (!IsGone(look, *next.orders, cluster, patience)) return true;
  const std::string owner = next.orders->owner_namespace + "/" + named->ToText();
  const auto before = gone_before.find(owner);
  const MonotonicTime since = before == gone_before.end() ? clock_.Now() : before->second;
  gone_since_[owner] = since;
  return clock_.Now() - since < settings_->startup_grace;
}

// Whether the owner that they name is definitely abandoned at this moment.
bool MasterRollouts::IsGone(const Snapshot& look, const WatcherOrders& orders,
                            const ClusterOfPods& cluster, const Patience& patience) {
  const std::string& ns = orders.owner_namespace;
  OwnerQuery query{*OwnerNamedBy(orders), "",           ns.empty() ? settings_->ns : ns,
                   settings_->ns,         std::nullopt, {}};
  query.cluster = cluster;
  patience.reads()->TakeAsked();
  const OwnerSight sight = owner_probe_.Look(query, Freshness::kConsistent, patience);
  std::vector<ApiRequest> asked = ThatCanBeReadAhead(patience.reads()->TakeAsked());
  asked_.insert(asked_.end(), std::make_move_iterator(asked.begin()),
                std::make_move_iterator(asked.end()));
  return IsOver(sight.observation) && sight.still_running.empty() &&
         !IsOwnMember(look.cluster, look.root, sight);
}

}  // namespace cluster_watcher
