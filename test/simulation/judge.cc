#include "test/simulation/judge.h"

#include <algorithm>
#include <utility>

namespace cluster_watcher::simulation {
namespace {

using small_kubernetes::Find;
using small_kubernetes::Object;
using small_kubernetes::ObjectPtr;
using small_kubernetes::TextOf;
using std::chrono::seconds;

constexpr Duration kFresh{5'000};
// Allows for a mark whose time was taken before it could be sent.
constexpr Duration kDeadlineSlack{25'000};
constexpr const char* kWritesDeleting = R"("cluster-watcher/phase":"deleting")";

ObjectPtr ObjectAt(World& world, const std::string& target) {
  const auto path = PathOf(target);
  return path && !path->name.empty() ? world.Get(path->group, path->plural, path->name) : nullptr;
}

bool IsDryRun(const std::string& body) { return Contains(body, "\"dryRun\""); }

// The kinds of members in this world.
constexpr std::pair<const char*, const char*> kMembers[] = {
    {"apps", "deployments"}, {"apps", "statefulsets"}, {"", "replicationcontrollers"}, {"", "pods"},
    {"", "services"},        {"", "configmaps"}};

// The UIDs of what owns it.
std::set<std::string> OwnersOf(const Object& object) {
  std::set<std::string> uids;
  const auto* owners = Find(object.body, "metadata", "ownerReferences");
  if (!small_kubernetes::HasElements(owners)) return uids;
  for (const auto& owner : owners->GetArray()) uids.emplace(TextOf(Find(owner, "uid")));
  return uids;
}

bool IsLabelled(const Object& object) {
  return TextOf(Find(object.body, "metadata", "labels", "oshinko-cluster")) == World::kCluster;
}

bool IsToBeKept(const Object& object) {
  return TextOf(Find(object.body, "metadata", "annotations", "cluster-watcher/keep")) == "true";
}

}  // namespace

void Judge::Break(const std::string& promise, const std::string& how) {
  if (!broken_.empty()) return;
  broken_ = promise + ": " + how;
  world_.journal().Line("judge", "BROKEN " + broken_);
}

void Judge::CheckLastLook(const char* promise, const Exchange& exchange,
                          const std::string& root_uid) {
  std::span<const SeenLook> looks = seen_.LooksBefore(exchange);
  // If members could not be listed, discovery is asked again; that isn't a look.
  while (!looks.empty() && !looks.back().asked_for_pod) looks = looks.first(looks.size() - 1);
  if (looks.empty()) return Break(promise, "without a look");
  const SeenLook& last = looks.back();
  if (auto doubt = last.Doubt(root_uid, world_.plan()); !doubt.empty()) {
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
  if (const auto age = exchange.sent - last.kept_sent; age > kFresh) {
    return Break(promise, "the evidence is " +
                              std::to_string(std::chrono::duration_cast<Duration>(age).count()) +
                              " ms old");
  }
}

// Checks promise 1 for the first mark of a deletion.
void Judge::CheckSeries(const Exchange& exchange) {
  constexpr const char* kPromise = "1, the point of no return";
  const Plan& plan = world_.plan();
  const std::span<const SeenLook> looks = seen_.LooksBefore(exchange);
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
    const SeenLook& look = looks[i];
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
    completed |= look.completed;
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

// Checks promise 1 for who goes on with a deletion.
void Judge::CheckResumption(const Exchange& exchange) {
  constexpr const char* kPromise = "1, a resumption";
  const std::span<const SeenLook> looks = seen_.LooksBefore(exchange);
  const auto& roots = seen_.RecordBefore(exchange).roots;
  const auto found = std::find_if(roots.begin(), roots.end(), [&](const auto& seen) {
    return seen.second.uid == root_before_->uid && seen.second.phase == "deleting";
  });
  const bool is_own = begun_by_[root_before_->uid] == exchange.by->life;
  if (!is_own && (found == roots.end() || looks.back().first < found->first)) {
    return Break(kPromise, "without a look after the marks were found");
  }
  const auto taken_over = taken_over_at_.find({root_before_->uid, exchange.by->life});
  if (taken_over != taken_over_at_.end() && looks.back().kept_sent < taken_over->second + kFresh) {
    Break(kPromise, "the look began within 5 s of the taking over");
  }
}

// Checks promise 4 for a deletion that gets another watcher.
void Judge::CheckTakeOver(const Exchange& exchange) {
  ++counts_.taken_over;
  taken_over_at_[{root_before_->uid, exchange.by->life}] = timeline_.Now();
  const std::string& by = root_before_->condemned_by;
  const std::size_t slash = by.find('/');
  const ObjectPtr pod = world_.Get("", "pods", by.substr(0, slash));
  if (slash == by.npos || pod == nullptr || pod->uid != by.substr(slash + 1)) return;
  const auto phase = TextOf(Find(pod->body, "status", "phase"));
  if (phase == "Failed" || phase == "Succeeded") return;
  const Duration skew = world_.plan().skew;
  const Duration deadline =
      world_.plan().delete_deadline - kHoldSlack - (skew < Duration(0) ? -skew : skew);
  const auto since = TimeOf(root_before_->deleting_since);
  if (since && world_.clock().WallNow() >= *since + deadline) return;
  for (const auto& [number, seen] : seen_.RecordBefore(exchange).roots) {
    if (seen.condemned_by == by && timeline_.Now() - *(*exchanges_)[number].answered >= deadline) {
      return;
    }
  }
  Break("4, one watcher at a time", by + " runs, and its deletion isn't overdue");
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

// Checks promise 9 where a watcher passes the point of no return.
void Judge::CheckClaims(const std::string& root_uid) {
  const std::string why = drivers_.WhyNot(root_uid);
  if (!why.empty()) Break("9, a claim or the point of no return", why);
}

// Checks promise 4, and 1 as long as this process knows of no delete that was accepted.
void Judge::CheckRight(const Exchange& exchange) {
  constexpr const char* kPromise = "4, one watcher at a time";
  const Record& record = seen_.RecordBefore(exchange);
  const std::string& root_uid = root_of_[exchange.number];
  const SeenRoot* last = nullptr;
  MonotonicTime sent;
  for (const auto& [number, seen] : record.roots) {
    if (number > exchange.number) break;
    const bool is_it = seen.gone ? last != nullptr && seen.path == last->path
                                 : seen.uid == root_uid || seen.path == World::kRootPath;
    if (!is_it) continue;
    last = &seen;
    sent = (*exchanges_)[number].sent;
  }
  if (last == nullptr) return Break(kPromise, "the master root was never read");
  if (last->gone || last->uid != root_uid) return Break(kPromise, "the master root is gone");
  if (last->kept) return Break(kPromise, "the master root is annotated to be kept");
  if (last->phase != "deleting" || last->condemned_by != exchange.by->Me()) {
    return Break(kPromise, "the marks say: " + last->phase + " by " + last->condemned_by);
  }
  if (exchange.sent - sent > kFresh) return Break(kPromise, "the root was read too long ago");
  if (!exchange.by->as_planned || last->NamesOther()) return;
  const bool knows_of_delete = LastOf(exchange, [](const Exchange& one) {
    return one.Is(HttpMethod::kDelete) && one.answered && one.true_answer && one.status == 200;
  });
  if (knows_of_delete) return;
  CheckLastLook("1, the first deletes", exchange, root_uid);
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

bool Judge::IsToGo(const Object& object) const {
  const ObjectPtr root = world_.Root();
  const bool is_mounted = world_.plan().mounted_config && object.name == "spark-config";
  return object.controller_uid.empty() && IsLabelled(object) && !IsToBeKept(object) &&
         !is_mounted && !(root != nullptr && root->uid == object.uid) &&
         !truth_.HoldsSurvivor(object) && !MayHoldClaims(object);
}

// Whether it is a StatefulSet whose claims can't be told.
bool Judge::MayHoldClaims(const Object& object) const {
  return object.resource->kind == "StatefulSet" &&
         (IsAiling("statefulsets") || IsAiling("persistentvolumeclaims"));
}

std::uint64_t Judge::VersionAsSent(const Exchange& exchange) const {
  return world_.kubernetes().GetStore().VersionBefore(
      std::chrono::ceil<Duration>(timeline_.Now() - exchange.sent));
}

// Checks promise 5.
void Judge::CheckRootIsLast(const Exchange& exchange) {
  const Plan& plan = world_.plan();
  std::erase_if(to_be_named_, [&](const ToBeNamed& one) {
    return (*exchanges_)[one.number].by->life == exchange.by->life;
  });
  // What was created, or became a member, after the last listing doesn't count.
  if (exchange.by->life == last_life_to_delete_root_) return;
  last_life_to_delete_root_ = exchange.by->life;
  const ObjectPtr root = world_.Root();
  // A root deleted by somebody else doesn't wait for members that couldn't be listed.
  if (root == nullptr || root->deleting) return;
  const auto crossed = crossed_at_.find(root->uid);
  if (crossed == crossed_at_.end()) return;
  if (timeline_.Now() >= crossed->second + plan.delete_deadline - kDeadlineSlack) {
    return CheckWhatIsLeft(exchange);
  }
  for (const auto& [group, plural] : kMembers) {
    const std::string list = std::string("/") + plural + "?labelSelector=oshinko-cluster";
    const Exchange* asked = LastOf(exchange, [&](const Exchange& one) {
      return one.Is(HttpMethod::kGet) && Contains(one.request.target, list);
    });
    if (asked == nullptr || !IsMemberKind(plural)) continue;
    const std::uint64_t listed = VersionAsSent(*asked);
    for (const ObjectPtr& object : world_.All(group, plural)) {
      if (!IsToGo(*object) || object->version > listed) continue;
      return Break("5, the master root last",
                   std::string(plural) + " " + object->name + " is still there");
    }
  }
}

void Judge::NoteAbandoned(int life, const std::string& since) {
  if (const auto time = TimeOf(since)) abandoned_since_[life] = *time;
}

void Judge::CheckEvents() {
  // Whether who sent the exchange has said so since; true, too, if it has ended before it could.
  const auto is_said = [&](std::size_t number, const char* what, HttpMethod goes_on) {
    bool goes_on_since = false;
    for (const Exchange& one : *exchanges_) {
      if (one.by->life != (*exchanges_)[number].by->life || one.number <= number) continue;
      if (one.Is(HttpMethod::kPost) && Contains(one.request.body, what)) return true;
      goes_on_since |= one.Is(goes_on);
    }
    return !goes_on_since;
  };
  for (const auto& [number, what, why] : to_be_named_) {
    if (!is_said(number, why, HttpMethod::kPost)) {
      Break("5, what is left is named", what + ": nobody said that " + why);
    }
  }
  for (const std::size_t number : to_be_told_) {
    if (!is_said(number, "ClusterSpared", HttpMethod::kGet)) {
      Break("7, what is in use stays", "nobody said that a deletion had begun");
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
  // Until then anything may fail.
  if (timeline_.Now() < world_.plan().calm + world_.plan().delete_deadline) return;
  for (const auto& [group, plural] : kMembers) {
    const std::string list = std::string("/") + plural + "?labelSelector=oshinko-cluster";
    const Exchange* listed = LastOf(exchange, [&](const Exchange& one) {
      return one.Is(HttpMethod::kGet) && Contains(one.request.target, list);
    });
    if (listed == nullptr || !IsMemberKind(plural)) continue;
    if (!listed->answered || listed->status != 200 || !listed->true_answer) {
      to_be_named_.push_back({exchange.number, plural, "could not be listed"});
      continue;
    }
    const Body body(listed->answer);
    const Json* items = At(body.root(), "items");
    if (items == nullptr || !items->IsArray()) continue;
    for (const Json& item : items->GetArray()) {
      const Json* metadata = At(&item, "metadata");
      const std::string uid(TextAt(At(metadata, "uid")));
      const ObjectPtr object = world_.kubernetes().GetStore().FindUid(uid);
      if (object == nullptr || object->deleting || !IsToGo(*object) ||
          At(metadata, "deletionTimestamp") != nullptr ||
          At(metadata, "ownerReferences") != nullptr ||
          TextAt(At(metadata, "annotations", "cluster-watcher/keep")) == "true") {
        continue;
      }
      const bool sent = LastOf(exchange, [&](const Exchange& one) {
        return one.Is(HttpMethod::kDelete) && Contains(one.request.body, uid);
      });
      // What must survive holds back what would take it along.
      const std::string name = std::string(plural) + " " + object->name;
      if (!sent) to_be_named_.push_back({exchange.number, name, "would go with it"});
    }
  }
}

bool Judge::IsAiling(std::string_view plural) const {
  return world_.plan().ailing != nullptr && plural == world_.plan().ailing;
}

// Checks promise 5 where people are told that the cluster is deleted.
void Judge::CheckSaidDeleted(const Exchange& exchange) {
  ++counts_.said_deleted;
  const Plan& plan = world_.plan();
  const auto skew = plan.skew;
  const WallTime settled =
      world_.clock().WallNow() - kHoldSlack - (skew < Duration(0) ? -skew : skew);
  // A pod that somebody made after the last listing is of the next cluster.
  const Exchange* asked = LastOf(exchange, [](const Exchange& one) {
    return one.Is(HttpMethod::kGet) &&
           Contains(one.request.target, "/pods?labelSelector=oshinko-cluster");
  });
  const auto& store = world_.kubernetes().GetStore();
  const std::uint64_t listed =
      asked == nullptr ? small_kubernetes::Store::kNow : VersionAsSent(*asked);
  for (const ObjectPtr& pod : world_.All("", "pods")) {
    const ObjectPtr before = store.Get(*pod->resource, pod->ns, pod->name, listed);
    if (before == nullptr || before->uid != pod->uid) continue;
    const auto phase = TextOf(Find(pod->body, "status", "phase"));
    const auto created =
        TimeOf(std::string(TextOf(Find(pod->body, "metadata", "creationTimestamp"))));
    // What is below a controller that can't be told to be the cluster's is left, and named.
    bool stays = IsToBeKept(*pod) || Contains(exchange.request.body, "left: pod/" + pod->name);
    for (ObjectPtr above = pod; above != nullptr && !stays;) {
      stays = IsToBeKept(*above) || truth_.HoldsSurvivor(*above) || MayHoldClaims(*above);
      above = world_.kubernetes().GetStore().FindUid(above->controller_uid);
    }
    if (stays || !IsLabelled(*pod) || phase == "Failed" || phase == "Succeeded" ||
        pod->uid == exchange.by->pod_uid || (created && *created > settled)) {
      continue;
    }
    return Break("5, deleted means gone", "the pod " + pod->name + " is there");
  }
}

void Judge::Sent(const Exchange& exchange) {
  if (!broken_.empty()) return;
  if (exchange.Is(HttpMethod::kPost) &&
      Contains(exchange.request.body, R"("reason":"ClusterDeleted")") &&
      !exchange.by->orders.dry_run) {
    CheckSaidDeleted(exchange);
  }
  const bool is_delete = exchange.Is(HttpMethod::kDelete);
  if (is_delete && IsDryRun(exchange.request.body)) return;
  const bool writes = is_delete || exchange.Is(HttpMethod::kPatch);
  if (writes && exchange.by->orders.dry_run) {
    return Break("2, nothing else is deleted", "a dry run writes " + exchange.request.target);
  }
  if (!is_delete) return;
  const Body body(exchange.request.body);
  const std::string uid(TextAt(At(body.root(), "preconditions", "uid")));
  ++counts_.sent;
  if (TextAt(At(body.root(), "propagationPolicy")) == "Orphan") {
    return Break("2, nothing else is deleted", "with Orphan: " + exchange.request.target);
  }
  for (const auto& [number, seen] : seen_.RecordBefore(exchange).roots) {
    if (!seen.uid.empty() && !seen.controlled && !seen.phase.empty()) {
      root_of_[exchange.number] = seen.uid;
    }
  }
  CheckUid(exchange, uid);
  CheckRight(exchange);
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
  bereft_.insert(root_of_[exchange.number]);
  // The claims that the cluster's set has made don't carry its label.
  const bool is_of_set =
      path->plural == "persistentvolumeclaims" && path->name.starts_with("data-spark-w-");
  if (!is_of_set && !IsLabelled(*before_)) {
    return Break(kPromise, target + " doesn't belong to the cluster");
  }
  if (!before_->controller_uid.empty()) {
    const ObjectPtr above = world_.kubernetes().GetStore().FindUid(before_->controller_uid);
    if (above != nullptr && !IsLabelled(*above)) {
      return Break(kPromise, target + " is below something that is not the cluster's");
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

// Checks promise 2 for any other write that took effect.
void Judge::CheckWrite(const Exchange& exchange) {
  const ObjectPtr now = world_.kubernetes().GetStore().FindUid(before_->uid);
  if (now == nullptr) return;
  const auto owners = OwnersOf(*before_);
  const auto left = OwnersOf(*now);
  const bool adds = !std::includes(owners.begin(), owners.end(), left.begin(), left.end());
  const bool is_claim = now->resource->kind == "PersistentVolumeClaim";
  if (adds || (left != owners && !is_claim)) {
    Break("2, nothing else is deleted", now->name + " has other ownerReferences now");
  }
  if (Contains(exchange.request.body, R"("cluster-watcher/collect-after":")") &&
      !truth_.HasDeleted(exchange)) {
    Break("2, nothing else is deleted", now->name + " is marked before anything is deleted");
  }
}

void Judge::CheckMarks(const Exchange& exchange, const SeenRoot& after) {
  const SeenRoot& before = *root_before_;
  if (after.phase == "condemned" && before.phase != "condemned") ++counts_.condemned;
  if (after.phase.empty() && !before.phase.empty()) ++counts_.spared;
  if (after.phase.empty() && before.phase == "deleting") {
    const auto& roots = seen_.RecordBefore(exchange).roots;
    const bool is_own = before.condemned_by == exchange.by->Me();
    if (is_own && !roots.empty() && roots.front().second.phase == "deleting") {
      to_be_told_.push_back(exchange.number);
    }
  }
  // Whoever writes no phase builds on what is there, which may be another's.
  Marked& marked = marked_[after.uid];
  const Marked marked_before = marked;
  const bool is_true = marked_before == Marked::Of(before);
  if (Contains(exchange.request.body, "\"cluster-watcher/phase\"") || is_true) {
    marked = Marked::Of(after);
  }
  const bool writes_deleting = Contains(exchange.request.body, kWritesDeleting);
  if (after.phase == "deleting" && before.phase == "deleting" &&
      after.condemned_by != before.condemned_by && !writes_deleting) {
    return CheckTakeOver(exchange);
  }
  if (!writes_deleting) return;
  const bool is_first = before.phase != "deleting";
  ++(is_first ? counts_.crossed : counts_.resumed);
  if (is_first || begun_by_[after.uid] != exchange.by->life)
    crossed_at_[after.uid] = timeline_.Now();
  CheckClaims(after.uid);
  // A watcher of another rollout reads another driver, as does that of a cluster which another
  // application has claimed: what it does is judged by the truth alone.
  if (!exchange.by->as_planned || before.NamesOther()) return;
  CheckLastLook("1, the point of no return", exchange, before.uid);
  if (!broken_.empty()) return;
  const SeenRoot& seen = *seen_.LooksBefore(exchange).back().root;
  if (seen.content != before.content || seen.deleting != before.deleting) {
    return Break("1, the point of no return",
                 "more than the root's status was written since the last look, from " +
                     seen.resource_version + " to " + before.resource_version);
  }
  // Others have written that it is condemned, or by whom. Whoever is named goes on from there.
  if (!is_true) return;
  if (is_first) {
    CheckSeries(exchange);
  } else {
    CheckResumption(exchange);
  }
  begun_by_[after.uid] = exchange.by->life;
}

void Judge::Handled(const Exchange& exchange, int status) {
  if (!broken_.empty() || before_ == nullptr || status < 200 || status > 299) return;
  if (exchange.Is(HttpMethod::kDelete)) {
    if (IsDryRun(exchange.request.body)) return;
    const std::string& root = root_of_[exchange.number];
    if (!truth_.HasBegun(exchange, root)) CheckClaims(root);
    CheckTarget(exchange);
    if (!untrue_.empty()) Break("8, what is kept loses nothing", untrue_);
    return truth_.NoteDeleted(exchange, root);
  }
  CheckWrite(exchange);
  if (!root_before_) return;
  const ObjectPtr now = ObjectAt(world_, exchange.request.target);
  if (now == nullptr) return;
  const Body body(now->Json());
  CheckMarks(exchange, SeenRoot::Read(body.root()));
}

}  // namespace cluster_watcher::simulation
