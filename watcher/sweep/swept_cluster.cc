#include "watcher/sweep/swept_cluster.h"

#include <algorithm>
#include <utility>

#include "probes/base/names.h"
#include "probes/base/time_text.h"
#include "probes/masters.h"
#include "probes/owner_kinds.h"
#include "watcher/deletion/judged_look.h"
#include "watcher/driver/deletion_rights.h"

namespace cluster_watcher {
namespace {

constexpr int kMostFruitless = 5;
constexpr int kMostSpared = 2;
// The CronJob ends a sweep after two.
constexpr Duration kLongestWait = std::chrono::hours(1);
constexpr const char* kOutlasts =
    "its grace period outlasts a sweep, which waits for an hour at most: give the sweep "
    "--grace-period or --confirmations, or delete it";
constexpr const char* kIsStopped = "the sweep was told to stop";

Swept Failed(std::string why) { return {Swept::What::kFailed, "", std::move(why)}; }

}  // namespace

Swept KeptBy(const Decision& decision) {
  return {Swept::What::kKept, ToString(decision.reason), decision.detail,
          !IsAsItShouldBe(decision.reason)};
}

std::unique_ptr<SettingsInForce> SettingsOf(const SettingsInForce::WithAnnotations& settings,
                                            const ClusterId& cluster) {
  const auto of_cluster = SettingsInForce::About(cluster, settings);
  return std::make_unique<SettingsInForce>(of_cluster({}), of_cluster);
}

SweptCluster::SweptCluster(const SweepTools& sweep, ClusterId cluster, KubeObject root,
                           WatcherId me)
    : driver_(sweep.driver),
      cluster_(std::move(cluster)),
      me_(std::move(me)),
      settings_(SettingsOf(sweep.settings, cluster_)),
      tools_{.client = driver_.client,
             .discovery = driver_.discovery,
             .clock = driver_.clock,
             .settings = *settings_,
             .metrics = sweep.metrics,
             .log = sweep.log.logger(),
             .turn = [](Duration) {},
             .gives_up = true,
             .heeds_stop = true},
      observer_(driver_.client, driver_.discovery, driver_.clock, *settings_),
      announcer_(sweep.events, driver_.clock, sweep.log),
      engine_(tools_, observer_, announcer_, sweep.dial, StepsAt::kElsewhere, Caller::kWatcher),
      next_(driver_.clock.Now()) {
  announcer_.SweptBy(sweep.asker);
  observer_.SetRoot(std::move(root));
  observer_.HeedsOptOut();
}

std::optional<Swept> SweptCluster::Step() {
  const Snapshot look = observer_.SureLook(driver_.stop);
  if (IsStopped()) return Swept::KeptFor(kIsStopped);
  if (look.missing == Missing::kCluster) return Swept::KeptFor("it is gone");
  if (!look.root && look.root_changed) return Swept::KeptFor("it changes");
  if (!look.root) {
    return LookAgain(
        look, look.facts.problem.empty() ? "its master root can't be read" : look.facts.problem);
  }
  if (look.pod_says.watcher == WatcherInPod::kRuns)
    return Swept::KeptFor("a watcher runs in its master pod now");
  if (root_uid_.empty()) {
    const auto why = WhyNotItsPods(look);
    if (!why) return LookAgain(look, why.error().message);
    if (!why->empty()) return Swept::KeptFor(*why);
    root_uid_ = look.root->meta.uid;
  }
  if (look.root->meta.uid != root_uid_) return Swept::KeptFor("it has another master root now");
  return ActOn(look);
}

// A pod without the cluster's label isn't found by it, and so neither is a hold that it bears.
Result<std::string, ApiError> SweptCluster::WhyNotItsPods(const Snapshot& look) {
  if (look.marks.phase == Phase::kDeleting) return std::string();
  ObjectMeta pods;
  if (look.pod) {
    pods = look.pod->meta;
  } else {
    const auto read = driver_.client.Do(
        ApiRequest::Get(look.root->type, cluster_.ns, look.root->meta.name), driver_.Reads());
    if (!read) return Unexpected{read.error()};
    const JsonValue made = PodTemplateOf(look.root->type, read->document.root());
    if (!made.IsObject()) {
      if (IsPod(look.root->type) || cluster_.IsFrameworks(*look.root)) return std::string();
      return "what the pods of " + look.root->Describe() +
             " say, as of a hold, can't be seen while there are none";
    }
    ObjectMeta::Common& common = pods.common.Edit();
    for (const auto& [texts, name] :
         {std::pair(&common.labels, "labels"), std::pair(&common.annotations, "annotations")}) {
      made["metadata"][name].ForEachMember([into = texts](std::string_view key, JsonValue value) {
        into->emplace(key, value.AsString().value_or(""));
      });
    }
  }
  if (!cluster_.Owns(pods)) {
    return "the pods of " + look.root->Describe() + " aren't labelled " + cluster_.Selector() +
           ": label their template";
  }
  if (pods.Annotation("cluster-watcher/profile") == cluster_.profile->name) return std::string();
  const auto fits = (*settings_)->profiles->OfMaster(pods);
  if (!fits) return fits.error().message;
  if ((*fits)->name == cluster_.profile->name) return std::string();
  return "the pods of " + look.root->Describe() + " are labelled as those of the profile " +
         (*fits)->name;
}

std::optional<Swept> SweptCluster::ActOn(const Snapshot& look) {
  if ((*settings_)->dry_run) return WouldBe(look);
  const Decision decision = engine_.Decide(look, driver_.stop);
  if (IsStopped()) return Swept::KeptFor(kIsStopped);
  if (decision.abandoned() && look.marks.phase == Phase::kWatching && IsDueTooLate()) {
    return Swept::KeptFor(kOutlasts);
  }
  engine_.Warn(look, decision, driver_.stop);
  const CaseStep step = engine_.Next(me_, look, decision, driver_.stop);
  if (decision.reason == Reason::kUnknown && !IsOnMarks(step))
    return LookAgain(look, decision.detail);
  if (LeadsToDeletes(step)) {
    if (auto denied = WhyNotAllowed(driver_, **settings_, cluster_, &*look.root)) {
      return Failed(*denied);
    }
  }
  return TellOf(engine_.CarryOut(step, me_, look, decision, driver_.stop), look, decision);
}

std::optional<Swept> SweptCluster::TellOf(Engine::Outcome outcome, const Snapshot& look,
                                          const Decision& decision) {
  switch (outcome) {
    case Engine::Outcome::kKept:
      break;
    case Engine::Outcome::kMarked:
      if (!decision.abandoned()) return Keep(decision);
      if (engine_.judge().IsDue()) return LookAt(driver_.clock.Now() + kControllersTake);
      [[fallthrough]];
    case Engine::Outcome::kConfirms:
      fruitless_ = 0;
      return LookAt(NextConfirmation());
    case Engine::Outcome::kWaits:
      return WaitForOthers(look, decision);
    case Engine::Outcome::kUnmarked:
    case Engine::Outcome::kSpared:
      return AfterSparing(look, decision);
    case Engine::Outcome::kOvertaken:
      return Swept::KeptFor("another watcher deletes it");
    case Engine::Outcome::kDone:
      if (!engine_.given_up().empty()) return Failed(engine_.given_up());
      if (look.marks.phase == Phase::kDeleting) {
        return Swept{Swept::What::kDeleted, look.marks.reason,
                     "its deletion was begun and is done"};
      }
      return Swept{Swept::What::kDeleted, ToString(decision.reason), decision.detail};
  }
  return Keep(decision);
}

// The mark that it was abandoned must not stay for others to count, and an owner that was made
// again may be over as well.
std::optional<Swept> SweptCluster::Keep(const Decision& decision) {
  const bool is_settled = engine_.is_settled() && decision.reason != Reason::kOwnerAdopted;
  if (!is_settled && ++fruitless_ < kMostFruitless) {
    return LookAt(driver_.clock.Now() + kControllersTake);
  }
  return KeptBy(decision);
}

// Says what becomes of it if this is a dry run.
Swept SweptCluster::WouldBe(const Snapshot& look) {
  switch (look.marks.phase) {
    case Phase::kDeleting:
      return {Swept::What::kWouldDelete, look.marks.reason,
              "its deletion was begun by " + look.marks.condemned_by.ToText() +
                  " and would be finished, or called off"};
    case Phase::kCondemned:
      return Swept::KeptFor("it is condemned by " + look.marks.condemned_by.ToText());
    case Phase::kWatching:
    case Phase::kDone:
      break;
  }
  const Decision decision = DecideWithOthers(observer_, look, driver_.stop);
  if (!decision.abandoned()) return KeptBy(decision);
  if (GraceFor(**settings_, decision.reason, look.seen) > kLongestWait)
    return Swept::KeptFor(kOutlasts);
  return {Swept::What::kWouldDelete, ToString(decision.reason),
          decision.detail + ": " + Joined(engine_.WouldDelete(look, decision))};
}

std::optional<Swept> SweptCluster::AfterSparing(const Snapshot& look, const Decision& decision) {
  if (IsStopped()) {
    engine_.TakeMarksOff(me_, *look.root);
    return Swept::KeptFor(kIsStopped);
  }
  if (!engine_.given_up().empty()) return Failed(engine_.given_up());
  const auto& unmarked = engine_.unmarked();
  if (unmarked && !unmarked->policy.empty())
    return KeptBy(HeldByPolicy(decision, unmarked->policy));
  const bool is_refused = unmarked && !IsTransient(unmarked->failure);
  if (++spared_ < kMostSpared && !is_refused) return LookAt(driver_.clock.Now() + kBetweenLooks);
  if (unmarked) return Failed("it can't be marked as abandoned: " + unmarked->message);
  return Swept::KeptFor("it was spared: it changes, or is no longer abandoned");
}

std::optional<Swept> SweptCluster::WaitForOthers(const Snapshot& look, const Decision& decision) {
  const Marks& marks = look.marks;
  if (!engine_.given_up().empty()) return Failed(engine_.given_up());
  if (marks.phase == Phase::kDeleting && marks.condemned_by == me_ &&
      engine_.is_refused_by_policy()) {
    return Failed("it is half deleted, and a policy holds the rest until a later sweep");
  }
  switch (engine_.others()) {
    case OthersAtIt::kMaybe:
      break;
    case OthersAtIt::kDeletes:
      return Swept::KeptFor("already being deleted by " + marks.condemned_by.ToText());
    case OthersAtIt::kStays:
      return Swept::KeptFor("it stays condemned by " + marks.condemned_by.ToText());
  }
  if (decision.reason == Reason::kUnknown) return LookAgain(look, decision.detail);
  if (marks.phase == Phase::kDeleting && ++fruitless_ == kMostFruitless) {
    return Failed("its deletion was begun by " + marks.condemned_by.ToText() +
                  " and can't be carried on: the log says why");
  }
  return LookAt(driver_.clock.Now() + kBetweenLooks);
}

std::optional<Swept> SweptCluster::LookAgain(const Snapshot& look, const std::string& why) {
  engine_.ResetCount();
  if (++fruitless_ < kMostFruitless) return LookAt(driver_.clock.Now() + kBetweenLooks);
  const bool is_stuck =
      look.marks.phase == Phase::kDeleting &&
      IsPastDeadline(look.marks, ServerNow(look, driver_.clock), (*settings_)->delete_deadline);
  if (is_stuck) return Failed("its deletion was begun, and can't be gone on with: " + why);
  return Swept{Swept::What::kKept, ToString(Reason::kUnknown), why};
}

std::optional<Swept> SweptCluster::LookAt(MonotonicTime next) {
  next_ = next;
  return std::nullopt;
}

bool SweptCluster::IsDueTooLate() const {
  const Settings& settings = **settings_;
  const Confirmation& confirmation = engine_.judge().confirmation();
  return confirmation.Earliest(settings.confirmations, settings.poll_interval) >
         confirmation.Began() + kLongestWait;
}

// Makes as few looks as suffice, spread over the grace period.
MonotonicTime SweptCluster::NextConfirmation() const {
  const Confirmation& confirmation = engine_.judge().confirmation();
  const MonotonicTime now = driver_.clock.Now();
  const MonotonicTime end = std::max(confirmation.GraceEnd(), now);
  const int missing = (*settings_)->confirmations - confirmation.count();
  if (missing <= 0) return end > now ? end : now + (*settings_)->poll_interval;
  return now + std::max((*settings_)->poll_interval,
                        std::chrono::duration_cast<Duration>((end - now) / missing));
}

}  // namespace cluster_watcher
