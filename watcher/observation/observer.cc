#include "watcher/observation/observer.h"

#include <utility>

#include "probes/base/time_text.h"
#include "probes/owner_kinds.h"
#include "watcher/observation/owner_names.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

// A pod that is told to stop may have only 2 s left.
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

// On a bare pod, which is its own root, `owner-kind` is our mark and not a setting, even if it was
// copied from another pod.
TextMap SettingAnnotations(const ObjectMeta& pod) {
  TextMap annotations = pod.annotations;
  if (pod.Annotation(annotation::kRootUid)) annotations.erase(annotation::kOwnerKind);
  return annotations;
}

}  // namespace

Observer::Observer(KubeClient& client, Discovery& discovery, Clock& clock,
                   SettingsInForce& settings)
    : client_(client),
      discovery_(discovery),
      clock_(clock),
      settings_(settings),
      owner_probe_(client, discovery),
      cluster_probe_(client, discovery) {}

Snapshot Observer::SureLook(const std::stop_token& stop) {
  const Patience patience = Patience::UntilTimeout(stop);
  Snapshot snapshot;
  snapshot.began = clock_.Now();
  // A problem already settles the verdict, and further requests to a hanging API server take time.
  const auto goes_on = [&] {
    return snapshot.facts.problem.empty() && !snapshot.pod_gone && !snapshot.no_such_cluster;
  };
  if (auto fresh = discovery_.Refresh(patience); !fresh) NoteProblem(snapshot, fresh.error());
  if (goes_on()) ReadPodAndNamespace(snapshot, patience);
  if (goes_on()) {
    ReadRoot(snapshot, patience);
    FindOwnerName(snapshot);
  }
  if (goes_on()) ReadTheRest(snapshot, patience);
  End(snapshot);
  return snapshot;
}

std::optional<Snapshot> Observer::TerminationLook() {
  if (!root_ || !seen_) return std::nullopt;
  MasterRoot root(client_, *root_);
  const RootState state = root.Read({}, kTerminationPatience);
  if (state != RootState::kTerminating && state != RootState::kGone) return std::nullopt;
  const Patience patience = Patience::UntilTimeout({});
  Snapshot snapshot;
  snapshot.began = clock_.Now();
  if (auto fresh = discovery_.Refresh(patience); !fresh) NoteProblem(snapshot, fresh.error());
  ReadPodAndNamespace(snapshot, patience);
  if (!snapshot.pod || !snapshot.cluster) return std::nullopt;
  TakeRoot(snapshot, root.object());
  FindOwnerName(snapshot);
  ReadTheRest(snapshot, patience);
  if (!snapshot.seen) return std::nullopt;
  End(snapshot);
  return snapshot;
}

void Observer::ReadTheRest(Snapshot& snapshot, const Patience& patience) {
  ReadOwner(snapshot, patience);
  CompareLabel(snapshot, patience);
  FindAmbiguities(snapshot, patience);
}

void Observer::End(Snapshot& snapshot) {
  snapshot.facts.now = clock_.WallNow();
  snapshot.facts.replaced_owner = settings_->replaced_owner;
  snapshot.root_seen_at = root_seen_at_;
  snapshot.ended = clock_.Now();
}

OtherDrivers Observer::FindOtherDrivers(const Snapshot& snapshot, const std::stop_token& stop) {
  return cluster_probe_.FindOtherDrivers(
      *snapshot.cluster,
      {snapshot.owner_ns, snapshot.seen ? snapshot.seen->uid : "", OwnerKind(snapshot),
       settings_->completed_when},
      Patience::UntilTimeout(stop));
}

std::optional<OwnerSight> Observer::Glance(const std::stop_token& stop) {
  if (!owner_name_ || !seen_) return std::nullopt;
  return owner_probe_.Look(QueryFor(*owner_name_, owner_ns_), Freshness::kGlance, stop);
}

const RecordedOwner& Observer::Adopt(const Snapshot& snapshot) {
  const OwnerSight& sight = *snapshot.facts.owner;
  seen_ = RecordedOwner{sight.object->type.SingularName(),
                        snapshot.owner_ns,
                        sight.object->meta.name,
                        sight.object->meta.uid,
                        sight.fields.termination_grace,
                        sight.fields.pod_selector,
                        sight.followed_controller ? snapshot.owner_name->ToText() : ""};
  return *seen_;
}

