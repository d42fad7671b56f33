#include "watcher/loop/watch_loop.h"

#include <algorithm>

#include "probes/base/duration_text.h"

namespace cluster_watcher {
namespace {

// The master root is read at least this often, and a shared cluster no more often.
constexpr Duration kRootInterval = std::chrono::minutes(1);
// The same while marks are still to be written or taken off, or are another watcher's.
constexpr Duration kUnsettledInterval = std::chrono::seconds(2);
// How long another watcher's condemnation may stand unchanged.
constexpr Duration kStaleCondemnation = std::chrono::minutes(1);
constexpr Duration kLongestAskedWait = std::chrono::minutes(1);
constexpr Duration kRepeatUnknown = std::chrono::minutes(5);
constexpr Duration kLeastPatience = std::chrono::seconds(30);
constexpr int kLeastOfInterval = 90;  // percent, between polls
constexpr Duration kEventsLast = std::chrono::hours(1);
constexpr Duration kAboutTheSame = std::chrono::seconds(1);
constexpr Duration kLongestStep = std::chrono::seconds(10);

// Verdicts under which the owner's marks are ours to write.
bool MayRecord(Reason reason) {
  switch (reason) {
    case Reason::kMisconfigured:
    case Reason::kShared:
    case Reason::kOwnerMismatch:
    case Reason::kUnknown:
    case Reason::kAmbiguous:
      return false;
    case Reason::kHeld:
    case Reason::kDriverRunning:
    case Reason::kOwnerAdopted:
    case Reason::kSharedByReplicas:
    case Reason::kActive:
    case Reason::kInUse:
    case Reason::kOwnerAbsent:
    case Reason::kOwnerDeleting:
    case Reason::kOwnerReplaced:
    case Reason::kScaledToZero:
    case Reason::kCompleted:
      return true;
  }
  return false;
}

}  // namespace

WatchLoop::WatchLoop(Survey& survey, Clock& clock, WatcherMetrics& metrics, Announcer& announcer,
                     spdlog::logger& log, LoopHealth& health, Dial dial, std::function<void()> turn,
                     LastScrape::Next next_scrape)
    : survey_(survey),
      clock_(clock),
      metrics_(metrics),
      announcer_(announcer),
      log_(log),
      health_(health),
      turn_([this, also = std::move(turn)](Duration may_take) {
        health_.Turned(clock_.Now() + may_take);
        also();
      }),
      last_scrape_(survey.client(), clock, log, std::move(next_scrape)),
      reaper_(survey, clock, metrics, announcer, log, std::move(dial), turn_),
      permissions_(survey, clock, metrics, log),
      warn_once_(log),
      jitter_(static_cast<unsigned>(clock.Now().time_since_epoch().count())) {}

int WatchLoop::Run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    const MonotonicTime began = clock_.Now();
    turn_({});
    health_.SetPatience(std::max(kLeastPatience, 3 * survey_.settings().settings.poll_interval));
    const bool at_start = me_.empty();
    switch (Poll(stop)) {
      case Next::kPodGone:
        log_.error(
            "the pod {} does not exist in namespace {}: {}", survey_.settings().settings.pod,
            survey_.settings().settings.ns,
            at_start ? "correct --pod and --namespace" : "its watcher has nothing left to do");
        return at_start ? 2 : 0;
      case Next::kDone: {
        // Metrics are served until the pod is told to stop.
        const MonotonicTime deleted = clock_.Now();
        WaitUntil(MonotonicTime::max(), stop);
        AwaitLastScrape(deleted);
        return 0;
      }
      case Next::kWait:
        break;
    }
    WaitUntil(NextPoll(began), stop);
  }
  const Settings& settings = survey_.settings().settings;
  if (settings.on_termination == OnTermination::kFinish && !settings.dry_run) {
    if (reaper_.FinishOnTermination()) AwaitLastScrape(clock_.Now());
  }
  log_.info("told to stop");
  return 0;
}

void WatchLoop::AwaitLastScrape(MonotonicTime since) {
  last_scrape_.Await(survey_.settings().settings.ns, me_.substr(0, me_.find('/')), since,
                     [this] { turn_({}); });
}

