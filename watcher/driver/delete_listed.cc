#include "watcher/driver/delete_listed.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "probes/owner_kinds.h"
#include "watcher/decision/rules.h"
#include "watcher/deletion/member_listing.h"
#include "watcher/driver/deletion_rights.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

DriverOutcome Failed(std::string why) {
  return DriverOutcome::Of(DriverExit::kFailed, std::move(why));
}

bool IsNamedBy(const OwnerName& owner, const KubeObject& object) {
  if (object.meta.name != owner.name) return false;
  if (owner.IsBare()) {
    const auto& types = BareNameTypes();
    return !object.meta.Label(kTypeLabel) &&
           std::find(types.begin(), types.end(), object.type) != types.end();
  }
  const ResourceType* built_in = FindBuiltInByName(owner.kind, owner.group);
  return built_in != nullptr
             ? *built_in == object.type
             : object.Describe() == owner.ToText() || object.type->plural == owner.kind;
}

// The UIDs of what owns or uses the cluster, as far as it is among its own objects.
std::set<std::string> OwnersAmong(const KubeObjects& objects, const ClusterId& cluster) {
  std::vector<OwnerName> names;
  std::set<std::string> uids;
  for (const KubeObject& object : objects) {
    if (object.meta.Label(kUsesClusterLabel) == cluster.name) uids.insert(object.meta.uid);
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

}  // namespace

DriverOutcome DeleteListed(const DeletionWork& work, const ClusterId& cluster, bool has_masters) {
  const std::string name = "cluster " + cluster.name;
  const Settings& settings = *work.tools.settings;
  if (auto denied = WhyNotAllowed(work.driver, settings, cluster, nullptr)) return Failed(*denied);
  // The time that counts is that of the API server, from before the list.
  const auto ns = work.driver.client.Do(
      ApiRequest::GetMetadata(*FindBuiltInByName("namespaces", ""), "", cluster.ns),
      work.driver.Reads());
  DeletionOrder order;
  order.look.cluster = cluster;
  order.look.root = KubeObject{*FindBuiltInByName("pods", ""), {}};
  order.look.ended = work.tools.clock.Now();
  if (ns) order.look.facts.server_time = ns->server_time;
  order.why = AskedFor().detail;
  WarnOnce warn_once(work.tools.log);
  auto listed = MemberListing(work.tools, warn_once, cluster).List(work.driver.Reads());
  const bool any =
      std::any_of(listed.objects.begin(), listed.objects.end(), [](const KubeObject& object) {
        return !IsKept(object.meta) && !IsNeverDeleted(object.type);
      });
  if (!any && listed.complete) return Failed("no " + name);
  if (!has_masters && FindOtherMaster(listed.objects, {}) != nullptr) {
    return Failed(name + " has a master now: delete it again");
  }
  order.other_owners = OwnersAmong(listed.objects, cluster);
  if (settings.dry_run) {
    std::vector<std::string> names;
    for (const KubeObject& object : listed.objects) names.push_back(object.Describe());
    return DriverOutcome::Said("dry run: " + name + " would be deleted: " + Joined(names));
  }
  Marks marks;
  marks.reason = ToString(Reason::kAsked);
  marks.condemned_by = work.me;
  Snapshot told = order.look;
  told.root.reset();
  work.announcer.Deleting(told, marks, order.why);
  Deletion deletion(work.tools, order, work.tools.clock.Now());
  const bool is_done =
      deletion.DeleteListed(work.tools.clock.Now() + settings.delete_deadline, std::move(listed));
  if (is_done) work.announcer.Deleted(told, marks.reason, deletion.Report());
  DriverOutcome outcome =
      is_done ? DriverOutcome::Said(name + " is deleted") : Failed(name + " is not all deleted");
  if (!deletion.policy().empty()) outcome.error += ": " + deletion.policy();
  outcome.warnings = deletion.Report().left;
  return outcome;
}

}  // namespace cluster_watcher
