#include "test/simulation/drivers_judge.h"

#include <algorithm>
#include <utility>

#include "test/simulation/reading.h"

namespace cluster_watcher::simulation {
namespace {

using small_kubernetes::Find;
using small_kubernetes::Object;
using small_kubernetes::ObjectPtr;
using small_kubernetes::TextOf;

constexpr const char* kUses = "uses-oshinko-cluster";
// What a look reads of a cluster, in this world.
constexpr std::pair<const char*, const char*> kParts[] = {
    {"", "services"},  {"apps", "deployments"},        {"apps", "statefulsets"},
    {"batch", "jobs"}, {"", "replicationcontrollers"}, {"apps", "replicasets"},
    {"", "pods"}};

bool IsLabelled(const Object& object, const char* label, std::string_view value) {
  const auto* labels = object.Labels();
  return labels != nullptr && TextOf(Find(*labels, label)) == value;
}

bool IsPart(const Object& object) { return IsLabelled(object, "oshinko-cluster", World::kCluster); }

bool IsOfType(const Object& object, std::string_view type) {
  return IsPart(object) && !object.deleting && IsLabelled(object, "oshinko-type", type);
}

bool IsUnmarked(const Object& root) {
  const Body body(root.Json());
  return SeenRoot::Read(body.root()).phase.empty();
}

bool IsKept(const Object& object) {
  return TextOf(Find(object.body, "metadata", "annotations", "cluster-watcher/keep")) == "true";
}

}  // namespace

DriversJudge::DriversJudge(World& world)
    : world_(world), seen_(world.kubernetes().GetStore().Version()) {
  for (const char* name : {World::kOwnerName, World::kOtherName}) {
    Owner owner{name, name == World::kOwnerName ? world.DriverKindName() : "Deployment"};
    if (const ObjectPtr object = world.Application(name)) {
      owner.uid = object->uid;
      owner.wants_since = World::WantsToRun(object) ? seen_ : 0;
    }
    owners_.push_back(std::move(owner));
  }
}

void DriversJudge::Break(const std::string& promise, const std::string& how) {
  if (!broken_.empty()) return;
  broken_ = promise;
  how_ = how;
}

void DriversJudge::Look(int writer) {
  const auto& store = world_.kubernetes().GetStore();
  if (store.Version() == seen_) return;
  const auto& history = store.History();
  auto first = history.end();
  while (first != history.begin() && std::prev(first)->version > seen_) --first;
  for (; first != history.end(); ++first) Note(*first, writer);
  seen_ = store.Version();
}

void DriversJudge::Note(const small_kubernetes::Change& change, int writer) {
  const ObjectPtr& any = change.after ? change.after : change.before;
  for (Owner& owner : owners_) {
    if (any->name != owner.name || any->ns != World::kNamespace ||
        any->resource->kind != owner.kind) {
      continue;
    }
    const bool is_there = change.after != nullptr;
    if (!is_there || change.after->uid != owner.uid) {
      owner.wants_since = owner.labelled_since = 0;
      owner.uid = is_there ? change.after->uid : "";
    }
    if (!is_there) continue;
    const bool wants = World::WantsToRun(change.after);
    const bool labelled = IsLabelled(*change.after, kUses, World::kCluster);
    if (!wants) owner.wants_since = 0;
    if (wants && owner.wants_since == 0) owner.wants_since = change.version;
    if (!labelled) owner.labelled_since = 0;
    if (labelled && owner.labelled_since == 0) {
      owner.labelled_since = change.version;
      owner.labelled_by = writer;
    }
  }
}

void DriversJudge::Begin(int life, const std::string& app, const DriverCommand& command) {
  Look(0);
  Running running;
  running.command = command;
  running.owner = app == World::kOwnerName ? 0 : 1;
  running.before = owners_[running.owner];
  running.since = running.look = running.wrote = seen_;
  running_.insert_or_assign(life, std::move(running));
}

void DriversJudge::Sent(const Exchange& exchange) {
  const auto found = running_.find(exchange.by->life);
  if (found == running_.end()) return;
  Look(0);
  Running& running = found->second;
  // A look begins with the application's owner.
  const std::string by_name = "fieldSelector=metadata.name%3D" + owners_[running.owner].name;
  if (exchange.request.target.find(by_name) != std::string::npos) running.look = seen_;
  if (running.command.kind != DriverCommand::Kind::kCreate) return;
  const bool is_its_own = exchange.request.target.ends_with("/" + owners_[running.owner].name);
  if (exchange.Is(HttpMethod::kDelete) || (exchange.Is(HttpMethod::kPatch) && !is_its_own)) {
    Break("13, what is created is there", "create changes " + exchange.request.target);
  }
}

void DriversJudge::Handled(const Exchange& exchange, int status) {
  const auto found = running_.find(exchange.by->life);
  Look(exchange.by->life);
  const std::string& target = exchange.request.target;
  if (found != running_.end() && exchange.Is(HttpMethod::kPost)) found->second.wrote = seen_;
  if (found != running_.end() && exchange.Is(HttpMethod::kGet) && IsRootPath(target)) {
    Running& running = found->second;
    running.root_plural = target == World::kRootPath ? "deployments" : "replicasets";
    running.root_name = target.substr(target.rfind('/') + 1);
    const ObjectPtr root = world_.Get("apps", running.root_plural, running.root_name);
    running.root_uid = root == nullptr ? "" : root->uid;
  }
  const bool takes_off =
      exchange.Is(HttpMethod::kPatch) && status >= 200 && status <= 299 &&
      exchange.request.body.find("\"" + std::string(kUses) + "\":null") != std::string::npos;
  if (!takes_off) return;
  for (Claimed& claimed : claimed_) {
    const bool is_its_own = target.ends_with("/" + owners_[claimed.owner].name);
    if (is_its_own && exchange.sent >= claimed.succeeded) claimed.over = true;
  }
}

bool DriversJudge::IsThereSince(const Owner& owner, const std::string& uid, Version since) const {
  return !uid.empty() && owner.uid == uid && owner.wants_since != 0 && owner.wants_since <= since;
}

void DriversJudge::EndClaim(int life, const Running& running, const DriverOutcome& outcome) {
  constexpr const char* kPromise = "9, a claim or the point of no return";
  const Owner& owner = owners_[running.owner];
  if (outcome.exit == DriverExit::kNotReady) {
    ++tests_[3];
    // What somebody else sends meanwhile is not this claim's.
    const bool is_anothers = owner.labelled_since > running.since && owner.labelled_by != life;
    const bool is_left = owner.labelled_since != 0 && owner.uid == running.before.uid;
    if (is_left && !is_anothers && outcome.warnings.empty()) {
      Break("12, a claim that is refused leaves no label", owner.name + " carries it still");
    }
    return;
  }
  if (outcome.exit != DriverExit::kDone) return;
  if (!IsThereSince(owner, running.before.uid, running.since)) return;
  ++tests_[0];
  if (owner.labelled_since == 0) return Break(kPromise, owner.name + " claims it without a label");
  if (running.root_uid.empty()) return;
  const Version since = std::max(running.since, owner.labelled_since);
  if (!AtSomeMoment(since, [&](Version at) { return IsFree(running, at); })) {
    return Break(kPromise, owner.name + " claims what was condemned or gone before its label");
  }
  claimed_.push_back(
      {running.owner, owner.uid, running.since, running.root_uid, world_.clock().Now()});
}

void DriversJudge::End(int life, const DriverOutcome& outcome) {
  const auto found = running_.find(life);
  if (found == running_.end()) return;
  Look(0);
  const Running running = std::move(found->second);
  running_.erase(found);
  ++counts_[running.command.ToText() + ": " + std::to_string(static_cast<int>(outcome.exit))];
  if (running.command.kind == DriverCommand::Kind::kClaim) return EndClaim(life, running, outcome);
  if (running.command.kind == DriverCommand::Kind::kCreate && outcome.exit == DriverExit::kDone) {
    ++tests_[4];
    if (!AtSomeMoment(running.wrote, [&](Version at) { return HasRoot(at); })) {
      Break("13, what is created is there", "its root was condemned, going or absent");
    }
  }
  if (running.command.kind != DriverCommand::Kind::kAwait) return;
  if (outcome.exit == DriverExit::kDone) {
    ++tests_[1];
    if (!AtSomeMoment(running.look, [&](Version at) { return IsReady(at); })) {
      Break("10, ready is ready", "it was never complete and unmarked while it was looked at");
    }
  }
  if (outcome.exit == DriverExit::kNoCluster) {
    ++tests_[2];
    if (!AtSomeMoment(running.look, [&](Version at) { return IsAbsent(at); })) {
      Break("11, absent is absent", "something of it was there while it was looked at");
    }
  }
}

std::string DriversJudge::WhyNot(const std::string& root_uid) {
  Look(0);
  for (const Claimed& claimed : claimed_) {
    const Owner& owner = owners_[claimed.owner];
    if (claimed.over || claimed.root_uid != root_uid) continue;
    if (IsThereSince(owner, claimed.uid, claimed.since)) return owner.name + " had claimed it";
  }
  return "";
}

// Whether it holds in any state of the store since that version.
bool DriversJudge::AtSomeMoment(Version since, const std::function<bool(Version)>& holds) {
  const auto& store = world_.kubernetes().GetStore();
  if (holds(small_kubernetes::Store::kNow)) return true;
  const auto& history = store.History();
  for (auto change = history.rbegin(); change != history.rend(); ++change) {
    if (change->version <= since) return false;
    if (holds(change->version - 1)) return true;
  }
  return since < store.OldestVersion();
}

template <typename Is>
bool DriversJudge::Any(std::string_view group, std::string_view plural, Version at, const Is& is) {
  auto& kubernetes = world_.kubernetes();
  const auto objects =
      kubernetes.GetStore().List(kubernetes.Resources().Of(group, plural), World::kNamespace, at);
  return std::any_of(objects.begin(), objects.end(),
                     [&](const ObjectPtr& object) { return is(*object); });
}

bool DriversJudge::IsFree(const Running& of, Version at) {
  auto& kubernetes = world_.kubernetes();
  const ObjectPtr root = kubernetes.GetStore().Get(
      kubernetes.Resources().Of("apps", of.root_plural), World::kNamespace, of.root_name, at);
  return root != nullptr && root->uid == of.root_uid && !root->deleting && IsUnmarked(*root);
}

bool DriversJudge::HasRoot(Version at) {
  const auto is_root = [](const Object& object) {
    const bool is_master = IsOfType(object, "master") || object.name == World::kSecondMaster;
    return is_master && !object.deleting && object.controller_uid.empty() && IsUnmarked(object);
  };
  return Any("apps", "deployments", at, is_root) || Any("apps", "replicasets", at, is_root) ||
         Any("apps", "statefulsets", at, is_root) || Any("", "pods", at, is_root);
}

bool DriversJudge::IsReady(Version at) {
  const auto is_worker = [](const Object& object) { return IsOfType(object, "worker"); };
  const auto is_service = [](const Object& object) { return IsOfType(object, "master"); };
  return HasRoot(at) &&
         (Any("apps", "deployments", at, is_worker) || Any("apps", "statefulsets", at, is_worker) ||
          Any("", "replicationcontrollers", at, is_worker) || Any("", "pods", at, is_worker)) &&
         Any("", "services", at, is_service);
}

bool DriversJudge::IsAbsent(Version at) {
  return std::none_of(std::begin(kParts), std::end(kParts), [&](const auto& kind) {
    return Any(kind.first, kind.second, at,
               [](const Object& object) { return IsPart(object) && !IsKept(object); });
  });
}

}  // namespace cluster_watcher::simulation
