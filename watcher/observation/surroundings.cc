#include "watcher/observation/surroundings.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "probes/kube/pod_state.h"
#include "probes/owner_kinds.h"
#include "probes/watcher_container.h"
#include "watcher/observation/changed_settings.h"
#include "watcher/observation/member_kinds.h"
#include "watcher/observation/misplaced_settings.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

const ResourceType& Pods() { return *FindBuiltInByName("pods", ""); }
const ResourceType& Namespaces() { return *FindBuiltInByName("namespaces", ""); }

}  // namespace

SurroundingsReader::SurroundingsReader(KubeClient& client, Discovery& discovery,
                                       SettingsInForce& settings)
    : client_(client), discovery_(discovery), settings_(settings), probe_(client, discovery) {}

std::vector<ApiRequest> SurroundingsReader::PodAndNamespaceRequests() const {
  const Settings& settings = *settings_;
  std::vector<ApiRequest> requests = {ApiRequest::GetMetadata(Namespaces(), "", settings.ns)};
  if (!settings.pod.empty()) {
    requests.push_back(ApiRequest::Get(Pods(), settings.ns, settings.pod));
  }
  return requests;
}

std::vector<ApiRequest> SurroundingsReader::Requests(const Patience& patience) {
  std::vector<ApiRequest> requests = PodAndNamespaceRequests();
  requests.push_back(ApiRequest::Get(root_->type, root_->meta.ns(), root_->meta.name));
  if (const auto types = MakerTypes(patience)) {
    for (ApiRequest& list :
         probe_.MakerRequests(*types, *cluster_, RootResource(*cluster_), patience)) {
      requests.push_back(std::move(list));
    }
  }
  return requests;
}

// Members that stand for what runs pods, such as a RayCluster.
Result<std::vector<ResourceType>, ApiError> SurroundingsReader::MakerTypes(
    const Patience& patience) {
  std::vector<ResourceType> types(WorkloadTypes().begin(), WorkloadTypes().end());
  auto members = NamedMemberTypes(*settings_, discovery_, patience);
  if (!members) return members;
  std::copy_if(members->begin(), members->end(), std::back_inserter(types),
               [](const ResourceType& type) { return CanBeMaster(type) && !IsWorkload(type); });
  return types;
}

Surroundings SurroundingsReader::Read(Snapshot& snapshot, const Patience& patience) {
  Surroundings around;
  ReadPod(around, snapshot, patience);
  if (!snapshot.GoesOn()) return around;
  if (snapshot.cluster) cluster_ = snapshot.cluster;
  ReadRoot(around, snapshot, patience);
  return around;
}

void SurroundingsReader::ReadPod(Surroundings& around, Snapshot& snapshot,
                                 const Patience& patience) {
  const Settings& settings = *settings_;
  pod_.reset();
  namespace_.reset();
  auto answers = client_.DoAll(PodAndNamespaceRequests(), kReadsSideBySide, patience);
  if (answers[0]) {
    snapshot.facts.server_time = answers[0]->server_time;
    if (auto meta = ReadObjectMeta(answers[0]->document.root())) {
      namespace_ = *std::move(meta);
      around.ns = namespace_;
    }
  } else if (answers[0].error().failure != ApiFailure::kForbidden) {
    NoteProblem(snapshot, answers[0].error());
  }
  if (settings.pod.empty()) return FindMaster(around, snapshot, patience);
  if (!answers[1]) {
    if (answers[1].error().failure == ApiFailure::kNotFound) snapshot.missing = Missing::kPod;
    return NoteProblem(snapshot, answers[1].error());
  }
  snapshot.facts.server_time = answers[1]->server_time;
  TakePod(snapshot, answers[1]->document.root());
  if (snapshot.pod) pod_ = snapshot.pod->meta;
}

