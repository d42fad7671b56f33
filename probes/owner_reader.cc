#include "probes/owner_reader.h"

#include <map>
#include <string_view>
#include <utility>

#include "probes/kube/pod_state.h"

namespace cluster_watcher {
namespace {

constexpr char kPodPrefix[] = "pod/";

const ResourceType& PodType() { return *FindBuiltInByName("pods", ""); }

Unexpected<ApiError> CantFollow(const std::string& pod, const std::string& why) {
  return {ApiError{ApiFailure::kUnexpected, "the controllers of " + pod + " can't be told: " + why,
                   std::nullopt}};
}

// Whether a workload makes objects of this kind.
bool IsMade(const ResourceType& type) {
  return type == PodType() || type.kind == "ReplicaSet" || type.kind == "ReplicationController" ||
         type.kind == "Job";
}

// An object that is made is named after its maker. The API server cuts the name from which it
// generates another. Source: k8s.io/apiserver/pkg/storage/names.
bool IsNamedAfter(const std::string& name, const std::string& maker) {
  constexpr std::size_t kLongestBase = 58;
  return name.starts_with((maker + "-").substr(0, kLongestBase));
}

// Whether `meta` belongs to nobody and may have been made by `owner`.
bool IsNobodys(const ObjectMeta& meta, const OwnerOfPods& owner) {
  return meta.owner_references().empty() && IsNamedAfter(meta.name, owner.name);
}

bool IsJob(const OwnerReference& reference) {
  return reference.kind == "Job" && reference.api_version.starts_with("batch/");
}

// Whether `owner` is going, and has let go of what it has made.
bool IsLeftBehind(const ObjectMeta& meta, const OwnerOfPods& owner) {
  return owner.is_going && IsNobodys(meta, owner);
}

}  // namespace

// Climbs from pods that run to the owner, level by level.
class OwnerReader::Climb {
 public:
  // By apiVersion and kind: the UIDs of controllers, and one of the pods below each.
  using Level = std::map<std::pair<std::string, std::string>, std::map<std::string, std::string>>;

  // `selected`: its selector has found the pods, which carry the cluster's label. They are the
  // owner's unless a root of the cluster is above them.
  Climb(const OwnerOfPods& owner, const ClusterOfPods& but, bool selected)
      : owner_(owner), but_(but), selected_(selected) {}

  // Returns whether `pod` is the owner's by `meta`, which is the pod or above it.
  bool IsOfOwner(const ResourceType& type, const ObjectMeta& meta, const std::string& pod) {
    if (meta.uid == but_.root_uid) return false;
    // Some operators write ownerReferences that aren't a controller's.
    if (!owner_.uid.empty() && meta.IsOwnedBy(owner_.uid)) return true;
    if (const OwnerReference* controller = meta.Controller()) {
      if (controller->uid == but_.root_uid) return false;
      next_[{controller->api_version, controller->kind}].emplace(controller->uid, pod);
      return false;
    }
    if (!selected_) return false;
    return !but_.Owns(meta) || (IsMade(type) && IsLeftBehind(meta, owner_));
  }
  // Whether what objects of this kind control doesn't count.
  bool EndsAt(const ResourceType& type) const { return type.kind == owner_.pods_not_below; }
  // Returns whether a pod is the owner's of which the controller is gone.
  bool IsOfOwnerWithoutController() const { return selected_; }

  Level TakeLevel() { return std::exchange(next_, {}); }

