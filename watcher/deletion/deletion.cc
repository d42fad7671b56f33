#include "watcher/deletion/deletion.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "probes/base/names.h"
#include "probes/base/time_text.h"
#include "watcher/decision/rules.h"
#include "watcher/deletion/half_proof.h"
#include "watcher/deletion/kept_owners.h"
#include "watcher/deletion/objects_by_uid.h"
#include "watcher/observation/next_master.h"
#include "watcher/protocol/owner_reference.h"

namespace cluster_watcher {
namespace {

constexpr int kLatePasses = 2;
constexpr int kMostLatePasses = 6;
constexpr int kMostHandOvers = 3;
constexpr int kMostOrphanMarks = 5;
constexpr std::size_t kMostFirstDeletes = 16;
// Controllers write status all the time, so a conflict about the root is nothing unusual.
constexpr int kMostRootConflicts = 10;
// Kinds that can't be listed in passing may hold what others own and is to be kept.
constexpr Duration kPatienceWithKinds{10'000};
// After a delete of the root whose answer was lost.
constexpr Duration kPatienceWithRoot = std::chrono::minutes(1);
// With what can't be told or read behind the root: our own pod has its grace period, and no more.
constexpr Duration kPatienceBehindRoot{10'000};
// The garbage collector's time for what is left of a controller, before we do it ourselves.
constexpr Duration kLeftoverPatience{1'000};
constexpr const char* kNotGone = ": not gone by the deadline";
constexpr const char* kNotTold = ": whether it is left over could not be told by the deadline";

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

bool IsGoing(RootState state) {
  return state == RootState::kGone || state == RootState::kTerminating;
}

}  // namespace

Deletion::Deletion(const Tools& tools, const DeletionOrder& condemned, MonotonicTime since)
    : tools_(tools),
      warn_once_(tools.log),
      cluster_(*condemned.look.cluster),
      as_seen_(*condemned.look.root),
      owner_(condemned.look.facts.owner ? condemned.look.facts.owner->object : std::nullopt),
      marks_(condemned.marks),
      seen_abandoned_(condemned.look.evidence_since),
      root_seen_at_(condemned.look.root_seen_at),
      root_seen_version_(condemned.look.root_seen_version),
      is_stand_in_(condemned.look.root_is_stand_in),
      server_ahead_(ServerNow(condemned.look, tools.clock) - tools.clock.WallNow()),
      since_(since),
      root_(tools.client, as_seen_),
      listing_(tools, warn_once_, cluster_),
      orphans_(tools, warn_once_, cluster_,
               [this](const KubeObject& object) {
                 return MustSurvive(object, memory_) ||
                        object.meta.uid == memory_.owner_controller_uid;
               }),
      memory_(MemoryOf(condemned, *tools.settings, tools.clock.WallNow())),
      deletes_(
          tools, cluster_, memory_.collect_after, warn_once_, [this] { return MaySend(); },
          [this] { return IsWhole(); },
          [this](const std::string& refusal) { return IsHeld(refusal); }),
      pace_(tools.client, tools.clock,
            static_cast<unsigned>(std::hash<std::string>()(as_seen_.meta.uid))),
      needs_evidence_(!condemned.marks.deletes_begun),
      resumed_(!needs_evidence_) {
  if (resumed_) orphans_.TakeUp(marks_.first_deletes);
  if (is_stand_in_) {
    CountOnlyOlderThanDeletion();
    deletes_.LeaveConflicts();
  }
}

bool Deletion::Prepare(MonotonicTime tried_since, bool again) {
  kept_owners_unknown_since_ = tried_since;
  const bool late = tools_.clock.Now() - tried_since >= tools_.settings->delete_deadline;
  is_repeated_ = again;
  MemberListing::Listed listed = listing_.List(RepeatedReads(tools_));
  // An account that may list nothing is a mistake: the permissions that it lacks are told.
  if (!listed.any && !(late && !listed.failed.empty())) return false;
  prepared_ = Prepared{Sort(listed, true), listed.complete, std::move(listed.failed)};
  if (kept_owners_unknown_since_ && !HasWaitedForKeptOwners()) return false;
  return ChooseFirst(late);
}

// To settle claims, and to find what loses its owner, takes its time, and evidence is fresh for
// seconds: so what needs neither goes first, or it is done now.
bool Deletion::ChooseFirst(bool late) {
  std::vector<const KubeObject*> due = DueMembers(prepared_->members, memory_, late);
  std::erase_if(due, [&](const KubeObject* object) { return !IsDue(*object, late); });
  const auto rest = std::stable_partition(due.begin(), due.end(), [this](const KubeObject* object) {
    return object->type->kind != "StatefulSet" && !MustOrphan(*object, false);
  });
  const bool needs_more = rest == due.begin();
  if (!needs_more) due.erase(rest, due.end());
  // What has another owner may be garbage collected by itself, and isn't named.
  std::stable_partition(due.begin(), due.end(), [this](const KubeObject* object) {
    return FirstDelete::Of(*object).ProvesHalf() && !HasOtherOwner(*object);
  });
  due.resize(std::min(due.size(), kMostFirstDeletes));
  const bool any_due = !due.empty();
  if (needs_more) {
    std::erase_if(
        due, [&](const KubeObject* object) { return !deletes_.SettleClaimsOf(*object) && !late; });
    std::vector<const KubeObject*> owners;
    std::copy_if(due.begin(), due.end(), std::back_inserter(owners),
                 [&](const KubeObject* object) { return MustOrphan(*object, late); });
    if (!owners.empty() && !FindOrphansOf(owners, late)) return false;
    for (const KubeObject* owner : owners) first_orphaning_.insert(owner->meta.uid);
  }
  for (const KubeObject* object : due) {
    first_uids_.insert(object->meta.uid);
    if (!HasOtherOwner(*object)) first_deletes_.push_back(FirstDelete::Of(*object));
  }
  for (const auto& more : {orphans_.Marks(), deletes_.WaitingClaims()}) {
    first_deletes_.insert(first_deletes_.end(), more.begin(), more.end());
  }
  return !due.empty() || !any_due;
}

bool Deletion::HasOtherOwner(const KubeObject& object) const {
  const auto& owners = object.meta.owner_references();
  return std::any_of(owners.begin(), owners.end(), [this](const OwnerReference& owner) {
    return owner.uid != as_seen_.meta.uid;
  });
}

void Deletion::Begin(const DeletionOrder& order) {
  marks_ = order.marks;
  seen_abandoned_ = order.look.evidence_since;
  root_seen_at_ = order.look.root_seen_at;
  root_seen_version_ = order.look.root_seen_version;
  server_ahead_ = ServerNow(order.look, tools_.clock) - tools_.clock.WallNow();
  root_.Take(*order.look.root);
}

bool Deletion::IsWhole() const { return needs_evidence_ && !deletes_.any_accepted(); }

bool Deletion::IsStale(RootState root) const {
  if (!IsWhole()) return false;
  const bool called_off = root == RootState::kOurs && !NamesUs(root_.marks());
  return called_off || IsGoing(root) || IsEvidenceOld();
}

bool Deletion::IsEvidenceOld() const {
  return AgeOf(seen_abandoned_, tools_.clock, tools_.client.dates()) >= kFreshEvidence;
}

// While the cluster is whole, its last look's mark was just written; and its evidence must last.
bool Deletion::IsHeld(const std::string& refusal) {
  if (IsWhole()) return false;
  // Where there is no root no mark can be tried.
  policy_ = root_is_gone_ || root_deleted_ ? refusal : root_.PolicyAgainstMarks().value_or("");
  if (IsOfGuard(policy_)) policy_.clear();  // that doesn't end by itself
  return !policy_.empty();
}

Deletion::Outcome Deletion::DeleteMembers(MonotonicTime deadline) {
  for (int late_passes = 0;;) {
    tools_.turn({});
    tools_.metrics.SetDeletionDuration(tools_.clock.Now() - since_);
    if (prepared_) {
      if (IsStale(RootState::kUnknown)) return Outcome::kStale;
      const bool late = tools_.clock.Now() >= deadline;
      const int conflicts = deletes_.conflicts();
      const Pass pass = DeletePass(prepared_->members, late);
      if (!late && IsWhole() && first_sent_ == FirstSent::kRefused) return Outcome::kStale;
      // The root is what goes first now, and on a slow API server its evidence doesn't last for
      // another list.
      const bool none_left =
          first_sent_ == FirstSent::kNone && prepared_->complete && pass.remaining == 0;
      const bool few = first_sent_ != FirstSent::kFailed || late_passes + 1 >= kLatePasses;
      if (IsWhole() && (late ? few : none_left && is_repeated_)) {
        if (late) {
          NameOverdue(pass, prepared_->failed);
          members_left_ = true;
        }
        prepared_.reset();
        return Outcome::kDone;
      }
      if (late) {
        ++late_passes;
        pace_.Settle();
      }
      // What failed in passing is sent again while its evidence is fresh; what was changed
      // meanwhile has to be listed again.
      const bool again = IsWhole() && first_sent_ == FirstSent::kFailed;
      if (!again || deletes_.conflicts() > conflicts) prepared_.reset();
      pace_.Pause(late ? MonotonicTime::max() : deadline);
      continue;
    }
    // First what there is, then whose it is: what was listed before the root was found to be ours
    // is of this cluster, however long we were held up in between.
    MemberListing::Listed listed = listing_.List(RepeatedReads(tools_));
    const RootState root = ReadRoot();
    if (auto outcome = WhyNotRoot(root)) return *outcome;
    if (root == RootState::kOurs) {
      const Standing standing = RestoreMarks();
      if (standing == Standing::kCalledOff) return Outcome::kCalledOff;
      if (standing == Standing::kUnknown) {
        pace_.Pause(MonotonicTime::max());
        continue;
      }
      if (IsHeld()) return Outcome::kHeld;
    }
    const bool late = tools_.clock.Now() >= deadline;
    if (IsSomebodyElses(root, listed.objects)) return Outcome::kOtherMaster;
    const bool counts = LearnWhatIsListed(root, listed.complete);
    const Pass pass = DeletePass(Sort(listed, counts), late);
    const bool sure = listed.complete && root != RootState::kUnknown;
    if (sure && pass.remaining == 0) {
      tools_.log.info("all {} members are gone{}", memory_.listed.size(),
                      mounted_.empty() ? "" : " but for what the master mounts");
      members_left_ = false;
      return Outcome::kDone;
    }
    if (late) {
      ++late_passes;
      pace_.Hurry(late_passes);
      // While the cluster is whole, the root's delete needs the same fresh evidence.
      const bool few = (sure && pass.all_sent) || IsWhole();
      if (late_passes >= (few ? kLatePasses : kMostLatePasses)) {
        NameOverdue(pass, listed.failed);
        members_left_ = true;
        return Outcome::kDone;
      }
    }
    pace_.Pause(late ? MonotonicTime::max() : deadline);
  }
}

bool Deletion::IsSomebodyElses(RootState root, const KubeObjects& objects) const {
  if (!IsGoing(root) && !is_stand_in_) return false;
  const KubeObject* master =
      is_stand_in_ ? FindNewMaster(objects) : FindOtherMaster(objects, memory_);
  if (master == nullptr) return false;
  // What the root controlled has lost it if we deleted it with Orphan.
  return !IsOrphan(master->meta.uid);
}

const KubeObject* Deletion::FindNewMaster(const KubeObjects& objects) const {
  if (const KubeObject* master = FindOtherMaster(objects, memory_)) return master;
  for (const KubeObject* object : NewWorkloads(objects, memory_)) {
    const auto read = tools_.client.Do(
        ApiRequest::Get(object->type, cluster_.ns, object->meta.name), RepeatedReads(tools_));
    if (!read && read.error().failure == ApiFailure::kNotFound) continue;
    if (!read || IsMaster(object->type, read->document.root())) return object;
  }
  return nullptr;
}

bool Deletion::LearnWhatIsListed(RootState root, bool complete) {
  const bool resumed = resumed_;
  if (complete) resumed_ = false;
  // A cluster without a master is left over, and what is made now is of another one.
  if (is_stand_in_) {
    CountOnlyOlderThanDeletion();
    return memory_.made_before.has_value();
  }
  if (root == RootState::kOurs) {
    memory_.made_before.reset();
    return true;
  }
  if (!resumed) return false;
  // The watcher that began it had listed what was there with the root. So do we, as far as we know
  // what that was.
  CountOnlyOlderThanRoot();
  // A root that was terminating already when this watcher started was there at its point of no
  // return.
  if (!memory_.made_before) memory_.made_before = marks_.deleting_since;
  return memory_.made_before.has_value();
}

// Of what was made in the same second, what hasn't changed since the last look is older.
void Deletion::CountOnlyOlderThanDeletion() {
  memory_.made_before = marks_.deleting_since;
  memory_.made_before_version = root_seen_version_;
}

void Deletion::CountOnlyOlderThanRoot() {
  memory_.made_before = root_seen_at_;
  // A root that is terminating was there until the version that says so.
  const std::string& root = root_.object().meta.resource_version;
  memory_.made_before_version =
      IsNoLaterVersion(root, root_seen_version_) ? root_seen_version_ : root;
}

bool Deletion::MaySend() const {
  const bool is_old = finishes_ && !deletes_.any_accepted() && IsEvidenceOld();
  return !is_old && !root_forbids_ && !IsStale(RootState::kUnknown);
}

bool Deletion::FinishMembers(MonotonicTime deadline,
                             const std::function<std::optional<EvidenceSince>()>& look_again,
                             const std::function<void()>& tell_that_it_is_held) {
  CountOnlyOlderThanRoot();
  memory_.mounted.clear();
  memory_.root_set.clear();
  needs_evidence_ = false;  // `look_again` brings it
  finishes_ = true;
  if (!memory_.made_before) return false;
  for (bool first = true; tools_.clock.Now() < deadline;) {
    tools_.turn({});
    if (IsHeld()) {
      tell_that_it_is_held();
      pace_.Pause(deadline);
      continue;
    }
    MemberListing::Listed listed = listing_.List(RepeatedReads(tools_));
    // To list may have taken its time.
    if (!first || IsEvidenceOld()) {
      const auto since = look_again();
      if (!since) return false;
      seen_abandoned_ = *since;
    }
    if (!IsGoing(ReadRoot())) return false;
    // The first list is the one that counts; nothing that appears later is ours to delete.
    const Pass pass = DeletePass(Sort(listed, std::exchange(first, false)), false);
    if (listed.complete && pass.remaining == 0) return true;
    if (!deletes_.TakePolicy().empty() && !policy_.empty()) tell_that_it_is_held();
    pace_.Pause(deadline);
  }
  return false;
}

bool Deletion::DeleteListed(MonotonicTime deadline, MemberListing::Listed first) {
  root_is_gone_ = true;
  is_without_root_ = true;
  deletes_.LeaveConflicts();
  needs_evidence_ = false;
  memory_.mounted.clear();
  memory_.root_set.clear();
  const WallTime began = tools_.clock.WallNow() + server_ahead_;
  bool counts = true;
  for (MemberListing::Listed listed = std::move(first);;) {
    tools_.turn({});
    // There is no root to try a mark on.
    if (!listed.objects.empty()) {
      MasterRoot any(tools_.client, listed.objects.front());
      policy_ = any.PolicyAgainstMarks().value_or("");
      if (!policy_.empty() && !IsOfGuard(policy_)) return false;
    }
    const bool late = tools_.clock.Now() >= deadline;
    const Pass pass = DeletePass(Sort(listed, counts), late);
    counts = counts && !listed.complete;
    // What could not be listed at first counts once it can, but for what was made since.
    memory_.made_before = began;
    if (listed.complete && pass.remaining == 0) return true;
    policy_ = deletes_.TakePolicy();
    if (late) NameOverdue(pass, listed.failed);
    if (late || !policy_.empty()) return false;
    pace_.Pause(deadline);
    listed = listing_.List(RepeatedReads(tools_));
    if (const KubeObject* master = FindNewMaster(listed.objects)) {
      overdue_ = {"it has a new master, " + master->Describe() + ", whose members stay"};
      return false;
    }
  }
}

std::optional<std::vector<std::string>> Deletion::Remaining() {
  CountOnlyOlderThanRoot();
  MemberListing::Listed listed = listing_.List(RepeatedReads(tools_));
  const RootState root = ReadRoot();
  if (!listed.complete || root == RootState::kUnknown) return std::nullopt;
  const bool with_claims = tools_.settings->volumes == Volumes::kDelete;
  std::vector<std::pair<std::string, std::string>> found;  // UIDs and names
  for (const KubeObject& object : listed.objects) {
    const bool is_claim = object.type->kind == "PersistentVolumeClaim";
    const bool is_root = object.meta.uid == as_seen_.meta.uid;
    if (is_root || (is_claim && !with_claims) || MustSurvive(object, memory_)) continue;
    found.emplace_back(object.meta.uid, object.Describe());
  }
  Sort(listed, true);  // tells what is left alone, such as somebody's new cluster
  std::vector<std::string> names;
  for (const auto& [uid, name] : found) {
    if (!memory_.left.contains(uid)) names.push_back(name);
  }
  if (root == RootState::kOurs || root == RootState::kTerminating) {
    names.push_back(as_seen_.Describe());
  }
  return names;
}

std::vector<std::string> Deletion::Rehearse() {
  MemberPass pass = SortMembers(listing_.List().objects, true, memory_);
  tools_.metrics.SetMembers(static_cast<std::int64_t>(memory_.listed.size()),
                            static_cast<std::int64_t>(memory_.listed.size()));
  std::vector<const KubeObject*> all;
  for (const KubeObject& object : pass.to_delete) all.push_back(&object);
  for (const KubeObject& object : pass.mounted) all.push_back(&object);
  all.push_back(&as_seen_);
  std::vector<std::string> names;
  for (const KubeObject* object : all) names.push_back(object->Describe());
  for (const KubeObject& claim : pass.to_collect) {
    tools_.log.info("dry run: would mark {} for collection", claim.Describe());
  }
  for (const std::string& left : pass.left) tools_.log.info("dry run: would leave {}", left);
  for (const std::string& mistake : pass.mistakes) tools_.log.warn("dry run: {}", mistake);
  deletes_.Rehearse(all, Propagation());
  return names;
}

DeletionReport Deletion::Report() const {
  DeletionReport report;
  report.found = memory_.listed.size();
  report.deletes = deletes_.results();
  report.left = listing_.skipped();
  report.left.insert(report.left.end(), left_.begin(), left_.end());
  report.left.insert(report.left.end(), overdue_.begin(), overdue_.end());
  report.overdue = !overdue_.empty();
  report.root_deleted = root_deleted_;
  return report;
}

RootState Deletion::ReadRoot() {
  root_forbids_ = false;
  const RootState state = root_.Read(RepeatedReads(tools_));
  root_is_gone_ = state == RootState::kGone;
  if (state == RootState::kUnknown) warn_once_(root_.problem().message);
  return state;
}

bool Deletion::NamesUs(const Marks& marks) const {
  return marks.phase == Phase::kDeleting && marks.condemned_by == marks_.condemned_by;
}

bool Deletion::IsOvertaken() const {
  const Marks now = root_.marks();
  return now.phase == Phase::kDeleting && !NamesUs(now);
}

// If somebody took them off half a cluster is finished, and a watcher that comes after a crash must
// know. But another watcher may have taken over while we hung, and have spared the cluster.
Deletion::Standing Deletion::RestoreMarks() {
  const Marks now = root_.marks();
  if (NamesUs(now) && now.deletes_begun) return Standing::kOurs;
  if (!NamesUs(now)) {
    Marks ours = marks_;
    ours.deletes_begun = true;
    const HalfProof proof = ProveHalf(tools_, warn_once_, cluster_, as_seen_.meta.uid, ours,
                                      tools_.clock.WallNow() + server_ahead_);
    if (proof.wholeness == Wholeness::kUnknown) return Standing::kUnknown;
    if (proof.wholeness == Wholeness::kMayWhole) return Standing::kCalledOff;
  }
  AnnotationChanges changes = PointOfNoReturn();
  changes[annotation::kDeletesBegun] = "true";
  changes[annotation::kFirstDeletes] = FirstDeletesMark(marks_.first_deletes);
  auto written = root_.WriteMarks(changes);
  if (written) return Standing::kOurs;
  warn_once_(written.error().message);
  // Who wrote meanwhile may have taken it over.
  return written.error().failure == ApiFailure::kConflict ? Standing::kUnknown : Standing::kOurs;
}

AnnotationChanges Deletion::PointOfNoReturn() const {
  AnnotationChanges changes = {{annotation::kPhase, ToString(Phase::kDeleting)},
                               {annotation::kReason, marks_.reason},
                               {annotation::kCondemnedBy, marks_.condemned_by.ToText()}};
  if (marks_.deleting_since) {
    changes[annotation::kDeletingSince] = FormatTime(*marks_.deleting_since);
  }
  return changes;
}

MemberPass Deletion::Sort(MemberListing::Listed& listed, bool counts_as_listed) {
  KubeObjects objects = std::exchange(listed.objects, {});
  const auto members = static_cast<std::ptrdiff_t>(objects.size());
  objects.insert(objects.end(), listed.preserved.begin(), listed.preserved.end());
  if (owner_) objects.push_back(*owner_);
  auto above = OwnersAbove(
      tools_.client, tools_.discovery, objects,
      [this](const KubeObject& object) { return MustSurvive(object, memory_); },
      RepeatedReads(tools_));
  if (above && listed.complete) {
    kept_owners_unknown_since_.reset();
  } else if (!kept_owners_unknown_since_) {
    kept_owners_unknown_since_ = tools_.clock.Now();
  }
  if (above) kept_owners_.merge(*above);
  if (!above) warn_once_(above.error().message);
  objects.erase(objects.begin() + members, objects.end());
  MemberPass pass = SortMembers(std::move(objects), counts_as_listed, memory_);
  std::copy_if(listed.preserved.begin(), listed.preserved.end(),
               std::back_inserter(pass.used_again),
               [](const KubeObject& claim) { return IsMarkedForCollection(claim.meta); });
  for (const std::string& mistake : pass.mistakes) tools_.log.warn("{}", mistake);
  for (const std::string& left : pass.left) tools_.log.info("left alone: {}", left);
  left_.insert(left_.end(), pass.left.begin(), pass.left.end());
  return pass;
}

Deletion::Pass Deletion::DeletePass(const MemberPass& members, bool past_deadline) {
  tools_.metrics.SetMembers(static_cast<std::int64_t>(memory_.listed.size()),
                            static_cast<std::int64_t>(members.remaining()));
  std::vector<const KubeObject*> due = DueMembers(members, memory_, past_deadline);
  std::erase_if(due, [&](const KubeObject* object) { return !IsDue(*object, past_deadline); });
  Pass pass;
  pass.remaining = members.remaining();
  for (const auto* group : {&members.to_delete, &members.leftovers}) {
    pass.remaining -= static_cast<std::size_t>(
        std::count_if(group->begin(), group->end(),
                      [this](const KubeObject& object) { return CountsAsGone(object); }));
    for (const KubeObject& object : *group) {
      if (object.meta.deleting) terminating_.insert(object.meta.uid);
    }
  }
  const auto name = [&](const KubeObjects& objects, const char* why) {
    for (const KubeObject& object : objects) {
      if (past_deadline) pass.left.push_back(object.Describe() + why);
    }
  };
  name(members.to_delete, kNotGone);
  name(members.leftovers, kNotGone);
  name(members.to_collect, ": not marked for collection by the deadline");
  const bool none_due = due.empty();
  pass.all_sent = SendDue(std::move(due), past_deadline);
  if (!IsWhole() && !orphans_.empty()) DeleteOrphans(past_deadline, pass);
  // Where only claims are left there is no delete that could be accepted before.
  const bool may_mark = !IsWhole() || (none_due && MaySend());
  if (may_mark && !deletes_.MarkForCollection(members.to_collect)) pass.all_sent = false;
  if (may_mark) deletes_.TakeFromCollection(members.used_again);
  pace_.Note(pass.remaining);
  mounted_ = members.mounted;
  return pass;
}

// First what the mark names, so that a watcher that comes after a crash can tell half a cluster.
bool Deletion::SendDue(std::vector<const KubeObject*> due, bool past_deadline) {
  // For a while nothing goes that may take along what must survive; then nothing takes anything.
  if (kept_owners_unknown_since_ && !HasWaitedForKeptOwners() && !past_deadline) return false;
  // Before a wave may begin, what its predecessors control must have gone as well.
  const auto propagation = memory_.HasWaves() ? PropagationPolicy::kForeground : Propagation();
  bool all = true;
  if (IsWhole()) {
    const auto rest = std::stable_partition(
        due.begin(), due.end(),
        [this](const KubeObject* object) { return first_uids_.contains(object->meta.uid); });
    std::vector<const KubeObject*> named(due.begin(), rest);
    const bool sent_all = rest == due.end();
    due.erase(due.begin(), rest);
    const bool any_named = !named.empty();
    all = SendFirst(std::move(named), propagation);
    if (any_named) first_sent_ = all ? FirstSent::kRefused : FirstSent::kFailed;
    if (IsWhole() && !past_deadline) return all && sent_all;
  }
  all = deletes_.SendWaitingClaims() && all;
  all = SendOrphaning(due, past_deadline) && all;
  return deletes_.Send(due, propagation) && all;
}

// On fresh evidence, so with nothing in between.
bool Deletion::SendFirst(std::vector<const KubeObject*> named, PropagationPolicy propagation) {
  bool all = true;
  std::vector<const KubeObject*> orphaning;
  std::erase_if(named, [&](const KubeObject* object) {
    const bool is_prepared = first_orphaning_.contains(object->meta.uid);
    if (!is_prepared && !MustOrphan(*object, false)) return false;
    if (is_prepared) orphaning.push_back(object);
    all = all && is_prepared;
    return true;
  });
  if (!orphaning.empty()) all = deletes_.Send(orphaning, PropagationPolicy::kOrphan) && all;
  return deletes_.Send(named, propagation) && all;
}

bool Deletion::SendOrphaning(std::vector<const KubeObject*>& due, bool past_deadline) {
  const auto orphaning = std::stable_partition(
      due.begin(), due.end(),
      [&](const KubeObject* object) { return !MustOrphan(*object, past_deadline); });
  std::vector<const KubeObject*> owners;
  std::copy_if(orphaning, due.end(), std::back_inserter(owners), [&](const KubeObject* object) {
    return past_deadline || deletes_.SettleClaimsOf(*object);
  });
  const bool all = owners.size() == static_cast<std::size_t>(due.end() - orphaning);
  due.erase(orphaning, due.end());
  if (owners.empty()) return all;
  if (!FindOrphansOf(owners, past_deadline) || !MarkOrphans(past_deadline)) return false;
  return deletes_.Send(owners, PropagationPolicy::kOrphan) && all;
}

bool Deletion::FindOrphansOf(const std::vector<const KubeObject*>& owners, bool past_deadline) {
  const bool all = orphans_.Find(owners);
  for (const auto& [uid, object] : orphans_.found()) {
    if (HasCopiedKeep(object.meta)) memory_.copied_keep.insert(uid);
  }
  return all || past_deadline || HasWaitedForKeptOwners();
}

bool Deletion::HasWaitedForKeptOwners() const {
  return kept_owners_unknown_since_ &&
         tools_.clock.Now() - *kept_owners_unknown_since_ >=
             std::min(kPatienceWithKinds, tools_.settings->delete_deadline);
}

bool Deletion::MustOrphan(const KubeObject& object, bool past_deadline) {
  if (kept_owners_unknown_since_ || kept_owners_.contains(object.meta.uid)) return true;
  return past_deadline && !deletes_.SettleClaimsOf(object);
}

void Deletion::DeleteOrphans(bool past_deadline, Pass& pass) {
  const std::vector<KubeObject> remaining = orphans_.Remaining();
  std::vector<const KubeObject*> due;
  pass.remaining += orphans_.awaited();
  for (const FirstDelete& untold : orphans_.untold()) {
    if (past_deadline) pass.left.push_back(untold.Describe() + kNotTold);
  }
  for (const KubeObject& object : remaining) {
    const std::string& uid = object.meta.uid;
    const bool is_listed =
        memory_.listed.contains(uid) || memory_.below.contains(uid) || memory_.left.contains(uid);
    if (is_listed && cluster_.Owns(object.meta)) continue;  // its passes see to it
    if (CountsAsGone(object)) continue;
    ++pass.remaining;
    if (past_deadline) pass.left.push_back(object.Describe() + kNotGone);
    if (!object.meta.deleting && IsLetGo(object)) due.push_back(&object);
  }
  SendOrphaning(due, past_deadline);
  deletes_.Send(due, Propagation());
}

// Whether nobody is left that would make it anew.
bool Deletion::IsLetGo(const KubeObject& object) const {
  const auto& owners = object.meta.owner_references();
  return std::all_of(owners.begin(), owners.end(), [this](const OwnerReference& owner) {
    const bool is_root = owner.uid == as_seen_.meta.uid;
    return (root_deleted_ && is_root) || terminating_.contains(owner.uid) ||
           deletes_.AcceptedAt(owner.uid).has_value();
  });
}

// After a crash what bears no label of the cluster could not be found again.
bool Deletion::MarkOrphans(bool past_deadline) {
  std::vector<FirstDelete> named = marks_.first_deletes;
  for (const FirstDelete& orphan : orphans_.Marks()) {
    if (std::find(named.begin(), named.end(), orphan) == named.end()) named.push_back(orphan);
  }
  if (named == marks_.first_deletes) return true;
  if (is_without_root_) {
    marks_.first_deletes = std::move(named);
    return true;
  }
  for (int attempt = 0; attempt < kMostOrphanMarks; ++attempt) {
    // Controllers write status all the time.
    const RootState root = attempt == 0 ? RootState::kOurs : ReadRoot();
    root_forbids_ = WhyNotRoot(root).has_value();
    if (root_forbids_) return false;
    auto written =
        root_.WriteMarks({{annotation::kFirstDeletes, FirstDeletesMark(named)}}, kMarksTimeout);
    if (written) {
      marks_.first_deletes = std::move(named);
      return true;
    }
    warn_once_(written.error().message);
    // A root that is gone can't bear marks.
    if (written.error().failure == ApiFailure::kNotFound) return true;
    if (written.error().failure != ApiFailure::kConflict) break;
  }
  return past_deadline;
}

// What is being deleted already is waited for, and what a deleted member controls is the garbage
// collector's for a while.
bool Deletion::IsDue(const KubeObject& object, bool past_deadline) const {
  if (object.meta.deleting) return false;
  const OwnerReference* controller = object.meta.Controller();
  const auto below = memory_.below.find(object.meta.uid);
  // What a member had controlled and has lost that controller is a member itself.
  if (controller == nullptr || below == memory_.below.end() || past_deadline) return true;
  // The garbage collector may have deleted what is between before we did.
  auto accepted = deletes_.AcceptedAt(controller->uid);
  if (!accepted) accepted = deletes_.AcceptedAt(below->second);
  return accepted && tools_.clock.Now() - *accepted >= kLeftoverPatience;
}

void Deletion::NameOverdue(const Pass& pass, const std::vector<std::string>& not_listed) {
  overdue_ = pass.left;
  for (const std::string& why : not_listed) {
    overdue_.push_back("a kind that could not be listed by the deadline: " + why);
  }
  for (const std::string& left : overdue_) tools_.log.warn("{}", left);
}

// What the master pod mounts stays until the master root is gone, so that a master pod that is
// rescheduled in the middle can still start: the garbage collector takes it along.
bool Deletion::HandOver(KubeObject& object) {
  for (int attempt = 0; attempt < kMostHandOvers; ++attempt) {
    auto answer =
        tools_.client.Do(ApiRequest::MergePatch(object.type, cluster_.ns, object.meta.name,
                                                OwnerReferencePatch(object.meta, as_seen_)),
                         {});
    if (answer) {
      tools_.log.info("{} is mounted by the master and goes with it", object.Describe());
      if (!object.meta.IsOwnedBy(as_seen_.meta.uid)) handed_.push_back(object);
      return true;
    }
    if (answer.error().failure == ApiFailure::kNotFound) return true;
    warn_once_(answer.error().message);
    if (!IsTransient(answer.error().failure)) return false;
    if (!ReadAgain(object)) return true;
  }
  return false;
}

// Else it would go with the root whenever somebody replaces that.
void Deletion::TakeBack() {
  for (const KubeObject& object : std::exchange(handed_, {})) {
    for (int attempt = 0; attempt < kMostHandOvers; ++attempt) {
      const auto done = TakeBack(object);
      if (done) break;
      warn_once_(done.error().message);
    }
  }
}

Result<Done, ApiError> Deletion::TakeBack(const KubeObject& object) {
  const std::string& root = as_seen_.meta.uid;
  const std::string& name = object.meta.name;
  auto now =
      tools_.client.Do(ApiRequest::ListByName(object.type, cluster_.ns, name, Freshness::kSure),
                       RepeatedReads(tools_));
  if (!now) return Unexpected{std::move(now).error()};
  const auto meta = ReadObjectMeta(OnlyItem(*now));
  if (!meta || meta->uid != object.meta.uid || !meta->IsOwnedBy(root)) return Done{};
  auto written = tools_.client.Do(
      ApiRequest::MergePatch(object.type, cluster_.ns, name, NoOwnerReferencePatch(*meta, root)),
      {});
  if (!written) return Unexpected{std::move(written).error()};
  return Done{};
}

Deletion::Outcome Deletion::DeleteRoot(MonotonicTime deadline) {
  RootState state = ReadRoot();
  // Somebody else takes it down: nothing can be handed over to it any more.
  if (IsGoing(state) && !mounted_.empty()) {
    const Outcome outcome = DeleteMembers(deadline);
    if (outcome != Outcome::kDone) return outcome;
    state = ReadRoot();
  }
  if (auto outcome = WhyNotRoot(state)) return *outcome;
  // As long as the cluster is whole nothing is handed over: it may still be spared. And the garbage
  // collector leaves what another owner keeps.
  std::vector<KubeObject> behind;  // the root
  std::vector<KubeObject> claims;
  for (KubeObject& object : mounted_) {
    const bool waits = IsWhole() || HasOtherOwner(object) || MustOrphan(object, false);
    if (!waits && object.type->kind == "PersistentVolumeClaim") {
      claims.push_back(object);
    } else if (waits || !HandOver(object)) {
      behind.push_back(object);
    }
  }
  bool may_be_ours = false;  // that it goes
  for (int conflicts = 0;;) {
    tools_.turn({});
    if (is_stand_in_ && IsSomebodyElses(state, listing_.List(RepeatedReads(tools_)).objects)) {
      return Outcome::kOtherMaster;
    }
    const Standing standing = state == RootState::kOurs ? RestoreMarks() : Standing::kOurs;
    if (standing == Standing::kCalledOff) return Outcome::kCalledOff;
    if (standing == Standing::kUnknown) {
      if (GivesUp(deadline)) return Outcome::kGivenUp;
      pace_.Pause(MonotonicTime::max());
      state = ReadRoot();
      if (auto outcome = WhyNotRoot(state)) return *outcome;
      continue;
    }
    const bool late = tools_.clock.Now() >= deadline;
    deletes_.TakePolicy();
    const int conflicts_before = deletes_.conflicts();
    const bool goes = MayRootGo(!claims.empty());
    const bool orphans = goes && MustOrphan(root_.object(), late);
    if (orphans && !FindOrphansOf({&root_.object()}, late)) {
      pace_.Pause(deadline);
      continue;
    }
    if (orphans) {
      MarkOrphans(true);
      state = ReadRoot();
      if (auto outcome = WhyNotRoot(state)) return *outcome;
      if (tools_.settings->volumes != Volumes::kPreserve) {
        deletes_.SettleClaimsOf(root_.object());
      }
    }
    if (goes) DeleteMountedClaims(claims);
    const int open_before = deletes_.open();
    const bool sent = goes && deletes_.Send({&root_.object()},
                                            orphans ? PropagationPolicy::kOrphan : Propagation());
    root_orphaned_ = root_orphaned_ || orphans;
    may_be_ours = may_be_ours || deletes_.open() > open_before;
    // Not until it is gone: it may be waiting for our own pod to end.
    state = may_be_ours ? AwaitRoot() : ReadRoot();
    if (IsGoing(state) && may_be_ours && IsWhole()) {
      MemberListing::Listed listed = listing_.List(RepeatedReads(tools_));
      if (IsSomebodyElses(state, listed.objects)) return Outcome::kOtherMaster;
      const bool is_spared = state == RootState::kTerminating && !NamesUs(root_.marks());
      if (listed.complete && !is_spared) {
        needs_evidence_ = false;
        deletes_.TakeAsAccepted(as_seen_.meta.uid);
      }
    }
    if (IsGoing(state) && !IsWhole()) break;
    if (auto outcome = WhyNotRoot(state)) return *outcome;
    policy_ = deletes_.TakePolicy();
    if (!policy_.empty()) return Outcome::kHeld;
    const bool conflict = !sent && deletes_.conflicts() > conflicts_before;
    if (conflict && state == RootState::kOurs && conflicts++ < kMostRootConflicts) continue;
    conflicts = 0;
    if (GivesUp(deadline)) return Outcome::kGivenUp;
    pace_.Pause(MonotonicTime::max());
    if (!members_left_ || IsWhole()) continue;
    // When the root may be deleted again, so may what is left of the members.
    state = DeleteLeft();
    if (auto outcome = WhyNotRoot(state)) return *outcome;
  }
  root_deleted_ = true;
  deletes_.TakeFromCollection({});
  behind.insert(behind.end(), claims.begin(), claims.end());
  pace_.Settle();
  DeleteBehindRoot(behind);
  SendClaimsBehindRoot();
  DeleteOrphansOfRoot();
  for (const KubeObject& object : behind) {
    if (!deletes_.AcceptedAt(object.meta.uid)) NameLeft(object.Describe());
  }
  NameClaimsLeft();
  return Outcome::kDone;
}

// Whoever judges a whole cluster anew can't tell that its root goes by our hand. But the longer it
// is not known to go, the likelier it is by another's.
RootState Deletion::AwaitRoot() {
  const MonotonicTime until = tools_.clock.Now() + kPatienceWithRoot;
  RootState state = ReadRoot();
  while (IsWhole() && state == RootState::kUnknown && tools_.clock.Now() < until) {
    pace_.Pause(until);
    tools_.turn({});
    state = ReadRoot();
  }
  return state;
}

bool Deletion::IsNamed(const std::string& object) const {
  return std::any_of(overdue_.begin(), overdue_.end(),
                     [&](const std::string& left) { return left.starts_with(object + ":"); });
}

// Nobody finds them any more: most claims of a StatefulSet bear no label of the cluster.
void Deletion::NameClaimsLeft() {
  for (const std::string& claim : deletes_.ClaimsLeft()) {
    if (IsNamed(claim)) continue;
    overdue_.push_back(claim + ": it was not deleted");
    tools_.log.warn("{}", overdue_.back());
    tools_.metrics.SetMembers(static_cast<std::int64_t>(memory_.listed.size()),
                              static_cast<std::int64_t>(overdue_.size()));
  }
}

// Claims that go before the root must not go without it: somebody may have annotated it to be kept,
// or a policy refuses.
bool Deletion::MayRootGo(bool mounts_claims) {
  const KubeObject& root = root_.object();
  const bool has_claims = root.type->kind == "StatefulSet" || mounts_claims;
  const bool takes_claims = has_claims && tools_.settings->volumes == Volumes::kDelete;
  return !takes_claims || IsWhole() || deletes_.WouldGo(root, Propagation());
}

// Right before the root: its pod keeps them until it is gone, but another one could not start.
void Deletion::DeleteMountedClaims(std::vector<KubeObject>& claims) {
  std::vector<const KubeObject*> due;
  for (const KubeObject& claim : claims) due.push_back(&claim);
  deletes_.Send(due, Propagation());
  std::erase_if(claims, [this](KubeObject& claim) {
    return deletes_.AcceptedAt(claim.meta.uid) || !ReadAgain(claim);
  });
}

// Whether it is still to be deleted; then `object` is as it is now, if that can be read.
bool Deletion::ReadAgain(KubeObject& object) {
  // A list, which the account may ask for where it may not get the object.
  auto now = tools_.client.Do(
      ApiRequest::ListByName(object.type, cluster_.ns, object.meta.name, Freshness::kSure), {});
  auto meta = now ? ReadObjectMeta(OnlyItem(*now)) : Result<ObjectMeta>(Failure(""));
  if (meta && meta->uid != object.meta.uid) return false;  // somebody's new one
  if (!meta) return true;
  object.meta = *std::move(meta);
  return !IsKept(object.meta) && cluster_.Owns(object.meta);
}

RootState Deletion::DeleteLeft() {
  MemberListing::Listed listed = listing_.List(RepeatedReads(tools_));
  const RootState root = ReadRoot();
  if (WhyNotRoot(root) || (root == RootState::kOurs && RestoreMarks() != Standing::kOurs) ||
      IsSomebodyElses(root, listed.objects)) {
    return root;
  }
  const bool complete = listed.complete && root != RootState::kUnknown;
  const bool counts = LearnWhatIsListed(root, listed.complete);
  const Pass pass = DeletePass(Sort(listed, counts), true);
  members_left_ = !complete || pass.remaining > 0;
  return root;
}

void Deletion::DeleteBehindRoot(const std::vector<KubeObject>& mounted) {
  std::vector<const KubeObject*> objects;
  for (const KubeObject& object : mounted) objects.push_back(&object);
  for (int pass = 0; pass < kMostLatePasses && !objects.empty(); ++pass) {
    if (pass > 0) pace_.Pause(MonotonicTime::max());
    tools_.turn({});
    const auto anew = pass > 0 ? IsMadeAnew(pass + 1 == kMostLatePasses) : false;
    if (!anew) continue;
    if (*anew) break;
    std::vector<const KubeObject*> due = objects;
    SendOrphaning(due, true);
    deletes_.Send(due, Propagation());
    std::erase_if(objects, [this](const KubeObject* object) {
      return deletes_.AcceptedAt(object->meta.uid).has_value();
    });
  }
}

void Deletion::SendClaimsBehindRoot() {
  const MonotonicTime until = tools_.clock.Now() + kPatienceBehindRoot;
  bool is_last = false;
  for (int passes = 1; !is_last; ++passes) {
    tools_.turn({});
    is_last = passes >= kMostLatePasses && tools_.clock.Now() >= until;
    const auto anew = passes > 1 ? IsMadeAnew(is_last) : false;
    if (anew && (*anew || deletes_.SendWaitingClaims())) return;
    if (!is_last) pace_.Pause(MonotonicTime::max());
  }
}

void Deletion::NameLeft(const std::string& object) {
  if (IsNamed(object)) return;
  overdue_.push_back(object + ": left of the master root");
  tools_.log.warn("{}", overdue_.back());
}

// Its pods are among them. As the root's delete theirs is tried until it is refused for good: the
// master may be among them.
void Deletion::DeleteOrphansOfRoot() {
  const MonotonicTime until = tools_.clock.Now() + kPatienceBehindRoot;
  for (int passes = 1; !orphans_.empty();) {
    tools_.turn({});
    const bool is_last = passes >= kMostLatePasses;
    const bool late = tools_.clock.Now() >= until;
    const OrphansSent sent = SendOrphansOfRoot(late || is_last);
    const bool counts = sent != OrphansSent::kAgain || tools_.gives_up || root_forbids_;
    if (counts && (is_last || (late && sent == OrphansSent::kNone))) break;
    if (counts) ++passes;
    pace_.Pause(MonotonicTime::max());
  }
  for (const KubeObject& object : orphans_.Remaining()) {
    if (!object.meta.deleting && IsLetGo(object)) NameLeft(object.Describe());
  }
  // What could not be told by the deadline may have gone since.
  std::erase_if(overdue_, [](const std::string& left) { return left.ends_with(kNotTold); });
  for (const FirstDelete& untold : orphans_.untold()) NameLeft(untold.Describe());
}

// Our own pod, without which nothing goes on, comes last.
Deletion::OrphansSent Deletion::SendOrphansOfRoot(bool late) {
  std::vector<const KubeObject*> due;
  KubeObjects own;
  const std::vector<KubeObject> remaining = orphans_.Remaining();
  for (const KubeObject& object : remaining) {
    // Somebody's new cluster may have adopted it.
    if (object.meta.deleting || !IsLetGo(object)) continue;
    const bool is_own = object.meta.name == marks_.condemned_by.pod;
    is_own ? own.push_back(object) : due.push_back(&object);
  }
  if (!due.empty()) {
    const auto anew = IsMadeAnew(late);
    if (!anew) return OrphansSent::kAgain;
    // It may use them without a trace on them.
    if (*anew) due.clear();
  }
  const bool any = !due.empty() || !own.empty();
  bool all = SendOrphaning(due, true);
  all = deletes_.Send(due, Propagation()) && all;
  if (orphans_.awaited() > 0 && !late) return OrphansSent::kAgain;
  for (KubeObject& pod : own) {
    if (!all) break;
    all = MarkAsRoot(pod);
    all = deletes_.Send({&pod}, Propagation()) && all;
  }
  if (!all) return OrphansSent::kAgain;
  return any ? OrphansSent::kSome : OrphansSent::kNone;
}

// Whoever applies the same objects again needn't leave a trace on them.
std::optional<bool> Deletion::IsMadeAnew(bool late) {
  MemberListing::Listed listed = listing_.List(RepeatedReads(tools_));
  if (!listed.complete && !late) return std::nullopt;
  // A pod whose root goes in the background has its grace period, and no more.
  if (!listed.workloads) return root_orphaned_ ? std::nullopt : std::optional(true);
  const RootState root = ReadRoot();
  if (root == RootState::kUnknown) return std::nullopt;
  // What the root has left behind looks like masters, and so may what has been kept all along.
  const ObjectsByUid now(listed.objects);
  std::set<std::string> behind;
  for (const KubeObject& object : listed.objects) {
    const KubeObject* above = &object;
    for (int i = 0; above != nullptr && i < 16; ++i) {
      const bool is_kept = IsKept(above->meta) && memory_.left.contains(above->meta.uid);
      if (is_kept || IsOrphan(above->meta.uid)) behind.insert(object.meta.uid);
      const OwnerReference* controller = above->meta.Controller();
      above = controller == nullptr ? nullptr : now.Find(controller->uid);
    }
  }
  std::erase_if(listed.objects,
                [&](const KubeObject& object) { return behind.contains(object.meta.uid); });
  return !IsGoing(root) || FindNewMaster(listed.objects) != nullptr;
}

// What was marked may not be found yet.
bool Deletion::IsOrphan(const std::string& uid) const {
  return orphans_.Contains(uid) ||
         std::any_of(
             marks_.first_deletes.begin(), marks_.first_deletes.end(),
             [&](const FirstDelete& marked) { return marked.is_orphan && marked.HasUid(uid); });
}

// A master pod without a controller is a master root, which the guard lets go only if it is marked.
// A watcher that comes after a crash judges it anew: somebody may have made the cluster again.
bool Deletion::MarkAsRoot(KubeObject& pod) {
  if (pod.meta.deleting || NamesUs(ReadMarks(pod.meta))) return true;
  const auto written = MasterRoot(tools_.client, pod).WriteMarks(PointOfNoReturn(), kMarksTimeout);
  if (!written) {
    warn_once_(written.error().message);
    return !IsTransient(written.error().failure);
  }
  if (auto now = ReadObjectMeta(written->document.root())) pod.meta = *std::move(now);
  return true;
}

// Why the master root, in this state, isn't deleted; nullopt: it is.
std::optional<Deletion::Outcome> Deletion::WhyNotRoot(RootState state) const {
  if (state == RootState::kReplaced) return Outcome::kReplaced;
  if (state == RootState::kOurs) {
    if (IsOvertaken()) return Outcome::kOvertaken;
    const ObjectMeta& root = root_.object().meta;
    if (IsKept(root) && !IsAskedFor(marks_)) return Outcome::kKept;
    const auto label = root.Label(cluster_.label);
    if (label && *label != cluster_.name) return Outcome::kRelabelled;
  }
  if (IsStale(state)) return Outcome::kStale;
  return std::nullopt;
}

PropagationPolicy Deletion::Propagation() const {
  switch (tools_.settings->propagation) {
    case Propagation::kBackground:
      return PropagationPolicy::kBackground;
    case Propagation::kForeground:
      return PropagationPolicy::kForeground;
  }
  return PropagationPolicy::kBackground;
}

}  // namespace cluster_watcher
