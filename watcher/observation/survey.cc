#include "watcher/observation/survey.h"

#include <algorithm>

#include "probes/base/names.h"
#include "probes/owner_kinds.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

// A pod that is told to stop may have 2 s left.
constexpr Duration kTerminationPatience{1'000};

const ResourceType& Pods() { return *FindBuiltInByName("pods", ""); }
const ResourceType& Namespaces() { return *FindBuiltInByName("namespaces", ""); }

void NoteProblem(Snapshot& snapshot, const ApiError& error) {
  if (snapshot.facts.problem.empty()) snapshot.facts.problem = error.message;
  if (error.failure == ApiFailure::kForbidden) snapshot.forbidden = true;
}

bool IsMaster(const ObjectMeta& meta) {
  return meta.Label(kTypeLabel) == kMasterType || meta.Annotation(annotation::kStatus).has_value();
}

std::string ControllerUid(const ObjectMeta& meta) {
  const OwnerReference* controller = meta.Controller();
  return controller == nullptr ? "" : controller->uid;
}

// Whether `name` is the owner's: what it is given as, or what that stands for.
bool IsNameOfOwner(const Snapshot& snapshot, const std::string& name) {
  return name == snapshot.owner_name->name || (snapshot.seen && name == snapshot.seen->name);
}

bool IsDeploymentConfig(const Snapshot& snapshot) {
  const ResourceType& configs = *FindBuiltInByName("deploymentconfigs", "");
  const OwnerName& given = *snapshot.owner_name;
  return snapshot.seen ? snapshot.seen->kind == configs.SingularName()
                       : FindBuiltInByName(given.kind, given.group) == &configs;
}

// The ReplicationControllers of a DeploymentConfig are called NAME-NUMBER.
bool IsControllerName(const Snapshot& snapshot, const std::string& name) {
  const std::string prefix = snapshot.owner_name->name + "-";
  return IsDeploymentConfig(snapshot) && name.size() > prefix.size() && name.starts_with(prefix) &&
         name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
}

// On a bare pod, which is its own root, `owner-kind` is our mark and no setting, also where it was
// brought along from another pod.
TextMap SettingAnnotations(const ObjectMeta& pod) {
  TextMap annotations = pod.annotations;
  if (pod.Annotation(annotation::kRootUid)) annotations.erase(annotation::kOwnerKind);
  return annotations;
}

}  // namespace

std::string Snapshot::OwnerText() const {
  if (facts.owner && facts.owner->object) return facts.owner->object->Describe();
  if (seen) return seen->ToText();
  return owner_name ? owner_name->ToText() : "";
}

std::string Snapshot::OwnerUid() const {
  if (facts.owner && facts.owner->object) return facts.owner->object->meta.uid;
  return seen ? seen->uid : "";
}

WallTime ServerNow(const Snapshot& snapshot, Clock& clock) {
  if (!snapshot.facts.server_time) return clock.WallNow();
  return *snapshot.facts.server_time +
         std::chrono::duration_cast<WallTime::duration>(clock.Now() - snapshot.ended);
}

Survey::Survey(KubeClient& client, Clock& clock, ResolvedSettings settings,
               std::function<ResolvedSettings(const TextMap& annotations)> with_annotations)
    : client_(client),
      clock_(clock),
      settings_(std::move(settings)),
      with_annotations_(std::move(with_annotations)),
      discovery_(client),
      owner_probe_(client, discovery_),
      cluster_probe_(client, discovery_) {}

Snapshot Survey::SureLook(bool with_other_drivers, std::stop_token stop) {
  const KubeClient::UntilTimeout one_timeout(client_);
  Snapshot snapshot;
  snapshot.began = clock_.Now();
  if (auto refreshed = discovery_.Refresh(stop); !refreshed)
    NoteProblem(snapshot, refreshed.error());
  if (snapshot.facts.problem.empty()) ReadPodAndNamespace(snapshot, stop);
  // With a problem the verdict is known: an API server that hangs isn't asked for the rest.
  if (snapshot.facts.problem.empty() && !snapshot.pod_gone && !snapshot.no_such_cluster) {
    ReadRoot(snapshot, stop);
    FindOwnerName(snapshot);
  }
  if (snapshot.facts.problem.empty() && !snapshot.pod_gone && !snapshot.no_such_cluster) {
    ReadTheRest(snapshot, stop);
  }
  snapshot.facts.now = clock_.WallNow();
  snapshot.facts.replaced_owner = settings_.settings.replaced_owner;
  if (with_other_drivers) LookForOtherDrivers(snapshot, stop);
  snapshot.ended = clock_.Now();
  return snapshot;
}