// In steps, so that a long wait doesn't look like a loop that hangs.
void WatchLoop::WaitUntil(MonotonicTime time, std::stop_token stop) {
  while (!stop.stop_requested() && clock_.Now() < time) {
    clock_.WaitUntil(std::min(time, clock_.Now() + kLongestStep), stop);
    turn_({});
  }
}

WatchLoop::Next WatchLoop::Poll(std::stop_token stop) {
  const bool settled = recorded_ && !marks_to_settle_;
  const Duration interval = settled ? kRootInterval : kUnsettledInterval;
  const bool root_is_due = clock_.Now() - last_sure_look_ >= interval;
  if (polled_ && last_.reason == Reason::kActive && !root_is_due && Glance(stop)) {
    return Next::kWait;
  }
  return stop.stop_requested() ? Next::kWait : SureLook(stop);
}

// True: nothing has changed. Whatever else a glance shows is looked at for sure.
bool WatchLoop::Glance(std::stop_token stop) {
  const MonotonicTime began = clock_.Now();
  const auto sight = survey_.Glance(stop);
  if (!sight || sight->observation != Observation::kActive ||
      sight->fields.replicas != last_replicas_) {
    return false;
  }
  metrics_.Polled("active", clock_.Now() - began, clock_.WallNow());
  return true;
}

WatchLoop::Next WatchLoop::SureLook(std::stop_token stop) {
  Snapshot snapshot = survey_.SureLook(in_use_, stop);
  if (stop.stop_requested()) return Next::kWait;
  if (snapshot.pod_gone) return Next::kPodGone;
  if (snapshot.pod) me_ = snapshot.pod->meta.name + "/" + snapshot.pod->meta.uid;
  Decision decision = Decide(snapshot.facts);
  last_sure_look_ = snapshot.began;
  if (snapshot.root_changed) confirmation_.Reset();
  if (decision.abandoned()) {
    confirmation_.Add(OwnerIdentity(snapshot),
                      GraceFor(survey_.settings().settings, decision.reason, snapshot.seen),
                      snapshot.began, snapshot.ended);
    if (IsConfirmed() && !in_use_) {
      survey_.LookForOtherDrivers(snapshot, stop);
      decision = Decide(snapshot.facts);
    }
  }
  if (!decision.abandoned()) {
    confirmation_.Reset();
    if (rehearsed_) metrics_.SetMembers(0, 0);
    rehearsed_ = false;
  }
  const bool overruled = decision.rules.back().matched;
  if (overruled && !in_use_) {
    metrics_.Refused(decision.reason == Reason::kInUse ? "in-use" : "unknown");
  }
  in_use_ = overruled;
  const std::optional<Abandonment> on_its_way = OnItsWay(snapshot);
  Say(snapshot, decision, on_its_way);
  Show(snapshot, decision, on_its_way);
  AnnounceChange(snapshot, decision, on_its_way, stop);
  last_ = decision;
  polled_ = true;
  const Next next = Act(snapshot, decision, stop);
  // What goes on towards a deletion, or with one, doesn't wait for it.
  const bool idle = confirmation_.count() <= 1 && snapshot.marks.phase == Phase::kWatching;
  if (next == Next::kWait && idle) permissions_.AskIfDue(snapshot, stop);
  return next;
}

WatchLoop::Next WatchLoop::Act(const Snapshot& snapshot, const Decision& decision,
                               std::stop_token stop) {
  if (decision.reason == Reason::kOwnerAdopted) survey_.Adopt(snapshot);
  if (!survey_.settings().settings.dry_run && snapshot.root) {
    marks_to_settle_ =
        snapshot.marks.phase != Phase::kWatching || HasForeignMarks(snapshot.root->meta);
    if (auto next = ActOnMarks(snapshot, stop)) return *next;
    // Not right before condemning, which wants the resourceVersion that was read.
    if (!IsConfirmed()) RecordOwner(snapshot, decision);
  }
  if (!IsConfirmed()) return Next::kWait;
  if (survey_.settings().settings.dry_run) {
    if (!rehearsed_) reaper_.Rehearse(snapshot, decision);
    rehearsed_ = true;
    return Next::kWait;
  }
  const auto outcome = reaper_.Condemn(me_, snapshot, decision, AbandonmentNow(), stop);
  confirmation_.Reset();
  // Where it still looks abandoned people are told of another time, but not again and again.
  if (outcome == Reaper::Outcome::kSpared && !announcer_.spares_again()) warning_.reset();
  if (outcome == Reaper::Outcome::kSpared && warning_) warning_->spared_again = true;
  if (outcome == Reaper::Outcome::kOvertaken) overtaken_at_ = clock_.Now();
  return outcome == Reaper::Outcome::kDone ? Next::kDone : Next::kWait;
}

