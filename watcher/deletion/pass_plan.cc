#include "watcher/deletion/pass_plan.h"

#include <algorithm>

#include "probes/owner_kinds.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

// The garbage collector's time for what is left of a controller, before we do it ourselves.
constexpr Duration kLeftoverPatience{1'000};
// Past the deadline a kind that can't be listed is asked for once more.
constexpr int kLeastBlindPasses = 2;
// A look, once something is deleted.
constexpr Duration kFreshOnceBegun = std::chrono::minutes(1);

// Says why it may not be deleted, or what controls it may not, which would make it again; nullptr
// if it may.
const std::string* WhyForbidden(const KubeObject& object, const DeletionMemory& memory,
                                const SentDeletes& sent) {
  auto refused = sent.forbidden.find(object.meta.uid);
  if (refused == sent.forbidden.end()) {
    if (const Uid* member = memory.MemberOf(object.meta.uid))
      refused = sent.forbidden.find(*member);
  }
  return refused == sent.forbidden.end() ? nullptr : &refused->second;
}

class Planner {
 public:
  Planner(const PassView& view, const DeletionMemory& memory, const SentDeletes& sent,
          const PassTerms& terms)
      : view_(view),
        memory_(memory),
        sent_(sent),
        terms_(terms),
        root_held_(WhyRootIsHeldBack(view, memory)) {}

  PassPlan Plan() const {
    PassPlan plan;
    const bool is_begun = sent_.any_accepted;
    const bool ends = (terms_.late && IsKnown()) || (!is_begun && RootMustStay());
    if (root_held_ != nullptr && ends && (terms_.with_root || !is_begun)) {
      plan.root_stays = root_held_;
      return plan;
    }
    if (MayBegin() && IsKnown()) plan.due = Due();
    // Before a wave may begin, what its predecessors control must have gone as well.
    plan.propagation = memory_.HasWaves() ? PropagationPolicy::kForeground : terms_.propagation;
    return plan;
  }

  PassEnd Conclude() const {
    PassEnd end;
    end.remaining = MayBegin() ? Remaining() : 1;
    // A list from before the last look is good for the first deletes only.
    const bool is_current = !view_.is_old || !sent_.any_accepted;
    end.is_over = end.remaining == 0 && IsKnown() && is_current && terms_.is_root_read;
    end.collects = IsKnown() && sent_.any_accepted;
    if (!end.is_over || !terms_.with_root || root_held_ != nullptr) return end;
    for (const KubeObject& object : view_.members.last) {
      const bool is_due = !object.meta.deleting && HeldBackOf(object) == nullptr;
      if (is_due) end.last.push_back(&object);
    }
    // With one of them accepted there is time for another list.
    end.root = !view_.is_old || std::all_of(end.last.begin(), end.last.end(),
                                            [this](const auto* one) { return IsForbidden(*one); });
    return end;
  }

 private:
  bool IsForbidden(const KubeObject& object) const {
    return WhyForbidden(object, memory_, sent_) != nullptr;
  }
  // A kind that fails past the deadline too is treated as one that may not be read.
  bool IsRead() const { return view_.complete || terms_.blind_passes >= kLeastBlindPasses; }
  // Whether it is known what must survive.
  bool IsKnown() const { return IsRead() && !view_.survivors.unknown; }
  bool RootMustStay() const { return root_held_ != nullptr && !root_held_->may_pass; }
  // Nothing goes as long as the root may have to stay.
  bool MayBegin() const {
    return terms_.may_begin && (root_held_ == nullptr || sent_.any_accepted);
  }

  const HeldBack* HeldBackOf(const KubeObject& object) const {
    return WhyHeldBack(view_, memory_, object);
  }

  std::vector<const KubeObject*> Due() const {
    const auto stays = [this](const KubeObject& object) {
      const HeldBack* held = HeldBackOf(object);
      return held != nullptr && !held->may_pass;
    };
    std::vector<const KubeObject*> due = DueMembers(view_.members, memory_, terms_.late, stays);
    std::erase_if(due, [this](const KubeObject* object) { return !IsDue(*object); });
    // Survivors were looked for before the last look: what hardly owns anything goes first.
    const auto goes_first = [this](const KubeObject* object) {
      return !IsWorkload(object->type) && !IsForbidden(*object) &&
             FindBuiltInByName(object->type->plural, object->type->group) != nullptr;
    };
    if (view_.is_old && !terms_.late && std::any_of(due.begin(), due.end(), goes_first)) {
      std::erase_if(due, [&](const KubeObject* object) { return !goes_first(object); });
    }
    return due;
  }

  // An object that is being deleted is waited for, and what a deleted member controls is the
  // garbage collector's for a while.
  bool IsDue(const KubeObject& object) const {
    if (object.meta.deleting || HeldBackOf(object) != nullptr) return false;
    const OwnerReference* controller = object.meta.Controller();
    const auto below = memory_.below.find(object.meta.uid);
    // An object that a member controlled, and that has lost that controller, is a member itself.
    if (controller == nullptr || below == memory_.below.end()) return true;
    if (terms_.late) return !IsForbidden(object);
    // The garbage collector may have deleted what is between before we did.
    auto accepted = sent_.AcceptedAt(controller->uid);
    if (!accepted) accepted = sent_.AcceptedAt(below->second);
    return accepted && terms_.now - *accepted >= kLeftoverPatience;
  }

  std::size_t Remaining() const {
    std::size_t remaining = 0;
    for (const auto* group : {&view_.members.to_delete, &view_.members.leftovers}) {
      remaining += static_cast<std::size_t>(
          std::count_if(group->begin(), group->end(),
                        [this](const KubeObject& object) { return IsWaitedFor(object); }));
    }
    return remaining;
  }

  bool IsWaitedFor(const KubeObject& object) const {
    if (object.meta.deleting && terms_.terminating_is_gone) return false;
    const HeldBack* held = HeldBackOf(object);
    if (held != nullptr && (terms_.late || !held->may_pass)) return false;
    const bool is_forbidden = IsForbidden(object);
    if (is_forbidden && memory_.set_claims.contains(object.meta.uid)) return false;
    // An object that is made again each time may be terminating by now.
    const bool is_sent = object.meta.deleting || sent_.AcceptedAt(object.meta.uid);
    return !terms_.late || (!is_sent && !is_forbidden);
  }

  const PassView& view_;
  const DeletionMemory& memory_;
  const SentDeletes& sent_;
  const PassTerms& terms_;
  const HeldBack* const root_held_;
};

}  // namespace