 private:
  const OwnerOfPods& owner_;
  const ClusterOfPods& but_;
  const bool selected_;
  Level next_;
};

bool WantsToRun(const OwnerFields& fields) { return fields.replicas > 0 && !fields.completed; }

Result<OwnerFields, ApiError> OwnerReader::Read(const KubeObject& object, JsonValue item,
                                                Freshness freshness, const Patience& patience,
                                                RolloutsByUid* known) {
  auto counts = DoesStatusCount(object, item, patience);
  if (!counts) return Unexpected{std::move(counts).error()};
  auto read = ReadOwnerFields(object.type, item, *counts);
  if (!read) {
    return Unexpected{ApiError{ApiFailure::kUnexpected,
                               object.Describe() + ": can't be judged: " + read.error().message,
                               std::nullopt}};
  }
  if (read->replicas == 0 && freshness == Freshness::kConsistent) {
    auto comes_back = MayComeBack(object, known, patience);
    if (!comes_back) return Unexpected{std::move(comes_back).error()};
    if (*comes_back) read->replicas = 1;
  }
  return *std::move(read);
}

// Source: kubernetes.io "Custom Resources", status subresource.
Result<bool, ApiError> OwnerReader::DoesStatusCount(const KubeObject& object, JsonValue item,
                                                    const Patience& patience) {
  if (!IsStatusBehind(item)) return true;
  if (Discovery::IsAlwaysServed(object.type->group)) return false;
  auto offer = discovery_.OfferOf(object.type, patience);
  if (!offer) return Unexpected{std::move(offer).error()};
  return *offer && !(*offer)->has_status;
}

Result<bool, ApiError> OwnerReader::AnyObject(const ApiRequest& list, const IsIt& is_it,
                                              const Patience& patience) {
  std::optional<ApiError> problem;
  auto found = client_.AnyItem(
      list,
      [&](JsonValue item) {
        auto meta = ReadObjectMeta(item);
        auto answer = meta ? is_it(*meta, item)
                           : Unexpected{ApiError{
                                 ApiFailure::kUnexpected,
                                 "list " + list.type.QualifiedName() + ": " + meta.error().message,
                                 std::nullopt}};
        if (answer) return *answer;
        problem = std::move(answer).error();
        return true;
      },
      patience);
  if (problem) return Unexpected{*std::move(problem)};
  return found;
}

Result<std::string, ApiError> OwnerReader::FindRunning(const OwnerOfPods& owner,
                                                       const ClusterOfPods& but,
                                                       const Patience& patience) {
  auto found = FindFirst(owner, but, patience);
  if (!found || found->empty() || !but.has_completed || but.HasCaller()) return found;
  ClusterOfPods but_one = but;
  but_one.caller = found->substr(std::string_view(kPodPrefix).size());
  return FindFirst(owner, but_one, patience);
}

Result<std::string, ApiError> OwnerReader::FindMaker(const std::string& ns, const std::string& pod,
                                                     const ClusterOfPods& but,
                                                     const Patience& patience) {
  std::string maker;
  for (const ResourceType& known : OwnerTypes()) {
    // What makes runs controls no pod itself.
    if (known == PodType() || RunsOf(known) != nullptr) continue;
    auto type = discovery_.Resolve(known, patience);
    if (!type) return Unexpected{std::move(type).error()};
    if (!*type) continue;
    auto found = AnyObject(
        ApiRequest::List(**type, ns),
        [&](const ObjectMeta& meta, JsonValue item) -> Result<bool, ApiError> {
          const bool is_clusters = but.Owns(meta) || meta.uid == but.root_uid;
          if (is_clusters || !IsNamedAfter(pod, meta.name)) return false;
          const KubeObject object{**type, meta};
          auto fields = Read(object, item, Freshness::kConsistent, patience);
          if (!fields) return Unexpected{std::move(fields).error()};
          if (!WantsToRun(*fields)) return false;
          maker = object.Describe();
          return true;
        },
        patience);
    if (!found) return Unexpected{std::move(found).error()};
    if (*found) break;
  }
  return maker;
}

Result<std::string, ApiError> OwnerReader::FindFirst(const OwnerOfPods& owner,
                                                     const ClusterOfPods& but,
                                                     const Patience& patience) {
  if (!owner.pod_selector.empty()) {
    auto pod = FindPod(owner, but, patience);
    if (!pod || !pod->empty()) return pod;
  }
  if (RunsOf(owner.type) != nullptr) return FindRun(owner, but, patience);
  // All pods that a workload controls match its selector.
  const bool selector_finds_all = IsWorkload(owner.type) && !owner.pod_selector.empty();
  if (owner.type == PodType() || selector_finds_all) return std::string();
  return FindPodByControllers(owner, but, patience);
}

Result<std::string, ApiError> OwnerReader::FindPod(const OwnerOfPods& owner,
                                                   const ClusterOfPods& but,
                                                   const Patience& patience) {
  std::string running;
  Climb climb(owner, but, true);
  auto found = AnyObject(
      ApiRequest::ListBySelector(PodType(), owner.ns, owner.pod_selector, false),
      [&](const ObjectMeta& meta, JsonValue pod) -> Result<bool, ApiError> {
        if (!RunsSomething(owner.type, meta, pod) || but.IsCaller(meta)) return false;
        const std::string name = kPodPrefix + meta.name;
        if (but.Owns(meta) && !climb.IsOfOwner(PodType(), meta, name)) return false;
        running = name;
        return true;
      },
      patience);
  if (!found) return Unexpected{std::move(found).error()};
  return *found ? Result<std::string, ApiError>(running) : GoUp(climb, owner.ns, patience);
}

Result<std::string, ApiError> OwnerReader::FindRun(const OwnerOfPods& owner,
                                                   const ClusterOfPods& but,
                                                   const Patience& patience) {
  auto type = discovery_.Resolve(*RunsOf(owner.type), patience);
  if (!type) return Unexpected{std::move(type).error()};
  std::string running;
  if (!*type) return running;
  Runs runs;
  auto found = AnyObject(
      ApiRequest::List(**type, owner.ns),
      [&](const ObjectMeta& meta, JsonValue item) -> Result<bool, ApiError> {
        bool& is_of_owner = runs[meta.uid];
        const bool owned = !owner.uid.empty() && meta.IsOwnedBy(owner.uid);
        if (!owned && !IsLeftBehind(meta, owner)) return false;
        const OwnerReference* const controller = meta.Controller();
        const bool controlled = controller != nullptr && controller->uid == owner.uid;
        is_of_owner = controlled || !but.Owns(meta);
        if (meta.deleting || but.has_completed) return false;
        const KubeObject run{**type, meta};
        auto fields = Read(run, item, Freshness::kConsistent, patience);
        if (!fields) return Unexpected{std::move(fields).error()};
        if (!WantsToRun(*fields)) return false;
        running = run.Describe();
        return true;
      },
      patience);
  if (!found) return Unexpected{std::move(found).error()};
  if (!running.empty()) return running;
  return (*type)->kind == "Job" ? FindPodOfRuns(owner, runs, but, patience)
                                : FindPodByControllers(owner, but, patience);
}

// A Job that somebody's finalizer holds, that was deleted with --cascade=orphan, or whose pods the
// garbage collector has yet to delete, has pods that run on. Source: kubernetes.io "Well-Known
// Labels", job-name.
Result<std::string, ApiError> OwnerReader::FindPodOfRuns(const OwnerOfPods& owner, const Runs& runs,
                                                         const ClusterOfPods& but,
                                                         const Patience& patience) {
  std::string running;
  auto found = AnyObject(
      ApiRequest::ListUnendedPods(owner.ns, "job-name"),
      [&](const ObjectMeta& meta, JsonValue pod) -> Result<bool, ApiError> {
        const bool counts = RunsSomething(owner.type, meta, pod) && !but.IsCaller(meta);
        if (!counts || meta.uid == but.root_uid) return false;
        const OwnerReference* const run = meta.Controller();
        bool is_of_owner;
        if (run == nullptr) {
          is_of_owner = but.Owns(meta) ? IsLeftBehind(meta, owner) : IsNobodys(meta, owner);
        } else if (const auto listed = runs.find(run->uid); listed != runs.end()) {
          is_of_owner = listed->second;
        } else {
          is_of_owner = IsJob(*run) && !but.Owns(meta) && IsNamedAfter(run->name, owner.name);
        }
        if (!is_of_owner) return false;
        running = kPodPrefix + meta.name;
        return true;
      },
      patience);
  if (!found) return Unexpected{std::move(found).error()};
  return running;
}

Result<std::string, ApiError> OwnerReader::FindPodByControllers(const OwnerOfPods& owner,
                                                                const ClusterOfPods& but,
                                                                const Patience& patience) {
  std::string running;
  if (owner.uid.empty()) return running;
  Climb climb(owner, but, false);
  auto found = AnyObject(
      ApiRequest::ListUnendedPods(owner.ns, "", !LooksIntoPods(owner.type)),
      [&](const ObjectMeta& meta, JsonValue pod) -> Result<bool, ApiError> {
        const std::string name = kPodPrefix + meta.name;
        const bool counts = RunsSomething(owner.type, meta, pod) && !but.IsCaller(meta);
        if (!counts || !climb.IsOfOwner(PodType(), meta, name)) return false;
        running = name;
        return true;
      },
      patience);
  if (!found) return Unexpected{std::move(found).error()};
  return *found ? Result<std::string, ApiError>(running) : GoUp(climb, owner.ns, patience);
}

// Listing the controllers of a kind takes fewer requests than getting each of them, and takes none
// of a pod's that thousands of pods share.
Result<std::string, ApiError> OwnerReader::GoUp(Climb& climb, const std::string& ns,
                                                const Patience& patience) {
  Climb::Level level = climb.TakeLevel();
  for (int i = 0; !level.empty(); ++i) {
    if (i == kLongestOwnerChain) {
      return CantFollow(level.begin()->second.begin()->second, "they have no end");
    }
    for (auto& at_level : level) {
      const auto& kind = at_level.first;
      auto& controllers = at_level.second;  // clang 14 captures no structured binding
      auto type = discovery_.ByKind(kind.first, kind.second, patience);
      if (!type) return Unexpected{std::move(type).error()};
      if (!*type) return CantFollow(controllers.begin()->second, kind.second + " is not served");
      // Nothing in a namespace can be controlled by what is in none.
      if (!(*type)->namespaced || climb.EndsAt(**type)) continue;
      std::string running;
      auto found = AnyObject(
          ApiRequest::ListMetadata(**type, ns),
          [&](const ObjectMeta& meta, JsonValue) -> Result<bool, ApiError> {
            const auto below = controllers.extract(meta.uid);
            if (below.empty() || !climb.IsOfOwner(**type, meta, below.mapped())) return false;
            running = below.mapped();
            return true;
          },
          patience);
      if (!found) return Unexpected{std::move(found).error()};
      if (*found) return running;
      if (!controllers.empty() && climb.IsOfOwnerWithoutController()) {
        return controllers.begin()->second;
      }
    }
    level = climb.TakeLevel();
  }
  return std::string();
}

}  // namespace cluster_watcher