bool WatchLoop::IsConfirmed() const {
  return confirmation_.IsConfirmed(survey_.settings().settings.confirmations);
}

std::optional<WatchLoop::Next> WatchLoop::ActOnMarks(const Snapshot& snapshot,
                                                     std::stop_token stop) {
  const Marks& marks = snapshot.marks;
  switch (marks.phase) {
    case Phase::kWatching:
    case Phase::kDone:
      other_watcher_.reset();
      if (HasForeignMarks(snapshot.root->meta)) CleanMarks(snapshot);
      return std::nullopt;
    case Phase::kDeleting:
      return ActOnDeleting(snapshot, stop);
    case Phase::kCondemned:
      break;
  }
  if (!other_watcher_ || other_watcher_->by != marks.condemned_by) {
    other_watcher_ = Seen{marks.condemned_by, clock_.Now()};
  }
  const bool ours = marks.condemned_by == me_;
  const bool stale = clock_.Now() - other_watcher_->since >= kStaleCondemnation;
  if (ours || stale || IsWatcherGone(snapshot, marks.condemned_by, stop)) {
    CallOff(snapshot, "its condemnation by " + marks.condemned_by + " was not carried through");
  }
  confirmation_.Reset();
  return Next::kWait;
}

std::optional<WatchLoop::Next> WatchLoop::ActOnDeleting(const Snapshot& snapshot,
                                                        std::stop_token stop) {
  const auto label = snapshot.root->meta.Label(snapshot.cluster->label);
  if (label && *label != snapshot.cluster->name) {
    warn_once_("the deletion of cluster " + *label + " is not this watcher's: its cluster is " +
               snapshot.cluster->name);
    return Next::kWait;
  }
  Snapshot resumed = snapshot;
  const bool ours = snapshot.marks.condemned_by == me_;
  if (!ours) {
    warn_once_("the cluster is being deleted by " + snapshot.marks.condemned_by);
    if (!MayTakeOver(snapshot, stop)) return Next::kWait;
  }
  if (!snapshot.marks.deletes_begun && IsLongPast(snapshot)) {
    CallOff(snapshot, "its deletion by " + snapshot.marks.condemned_by + " was not begun in time");
    confirmation_.Reset();
    return Next::kWait;
  }
  if (!ours && !reaper_.TakeOver(me_, resumed)) return Next::kWait;
  confirmation_.Reset();
  switch (reaper_.Resume(me_, resumed)) {
    case Reaper::Outcome::kSpared:
      break;
    case Reaper::Outcome::kOvertaken:
      overtaken_at_ = clock_.Now();
      break;
    case Reaper::Outcome::kDone:
      return Next::kDone;
  }
  return Next::kWait;
}

bool WatchLoop::MayTakeOver(const Snapshot& snapshot, std::stop_token stop) {
  const bool overdue = DeletionAge(snapshot, clock_) > survey_.settings().settings.delete_deadline;
  // Not at once from who has just done it to us.
  const bool just_overtaken = overtaken_at_ && clock_.Now() - *overtaken_at_ < kStaleCondemnation;
  return (overdue && !just_overtaken) || IsWatcherGone(snapshot, snapshot.marks.condemned_by, stop);
}

// A deletion gets from the point of no return to its first delete in the time that its steps take.
// What has stood longer, or was brought back by a rollback, is no reason to hurry.
bool WatchLoop::IsLongPast(const Snapshot& snapshot) const {
  return !snapshot.marks.deleting_since ||
         DeletionAge(snapshot, clock_) >
             survey_.settings().settings.steps_deadline + kStaleCondemnation;
}