void SurroundingsReader::TakePod(Snapshot& snapshot, JsonValue pod) {
  auto meta = ReadObjectMeta(pod);
  if (!meta) return NoteProblem(snapshot, {ApiFailure::kUnexpected, meta.error().message, {}});
  const bool is_new = pod_uid_ != meta->uid;
  // Outside of pods the next one speaks when the last has ended.
  if (is_new && !pod_uid_.empty() && !settings_->pod.empty()) {
    snapshot.missing = Missing::kPod;
    return;
  }
  TextMap annotations = meta->annotations();
  if (settings_->pod.empty() || asks_for_people_) {
    snapshot.facts.unseen = AddSettingsOfWatcher(pod, annotations);
  }
  if (is_new) {
    settings_.TakeAnnotations(annotations);
    settings_at_start_ = annotations;
  }
  pod_uid_ = meta->uid;
  auto& errors = snapshot.facts.setting_errors;
  // A misspelt hold may have been added since the start.
  errors = settings_.ErrorsIn(annotations);
  if (const std::string& wrong = settings_.resolved().rows_error; !wrong.empty()) {
    errors.push_back(wrong);
  }
  std::ranges::move(ChangedSettings(settings_at_start_, annotations), std::back_inserter(errors));
  ReadSteps(*meta, snapshot.pod_says.steps, errors);
  if (auto error = DeleteOrderError(*meta)) errors.push_back(*std::move(error));
  TakeCluster(snapshot, *meta);
  snapshot.pod_says.mounted = MountedBy(pod);
  snapshot.pod_says.orders = ReadWatcherOrders(pod);
  snapshot.pod_says.watcher = WaitsForItsWatcher(pod) ? WatcherInPod::kBlocksIt
                              : IsWatched(pod)        ? WatcherInPod::kRuns
                                                      : WatcherInPod::kNone;
  snapshot.pod = KubeObject{Pods(), *std::move(meta)};
}

void SurroundingsReader::TakeCluster(Snapshot& snapshot, const ObjectMeta& pod) {
  const Settings& settings = *settings_;
  auto& errors = snapshot.facts.setting_errors;
  auto profile = settings.words ? settings.words : settings.profiles->OfMaster(pod);
  if (!profile) {
    errors.push_back(profile.error().message);
    return;
  }
  const std::string& label = (*profile)->cluster_label;
  const std::string name =
      settings.cluster.empty() ? pod.Label(label).value_or("") : settings.cluster;
  if (name.empty()) {
    // Its label may be that of a row that can't be read.
    if (!settings_.resolved().rows_error.empty()) return;
    errors.push_back("the pod " + pod.name + " has no label " + label +
                     ": label it, or give --cluster");
    return;
  }
  snapshot.cluster = ClusterId{settings.ns, *profile, name};
  if (!snapshot.cluster->Owns(pod) && pod.Controller() != nullptr) {
    errors.push_back("the pod " + pod.name + " isn't labelled " + snapshot.cluster->Selector() +
                     ": label its template, for by that the root's other pods are found");
  }
}

// Outside of a pod the look starts from the cluster's own master.
void SurroundingsReader::FindMaster(Surroundings& around, Snapshot& snapshot,
                                    const Patience& patience) {
  const Settings& settings = *settings_;
  const ClusterId cluster{settings.ns, settings.Words(), settings.cluster};
  List(around, cluster, snapshot, patience);
  if (!around.makers) return;
  // A kind that may not be listed may be the master's.
  if (!root_ && around.makers->masters.empty() && !around.makers->skipped.empty()) {
    return NoteProblem(snapshot, around.makers->skipped.front().second);
  }
  if (around.makers->objects.empty() && !root_) {
    if (snapshot.facts.problem.empty()) snapshot.missing = Missing::kCluster;
    return;
  }
  snapshot.cluster = cluster;
  if (!root_) FindRoot(*around.makers, snapshot, patience);
  if (!root_) return;
  Sort(around, *root_, snapshot, patience);
  FindPodThatSpeaks(around, snapshot, patience);
}

// Others that there are make the cluster ambiguous.
void SurroundingsReader::FindRoot(const ClusterListing& makers, Snapshot& snapshot,
                                  const Patience& patience) {
  const KubeObject* master = nullptr;
  for (const KubeObject& object : makers.objects) {
    if (!makers.masters.contains(object.meta.uid) || object.meta.deleting) continue;
    if (master == nullptr || object.type == Pods()) master = &object;
  }
  if (master == nullptr) {
    const std::string why = "the cluster " + snapshot.cluster->name +
                            " has no master: nothing of it is labelled " +
                            snapshot.cluster->profile->master.ToText() +
                            ", asks for a watcher or has one, nor makes pods that do";
    return NoteProblem(snapshot, {ApiFailure::kUnexpected, why, {}});
  }
  auto root = probe_.RootOf(*master, *snapshot.cluster, makers.objects, patience);
  if (!root) return NoteProblem(snapshot, root.error());
  root_ = *std::move(root);
}

void SurroundingsReader::FindPodThatSpeaks(const Surroundings& around, Snapshot& snapshot,
                                           const Patience& patience) {
  std::vector<const KubeObject*> pods;
  for (const KubeObject& pod : around.master_pods) pods.push_back(&pod);
  std::sort(pods.begin(), pods.end(), [](const KubeObject* one, const KubeObject* other) {
    return std::pair(one->meta.created, one->meta.name) >
           std::pair(other->meta.created, other->meta.name);
  });
  const std::optional<ClusterId> cluster = snapshot.cluster;
  for (const KubeObject* pod : pods) {
    auto read = client_.Do(ApiRequest::Get(Pods(), cluster->ns, pod->meta.name), patience);
    if (!read && read.error().failure == ApiFailure::kNotFound) continue;
    if (!read) return NoteProblem(snapshot, read.error());
    if (!IsRunning(read->document.root())) continue;
    TakePod(snapshot, read->document.root());
    snapshot.cluster = cluster;
    return;
  }
}