void Survey::ReadTheRest(Snapshot& snapshot, std::stop_token stop) {
  ReadOwner(snapshot, stop);
  CompareLabel(snapshot, stop);
  FindAmbiguities(snapshot, stop);
}

void Survey::LookForOtherDrivers(Snapshot& snapshot, std::stop_token stop) {
  if (!Decide(snapshot.facts).abandoned()) return;
  const KubeClient::UntilTimeout one_timeout(client_);
  auto others =
      cluster_probe_.FindOtherDrivers(*snapshot.cluster,
                                      {snapshot.owner_ns, snapshot.seen ? snapshot.seen->uid : "",
                                       OwnerKind(snapshot), settings_.settings.completed_when},
                                      stop);
  snapshot.facts.in_use_by = std::move(others.in_use_by);
  if (others.unknown) snapshot.facts.in_use_problem = others.unknown->message;
  snapshot.ended = clock_.Now();
}

std::optional<Snapshot> Survey::TerminationLook() {
  if (!root_ || !seen_) return std::nullopt;
  const KubeClient::UntilTimeout one_timeout(client_);
  KubeObject root = *root_;
  ApiRequest request = ApiRequest::GetMetadata(root.type, settings_.settings.ns, root.meta.name);
  request.http.timeout = kTerminationPatience;
  auto answer = client_.Do(request, {});
  if (answer) {
    auto meta = ReadObjectMeta(answer->document.root());
    if (!meta || meta->uid != root.meta.uid || !meta->deleting) return std::nullopt;
    root.meta = *std::move(meta);
  } else if (answer.error().failure != ApiFailure::kNotFound) {
    return std::nullopt;
  }
  Snapshot snapshot;
  snapshot.began = clock_.Now();
  if (auto fresh = discovery_.Refresh({}); !fresh) NoteProblem(snapshot, fresh.error());
  ReadPodAndNamespace(snapshot, {});
  if (!snapshot.pod || !snapshot.cluster) return std::nullopt;
  TakeRoot(snapshot, std::move(root));
  FindOwnerName(snapshot);
  ReadTheRest(snapshot, {});
  snapshot.facts.now = clock_.WallNow();
  snapshot.facts.replaced_owner = settings_.settings.replaced_owner;
  LookForOtherDrivers(snapshot, {});
  if (!snapshot.seen) return std::nullopt;
  snapshot.ended = clock_.Now();
  return snapshot;
}

std::optional<OwnerSight> Survey::Glance(std::stop_token stop) {
  if (!owner_name_ || !seen_) return std::nullopt;
  return owner_probe_.Look(QueryFor(*owner_name_, owner_ns_), Freshness::kGlance, stop);
}

void Survey::Adopt(const Snapshot& snapshot) {
  const OwnerSight& sight = *snapshot.facts.owner;
  seen_ = RecordedOwner{sight.object->type.SingularName(),
                        snapshot.owner_ns,
                        sight.object->meta.name,
                        sight.object->meta.uid,
                        sight.fields.termination_grace,
                        sight.fields.pod_selector,
                        sight.followed_controller ? snapshot.owner_name->ToText() : ""};
}

void Survey::ReadPodAndNamespace(Snapshot& snapshot, std::stop_token stop) {
  const Settings& settings = settings_.settings;
  std::vector<ApiRequest> requests = {ApiRequest::GetMetadata(Namespaces(), "", settings.ns)};
  if (!settings.pod.empty()) {
    requests.push_back(ApiRequest::Get(Pods(), settings.ns, settings.pod));
  }
  auto answers = client_.DoAll(requests, kReadsSideBySide, stop);
  if (answers[0]) {
    snapshot.facts.server_time = answers[0]->server_time;
    if (auto meta = ReadObjectMeta(answers[0]->document.root())) {
      AddHold(snapshot, "namespace " + settings.ns, *meta);
    }
  } else if (answers[0].error().failure != ApiFailure::kForbidden) {
    NoteProblem(snapshot, answers[0].error());
  }
  if (settings.pod.empty()) return FindMaster(snapshot, stop);
  if (answers[1]) {
    snapshot.facts.server_time = answers[1]->server_time;
    TakePod(snapshot, answers[1]->document.root());
  } else if (answers[1].error().failure == ApiFailure::kNotFound) {
    snapshot.pod_gone = true;
    NoteProblem(snapshot, answers[1].error());
  } else {
    NoteProblem(snapshot, answers[1].error());
  }
}

