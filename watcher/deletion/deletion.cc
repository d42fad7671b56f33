#include "watcher/deletion/deletion.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "probes/base/time_text.h"
#include "watcher/deletion/kept_owners.h"
#include "watcher/protocol/owner_reference.h"

namespace cluster_watcher {
namespace {

constexpr int kLatePasses = 2;
constexpr int kMostLatePasses = 6;
constexpr int kMostHandOvers = 3;
constexpr std::size_t kMostFirstDeletes = 16;
// Controllers write status all the time, so a conflict about the root is nothing unusual.
constexpr int kMostRootConflicts = 10;
// Kinds that can't be listed in passing may hold what others own and is to be kept.
constexpr Duration kPatienceWithKinds{20'000};
// The garbage collector's time for what is left of a controller, before we do it ourselves.
constexpr Duration kLeftoverPatience{1'000};

DeletionMemory MemoryOf(const DeletionOrder& condemned, const Settings& settings, WallTime now) {
  const Snapshot& look = condemned.look;
  DeletionMemory memory;
  memory.root_uid = look.root->meta.uid;
  if (look.root->type.kind == "StatefulSet") memory.root_set = look.root->meta.name;
  memory.mounted = look.mounted;
  memory.volumes = settings.volumes;
  const WallTime since = condemned.marks.deleting_since.value_or(now);
  memory.collect_after =
      std::chrono::floor<std::chrono::seconds>(since + settings.volume_retention);
  if (look.seen) memory.owner_uids.insert(look.seen->uid);
  if (condemned.marks.owner) memory.owner_uids.insert(condemned.marks.owner->uid);
  if (const auto& owner = look.facts.owner; owner && owner->object) {
    memory.owner_uids.insert(owner->object->meta.uid);
    const OwnerReference* above = owner->object->meta.Controller();
    if (above != nullptr) memory.owner_controller_uid = above->uid;
  }
  if (look.owner_name && look.owner_ns == look.cluster->ns) {
    memory.owner_name = look.seen ? look.seen->name : look.owner_name->name;
    memory.owner_kind = look.seen ? look.seen->kind : "";
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
      marks_(condemned.marks),
      seen_abandoned_(condemned.look.evidence_since),
      root_seen_at_(condemned.look.root_seen_at),
      root_seen_version_(condemned.look.root_seen_version),
      since_(since),
      root_(tools.client, as_seen_),
      listing_(tools, warn_once_, cluster_),
      orphans_(tools, warn_once_, cluster_.ns),
      memory_(MemoryOf(condemned, *tools.settings, tools.clock.WallNow())),
      deletes_(tools, cluster_, as_seen_, memory_.collect_after, warn_once_,
               [this] { return !IsStale(RootState::kUnknown); }),
      pace_(tools.client, tools.clock,
            static_cast<unsigned>(std::hash<std::string>()(as_seen_.meta.uid))),
      needs_evidence_(!condemned.marks.deletes_begun),
      resumed_(!needs_evidence_) {
  if (resumed_) orphans_.FindAgain(marks_.first_deletes);
}

bool Deletion::Prepare() {
  MemberListing::Listed listed = listing_.List(RepeatedReads(tools_));
  const bool waited = tools_.clock.Now() - since_ >= kPatienceWithKinds;
  if (!listed.complete && !(listed.any && waited)) return false;
  prepared_ = Sort(std::move(listed.objects), true);
  if (!kept_owners_are_known_ && !waited) return false;
  first_deletes_.clear();
  for (const KubeObject* object : DueMembers(*prepared_, memory_, false)) {
    if (first_deletes_.size() == kMostFirstDeletes) break;
    if (IsDue(*object, false)) first_deletes_.push_back(FirstDelete::Of(*object));
  }
  return true;
}

void Deletion::Begin(const DeletionOrder& order) {
  marks_ = order.marks;
  seen_abandoned_ = order.look.evidence_since;
  root_seen_at_ = order.look.root_seen_at;
  root_seen_version_ = order.look.root_seen_version;
  root_.Take(*order.look.root);
}

bool Deletion::IsWhole() const { return needs_evidence_ && !deletes_.any_accepted(); }

bool Deletion::IsStale(RootState root) const {
  if (!IsWhole()) return false;
  const bool called_off = root == RootState::kOurs && !NamesUs(root_.marks());
  return called_off || IsGoing(root) ||
         AgeOf(seen_abandoned_, tools_.clock, tools_.client.dates()) >= kFreshEvidence;
}

Deletion::Outcome Deletion::DeleteMembers(MonotonicTime deadline) {
  for (int late_passes = 0;;) {
    tools_.turn({});
    tools_.metrics.SetDeletionDuration(tools_.clock.Now() - since_);
    if (prepared_) {
      if (IsStale(RootState::kUnknown)) return Outcome::kStale;
      DeletePass(*std::exchange(prepared_, std::nullopt), false);
      pace_.Pause(deadline);
      continue;
    }
    // First what there is, then whose it is: what was listed before the root was found to be ours
    // is of this cluster, however long we were held up in between.
    MemberListing::Listed listed = listing_.List(RepeatedReads(tools_));
    const RootState root = ReadRoot();
    if (auto outcome = WhyNotRoot(root)) return *outcome;
    if (root == RootState::kOurs) RestoreMarks();
    const bool late = tools_.clock.Now() >= deadline;
    const bool counts = LearnWhatIsListed(root, listed.complete);
    const Pass pass = DeletePass(Sort(std::move(listed.objects), counts), late);
    const bool sure = listed.complete && root != RootState::kUnknown;
    if (sure && pass.remaining == 0) {
      tools_.log.info("all {} members are gone{}", memory_.listed.size(),
                      mounted_.empty() ? "" : " but for what the master mounts");
      return Outcome::kDone;
    }
    if (late) {
      ++late_passes;
      pace_.Hurry(late_passes);
      if (late_passes >= (sure && pass.all_sent ? kLatePasses : kMostLatePasses)) {
        NameOverdue(pass, listed.failed);
        return Outcome::kDone;
      }
    }
    pace_.Pause(late ? MonotonicTime::max() : deadline);
  }
}

bool Deletion::LearnWhatIsListed(RootState root, bool complete) {
  const bool resumed = resumed_;
  if (complete) resumed_ = false;
  if (root == RootState::kOurs) {
    memory_.made_before.reset();
    return true;
  }
  if (!resumed) return false;
  // The watcher that began it had listed what was there with the root. So do we, as far as we know
  // what that was.
  CountOnlyOlderThanRoot();
  return memory_.made_before.has_value();
}

void Deletion::CountOnlyOlderThanRoot() {
  memory_.made_before = root_seen_at_;
  // A root that is terminating was there until the version that says so.
  const std::string& root = root_.object().meta.resource_version;
  memory_.made_before_version =
      IsNoLaterVersion(root, root_seen_version_) ? root_seen_version_ : root;
}

bool Deletion::FinishMembers(MonotonicTime deadline, const std::function<bool()>& may_go_on) {
  CountOnlyOlderThanRoot();
  memory_.mounted.clear();
  memory_.root_set.clear();
  needs_evidence_ = false;  // `may_go_on` brings it
  if (!memory_.made_before) return false;
  for (bool first = true; tools_.clock.Now() < deadline; first = false) {
    tools_.turn({});
    if (!first && !may_go_on()) return false;
    MemberListing::Listed listed = listing_.List(RepeatedReads(tools_));
    if (!IsGoing(ReadRoot())) return false;
    // The first list is the one that counts; nothing that appears later is ours to delete.
    const Pass pass = DeletePass(Sort(std::move(listed.objects), first), false);
    if (listed.complete && pass.remaining == 0) return true;
    pace_.Pause(deadline);
  }
  return false;
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
  const RootState state = root_.Read(RepeatedReads(tools_));
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

// If somebody took them off the deletion goes on, and a watcher that comes after a crash must know.
void Deletion::RestoreMarks() {
  const Marks now = root_.marks();
  if (NamesUs(now) && now.deletes_begun) return;
  AnnotationChanges changes = {{annotation::kPhase, ToString(Phase::kDeleting)},
                               {annotation::kReason, marks_.reason},
                               {annotation::kCondemnedBy, marks_.condemned_by.ToText()},
                               {annotation::kDeletesBegun, "true"},
                               {annotation::kFirstDeletes, FirstDeletesMark(marks_.first_deletes)}};
  if (marks_.deleting_since) {
    changes[annotation::kDeletingSince] = FormatTime(*marks_.deleting_since);
  }
  auto written = root_.WriteMarks(std::move(changes));
  if (!written) warn_once_(written.error().message);
}

MemberPass Deletion::Sort(std::vector<KubeObject> objects, bool counts_as_listed) {
  auto above = OwnersAbove(
      tools_.client, tools_.discovery, objects,
      [this](const KubeObject& object) { return MustSurvive(object, memory_); },
      RepeatedReads(tools_));
  kept_owners_are_known_ = above.has_value();
  if (above) kept_owners_.merge(*above);
  if (!above) warn_once_(above.error().message);
  MemberPass members = SortMembers(std::move(objects), counts_as_listed, memory_);
  for (const std::string& mistake : members.mistakes) tools_.log.warn("{}", mistake);
  for (const std::string& left : members.left) tools_.log.info("left alone: {}", left);
  left_.insert(left_.end(), members.left.begin(), members.left.end());
  return members;
}

Deletion::Pass Deletion::DeletePass(MemberPass members, bool past_deadline) {
  tools_.metrics.SetMembers(static_cast<std::int64_t>(memory_.listed.size()),
                            static_cast<std::int64_t>(members.remaining()));
  std::vector<const KubeObject*> due = DueMembers(members, memory_, past_deadline);
  std::erase_if(due, [&](const KubeObject* object) { return !IsDue(*object, past_deadline); });
  Pass pass;
  pass.remaining = members.remaining();
  for (const auto* group : {&members.to_delete, &members.leftovers, &members.to_collect}) {
    for (const KubeObject& object : *group) {
      if (past_deadline) pass.not_gone.push_back(object.Describe());
    }
  }
  pass.all_sent = SendDue(std::move(due), past_deadline);
  if (!IsWhole() && !orphans_.empty()) pass.remaining += DeleteOrphans(past_deadline);
  if (!IsWhole() && !deletes_.MarkForCollection(members.to_collect)) pass.all_sent = false;
  pace_.Note(pass.remaining);
  mounted_ = std::move(members.mounted);
  return pass;
}

// First what the mark names, so that a watcher that comes after a crash can tell half a cluster.
bool Deletion::SendDue(std::vector<const KubeObject*> due, bool past_deadline) {
  // Until the deadline nothing goes that may take along what must survive.
  if (!kept_owners_are_known_ && !past_deadline) return false;
  // Before a wave may begin, what its predecessors control must have gone as well.
  const auto propagation = memory_.HasWaves() ? PropagationPolicy::kForeground : Propagation();
  bool all = true;
  if (IsWhole()) {
    const auto rest = std::stable_partition(
        due.begin(), due.end(), [this](const KubeObject* object) { return IsNamed(*object); });
    std::vector<const KubeObject*> named(due.begin(), rest);
    const bool sent_all = rest == due.end();
    due.erase(due.begin(), rest);
    all = SendOrphaning(named, past_deadline);
    all = deletes_.Send(named, propagation) && all;
    if (IsWhole()) return all && sent_all;
  }
  all = SendOrphaning(due, past_deadline) && all;
  return deletes_.Send(due, propagation) && all;
}

bool Deletion::SendOrphaning(std::vector<const KubeObject*>& due, bool past_deadline) {
  const auto orphaning = std::stable_partition(
      due.begin(), due.end(),
      [&](const KubeObject* object) { return !MustOrphan(*object, past_deadline); });
  std::vector<const KubeObject*> found;
  bool all = true;
  for (auto object = orphaning; object != due.end(); ++object) {
    const bool is_settled = past_deadline || deletes_.SettleClaimsOf(**object);
    if (is_settled && (orphans_.Find(**object) || past_deadline)) {
      found.push_back(*object);
    } else {
      all = false;
    }
  }
  due.erase(orphaning, due.end());
  if (found.empty()) return all;
  MarkOrphans();
  return deletes_.Send(found, PropagationPolicy::kOrphan) && all;
}

bool Deletion::MustOrphan(const KubeObject& object, bool past_deadline) {
  if (kept_owners_.contains(object.meta.uid)) return true;
  return past_deadline && object.type.kind == "StatefulSet" && !deletes_.SettleClaimsOf(object);
}

std::size_t Deletion::DeleteOrphans(bool past_deadline) {
  const std::vector<KubeObject> remaining = orphans_.Remaining();
  std::vector<const KubeObject*> due;
  std::size_t left = 0;
  for (const KubeObject& object : remaining) {
    if (cluster_.Owns(object.meta)) continue;  // it is listed as a member
    ++left;
    // Until its owner has gone that would make it anew.
    const auto& owners = object.meta.owner_references;
    const bool is_let_go = owners.empty() || deletes_.AcceptedAt(owners.front().uid).has_value();
    if (!object.meta.deleting && is_let_go) due.push_back(&object);
  }
  SendOrphaning(due, past_deadline);
  deletes_.Send(due, Propagation());
  return left;
}

// After a crash what bears no label of the cluster could not be found again.
void Deletion::MarkOrphans() {
  for (const FirstDelete& orphan : orphans_.Named()) {
    if (std::find(marks_.first_deletes.begin(), marks_.first_deletes.end(), orphan) ==
        marks_.first_deletes.end()) {
      marks_.first_deletes.push_back(orphan);
    }
  }
  auto written = root_.WriteMarks(
      {{annotation::kFirstDeletes, FirstDeletesMark(marks_.first_deletes)}}, kMarksTimeout);
  if (!written) warn_once_(written.error().message);
}

bool Deletion::IsNamed(const KubeObject& object) const {
  return std::any_of(first_deletes_.begin(), first_deletes_.end(),
                     [&](const FirstDelete& named) { return named == FirstDelete::Of(object); });
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
  overdue_.clear();
  for (const std::string& object : pass.not_gone) {
    overdue_.push_back(object + ": not gone by the deadline");
  }
  for (const std::string& why : not_listed) {
    overdue_.push_back("a kind that could not be listed by the deadline: " + why);
  }
  for (const std::string& left : overdue_) tools_.log.warn("{}", left);
}

// What the master pod mounts stays until the master root is gone, so that a master pod that is
// rescheduled in the middle can still start: the garbage collector takes it along.
bool Deletion::HandOver(KubeObject object) {
  for (int attempt = 0; attempt < kMostHandOvers; ++attempt) {
    auto answer =
        tools_.client.Do(ApiRequest::MergePatch(object.type, cluster_.ns, object.meta.name,
                                                OwnerReferencePatch(object.meta, as_seen_)),
                         {});
    if (answer) {
      tools_.log.info("{} is mounted by the master and goes with it", object.Describe());
      return true;
    }
    if (answer.error().failure == ApiFailure::kNotFound) return true;
    warn_once_(answer.error().message);
    if (!IsTransient(answer.error().failure)) return false;
    // A list, which the account may ask for where it may not get the object.
    auto now = tools_.client.Do(
        ApiRequest::ListByName(object.type, cluster_.ns, object.meta.name, Freshness::kSure), {});
    auto meta = now ? ReadObjectMeta(OnlyItem(*now)) : Result<ObjectMeta>(Failure(""));
    if (meta && meta->uid != object.meta.uid) return true;  // somebody's new one
    if (meta) object.meta = *std::move(meta);
  }
  return false;
}

Deletion::Outcome Deletion::DeleteRoot(MonotonicTime deadline) {
  RootState state = ReadRoot();
  if (auto outcome = WhyNotRoot(state)) return *outcome;
  std::vector<const KubeObject*> refused;
  for (const KubeObject& object : mounted_) {
    if (!IsGoing(state) && !HandOver(object)) refused.push_back(&object);
  }
  for (int conflicts = 0;;) {
    tools_.turn({});
    const bool late = tools_.clock.Now() >= deadline;
    const bool orphans = MustOrphan(root_.object(), late);
    if (orphans && !orphans_.Find(root_.object()) && !late) {
      pace_.Pause(deadline);
      continue;
    }
    const bool sent =
        deletes_.Send({&root_.object()}, orphans ? PropagationPolicy::kOrphan : Propagation());
    // Not until it is gone: it may be waiting for our own pod to end.
    state = ReadRoot();
    if (IsGoing(state)) break;
    if (auto outcome = WhyNotRoot(state)) return *outcome;
    if (!sent && state == RootState::kOurs && conflicts++ < kMostRootConflicts) continue;
    conflicts = 0;
    pace_.Pause(MonotonicTime::max());
  }
  deletes_.Send(refused, Propagation(), false);
  root_deleted_ = true;
  DeleteOrphansOfRoot();
  return Outcome::kDone;
}

// Its pods are among them, so our own, without which nothing goes on, comes last.
void Deletion::DeleteOrphansOfRoot() {
  for (int pass = 0; pass < kMostLatePasses; ++pass) {
    if (orphans_.empty()) return;
    if (pass > 0) pace_.Pause(MonotonicTime::max());
    tools_.turn({});
    const std::vector<KubeObject> remaining = orphans_.Remaining();
    std::vector<const KubeObject*> due, own;
    for (const KubeObject& object : remaining) {
      (object.meta.name == marks_.condemned_by.pod ? own : due).push_back(&object);
    }
    SendOrphaning(due, true);
    const bool sent = deletes_.Send(due, Propagation());
    if (sent) deletes_.Send(own, Propagation());
  }
}

// Why the master root, in this state, isn't deleted; nullopt: it is.
std::optional<Deletion::Outcome> Deletion::WhyNotRoot(RootState state) const {
  if (state == RootState::kReplaced) return Outcome::kReplaced;
  if (state == RootState::kOurs) {
    if (IsOvertaken()) return Outcome::kOvertaken;
    if (IsKept(root_.object().meta)) return Outcome::kKept;
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
