#include "watcher/driver/delete_listed.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "probes/owner_kinds.h"
#include "watcher/decision/rules.h"
#include "watcher/deletion/deletion.h"
#include "watcher/deletion/member_listing.h"
#include "watcher/driver/cluster_view.h"
#include "watcher/driver/deletion_rights.h"
#include "watcher/observation/holds.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

bool IsNamedBy(const OwnerName& owner, const KubeObject& object) {
  if (object.meta.name != owner.name) return false;
  if (owner.IsBare()) {
    return !object.meta.Label(kTypeLabel) && IsBareNameKind(object.type->SingularName());
  }
  const ResourceType* built_in = FindBuiltInByName(owner.kind, owner.group);
  return built_in != nullptr
             ? *built_in == object.type
             : object.Describe() == owner.ToText() || object.type->plural == owner.kind;
}

// The UIDs of what owns the cluster, as far as it is among its own objects.
std::set<std::string> OwnersAmong(const KubeObjects& objects) {
  std::vector<OwnerName> names;
  std::set<std::string> uids;
  for (const KubeObject& object : objects) {
    if (const auto owner = ReadMarks(object.meta).owner) uids.insert(owner->uid);
    for (const auto& text :
         {object.meta.Annotation(annotation::kOwner), object.meta.Label(kEphemeralLabel)}) {
      const auto name = text ? OwnerName::Parse(*text) : Result<OwnerName>(Failure(""));
      if (name) names.push_back(*name);
    }
  }
  for (const KubeObject& object : objects) {
    const bool is_named = std::any_of(
        names.begin(), names.end(), [&](const OwnerName& name) { return IsNamedBy(name, object); });
    if (is_named) uids.insert(object.meta.uid);
  }
  return uids;
}

// Finds the hold that a person passes over.
std::optional<std::string> FindHold(const DeletionWork& work, const ClusterId& cluster,
                                    const KubeObjects& objects) {
  Facts facts;
  facts.now = work.tools.clock.WallNow();
  const auto note = [&](const std::string& where, const ObjectMeta& meta) {
    if (auto hold = HoldOn(where, meta.annotations())) facts.holds.push_back(*std::move(hold));
  };
  const auto ns = work.tools.client.Do(
      ApiRequest::GetMetadata(*FindBuiltInByName("namespaces", ""), "", cluster.ns),
      work.driver.Reads());
  if (ns) {
    facts.server_time = ns->server_time;
    if (const auto meta = ReadObjectMeta(ns->document.root()))
      note("namespace " + cluster.ns, *meta);
  }
  for (const KubeObject& object : objects) {
    if (IsMaster(object.type, object.meta, *cluster.profile)) note(object.Describe(), object.meta);
  }
  return WhatHolds(facts);
}

// The masters that there are, sorted.
Result<std::set<std::string>, ApiError> MastersNow(const DeletionWork& work,
                                                   const ClusterId& cluster) {
  // It is still ended by a command that is told to stop.
  const auto view = ReadClusterView(work.driver.client, work.driver.discovery, cluster,
                                    RepeatedReads(work.tools));
  if (!view) return Unexpected{view.error()};
  std::set<std::string> masters(view->rivals.begin(), view->rivals.end());
  if (view->root) masters.insert(view->root->Describe());
  return masters;
}

}  // namespace

DriverOutcome WouldBeDeleted(const DeletionWork& work, const ClusterId& cluster,
                             const std::vector<std::string>& objects) {
  const std::vector<SettingValue>& values = work.tools.settings.resolved().values;
  const bool is_asked = std::any_of(values.begin(), values.end(), [](const SettingValue& one) {
    return one.name == "dry-run" && one.source == SettingSource::kFlag;
  });
  const std::string name = "cluster " + cluster.name;
  return DriverOutcome::Said(
      (is_asked ? name + " deleted (server dry run): "
                : "dry run, as its settings say (CLUSTER_WATCHER_DRY_RUN=false overrides that): " +
                      name + " would be deleted: ") +
      Joined(objects));
}

std::string PassedOver(const std::string& hold) { return "passed over: " + hold; }

DriverOutcome DeleteListed(const DeletionWork& work, const ClusterId& cluster) {
  const std::string name = "cluster " + cluster.name;
  const Settings& settings = *work.tools.settings;
  if (auto denied = WhyNotAllowed(work.driver, settings, cluster, nullptr)) return Failed(*denied);
  WarnOnce warn_once(work.tools.log);
  auto listed = MemberListing(work.tools, warn_once, cluster, true).List(work.driver.Reads());
  const auto masters = MastersNow(work, cluster);
  if (!masters) return Failed(WhyRefused(masters.error()));
  std::vector<std::string> to_delete;
  for (const KubeObject& object : listed.objects) {
    if (!IsKept(object) && !IsNeverDeleted(object.type)) to_delete.push_back(object.Describe());
  }
  if (to_delete.empty() && listed.complete) {
    return DriverOutcome::Of(DriverExit::kNoCluster, "no " + name);
  }
  if (masters->size() == 1) return Failed(name + " has a master now: delete it again");
  DeletionOrder order;
  order.look.cluster = cluster;
  order.look.root = KubeObject{*FindBuiltInByName("pods", ""), {}};
  order.look.when.ended = work.tools.clock.Now();
  order.why = AskedFor().detail;
  order.is_asked = true;
  order.other_owners = OwnersAmong(listed.objects);
  if (settings.dry_run) return WouldBeDeleted(work, cluster, to_delete);
  const auto passed_over = FindHold(work, cluster, listed.objects);
  order.marks.reason = ToString(Reason::kAsked);
  order.marks.condemned_by = work.me;
  Snapshot told = order.look;
  told.root.reset();
  work.announcer.Deleting(told, order.marks, order.why);
  Deletion deletion(work.tools, order, work.tools.clock.Now());
  const auto outcome =
      deletion.DeleteListed(work.tools.clock.Now() + settings.delete_deadline, [&] {
        const auto now = MastersNow(work, cluster);
        if (!now) return RootState::kUnknown;
        const bool is_new =
            !std::includes(masters->begin(), masters->end(), now->begin(), now->end());
        return is_new ? RootState::kOurs : RootState::kGone;
      });
  const DeletionReport report = deletion.Report();
  const bool is_done = outcome == DeletionEnd::kDone && !report.overdue;
  const bool waits = work.tools.until == Until::kAllGone;
  // Nothing that terminates is waited for then.
  const bool is_stopped = waits && work.driver.stop.stop_requested();
  const bool is_gone = is_done && !is_stopped && deletion.Remaining().empty();
  if (is_gone) work.announcer.Deleted(told, order.marks.reason, report);
  DriverOutcome said = !is_done           ? Failed(name + " is not all deleted")
                       : is_gone && waits ? DriverOutcome::Said(name + " deleted")
                       : is_stopped ? Failed(kToldToStop + (": " + name) + " is being deleted")
                       : waits
                           ? Failed(name + " is not all gone" + WhatIsLeft(deletion.Remaining()))
                           : DriverOutcome::Said(name + " is being deleted");
  if (outcome == DeletionEnd::kNewMaster) said.error += ": it has a new master";
  if (!deletion.policy().empty()) said.error += ": " + deletion.policy();
  if (!is_done) work.announcer.Trouble(told, "GivingUp", said.error + WhatIsLeft(report.Told()));
  said.warnings = report.left;
  if (passed_over) said.warnings.push_back(PassedOver(*passed_over));
  return said;
}

}  // namespace cluster_watcher