// Finds the root of our pod: the custom resource that is called like the cluster goes before what
// ownerReferences say, which KubeRay doesn't write on a pod that it takes over.
Result<KubeObject, ApiError> SurroundingsReader::WalkToRoot(const Snapshot& snapshot,
                                                            const Patience& patience,
                                                            JsonDocument& whole) {
  auto resource = probe_.ResourceOf(*snapshot.cluster, patience, &whole);
  if (!resource) return Unexpected{std::move(resource).error()};
  return probe_.RootOf(*resource ? **resource : *snapshot.pod, *snapshot.cluster, {}, patience,
                       &whole);
}

void SurroundingsReader::ReadRoot(Surroundings& around, Snapshot& snapshot,
                                  const Patience& patience) {
  if (!snapshot.cluster || (!snapshot.pod && !root_)) return;
  std::optional<KubeObject> root;
  if (root_) {
    MasterRoot known(client_, *root_);
    const RootState state = known.ReadWhole(patience);
    if (!snapshot.facts.server_time) snapshot.facts.server_time = known.server_time();
    if (state == RootState::kUnknown) return NoteProblem(snapshot, known.problem());
    // A terminating root stays it. An orphaned ReplicaSet is adopted when its Deployment is created
    // again; a RayJob above may get an owner.
    Result<bool, ApiError> is_still_root = state == RootState::kTerminating;
    if (state == RootState::kOurs) {
      is_still_root = probe_.IsStillRoot(known.object(), *snapshot.cluster, patience);
    }
    if (!is_still_root) return NoteProblem(snapshot, is_still_root.error());
    if (*is_still_root) {
      root = known.object();
      TakeTemplate(around, snapshot, *root, known.whole());
    } else {
      snapshot.root_changed = true;
      root_.reset();
    }
  }
  if (!root) {
    if (!snapshot.pod) return;
    JsonDocument whole;
    auto walked = WalkToRoot(snapshot, patience, whole);
    if (!walked) return NoteProblem(snapshot, walked.error());
    root = *std::move(walked);
    TakeTemplate(around, snapshot, *root, whole.root());
  }
  root_ = root;
  TakeRoot(snapshot, *std::move(root));
  TakeSettings(around, snapshot);
}

// A framework's custom resource has settings too, which go before those of the pods that its
// operator makes: people can change them there. The owner is compared instead (rule 2).
void SurroundingsReader::TakeSettings(const Surroundings& around, Snapshot& snapshot) {
  if (!snapshot.cluster->IsFrameworks(*snapshot.root)) {
    if (!around.pods_to_come) return;
    return AddMisplacedSettings(*snapshot.root, around.pods_to_come->annotations,
                                snapshot.facts.setting_errors);
  }
  TextMap settings = settings_at_start_;
  if (around.pods_to_come && !snapshot.pod) settings = around.pods_to_come->settings;
  if (around.pods_to_come && snapshot.cluster->profile->inherits) {
    TakeWhatIsCopied(*around.pods_to_come, snapshot, settings);
  }
  AddSettingsOfRoot(snapshot, settings);
  settings_.TakeAnnotations(settings);
}

// The pods may have the owner and the steps as old copies of the root's: these are taken as they
// are now. Another setting of the pods may be the injection's own default.
void SurroundingsReader::TakeWhatIsCopied(const PodsToCome& now, Snapshot& snapshot,
                                          TextMap& settings) {
  TextMap owner;
  for (const char* name : kOwnerSettings) {
    const std::string key = std::string(annotation::kPrefix) + name;
    settings.erase(key);
    const auto one = now.settings.find(key);
    if (one != now.settings.end()) owner.insert(*one);
  }
  auto& errors = snapshot.facts.setting_errors;
  for (std::string& error : settings_.ErrorsIn(owner)) errors.push_back(std::move(error));
  settings.merge(owner);
  ObjectMeta template_now;
  template_now.name = snapshot.root->meta.name;
  template_now.common.Edit().annotations = now.annotations;
  snapshot.pod_says.steps = {};
  ReadSteps(template_now, snapshot.pod_says.steps, errors);
}

