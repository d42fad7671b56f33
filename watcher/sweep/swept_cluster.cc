#include "watcher/sweep/swept_cluster.h"

#include <algorithm>
#include <utility>

#include "probes/base/names.h"
#include "probes/base/time_text.h"
#include "probes/owner_kinds.h"
#include "watcher/deletion/judged_look.h"
#include "watcher/driver/deletion_rights.h"

namespace cluster_watcher {
namespace {

constexpr Duration kBetweenLooks{1'000};
// A controller writes status soon after its object was written.
constexpr Duration kControllersTake{200};
constexpr int kMostFruitless = 5;
constexpr int kMostSpared = 2;
// Another's condemnation is carried through or called off within a minute.
constexpr Duration kPatienceWithOthers = std::chrono::seconds(90);

Swept KeptFor(std::string why) { return {Swept::What::kKept, "", std::move(why)}; }
Swept Failed(std::string why) { return {Swept::What::kFailed, "", std::move(why)}; }

}  // namespace

Swept KeptBy(const Decision& decision) {
  Swept swept{Swept::What::kKept, ToString(decision.reason), decision.detail};
  switch (decision.reason) {
    case Reason::kShared:
    case Reason::kSharedByReplicas:
    case Reason::kActive:
    case Reason::kInUse:
    case Reason::kOwnerAdopted:
    case Reason::kDriverRunning:
      swept.matters = false;
      break;
    case Reason::kMisconfigured:
    case Reason::kOwnerMismatch:
    case Reason::kHeld:
    case Reason::kUnknown:
    case Reason::kAmbiguous:
    case Reason::kOwnerAbsent:
    case Reason::kOwnerDeleting:
    case Reason::kScaledToZero:
    case Reason::kCompleted:
    case Reason::kAsked:
      break;
  }
  return swept;
}

std::unique_ptr<SettingsInForce> SettingsOf(const SettingsInForce::WithAnnotations& settings,
                                            const ClusterId& cluster) {
  const auto of_cluster = [&settings, ns = cluster.ns,
                           name = cluster.name](const TextMap& annotations) {
    ResolvedSettings resolved = settings(annotations);
    resolved.settings.ns = ns;
    resolved.settings.cluster = name;
    resolved.settings.pod.clear();
    return resolved;
  };
  return std::make_unique<SettingsInForce>(of_cluster({}), of_cluster);
}

SweptCluster::SweptCluster(const SweepTools& sweep, ClusterId cluster, KubeObject root,
                           WatcherId me)
    : driver_(sweep.driver),
      cluster_(std::move(cluster)),
      me_(std::move(me)),
      settings_(SettingsOf(sweep.settings, cluster_)),
      tools_{driver_.client,     driver_.discovery, driver_.clock, *settings_, sweep.metrics,
             sweep.log.logger(), [](Duration) {},   Until::kGone,  true},
      observer_(driver_.client, driver_.discovery, driver_.clock, *settings_),
      announcer_(sweep.events, driver_.clock, sweep.log),
      reaper_(tools_, observer_, announcer_, sweep.dial, StepsAt::kElsewhere),
      judge_(tools_, observer_),
      rivals_(tools_, reaper_, judge_),
      abandoned_since_(tools_),
      warning_(tools_, announcer_),
      next_(driver_.clock.Now()) {
  observer_.SetRoot(std::move(root));
}

std::optional<Swept> SweptCluster::Step() {
  const Snapshot look = observer_.SureLook(driver_.stop);
  if (IsStopped()) return KeptFor("the sweep was told to stop");
  if (look.no_such_cluster) return KeptFor("it is gone");
  if (!look.root && look.root_changed) return KeptFor("it changes");
  if (!look.root) {
    return LookAgain(look.facts.problem.empty() ? "its master root can't be read"
                                                : look.facts.problem);
  }
  if (look.is_watched) return KeptFor("a watcher runs in its master pod now");
  if (root_uid_.empty()) root_uid_ = look.root->meta.uid;
  if (look.root->meta.uid != root_uid_) return KeptFor("it has another master root now");
  if (look.orders.opted_out || (look.next_orders && look.next_orders->opted_out)) {
    return KeptFor(std::string("its pods are annotated ") + annotation::kInject + ": \"false\"");
  }
  return ActOn(look);
}

std::optional<Swept> SweptCluster::ActOn(const Snapshot& look) {
  const Decision decision = judge_.DecideOn(look, driver_.stop);
  if (IsStopped()) return KeptFor("the sweep was told to stop");
  if ((*settings_)->dry_run && look.marks.phase == Phase::kWatching) {
    const Decision with_others = DecideWithOthers(observer_, look, driver_.stop);
    return with_others.abandoned() ? Rehearse(look) : KeptBy(with_others);
  }
  if ((*settings_)->dry_run && look.marks.phase == Phase::kDeleting) {
    return Swept{Swept::What::kWouldDelete, look.marks.reason,
                 "its deletion was begun by " + look.marks.condemned_by.ToText() +
                     " and would be finished, or called off"};
  }
  if ((*settings_)->dry_run)
    return KeptFor("it is condemned by " + look.marks.condemned_by.ToText());
  switch (rivals_.Act(me_, look, driver_.stop)) {
    case RivalWatchers::Outcome::kDone:
      return Swept{Swept::What::kDeleted, look.marks.reason, "its deletion was begun and is done"};
    case RivalWatchers::Outcome::kWait:
      return WaitForOthers(look);
    case RivalWatchers::Outcome::kNoMarks:
      break;
  }
  if (decision.reason == Reason::kUnknown) return LookAgain(decision.detail);
  const bool written = abandoned_since_.Write(look, decision, judge_.surge());
  if (!decision.abandoned()) {
    // The mark that it was abandoned must not stay for others to count.
    if (!written && !abandoned_since_.is_settled() && ++fruitless_ < kMostFruitless) {
      next_ = driver_.clock.Now() + kControllersTake;
      return std::nullopt;
    }
    warning_.Tell(look, decision, std::nullopt, driver_.stop);
    return KeptBy(decision);
  }
  fruitless_ = 0;
  if (written) {
    next_ = judge_.IsDue() ? driver_.clock.Now() + kControllersTake : NextConfirmation();
    warning_.Tell(look, decision, judge_.AbandonmentNow(), driver_.stop);
    return std::nullopt;
  }
  return ActOnAbandoned(look, decision);
}

std::optional<Swept> SweptCluster::ActOnAbandoned(const Snapshot& look, const Decision& decision) {
  warning_.Tell(look, decision, judge_.AbandonmentNow(), driver_.stop);
  if (const auto& problem = abandoned_since_.problem(); problem && judge_.IsDue()) {
    const bool is_held = !problem->policy.empty();
    if (is_held) return KeptBy(HeldByPolicy(decision, problem->policy));
    judge_.Reset();
    if (++spared_ < kMostSpared && IsTransient(problem->failure)) {
      next_ = driver_.clock.Now() + kBetweenLooks;
      return std::nullopt;
    }
    return Failed("it can't be marked as abandoned: " + problem->message);
  }
  if (judge_.MayCondemn()) return Condemn(look, decision);
  next_ = NextConfirmation();
  return std::nullopt;
}

std::optional<Swept> SweptCluster::Condemn(const Snapshot& look, const Decision& decision) {
  if (auto denied = WhyNotAllowed(driver_, **settings_, cluster_, &*look.root)) {
    return Failed(*denied);
  }
  reason_ = ToString(decision.reason);
  const auto outcome = reaper_.Condemn(me_, look, decision, judge_.AbandonmentNow(), driver_.stop);
  judge_.Reset();
  switch (outcome) {
    case Reaper::Outcome::kDone:
      return Swept{Swept::What::kDeleted, reason_, decision.detail};
    case Reaper::Outcome::kOvertaken:
      return KeptFor("another watcher deletes it");
    case Reaper::Outcome::kSpared:
      break;
  }
  if (IsStopped()) {
    reaper_.TakeMarksOff(me_, *look.root, true);
    return KeptFor("the sweep was told to stop");
  }
  warning_.Spared();
  if (!reaper_.given_up().empty()) return Failed(reaper_.given_up());
  if (reaper_.is_refused_by_policy()) judge_.NotePolicy();
  if (++spared_ >= kMostSpared)
    return KeptFor("it was spared: it changes, or is no longer abandoned");
  next_ = driver_.clock.Now() + kBetweenLooks;
  return std::nullopt;
}

// The one who has begun a deletion and is still there finishes it. Asked once more: it may have
// just been taken over, or be our own, which was held up.
std::optional<Swept> SweptCluster::WaitForOthers(const Snapshot& look) {
  const Marks& marks = look.marks;
  if (!reaper_.given_up().empty()) return Failed(reaper_.given_up());
  next_ = driver_.clock.Now() + kBetweenLooks;
  if (marks.phase == Phase::kDeleting) {
    if (marks.condemned_by == me_ && reaper_.is_refused_by_policy()) {
      return Failed("it is half deleted, and a policy holds the rest until a later sweep");
    }
    if (marks.condemned_by != me_ && seen_deleting_ == marks.condemned_by) {
      return KeptFor("already being deleted by " + marks.condemned_by.ToText());
    }
    seen_deleting_ = marks.condemned_by;
    return std::nullopt;
  }
  if (!condemned_since_) condemned_since_ = driver_.clock.Now();
  if (driver_.clock.Now() - *condemned_since_ < kPatienceWithOthers) return std::nullopt;
  return KeptFor("it stays condemned by " + marks.condemned_by.ToText());
}

std::optional<Swept> SweptCluster::LookAgain(const std::string& why) {
  judge_.Reset();
  if (++fruitless_ >= kMostFruitless) {
    return Swept{Swept::What::kKept, ToString(Reason::kUnknown), why};
  }
  next_ = driver_.clock.Now() + kBetweenLooks;
  return std::nullopt;
}

Swept SweptCluster::Rehearse(const Snapshot& look) {
  const Decision decision = Decide(look.facts);
  Deletion rehearsal(tools_, {look, look.marks, decision.detail}, driver_.clock.Now());
  return {Swept::What::kWouldDelete, ToString(decision.reason),
          decision.detail + ": " + Joined(rehearsal.Rehearse())};
}

// Makes as few looks as suffice, spread over the grace period.
MonotonicTime SweptCluster::NextConfirmation() const {
  const Confirmation& confirmation = judge_.confirmation();
  const MonotonicTime now = driver_.clock.Now();
  const MonotonicTime end = std::max(confirmation.GraceEnd(), now);
  const int missing = (*settings_)->confirmations - confirmation.count();
  if (missing <= 0) return end;
  return now + std::max((*settings_)->poll_interval,
                        std::chrono::duration_cast<Duration>((end - now) / missing));
}

}  // namespace cluster_watcher
