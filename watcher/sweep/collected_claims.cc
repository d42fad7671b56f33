#include "watcher/sweep/collected_claims.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "probes/base/time_text.h"
#include "probes/cluster_probe.h"
#include "watcher/decision/rules.h"
#include "watcher/deletion/member_listing.h"
#include "watcher/deletion/members.h"
#include "watcher/driver/cluster_view.h"
#include "watcher/driver/write_meta.h"
#include "watcher/observation/holds.h"
#include "watcher/protocol/member_annotations.h"
#include "watcher/protocol/mounted.h"

namespace cluster_watcher {
namespace {

// Nothing is deleted on older evidence.
constexpr Duration kFresh{5'000};

const ResourceType& ClaimType() { return *FindBuiltInByName("persistentvolumeclaims", ""); }
const ResourceType& PodType() { return *FindBuiltInByName("pods", ""); }

// The clusters that a claim is of: "oshinko-cluster=bob". One that is marked says so itself.
std::vector<std::string> ClustersOf(const ObjectMeta& claim, const std::string& label) {
  std::vector<std::string> clusters;
  if (std::string of = CollectedOf(claim); !of.empty()) clusters.push_back(std::move(of));
  if (const auto name = claim.Label(label); name && !name->empty()) {
    clusters.push_back(label + "=" + *name);
  }
  return clusters;
}

// When it may be deleted; nullopt: it isn't left to a sweep, its mark is another claim's, or it is
// of no cluster.
std::optional<std::string> CollectAfter(const ObjectMeta& claim, const std::string& label) {
  if (claim.deleting || !IsMarkedForCollection(claim)) return std::nullopt;
  const auto clusters = ClustersOf(claim, label);
  const bool are_clusters =
      !clusters.empty() &&
      std::all_of(clusters.begin(), clusters.end(), [](const std::string& cluster) {
        return IsLabelKey(cluster.substr(0, cluster.find('=')));
      });
  return are_clusters ? claim.Annotation(annotation::kCollectAfter) : std::nullopt;
}

// All that could keep the claims of a namespace.
struct InUse {
  std::optional<WallTime> now;                    // by the API server's clock
  std::string held;                               // by a hold of the namespace; empty: by none
  std::map<std::string, std::string> mounted_by;  // claims to pods
  std::vector<std::string> sets;                  // StatefulSets
  std::map<std::string, std::string> clusters;    // as ClustersOf, to an object that is of them
  std::map<std::string, std::string> masters;     // of these, as far as they were asked for
  EvidenceSince since{};
};

class Collector {
 public:
  // `labels`: of all clusters that the claims are of.
  Collector(const ClaimSweep& sweep, const std::string& ns, const std::set<std::string>& labels)
      : sweep_(sweep), ns_(ns) {
    for (const std::string& label : labels) {
      profiles_.push_back(sweep.settings.profiles->OfLabel(label));
    }
  }

  // nullopt: it isn't due, and there is nothing to tell.
  std::optional<Swept> Collect(const KubeObject& claim, bool is_due) {
    if (!in_use_ || !IsFresh()) {
      auto read = Read();
      if (!read && !is_due) return std::nullopt;
      if (!read) return Swept::KeptFor(read.error().message);
      in_use_ = *std::move(read);
    }
    if (auto user = UsedAgainBy(claim.meta)) return TakeFromCollection(claim, *std::move(user));
    if (!is_due) return std::nullopt;
    return CollectDue(claim);
  }

 private:
  bool IsFresh() const {
    return AgeOf(in_use_->since, sweep_.driver.clock, sweep_.driver.client.dates()) < kFresh;
  }

  Swept CollectDue(const KubeObject& claim) {
    if (auto why = WhyKept(claim.meta)) return Swept::KeptFor(*std::move(why));
    if (sweep_.settings.dry_run) return {Swept::What::kWouldDelete, "", "its time is over"};
    // A pod that mounts it leaves its resourceVersion as it is.
    const auto is_fresh = [&] { return IsFresh(); };
    const auto sent =
        sweep_.driver.client.Do(ApiRequest::Delete(claim.type, ns_, claim.meta.name,
                                                   {claim.meta.uid, claim.meta.resource_version},
                                                   PropagationPolicy::kBackground, false),
                                Patience::While(is_fresh));
    if (sent) return {Swept::What::kDeleted, "", "its time is over"};
    const ApiFailure failure = sent.error().failure;
    const bool is_old =
        failure == ApiFailure::kNotSent || (failure == ApiFailure::kUnauthorized && !is_fresh());
    if (is_old) return Swept::KeptFor("its evidence grew old");
    if (failure == ApiFailure::kNotFound) return Swept::KeptFor("it is gone");
    if (failure == ApiFailure::kConflict) return Swept::KeptFor("it has changed");
    if (const std::string& policy = sent.error().policy; !policy.empty() && !IsOfGuard(policy)) {
      return Swept::KeptFor(policy);
    }
    return {Swept::What::kFailed, "", sent.error().message};
  }

  // Its cluster is there again, with a master that isn't being deleted: what becomes of the claim
  // is that one's to say, when it goes.
  std::optional<std::string> UsedAgainBy(const ObjectMeta& claim) {
    for (const std::string& cluster : ClustersOf(claim, sweep_.label)) {
      if (!in_use_->clusters.contains(cluster)) continue;
      const auto known = in_use_->masters.find(cluster);
      if (known == in_use_->masters.end()) {
        in_use_->masters.emplace(cluster, MasterOf(cluster));
      }
      const std::string& master = in_use_->masters.at(cluster);
      if (!master.empty()) {
        return master + " is the master of its cluster " + cluster.substr(cluster.find('=') + 1);
      }
    }
    return std::nullopt;
  }

  // Empty: there is none, it is going, or that isn't known.
  std::string MasterOf(const std::string& cluster) const {
    const std::size_t equals = cluster.find('=');
    const auto view =
        ReadClusterView(sweep_.driver.client, sweep_.driver.discovery,
                        {ns_, sweep_.settings.profiles->OfLabel(cluster.substr(0, equals)),
                         cluster.substr(equals + 1)},
                        sweep_.driver.Reads());
    const bool is_used =
        view && view->root && !view->root->meta.deleting && view->marks.phase != Phase::kDeleting;
    return is_used ? view->root->Describe() : "";
  }

  Swept TakeFromCollection(const KubeObject& claim, std::string user) {
    if (sweep_.settings.dry_run) return Swept::KeptFor(std::move(user));
    const auto written = WriteMeta(sweep_.driver.client, claim, {{}, WithoutCollectMarks()});
    if (written) return Swept::KeptFor(user + ", so it is no longer left to a sweep");
    return Swept::KeptFor(user + ", but it stays marked: " + written.error().message);
  }

  std::optional<std::string> WhyKept(const ObjectMeta& claim) const {
    if (IsKept(claim)) return "it is annotated to be kept";
    if (const auto hold = WhyHeld(claim, in_use_->now)) return "it is held until " + *hold;
    if (!in_use_->held.empty()) return in_use_->held;
    const auto due = ParseTime(claim.Annotation(annotation::kCollectAfter).value_or(""));
    if (!due) return std::string(annotation::kCollectAfter) + " is no time: correct it";
    if (*due > sweep_.driver.clock.WallNow() || (in_use_->now && *due > *in_use_->now)) {
      return "it isn't due by all clocks";
    }
    if (const auto pod = in_use_->mounted_by.find(claim.name); pod != in_use_->mounted_by.end()) {
      return "pod/" + pod->second + " mounts it";
    }
    for (const std::string& set : in_use_->sets) {
      if (IsNamedAsClaimOf(set, claim.name)) return "statefulset.apps/" + set + " would mount it";
    }
    for (const std::string& cluster : ClustersOf(claim, sweep_.label)) {
      const auto object = in_use_->clusters.find(cluster);
      if (object == in_use_->clusters.end()) continue;
      return object->second + " is of its cluster " + cluster.substr(cluster.find('=') + 1);
    }
    return std::nullopt;
  }

  // Until when it is held, as written; nullopt: it isn't.
  std::optional<std::string> WhyHeld(const ObjectMeta& meta,
                                     const std::optional<WallTime>& server_time) const {
    const auto hold = HoldOn("", meta.annotations());
    const bool is_on = hold && hold->IsOn(sweep_.driver.clock.WallNow(), server_time);
    return is_on ? std::optional(hold->text) : std::nullopt;
  }

  Result<InUse, ApiError> Read() {
    InUse found;
    const Patience patience = sweep_.driver.Reads();
    patience.reads()->BeginEvidence();
    KubeClient& client = sweep_.driver.client;
    auto ns =
        client.Do(ApiRequest::GetMetadata(*FindBuiltInByName("namespaces", ""), "", ns_), patience);
    if (!ns && ns.error().failure != ApiFailure::kForbidden) return Unexpected{ns.error()};
    if (ns) {
      found.now = ns->server_time;
      const auto meta = ReadObjectMeta(ns->document.root());
      if (meta && meta->Label(annotation::kInject) == "false") {
        found.held = "namespace " + ns_ + " is labelled " + annotation::kInject + "=false";
      }
      const auto hold = meta ? WhyHeld(*meta, found.now) : std::nullopt;
      if (hold) found.held = "namespace " + ns_ + " is held until " + *hold;
    }
    if (auto read = ReadPods(found, patience); !read) return Unexpected{read.error()};
    if (auto read = ReadClusters(found, patience); !read) return Unexpected{read.error()};
    found.since = patience.reads()->since();
    return found;
  }

  // Also those that have ended: they may be read for what they have left.
  Result<Done, ApiError> ReadPods(InUse& found, const Patience& patience) {
    return sweep_.driver.client.EachItem(
        ApiRequest::List(PodType(), ns_),
        [&](JsonValue pod) {
          const std::string name(pod["metadata"]["name"].AsString().value_or(""));
          for (const MountedObject& mounted : MountedBy(pod)) {
            if (mounted.type == ClaimType()) found.mounted_by.emplace(mounted.name, name);
          }
          // Its claim is named so. Source: kubernetes.io "Ephemeral Volumes".
          for (const JsonValue volume : pod["spec"]["volumes"].Elements()) {
            if (!volume["ephemeral"].IsObject()) continue;
            found.mounted_by.emplace(
                name + "-" + std::string(volume["name"].AsString().value_or("")), name);
          }
        },
        patience);
  }

  Result<Done, ApiError> ReadClusters(InUse& found, const Patience& patience) {
    const MemberKinds kinds = FindMemberKinds(sweep_.settings, sweep_.driver.discovery, patience);
    if (!kinds.errors.empty()) return Unexpected{kinds.errors.front()};
    std::vector<ResourceType> types = kinds.types;
    const ResourceType& sets = *FindBuiltInByName("statefulsets", "apps");
    std::erase(types, sets);
    std::erase(types, ClaimType());
    std::vector<ApiRequest> lists = {ApiRequest::ListMetadata(sets, ns_)};
    for (const ResourceType& type : types) {
      for (const SharedProfile& profile : profiles_) {
        lists.push_back(ApiRequest::ListBySelector(type, ns_, profile->cluster_label, true));
      }
    }
    for (const SharedProfile& profile : profiles_) {
      if (!profile->HasRoot()) continue;
      const auto type = sweep_.driver.discovery.ByPlural(profile->root, patience);
      if (!type) return Unexpected{type.error()};
      if (*type) lists.push_back(ApiRequest::ListMetadata(**type, ns_));
    }
    const auto read = sweep_.driver.client.EachItemSideBySide(
        lists, kUrgentReadsSideBySide,
        [&](std::size_t which, JsonValue item) {
          if (which == 0) {
            found.sets.emplace_back(item["metadata"]["name"].AsString().value_or(""));
          }
          NoteClusters(lists[which].type, item, found);
        },
        patience);
    for (const auto& one : read) {
      if (!one) return Unexpected{one.error()};
    }
    return Done{};
  }

  void NoteClusters(const ResourceType& type, JsonValue item, InUse& found) const {
    const auto meta = ReadObjectMeta(item);
    // An object that is kept outlives its cluster, unless that may be its master.
    if (!meta || (IsKept(*meta) && !CanBeMaster(type))) return;
    for (const SharedProfile& profile : profiles_) {
      const std::string& label = profile->cluster_label;
      const auto name = profile->IsRoot(type) ? std::optional(meta->name) : meta->Label(label);
      if (!name || name->empty()) continue;
      found.clusters.emplace(label + "=" + *name, KubeObject{type, *meta}.Describe());
    }
  }

  const ClaimSweep& sweep_;
  const std::string ns_;
  std::vector<SharedProfile> profiles_;
  std::optional<InUse> in_use_;
};

}  // namespace

void CollectDueClaims(
    const ClaimSweep& sweep,
    const std::function<void(const std::string& ns, const std::string& claim, Swept swept)>& told) {
  if (sweep.driver.stop.stop_requested()) return;
  struct Marked {
    KubeObjects claims;
    std::set<std::string> due;     // their UIDs
    std::set<std::string> labels;  // of their clusters
  };
  std::map<std::string, Marked> marked;  // by namespace
  const WallTime now = sweep.driver.clock.WallNow();
  const auto read = sweep.driver.client.EachItem(
      ApiRequest::ListMetadata(ClaimType(), sweep.ns),
      [&](JsonValue item) {
        auto meta = ReadObjectMeta(item);
        const auto after = meta ? CollectAfter(*meta, sweep.label) : std::nullopt;
        if (!after) return;
        Marked& of_namespace = marked[meta->ns()];
        const auto time = ParseTime(*after);
        if (!time || *time <= now) of_namespace.due.insert(meta->uid);
        for (const std::string& cluster : ClustersOf(*meta, sweep.label)) {
          of_namespace.labels.insert(cluster.substr(0, cluster.find('=')));
        }
        of_namespace.claims.push_back({ClaimType(), *std::move(meta)});
      },
      sweep.driver.Reads());
  if (!read) {
    return told(sweep.ns, "claims",
                {Swept::What::kFailed, "", "they can't be listed: " + read.error().message});
  }
  for (const auto& [ns, of_namespace] : marked) {
    Collector collector(sweep, ns, of_namespace.labels);
    for (const KubeObject& claim : of_namespace.claims) {
      if (sweep.driver.stop.stop_requested()) return;
      const bool is_due = of_namespace.due.contains(claim.meta.uid);
      if (auto swept = collector.Collect(claim, is_due)) {
        told(ns, "claim " + claim.meta.name, *std::move(swept));
      }
    }
  }
}

}  // namespace cluster_watcher