void SurroundingsReader::AddSettingsOfRoot(Snapshot& snapshot, TextMap& settings) {
  TextMap of_root;
  for (const auto& [key, value] : snapshot.root->meta.annotations()) {
    if (!key.starts_with(annotation::kPrefix)) continue;
    of_root.emplace(key, value);
    // Which cluster it is, its name says.
    const std::string_view name =
        std::string_view(key).substr(std::string_view(annotation::kPrefix).size());
    const bool is_cluster = name.starts_with("cluster") || name == "profile";
    if (key != annotation::kOwner && !is_cluster) settings[key] = value;
  }
  for (std::string& error : settings_.ErrorsIn(of_root)) {
    snapshot.facts.setting_errors.push_back(snapshot.root->Describe() + ": " + error);
  }
}

// Where no pod speaks the template does: none can be made, or its root is scaled to 0.
void SurroundingsReader::TakeTemplate(Surroundings& around, Snapshot& snapshot,
                                      const KubeObject& object, JsonValue root) {
  const ClusterId& cluster = *snapshot.cluster;
  JsonDocument made;
  const JsonValue pods = MasterTemplateOf(cluster, object, root, made);
  if (!pods.IsObject()) return;
  PodsToCome to_come{ReadWatcherOrders(pods), {}, {}, PodTemplateText(pods), true};
  pods["metadata"]["annotations"].ForEachMember([&](std::string_view key, JsonValue value) {
    if (auto text = value.AsString()) to_come.annotations.emplace(key, *text);
  });
  to_come.settings = to_come.annotations;
  std::string unseen = AddSettingsOfWatcher(pods, to_come.settings);
  snapshot.pod_says.next_orders = to_come.orders;
  if (!snapshot.pod) {
    settings_.TakeAnnotations(to_come.settings);
    snapshot.pod_says.orders = to_come.orders;
    auto& errors = snapshot.facts.setting_errors;
    std::ranges::move(settings_.ErrorsIn(to_come.settings), std::back_inserter(errors));
    snapshot.facts.unseen = std::move(unseen);
  }
  to_come.are_rolled_out = !cluster.IsFrameworks(object) || cluster.profile->RollsOut(root);
  around.pods_to_come = std::move(to_come);
}

void SurroundingsReader::TakeRoot(Snapshot& snapshot, KubeObject root) {
  snapshot.root = std::move(root);
  snapshot.facts.root_read = true;
  snapshot.marks = ReadMarks(snapshot.root->meta);
  snapshot.facts.ephemeral_label = snapshot.root->meta.Label(kEphemeralLabel);
  if (IsKept(snapshot.root->meta)) snapshot.facts.kept_root = snapshot.root->Describe();
  if (snapshot.root->meta.uid != (snapshot.pod ? snapshot.pod->meta.uid : "")) {
    ReadSteps(snapshot.root->meta, snapshot.pod_says.steps, snapshot.facts.setting_errors);
  }
}

// The root, if it is the custom resource that stands for the cluster: it needn't be read again.
const KubeObject* SurroundingsReader::RootResource(const ClusterId& cluster) const {
  return root_ && cluster.IsResource(*root_) ? &*root_ : nullptr;
}

void SurroundingsReader::List(Surroundings& around, const ClusterId& cluster, Snapshot& snapshot,
                              const Patience& patience) {
  const auto types = MakerTypes(patience);
  if (!types) return NoteProblem(snapshot, types.error());
  around.makers = probe_.ListMakers(*types, cluster, RootResource(cluster), patience);
  for (const ApiError& error : around.makers->failed) NoteProblem(snapshot, error);
}

void SurroundingsReader::ReadMakers(Surroundings& around, Snapshot& snapshot,
                                    const Patience& patience) {
  if (!around.makers) List(around, *snapshot.cluster, snapshot, patience);
  if (!around.makers) return;
  for (const auto& [type, error] : around.makers->skipped) {
    snapshot.facts.unlistable.push_back(type.QualifiedName());
  }
  if (around.sorted_for != snapshot.root->meta.uid) {
    Sort(around, *snapshot.root, snapshot, patience);
  }
}

bool SurroundingsReader::IsAsBefore(const std::stop_token& stop) {
  if (!root_ || !pod_) return false;
  const auto is_same = [&](const ResourceType& type, const ObjectMeta& before) {
    const auto read = client_.Do(
        ApiRequest::GetMetadata(type, before.ns(), before.name, Freshness::kCached), stop);
    if (!read) return false;
    const auto now = ReadObjectMeta(read->document.root());
    return now && HasOnlyNewStatus(before, *now);
  };
  return (!namespace_ || is_same(Namespaces(), *namespace_)) && is_same(Pods(), *pod_) &&
         is_same(root_->type, root_->meta);
}

void SurroundingsReader::NoteWritten(const ObjectMeta& root) {
  if (root_ && root_->meta.uid == root.uid) root_->meta = root;
}

}  // namespace cluster_watcher
