#include "watcher/observation/observer.h"

#include <iterator>
#include <memory>
#include <utility>

#include "probes/owner_kinds.h"
#include "watcher/observation/ambiguities.h"
#include "watcher/observation/member_kinds.h"
#include "watcher/observation/named_owner.h"

namespace cluster_watcher {
namespace {

// Reads around an owner that changes meanwhile are repeated this often.
constexpr int kMostRounds = 2;

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

std::vector<Hold> HoldsOf(const Snapshot& snapshot, const Surroundings& around) {
  HoldPlaces places;
  if (around.ns) places.ns = &*around.ns;
  if (snapshot.root) places.root = &*snapshot.root;
  if (around.resource) places.resource = &*around.resource;
  if (around.pods_to_come) places.pod_template = &around.pods_to_come->annotations;
  if (snapshot.pod) places.pods.push_back(&snapshot.pod->meta);
  for (const KubeObject& pod : around.root_pods) places.pods.push_back(&pod.meta);
  return FindHolds(places);
}

std::string WhatOptsOut(const Snapshot& look) {
  const PodSays& says = look.pod_says;
  if (look.pod && says.orders.opted_out) return "pod " + look.pod->meta.name;
  if (look.root && says.next_orders && says.next_orders->opted_out) {
    return "pod template of " + look.root->Describe();
  }
  return "";
}

}  // namespace

Observer::Observer(KubeClient& client, Discovery& discovery, Clock& clock,
                   SettingsInForce& settings)
    : client_(client),
      discovery_(discovery),
      clock_(clock),
      settings_(settings),
      owner_probe_(client, discovery),
      cluster_probe_(client, discovery),
      surroundings_(client, discovery, settings),
      rollouts_(client, clock, owner_probe_, settings) {}

Snapshot Observer::SureLook(const std::stop_token& stop, OtherDriversToo others) {
  // While it says nothing, one request in each look is enough to see that.
  const auto reads = std::make_shared<LookReads>(clock_, is_silent_ ? Duration(0) : kFreshEvidence);
  Snapshot snapshot = Look(Patience::OfLook(reads, stop), others);
  is_silent_ = !snapshot.facts.server_time && !snapshot.facts.root_read;
  return snapshot;
}

Snapshot Observer::Look(const Patience& patience, OtherDriversToo others) {
  const MonotonicTime began = clock_.Now();
  Snapshot snapshot;
  std::optional<OwnerRead> owner;
  if (auto fresh = discovery_.Refresh(patience); !fresh) {
    NoteProblem(snapshot, fresh.error());
  } else {
    snapshot = LookInRounds(owner, others, patience);
  }
  if (!snapshot.GoesOn()) rollouts_.Forget();
  snapshot.when.began = began;
  snapshot.when.evidence = patience.reads()->since();
  snapshot.facts.now = clock_.WallNow();
  snapshot.when.ended = clock_.Now();
  return snapshot;
}

Snapshot Observer::LookInRounds(std::optional<OwnerRead>& owner, OtherDriversToo others,
                                const Patience& patience) {
  // A first look has to find out first who the owner is.
  if (surroundings_.root() && surroundings_.cluster() && owner_.name) {
    owner = ReadOwner(surroundings_.cluster(), patience);
  }
  bool root_changed = false;
  for (int round = 1;; ++round) {
    Snapshot snapshot = LookAround(owner, others, patience);
    snapshot.root_changed = root_changed = root_changed || snapshot.root_changed;
    const bool is_witnessed = owner && snapshot.pod && owner->IsFor(*this);
    if (is_witnessed && !snapshot.GoesOn()) Remember(owner->sight);
    if (!snapshot.GoesOn() || !snapshot.NeedsProof()) return snapshot;
    if (std::exchange(owner->is_late, false) && round < kMostRounds) continue;
    OwnerRead again = ReadOwnerAgain(*owner, snapshot.cluster, patience);
    const bool differs =
        !IsSame(owner->sight, again.sight) && again.sight.observation != Observation::kUnknown;
    if (differs && round < kMostRounds) {
      owner = std::move(again);
      continue;
    }
    if (differs) {
      again.sight.observation = Observation::kUnknown;
      again.sight.detail = "the owner changes while it is looked at: " + again.sight.detail;
    }
    Remember(again.sight);
    snapshot.facts.owner = std::move(again.sight);
    return snapshot;
  }
}

// Whether what could keep the cluster is read at once, side by side, after `owner`.
bool Observer::IsInDoubt(const std::optional<OwnerRead>& owner) const {
  return owner && owner->sight.observation != Observation::kUnknown &&
         (owner->sight.observation != Observation::kActive || word_);
}

Snapshot Observer::LookAround(std::optional<OwnerRead>& owner, OtherDriversToo others,
                              const Patience& patience) {
  Snapshot snapshot;
  snapshot.facts.app_status = word_;
  if (IsInDoubt(owner)) {
    const auto requests = WhatCouldKeepIt(others, patience);
    patience.reads()->BeginEvidence();
    client_.ReadAhead(requests, kUrgentReadsSideBySide, patience);
  } else {
    patience.reads()->BeginEvidence();
  }
  // A problem already settles the verdict, and further requests to a hanging API server take time.
  Surroundings around = surroundings_.Read(snapshot, patience);
  FindOwnerName(*settings_, snapshot);
  if (snapshot.GoesOn()) LookAtRest(snapshot, around, owner, patience);
  snapshot.facts.holds = HoldsOf(snapshot, around);
  if (heeds_opt_out_) snapshot.facts.opted_out = WhatOptsOut(snapshot);
  const bool asks = others == OtherDriversToo::kAlways ||
                    (others == OtherDriversToo::kYes && snapshot.NeedsProof());
  if (asks && snapshot.cluster && snapshot.GoesOn()) {
    snapshot.others = WhatElseKeepsIt(snapshot, patience);
  }
  return snapshot;
}

void Observer::LookAtRest(Snapshot& snapshot, Surroundings& around, std::optional<OwnerRead>& owner,
                          const Patience& patience) {
  if (snapshot.owner_name) {
    RecallOwner(snapshot);
    if (!owner || !owner->IsFor(*this)) {
      owner = ReadOwner(snapshot.cluster, patience);
      owner->is_late = true;
    }
    TakeOwner(snapshot, owner->sight);
  }
  CompareOwnerNames(client_, *settings_, snapshot, patience);
  if (snapshot.root) {
    surroundings_.ReadMakers(around, snapshot, patience);
    FindAmbiguities(snapshot, around);
    rollouts_.Find(snapshot, around, ClusterPods(snapshot.cluster), patience);
  }
  FindAlsoRunning(snapshot, patience);
}

std::vector<ApiRequest> Observer::WhatCouldKeepIt(OtherDriversToo others,
                                                  const Patience& patience) {
  Snapshot known;  // as the last look left it
  known.owner_name = owner_.name;
  known.owner_ns = owner_.ns;
  known.seen = owner_.seen;
  std::vector<ApiRequest> requests = surroundings_.Requests(patience);
  const auto add = [&](std::vector<ApiRequest> more) {
    requests.insert(requests.end(), std::make_move_iterator(more.begin()),
                    std::make_move_iterator(more.end()));
  };
  if (others != OtherDriversToo::kNo) {
    auto drivers =
        cluster_probe_.DriverRequests(*surroundings_.cluster(), OwnerOf(known), patience);
    if (drivers) add(*std::move(drivers));
    add(ClusterProbe::MemberRequests(OtherMemberTypes(patience), *surroundings_.cluster()));
  }
  add(rollouts_.TakeAsked());
  return requests;
}

OwnerOfCluster Observer::OwnerOf(const Snapshot& snapshot) const {
  return {snapshot.owner_ns, snapshot.seen ? snapshot.seen->uid : ""};
}

OtherDrivers Observer::FindOtherDrivers(const Snapshot& snapshot, const std::stop_token& stop) {
  const auto reads = std::make_shared<LookReads>(clock_, kFreshEvidence);
  return FindOtherDrivers(snapshot, Patience::OfLook(reads, stop), {});
}

OtherDrivers Observer::FindOtherDrivers(const Snapshot& snapshot, const Patience& patience,
                                        std::span<const ApiRequest> beside) {
  const OwnerOfCluster owner = OwnerOf(snapshot);
  if (auto used = cluster_probe_.FindLastUser(*snapshot.cluster, owner, patience)) return *used;
  if (auto requests = cluster_probe_.DriverRequests(*snapshot.cluster, owner, patience)) {
    requests->insert(requests->end(), beside.begin(), beside.end());
    for (ApiRequest& list :
         ClusterProbe::MemberRequests(OtherMemberTypes(patience), *snapshot.cluster)) {
      requests->push_back(std::move(list));
    }
    client_.ReadAhead(*requests, kUrgentReadsSideBySide, patience);
  }
  OtherDrivers drivers = WhatElseKeepsIt(snapshot, patience);
  if (drivers.Keeps() || !owner_.name || !snapshot.facts.owner) return drivers;
  const OwnerRead again = ReadOwner(snapshot.cluster, patience);
  Remember(again.sight);
  if (!IsSame(*snapshot.facts.owner, again.sight)) {
    const bool is_read = again.sight.observation != Observation::kUnknown;
    drivers.unknown =
        ApiError{ApiFailure::kUnexpected,
                 (is_read ? "the owner has changed since: " : "the owner can't be read again: ") +
                     again.sight.detail,
                 std::nullopt};
  }
  return drivers;
}

OtherDrivers Observer::WhatElseKeepsIt(const Snapshot& snapshot, const Patience& patience) {
  OtherDrivers drivers =
      cluster_probe_.FindOtherDrivers(*snapshot.cluster, OwnerOf(snapshot), patience);
  if (snapshot.root) LookAtOtherMembers(snapshot, OtherMemberTypes(patience), drivers, patience);
  return drivers;
}

// They may be many, so they are listed only where all else abandons the cluster.
std::vector<ResourceType> Observer::OtherMemberTypes(const Patience& patience) {
  auto types = NamedMemberTypes(*settings_, discovery_, patience);
  if (!types) return {};
  std::erase_if(*types, [](const ResourceType& type) { return CanBeMaster(type); });
  return *std::move(types);
}

void Observer::LookAtOtherMembers(const Snapshot& snapshot, std::span<const ResourceType> types,
                                  OtherDrivers& drivers, const Patience& patience) {
  if (drivers.Keeps() || types.empty()) return;
  cluster_probe_.EachMember(
      types, *snapshot.cluster,
      [&](const KubeObject& object) {
        if (!drivers.misconfigured) drivers.misconfigured = KeptBelowRoot(*snapshot.root, object);
        if (!drivers.ambiguous) drivers.ambiguous = NamesAnotherOwner(snapshot, object);
      },
      patience);
}

std::optional<OwnerSight> Observer::Glance(Freshness freshness, const std::stop_token& stop) {
  if (!owner_.name || !owner_.seen) return std::nullopt;
  OwnerSight sight = owner_probe_.Look(QueryForOwner(surroundings_.cluster()), freshness, stop);
  if (IsOwnMember(surroundings_.cluster(), surroundings_.root(), sight)) return std::nullopt;
  // Its pods are found by it once it is gone: those of a CronJob come and go.
  // A cache may lag behind what was read before.
  const bool is_known = sight.object && sight.object->meta.uid == owner_.seen->uid &&
                        IsNoLaterVersion(owner_.version, sight.object->meta.resource_version);
  if (is_known && sight.observation == Observation::kActive) {
    owner_.seen->pod_selector = sight.fields.pod_selector;
    owner_.seen->termination_grace = sight.fields.termination_grace;
    owner_.version = sight.object->meta.resource_version;
  }
  return sight;
}

const RecordedOwner& Observer::Adopt(const Snapshot& snapshot) {
  owner_.name = snapshot.owner_name;
  owner_.ns = snapshot.owner_ns;
  return Adopt(*snapshot.facts.owner);
}

const RecordedOwner& Observer::Adopt(const OwnerSight& sight) {
  owner_.seen = RecordedOwner{sight.object->type->SingularName(),
                              owner_.ns,
                              sight.object->meta.name,
                              sight.object->meta.uid,
                              sight.fields.termination_grace,
                              sight.fields.pod_selector,
                              sight.followed_controller ? owner_.name->ToText() : "",
                              IsOwnMember(surroundings_.cluster(), surroundings_.root(), sight)};
  owner_.version = sight.object->meta.resource_version;
  return *owner_.seen;
}

// An owner that is first seen by a read that only confirms another one, as its absence, or in a
// look that then fails, may have left its pods by the next look.
void Observer::Remember(const OwnerSight& sight) {
  if (!owner_.seen && sight.object) Adopt(sight);
}

ClusterOfPods Observer::ClusterPods(const std::optional<ClusterId>& cluster) const {
  ClusterOfPods pods;
  pods.id = cluster;
  if (surroundings_.root()) pods.root_uid = surroundings_.root()->meta.uid;
  pods.caller_uid = caller_.uid;
  pods.caller = caller_.name;
  return pods;
}

OwnerQuery Observer::QueryForOwner(const std::optional<ClusterId>& cluster) const {
  const Settings& settings = *settings_;
  return {*owner_.name,
          settings.owner_kind,
          owner_.ns,
          settings.ns,
          owner_.seen,
          settings.completed_when,
          settings.owner_container,
          ClusterPods(cluster)};
}

std::string Observer::OwnerKind(const Snapshot& snapshot) const {
  if (snapshot.seen) return snapshot.seen->kind;
  const Settings& settings = *settings_;
  const auto& name = snapshot.owner_name ? snapshot.owner_name : settings.owner;
  if (!name || name->IsBare()) return settings.owner_kind;
  return KindName{name->kind, name->group}.ToText();
}

bool Observer::OwnerRead::IsFor(const Observer& observer) const {
  const auto& owner = observer.owner_;
  return name.ToText() == owner.name->ToText() && ns == owner.ns &&
         known_uid == (owner.seen ? owner.seen->uid : "");
}

// Recalls which owner it was that the name of `snapshot` stood for.
void Observer::RecallOwner(const Snapshot& snapshot) {
  owner_.name = snapshot.owner_name;
  owner_.ns = snapshot.owner_ns;
  const auto is_for_it = [&](const std::optional<RecordedOwner>& owner) {
    return owner && owner->IsFor(*owner_.name, owner_.ns);
  };
  if (!is_for_it(owner_.seen)) owner_.seen.reset();
  if (!owner_.seen && is_for_it(snapshot.marks.owner)) owner_.seen = snapshot.marks.owner;
}

Observer::OwnerRead Observer::ReadOwner(const std::optional<ClusterId>& cluster,
                                        const Patience& patience) {
  patience.reads()->TakeAsked();
  OwnerSight sight = owner_probe_.Look(QueryForOwner(cluster), Freshness::kConsistent, patience);
  return {*owner_.name,
          owner_.ns,
          owner_.seen ? owner_.seen->uid : "",
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
  auto& errors = snapshot.facts.setting_errors;
  if (!sight.is_of_recorded_kind) owner_.seen.reset();
  if (!sight.setting_problem.empty()) errors.push_back(sight.setting_problem);
  const bool is_member = IsOwnMember(snapshot.cluster, snapshot.root, sight);
  if (is_member) {
    errors.push_back("the owner " + sight.object->Describe() + " belongs to the cluster itself");
  } else if (sight.observation == Observation::kAbsent && owner_.seen && owner_.seen->is_member) {
    // That a worker is deleted doesn't make it a driver that is gone.
    errors.push_back("the owner " + snapshot.owner_name->ToText() +
                     " belonged to the cluster itself before it was gone");
  }
  // A new controller of the Pod or ReplicaSet is the owner from now on.
  const bool followed = sight.followed_controller && sight.observation != Observation::kReplaced;
  const bool same = sight.object && (!owner_.seen || is_member || followed ||
                                     owner_.seen->uid == sight.object->meta.uid);
  snapshot.facts.owner = std::move(sight);
  if (same) Adopt(*snapshot.facts.owner);
  snapshot.seen = owner_.seen;
}

// The driver says that it has ended. One pod of it says so, and is about to end itself.
void Observer::FindAlsoRunning(Snapshot& snapshot, const Patience& patience) {
  const auto& owner = snapshot.facts.owner;
  const bool is_said = snapshot.facts.app_status == "completed";
  if (!is_said || !snapshot.GoesOn() || !owner || !owner->object) return;
  if (owner->fields.pods_to_complete > 1) {
    snapshot.facts.also_running = owner->object->Describe() + ", of which " +
                                  std::to_string(owner->fields.pods_to_complete) +
                                  " pods have yet to succeed,";
    return;
  }
  OwnerQuery query = QueryForOwner(snapshot.cluster);
  query.cluster.has_completed = true;
  auto running = owner_probe_.FindRunning(query, *owner, patience);
  if (!running) return NoteProblem(snapshot, running.error());
  snapshot.facts.also_running = *std::move(running);
}

}  // namespace cluster_watcher
