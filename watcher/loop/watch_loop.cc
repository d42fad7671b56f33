#include "watcher/loop/watch_loop.h"

#include <algorithm>
#include <utility>

#include "probes/owner_kinds.h"

namespace cluster_watcher {
namespace {

// The master root is read at least this often, and that of a shared cluster no more often.
constexpr Duration kRootInterval = std::chrono::minutes(1);
// The same while marks are still to be written or taken off, or are another watcher's: at first,
// and then for as long as this part of the time that it has been so, since it may never end.
constexpr Duration kUnsettledInterval = std::chrono::seconds(2);
constexpr int kLooksInUnsettledTime = 4;
// While all is well everything is read about this often.
constexpr Duration kSureInterval = std::chrono::minutes(10);
// While the owner and the root are watched, what an event that got lost may cost.
constexpr Duration kRareInterval = std::chrono::hours(1);
// An API server that is away is asked ever more seldom, but as often as this. When it is back all
// ask for everything again, and must not keep it from coming up.
constexpr Duration kAwayInterval = std::chrono::seconds(30);
constexpr int kLeastOfAwayInterval = 50;  // hundredths: those who noticed at once get out of step
constexpr Duration kLongestAskedWait = std::chrono::minutes(1);
// A condemnation that was refused so often in a row is expected to be refused again.
constexpr int kRefusedAgain = 2;
// A controller writes status soon after its object was written.
constexpr Duration kControllersTake{200};
constexpr Duration kLeastPatience = std::chrono::seconds(30);
constexpr Duration kLongestStep = std::chrono::seconds(10);

// Whether what is known of an active owner once it is gone stays the same. Runs of an owner that
// has some come and go, and are found by its UID as well.
bool IsTheSameOnceGone(const OwnerSight& sight, const OwnerFields& before) {
  const OwnerFields& now = sight.fields;
  const bool has_runs = RunsOf(*sight.object->type) != nullptr;
  return now.replicas == before.replicas && now.termination_grace == before.termination_grace &&
         (has_runs || now.pod_selector == before.pod_selector);
}

// Whether a verdict is likely to last, and needn't be made again at each poll.
bool MayLast(Reason reason) {
  switch (reason) {
    case Reason::kHeld:
    case Reason::kSharedByReplicas:
    case Reason::kInUse:
    case Reason::kDriverRunning:
    case Reason::kMisconfigured:
    case Reason::kAmbiguous:
      return true;
    case Reason::kShared:
    case Reason::kOwnerMismatch:
    case Reason::kUnknown:
    case Reason::kOwnerAdopted:
    case Reason::kActive:
    case Reason::kOwnerAbsent:
    case Reason::kOwnerDeleting:
    case Reason::kScaledToZero:
    case Reason::kCompleted:
    case Reason::kAsked:
      return false;
  }
  return false;
}

// When the last hold of `snapshot` ends by both clocks, in our monotonic time; nullopt: none does.
std::optional<MonotonicTime> HoldEnd(const Snapshot& snapshot, Clock& clock) {
  const WallTime now = std::min(clock.WallNow(), ServerNow(snapshot, clock));
  std::optional<MonotonicTime> end;
  for (const Hold& hold : snapshot.facts.holds) {
    if (!hold.until || *hold.until <= now || *hold.until > now + kRootInterval) continue;
    const MonotonicTime at = clock.Now() + std::chrono::ceil<Duration>(*hold.until - now);
    end = end ? std::max(*end, at) : at;
  }
  return end;
}

}  // namespace

WatchLoop::WatchLoop(const Tools& tools, Observer& observer, Announcer& announcer,
                     LoopHealth& health, Dial dial, LastScrape::Next next_scrape,
                     const WatchAccess* watches)
    : tools_(tools),
      observer_(observer),
      health_(health),
      reaper_(tools_, observer, announcer, std::move(dial)),
      judge_(tools_, observer),
      view_(tools_, announcer, health),
      warning_(tools_, announcer),
      rivals_(tools_, reaper_, judge_),
      abandoned_since_(tools_),
      owner_record_(tools_),
      permissions_(tools_, observer),
      last_scrape_(tools.client, tools.clock, tools.log, std::move(next_scrape)),
      watch_(tools_, watches),
      jitter_(static_cast<unsigned>(tools.clock.Now().time_since_epoch().count())) {}

int WatchLoop::Run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    const MonotonicTime began = tools_.clock.Now();
    const bool at_start = !me_;
    tools_.turn({});
    health_.SetPatience(std::max(kLeastPatience, 3 * tools_.settings->poll_interval));
    switch (Poll(stop)) {
      case Next::kPodGone:
        return SayThatPodIsGone(at_start);
      case Next::kPodWaits:
        return SayThatPodWaits();
      case Next::kDone:
        return EndDone(stop);
      case Next::kWait:
        break;
    }
    Rest(began, stop);
  }
  watch_.Close();
  return EndToldToStop();
}

