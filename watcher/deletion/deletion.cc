#include "watcher/deletion/deletion.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "probes/base/names.h"
#include "probes/owner_kinds.h"

namespace cluster_watcher {
namespace {

// A root that was read so long ago is read again before a batch is sent.
constexpr Duration kRenewAfter{2'500};
// The garbage collector's time for what is left of a controller, before we do it ourselves.
constexpr Duration kLeftoverPatience{1'000};
// Past the deadline a kind that can't be listed is asked for once more.
constexpr int kLeastLatePasses = 2;
constexpr int kMostRootSends = 2;
constexpr Duration kBetweenForegroundDeletes = std::chrono::minutes(1);
constexpr Duration kBetweenReadsOfEnd{500};
constexpr Duration kBetweenReminders = std::chrono::minutes(1);
constexpr std::size_t kMostNamed = 20;

// The kind of an owner that was never seen, as far as it is said.
std::string GivenKind(const OwnerName& owner, const Settings& settings) {
  const KindName given =
      owner.IsBare() ? SplitKindName(settings.owner_kind) : KindName{owner.kind, owner.group};
  if (given.kind.empty()) return "";
  const ResourceType* built_in = FindBuiltInByName(given.kind, given.group);
  return built_in == nullptr ? given.ToText() : built_in->SingularName();
}

DeletionMemory MemoryOf(const DeletionOrder& condemned, const Settings& settings, WallTime now) {
  const Snapshot& look = condemned.look;
  DeletionMemory memory;
  memory.root_uid = look.root->meta.uid;
  if (look.root->type->kind == "StatefulSet") memory.root_set = look.root->meta.name;
  memory.mounted = look.mounted;
  memory.volumes = settings.volumes;
  const WallTime since = condemned.marks.deleting_since.value_or(now);
  memory.collect_after =
      std::chrono::floor<std::chrono::seconds>(since + settings.volume_retention);
  memory.owner_uids = condemned.other_owners;
  if (look.seen) memory.owner_uids.insert(look.seen->uid);
  if (condemned.marks.owner) memory.owner_uids.insert(condemned.marks.owner->uid);
  if (const auto& owner = look.facts.owner; owner && owner->object) {
    memory.owner = owner->object;
    memory.owner_uids.insert(owner->object->meta.uid);
    const OwnerReference* above = owner->object->meta.Controller();
    if (above != nullptr) memory.owner_controller_uid = above->uid;
  }
  if (look.owner_name && look.owner_ns == look.cluster->ns) {
    memory.owner_name = look.seen ? look.seen->name : look.owner_name->name;
    memory.owner_kind = look.seen ? look.seen->kind : GivenKind(*look.owner_name, settings);
  }
  return memory;
}

bool IsThere(RootState state) {
  return state == RootState::kOurs || state == RootState::kTerminating;
}

}  // namespace

Deletion::Deletion(const Tools& tools, const DeletionOrder& condemned, MonotonicTime began)
    : tools_(tools),
      warn_once_(tools.log),
      cluster_(*condemned.look.cluster),
      as_seen_(*condemned.look.root),
      is_asked_(condemned.is_asked),
      marks_(condemned.marks),
      seen_abandoned_(condemned.look.evidence_since),
      began_(began),
      root_(tools.client, as_seen_),
      listing_(tools, warn_once_, cluster_),
      memory_(MemoryOf(condemned, *tools.settings, tools.clock.WallNow())),
      deletes_(
          tools, cluster_, memory_.collect_after, warn_once_, [this] { return MaySend(); },
          [this] { return Renew(); }),
      survivors_(tools, cluster_),
      pace_(tools.client, tools.clock,
            static_cast<unsigned>(std::hash<std::string>()(as_seen_.meta.uid))) {}

void Deletion::Take(const DeletionOrder& order) {
  marks_ = order.marks;
  seen_abandoned_ = order.look.evidence_since;
  root_.Take(*order.look.root);
  root_state_ = order.look.root->meta.deleting ? RootState::kTerminating : RootState::kOurs;
  root_read_ = order.marked_at;
  is_taken_ = true;
}

bool Deletion::MustRootStay() {
  prepared_ = List(false);
  const HeldBack* held = WhyRootIsHeldBack();
  if (held == nullptr || held->may_pass) {
    prepared_.reset();  // steps will make it old
    return false;
  }
  root_held_back_ = held->why;
  return true;
}

Deletion::Outcome Deletion::RunPasses(MonotonicTime deadline, bool with_root) {
  // The root may go on what has just shown that the members are gone; steps make that old.
  if (!with_root) {
    is_list_old_ = std::exchange(is_taken_, false);
    if (!is_list_old_) prepared_.reset();
  }
  for (;;) {
    tools_.turn({});
    tools_.metrics.SetDeletionDuration(tools_.clock.Now() - began_);
    const bool late = tools_.clock.Now() >= deadline;
    if (!prepared_) {
      prepared_ = List(late);
      is_list_old_ = false;
    }
    if (auto why = WhyEnded()) return *why;
    LetGoOfClaims();
    if (late) ++late_passes_;
    blind_passes_ = prepared_->complete ? 0 : blind_passes_ + (late ? 1 : 0);
    // A kind that fails past the deadline too is treated as one that may not be read.
    const bool is_read = prepared_->complete || blind_passes_ >= kLeastLatePasses;
    const bool is_known = (is_read || prepared_->failed.empty()) && !prepared_->survivors.unknown;
    const HeldBack* root_held = WhyRootIsHeldBack();
    if (root_held != nullptr && ((late && is_known) || (IsWhole() && !root_held->may_pass)) &&
        (with_root || IsWhole())) {
      root_held_back_ = root_held->why;
      return Outcome::kRootMustStay;
    }
    // Nothing goes as long as the root may have to stay.
    const bool may_begin =
        (root_held == nullptr || !IsWhole()) && (!read_other_master_ || is_closed_ || late);
    const std::size_t remaining = may_begin ? SendDue(is_known, late) : 1;
    policy_ = deletes_.TakePolicy();
    if (!policy_.empty()) return Outcome::kHeld;
    pace_.Note(remaining);
    // A list from before the last look is good for the first deletes only.
    const bool is_current = !is_list_old_ || IsWhole();
    const bool is_over = remaining == 0 && is_known && is_read && is_current && root_read_;
    if (is_over) NameLeft(late);
    if (is_over && !with_root) return Outcome::kDone;
    if (is_over && root_held == nullptr && SendRoot()) return Outcome::kDone;
    if (!policy_.empty()) return Outcome::kHeld;
    if (late_passes_ >= kLeastLatePasses && tools_.gives_up) return Outcome::kGivenUp;
    if (late) SayWhatRemains();
    prepared_.reset();
    pace_.Pause(late ? MonotonicTime::max() : deadline);
  }
}

// First what there is, then whose it is: what was listed before the root was found to be ours is of
// this cluster.
Deletion::Prepared Deletion::List(bool late) {
  root_read_.reset();
  MemberListing::Listed listed = listing_.List(RepeatedReads(tools_));
  Prepared prepared;
  const bool has_root = !memory_.root_uid.empty();
  prepared.survivors = survivors_.Find(listed, has_root ? &root_.object() : nullptr, memory_, late);
  if (prepared.survivors.unknown) warn_once_(prepared.survivors.unknown->message);
  prepared.complete = listed.complete;
  prepared.failed = std::move(listed.failed);
  KubeObjects objects = std::move(listed.objects);
  const auto add = [&](KubeObject claim) {
    const bool is_marked = IsMarkedForCollection(claim.meta);
    if (is_marked && memory_.volumes == Volumes::kPreserve) prepared.used_again.push_back(claim);
    cluster_.DropWhatSaysNothing(claim.meta);
    objects.push_back(std::move(claim));
  };
  for (KubeObject& claim : listed.claims) {
    const bool is_of_set = memory_.set_claims.contains(claim.meta.uid);
    if (is_of_set || cluster_.Owns(claim.meta)) add(std::move(claim));
  }
  if (is_closed_) {
    std::erase_if(objects, [this](const KubeObject& object) {
      return memory_.MemberOf(object.meta.uid) == nullptr &&
             !memory_.left.contains(object.meta.uid);
    });
  }
  // Without a root nothing tells whose it is that is made later.
  is_closed_ = is_closed_ || (read_other_master_ && prepared.complete);
  auto left_before = memory_.left;
  prepared.members = SortMembers(std::move(objects), memory_);
  for (const std::string& mistake : prepared.members.mistakes) tools_.log.warn("{}", mistake);
  if (!prepared.complete && !late) {
    // The controller of an object may be what could not be listed.
    memory_.left = std::move(left_before);
  } else {
    NoteLeft(std::move(prepared.members.left));
  }
  return prepared;
}

void Deletion::NoteLeft(std::vector<std::string> left) {
  const std::set<std::string> told(left_.begin(), left_.end());
  for (const std::string& one : left) {
    if (!told.contains(one)) tools_.log.info("left alone: {}", one);
  }
  left_ = std::move(left);
}

RootState Deletion::ReadRoot() {
  const BootTime sent = tools_.clock.BootNow();
  root_state_ = read_other_master_ ? read_other_master_() : root_.Read(RepeatedReads(tools_));
  const bool may_go_on =
      read_other_master_ ? root_state_ == RootState::kGone : IsThere(root_state_);
  root_read_ = may_go_on ? std::optional(sent) : std::nullopt;
  if (root_state_ == RootState::kUnknown) warn_once_(root_.problem().message);
  return root_state_;
}

std::optional<Deletion::Outcome> Deletion::WhyEnded() {
  if (!root_read_) ReadRoot();
  if (read_other_master_) {
    return root_state_ == RootState::kOurs ? std::optional(Outcome::kNewMaster) : std::nullopt;
  }
  switch (root_state_) {
    case RootState::kGone:
      return deletes_.AcceptedAt(as_seen_.meta.uid) ? Outcome::kDone : Outcome::kRootGone;
    case RootState::kReplaced:
      return Outcome::kReplaced;
    case RootState::kUnknown:
      break;
    case RootState::kOurs:
    case RootState::kTerminating: {
      const ObjectMeta& root = root_.object().meta;
      const auto label = root.Label(cluster_.label);
      const bool is_others = label && *label != cluster_.name;
      const Marks marks = root_.marks();
      if (is_others || marks.phase != Phase::kDeleting) return Outcome::kCalledOff;
      if (marks.condemned_by != marks_.condemned_by) return Outcome::kOvertaken;
      if (IsKept(root) && !is_asked_) return Outcome::kKept;
      break;
    }
  }
  if (IsWhole() && IsEvidenceOld()) return Outcome::kStale;
  return std::nullopt;
}

bool Deletion::IsEvidenceOld() const {
  return AgeOf(seen_abandoned_, tools_.clock, tools_.client.dates()) >= kFreshEvidence;
}

bool Deletion::MaySend() const {
  const bool is_fresh = root_read_ && tools_.clock.BootNow() - *root_read_ < kFreshEvidence;
  const bool needs_look = IsWhole() && !read_other_master_;
  return is_fresh && !(needs_look && IsEvidenceOld());
}

bool Deletion::Renew() {
  if (root_read_ && tools_.clock.BootNow() - *root_read_ >= kRenewAfter) {
    root_read_.reset();
    if (WhyEnded()) root_read_.reset();
  }
  return MaySend();
}

void Deletion::LetGoOfClaims() {
  const auto& writes = prepared_->survivors.writes;
  if (writes.empty() || !Renew()) return;
  const auto written =
      tools_.client.DoAll(writes, static_cast<std::size_t>(tools_.settings->concurrency),
                          Patience::While([this] { return MaySend(); }));
  for (const ApiResult& one : written) {
    if (!one && one.error().failure != ApiFailure::kNotSent) warn_once_(one.error().message);
  }
}

bool Deletion::CountsAsGone(const KubeObject& object) const {
  return object.meta.deleting &&
         (tools_.until == Until::kAccepted || tools_.gives_up || tools_.hurry.stop_requested());
}

const HeldBack* Deletion::WhyHeldBack(const KubeObject& object) const {
  const auto& held_back = prepared_->survivors.held_back;
  auto held = held_back.find(object.meta.uid);
  if (held == held_back.end()) {
    const auto below = memory_.below.find(object.meta.uid);
    if (below != memory_.below.end()) held = held_back.find(below->second.ToText());
  }
  return held == held_back.end() ? nullptr : &held->second;
}

bool Deletion::IsForbidden(const KubeObject& object) const {
  const Uid* member = memory_.MemberOf(object.meta.uid);
  return deletes_.IsForbidden(object.meta.uid) ||
         (member != nullptr && deletes_.IsForbidden(*member));
}

const HeldBack* Deletion::WhyRootIsHeldBack() const {
  const auto held = prepared_->survivors.held_back.find(memory_.root_uid);
  return held == prepared_->survivors.held_back.end() ? nullptr : &held->second;
}

// What is being deleted already is waited for, and what a deleted member controls is the garbage
// collector's for a while.
bool Deletion::IsDue(const KubeObject& object, bool late) const {
  if (object.meta.deleting || WhyHeldBack(object) != nullptr) return false;
  const OwnerReference* controller = object.meta.Controller();
  const auto below = memory_.below.find(object.meta.uid);
  // An object that a member controlled, and that has lost that controller, is a member itself.
  if (controller == nullptr || below == memory_.below.end()) return true;
  if (late) return !IsForbidden(object);
  // The garbage collector may have deleted what is between before we did.
  auto accepted = deletes_.AcceptedAt(controller->uid);
  if (!accepted) accepted = deletes_.AcceptedAt(below->second);
  return accepted && tools_.clock.Now() - *accepted >= kLeftoverPatience;
}

std::size_t Deletion::SendDue(bool is_known, bool late) {
  const MemberPass& members = prepared_->members;
  if (is_known) {
    const auto stays = [this](const KubeObject& object) {
      const HeldBack* held = WhyHeldBack(object);
      return held != nullptr && !held->may_pass;
    };
    std::vector<const KubeObject*> due = DueMembers(members, memory_, late, stays);
    std::erase_if(due, [&](const KubeObject* object) { return !IsDue(*object, late); });
    // Survivors were looked for before the last look: what hardly owns anything goes first.
    const auto goes_first = [this](const KubeObject* object) {
      return !IsWorkload(object->type) && !IsForbidden(*object) &&
             FindBuiltInByName(object->type->plural, object->type->group) != nullptr;
    };
    if (is_list_old_ && std::any_of(due.begin(), due.end(), goes_first)) {
      std::erase_if(due, [&](const KubeObject* object) { return !goes_first(object); });
    }
    // Before a wave may begin, what its predecessors control must have gone as well.
    deletes_.Send(due, memory_.HasWaves() ? PropagationPolicy::kForeground : Propagation());
  }
  std::size_t remaining = 0;
  for (const auto* group : {&members.to_delete, &members.leftovers}) {
    for (const KubeObject& object : *group) {
      const HeldBack* held = WhyHeldBack(object);
      const bool stays = held != nullptr && (late || !held->may_pass);
      const bool is_forbidden = IsForbidden(object);
      // An object that is made again each time may be terminating by now.
      const bool is_sent = object.meta.deleting || deletes_.AcceptedAt(object.meta.uid);
      const bool is_let_be = (late && (is_sent || is_forbidden)) ||
                             (is_forbidden && memory_.set_claims.contains(object.meta.uid));
      if (!stays && !is_let_be && !CountsAsGone(object)) ++remaining;
    }
  }
  tools_.metrics.SetMembers(static_cast<std::int64_t>(memory_.listed.size()),
                            static_cast<std::int64_t>(remaining + members.last.size()));
  if (IsWhole()) return remaining;
  deletes_.TakeFromCollection(std::exchange(prepared_->used_again, {}));
  if (!deletes_.MarkForCollection(members.to_collect) && !late) ++remaining;
  return remaining;
}

void Deletion::NameForbidden(const KubeObject& object) {
  overdue_.push_back(object.Describe() + ": it may not be deleted");
}

void Deletion::NameLeft(bool late) {
  overdue_.clear();
  for (const auto* group : {&prepared_->members.to_delete, &prepared_->members.leftovers}) {
    for (const KubeObject& object : *group) {
      const HeldBack* held = WhyHeldBack(object);
      if (held != nullptr) {
        overdue_.push_back(object.Describe() + ": " + held->why);
      } else if (IsForbidden(object)) {
        NameForbidden(object);
      } else if (late) {
        overdue_.push_back(object.Describe() + ": not gone by the deadline");
      }
    }
  }
  for (const std::string& why : prepared_->failed) {
    overdue_.push_back("a kind that could not be listed by the deadline: " + why);
  }
  for (const std::string& left : overdue_) warn_once_(left);
}

void Deletion::SayWhatRemains() {
  if (tools_.clock.Now() - said_ < kBetweenReminders) return;
  said_ = tools_.clock.Now();
  std::vector<std::string> names = Remaining();
  names.push_back(as_seen_.Describe());
  if (names.size() > kMostNamed) names.resize(kMostNamed);
  if (prepared_->survivors.unknown) names.push_back(prepared_->survivors.unknown->message);
  tools_.log.warn("the deadline has passed, and still there are {}: tried on", Joined(names));
}

// Nothing comes between, as another list: a master pod that is rescheduled now could not start.
bool Deletion::SendRoot() {
  std::vector<const KubeObject*> due;
  for (const KubeObject& object : prepared_->members.last) {
    if (!object.meta.deleting && WhyHeldBack(object) == nullptr) due.push_back(&object);
  }
  const bool all = deletes_.Send(due, Propagation());
  policy_ = deletes_.TakePolicy();
  if (!all || !policy_.empty()) return false;
  for (const KubeObject* object : due) {
    if (IsForbidden(*object)) NameForbidden(*object);
  }
  // With a delete accepted there is time for another list.
  if (is_list_old_ && !IsWhole()) return false;
  // It is read and sent again at once where it has changed, or that fails in passing.
  for (int sends = 1; !deletes_.Send({&root_.object()}, Propagation()); ++sends) {
    if (sends == kMostRootSends) break;
    root_read_.reset();
    if (WhyEnded()) break;
  }
  policy_ = deletes_.TakePolicy();
  if (!deletes_.AcceptedAt(as_seen_.meta.uid)) return false;
  // Where it was the first delete, they had to wait for it.
  deletes_.TakeFromCollection(std::exchange(prepared_->used_again, {}));
  deletes_.MarkForCollection(prepared_->members.to_collect);
  return true;
}

Deletion::Outcome Deletion::AwaitGone(MonotonicTime deadline, const std::stop_token& stop) {
  const MonotonicTime held_at = tools_.clock.Now() + tools_.settings->operator_grace;
  MonotonicTime foreground_at = held_at;
  std::string husk;
  const bool is_watcher = tools_.until == Until::kGone && !tools_.gives_up;
  const bool is_own_pod = as_seen_.meta.uid == marks_.condemned_by.uid;
  for (;;) {
    tools_.turn({});
    const RootState state = ReadRoot();
    const auto pods = ReadPods();
    const bool is_last = pods && pods->others == 0;
    // The object under its name is somebody's new cluster.
    if (is_last && state == RootState::kReplaced) return Outcome::kDone;
    const bool is_gone =
        state == RootState::kGone || (is_own_pod && state == RootState::kTerminating);
    if (is_last && is_gone && IsAllGone(deadline)) return Outcome::kDone;
    if (tools_.until == Until::kAccepted) return Outcome::kGivenUp;
    // A watcher goes on, unless what is left waits for its own pod.
    const bool waits_for_us = is_last && !pods->own_runs;
    if (stop.stop_requested() && (!is_watcher || waits_for_us)) return Outcome::kGivenUp;
    if (state == RootState::kTerminating || state == RootState::kOurs) {
      if (auto why = WhyEnded()) return *why;
    }
    // An etcd that was restored has it again.
    if (state == RootState::kOurs) deletes_.Send({&root_.object()}, Propagation());
    const bool is_held = state == RootState::kTerminating && tools_.clock.Now() >= held_at;
    if (is_held && is_last && !pods->own_runs) {
      if (husk.empty()) husk = NameHusk();
      // Its name can't be used again.
      if (tools_.until != Until::kAllGone) {
        overdue_.push_back(husk);
        return Outcome::kDone;
      }
    }
    // A finalizer holds it, so nothing of what it owns is collected in the background.
    if (is_held && pods && tools_.clock.Now() >= foreground_at) {
      deletes_.Send({&root_.object()}, PropagationPolicy::kForeground);
      foreground_at = tools_.clock.Now() + kBetweenForegroundDeletes;
    }
    if (tools_.gives_up && tools_.clock.Now() >= deadline) return Outcome::kGivenUp;
    tools_.clock.WaitUntil(tools_.clock.Now() + kBetweenReadsOfEnd,
                           is_watcher ? std::stop_token() : stop);
  }
}

std::optional<Deletion::Pods> Deletion::ReadPods() {
  Pods found;
  const auto read = tools_.client.EachItem(
      ApiRequest::ListUnendedPods(cluster_.ns, cluster_.Selector()),
      [&](JsonValue item) {
        auto meta = ReadObjectMeta(item);
        if (!meta || !cluster_.Owns(*meta)) return;
        if (meta->uid == marks_.condemned_by.uid) {
          found.own_runs = !meta->deleting;
          return;
        }
        const OwnerReference* controller = meta->Controller();
        const auto stays = [&](const std::string& uid) {
          const auto below = memory_.below.find(uid);
          const std::string member = below == memory_.below.end() ? uid : below->second.ToText();
          return memory_.left.contains(member) || deletes_.IsForbidden(member) ||
                 (prepared_ && prepared_->survivors.held_back.contains(member));
        };
        const bool is_left = IsKept(*meta) || stays(meta->uid) ||
                             (controller != nullptr && stays(controller->uid)) ||
                             survivors_.IsAnothers(*meta, root_.object(), memory_);
        if (!is_left) ++found.others;
      },
      RepeatedReads(tools_));
  if (read) return found;
  warn_once_(read.error().message);
  // An account that may not list them is told nothing.
  if (read.error().failure == ApiFailure::kForbidden) return found;
  return std::nullopt;
}

std::string Deletion::NameHusk() {
  const auto read =
      tools_.client.Do(ApiRequest::GetMetadata(as_seen_.type, cluster_.ns, as_seen_.meta.name),
                       RepeatedReads(tools_));
  std::vector<std::string> finalizers;
  if (read) {
    for (JsonValue one : read->document.root()["metadata"]["finalizers"].Elements()) {
      finalizers.emplace_back(one.AsString().value_or(""));
    }
  }
  const std::string husk =
      as_seen_.Describe() + ": nothing of it runs, but it is held by " +
      (finalizers.empty() ? "a finalizer" : "the finalizer " + Joined(finalizers)) +
      ": see to who must take that off";
  tools_.log.warn("{}", husk);
  return husk;
}

bool Deletion::IsAllGone(MonotonicTime deadline) {
  if (tools_.until != Until::kAllGone) return true;
  prepared_ = List(true);
  const MemberPass& members = prepared_->members;
  std::vector<std::string> names;
  for (const auto* group : {&members.to_delete, &members.leftovers, &members.last}) {
    for (const KubeObject& object : *group) {
      // Nobody deletes what isn't terminating by now.
      if (object.meta.deleting) names.push_back(object.Describe());
    }
  }
  if (!names.empty()) tools_.log.info("waiting for {}", Joined(names));
  return names.empty() && (prepared_->complete || tools_.clock.Now() >= deadline);
}

std::vector<std::string> Deletion::Rehearse() {
  prepared_ = List(true);
  const MemberPass& members = prepared_->members;
  tools_.metrics.SetMembers(static_cast<std::int64_t>(memory_.listed.size()),
                            static_cast<std::int64_t>(memory_.listed.size()));
  std::vector<const KubeObject*> all;
  for (const auto* group : {&members.to_delete, &members.last}) {
    for (const KubeObject& object : *group) {
      if (WhyHeldBack(object) == nullptr) all.push_back(&object);
    }
  }
  all.push_back(&as_seen_);
  std::vector<std::string> names;
  for (const KubeObject* object : all) names.push_back(object->Describe());
  for (const KubeObject& claim : members.to_collect) {
    tools_.log.info("dry run: would mark {} for collection", claim.Describe());
  }
  NameLeft(false);
  deletes_.Rehearse(all, Propagation());
  return names;
}

std::vector<std::string> Deletion::Remaining() const {
  std::vector<std::string> names;
  if (!prepared_) return names;
  const MemberPass& members = prepared_->members;
  for (const auto* group : {&members.to_delete, &members.leftovers, &members.last}) {
    for (const KubeObject& object : *group) names.push_back(object.Describe());
  }
  return names;
}

DeletionReport Deletion::Report() const {
  DeletionReport report;
  report.found = memory_.listed.size();
  report.deletes = deletes_.results();
  report.left = listing_.skipped();
  report.left.insert(report.left.end(), left_.begin(), left_.end());
  report.left.insert(report.left.end(), overdue_.begin(), overdue_.end());
  report.overdue = overdue_.size();
  report.root_deleted = deletes_.AcceptedAt(as_seen_.meta.uid).has_value();
  return report;
}

Deletion::Outcome Deletion::DeleteListed(MonotonicTime deadline,
                                         std::function<RootState()> read_other_master) {
  memory_.root_uid.clear();
  read_other_master_ = std::move(read_other_master);
  return RunPasses(deadline, false);
}

PropagationPolicy Deletion::Propagation() const {
  return tools_.until == Until::kAllGone ? PropagationPolicy::kForeground
                                         : PropagationPolicy::kBackground;
}

}  // namespace cluster_watcher