void Survey::TakePod(Snapshot& snapshot, JsonValue pod) {
  auto meta = ReadObjectMeta(pod);
  if (!meta) return NoteProblem(snapshot, {ApiFailure::kUnexpected, meta.error().message, {}});
  if (!pod_uid_.empty() && pod_uid_ != meta->uid) {
    snapshot.pod_gone = true;
    return;
  }
  if (pod_uid_.empty()) settings_ = with_annotations_(SettingAnnotations(*meta));
  pod_uid_ = meta->uid;
  AddHold(snapshot, "pod " + meta->name, *meta);
  auto& errors = snapshot.facts.setting_errors;
  errors = settings_.annotation_errors;
  ReadSteps(*meta, snapshot.steps, errors);
  if (auto error = DeleteOrderError(*meta)) errors.push_back(*std::move(error));
  const Settings& settings = settings_.settings;
  const std::string name = settings.cluster.empty()
                               ? meta->Label(settings.cluster_label).value_or("")
                               : settings.cluster;
  if (name.empty()) {
    errors.push_back("the pod " + meta->name + " has no label " + settings.cluster_label +
                     ": label it, or give --cluster");
  } else {
    snapshot.cluster = ClusterId{settings.ns, settings.cluster_label, name};
  }
  snapshot.mounted = MountedBy(pod);
  snapshot.pod = KubeObject{Pods(), *std::move(meta)};
}

// Outside of a pod the cluster's own master stands in for it.
void Survey::FindMaster(Snapshot& snapshot, std::stop_token stop) {
  const Settings& settings = settings_.settings;
  const ClusterId cluster{settings.ns, settings.cluster_label, settings.cluster};
  auto listing = cluster_probe_.List(WorkloadTypes(), cluster, kReadsSideBySide, stop);
  for (const ApiError& error : listing.failed) NoteProblem(snapshot, error);
  for (const auto& [type, error] : listing.skipped) NoteProblem(snapshot, error);
  if (listing.objects.empty()) {
    snapshot.no_such_cluster = snapshot.facts.problem.empty();
    return;
  }
  snapshot.cluster = cluster;
  const KubeObject* master = nullptr;
  for (const KubeObject& object : listing.objects) {
    if (!IsMaster(object.meta) || object.meta.deleting) continue;
    if (master == nullptr || object.type == Pods()) master = &object;
  }
  if (master == nullptr) {
    return NoteProblem(snapshot, {ApiFailure::kUnexpected,
                                  "the cluster " + cluster.name +
                                      " has no master: no workload of "
                                      "it is labelled oshinko-type=master",
                                  {}});
  }
  if (master->type != Pods()) {
    auto root = cluster_probe_.RootOf(*master, cluster, listing.objects, stop);
    if (!root) return NoteProblem(snapshot, root.error());
    root_ = *std::move(root);
    return;
  }
  auto pod = client_.Do(ApiRequest::Get(Pods(), settings.ns, master->meta.name), stop);
  if (!pod) return NoteProblem(snapshot, pod.error());
  TakePod(snapshot, pod->document.root());
  snapshot.cluster = cluster;
}

void Survey::ReadRoot(Snapshot& snapshot, std::stop_token stop) {
  if (!snapshot.cluster || (!snapshot.pod && !root_)) return;
  std::optional<KubeObject> root;
  if (root_) {
    auto answer = client_.Do(
        ApiRequest::GetMetadata(root_->type, snapshot.cluster->ns, root_->meta.name), stop);
    auto meta = answer ? ReadObjectMeta(answer->document.root()) : Result<ObjectMeta>(Failure(""));
    // One that has got a controller isn't the top any more: a ReplicaSet that was left behind is
    // adopted when its Deployment is made again.
    if (meta && meta->uid == root_->meta.uid &&
        ControllerUid(*meta) == ControllerUid(root_->meta)) {
      root = KubeObject{root_->type, *std::move(meta)};
    } else if (!answer && answer.error().failure != ApiFailure::kNotFound) {
      return NoteProblem(snapshot, answer.error());
    } else {
      // Remembered until another one is found: being told to stop asks for it (TerminationLook).
      snapshot.root_changed = true;
    }
  }
  if (!root) {
    if (!snapshot.pod) return;
    auto walked = cluster_probe_.RootOf(*snapshot.pod, *snapshot.cluster, {}, stop);
    if (!walked) return NoteProblem(snapshot, walked.error());
    root = *std::move(walked);
  }
  root_ = root;
  if (!root->meta.deleting) root_seen_at_ = snapshot.facts.server_time;
  TakeRoot(snapshot, *std::move(root));
}