// Each decision is shown before it is acted on: a deletion takes its time.
WatchLoop::Next WatchLoop::Poll(std::stop_token stop) {
  if (MayGlance() && Glance(stop)) return Next::kWait;
  if (stop.stop_requested()) return Next::kWait;

  const Snapshot snapshot = observer_.SureLook(stop);
  if (stop.stop_requested()) return Next::kWait;
  if (snapshot.pod_gone) return Next::kPodGone;
  if (!me_ && snapshot.pod_waits) return Next::kPodWaits;

  const Decision decision = judge_.DecideOn(snapshot, stop);
  // A search for other drivers that was cut off says nothing.
  if (stop.stop_requested()) return Next::kWait;

  const std::optional<Abandonment> on_its_way = OnItsWay(snapshot);
  view_.Show(snapshot, decision, on_its_way);
  warning_.Tell(snapshot, decision, rehearsed_ ? std::nullopt : on_its_way, stop);

  const Next next = Act(snapshot, decision, stop);
  if (next == Next::kWait && MayWatch()) GlanceAtOwner(stop);
  return next;
}

bool WatchLoop::MayWatch() const {
  const bool is_soon = UnsettledInterval() < kRootInterval;
  return watch_.IsAskedFor() && last_reason_ == Reason::kActive && (IsSettled() || !is_soon);
}

bool WatchLoop::IsSettled() const {
  return owner_record_.is_written() && abandoned_since_.is_settled() && !marks_to_settle_;
}

Duration WatchLoop::UnsettledInterval() const {
  const MonotonicTime since = unsettled_since_.value_or(last_sure_look_);
  return std::clamp(std::chrono::floor<Duration>(last_sure_look_ - since) / kLooksInUnsettledTime,
                    kUnsettledInterval, kRootInterval);
}

// Whether a sure look each minute has something to do while all is well: to try again what could
// not be written, or to ask for permissions.
bool WatchLoop::NeedsLooks() const {
  return !IsSettled() || owner_record_.is_refused() || abandoned_since_.is_refused() ||
         rivals_.is_refused() || permissions_.is_put_off();
}

bool WatchLoop::MayGlance() const {
  if (watch_.NeedsSureLook()) return false;
  if (lasting_) return IsSettled() && tools_.clock.Now() < lasting_->next_look;
  MonotonicTime end = next_sure_look_;
  if (NeedsLooks()) end = last_sure_look_ + kRootInterval;
  if (!IsSettled()) end = last_sure_look_ + UnsettledInterval();
  return last_reason_ == Reason::kActive && tools_.clock.Now() < end;
}

// Whether the owner is as active as the last sure look has found it.
bool WatchLoop::IsActiveAsBefore(const std::optional<OwnerSight>& sight) const {
  return sight && sight->observation == Observation::kActive &&
         IsTheSameOnceGone(*sight, last_fields_) &&
         watch_.IsAsNew(sight->object->meta.resource_version);
}

// True: nothing has changed. Whatever else a glance shows is looked at for sure.
bool WatchLoop::Glance(std::stop_token stop) {
  const MonotonicTime began = tools_.clock.Now();
  if (lasting_ && !lasting_->has_active_owner) return true;
  const bool looks_around = !lasting_ && began - root_read_ >= kRootInterval;
  if (looks_around) {
    if (!IsActiveAsBefore(observer_.Glance(Freshness::kSure, stop))) return false;
    if (!observer_.IsAroundAsBefore(stop)) return false;
    root_read_ = began;
  }
  // A consistent read asks other objects too, which no watch shows.
  if (!looks_around || watch_.IsAskedFor()) {
    if (!GlanceAtOwner(stop)) return false;
  }
  tools_.metrics.Polled("active", tools_.clock.Now() - began, tools_.clock.WallNow());
  return true;
}