void Observer::ReadPodAndNamespace(Snapshot& snapshot, const Patience& patience) {
  const Settings& settings = *settings_;
  std::vector<ApiRequest> requests = {ApiRequest::GetMetadata(Namespaces(), "", settings.ns)};
  if (!settings.pod.empty()) {
    requests.push_back(ApiRequest::Get(Pods(), settings.ns, settings.pod));
  }
  auto answers = client_.DoAll(requests, kReadsSideBySide, patience);
  if (answers[0]) {
    snapshot.facts.server_time = answers[0]->server_time;
    if (auto meta = ReadObjectMeta(answers[0]->document.root())) {
      AddHold(snapshot, "namespace " + settings.ns, *meta);
    }
  } else if (answers[0].error().failure != ApiFailure::kForbidden) {
    NoteProblem(snapshot, answers[0].error());
  }
  if (settings.pod.empty()) return FindMaster(snapshot, patience);
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

void Observer::TakePod(Snapshot& snapshot, JsonValue pod) {
  auto meta = ReadObjectMeta(pod);
  if (!meta) return NoteProblem(snapshot, {ApiFailure::kUnexpected, meta.error().message, {}});
  if (!pod_uid_.empty() && pod_uid_ != meta->uid) {
    snapshot.pod_gone = true;
    return;
  }
  if (pod_uid_.empty()) settings_.TakeAnnotations(SettingAnnotations(*meta));
  pod_uid_ = meta->uid;
  AddHold(snapshot, "pod " + meta->name, *meta);
  auto& errors = snapshot.facts.setting_errors;
  errors = settings_.resolved().annotation_errors;
  ReadSteps(*meta, snapshot.steps, errors);
  if (auto error = DeleteOrderError(*meta)) errors.push_back(*std::move(error));
  const Settings& settings = *settings_;
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

// Outside of a pod the look starts from the cluster's own master.
void Observer::FindMaster(Snapshot& snapshot, const Patience& patience) {
  const Settings& settings = *settings_;
  const ClusterId cluster{settings.ns, settings.cluster_label, settings.cluster};
  auto listing = cluster_probe_.List(WorkloadTypes(), cluster, kReadsSideBySide, patience);
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
    auto root = cluster_probe_.RootOf(*master, cluster, listing.objects, patience);
    if (!root) return NoteProblem(snapshot, root.error());
    root_ = *std::move(root);
    return;
  }
  auto pod = client_.Do(ApiRequest::Get(Pods(), settings.ns, master->meta.name), patience);
  if (!pod) return NoteProblem(snapshot, pod.error());
  TakePod(snapshot, pod->document.root());
  snapshot.cluster = cluster;
}

void Observer::ReadRoot(Snapshot& snapshot, const Patience& patience) {
  if (!snapshot.cluster || (!snapshot.pod && !root_)) return;
  std::optional<KubeObject> root;
  if (root_) {
    MasterRoot known(client_, *root_);
    const RootState state = known.Read(patience);
    if (state == RootState::kUnknown) return NoteProblem(snapshot, known.problem());
    // A root that gets a controller is no longer the top: an orphaned ReplicaSet is adopted when
    // its Deployment is created again.
    const bool is_there = state == RootState::kOurs || state == RootState::kTerminating;
    if (is_there && ControllerUid(known.object().meta) == ControllerUid(root_->meta)) {
      root = known.object();
    } else {
      // TerminationLook needs the known root, so it is kept until another is found.
      snapshot.root_changed = true;
    }
  }
  if (!root) {
    if (!snapshot.pod) return;
    auto walked = cluster_probe_.RootOf(*snapshot.pod, *snapshot.cluster, {}, patience);
    if (!walked) return NoteProblem(snapshot, walked.error());
    root = *std::move(walked);
  }
  root_ = root;
  if (!root->meta.deleting) root_seen_at_ = snapshot.facts.server_time;
  TakeRoot(snapshot, *std::move(root));
}

void Observer::TakeRoot(Snapshot& snapshot, KubeObject root) {
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

void Observer::FindOwnerName(Snapshot& snapshot) {
  const Settings& settings = *settings_;
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

OwnerQuery Observer::QueryFor(const OwnerName& name, const std::string& ns) const {
  const Settings& settings = *settings_;
  return {name, settings.owner_kind, ns, settings.ns, seen_, settings.completed_when};
}

std::string Observer::OwnerKind(const Snapshot& snapshot) const {
  if (snapshot.seen) return snapshot.seen->kind;
  const Settings& settings = *settings_;
  const auto& name = snapshot.owner_name ? snapshot.owner_name : settings.owner;
  if (!name || name->IsBare()) return settings.owner_kind;
  return KindName{name->kind, name->group}.ToText();
}

void Observer::ReadOwner(Snapshot& snapshot, const Patience& patience) {
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
  OwnerSight sight = owner_probe_.Look(query, Freshness::kSure, patience);
  if (!sight.is_of_recorded_kind) seen_.reset();
  if (!sight.setting_problem.empty()) {
    snapshot.facts.setting_errors.push_back(sight.setting_problem);
  }
  RefuseOwnMember(snapshot, sight);
  // A new controller of the Pod or ReplicaSet is the owner from now on.
  const bool followed = sight.followed_controller && sight.observation != Observation::kReplaced;
  const bool same = sight.object && (!seen_ || seen_->uid == sight.object->meta.uid || followed);
  snapshot.facts.owner = std::move(sight);
  if (same) Adopt(snapshot);
  snapshot.seen = seen_;
  // The recorded end of another owner says nothing about this one.
  const auto& marked = snapshot.marks.owner;
  if (marked && (!seen_ || seen_->uid != marked->uid)) snapshot.facts.app_status.reset();
}

void Observer::RefuseOwnMember(Snapshot& snapshot, const OwnerSight& sight) {
  if (!sight.object || !snapshot.cluster) return;
  const ObjectMeta& owner = sight.object->meta;
  const bool is_root = snapshot.root && snapshot.root->meta.uid == owner.uid;
  if (is_root || (owner.ns == snapshot.cluster->ns && snapshot.cluster->Owns(owner))) {
    snapshot.facts.setting_errors.push_back("the owner " + sight.object->Describe() +
                                            " belongs to the cluster itself");
  }
}

// The label holds only a name. It also agrees if it names the object that the given owner stands
// for, or a ReplicationController of the given DeploymentConfig.
void Observer::CompareLabel(Snapshot& snapshot, const Patience& patience) {
  Facts& facts = snapshot.facts;
  if (!facts.given_owner || !facts.ephemeral_label) return;
  const std::string& label = *facts.ephemeral_label;
  const auto& seen = snapshot.seen;
  facts.label_agrees = IsNameOfOwner(snapshot, label);
  if (facts.label_agrees || !IsDeploymentConfig(snapshot)) return;
  auto listed = client_.Do(ApiRequest::ListByName(*FindBuiltInByName("replicationcontrollers", ""),
                                                  snapshot.owner_ns, label, Freshness::kSure),
                           patience);
  if (!listed) {
    facts.label_agrees = true;  // no mismatch is known; the problem makes the verdict unknown
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
  facts.label_agrees = IsNameOfItsController(snapshot, label);
}

void Observer::FindAmbiguities(Snapshot& snapshot, const Patience& patience) {
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
  auto listing = cluster_probe_.List(WorkloadTypes(), cluster, kReadsSideBySide, patience);
  for (const ApiError& error : listing.failed) NoteProblem(snapshot, error);
  for (const KubeObject& object : listing.objects) {
    const bool is_pod = object.type == Pods();
    if (object.meta.uid == root.meta.uid || (is_pod && object.meta.deleting)) continue;
    KubeObject other = object;
    if (object.meta.Controller() != nullptr) {
      if (!is_pod || !IsMaster(object.meta)) continue;
      auto walked = cluster_probe_.RootOf(object, cluster, listing.objects, patience);
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
         !(IsNameOfOwner(snapshot, owner->name) || IsNameOfItsController(snapshot, owner->name)))) {
      ambiguities.push_back(other.Describe() + " names another owner, \"" + named + "\"");
    }
  }
}

void Observer::AddHold(Snapshot& snapshot, const std::string& where, const ObjectMeta& meta) {
  if (auto text = meta.Annotation(annotation::kHoldUntil)) {
    snapshot.facts.holds.push_back({where, *text, ParseTime(*text)});
  }
}

}  // namespace cluster_watcher
