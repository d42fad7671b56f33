#include "watcher/observation/observer.h"

#include <iterator>
#include <memory>
#include <utility>

#include "probes/base/time_text.h"
#include "probes/owner_kinds.h"
#include "watcher/observation/changed_settings.h"
#include "watcher/observation/owner_names.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

// A pod that is told to stop may have only 2 s left.
constexpr Duration kTerminationPatience{1'000};
// What a look reads around an owner that changes meanwhile, it reads so often.
constexpr int kMostRounds = 2;
// A list that was refused is tried again then.
constexpr int kMinutesBetweenRefusals = 10;

constexpr char kIsMasterToo[] = " is a master of this cluster too";

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

// Of what a look asked for, what the next one can ask for side by side. Whether a kind is served is
// evidence only if it is read after the list, and a first page leads to later ones of its own.
std::vector<ApiRequest> ThatCanBeReadAhead(std::vector<ApiRequest> requests) {
  std::erase_if(requests, [](const ApiRequest& request) {
    return request.expect == ApiRequest::Expect::kDocument ||
           request.http.target.find("&continue=") != std::string::npos;
  });
  return requests;
}

bool GoesOn(const Snapshot& snapshot) {
  return snapshot.facts.problem.empty() && !snapshot.pod_gone && !snapshot.no_such_cluster;
}

// An owner that is active keeps the cluster whatever it does next, unless its application has
// completed.
bool NeedsProof(const Snapshot& snapshot) {
  const auto& owner = snapshot.facts.owner;
  if (!owner || !snapshot.cluster) return false;
  switch (owner->observation) {
    case Observation::kUnknown:
      return false;
    case Observation::kActive:
      return snapshot.facts.app_status.has_value();
    case Observation::kScaledToZero:
    case Observation::kAbsent:
    case Observation::kReplaced:
    case Observation::kDeleting:
    case Observation::kCompleted:
      break;
  }
  return true;
}

// Whether two reads of the owner lead to the same verdict.
bool IsSame(const OwnerSight& one, const OwnerSight& other) {
  const auto uid = [](const OwnerSight& sight) {
    return sight.object ? sight.object->meta.uid : "";
  };
  return one.observation == other.observation && uid(one) == uid(other) &&
         one.fields.replicas == other.fields.replicas &&
         one.still_running.empty() == other.still_running.empty() &&
         one.setting_problem == other.setting_problem;
}

// Whether the owner that was found is a member of the cluster or its master root.
bool IsOwnMember(const std::optional<ClusterId>& cluster, const std::optional<KubeObject>& root,
                 const OwnerSight& sight) {
  if (!sight.object || !cluster) return false;
  const ObjectMeta& owner = sight.object->meta;
  const bool is_root = root && root->meta.uid == owner.uid;
  return is_root || (owner.ns() == cluster->ns && cluster->Owns(owner));
}

// On a bare pod, which is its own root, `owner-kind` may be a mark of an earlier version, even one
// that was copied from another pod.
TextMap SettingAnnotations(const ObjectMeta& pod) {
  TextMap annotations = pod.annotations();
  if (HasOutdatedOwner(pod)) annotations.erase(annotation::kOwnerKind);
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

Snapshot Observer::SureLook(const std::stop_token& stop, OtherDriversToo others) {
  // While it says nothing, one request in each look is enough to see that.
  const auto reads = std::make_shared<LookReads>(clock_, is_silent_ ? Duration(0) : kFreshEvidence);
  Snapshot snapshot = Look(Patience::OfLook(reads, stop), others, nullptr);
  is_silent_ = !snapshot.facts.server_time && !snapshot.facts.root_read;
  return snapshot;
}

std::optional<Snapshot> Observer::TerminationLook() {
  if (!root_ || !seen_) return std::nullopt;
  MasterRoot root(client_, *root_);
  const auto root_reads = std::make_shared<LookReads>(clock_, kTerminationPatience);
  const RootState state = root.ReadWhole(Patience::Repeating(root_reads), kTerminationPatience);
  if (state != RootState::kTerminating && state != RootState::kGone) return std::nullopt;
  if (state == RootState::kTerminating) {
    terminating_root_ = root.object();
  } else if (terminating_root_) {
    root.Take(*terminating_root_);
  } else {
    // The application's word dies with it: a claim may have taken it off since it was last seen.
    KubeObject last = root.object();
    last.meta = WithMarks(std::move(last.meta), WithoutAppStatus());
    root.Take(std::move(last));
  }
  const auto reads = std::make_shared<LookReads>(clock_, kTerminationPatience);
  Snapshot snapshot = Look(Patience::OfLook(reads, {}), OtherDriversToo::kYes, &root);
  snapshot.evidence_since = root_reads->since();  // what stands on the root could keep it
  if (!snapshot.pod || !snapshot.cluster || !snapshot.seen) return std::nullopt;
  return snapshot;
}

Snapshot Observer::Look(const Patience& patience, OtherDriversToo others, const MasterRoot* going) {
  const MonotonicTime began = clock_.Now();
  Snapshot snapshot;
  std::optional<OwnerRead> owner;
  if (auto fresh = discovery_.Refresh(patience); !fresh) {
    NoteProblem(snapshot, fresh.error());
  } else {
    // A first look has to find out first who the owner is.
    if (root_ && cluster_ && owner_name_) owner = ReadOwner(cluster_, patience);
    bool root_changed = false;
    for (int round = 1;; ++round) {
      const std::vector<Evidence> before = owner ? owner->sight.evidence : std::vector<Evidence>();
      snapshot = LookAround(owner, others, going, patience);
      snapshot.root_changed = root_changed = root_changed || snapshot.root_changed;
      if (going == nullptr) NoteVersions(snapshot, before, patience);
      const bool is_witnessed = owner && snapshot.pod && owner->IsFor(*this);
      if (is_witnessed && !GoesOn(snapshot)) Remember(owner->sight);
      if (!GoesOn(snapshot) || !NeedsProof(snapshot)) break;
      if (std::exchange(owner->is_late, false) && round < kMostRounds) continue;
      OwnerRead again = ReadOwnerAgain(*owner, snapshot.cluster, patience);
      const bool same = IsSame(owner->sight, again.sight);
      if (!same && again.sight.observation != Observation::kUnknown && round < kMostRounds) {
        owner = std::move(again);
        continue;
      }
      if (!same && again.sight.observation != Observation::kUnknown) {
        again.sight.observation = Observation::kUnknown;
        again.sight.detail = "the owner changes while it is looked at: " + again.sight.detail;
      }
      Remember(again.sight);
      snapshot.facts.owner = std::move(again.sight);
      break;
    }
  }
  if (!GoesOn(snapshot)) next_gone_since_.clear();
  snapshot.began = began;
  snapshot.evidence_since = patience.reads()->since();
  snapshot.facts.now = clock_.WallNow();
  snapshot.root_seen_at = root_seen_at_;
  snapshot.root_seen_version = root_seen_version_;
  snapshot.ended = clock_.Now();
  return snapshot;
}

bool Observer::IsInDoubt(const std::optional<OwnerRead>& owner) const {
  return owner && owner->sight.observation != Observation::kUnknown &&
         (owner->sight.observation != Observation::kActive || ReadMarks(root_->meta).app_status);
}

Snapshot Observer::LookAround(std::optional<OwnerRead>& owner, OtherDriversToo others,
                              const MasterRoot* going, const Patience& patience) {
  Snapshot snapshot;
  if (IsInDoubt(owner)) {
    const auto requests = WhatCouldKeepIt(others, going == nullptr, patience);
    patience.reads()->BeginEvidence();
    client_.ReadAhead(requests, kUrgentReadsSideBySide, patience);
  } else {
    patience.reads()->BeginEvidence();
  }
  // A problem already settles the verdict, and further requests to a hanging API server take time.
  ReadPodAndNamespace(snapshot, patience);
  if (!GoesOn(snapshot)) return snapshot;
  if (snapshot.cluster) cluster_ = snapshot.cluster;
  if (going == nullptr) {
    ReadRoot(snapshot, patience);
  } else if (snapshot.pod && snapshot.cluster) {
    TakeRoot(snapshot, going->object());
    TakeTemplate(snapshot, going->object(), going->whole());
  }
  FindOwnerName(snapshot);
  if (!GoesOn(snapshot)) return snapshot;
  if (snapshot.owner_name) {
    RecallOwner(snapshot);
    if (!owner || !owner->IsFor(*this)) {
      owner = ReadOwner(snapshot.cluster, patience);
      owner->is_late = true;
    }
    TakeOwner(snapshot, owner->sight);
  }
  CompareLabel(snapshot, patience);
  FindAmbiguities(snapshot, patience);
  FindAlsoRunning(snapshot, patience);
  if (others == OtherDriversToo::kYes && GoesOn(snapshot) && NeedsProof(snapshot)) {
    snapshot.others =
        cluster_probe_.FindOtherDrivers(*snapshot.cluster, OwnerOf(snapshot), patience);
  }
  return snapshot;
}

std::vector<ApiRequest> Observer::WhatCouldKeepIt(OtherDriversToo others, bool root_is_read,
                                                  const Patience& patience) {
  Snapshot known;  // as the last look left it
  known.owner_name = owner_name_;
  known.owner_ns = owner_ns_;
  known.seen = seen_;
  std::vector<ApiRequest> requests = PodAndNamespaceRequests();
  if (root_is_read) {
    requests.push_back(ApiRequest::Get(root_->type, root_->meta.ns(), root_->meta.name));
  }
  const auto add = [&](std::vector<ApiRequest> more) {
    requests.insert(requests.end(), std::make_move_iterator(more.begin()),
                    std::make_move_iterator(more.end()));
  };
  add(cluster_probe_.ListRequests(WorkloadTypes(), *cluster_, patience));
  if (others == OtherDriversToo::kYes) {
    auto drivers = cluster_probe_.DriverRequests(*cluster_, OwnerOf(known), patience);
    if (drivers) add(*std::move(drivers));
  }
  add(std::exchange(next_asked_, {}));
  return requests;
}

OwnerOfCluster Observer::OwnerOf(const Snapshot& snapshot) const {
  return {snapshot.owner_ns, snapshot.seen ? snapshot.seen->uid : ""};
}

// The latest version that is known of a time at which the root was still there: what was read
// before the root was. In the first look that is nothing, so the root is read again after the
// owner.
void Observer::NoteVersions(const Snapshot& snapshot, const std::vector<Evidence>& before,
                            const Patience& patience) {
  if (!snapshot.root || snapshot.root->meta.deleting || !snapshot.facts.problem.empty()) return;
  const bool is_first = root_seen_version_.empty();
  NoteVersion(snapshot.root->meta.resource_version);
  for (const Evidence& evidence : before) NoteVersion(evidence.resource_version);
  if (is_first) ListRoot(*snapshot.root, patience);
}

void Observer::NoteVersion(const std::string& version) {
  if (root_seen_version_.empty() || IsNoLaterVersion(root_seen_version_, version)) {
    root_seen_version_ = version;
  }
}

// Reads the root by a list, which tells the version at which it was still there, and notes that.
// nullopt: it isn't there, or can't be listed.
std::optional<ObjectMeta> Observer::ListRoot(const KubeObject& root, const Patience& patience) {
  const auto listed = client_.Do(
      ApiRequest::ListByName(root.type, root.meta.ns(), root.meta.name, Freshness::kSure),
      patience);
  if (!listed) {
    if (listed.error().failure == ApiFailure::kForbidden) {
      minutes_without_root_list_ = kMinutesBetweenRefusals;
    }
    return std::nullopt;
  }
  auto meta = ReadObjectMeta(OnlyItem(*listed));
  if (!meta || meta->uid != root.meta.uid || meta->deleting) return std::nullopt;
  const JsonValue list = listed->document.root();
  NoteVersion(std::string(list["metadata"]["resourceVersion"].AsString().value_or("")));
  return *std::move(meta);
}

bool Observer::ArePodAndNamespaceAsBefore(const std::stop_token& stop,
                                          std::optional<WallTime>& at) {
  const auto is_same = [&](const ResourceType& type, const std::string& ns,
                           const ObjectMeta& before) {
    const auto read =
        client_.Do(ApiRequest::GetMetadata(type, ns, before.name, Freshness::kGlance), stop);
    if (!read) return false;
    at = read->server_time;
    const auto now = ReadObjectMeta(read->document.root());
    return now && HasOnlyNewStatus(before, *now);
  };
  if (namespace_ && !is_same(Namespaces(), "", *namespace_)) return false;
  return is_same(Pods(), settings_->ns, *pod_);
}

bool Observer::IsAroundAsBefore(const std::stop_token& stop) {
  if (!root_ || !pod_) return false;
  if (minutes_without_root_list_ > 0) {
    --minutes_without_root_list_;
    return false;
  }
  std::optional<WallTime> at;
  if (!ArePodAndNamespaceAsBefore(stop, at)) return false;
  const auto root = ListRoot(*root_, stop);
  if (!root || !HasOnlyNewStatus(root_->meta, *root)) return false;
  root_seen_at_ = at;
  return true;
}

void Observer::NoteWritten(const ObjectMeta& root) {
  if (root_ && root_->meta.uid == root.uid) root_->meta = root;
}

OtherDrivers Observer::FindOtherDrivers(const Snapshot& snapshot, const std::stop_token& stop) {
  if (snapshot.others) return *snapshot.others;
  const auto reads = std::make_shared<LookReads>(clock_, kFreshEvidence);
  return FindOtherDrivers(snapshot, Patience::OfLook(reads, stop), {});
}

OtherDrivers Observer::FindOtherDrivers(const Snapshot& snapshot, const Patience& patience,
                                        std::span<const ApiRequest> beside) {
  const OwnerOfCluster owner = OwnerOf(snapshot);
  if (auto requests = cluster_probe_.DriverRequests(*snapshot.cluster, owner, patience)) {
    requests->insert(requests->end(), beside.begin(), beside.end());
    client_.ReadAhead(*requests, kUrgentReadsSideBySide, patience);
  }
  OtherDrivers drivers = cluster_probe_.FindOtherDrivers(*snapshot.cluster, owner, patience);
  if (drivers.unknown || drivers.in_use_by || !owner_name_ || !snapshot.facts.owner) return drivers;
  const OwnerRead again = ReadOwner(snapshot.cluster, patience);
  Remember(again.sight);
  if (!IsSame(*snapshot.facts.owner, again.sight)) {
    drivers.unknown = ApiError{ApiFailure::kUnexpected,
                               "the owner has changed since: " + again.sight.detail, std::nullopt};
  }
  return drivers;
}

std::optional<OwnerSight> Observer::Glance(Freshness freshness, const std::stop_token& stop) {
  if (!owner_name_ || !seen_) return std::nullopt;
  OwnerQuery query = QueryFor(*owner_name_, owner_ns_);
  query.cluster = ClusterPods(cluster_);
  OwnerSight sight = owner_probe_.Look(query, freshness, stop);
  if (IsOwnMember(cluster_, root_, sight)) return std::nullopt;
  // Its pods are found by it once it is gone: those of a CronJob come and go.
  // A cache may lag behind what was read before.
  const bool is_known = sight.object && sight.object->meta.uid == seen_->uid &&
                        IsNoLaterVersion(seen_version_, sight.object->meta.resource_version);
  if (is_known && sight.observation == Observation::kActive) {
    seen_->pod_selector = sight.fields.pod_selector;
    seen_->termination_grace = sight.fields.termination_grace;
    seen_version_ = sight.object->meta.resource_version;
  }
  return sight;
}

const RecordedOwner& Observer::Adopt(const Snapshot& snapshot) {
  return Adopt(*snapshot.facts.owner, snapshot.owner_ns, *snapshot.owner_name);
}

const RecordedOwner& Observer::Adopt(const OwnerSight& sight, const std::string& ns,
                                     const OwnerName& name) {
  seen_ = RecordedOwner{sight.object->type->SingularName(),
                        ns,
                        sight.object->meta.name,
                        sight.object->meta.uid,
                        sight.fields.termination_grace,
                        sight.fields.pod_selector,
                        sight.followed_controller ? name.ToText() : ""};
  seen_version_ = sight.object->meta.resource_version;
  return *seen_;
}

// An owner that is first seen by a read that only confirms another one, as its absence, or in a
// look that then fails, may have left its pods by the next look.
void Observer::Remember(const OwnerSight& sight) {
  if (seen_ || !sight.object || IsOwnMember(cluster_, root_, sight)) return;
  Adopt(sight, owner_ns_, *owner_name_);
}

std::vector<ApiRequest> Observer::PodAndNamespaceRequests() const {
  const Settings& settings = *settings_;
  std::vector<ApiRequest> requests = {ApiRequest::GetMetadata(Namespaces(), "", settings.ns)};
  if (!settings.pod.empty()) {
    requests.push_back(ApiRequest::Get(Pods(), settings.ns, settings.pod));
  }
  return requests;
}

void Observer::ReadPodAndNamespace(Snapshot& snapshot, const Patience& patience) {
  const Settings& settings = *settings_;
  pod_.reset();
  namespace_.reset();
  auto answers = client_.DoAll(PodAndNamespaceRequests(), kReadsSideBySide, patience);
  if (answers[0]) {
    snapshot.facts.server_time = answers[0]->server_time;
    if (auto meta = ReadObjectMeta(answers[0]->document.root())) {
      AddHold(snapshot, "namespace " + settings.ns, *meta);
      namespace_ = *std::move(meta);
    }
  } else if (answers[0].error().failure != ApiFailure::kForbidden) {
    NoteProblem(snapshot, answers[0].error());
  }
  if (settings.pod.empty()) return FindMaster(snapshot, patience);
  if (answers[1]) {
    snapshot.facts.server_time = answers[1]->server_time;
    TakePod(snapshot, answers[1]->document.root());
    if (snapshot.pod) pod_ = snapshot.pod->meta;
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
  const bool is_new = pod_uid_ != meta->uid;
  // Outside of pods any master pod does.
  if (is_new && !pod_uid_.empty() && !settings_->pod.empty()) {
    snapshot.pod_gone = true;
    return;
  }
  TextMap annotations = SettingAnnotations(*meta);
  if (settings_->pod.empty() || asks_for_people_) AddSettingsOfWatcher(pod, annotations);
  if (is_new) {
    settings_.TakeAnnotations(annotations);
    settings_at_start_ = annotations;
  }
  pod_uid_ = meta->uid;
  AddHold(snapshot, "pod " + meta->name, *meta);
  auto& errors = snapshot.facts.setting_errors;
  // A misspelt hold may have been added since the start.
  errors = settings_.ErrorsIn(annotations);
  for (std::string& change : ChangedSettings(settings_at_start_, annotations)) {
    errors.push_back(std::move(change));
  }
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
  snapshot.orders = ReadWatcherOrders(pod);
  snapshot.pod_waits = WaitsForItsWatcher(pod);
  snapshot.is_watched = IsWatched(pod);
  snapshot.pod = KubeObject{Pods(), *std::move(meta)};
}

// Outside of a pod the look starts from the cluster's own master.
void Observer::FindMaster(Snapshot& snapshot, const Patience& patience) {
  const Settings& settings = *settings_;
  const ClusterId cluster{settings.ns, settings.cluster_label, settings.cluster};
  auto listing = cluster_probe_.List(WorkloadTypes(), cluster, kReadsSideBySide, patience);
  for (const ApiError& error : listing.failed) NoteProblem(snapshot, error);
  for (const auto& [type, error] : listing.skipped) NoteProblem(snapshot, error);
  if (listing.objects.empty() && !stand_in_ && !root_) {
    snapshot.no_such_cluster = snapshot.facts.problem.empty();
    return;
  }
  snapshot.cluster = cluster;
  const KubeObject* master = nullptr;
  for (const KubeObject& object : listing.objects) {
    if (!IsMaster(object.meta) || object.meta.deleting) continue;
    const bool is_pod = object.type == Pods();
    const bool is_known = is_pod && object.meta.uid == pod_uid_;
    if (master == nullptr || is_known || (is_pod && master->type != Pods())) master = &object;
  }
  const bool has_stand_in = stand_in_ && (!root_ || root_->meta.uid == stand_in_->meta.uid);
  if (master == nullptr && has_stand_in) {
    master = FindMakerOfMasters(snapshot, listing.objects, patience);
    if (!snapshot.facts.problem.empty()) return;
  }
  if (master == nullptr && has_stand_in) {
    if (!root_) root_ = stand_in_;
    snapshot.root_is_stand_in = true;
    for (const KubeObject& object : listing.objects) {
      if (object.meta.uid == stand_in_->meta.uid) continue;
      AddHold(snapshot, "member " + object.Describe(), object.meta);
    }
    return;
  }
  if (has_stand_in) root_.reset();
  // Its pods may be gone for a moment, and nothing else of it need be labelled as a master.
  if (master == nullptr && root_) return;
  if (master == nullptr) master = FindMakerOfMasters(snapshot, listing.objects, patience);
  if (master == nullptr && !snapshot.facts.problem.empty()) return;
  if (master == nullptr) {
    return NoteProblem(snapshot, {ApiFailure::kUnexpected,
                                  "the cluster " + cluster.name +
                                      " has no master: nothing of it is labelled "
                                      "oshinko-type=master, or makes pods that are",
                                  {}});
  }
  if (master->type != Pods()) {
    if (root_) return;
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

// A master that has no pods yet, or none any more, may be told only by the template of its pods.
const KubeObject* Observer::FindMakerOfMasters(Snapshot& snapshot, const KubeObjects& objects,
                                               const Patience& patience) {
  std::vector<const KubeObject*> makers;
  std::vector<ApiRequest> reads;
  for (const KubeObject& object : objects) {
    if (object.type == Pods() || object.meta.deleting || object.meta.Controller() != nullptr) {
      continue;
    }
    makers.push_back(&object);
    reads.push_back(ApiRequest::Get(object.type, object.meta.ns(), object.meta.name));
  }
  const auto answers = client_.DoAll(reads, kReadsSideBySide, patience);
  for (std::size_t i = 0; i < makers.size(); ++i) {
    const ApiResult& read = answers[i];
    if (!read && read.error().failure == ApiFailure::kNotFound) continue;
    if (!read) NoteProblem(snapshot, read.error());
    if (read && MakesMasters(makers[i]->type, read->document.root())) return makers[i];
  }
  return nullptr;
}

void Observer::ReadRoot(Snapshot& snapshot, const Patience& patience) {
  if (!snapshot.cluster || (!snapshot.pod && !root_)) return;
  std::optional<KubeObject> root;
  if (root_) {
    MasterRoot known(client_, *root_);
    const RootState state = known.ReadWhole(patience);
    if (state == RootState::kUnknown) return NoteProblem(snapshot, known.problem());
    // A root that gets a controller is no longer the top: an orphaned ReplicaSet is adopted when
    // its Deployment is created again.
    const bool is_there = state == RootState::kOurs || state == RootState::kTerminating;
    if (is_there && ControllerUid(known.object().meta) == ControllerUid(root_->meta)) {
      root = known.object();
      TakeTemplate(snapshot, *root, known.whole());
    } else {
      // TerminationLook needs the known root, so it is kept until another is found.
      snapshot.root_changed = true;
    }
  }
  if (!root) {
    if (!snapshot.pod) return;
    JsonDocument whole;
    auto walked = cluster_probe_.RootOf(*snapshot.pod, *snapshot.cluster, {}, patience, &whole);
    if (!walked) return NoteProblem(snapshot, walked.error());
    root = *std::move(walked);
    TakeTemplate(snapshot, *root, whole.root());
  }
  root_ = root;
  if (!root->meta.deleting) root_seen_at_ = snapshot.facts.server_time;
  TakeRoot(snapshot, *std::move(root));
}

void Observer::TakeTemplate(Snapshot& snapshot, const KubeObject& root, JsonValue whole) {
  const JsonValue pods = PodTemplateOf(root.type, whole);
  if (!pods.IsObject()) return;
  snapshot.next_orders = ReadWatcherOrders(pods);
  if (!snapshot.pod && !snapshot.root_is_stand_in) TakeOrdersOfPodsToCome(snapshot, pods);
  if (auto hold = pods["metadata"]["annotations"][annotation::kHoldUntil].AsString()) {
    AddHold(snapshot, "pod template of " + root.Describe(), *hold);
  }
}

// There is no pod that could tell: none can be made, or its root is scaled to 0.
void Observer::TakeOrdersOfPodsToCome(Snapshot& snapshot, JsonValue pods) {
  TextMap annotations;
  pods["metadata"]["annotations"].ForEachMember([&](std::string_view key, JsonValue value) {
    if (auto text = value.AsString()) annotations.emplace(key, *text);
  });
  AddSettingsOfWatcher(pods, annotations);
  settings_.TakeAnnotations(annotations);
  snapshot.orders = *snapshot.next_orders;
  for (std::string& error : settings_.ErrorsIn(annotations)) {
    snapshot.facts.setting_errors.push_back(std::move(error));
  }
}

void Observer::TakeRoot(Snapshot& snapshot, KubeObject root) {
  snapshot.root = std::move(root);
  snapshot.facts.root_read = true;
  snapshot.marks = ReadMarks(snapshot.root->meta);
  snapshot.facts.app_status = snapshot.marks.app_status;
  snapshot.facts.ephemeral_label = snapshot.root->meta.Label(kEphemeralLabel);
  if (IsKept(snapshot.root->meta)) snapshot.facts.kept_root = snapshot.root->Describe();
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

ClusterOfPods Observer::ClusterPods(const std::optional<ClusterId>& cluster) const {
  ClusterOfPods pods;
  if (cluster) pods.label = {cluster->label, cluster->name};
  if (root_) pods.root_uid = root_->meta.uid;
  pods.caller_uid = caller_uid_;
  pods.caller = caller_;
  return pods;
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

bool Observer::OwnerRead::IsFor(const Observer& observer) const {
  const std::string uid = observer.seen_ ? observer.seen_->uid : "";
  return name.ToText() == observer.owner_name_->ToText() && ns == observer.owner_ns_ &&
         known_uid == uid;
}

// Recalls which owner it was that the name of `snapshot` stood for.
void Observer::RecallOwner(const Snapshot& snapshot) {
  owner_name_ = snapshot.owner_name;
  owner_ns_ = snapshot.owner_ns;
  const auto is_for_it = [&](const std::optional<RecordedOwner>& owner) {
    return owner && owner->IsFor(*owner_name_, owner_ns_);
  };
  if (!is_for_it(seen_)) seen_.reset();
  if (!seen_ && is_for_it(snapshot.marks.owner)) seen_ = snapshot.marks.owner;
}

Observer::OwnerRead Observer::ReadOwner(const std::optional<ClusterId>& cluster,
                                        const Patience& patience) {
  OwnerQuery query = QueryFor(*owner_name_, owner_ns_);
  query.cluster = ClusterPods(cluster);
  patience.reads()->TakeAsked();
  OwnerSight sight = owner_probe_.Look(query, Freshness::kSure, patience);
  return {*owner_name_,
          owner_ns_,
          seen_ ? seen_->uid : "",
          std::move(sight),
          patience.reads()->TakeAsked(),
          false};
}

// Asks for what the first read has asked for side by side.
Observer::OwnerRead Observer::ReadOwnerAgain(const OwnerRead& before,
                                             const std::optional<ClusterId>& cluster,
                                             const Patience& patience) {
  client_.ReadAhead(ThatCanBeReadAhead(before.asked), kUrgentReadsSideBySide, patience);
  return ReadOwner(cluster, patience);
}

void Observer::TakeOwner(Snapshot& snapshot, OwnerSight sight) {
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
  // It is the recorded owner's word, and says nothing about another one.
  const auto& marked = snapshot.marks.owner;
  if (!marked || !seen_ || seen_->uid != marked->uid) snapshot.facts.app_status.reset();
}

void Observer::RefuseOwnMember(Snapshot& snapshot, const OwnerSight& sight) {
  if (!snapshot.cluster) return;
  const std::string given = snapshot.owner_ns + "/" + snapshot.owner_name->ToText();
  if (!sight.object) {
    // That a worker is deleted doesn't make it a driver that is gone.
    if (sight.observation == Observation::kAbsent && own_member_ == given) {
      snapshot.facts.setting_errors.push_back("the owner " + snapshot.owner_name->ToText() +
                                              " belonged to the cluster itself before it was gone");
    }
    return;
  }
  own_member_.clear();
  if (IsOwnMember(snapshot.cluster, snapshot.root, sight)) {
    own_member_ = given;
    snapshot.facts.setting_errors.push_back("the owner " + sight.object->Describe() +
                                            " belongs to the cluster itself");
  }
}

void Observer::CompareRootOwner(Snapshot& snapshot) {
  if (!settings_->owner || !snapshot.root) return;
  Facts& facts = snapshot.facts;
  facts.root_owner = snapshot.root->meta.Annotation(annotation::kOwner);
  if (!facts.root_owner) return;
  const auto named = OwnerName::Parse(*facts.root_owner);
  facts.root_owner_agrees = named && NamesOwner(snapshot, *named, "");
}

// The label holds only a name. It also agrees if it names the object that the given owner stands
// for, or a ReplicationController of the given DeploymentConfig.
void Observer::CompareLabel(Snapshot& snapshot, const Patience& patience) {
  CompareRootOwner(snapshot);
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
  // Other drivers are looked for among the same kinds, and one that can't be listed is unknown
  // then: nothing is deleted for want of it.
  for (const auto& [type, error] : listing.skipped) {
    snapshot.facts.unlistable.push_back(type.QualifiedName());
  }
  const auto& pod = snapshot.pod;
  std::vector<KubeObject> next;
  std::vector<KubeObject> bare;
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
      if (other.meta.uid == root.meta.uid) {
        const bool is_ours = pod && pod->meta.uid == object.meta.uid;
        // Times are of a second: of two pods of one second each counts as the later one.
        const bool is_older = pod && object.meta.created < pod->meta.created;
        if (!is_ours && !is_older) next.push_back(object);
        continue;
      }
    }
    if (IsMaster(object.meta)) {
      if (is_pod && object.meta.Controller() == nullptr) {
        bare.push_back(object);
      } else {
        ambiguities.push_back(other.Describe() + kIsMasterToo);
      }
      continue;
    }
    const auto label = other.meta.Label(kEphemeralLabel);
    const std::string named =
        other.meta.Annotation(annotation::kOwner).value_or(label.value_or(""));
    auto owner = OwnerName::Parse(named);
    if (!named.empty() && snapshot.owner_name && (!owner || !NamesOwner(snapshot, *owner, ""))) {
      ambiguities.push_back(other.Describe() + " names another owner, " + Quoted(named));
    }
  }
  EachUnended(snapshot, bare, patience, [&](const KubeObject& master, JsonValue) {
    ambiguities.push_back(master.Describe() + kIsMasterToo);
  });
  FindRollout(snapshot, next, patience);
}

// An application completes in one pod, while a rollout may have begun another one, or a Job runs
// several. Whoever says so outside of a pod knows what ran then.
void Observer::FindAlsoRunning(Snapshot& snapshot, const Patience& patience) {
  const auto& owner = snapshot.facts.owner;
  const WatcherId& by = snapshot.marks.app_status_by;
  const bool is_caller = !caller_uid_.empty() || !caller_.empty();
  const auto& since = snapshot.marks.app_status_since;
  const bool is_pods = is_caller || !by.pod.empty();
  const bool is_said = snapshot.facts.app_status == "completed" && (is_pods || since);
  if (!is_said || !GoesOn(snapshot) || !owner || !owner->object) return;
  if (is_pods && owner->fields.pods_to_complete > 1) {
    snapshot.facts.also_running = owner->object->Describe() + ", of which " +
                                  std::to_string(owner->fields.pods_to_complete) +
                                  " pods have yet to succeed,";
    return;
  }
  OwnerQuery query = QueryFor(*snapshot.owner_name, snapshot.owner_ns);
  query.cluster = ClusterPods(snapshot.cluster);
  if (!is_caller) {
    query.cluster.caller_uid = by.uid;
    query.cluster.caller = by.pod;
  }
  query.cluster.has_completed = true;
  auto running = owner_probe_.FindRunning(query, *owner, patience);
  if (!running) return NoteProblem(snapshot, running.error());
  snapshot.facts.also_running = *std::move(running);
}

// `next` are the later pods of the root. The old pod's watcher must not delete the cluster of the
// driver that a rollout names, unless that is gone for as long as one that was never seen must be.
void Observer::FindRollout(Snapshot& snapshot, const std::vector<KubeObject>& next,
                           const Patience& patience) {
  const auto gone_before = std::exchange(next_gone_since_, {});
  next_asked_.clear();
  auto& ambiguities = snapshot.facts.ambiguities;
  const auto compare = [&](const std::string& what, const WatcherOrders& orders) {
    const auto how = LeadsElsewhere(snapshot, orders);
    if (!how) return;
    // Nothing is looked up where the cluster is kept anyway.
    const bool matters = ambiguities.empty() && GoesOn(snapshot) && NeedsProof(snapshot);
    if (matters && RunsAnotherDriver(snapshot, orders) && IsGone(snapshot, orders, patience)) {
      const std::string owner = orders.owner_namespace + "/" + OwnerNamedBy(orders)->ToText();
      const auto before = gone_before.find(owner);
      const MonotonicTime since = before == gone_before.end() ? clock_.Now() : before->second;
      next_gone_since_[owner] = since;
      if (clock_.Now() - since >= settings_->startup_grace) return;
    }
    ambiguities.push_back("a rollout is under way to something else: " + what + " " + *how);
  };
  if (snapshot.next_orders) {
    compare("the pod template of " + snapshot.root->Describe(), *snapshot.next_orders);
  }
  EachUnended(snapshot, next, patience, [&](const KubeObject& pod, JsonValue whole) {
    compare("the later " + pod.Describe(), ReadWatcherOrders(whole));
  });
}

// Whether the owner that they name is definitely abandoned at this moment.
bool Observer::IsGone(const Snapshot& snapshot, const WatcherOrders& orders,
                      const Patience& patience) {
  const std::string& ns = orders.owner_namespace;
  OwnerQuery query{*OwnerNamedBy(orders), "",           ns.empty() ? settings_->ns : ns,
                   settings_->ns,         std::nullopt, {}};
  query.cluster = ClusterPods(snapshot.cluster);
  patience.reads()->TakeAsked();
  const OwnerSight sight = owner_probe_.Look(query, Freshness::kSure, patience);
  std::vector<ApiRequest> asked = ThatCanBeReadAhead(patience.reads()->TakeAsked());
  next_asked_.insert(next_asked_.end(), std::make_move_iterator(asked.begin()),
                     std::make_move_iterator(asked.end()));
  if (!sight.still_running.empty() || IsOwnMember(snapshot.cluster, snapshot.root, sight)) {
    return false;
  }
  switch (sight.observation) {
    case Observation::kActive:
    case Observation::kReplaced:
    case Observation::kUnknown:
      return false;
    case Observation::kScaledToZero:
    case Observation::kAbsent:
    case Observation::kDeleting:
    case Observation::kCompleted:
      break;
  }
  return true;
}

// A list of metadata doesn't tell how far a pod is.
void Observer::EachUnended(Snapshot& snapshot, const std::vector<KubeObject>& pods,
                           const Patience& patience,
                           const std::function<void(const KubeObject&, JsonValue)>& show) {
  std::vector<ApiRequest> requests;
  for (const KubeObject& pod : pods) {
    requests.push_back(ApiRequest::Get(Pods(), pod.meta.ns(), pod.meta.name));
  }
  const auto answers = client_.DoAll(requests, kReadsSideBySide, patience);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i] && answers[i].error().failure == ApiFailure::kNotFound) continue;
    if (!answers[i]) {
      NoteProblem(snapshot, answers[i].error());
      continue;
    }
    const JsonValue pod = answers[i]->document.root();
    if (pod["metadata"]["deletionTimestamp"].AsString() || HasEnded(pod)) continue;
    show(pods[i], pod);
  }
}

void Observer::AddHold(Snapshot& snapshot, const std::string& where, const ObjectMeta& meta) {
  if (auto text = meta.Annotation(annotation::kHoldUntil)) {
    AddHold(snapshot, where, *text);
    snapshot.facts.holds.back().reason = meta.Annotation(annotation::kHoldReason).value_or("");
  }
}

void Observer::AddHold(Snapshot& snapshot, const std::string& where, std::string_view until) {
  snapshot.facts.holds.push_back({where, std::string(until), ParseTime(until)});
}

}  // namespace cluster_watcher