bool WatchLoop::GlanceAtOwner(std::stop_token stop) {
  const auto sight = observer_.Glance(Freshness::kGlance, stop);
  if (IsActiveAsBefore(sight)) {
    active_owner_ = sight->object;
    return true;
  }
  const bool is_same =
      sight && sight->object && sight->object->meta.resource_version == owner_version_;
  owner_unseen_ = !is_same;
  return false;
}

WatchLoop::Next WatchLoop::Act(const Snapshot& snapshot, const Decision& decision,
                               std::stop_token stop) {
  if (snapshot.pod) me_ = WatcherId{snapshot.pod->meta.name, snapshot.pod->meta.uid};
  NoteLasting(snapshot, decision);
  last_reason_ = decision.reason;
  NoteLook(snapshot);
  if (!decision.abandoned()) {
    if (rehearsed_) tools_.metrics.SetMembers(0, 0);
    rehearsed_ = false;
  }
  const Next next = ActOnRoot(snapshot, decision, stop);
  if (IsSettled()) {
    unsettled_since_.reset();
  } else if (!unsettled_since_) {
    unsettled_since_ = last_sure_look_;
  }
  // Nothing that leads to a deletion waits for this.
  const bool idle = judge_.confirmation().count() <= 1 && snapshot.marks.phase == Phase::kWatching;
  if (next == Next::kWait && idle && !look_again_) permissions_.AskIfDue(snapshot, stop);
  return next;
}

// The longer a verdict lasts, the more seldom it is made: after as long again each time.
void WatchLoop::NoteLasting(const Snapshot& snapshot, const Decision& decision) {
  const bool is_definite_keep = !decision.abandoned() && decision.reason != Reason::kUnknown;
  if (is_definite_keep) refusals_ = 0;
  const bool lasts =
      MayLast(decision.reason) || (decision.abandoned() && refusals_ >= kRefusedAgain);
  const bool is_same = lasting_ && (lasting_->reason == decision.reason || decision.abandoned());
  if (!lasts) return lasting_.reset();
  const MonotonicTime since = is_same ? lasting_->since : snapshot.began;
  const Duration poll = tools_.settings->poll_interval;
  const Duration interval = std::clamp<Duration>(
      std::chrono::floor<Duration>(snapshot.began - since), poll, std::max(poll, kRootInterval));
  const auto& owner = snapshot.facts.owner;
  // A change is noticed within a minute, and the loop turns once in each poll interval.
  const Duration longest = std::max(poll, kRootInterval - poll);
  lasting_ = Lasting{decision.reason, since,
                     snapshot.began + std::min<Duration>(interval * Percent() / 100, longest),
                     owner && owner->observation == Observation::kActive};
  const auto hold_end = HoldEnd(snapshot, tools_.clock);
  if (decision.reason == Reason::kHeld && hold_end) {
    lasting_->next_look = std::min(lasting_->next_look, *hold_end);
  }
}

void WatchLoop::NoteLook(const Snapshot& snapshot) {
  const auto& owner = snapshot.facts.owner;
  last_sure_look_ = snapshot.began;
  if (snapshot.facts.server_time || snapshot.facts.root_read) {
    away_since_.reset();
  } else if (!away_since_) {
    away_since_ = snapshot.began;
  }
  root_read_ = snapshot.began;
  next_sure_look_ = snapshot.began + kSureInterval * Percent() / 100;
  last_fields_ = owner && owner->object ? owner->fields : OwnerFields();
  owner_version_ = owner && owner->object ? owner->object->meta.resource_version : "";
  owner_unseen_ = false;
  active_owner_.reset();
  if (!watch_.IsAskedFor()) return;
  if (last_reason_ != Reason::kActive) watch_.Close();
  root_ = snapshot.root;
  watch_.NoteSureLook();
  rare_look_ = snapshot.began + kRareInterval * Percent() / 100;
}

