#include "watcher/deletion/deletion.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "probes/base/time_text.h"
#include "watcher/protocol/owner_reference.h"

namespace cluster_watcher {
namespace {

constexpr int kLatePasses = 2;
constexpr int kMostLatePasses = 6;
constexpr int kMostHandOvers = 3;
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
      seen_abandoned_(condemned.look.began),
      root_seen_at_(condemned.look.root_seen_at),
      since_(since),
      root_(tools.client, as_seen_),
      listing_(tools, warn_once_, cluster_),
      memory_(MemoryOf(condemned, *tools.settings, tools.clock.WallNow())),
      deletes_(tools, cluster_, as_seen_, memory_.collect_after, warn_once_),
      pace_(tools.client, tools.clock,
            static_cast<unsigned>(std::hash<std::string>()(as_seen_.meta.uid))),
      begun_(condemned.marks.deletes_begun),
      resumed_(begun_) {}

Deletion::Outcome Deletion::DeleteMembers(MonotonicTime deadline) {
  for (int passes = 0, late_passes = 0;; ++passes) {
    tools_.turn({});
    tools_.metrics.SetDeletionDuration(tools_.clock.Now() - since_);
    // First what there is, then whose it is: what was listed before the root was found to be ours
    // is of this cluster, however long we were held up in between.
    MemberListing::Listed listed = listing_.List();
    const RootState root = ReadRoot();
    if (root == RootState::kReplaced) return Outcome::kReplaced;
    if (!begun_) {
      // A cluster that can't be listed is still whole, and a driver may come back to it.
      const bool may_begin =
          listed.complete || !listed.objects.empty() || (listed.any && passes > 0);
      if (auto outcome = Begin(root, may_begin)) return *outcome;
    } else if (root == RootState::kOurs) {
      if (IsOvertaken()) return Outcome::kOvertaken;
      RestoreMarks();
    }
    const bool late = tools_.clock.Now() >= deadline;
    if (begun_) {
      const bool counts = LearnWhatIsListed(root, listed.complete);
      const Pass pass = DeletePass(std::move(listed.objects), counts, late);
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
          NameOverdue(pass);
          return Outcome::kDone;
        }
      }
    }
    pace_.Pause(late ? MonotonicTime::max() : deadline);
  }
}

std::optional<Deletion::Outcome> Deletion::Begin(RootState root, bool may_begin) {
  const ObjectMeta& now = root_.object().meta;
  if (root == RootState::kOurs && IsOvertaken()) return Outcome::kOvertaken;
  if (IsGoing(root) || (root == RootState::kOurs && !NamesUs(root_.marks()))) {
    return Outcome::kCalledOff;
  }
  // By now the cluster may be in use again. Counted from the look: a process that was held up
  // doesn't know it.
  const auto left = [this] {
    return std::chrono::floor<Duration>(seen_abandoned_ + 2 * kFreshEvidence - tools_.clock.Now());
  };
  if (left() <= Duration(0)) return Outcome::kStale;
  if (root == RootState::kUnknown || !may_begin) return std::nullopt;
  // Only a whole look can judge what would hold the deletion back now.
  const bool is_as_seen =
      now.labels == as_seen_.meta.labels &&
      now.Annotation(annotation::kHoldUntil) == as_seen_.meta.Annotation(annotation::kHoldUntil);
  if (!is_as_seen) return Outcome::kStale;
  const bool marked = WriteMarks({{annotation::kDeletesBegun, "true"}}, left());
  if (left() <= Duration(0)) return Outcome::kStale;
  begun_ = marked;
  return std::nullopt;
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
  memory_.made_before = root_seen_at_;
  return memory_.made_before.has_value();
}

bool Deletion::FinishMembers(MonotonicTime deadline, const std::function<bool()>& may_go_on) {
  memory_.made_before = root_seen_at_;
  memory_.mounted.clear();
  memory_.root_set.clear();
  if (!memory_.made_before) return false;
  for (bool first = true; tools_.clock.Now() < deadline; first = false) {
    tools_.turn({});
    if (!first && !may_go_on()) return false;
    MemberListing::Listed listed = listing_.List();
    if (!IsGoing(ReadRoot())) return false;
    // The first list is the one that counts; nothing that appears later is ours to delete.
    const Pass pass = DeletePass(std::move(listed.objects), first, false);
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
  const RootState state = root_.Read();
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

bool Deletion::WriteMarks(AnnotationChanges changes, std::optional<Duration> timeout) {
  auto written = root_.WriteMarks(std::move(changes), timeout);
  if (!written) warn_once_(written.error().message);
  return written.has_value();
}

// If somebody took them off the deletion goes on, and a watcher that comes after a crash must know.
void Deletion::RestoreMarks() {
  const Marks now = root_.marks();
  if (NamesUs(now) && now.deletes_begun) return;
  AnnotationChanges changes = {{annotation::kPhase, ToString(Phase::kDeleting)},
                               {annotation::kReason, marks_.reason},
                               {annotation::kCondemnedBy, marks_.condemned_by.ToText()},
                               {annotation::kDeletesBegun, "true"}};
  if (marks_.deleting_since) {
    changes[annotation::kDeletingSince] = FormatTime(*marks_.deleting_since);
  }
  WriteMarks(std::move(changes));
}

Deletion::Pass Deletion::DeletePass(std::vector<KubeObject> objects, bool counts_as_listed,
                                    bool past_deadline) {
  MemberPass members = SortMembers(std::move(objects), counts_as_listed, memory_);
  for (const std::string& mistake : members.mistakes) tools_.log.warn("{}", mistake);
  for (const std::string& left : members.left) tools_.log.info("left alone: {}", left);
  left_.insert(left_.end(), members.left.begin(), members.left.end());
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
  // Before a wave may begin, what its predecessors control must have gone as well.
  pass.all_sent =
      deletes_.Send(due, memory_.HasWaves() ? PropagationPolicy::kForeground : Propagation());
  if (!deletes_.MarkForCollection(members.to_collect)) pass.all_sent = false;
  pace_.Note(pass.remaining);
  mounted_ = std::move(members.mounted);
  return pass;
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

void Deletion::NameOverdue(const Pass& pass) {
  overdue_.clear();
  for (const std::string& object : pass.not_gone) {
    overdue_.push_back(object + ": not gone by the deadline");
    tools_.log.warn("{}", overdue_.back());
  }
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

Deletion::Outcome Deletion::DeleteRoot() {
  RootState state = ReadRoot();
  if (state == RootState::kReplaced) return Outcome::kReplaced;
  if (state == RootState::kOurs && IsOvertaken()) return Outcome::kOvertaken;
  if (state == RootState::kOurs && IsKept(root_.object().meta)) {
    left_.push_back(as_seen_.Describe() + ": kept");
    return Outcome::kDone;
  }
  std::vector<const KubeObject*> refused;
  for (const KubeObject& object : mounted_) {
    if (!IsGoing(state) && !HandOver(object)) refused.push_back(&object);
  }
  for (pace_.Restart();; pace_.Pause(MonotonicTime::max())) {
    tools_.turn({});
    deletes_.Send({&as_seen_}, Propagation());
    // Not until it is gone: it may be waiting for our own pod to end.
    state = ReadRoot();
    if (state == RootState::kReplaced) return Outcome::kReplaced;
    if (IsGoing(state)) break;
    if (state == RootState::kOurs && IsOvertaken()) return Outcome::kOvertaken;
  }
  deletes_.Send(refused, Propagation());
  root_deleted_ = true;
  return Outcome::kDone;
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