bool WatchLoop::IsWatcherGone(const Snapshot& snapshot, const std::string& by,
                              std::stop_token stop) {
  const std::size_t slash = by.find('/');
  // A command's marks name no pod.
  if (slash == std::string::npos || by.substr(0, slash) == "cli") return false;
  const ResourceType& pods = *FindBuiltInByName("pods", "");
  auto answer =
      survey_.client().Do(ApiRequest::Get(pods, snapshot.cluster->ns, by.substr(0, slash)), stop);
  if (!answer) return answer.error().failure == ApiFailure::kNotFound;
  const JsonValue pod = answer->document.root();
  const auto phase = pod["status"]["phase"].AsString();
  return pod["metadata"]["uid"].AsString() != by.substr(slash + 1) || phase == "Failed" ||
         phase == "Succeeded";
}

void WatchLoop::CallOff(const Snapshot& snapshot, const std::string& why) {
  if (!CleanMarks(snapshot)) return;
  announcer_.Spared(snapshot, "", why);
}

bool WatchLoop::CleanMarks(const Snapshot& snapshot) {
  auto written = reaper_.WriteMarks(snapshot, WithoutProtocolMarks());
  if (!written && written.error().failure != ApiFailure::kConflict) {
    warn_once_("marks could not be taken off: " + written.error().message);
  }
  return written.has_value();
}

// So that a restarted watcher knows the owner that it had seen.
void WatchLoop::RecordOwner(const Snapshot& snapshot, const Decision& decision) {
  const std::optional<RecordedOwner>& owner = survey_.seen();
  if (!MayRecord(decision.reason) || !owner) return;
  AnnotationChanges changes;
  if (owner != snapshot.marks.owner) changes = OwnerMarks(*owner);
  const bool other_uid = snapshot.marks.owner && snapshot.marks.owner->uid != owner->uid;
  if (snapshot.marks.app_status && (other_uid || decision.reason == Reason::kSharedByReplicas)) {
    changes[annotation::kAppStatus] = std::nullopt;
  }
  if (changes.empty()) {
    recorded_ = true;
    return;
  }
  auto written = reaper_.WriteMarks(snapshot, std::move(changes));
  recorded_ = written.has_value();
  // A conflict is nothing unusual: controllers write status all the time.
  const bool told = recorded_ || written.error().failure == ApiFailure::kConflict;
  if (!told && !said_unrecorded_) {
    log_.info("the owner can't be recorded: {}", written.error().message);
  }
  said_unrecorded_ = !told;
}

void WatchLoop::Show(const Snapshot& snapshot, const Decision& decision,
                     const std::optional<Abandonment>& on_its_way) {
  const auto& owner = snapshot.facts.owner;
  const auto together = metrics_.Together();
  metrics_.Polled(snapshot.facts.ObservationText(), snapshot.ended - snapshot.began,
                  clock_.WallNow());
  metrics_.SetDryRun(survey_.settings().settings.dry_run);
  const bool observed = std::string_view(snapshot.facts.ObservationText()) != "unknown";
  last_replicas_ = owner && owner->object ? owner->fields.replicas : 0;
  if (observed) metrics_.SetOwnerReplicas(last_replicas_);
  metrics_.SetVerdict(decision.verdict(), ToString(decision.reason));
  metrics_.SetConfirmations(on_its_way ? on_its_way->confirmations : 0);
  if (!decision.abandoned()) abandoned_since_.reset();
  if (decision.abandoned() && !abandoned_since_) abandoned_since_ = clock_.WallNow();
  metrics_.SetAbandonedSince(abandoned_since_);
  const bool due = on_its_way && !on_its_way->dry_run;
  metrics_.SetDeletionDue(due ? std::optional(clock_.WallNow() + on_its_way->due_in)
                              : std::nullopt);
  if (snapshot.cluster && snapshot.facts.root_read) {
    const std::string owner_text = snapshot.OwnerText();
    const char* none = decision.reason == Reason::kShared ? "<shared>" : "<unknown>";
    metrics_.SetCluster(snapshot.cluster->name, owner_text.empty() ? none : owner_text,
                        owner_text.empty() ? "" : snapshot.owner_ns);
  }
  if (decision.reason == Reason::kMisconfigured) {
    health_.SetReady(false);
  } else if (observed) {
    health_.SetReady(true);
  }
}

