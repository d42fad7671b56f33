#include "test/simulation/truth.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "test/simulation/reading.h"

namespace cluster_watcher::simulation {
namespace {

using small_kubernetes::Find;
using small_kubernetes::ObjectPtr;
using small_kubernetes::TextOf;

constexpr Duration kFreshTruth{5'000};

bool IsAnnotated(const ObjectPtr& object, const char* key) {
  return object != nullptr && Find(object->body, "metadata", "annotations", key) != nullptr;
}

// Neither told to stop nor ended.
bool Runs(const ObjectPtr& pod) {
  const auto phase = TextOf(Find(pod->body, "status", "phase"));
  return !pod->deleting && phase != "Succeeded" && phase != "Failed";
}

// The UID of the driver that the watchers have recorded on this very root; empty: of none.
std::string RecordedDriver(const ObjectPtr& root) {
  if (root == nullptr) return "";
  const Body body(root->Json());
  return SeenRoot::Read(body.root()).owner_uid;
}

std::string Seconds(Duration duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(duration.count()) / 1e3);
  return text;
}

}  // namespace

void Truth::Note(Keepers& now, const std::string& keeper) const {
  const auto before = keepers_.find(keeper);
  now[keeper] = before == keepers_.end() ? timeline_.Now() : before->second;
}

// Each keeper counts for itself: a look that reads one after the other may see neither of two that
// relieve each other.
void Truth::Look() {
  const std::uint64_t version = world_.kubernetes().GetStore().Version();
  if (version == version_) return;
  version_ = version;
  Keepers now;
  NoteDrivers(now);
  NoteHolds(now);
  if (world_.IsInUse()) Note(now, "another driver uses it");
  const ObjectPtr second = world_.Get("apps", "statefulsets", World::kSecondMaster);
  if (second != nullptr && !second->deleting) Note(now, "it has another master");
  NoteRoot();
  NoteSurvivors();
  keepers_ = std::move(now);
}

// The drivers that the root's pod template, annotation or label names.
void Truth::NoteDrivers(Keepers& now) {
  const ObjectPtr root = world_.Root();
  if (root == nullptr) {
    // What stood on it can't be read any more.
    if (names_other_) return NoteOtherOwner(now);
    if (!world_.plan().rollouts) NoteDriver(now);
    return;
  }
  const Body body(root->Json());
  const SeenRoot seen = SeenRoot::Read(body.root());
  names_other_ = seen.NamesOther();
  const Orders orders = world_.OrdersOfRoot().value_or(Orders());
  const bool names_next = orders.owner.ends_with(World::kNextOwnerName);
  const bool names_one = orders.owner.ends_with(World::kOwnerName) ||
                         seen.owner.ends_with(World::kOwnerName) ||
                         seen.ephemeral == World::kOwnerName;
  if (names_one) NoteDriver(now);
  if (names_next) NoteNextDriver(now);
  if (names_other_) NoteOtherOwner(now);
  if (!names_one && !names_next && !names_other_) Note(now, "it names no driver");
  if (orders.dry_run) Note(now, "the next master's watcher makes a dry run");
  if (orders.opted_out) Note(now, "the next master has no watcher");
  if (orders.held) Note(now, "the next master is held");
}

void Truth::NoteNextDriver(Keepers& now) {
  const ObjectPtr next = world_.Get("apps", "deployments", World::kNextOwnerName);
  if (next == nullptr) return;
  const bool wants = small_kubernetes::NumberOf(Find(next->body, "spec", "replicas"), 1) > 0;
  if (wants && !next->deleting) Note(now, "the driver of the rollout wants to run");
}

// Another application has claimed the cluster as its own.
void Truth::NoteOtherOwner(Keepers& now) {
  const ObjectPtr other = world_.Application(World::kOtherName);
  if (World::WantsToRun(other)) Note(now, "the other application wants to run");
}

void Truth::NoteDriver(Keepers& now) {
  const Plan& plan = world_.plan();
  const ObjectPtr driver = world_.Driver();
  if (driver != nullptr) drivers_.insert(driver->uid);
  const std::string recorded = RecordedDriver(world_.Root());
  if (world_.WantsDriverToRun()) Note(now, "its driver wants to run");
  // The pods of an owner that was never seen can't be told from others; each Job has pods of its
  // own.
  const bool is_job = plan.driver == DriverKind::kJob;
  const bool is_work = plan.driver == DriverKind::kWork;
  if (driver == nullptr && (is_job || is_work || !drivers_.contains(recorded))) return;
  for (const ObjectPtr& pod : world_.All("", "pods")) {
    const auto app = TextOf(Find(pod->body, "metadata", "labels", "app"));
    if (!app.starts_with(World::kOwnerName) || !Runs(pod)) continue;
    if (is_job && !World::IsPodOfJob(*pod, *driver)) continue;
    if (is_work && !world_.IsOfWork(*pod, *driver)) continue;
    Note(now, "the driver's pod " + pod->name + " runs");
  }
}

void Truth::NoteRoot() {
  const ObjectPtr root = world_.Root();
  std::set<Named> named;
  const auto note = [&](const ObjectPtr& object) {
    if (object->Json().find("condemned-by") == std::string::npos) return;
    const Body body(object->Json());
    const SeenRoot seen = SeenRoot::Read(body.root());
    if (seen.phase == "deleting") named.emplace(seen.uid, seen.condemned_by);
  };
  if (root != nullptr) note(root);
  for (const ObjectPtr& set : world_.All("apps", "replicasets")) note(set);
  for (const Named& one : named_) {
    if (!named.contains(one)) named_until_[one] = timeline_.Now();
  }
  if (!named.empty() && !deleting_since_) deleting_since_ = timeline_.Now();
  named_ = std::move(named);
  std::string uid = root == nullptr ? "" : root->uid;
  if (uid != root_uid_) roots_ended_.emplace(std::exchange(root_uid_, uid), version_);
}

bool Truth::IsMadeAfter(const std::string& root_uid, const std::string& uid) const {
  const auto ended = roots_ended_.find(root_uid);
  const auto made = made_.find(uid);
  return ended != roots_ended_.end() && made != made_.end() && made->second > ended->second;
}

// Nobody but a watcher, or the garbage collector behind one, deletes these.
void Truth::NoteSurvivors() {
  auto& kubernetes = world_.kubernetes();
  const std::uint64_t version = std::max(
      kubernetes.GetStore().VersionOf(kubernetes.Resources().Of("", "configmaps")),
      kubernetes.GetStore().VersionOf(kubernetes.Resources().Of("", "persistentvolumeclaims")));
  if (std::exchange(survivors_version_, version) == version) return;
  for (const ObjectPtr& object : world_.All("", "configmaps")) {
    made_.emplace(object->uid, object->version);
  }
  if (world_.plan().volumes != std::string("delete")) {
    for (const ObjectPtr& claim : world_.All("", "persistentvolumeclaims")) {
      survivors_.emplace(claim->uid, "the claim " + claim->name);
    }
  }
  if (const ObjectPtr kept = world_.Get("", "configmaps", "spark-kept")) {
    survivors_.emplace(kept->uid, "the kept " + kept->name);
  }
  for (const auto& [uid, name] : survivors_) {
    const ObjectPtr object = kubernetes.GetStore().FindUid(uid);
    if (object != nullptr && !object->deleting) continue;
    if (!name.starts_with("the kept") || !IsBlindAtDeadline()) lost_ = name + " went";
  }
}

// Past the deadline what can't be listed isn't known to be kept.
bool Truth::IsBlindAtDeadline() const {
  const Plan& plan = world_.plan();
  return plan.ailing != nullptr && plan.ailing == std::string("configmaps") && deleting_since_ &&
         timeline_.Now() >= *deleting_since_ + plan.delete_deadline;
}

void Truth::NoteHolds(Keepers& now) {
  const ObjectPtr root = world_.Root();
  if (IsAnnotated(world_.Namespace(), "cluster-watcher/hold-until")) {
    Note(now, "the namespace is held");
  }
  if (IsAnnotated(root, "cluster-watcher/hold-until")) Note(now, "the master root is held");
  if (root != nullptr &&
      TextOf(Find(root->body, "metadata", "annotations", "cluster-watcher/keep")) == "true") {
    Note(now, "the master root is to be kept");
  }
}

bool Truth::HasBegun(const Exchange& exchange, const std::string& root_uid) const {
  if (!begun_.contains({root_uid, exchange.by->life})) return false;
  const Named named{root_uid, exchange.by->Me()};
  const auto until = named_until_.find(named);
  return named_.contains(named) ||
         (until != named_until_.end() && exchange.sent - until->second <= kFreshTruth);
}

bool Truth::HasDeleted(const Exchange& exchange) const {
  return std::any_of(begun_.begin(), begun_.end(),
                     [&](const auto& one) { return one.second == exchange.by->life; });
}

bool Truth::HoldsSurvivor(const small_kubernetes::Object& object) const {
  const auto& store = world_.kubernetes().GetStore();
  if (object.resource->kind == "Farm") {
    const ObjectPtr set = world_.Get("apps", "statefulsets", "spark-w");
    return set != nullptr && HoldsSurvivor(*set);
  }
  return std::any_of(survivors_.begin(), survivors_.end(), [&](const auto& survivor) {
    const ObjectPtr one = store.FindUid(survivor.first);
    const auto* owners = one == nullptr ? nullptr : Find(one->body, "metadata", "ownerReferences");
    if (!small_kubernetes::HasElements(owners)) return false;
    return std::any_of(owners->Begin(), owners->End(),
                       [&](const auto& owner) { return TextOf(Find(owner, "uid")) == object.uid; });
  });
}

std::string Truth::WhyNotDelete(const Exchange& exchange, const std::string& root_uid) {
  Look();
  if (HasBegun(exchange, root_uid)) return "";
  for (const auto& [keeper, since] : keepers_) {
    const auto before = exchange.sent - since;
    if (before <= kFreshTruth) continue;
    return keeper + ", for " + Seconds(std::chrono::duration_cast<Duration>(before)) +
           " when the delete of " + exchange.request.target + " was sent";
  }
  return "";
}

}  // namespace cluster_watcher::simulation
