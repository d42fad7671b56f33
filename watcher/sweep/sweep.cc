#include "watcher/sweep/sweep.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "probes/owner_kinds.h"
#include "probes/watcher_container.h"
#include "watcher/deletion/judged_look.h"
#include "watcher/deletion/member_listing.h"
#include "watcher/driver/cluster_list.h"
#include "watcher/driver/cluster_view.h"
#include "watcher/sweep/collected_claims.h"

namespace cluster_watcher {
namespace {

constexpr Duration kLongestAskedWait = std::chrono::minutes(1);
constexpr const char* kInjectedLabel = "cluster-watcher/injected";
const std::string kTurnedOff = std::string(annotation::kInject) + "=false";

struct ClusterName {
  std::string ns;
  std::string name;
  std::size_t words;  // which of the request's

  bool operator<(const ClusterName& other) const {
    return std::tie(ns, name, words) < std::tie(other.ns, other.name, other.words);
  }
};

class Sweeper {
 public:
  Sweeper(const SweepTools& sweep, const SweepRequest& request, const SweepListener& listener)
      : sweep_(sweep), driver_(sweep.driver), request_(request), listener_(listener) {}

  Result<SweepProgress, ApiError> Run() {
    if (auto found = FindClusters(); !found) return Unexpected{std::move(found).error()};
    if (auto watched = FindWatched(); !watched) return Unexpected{std::move(watched).error()};
    progress_.clusters = found_.size();
    for (const ClusterName& name : found_) {
      if (driver_.stop.stop_requested()) break;
      if (watched_.contains(name)) {
        ++progress_.watched;
      } else if (IsTurnedOff(name.ns)) {
        Settle(IdOf(name),
               {Swept::What::kKept, "", "its namespace is labelled " + kTurnedOff, false});
      } else {
        Glance(name);
      }
      Move();
    }
    found_.clear();
    CollectClaims();
    while (!waiting_.empty()) StepNext();
    return progress_;
  }

 private:
  ClusterId IdOf(const ClusterName& name) const {
    return {name.ns, request_.words[name.words].profile, name.name};
  }

  // A namespace that can't be read is judged like any other: the account may have no right to it.
  bool IsTurnedOff(const std::string& ns) const {
    const DriverTools& glance = request_.words.front().glance;
    const auto answer = glance.client.Do(
        ApiRequest::GetMetadata(*FindBuiltInByName("namespaces", ""), "", ns), glance.Reads());
    if (!answer) return false;
    const auto meta = ReadObjectMeta(answer->document.root());
    if (!meta) return false;
    return meta->Label(annotation::kInject) == "false";
  }

  void CollectClaims() {
    const SharedProfile& profile = request_.words.front().profile;
    const auto settings = SettingsOf(sweep_.settings, {request_.ns, profile, ""});
    const ClaimSweep claims{driver_, **settings, request_.ns, profile->cluster_label};
    CollectDueClaims(claims, [this](const std::string& ns, const std::string& claim, Swept swept) {
      if (swept.what == Swept::What::kFailed) ++progress_.failed;
      if (swept.what == Swept::What::kDeleted || swept.what == Swept::What::kWouldDelete) {
        ++progress_.claims;
      }
      Tell(ns, claim, swept);
      Move();
    });
  }

  // The first words are those that are asked for, or Oshinko's: of them whatever is left is found.
  Result<Done, ApiError> FindClusters() {
    if (auto found = FindMembers(); !found) return found;
    for (std::size_t words = 0; words < request_.words.size(); ++words) {
      const SharedProfile& profile = request_.words[words].profile;
      if (words == 0 && !profile->HasRoot()) continue;
      const auto names = FindClusterNames(driver_, profile, request_.ns);
      if (!names) return Unexpected{names.error()};
      for (const auto& [ns, name] : *names) found_.insert({ns, name, words});
    }
    return Done{};
  }

  // Lists what carries the cluster label, of all kinds of members but claims, which stay behind.
  Result<Done, ApiError> FindMembers() {
    const SharedProfile& profile = request_.words[0].profile;
    const std::string& label = profile->cluster_label;
    const Patience patience = driver_.Reads();
    const auto settings = SettingsOf(sweep_.settings, {request_.ns, profile, ""});
    const MemberKinds kinds = FindMemberKinds(**settings, driver_.discovery, patience);
    for (const ResourceType& type : kinds.types) {
      if (type.kind == "PersistentVolumeClaim") continue;
      const auto read = driver_.client.EachItem(
          ApiRequest::ListBySelector(type, request_.ns, label, true),
          [&](JsonValue item) {
            const auto meta = ReadObjectMeta(item);
            const auto name = meta ? meta->Label(label) : std::nullopt;
            if (!name || name->empty() || !ClusterId{meta->ns(), profile, *name}.Owns(*meta))
              return;
            found_.insert({meta->ns(), *name, 0});
          },
          patience);
      // The workloads are needed. What else can't be listed is a deletion's own to judge.
      if (!read && (IsWorkload(type) || type.kind == "Service")) return Unexpected{read.error()};
    }
    return Done{};
  }

