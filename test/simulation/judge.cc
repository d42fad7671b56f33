#include "test/simulation/judge.h"

#include <algorithm>
#include <utility>

namespace cluster_watcher::simulation {
namespace {

using small_kubernetes::ObjectPtr;
using std::chrono::seconds;

constexpr Duration kFreshForCrossing{5'000};
constexpr Duration kFreshForDeletes{5'000};
constexpr Duration kHoldSlack{10'000};
// Allows for clocks that differ, and for a mark whose time was taken before it could be sent.
constexpr Duration kDeadlineSlack{25'000};
constexpr const char* kNamespacePath = "/api/v1/namespaces/lab";
// The kinds in this world that can hide a driver or a master.
constexpr const char* kWorkloads[] = {"deployments", "statefulsets", "replicationcontrollers",
                                      "jobs", "pods"};

// The parts of a path in the namespace, valid as long as the path.
struct Path {
  std::string_view group;
  std::string_view plural;
  std::string_view name;
};

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

ObjectPtr ObjectAt(World& world, const std::string& target) {
  const auto path = PathOf(target);
  return path && !path->name.empty() ? world.Get(path->group, path->plural, path->name) : nullptr;
}

bool IsDryRun(const std::string& body) { return body.find("\"dryRun\"") != std::string::npos; }

// The kinds of members in this world.
constexpr std::pair<const char*, const char*> kMembers[] = {
    {"apps", "deployments"}, {"apps", "statefulsets"}, {"", "replicationcontrollers"}, {"", "pods"},
    {"", "services"},        {"", "configmaps"}};

// Parses "2026-12-24T18:00:00Z"; nullopt if it isn't a time.
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

bool IsInForce(const std::string& hold, const Exchange& exchange) {
  if (hold.empty()) return false;
  const auto until = TimeOf(hold);
  return !until || !exchange.date || *until > *exchange.date + kHoldSlack;
}

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

const std::string kByNextOwnersName =
    std::string("?fieldSelector=metadata.name%3D") + World::kNextOwnerName;

}  // namespace

void Judge::Break(const std::string& promise, const std::string& how) {
  if (!broken_.empty()) return;
  broken_ = promise + ": " + how;
  world_.journal().Line("judge", "BROKEN " + broken_);
}

std::string Judge::Look::Doubt(const std::string& root_uid, const Plan& plan) const {
  for (const std::string& target : failed) {
    // A watcher reads ahead the owner that a rollout named before, which may be undone by now.
    if (!names_next_owner && Contains(target, kByNextOwnersName)) continue;
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
  if (!owner_gone && !SaysCompleted()) return "the owner is there";
  for (const char* kind : kWorkloads) {
    if (!members.contains(kind)) return std::string("it didn't list the cluster's ") + kind;
  }
  return "";
}

bool Judge::Look::SaysCompleted() const {
  return !owner_gone && !owner_wants_more && root && root->SaysCompleted(owner_uid);
}

void Judge::ReadOwner(const Exchange& exchange, const Json* list, const std::string& recorded,
                      Look& look) const {
  const Plan& plan = world_.plan();
  const Json* items = At(list, "items");
  if (items == nullptr || !items->IsArray()) return;
  look.owner_read = true;
  look.owner_sent = exchange.sent;
  look.owner_answered = *exchange.answered;
  if (look.drivers.empty()) look.decided = *exchange.answered;
  // The pods of an owner that was never seen can't be told from others; each Job has pods of its
  // own.
  look.owner_gone_in_truth =
      exchange.driver_was_gone || exchange.driver_had_completed ||
      (exchange.no_driver_wanted_to_run && (recorded.empty() || plan.driver == DriverKind::kJob));
  look.grace = plan.grace;
  look.owner_uid.clear();
  look.completed = false;
  look.owner_wants_more = false;
  if (items->Empty()) {
    look.owner_gone = true;
    if (recorded.empty()) look.grace = std::max(plan.grace, plan.startup_grace);
    return;
  }
  const Json* owner = &(*items)[0];
  look.owner_uid = TextAt(At(owner, "metadata", "uid"));
  const Json* replicas = At(owner, "spec", "replicas");
  const Json* suspend = At(owner, "spec", "suspend");
  const bool idle = (replicas != nullptr && replicas->IsInt() && replicas->GetInt() == 0) ||
                    (suspend != nullptr && suspend->IsTrue());
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
  look.owner_gone = deleting || completed || idle;
  look.owner_wants_more = replicas != nullptr && replicas->IsInt() && replicas->GetInt() > 1;
  look.completed = completed && !deleting && !idle;
  if (idle && !deleting && plan.zero_grace) {
    look.grace = *plan.zero_grace;
  }
}

void Judge::ReadDrivers(const Exchange& exchange, const Json* list, Look& look) const {
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

void Judge::AddKeeping(const Exchange& exchange, Look& look) {
  const std::string& target = exchange.request.target;
  const auto path = PathOf(target);
  const bool keeps = target == kNamespacePath || IsRootPath(target) ||
                     Contains(target, "?labelSelector=oshinko-cluster%3Dspark&") ||
                     Contains(target, "?labelSelector=uses-oshinko-cluster%3Dspark&") ||
                     (path && path->plural == "pods" && path->name == exchange.by->pod);
  if (keeps) look.kept_answered = std::max(look.kept_answered, *exchange.answered);
}

// Whether it lists what has the driver's name and kind.
bool Judge::IsOwnerList(const std::string& target) const {
  const std::string driver = world_.DriverPath();
  return target == driver.substr(0, driver.rfind('/')) + "?fieldSelector=metadata.name%3Dbob";
}

void Judge::Add(const Exchange& exchange, const std::string& recorded, Look& look) const {
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
  if (!exchange.answered || !exchange.true_answer || exchange.status != 200) {
    // Once the owner is known, that it isn't of other kinds too need not be read again.
    if (!other_kind || !look.other_kinds.contains(target)) look.failed.insert(target);
    return;
  }
  look.failed.erase(target);
  look.names_next_owner |=
      !Contains(target, kByNextOwnersName) && Contains(exchange.answer, World::kNextOwnerName);
  if (other_kind) look.other_kinds.insert(target);
  AddKeeping(exchange, look);
  if (target == "/apis") return;
  // The content of these lists doesn't matter. Most of a look's answers are such lists, so skip
  // parsing.
  if (path && Contains(target, "?labelSelector=oshinko-cluster%3Dspark&")) {
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

// In this world nobody but people makes ConfigMaps, and nothing controls them.
void Judge::ReadMembers(const Exchange& one, Record& record) {
  record.has_begun |= one.Is(HttpMethod::kDelete) && one.status == 200;
  record.has_begun |= one.Is(HttpMethod::kPatch) &&
                      Contains(one.request.body, R"("cluster-watcher/deletes-begun":"true")");
  // Only a pass over what is proven half tries a mark. What notes an after-delete step stands
  // between two passes.
  if (one.Is(HttpMethod::kPatch) && !Contains(one.request.body, "after-delete/")) {
    record.in_passes = Contains(one.request.target, "?dryRun=All");
  }
  if (record.has_begun || record.in_passes || record.roots.empty() ||
      !record.roots.back().second.deletes_begun || record.looks.size() == record.looks_judged ||
      !one.true_answer || one.status != 200 ||
      !Contains(one.request.target, "/configmaps?labelSelector=oshinko-cluster%3Dspark&")) {
    return;
  }
  // Later lists are those of the deletion, which goes on whatever it finds.
  record.looks_judged = record.looks.size();
  record.made_since.clear();
  const SeenRoot& root = record.roots.back().second;
  const auto since = TimeOf(root.deleting_since);
  const Body body(one.answer);
  const Json* items = At(body.root(), "items");
  if (!since || items == nullptr || !items->IsArray()) return;
  for (const Json& item : items->GetArray()) {
    const Json* metadata = At(&item, "metadata");
    const auto uid = TextAt(At(metadata, "uid"));
    const auto made = TimeOf(std::string(TextAt(At(metadata, "creationTimestamp"))));
    if (made && *made >= *since && At(metadata, "deletionTimestamp") == nullptr &&
        TextAt(At(metadata, "annotations", "cluster-watcher/keep")) != "true" &&
        !Contains(root.first_deletes, HashOf(uid))) {
      record.made_since = TextAt(At(metadata, "name"));
    }
  }
}

void Judge::Read(const Exchange& one, Record& record) const {
  if (auto seen = RootIn(one)) record.roots.emplace_back(one.number, *std::move(seen));
  ReadMembers(one, record);
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
    const bool knows_cluster = std::any_of(looks.begin(), looks.end(),
                                           [](const Look& look) { return look.pod && look.root; });
    if (record.by_sight && !(knows_cluster && looks.back().pod)) record.recorded.clear();
    record.by_sight = false;
    record.sighted.clear();
    record.name_failed.clear();
    record.name_read.clear();
    // A repetition, with another token or of what failed in passing, belongs to the same look.
    const bool again =
        !looks.empty() && (looks.back().unauthorized.contains(target) ||
                           (looks.back().failed.contains(target) &&
                            one.by_own_clock - looks.back().began < kFreshForCrossing));
    if (!again) looks.emplace_back();
    looks.back().began = one.by_own_clock;
    looks.back().first = one.number;
    record.open = true;
  }
  if (record.open) Add(one, record.recorded, looks.back());
}

const Judge::Record& Judge::RecordBefore(const Exchange& exchange) {
  Record& record = records_[exchange.by->life];
  for (; record.next < exchange.number; ++record.next) {
    const Exchange& one = (*exchanges_)[record.next];
    if (one.by->life == exchange.by->life) Read(one, record);
  }
  return record;
}

// Returns the looks in order, without those that began after `exchange`: a late request finds more
// of them recorded.
std::span<const Judge::Look> Judge::LooksBefore(const Exchange& exchange) {
  std::span<const Look> looks = RecordBefore(exchange).looks;
  while (!looks.empty() && looks.back().first > exchange.number) {
    looks = looks.first(looks.size() - 1);
  }
  return looks;
}

void Judge::CheckLastLook(const char* promise, const Exchange& exchange,
                          std::span<const Look> looks, Duration freshness) {
  if (looks.empty()) return Break(promise, "without a look");
  const Look& last = looks.back();
  if (auto doubt = last.Doubt(root_before_->uid, world_.plan()); !doubt.empty()) {
    return Break(promise, "the last look is no evidence: " + doubt);
  }
  for (const char* kind : kWorkloads) {
    if (!last.drivers.contains(kind)) {
      return Break(promise, std::string("the last look didn't ask for other drivers: ") + kind);
    }
  }
  if (last.in_use_by) return Break(promise, "in use by " + *last.in_use_by);
  if (last.drivers_while_in_use) return Break(promise, "the cluster was in use, in truth");
  if (!last.owner_gone_in_truth) return Break(promise, "the driver was not gone, in truth");
  if (last.owner_sent < last.kept_answered) {
    return Break(promise, "the last look didn't read the owner again");
  }
  if (const auto age = exchange.called - last.kept_sent; age > freshness) {
    return Break(promise, "the evidence is " +
                              std::to_string(std::chrono::duration_cast<Duration>(age).count()) +
                              " ms old");
  }
}

void Judge::CheckCrossing(const Exchange& exchange, const Marked& before) {
  // A watcher of another rollout reads another driver, as does that of a cluster which another
  // application has claimed: what it does is judged by the truth alone.
  if (!exchange.by->as_planned || root_before_->NamesOther()) return;
  constexpr const char* kPromise = "1, the point of no return";
  const Plan& plan = world_.plan();
  const std::span<const Look> looks = LooksBefore(exchange);
  CheckLastLook(kPromise, exchange, looks, kFreshForCrossing);
  if (!broken_.empty()) return;
  const SeenRoot& seen = *looks.back().root;
  if (seen.content != root_before_->content || seen.deleting != root_before_->deleting) {
    return Break(kPromise, "more than the root's status was written since the last look, from " +
                               seen.resource_version + " to " + root_before_->resource_version);
  }
  // Others have written that it is condemned, or by whom. Whoever is named goes on from there.
  if (before != Marked::Of(*root_before_)) return;
  // Find the condemnation; the looks before it must confirm it.
  std::size_t condemned = 0;
  for (const Exchange& one : *exchanges_) {
    if (one.number >= exchange.number) break;
    if (one.by->life == exchange.by->life && one.Is(HttpMethod::kPatch) &&
        IsRootPath(one.request.target) && one.status == 200 &&
        Contains(one.request.body, R"("cluster-watcher/phase":"condemned")")) {
      condemned = one.number;
    }
  }
  if (condemned == 0) return Break(kPromise, "it was not condemned before");
  if (looks.back().first < condemned) return Break(kPromise, "without a look after condemning");
  std::size_t confirming = looks.size() - 1;
  while (confirming > 0 && looks[confirming].first > condemned) {
    const std::string doubt = looks[confirming].Doubt(root_before_->uid, plan);
    if (!doubt.empty()) return Break(kPromise, "after the condemnation: " + doubt);
    --confirming;
  }
  if (looks[confirming].first > condemned) return Break(kPromise, "condemned without a look");
  for (const char* kind : kWorkloads) {
    if (!looks[confirming].drivers.contains(kind)) {
      return Break(kPromise, "condemned without having asked for other drivers");
    }
  }
  // Some series of looks that ends there must be long enough in number and time.
  std::string owner_uid = looks.back().owner_uid;
  Duration grace{0};
  bool completed = false;
  const bool in_surge = IsInSurge(exchange);
  std::string short_of = "no look before the condemnation is evidence";
  for (std::size_t i = confirming + 1; i-- > 0;) {
    const Look& look = looks[i];
    if (auto doubt = look.Doubt(root_before_->uid, plan); !doubt.empty()) {
      return Break(kPromise, short_of + "; before that: " + doubt);
    }
    if (!look.owner_uid.empty()) {
      if (!owner_uid.empty() && owner_uid != look.owner_uid) {
        return Break(kPromise, short_of + "; before that it was another owner");
      }
      owner_uid = look.owner_uid;
    }
    grace = std::max(grace, look.grace);
    const auto span = looks[confirming].owner_sent - look.decided;
    const auto count = confirming - i + 1;
    // Who has completed waits for nobody.
    completed |= look.completed || look.SaysCompleted();
    const Duration wanted = in_surge && !completed ? std::max(grace, *plan.surge_grace) : grace;
    if (count >= static_cast<std::size_t>(plan.confirmations) &&
        (wanted == Duration(0) || span >= wanted)) {
      return;
    }
    short_of = std::to_string(count) + " confirmations of " + std::to_string(plan.confirmations) +
               " over " + std::to_string(std::chrono::duration_cast<Duration>(span).count()) +
               " ms of " + std::to_string(wanted.count());
  }
  Break(kPromise, short_of);
}

// The other clusters are marked as the last watcher of this one is, which may be another than this.
bool Judge::IsInSurge(const Exchange& exchange) const {
  if (!world_.plan().surge_grace) return false;
  const ObjectPtr other = ObjectAt(world_, World::OtherRootPath(0));
  const Body body(other->Json());
  const auto marked = TimeOf(std::string(
      TextAt(At(body.root(), "metadata", "annotations", "cluster-watcher/abandoned-since"))));
  const auto own = abandoned_since_.find(exchange.by->life);
  if (!marked || own == abandoned_since_.end()) return false;
  return *marked <= own->second + std::chrono::minutes(1) &&
         own->second <= *marked + std::chrono::minutes(1);
}

void Judge::CheckBegin(const Exchange& exchange) {
  if (!exchange.by->as_planned || root_before_->NamesOther()) return;
  std::span<const Look> looks = LooksBefore(exchange);
  // If members could not be listed, discovery is asked again; that isn't a look.
  while (!looks.empty() && !looks.back().asked_for_pod) looks = looks.first(looks.size() - 1);
  CheckLastLook("1, deletes begun", exchange, looks, kFreshForDeletes);
}

// Checks promise 9 where a watcher passes the point of no return.
void Judge::CheckClaims(const std::string& root_uid) {
  const std::string why = drivers_.WhyNot(root_uid);
  if (!why.empty()) Break("9, a claim or the point of no return", why);
}

// Checks promise 4.
void Judge::CheckRight(const Exchange& exchange, const std::string& uid) {
  constexpr const char* kPromise = "4, one watcher at a time";
  const Record& record = RecordBefore(exchange);
  const SeenRoot* last = nullptr;
  std::size_t gone_since = 0;  // the first answer that says so
  bool had_begun = false;
  for (const auto& [number, seen] : record.roots) {
    // A root that has got a controller since is still the condemned one.
    const bool same = last != nullptr && seen.path == last->path;
    if (!same && (seen.controlled || (seen.gone && last != nullptr))) continue;
    const bool ours = !seen.gone && !seen.deleting;
    if (ours) gone_since = 0;
    if (!ours && gone_since == 0) gone_since = number;
    had_begun |= !seen.gone && seen.deletes_begun && seen.condemned_by == exchange.by->Me();
    last = &seen;
  }
  if (last == nullptr) return Break(kPromise, "the master root was never read");
  if (gone_since == 0) {
    if (last->kept) return Break(kPromise, "the master root is annotated to be kept");
    if (!record.has_begun && !record.made_since.empty()) {
      return Break("1, deletes begun", record.made_since + " was made since, and no look followed");
    }
    // A begun deletion is finished, even if somebody has removed or changed the marks; but for who
    // deletes.
    const bool is_anothers = last->phase == "deleting" && last->condemned_by != exchange.by->Me();
    if (had_begun && !is_anothers) return;
    if (last->phase != "deleting" || !last->deletes_begun) {
      return Break(kPromise, "the marks don't say that deletes are begun");
    }
    if (last->condemned_by != exchange.by->Me()) {
      return Break(kPromise, "the marks name " + last->condemned_by);
    }
    return;
  }
  bool owner_gone = false;
  for (const Exchange& one : *exchanges_) {
    if (one.number >= exchange.number) break;
    if (one.by->life == exchange.by->life && one.Is(HttpMethod::kGet) && one.answered &&
        one.handled && Contains(one.request.target, "metadata.name%3Dbob") &&
        !Contains(one.request.target, "resourceVersion=0")) {
      // Each Job has its own pods: those of another Job aren't known to be a driver's.
      const bool is_job = world_.plan().driver == DriverKind::kJob;
      owner_gone = one.true_answer && (one.driver_was_gone || one.driver_had_completed ||
                                       (is_job && one.no_driver_wanted_to_run));
    }
  }
  // That is judged by the truth alone.
  owner_gone |= !exchange.by->as_planned || last->NamesOther() ||
                std::any_of(record.roots.begin(), record.roots.end(),
                            [](const auto& seen) { return seen.second.NamesOther(); });
  // The driver's word stood on a root that is gone now.
  const auto seen_last =
      std::find_if(record.roots.rbegin(), record.roots.rend(),
                   [](const auto& seen) { return !seen.second.gone && !seen.second.controlled; });
  owner_gone |= seen_last != record.roots.rend() &&
                seen_last->second.SaysCompleted(seen_last->second.owner_uid);
  if (exchange.told_to_stop && world_.plan().finish_on_termination && owner_gone) {
    ++counts_.by_hand;
    return;
  }
  if (had_begun) {
    if (uid == last->uid) return;
    // Allowed is what was listed before the root was gone, or by the first pass of a restarted
    // watcher. One that has never seen the root alive looks first, and its pass may take two lists.
    const bool restarted =
        std::none_of(record.roots.begin(), record.roots.end(), [&](const auto& sighting) {
          const SeenRoot& seen = sighting.second;
          return sighting.first < gone_since && !seen.controlled && !seen.gone && !seen.deleting;
        });
    bool listed = false;
    bool passes_before = false;
    std::size_t next_root_read = exchange.number;
    for (const Exchange& one : *exchanges_) {
      if (one.number >= exchange.number) break;
      if (one.by->life != exchange.by->life || !one.answered) continue;
      const bool reads_root = one.request.target == last->path;
      if (one.number > gone_since && (restarted ? one.Is(HttpMethod::kDelete) : reads_root)) {
        next_root_read = one.number;
        break;
      }
      passes_before |= one.number < gone_since && one.Is(HttpMethod::kDelete);
      if (one.number < gone_since || !passes_before) listed |= Contains(one.answer, uid);
    }
    const ObjectPtr object = world_.kubernetes().GetStore().FindUid(uid);
    const ObjectPtr root = world_.Root();
    if (restarted && object != nullptr && root != nullptr && root->uid == last->uid) {
      const auto time_of = [](const ObjectPtr& of, const char* field) {
        const Body body(of->Json());
        return TimeOf(std::string(TextAt(At(body.root(), "metadata", field))));
      };
      const auto made = time_of(object, "creationTimestamp");
      const auto going = time_of(root, "deletionTimestamp");
      if (made && going && *made > *going + kHoldSlack) {
        return Break(kPromise, uid + " was made after the root was deleted");
      }
    }
    if (!listed && object != nullptr && object->controller_uid.empty() &&
        next_root_read < exchange.number) {
      return Break(kPromise, "the root is gone, and " + uid + " was not listed before");
    }
    return;
  }
  Break(kPromise, exchange.told_to_stop
                      ? "told to stop, and the driver isn't gone"
                      : "the root is gone by another's hand, and it had not begun");
}

// Checks promise 3.
void Judge::CheckUid(const Exchange& exchange, const std::string& uid) {
  constexpr const char* kPromise = "3, deletes by UID";
  if (uid.empty()) return Break(kPromise, "no precondition: " + exchange.request.target);
  const auto path = PathOf(exchange.request.target);
  if (!path) return Break("2, nothing else is deleted", exchange.request.target);
  const std::string name = "\"name\":\"" + std::string(path->name) + "\"";
  const std::string collection =
      exchange.request.target.substr(0, exchange.request.target.rfind('/'));
  for (auto one = exchanges_->rbegin(); one != exchanges_->rend(); ++one) {
    if (one->by->life != exchange.by->life || !one->answered || one->number >= exchange.number) {
      continue;
    }
    const bool of_kind = one->request.target.starts_with(collection);
    if (of_kind && Contains(one->answer, uid) && Contains(one->answer, name)) return;
    // The root's UID may come from the ownerReference of a pod.
    if (path->name == World::kRootName && Contains(one->answer, uid)) return;
  }
  Break(kPromise, "this watcher has not read the UID " + uid + " of " + exchange.request.target);
}

// Checks promise 5.
void Judge::CheckRootIsLast(const Exchange& exchange) {
  const Plan& plan = world_.plan();
  // Members created after the last listing don't count.
  if (exchange.by->life == last_life_to_delete_root_) return;
  last_life_to_delete_root_ = exchange.by->life;
  const ObjectPtr root = world_.Root();
  // A root deleted by somebody else doesn't wait for members that couldn't be listed.
  if (root == nullptr || root->deleting || plan.clocks_jump) return;
  const auto crossed = crossed_at_.find(root->uid);
  if (crossed == crossed_at_.end()) return;
  if (timeline_.Now() >= crossed->second + plan.delete_deadline - kDeadlineSlack) {
    return CheckWhatIsLeft(exchange);
  }
  // Whoever resumes goes by the mark, which somebody may have forged.
  const Body marked(root->Json());
  const auto since = TimeOf(std::string(
      TextAt(At(marked.root(), "metadata", "annotations", "cluster-watcher/deleting-since"))));
  if (since && world_.clock().WallNow() >= *since + plan.delete_deadline - kDeadlineSlack) {
    return CheckWhatIsLeft(exchange);
  }
  for (const auto& [group, plural] : kMembers) {
    const std::string list = std::string("/") + plural + "?labelSelector=oshinko-cluster";
    const Exchange* asked = LastOf(exchange, [&](const Exchange& one) {
      return one.Is(HttpMethod::kGet) && Contains(one.request.target, list);
    });
    if (asked == nullptr) continue;
    const WallTime listed =
        world_.clock().WallNow() -
        std::chrono::duration_cast<WallTime::duration>(timeline_.Now() - asked->sent);
    for (const ObjectPtr& object : world_.All(group, plural)) {
      if (object->uid == root->uid || !object->controller_uid.empty()) continue;
      if (plan.mounted_config && object->name == "spark-config") continue;
      const Body body(object->Json());
      const Json* metadata = At(body.root(), "metadata");
      if (TextAt(At(metadata, "labels", "oshinko-cluster")) != World::kCluster ||
          TextAt(At(metadata, "annotations", "cluster-watcher/keep")) == "true") {
        continue;
      }
      const auto created = TimeOf(std::string(TextAt(At(metadata, "creationTimestamp"))));
      const auto skew = plan.skew < Duration(0) ? -plan.skew : plan.skew;
      if (created && *created + seconds(1) + skew > listed) continue;
      return Break("5, the master root last",
                   std::string(plural) + " " + object->name + " is still there");
    }
  }
}

void Judge::NoteAbandoned(int life, const std::string& since) {
  if (const auto time = TimeOf(since)) abandoned_since_[life] = *time;
}

bool Judge::AreTrueMarks(const SeenRoot& root) const {
  const auto marked = marked_.find(root.uid);
  return marked != marked_.end() && marked->second == Marked::Of(root);
}

// Whether it is to be kept meanwhile, or another cluster's.
bool Judge::IsLetGo(const small_kubernetes::Object& object) {
  const Body body(object.Json());
  const Json* metadata = At(body.root(), "metadata");
  return TextAt(At(metadata, "annotations", "cluster-watcher/keep")) == "true" ||
         TextAt(At(metadata, "labels", "oshinko-cluster")) != World::kCluster;
}

void Judge::CheckNames() {
  for (const auto& [number, plural] : to_be_named_) {
    bool tells = false;  // it hasn't been killed before it could
    bool told = false;
    for (const Exchange& one : *exchanges_) {
      if (one.by->life != (*exchanges_)[number].by->life || !one.Is(HttpMethod::kPost)) continue;
      tells |= one.number > number;
      told |= Contains(one.request.body, "could not be listed");
    }
    if (tells && !told) {
      Break("5, what is left is named", std::string(plural) + " could not be listed: nobody said");
    }
  }
}

// The last one of this life for which `is_it` holds; null if none.
template <typename Is>
const Exchange* Judge::LastOf(const Exchange& exchange, Is is_it) const {
  for (auto one = exchanges_->rbegin(); one != exchanges_->rend(); ++one) {
    if (one->by->life == exchange.by->life && one->number < exchange.number && is_it(*one)) {
      return &*one;
    }
  }
  return nullptr;
}

// Looks list workloads of every kind, a deletion those that --resources names (FlagsOf).
bool Judge::IsMemberKind(std::string_view plural) const {
  const auto is_of_kind = [&](std::string_view resource) {
    return resource.substr(0, resource.find('.')) == plural;
  };
  const bool is_workload =
      std::any_of(kWorkerResources.begin(), kWorkerResources.end(), is_of_kind);
  const auto workers = static_cast<std::size_t>(world_.plan().workers);
  return world_.plan().all_kinds || !is_workload || is_of_kind(kWorkerResources[workers]);
}

// Checks promise 5 past the deadline: what is left is sent for deletion, or people are told.
void Judge::CheckWhatIsLeft(const Exchange& exchange) {
  constexpr const char* kPromise = "5, what is left is named";
  // Until then anything may fail.
  if (timeline_.Now() < world_.plan().calm + world_.plan().delete_deadline) return;
  for (const auto& [group, plural] : kMembers) {
    const std::string list = std::string("/") + plural + "?labelSelector=oshinko-cluster";
    const Exchange* listed = LastOf(exchange, [&](const Exchange& one) {
      return one.Is(HttpMethod::kGet) && Contains(one.request.target, list);
    });
    if (listed == nullptr || !IsMemberKind(plural)) continue;
    if (!listed->answered || listed->status != 200 || !listed->true_answer) {
      to_be_named_.emplace_back(exchange.number, plural);
      continue;
    }
    const Body body(listed->answer);
    const Json* items = At(body.root(), "items");
    if (items == nullptr || !items->IsArray()) continue;
    for (const Json& item : items->GetArray()) {
      const Json* metadata = At(&item, "metadata");
      const std::string uid(TextAt(At(metadata, "uid")));
      const ObjectPtr object = world_.kubernetes().GetStore().FindUid(uid);
      const bool is_mounted =
          world_.plan().mounted_config && TextAt(At(metadata, "name")) == "spark-config";
      if (object == nullptr || object->deleting || !object->controller_uid.empty() || is_mounted ||
          IsLetGo(*object) || At(metadata, "deletionTimestamp") != nullptr ||
          At(metadata, "ownerReferences") != nullptr ||
          TextAt(At(metadata, "annotations", "cluster-watcher/keep")) == "true" ||
          TextAt(At(metadata, "name")) == World::kRootName) {
        continue;
      }
      const bool sent = LastOf(exchange, [&](const Exchange& one) {
        return one.Is(HttpMethod::kDelete) && Contains(one.request.body, uid);
      });
      if (!sent) return Break(kPromise, std::string(plural) + " " + object->name + " was not sent");
    }
  }
}

void Judge::Sent(const Exchange& exchange) {
  if (!broken_.empty()) return;
  const bool is_delete = exchange.Is(HttpMethod::kDelete);
  if (is_delete && IsDryRun(exchange.request.body)) return;
  const bool writes = is_delete || (exchange.Is(HttpMethod::kPatch));
  if (writes && exchange.by->orders.dry_run) {
    return Break("2, nothing else is deleted", "a dry run writes " + exchange.request.target);
  }
  if (!is_delete) return;
  const Body body(exchange.request.body);
  const std::string uid(TextAt(At(body.root(), "preconditions", "uid")));
  ++counts_.sent;
  for (const auto& [number, seen] : RecordBefore(exchange).roots) {
    if (!seen.uid.empty() && !seen.controlled) root_of_[exchange.number] = seen.uid;
  }
  CheckUid(exchange, uid);
  CheckRight(exchange, uid);
  if (exchange.request.target == World::kRootPath) CheckRootIsLast(exchange);
}

void Judge::Arriving(const Exchange& exchange) {
  before_ = nullptr;
  root_before_.reset();
  untrue_.clear();
  if (exchange.Is(HttpMethod::kDelete) && !IsDryRun(exchange.request.body)) {
    untrue_ = truth_.WhyNotDelete(exchange, root_of_[exchange.number]);
  }
  if (exchange.Is(HttpMethod::kGet) || exchange.Is(HttpMethod::kPost)) return;
  before_ = ObjectAt(world_, exchange.request.target);
  if (before_ != nullptr && IsRootPath(exchange.request.target)) {
    const Body body(before_->Json());
    SeenRoot root = SeenRoot::Read(body.root());
    if (!root.controlled) root_before_ = std::move(root);
  }
}

// Checks promise 2 for a delete that took effect.
void Judge::CheckTarget(const Exchange& exchange) {
  constexpr const char* kPromise = "2, nothing else is deleted";
  const std::string& target = exchange.request.target;
  const auto path = PathOf(target);
  for (const char* never : {"persistentvolumeclaims", "serviceaccounts", "roles", "rolebindings"}) {
    const bool asked_for =
        path->plural == "persistentvolumeclaims" && world_.plan().volumes == std::string("delete");
    if (path->plural == never && !asked_for) return Break(kPromise, target);
  }
  if (const ObjectPtr driver = world_.Driver(); driver != nullptr && driver->uid == before_->uid) {
    return Break(kPromise, "the owner itself");
  }
  if (root_before_) {
    ++counts_.roots_deleted;
    return;
  }
  ++counts_.deletes;
  // Where the clocks of two API servers differ, times of creation don't tell.
  if (world_.plan().skew == Duration(0) &&
      truth_.IsMadeAfter(root_of_[exchange.number], before_->uid)) {
    return Break(kPromise, target + " was made when its master root was deleted");
  }
  if (const ObjectPtr root = world_.Root()) bereft_.insert(root->uid);
  const Body body(before_->Json());
  // The claims that the cluster's set has made don't carry its label.
  const bool is_of_set =
      path->plural == "persistentvolumeclaims" && path->name.starts_with("data-spark-w-");
  if (!is_of_set &&
      TextAt(At(body.root(), "metadata", "labels", "oshinko-cluster")) != World::kCluster) {
    return Break(kPromise, target + " doesn't belong to the cluster");
  }
  if (!before_->controller_uid.empty()) {
    const ObjectPtr above = world_.kubernetes().GetStore().FindUid(before_->controller_uid);
    if (above != nullptr) {
      const Body controller(above->Json());
      if (TextAt(At(controller.root(), "metadata", "labels", "oshinko-cluster")) !=
          World::kCluster) {
        return Break(kPromise, target + " is below something that is not the cluster's");
      }
    }
  }
  // What counts is the object as the watcher last saw it.
  const std::string list_of_kind =
      "/" + std::string(path->plural) + "?labelSelector=oshinko-cluster";
  for (auto one = exchanges_->rbegin(); one != exchanges_->rend(); ++one) {
    if (one->by->life != exchange.by->life || !one->answered || one->number >= exchange.number ||
        !Contains(one->request.target, list_of_kind) || !Contains(one->answer, before_->uid)) {
      continue;
    }
    const Body list(one->answer);
    const Json* items = At(list.root(), "items");
    if (items == nullptr || !items->IsArray()) return;
    for (const Json& item : items->GetArray()) {
      if (TextAt(At(&item, "metadata", "uid")) == before_->uid &&
          TextAt(At(&item, "metadata", "annotations", "cluster-watcher/keep")) == "true") {
        return Break(kPromise, target + " is to be kept");
      }
    }
    return;
  }
}

void Judge::Handled(const Exchange& exchange, int status) {
  if (!broken_.empty() || before_ == nullptr || status < 200 || status > 299) return;
  if (exchange.Is(HttpMethod::kDelete)) {
    if (IsDryRun(exchange.request.body)) return;
    const std::string& root = root_of_[exchange.number];
    if (!begun_.contains(root) && !bereft_.contains(root)) CheckClaims(root);
    CheckTarget(exchange);
    if (!untrue_.empty()) Break("8, what is kept loses nothing", untrue_);
    truth_.NoteDeleted(root_of_[exchange.number]);
    return;
  }
  if (!root_before_) return;
  const ObjectPtr now = ObjectAt(world_, exchange.request.target);
  if (now == nullptr) return;
  const Body body(now->Json());
  const SeenRoot after = SeenRoot::Read(body.root());
  if (after.phase == "condemned" && root_before_->phase != "condemned") ++counts_.condemned;
  if (after.phase.empty() && !root_before_->phase.empty()) {
    ++counts_.spared;
    taken_over_half_.erase({after.uid, exchange.by->life});
  }
  if (after.phase == "deleting" && root_before_->phase == "deleting" &&
      after.condemned_by != root_before_->condemned_by) {
    ++counts_.taken_over;
    if (truth_.SeemsHalf()) taken_over_half_.emplace(after.uid, exchange.by->life);
  }
  // Whoever writes no phase builds on what is there, which may be another's.
  Marked& marked = marked_[after.uid];
  const Marked marked_before = marked;
  if (Contains(exchange.request.body, "\"cluster-watcher/phase\"") ||
      marked == Marked::Of(*root_before_)) {
    marked = Marked::Of(after);
  }
  // Somebody removed the marks, and a watcher that goes on has written them again.
  if (begun_.contains(after.uid) || bereft_.contains(after.uid) ||
      taken_over_half_.contains({after.uid, exchange.by->life})) {
    return;
  }
  if (after.phase == "deleting" && root_before_->phase != "deleting") {
    ++counts_.crossed;
    crossed_at_[after.uid] = timeline_.Now();
    CheckCrossing(exchange, marked_before);
    CheckClaims(after.uid);
  }
  if (after.deletes_begun && !root_before_->deletes_begun) {
    begun_.insert(after.uid);
    CheckBegin(exchange);
    CheckClaims(after.uid);
  }
}

}  // namespace cluster_watcher::simulation
