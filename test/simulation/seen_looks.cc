#include "test/simulation/seen_looks.h"

#include <algorithm>
#include <cstdio>

namespace cluster_watcher::simulation {
namespace {

using std::chrono::seconds;

// What fails for the moment is asked again for so long.
constexpr Duration kOneLook{5'000};
constexpr const char* kNamespacePath = "/api/v1/namespaces/lab";

bool IsInForce(const std::string& hold, const Exchange& exchange) {
  if (hold.empty()) return false;
  const auto until = TimeOf(hold);
  return !until || !exchange.date || *until > *exchange.date + kHoldSlack;
}

// In a selector for it, or for its pods.
const std::string kOfNextOwner = std::string("%3D") + World::kNextOwnerName;

}  // namespace

std::optional<Path> PathOf(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  constexpr std::string_view ns = "/namespaces/lab/";
  const std::size_t at = path.find(ns);
  if (at == std::string::npos) return std::nullopt;
  Path result;
  if (path.starts_with("/apis/")) result.group = path.substr(6, path.find('/', 6) - 6);
  const std::size_t kind = at + ns.size();
  const std::size_t slash = path.find('/', kind);
  result.plural = path.substr(kind, slash == std::string::npos ? slash : slash - kind);
  if (slash != std::string::npos) result.name = path.substr(slash + 1);
  return result;
}

std::optional<WallTime> TimeOf(const std::string& text) {
  int year = 0, hour = 0, minute = 0, second = 0;
  unsigned month = 0, day = 0;
  if (std::sscanf(text.c_str(), "%d-%u-%uT%d:%d:%dZ", &year, &month, &day, &hour, &minute,
                  &second) != 6) {
    return std::nullopt;
  }
  return std::chrono::sys_days(std::chrono::year(year) / std::chrono::month(month) /
                               std::chrono::day(day)) +
         std::chrono::hours(hour) + std::chrono::minutes(minute) + seconds(second);
}

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::string SeenLook::Doubt(const std::string& root_uid, const Plan& plan) const {
  for (const std::string& target : failed) {
    // A watcher reads ahead the owner that a rollout named before, which may be undone by now.
    if (!names_next_owner && Contains(target, kOfNextOwner)) continue;
    return "could not be read: " + target;
  }
  if (!unauthorized.empty()) return "a read was answered 401";
  if (!pod) return "it didn't read its own pod";
  if (!ns) return "it didn't read the namespace";
  if (!root || root->gone || root->uid != root_uid) return "it didn't read this master root";
  const bool by_label = plan.given == OwnerGiven::kByLabel || plan.given == OwnerGiven::kByBoth;
  if (by_label && root->ephemeral != World::kOwnerName && plan.given == OwnerGiven::kByLabel &&
      root->owner.empty()) {
    return "the ephemeral label doesn't name the owner";
  }
  if (!root->ephemeral.empty() && root->ephemeral != World::kOwnerName) {
    return "the ephemeral label names another owner";
  }
  if (!holds.empty()) return "it is held until " + holds.begin()->second;
  if (root->kept) return "the master root is to be kept";
  if (!owner_read) return "it didn't read the owner for sure";
  if (!owner_gone) return "the owner is there";
  for (const char* kind : kWorkloads) {
    if (!members.contains(kind)) return std::string("it didn't list the cluster's ") + kind;
  }
  return "";
}

void SeenLooks::ReadOwner(const Exchange& exchange, const Json* list, const std::string& recorded,
                          SeenLook& look) const {
  const Plan& plan = world_.plan();
  const Json* items = At(list, "items");
  if (items == nullptr || !items->IsArray()) return;
  look.owner_read = true;
  look.owner_sent = exchange.sent;
  if (look.drivers.empty()) look.decided = *exchange.answered;
  // The pods of an owner that was never seen can't be told from others; each Job has pods of its
  // own.
  look.owner_gone_in_truth =
      exchange.driver_was_gone ||
      (exchange.no_driver_wanted_to_run && (recorded.empty() || plan.driver == DriverKind::kJob));
  look.grace = plan.grace;
  look.owner_uid.clear();
  look.completed = false;
  if (items->Empty()) {
    look.owner_gone = true;
    if (recorded.empty()) look.grace = std::max(plan.grace, plan.startup_grace);
    return;
  }
  const Json* owner = &(*items)[0];
  look.owner_uid = TextAt(At(owner, "metadata", "uid"));
  const Json* replicas = At(owner, "spec", "replicas");
  const Json* suspend = At(owner, "spec", "suspend");
  const bool is_work = plan.driver == DriverKind::kWork;
  const bool idle =
      !is_work && ((replicas != nullptr && replicas->IsInt() && replicas->GetInt() == 0) ||
                   (suspend != nullptr && suspend->IsTrue()));
  const bool deleting = At(owner, "metadata", "deletionTimestamp") != nullptr;
  bool completed = false;
  if (const Json* conditions = At(owner, "status", "conditions");
      plan.driver == DriverKind::kJob && conditions != nullptr && conditions->IsArray()) {
    for (const Json& condition : conditions->GetArray()) {
      const auto type = TextAt(At(&condition, "type"));
      completed |=
          (type == "Complete" || type == "Failed") && TextAt(At(&condition, "status")) == "True";
    }
  }
  if (is_work) completed = TextAt(At(owner, "status", "phase")) == "Succeeded";
  look.owner_gone = deleting || completed || idle;
  look.completed = completed && !deleting && !idle;
  if (idle && !deleting && plan.zero_grace) look.grace = *plan.zero_grace;
}

void SeenLooks::ReadDrivers(const Exchange& exchange, const Json* list, SeenLook& look) {
  look.drivers_while_in_use = exchange.was_in_use;
  const Json* items = At(list, "items");
  if (items == nullptr || !items->IsArray()) return;
  for (const Json& item : items->GetArray()) {
    const Json* replicas = At(&item, "spec", "replicas");
    const bool wanted = replicas == nullptr || !replicas->IsInt() || replicas->GetInt() > 0;
    const auto name = TextAt(At(&item, "metadata", "name"));
    if (wanted && name != World::kOwnerName) look.in_use_by = name;
  }
}

void SeenLooks::AddKeeping(const Exchange& exchange, SeenLook& look) {
  const std::string& target = exchange.request.target;
  const auto path = PathOf(target);
  const bool keeps = target == kNamespacePath || IsRootPath(target) ||
                     Contains(target, "labelSelector=oshinko-cluster%3Dspark&") ||
                     Contains(target, "?labelSelector=uses-oshinko-cluster%3Dspark&") ||
                     (path && path->plural == "pods" && path->name == exchange.by->pod);
  if (keeps) look.kept_answered = std::max(look.kept_answered, *exchange.answered);
}

// Whether it lists what has the driver's name and kind.
bool SeenLooks::IsOwnerList(const std::string& target) const {
  const std::string driver = world_.DriverPath();
  return target == driver.substr(0, driver.rfind('/')) + "?fieldSelector=metadata.name%3Dbob";
}

void SeenLooks::Add(const Exchange& exchange, const std::string& recorded, SeenLook& look) const {
  const std::string& target = exchange.request.target;
  look.last = exchange.number;
  // This counts other clusters, and is repeated until it succeeds.
  if (Contains(target, "s?limit=") || Contains(target, "?labelSelector=oshinko-type%3Dmaster&")) {
    return;
  }
  const bool asked_again = look.failed.contains(target) || look.unauthorized.contains(target);
  if (target == kNamespacePath && !asked_again) {
    // The first read of what could keep the cluster. If the owner changes meanwhile all of it is
    // read again.
    look.kept_sent = exchange.sent;
    look.members.clear();
    look.drivers.clear();
    look.in_use_by.reset();
    look.holds.clear();
  }
  const auto path = PathOf(target);
  if (path && path->plural == "pods" && path->name == exchange.by->pod) look.asked_for_pod = true;
  if (exchange.true_answer && exchange.status == 401) {
    look.unauthorized.insert(target);
    return;
  }
  look.unauthorized.erase(target);
  // How a kind is served is no evidence, and looks don't depend on every such answer.
  if (target.starts_with("/apis/") && !Contains(target, "/namespaces/")) return;
  // This tells the version of a time at which the root was there, and nothing for a verdict.
  if (Contains(target, "s?fieldSelector=metadata.name%3Dspark-m")) {
    return;
  }
  // This asks whether another watcher is alive.
  if (path && path->plural == "pods" && !path->name.empty() && path->name != exchange.by->pod) {
    return;
  }
  // The root is gone; the pod shows which one it has now.
  if (IsRootPath(target) && exchange.answered && exchange.true_answer && exchange.status == 404) {
    look.failed.erase(target);
    return;
  }
  const bool by_owners_name = Contains(target, "?fieldSelector=metadata.name%3Dbob");
  const bool other_kind = by_owners_name && !IsOwnerList(target);
  // A list of all members says what would be deleted, and is no part of a look.
  const bool is_of_members = path && Contains(target, "labelSelector=oshinko-cluster%3Dspark&");
  // A deletion's passes list the same kinds by their metadata, many at a time.
  const bool is_of_makers =
      path && (path->plural == "pods" ? Contains(target, "fieldSelector=status.phase")
                                      : !Contains(target, "&limit=500") &&
                                            std::find(std::begin(kWorkloads), std::end(kWorkloads),
                                                      path->plural) != std::end(kWorkloads));
  if (is_of_members && !is_of_makers) return;
  if (!exchange.answered || !exchange.true_answer || exchange.status != 200) {
    // Once the owner is known, that it isn't of other kinds too need not be read again.
    if (!other_kind || !look.other_kinds.contains(target)) look.failed.insert(target);
    return;
  }
  look.failed.erase(target);
  look.names_next_owner |=
      !Contains(target, kOfNextOwner) && Contains(exchange.answer, World::kNextOwnerName);
  if (other_kind) look.other_kinds.insert(target);
  AddKeeping(exchange, look);
  if (target == "/apis") return;
  // The content of these lists doesn't matter. Most of a look's answers are such lists, so skip
  // parsing.
  if (is_of_members) {
    look.members.emplace(path->plural);
    return;
  }
  const bool of_drivers = Contains(target, "?labelSelector=uses-oshinko-cluster%3Dspark&");
  if (path && of_drivers) {
    look.drivers.emplace(path->plural);
    if (path->plural != "deployments") return;
  }
  const Body body(exchange.answer);
  const Json* object = body.root();
  const auto hold = [&] {
    const std::string until(
        TextAt(At(object, "metadata", "annotations", "cluster-watcher/hold-until")));
    look.holds.erase(target);
    if (IsInForce(until, exchange)) look.holds[target] = until;
  };
  if (target == kNamespacePath) {
    look.ns = true;
    return hold();
  }
  if (IsRootPath(target)) {
    SeenRoot root = SeenRoot::Read(object);
    if (root.controlled) return;
    look.root = std::move(root);
    return hold();
  }
  if (!path) return;
  if (path->plural == "pods" && path->name == exchange.by->pod) {
    look.pod = TextAt(At(object, "metadata", "uid")) == exchange.by->pod_uid;
    return hold();
  }
  if (of_drivers) ReadDrivers(exchange, object, look);
  if (by_owners_name && !other_kind) ReadOwner(exchange, object, recorded, look);
}

void SeenLooks::Read(const Exchange& one, Record& record) const {
  if (auto seen = RootIn(one)) record.roots.emplace_back(one.number, *std::move(seen));
  // Reads after a write no longer belong to the look.
  if (!one.Is(HttpMethod::kGet)) record.open = false;
  if (!one.Is(HttpMethod::kGet)) return;
  const std::string& target = one.request.target;
  auto& looks = record.looks;
  if (record.recorded.empty() && record.open && looks.back().root) {
    record.recorded = looks.back().root->owner_uid;
  }
  const bool glance = Contains(target, "resourceVersion=0");
  if (!glance && Contains(target, "metadata.name%3Dbob")) {
    if (!one.answered || !one.true_answer || one.status != 200) {
      // A look that fails to read it again has read it before.
      if (!record.name_read.contains(target)) record.name_failed.insert(target);
    } else {
      record.name_failed.erase(target);  // after a 401 it is asked again
      record.name_read.insert(target);
      const Body list(one.answer);
      const Json* items = At(list.root(), "items");
      if (items != nullptr && items->IsArray() && !items->Empty()) {
        record.sighted = TextAt(At(&(*items)[0], "metadata", "uid"));
      }
    }
    // It may exist as several kinds.
    if (record.recorded.empty() && record.name_failed.empty() && !record.sighted.empty()) {
      record.recorded = record.sighted;
      record.by_sight = true;
    } else if (record.by_sight && !record.name_failed.empty()) {
      record.recorded.clear();
    }
  }
  if (glance) return;
  if (target == "/apis") {
    // A look that hasn't read the pod knows no owner, nor does who has never read pod and root.
    const bool knows_cluster = std::any_of(
        looks.begin(), looks.end(), [](const SeenLook& look) { return look.pod && look.root; });
    if (record.by_sight && !(knows_cluster && looks.back().pod)) record.recorded.clear();
    record.by_sight = false;
    record.sighted.clear();
    record.name_failed.clear();
    record.name_read.clear();
    // A repetition, with another token or of what failed for the moment, belongs to the same look.
    const bool again = !looks.empty() && (looks.back().unauthorized.contains(target) ||
                                          (looks.back().failed.contains(target) &&
                                           one.by_own_clock - looks.back().began < kOneLook));
    if (!again) looks.emplace_back();
    looks.back().began = one.by_own_clock;
    looks.back().first = one.number;
    record.open = true;
  }
  if (record.open) Add(one, record.recorded, looks.back());
}

const Record& SeenLooks::RecordBefore(const Exchange& exchange) {
  Record& record = records_[exchange.by->life];
  for (; record.next < exchange.number; ++record.next) {
    const Exchange& one = (*exchanges_)[record.next];
    if (one.by->life == exchange.by->life) Read(one, record);
  }
  return record;
}

std::span<const SeenLook> SeenLooks::LooksBefore(const Exchange& exchange) {
  std::span<const SeenLook> looks = RecordBefore(exchange).looks;
  while (!looks.empty() && looks.back().first > exchange.number) {
    looks = looks.first(looks.size() - 1);
  }
  return looks;
}

}  // namespace cluster_watcher::simulation