void Survey::TakeRoot(Snapshot& snapshot, KubeObject root) {
  snapshot.root = std::move(root);
  snapshot.facts.root_read = true;
  snapshot.marks = ReadMarks(snapshot.root->meta);
  snapshot.facts.app_status = snapshot.marks.app_status;
  snapshot.facts.ephemeral_label = snapshot.root->meta.Label(kEphemeralLabel);
  if (IsKept(snapshot.root->meta)) {
    snapshot.facts.setting_errors.push_back(
        "the master root " + snapshot.root->Describe() + " is annotated " + annotation::kKeep +
        ", so that the cluster can't be deleted: take it off, or use " + annotation::kHoldUntil);
  }
  if (snapshot.root->meta.uid != (snapshot.pod ? snapshot.pod->meta.uid : "")) {
    AddHold(snapshot, "master root " + snapshot.root->Describe(), snapshot.root->meta);
    ReadSteps(snapshot.root->meta, snapshot.steps, snapshot.facts.setting_errors);
  }
}

void Survey::FindOwnerName(Snapshot& snapshot) {
  const Settings& settings = settings_.settings;
  snapshot.owner_ns = settings.OwnerNamespace();
  if (settings.owner) {
    snapshot.owner_name = settings.owner;
    snapshot.facts.given_owner = settings.owner;
    return;
  }
  if (!snapshot.root) return;
  const auto annotated = snapshot.root->meta.Annotation(annotation::kOwner);
  const auto& label = snapshot.facts.ephemeral_label;
  if (!annotated && !label) return;
  auto parsed = OwnerName::Parse(annotated ? *annotated : *label);
  if (!parsed) {
    snapshot.facts.setting_errors.push_back(
        std::string(annotated ? "annotation cluster-watcher/owner" : "label ephemeral") +
        " of the master root: " + parsed.error().message);
    return;
  }
  snapshot.owner_name = *parsed;
  if (annotated) snapshot.facts.given_owner = *parsed;
}

OwnerQuery Survey::QueryFor(const OwnerName& name, const std::string& ns) const {
  const Settings& settings = settings_.settings;
  return {name, settings.owner_kind, ns, settings.ns, seen_, settings.completed_when};
}

std::string Survey::OwnerKind(const Snapshot& snapshot) const {
  if (snapshot.seen) return snapshot.seen->kind;
  const Settings& settings = settings_.settings;
  const auto& name = snapshot.owner_name ? snapshot.owner_name : settings.owner;
  if (!name || name->IsBare()) return settings.owner_kind;
  return KindName{name->kind, name->group}.ToText();
}

void Survey::ReadOwner(Snapshot& snapshot, std::stop_token stop) {
  if (!snapshot.owner_name) return;
  owner_name_ = snapshot.owner_name;
  owner_ns_ = snapshot.owner_ns;
  const auto is_for_it = [&](const std::optional<RecordedOwner>& owner) {
    return owner && owner->IsFor(*owner_name_, owner_ns_);
  };
  if (!is_for_it(seen_)) seen_.reset();
  if (!seen_ && is_for_it(snapshot.marks.owner)) seen_ = snapshot.marks.owner;

  OwnerQuery query = QueryFor(*owner_name_, owner_ns_);
  if (snapshot.cluster) query.cluster_label = {snapshot.cluster->label, snapshot.cluster->name};
  OwnerSight sight = owner_probe_.Look(query, Freshness::kSure, stop);
  if (!sight.is_of_recorded_kind) seen_.reset();
  if (!sight.setting_problem.empty()) {
    snapshot.facts.setting_errors.push_back(sight.setting_problem);
  }
  RefuseOwnMember(snapshot, sight);
  // What has come to control a Pod or ReplicaSet is the owner from now on.
  const bool followed = sight.followed_controller && sight.observation != Observation::kReplaced;
  const bool same = sight.object && (!seen_ || seen_->uid == sight.object->meta.uid || followed);
  snapshot.facts.owner = std::move(sight);
  if (same) Adopt(snapshot);
  snapshot.seen = seen_;
  // How another owner ended says nothing of this one.
  const auto& marked = snapshot.marks.owner;
  if (marked && (!seen_ || seen_->uid != marked->uid)) snapshot.facts.app_status.reset();
}