// One line for each change, and none for each poll: an API server that is away for a night must not
// fill the log.
void WatchLoop::Say(const Snapshot& snapshot, const Decision& decision,
                    const std::optional<Abandonment>& on_its_way) {
  const std::string owner = OwnerIdentity(snapshot);
  const bool other_owner = decision.reason == Reason::kActive && owner != last_owner_said_;
  const bool changed = !polled_ || decision.reason != last_.reason || other_owner;
  const bool again = decision.reason == Reason::kUnknown && decision.detail != last_detail_said_ &&
                     clock_.Now() - last_said_ >= kRepeatUnknown;
  if (!changed && !again) return;
  last_said_ = clock_.Now();
  last_detail_said_ = decision.detail;
  last_owner_said_ = owner;
  announcer_.Verdict(snapshot, decision, on_its_way);
}

std::optional<Abandonment> WatchLoop::OnItsWay(const Snapshot& snapshot) {
  const bool marked =
      snapshot.marks.phase != Phase::kWatching && !survey_.settings().settings.dry_run;
  if (confirmation_.count() == 0 || marked) return std::nullopt;
  return AbandonmentNow();
}

// Before it is deleted, and when it isn't after all. That it can't be told for a while is neither.
void WatchLoop::AnnounceChange(const Snapshot& snapshot, const Decision& decision,
                               const std::optional<Abandonment>& on_its_way, std::stop_token stop) {
  if (on_its_way && snapshot.root && !rehearsed_) {
    const MonotonicTime now = clock_.Now();
    const Warning warning{now, now + on_its_way->due_in, snapshot.root->meta.uid,
                          OwnerIdentity(snapshot)};
    if (!IsWarnedOf(warning)) {
      if (announcer_.Warn(snapshot, decision, *on_its_way, stop)) {
        warning_ = warning;
      } else {
        warn_once_("nobody could be told that the cluster looks abandoned");
      }
    }
  }
  if (!decision.abandoned() && decision.reason != Reason::kUnknown && warning_) {
    announcer_.CameBack(snapshot, decision,
                        std::chrono::duration_cast<Duration>(clock_.Now() - warning_->told), stop);
    warning_.reset();
  }
}

// What people were told must still be true, and be there to be found.
bool WatchLoop::IsWarnedOf(const Warning& now) const {
  if (!warning_ || warning_->root_uid != now.root_uid || warning_->owner != now.owner) return false;
  const bool is_true =
      now.told <= warning_->due + kAboutTheSame && now.due >= warning_->due - kAboutTheSame;
  return (is_true || warning_->spared_again) && now.told - warning_->told < kEventsLast;
}

Abandonment WatchLoop::AbandonmentNow() {
  const Settings& settings = survey_.settings().settings;
  const MonotonicTime now = clock_.Now();
  const MonotonicTime due = confirmation_.Earliest(settings.confirmations,
                                                   settings.poll_interval * kLeastOfInterval / 100);
  return {std::chrono::duration_cast<Duration>(now - confirmation_.Began()), confirmation_.count(),
          std::max(Duration(0), std::chrono::duration_cast<Duration>(due - now)), settings.dry_run};
}

MonotonicTime WatchLoop::NextPoll(MonotonicTime began) {
  Duration interval = survey_.settings().settings.poll_interval;
  if (last_.reason == Reason::kShared) interval = std::max(interval, kRootInterval);
  const auto percent =
      std::uniform_int_distribution<int>(kLeastOfInterval, 200 - kLeastOfInterval)(jitter_);
  const Duration asked = std::min(survey_.client().TakeRetryAfter(), kLongestAskedWait);
  MonotonicTime next = began + interval * percent / 100;
  // The loop wakes when a grace period ends, not a poll later.
  if (confirmation_.count() > 0 && confirmation_.GraceEnd() > began) {
    next = std::min(next, confirmation_.GraceEnd());
  }
  return std::max(next, clock_.Now() + asked);
}

}  // namespace cluster_watcher