std::optional<MonotonicTime> SentDeletes::AcceptedAt(const Uid& uid) const {
  const auto accepted = accepted_at.find(uid);
  return accepted == accepted_at.end() ? std::nullopt : std::optional(accepted->second);
}

bool SentDeletes::MayHaveDeleted(const Uid& uid) const {
  return accepted_at.contains(uid) || unanswered.contains(uid);
}

PassPlan PlanPass(const PassView& view, const DeletionMemory& memory, const SentDeletes& sent,
                  const PassTerms& terms) {
  return Planner(view, memory, sent, terms).Plan();
}

PassEnd ConcludePass(const PassView& view, const DeletionMemory& memory, const SentDeletes& sent,
                     const PassTerms& terms) {
  return Planner(view, memory, sent, terms).Conclude();
}

const HeldBack* WhyHeldBack(const PassView& view, const DeletionMemory& memory,
                            const KubeObject& object) {
  const auto& held_back = view.survivors.held_back;
  auto held = held_back.find(object.meta.uid);
  if (held == held_back.end()) {
    const auto below = memory.below.find(object.meta.uid);
    if (below != memory.below.end()) held = held_back.find(below->second.ToText());
  }
  return held == held_back.end() ? nullptr : &held->second;
}

const HeldBack* WhyRootIsHeldBack(const PassView& view, const DeletionMemory& memory) {
  const auto held = view.survivors.held_back.find(memory.root_uid);
  return held == view.survivors.held_back.end() ? nullptr : &held->second;
}

std::string WhyStillThere(const KubeObject& object, const SentDeletes& sent) {
  const std::string& finalizers = object.meta.held_by.names;
  if (!finalizers.empty()) return ", held by the finalizer " + finalizers;
  if (object.meta.deleting) return ", terminating";
  for (const auto* words : {&sent.forbidden, &sent.failed}) {
    if (const auto said = words->find(object.meta.uid); said != words->end())
      return ": " + said->second;
  }
  return "";
}

std::vector<std::string> NamesOfLeft(const PassView& view, const DeletionMemory& memory,
                                     const SentDeletes& sent, bool late) {
  std::vector<std::string> names;
  for (const auto* group : {&view.members.to_delete, &view.members.leftovers, &view.members.last}) {
    const bool is_waited_for = group != &view.members.last;
    for (const KubeObject& object : *group) {
      const HeldBack* held = WhyHeldBack(view, memory, object);
      if (held != nullptr) {
        names.push_back(object.Describe() + ": " + held->why);
      } else if (const std::string* why = WhyForbidden(object, memory, sent)) {
        names.push_back(object.Describe() + ": " + *why);
      } else if (late && (is_waited_for || sent.failed.contains(object.meta.uid))) {
        names.push_back(object.Describe() + ": not gone by the deadline" +
                        WhyStillThere(object, sent));
      }
    }
  }
  // While the cluster was whole none was marked.
  for (const KubeObject& claim : sent.any_accepted ? view.members.to_collect : KubeObjects()) {
    names.push_back(claim.Describe() + ": it could not be marked for collection");
  }
  for (const std::string& why : view.failed) {
    names.push_back("a kind that could not be listed by the deadline: " + why);
  }
  return names;
}

std::vector<std::string> NamesOfTerminating(const PassView& view, const SentDeletes& sent) {
  std::vector<std::string> names;
  for (const auto* group : {&view.members.to_delete, &view.members.leftovers, &view.members.last}) {
    for (const KubeObject& object : *group) {
      if (object.meta.deleting) names.push_back(object.Describe() + WhyStillThere(object, sent));
    }
  }
  return names;
}

Duration LookLasts(const SentDeletes& sent, const Uid& root) {
  if (sent.AcceptedAt(root)) return Duration::max();
  return sent.any_accepted ? kFreshOnceBegun : kFreshEvidence;
}

bool MaySend(Duration look_age, std::optional<Duration> root_age, Duration look_lasts) {
  return root_age && *root_age < kFreshEvidence && look_age < look_lasts;
}

std::optional<DeletionEnd> WhyEndedBy(RootState state, const ObjectMeta& root,
                                      const DeletionOfRoot& of) {
  switch (state) {
    case RootState::kGone:
      return DeletionEnd::kRootGone;
    case RootState::kReplaced:
      return DeletionEnd::kReplaced;
    case RootState::kUnknown:
      return std::nullopt;
    case RootState::kOurs:
    case RootState::kTerminating:
      break;
  }
  const Marks marks = ReadMarks(root);
  if (of.cluster.AnothersLabel(root) || marks.phase != Phase::kDeleting)
    return DeletionEnd::kCalledOff;
  if (marks.condemned_by != of.condemned_by) return DeletionEnd::kOvertaken;
  if (IsKept(root) && !of.is_asked) return DeletionEnd::kKept;
  return std::nullopt;
}

}  // namespace cluster_watcher