WatchLoop::Next WatchLoop::ActOnRoot(const Snapshot& snapshot, const Decision& decision,
                                     std::stop_token stop) {
  const bool adopted = decision.reason == Reason::kOwnerAdopted;
  const std::optional<RecordedOwner> owner = adopted ? observer_.Adopt(snapshot) : snapshot.seen;
  if (!tools_.settings->dry_run && snapshot.root) {
    const auto outcome = rivals_.Act(*me_, snapshot, stop);
    const bool has_marks =
        snapshot.marks.phase != Phase::kWatching || HasVoidMarks(snapshot.root->meta);
    marks_to_settle_ = has_marks && !rivals_.is_refused();
    if (rivals_.is_refused_by_guard()) judge_.NoteGuard();
    switch (outcome) {
      case RivalWatchers::Outcome::kNoMarks:
        break;
      case RivalWatchers::Outcome::kWait:
        return Next::kWait;
      case RivalWatchers::Outcome::kDone:
        return Next::kDone;
    }
    if (abandoned_since_.Write(snapshot, decision, judge_.surge())) {
      // Other writes need the resourceVersion of another look.
      marks_to_settle_ = true;
      look_again_ = judge_.IsDue();
      return Next::kWait;
    }
    if (const auto& problem = abandoned_since_.problem(); problem && judge_.IsDue()) {
      SpareUnmarked(snapshot, *problem);
      return Next::kWait;
    }
    // Not right before condemning, which needs the resourceVersion that was read.
    if (!judge_.MayCondemn()) NoteWritten(owner_record_.Write(snapshot, decision, owner));
    if (owner_record_.is_refused_by_guard()) judge_.NoteGuard();
  }
  if (!judge_.MayCondemn()) return Next::kWait;
  if (tools_.settings->dry_run) {
    Rehearse(snapshot, decision);
    return Next::kWait;
  }
  return Condemn(snapshot, decision, stop);
}

// This watcher's own writes are no change.
void WatchLoop::NoteWritten(const std::optional<ObjectMeta>& root) {
  if (!root) return;
  observer_.NoteWritten(*root);
  watch_.NoteWritten(*root);
  if (root_) root_->meta = *root;
}

WatchLoop::Next WatchLoop::Condemn(const Snapshot& snapshot, const Decision& decision,
                                   std::stop_token stop) {
  const auto outcome = reaper_.Condemn(*me_, snapshot, decision, judge_.AbandonmentNow(), stop);
  judge_.Reset();
  if (reaper_.is_refused_by_policy()) judge_.NotePolicy();
  switch (outcome) {
    case Reaper::Outcome::kSpared:
      ++refusals_;
      warning_.Spared();
      break;
    case Reaper::Outcome::kOvertaken:
      break;
    case Reaper::Outcome::kDone:
      return Next::kDone;
  }
  // Its marks may be left.
  marks_to_settle_ = true;
  return Next::kWait;
}

// Spares as if the condemnation could not be written.
void WatchLoop::SpareUnmarked(const Snapshot& snapshot, const ApiError& problem) {
  const bool conflict = problem.failure == ApiFailure::kConflict;
  const bool held = !problem.policy.empty() && !IsOfGuard(problem.policy);
  reaper_.BackToWatching(snapshot,
                         held       ? Refusal::kHold
                         : conflict ? Refusal::kConflict
                                    : Refusal::kUnknown,
                         problem.message);
  judge_.Reset();
  ++refusals_;
  if (!problem.policy.empty()) judge_.NotePolicy();
  warning_.Spared();
}

void WatchLoop::Rehearse(const Snapshot& snapshot, const Decision& decision) {
  if (!rehearsed_) reaper_.Rehearse(snapshot, decision);
  rehearsed_ = true;
}

std::optional<Abandonment> WatchLoop::OnItsWay(const Snapshot& snapshot) const {
  const bool marked = snapshot.marks.phase != Phase::kWatching && !tools_.settings->dry_run;
  if (judge_.confirmation().count() == 0 || marked || snapshot.IsPodTerminating()) {
    return std::nullopt;
  }
  return judge_.AbandonmentNow();
}