  // The clusters in whose master pods a watcher runs.
  Result<Done, ApiError> FindWatched() {
    const ResourceType& pods = *FindBuiltInByName("pods", "");
    std::set<std::size_t> needed;
    for (const ClusterName& name : found_) needed.insert(name.words);
    for (const std::size_t words : needed) {
      const Profile& profile = *request_.words[words].profile;
      for (const std::string& which :
           {profile.master.ToText(), std::string(kInjectedLabel) + "=true"}) {
        const auto read = driver_.client.EachItem(
            ApiRequest::ListBySelector(pods, request_.ns, profile.cluster_label + "," + which,
                                       false),
            [&](JsonValue pod) {
              const auto meta = ReadObjectMeta(pod);
              if (!meta || !IsWatched(pod)) return;
              watched_.insert({meta->ns(), meta->Label(profile.cluster_label).value_or(""), words});
            },
            driver_.Reads());
        if (!read) return Unexpected{read.error()};
      }
    }
    return Done{};
  }

  // Tells what is to be looked at for sure.
  void Glance(const ClusterName& name) {
    const ClusterId cluster = IdOf(name);
    const DriverTools& glance = request_.words[name.words].glance;
    const auto view = ReadClusterView(glance.client, glance.discovery, cluster, glance.Reads());
    if (!view) {
      return Settle(cluster,
                    {Swept::What::kKept, ToString(Reason::kUnknown), view.error().message});
    }
    if (!view->exists) return Settle(cluster, {Swept::What::kKept, "", "it is gone", false});
    if (!view->rivals.empty()) {
      return Settle(cluster, {Swept::What::kKept, ToString(Reason::kAmbiguous),
                              "these are all masters of it: " + Joined(view->rivals)});
    }
    if (!view->root) {
      return Settle(
          cluster,
          {Swept::What::kKept, "",
           "it has no master: cluster-watcher delete " + cluster.name + " -n " + cluster.ns +
               (cluster.profile->IsDefault() ? "" : " --profile=" + cluster.profile->name) +
               " ends it"});
    }
    const auto settings = SettingsOf(sweep_.settings, cluster);
    Observer observer(glance.client, glance.discovery, glance.clock, *settings);
    observer.SetRoot(*view->root);
    observer.HeedsOptOut();
    const JudgedLook look = LookAndDecide(observer, driver_.stop);
    const bool is_settled = !look.decision.abandoned() &&
                            look.decision.reason != Reason::kUnknown &&
                            look.decision.reason != Reason::kOwnerAdopted &&
                            view->marks.phase == Phase::kWatching && !view->marks.abandoned_since;
    if (is_settled) return Settle(cluster, KeptBy(look.decision));
    Await(cluster, *view->root);
  }

  void Await(const ClusterId& cluster, KubeObject root) {
    waiting_.push_back(
        std::make_unique<SweptCluster>(sweep_, cluster, std::move(root), request_.me));
  }

  // Whichever is due first.
  void StepNext() {
    const auto next = std::min_element(
        waiting_.begin(), waiting_.end(),
        [](const auto& one, const auto& other) { return one->next() < other->next(); });
    const Duration asked = std::min(driver_.client.TakeRetryAfter(), kLongestAskedWait);
    driver_.clock.WaitUntil(std::max((*next)->next(), driver_.clock.Now() + asked), driver_.stop);
    auto swept = (*next)->Step();
    if (!swept) return Move();
    const ClusterId cluster = (*next)->cluster();
    std::swap(*next, waiting_.back());
    waiting_.pop_back();
    Settle(cluster, *std::move(swept));
    Move();
  }

  void Settle(const ClusterId& cluster, const Swept& swept) {
    ++progress_.settled;
    switch (swept.what) {
      case Swept::What::kDeleted:
      case Swept::What::kWouldDelete:
        ++progress_.deleted;
        break;
      case Swept::What::kFailed:
        ++progress_.failed;
        break;
      case Swept::What::kKept:
        ++progress_.kept[swept.why.empty() ? "other" : swept.why];
        break;
    }
    Tell(cluster.ns, "cluster " + cluster.name, swept);
  }

  void Tell(const std::string& ns, const std::string& what, const Swept& swept) {
    if (swept.matters) listener_.told(ns, what, swept);
  }
  void Move() { listener_.moved(progress_); }

  const SweepTools& sweep_;
  const DriverTools& driver_;
  const SweepRequest& request_;
  const SweepListener& listener_;
  SweepProgress progress_;
  std::set<ClusterName> found_;
  std::set<ClusterName> watched_;
  std::vector<std::unique_ptr<SweptCluster>> waiting_;
};

}  // namespace

Result<SweepProgress, ApiError> Sweep(const SweepTools& sweep, const SweepRequest& request,
                                      const SweepListener& listener) {
  return Sweeper(sweep, request, listener).Run();
}

}  // namespace cluster_watcher