void Survey::RefuseOwnMember(Snapshot& snapshot, const OwnerSight& sight) {
  if (!sight.object || !snapshot.cluster) return;
  const ObjectMeta& owner = sight.object->meta;
  const bool is_root = snapshot.root && snapshot.root->meta.uid == owner.uid;
  if (is_root || (owner.ns == snapshot.cluster->ns && snapshot.cluster->Owns(owner))) {
    snapshot.facts.setting_errors.push_back("the owner " + sight.object->Describe() +
                                            " belongs to the cluster itself");
  }
}

// The label holds a name alone. It agrees as well with what the given owner stands for, and where
// it names a ReplicationController of the DeploymentConfig that is given.
void Survey::CompareLabel(Snapshot& snapshot, std::stop_token stop) {
  Facts& facts = snapshot.facts;
  if (!facts.given_owner || !facts.ephemeral_label) return;
  const std::string& label = *facts.ephemeral_label;
  const auto& seen = snapshot.seen;
  facts.label_agrees = IsNameOfOwner(snapshot, label);
  if (facts.label_agrees || !IsDeploymentConfig(snapshot)) return;
  auto listed = client_.Do(ApiRequest::ListByName(*FindBuiltInByName("replicationcontrollers", ""),
                                                  snapshot.owner_ns, label, Freshness::kSure),
                           stop);
  if (!listed) {
    facts.label_agrees = true;  // It isn't known to disagree: the problem makes it unknown.
    return NoteProblem(snapshot, listed.error());
  }
  if (const JsonValue item = OnlyItem(*listed); item.Exists()) {
    auto meta = ReadObjectMeta(item);
    const OwnerReference* controller = meta ? meta->Controller() : nullptr;
    const auto& object = facts.owner ? facts.owner->object : std::optional<KubeObject>();
    const std::string uid = object ? object->meta.uid : seen ? seen->uid : "";
    facts.label_agrees = controller != nullptr && controller->kind == "DeploymentConfig" &&
                         controller->name == snapshot.owner_name->name &&
                         (uid.empty() || controller->uid == uid);
    return;
  }
  facts.label_agrees = IsControllerName(snapshot, label);
}

void Survey::FindAmbiguities(Snapshot& snapshot, std::stop_token stop) {
  if (!snapshot.root) return;
  const KubeObject& root = *snapshot.root;
  const ClusterId& cluster = *snapshot.cluster;
  auto& ambiguities = snapshot.facts.ambiguities;
  if (auto label = root.meta.Label(cluster.label); label && *label != cluster.name) {
    ambiguities.push_back(root.Describe() + " is labelled as of the cluster \"" + *label + "\"");
  }
  if (const OwnerReference* controller = root.meta.Controller()) {
    ambiguities.push_back(root.Describe() + " has a controller that is not of the cluster, " +
                          controller->kind + " " + controller->name);
  }
  auto listing = cluster_probe_.List(WorkloadTypes(), cluster, kReadsSideBySide, stop);
  for (const ApiError& error : listing.failed) NoteProblem(snapshot, error);
  for (const KubeObject& object : listing.objects) {
    const bool is_pod = object.type == Pods();
    if (object.meta.uid == root.meta.uid || (is_pod && object.meta.deleting)) continue;
    KubeObject other = object;
    if (object.meta.Controller() != nullptr) {
      if (!is_pod || !IsMaster(object.meta)) continue;
      auto walked = cluster_probe_.RootOf(object, cluster, listing.objects, stop);
      if (!walked) {
        NoteProblem(snapshot, walked.error());
        continue;
      }
      other = *std::move(walked);
      if (other.meta.uid == root.meta.uid) continue;
    }
    if (IsMaster(object.meta)) {
      ambiguities.push_back(other.Describe() + " is a master of this cluster too");
      continue;
    }
    const auto label = other.meta.Label(kEphemeralLabel);
    const std::string named =
        other.meta.Annotation(annotation::kOwner).value_or(label.value_or(""));
    auto owner = OwnerName::Parse(named);
    if (!named.empty() && snapshot.owner_name &&
        (!owner ||
         !(IsNameOfOwner(snapshot, owner->name) || IsControllerName(snapshot, owner->name)))) {
      ambiguities.push_back(other.Describe() + " names another owner, \"" + named + "\"");
    }
  }
}

void Survey::AddHold(Snapshot& snapshot, const std::string& where, const ObjectMeta& meta) {
  if (auto text = meta.Annotation(annotation::kHoldUntil)) {
    snapshot.facts.holds.push_back({where, *text, ParseTime(*text)});
  }
}

}  // namespace cluster_watcher