int WatchLoop::SayThatPodIsGone(bool at_start) {
  tools_.log.error(
      "the pod {} does not exist in namespace {}: {}", tools_.settings->pod, tools_.settings->ns,
      at_start ? "correct --pod and --namespace" : "its watcher has nothing left to do");
  return at_start ? 2 : 0;
}

// Without this the pod would stay in Init for ever.
int WatchLoop::SayThatPodWaits() {
  tools_.log.error(
      "nothing watches over this cluster: the watcher is an init container of the pod {} without "
      "restartPolicy Always, so it ends to let the pod start. Kubernetes before 1.29 has no "
      "sidecars: upgrade it, or run the watcher as a regular container",
      tools_.settings->pod);
  return 0;
}

// Serves metrics until the pod is told to stop.
int WatchLoop::EndDone(std::stop_token stop) {
  watch_.Close();
  const MonotonicTime deleted = tools_.clock.Now();
  WaitUntil(MonotonicTime::max(), stop);
  AwaitLastScrape(deleted);
  return 0;
}

int WatchLoop::EndToldToStop() {
  tools_.log.info("told to stop");
  return 0;
}

void WatchLoop::AwaitLastScrape(MonotonicTime since) {
  last_scrape_.Await(tools_.settings->ns, me_ ? me_->pod : "", since, [this] { tools_.turn({}); });
}

// In steps, so that a long wait doesn't look like a loop that hangs.
void WatchLoop::WaitUntil(MonotonicTime time, std::stop_token stop) {
  while (!stop.stop_requested() && tools_.clock.Now() < time) {
    tools_.clock.WaitUntil(std::min(time, tools_.clock.Now() + kLongestStep), stop);
    tools_.turn({});
  }
}

// While all is well the watches say when to look. That the owner's own fields say that it is active
// is seen by a glance: where other objects keep it active, these must be looked at.
void WatchLoop::Rest(MonotonicTime began, const std::stop_token& stop) {
  const MonotonicTime poll = NextPoll(began);
  if (!MayWatch()) {
    watch_.Close();
    return WaitUntil(poll, stop);
  }
  if (active_owner_ && root_) watch_.Aim(*active_owner_, *root_);
  const MonotonicTime rare = NeedsLooks() ? last_sure_look_ + kRootInterval : rare_look_;
  watch_.Wait(poll, active_owner_ ? std::optional(rare) : std::nullopt, stop);
}

// Varied, so that watchers that started at once don't stay together.
int WatchLoop::Percent() {
  return std::uniform_int_distribution<int>(kLeastOfInterval, 200 - kLeastOfInterval)(jitter_);
}

MonotonicTime WatchLoop::NextPoll(MonotonicTime began) {
  if (std::exchange(look_again_, false)) return tools_.clock.Now() + kControllersTake;
  Duration interval = tools_.settings->poll_interval;
  if (last_reason_ == Reason::kShared) interval = std::max(interval, kRootInterval);
  // Neither what is to be written again nor what was to show whether it can be watched is left to a
  // long interval.
  if (!IsSettled() || (MayWatch() && owner_unseen_)) interval = std::min(interval, kRootInterval);
  int percent = Percent();
  const Duration away(away_since_ ? std::chrono::ceil<Duration>(tools_.clock.Now() - *away_since_)
                                  : Duration(0));
  if (const Duration seldomer = std::min(away / 2, kAwayInterval); seldomer > interval) {
    interval = seldomer;
    percent = std::uniform_int_distribution<int>(kLeastOfAwayInterval, 100)(jitter_);
  }
  const Duration asked = std::min(tools_.client.TakeRetryAfter(), kLongestAskedWait);
  MonotonicTime next = began + interval * percent / 100;
  // The loop wakes when a grace period ends, not a poll later.
  const Confirmation& confirmation = judge_.confirmation();
  if (confirmation.count() > 0 && confirmation.GraceEnd() > began) {
    next = std::min(next, confirmation.GraceEnd());
  }
  if (lasting_ && IsSettled()) {
    const MonotonicTime look = lasting_->next_look;
    next = lasting_->has_active_owner ? std::min(next, look) : look;
  }
  return std::max(next, tools_.clock.Now() + asked);
}

}  // namespace cluster_watcher
