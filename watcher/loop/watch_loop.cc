#include "watcher/loop/watch_loop.h"

#include <algorithm>
#include <utility>

namespace cluster_watcher {
namespace {

constexpr Duration kLeastPatience = std::chrono::seconds(30);

}  // namespace

WatchLoop::WatchLoop(const Tools& tools, Observer& observer, Announcer& announcer,
                     LoopHealth& health, Dial dial, LastScrape::Next next_scrape,
                     const WatchAccess* watches)
    : tools_(tools),
      observer_(observer),
      health_(health),
      engine_(tools_, observer, announcer, std::move(dial), StepsAt::kMaster, Caller::kWatcher),
      view_(tools_, announcer, health),
      owner_record_(tools_),
      permissions_(tools_, observer),
      last_scrape_(tools.client, tools.clock, tools.log, std::move(next_scrape)),
      watch_(tools_, watches),
      glance_(tools_, observer, watch_),
      pace_(tools_) {}

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
WatchLoop::Next WatchLoop::Poll(const std::stop_token& stop) {
  if (MayGlance() && (pace_.IsAsleep() || Glance(stop))) return Next::kWait;
  if (stop.stop_requested()) return Next::kWait;

  const Snapshot look = observer_.SureLook(stop);
  if (stop.stop_requested()) return Next::kWait;
  if (look.missing == Missing::kPod) return Next::kPodGone;
  if (!me_ && look.pod_says.watcher == WatcherInPod::kBlocksIt) return Next::kPodWaits;

  const Decision decision = engine_.Decide(look, stop);
  // A search for other drivers that was cut off says nothing.
  if (stop.stop_requested()) return Next::kWait;

  view_.Show(look, decision, engine_.OnItsWay(look));
  engine_.Warn(look, decision, stop);

  const Next next = Act(look, decision, stop);
  if (next == Next::kWait && MayWatch()) glance_.GlanceAtOwner(stop);
  return next;
}

bool WatchLoop::MayGlance() const { return !watch_.NeedsSureLook() && pace_.MayGlance(); }

// True: nothing has changed. Whatever else a glance shows is looked at for sure.
bool WatchLoop::Glance(const std::stop_token& stop) {
  const MonotonicTime began = tools_.clock.Now();
  const auto root_interval = pace_.IsVerdictLasting() ? std::nullopt : std::optional(kRootInterval);
  if (!glance_.GlanceAround(root_interval, stop)) return false;
  tools_.metrics.Polled("active", tools_.clock.Now() - began, tools_.clock.WallNow());
  return true;
}

WatchLoop::Next WatchLoop::Act(const Snapshot& look, const Decision& decision,
                               const std::stop_token& stop) {
  if (look.pod) me_ = WatcherId{look.pod->meta.name, look.pod->meta.uid};
  pace_.NoteLook(look, decision);
  glance_.NoteLook(look);
  root_ = look.root;
  if (decision.reason != Reason::kActive) watch_.Close();
  watch_.NoteSureLook();
  const Engine::Outcome outcome = ActOnRoot(look, decision, stop);
  if (outcome == Engine::Outcome::kDone) return Next::kDone;
  const bool is_due = outcome == Engine::Outcome::kMarked && engine_.judge().IsDue();
  if (is_due) pace_.LookAgainSoon();
  if (outcome == Engine::Outcome::kUnmarked || outcome == Engine::Outcome::kSpared) {
    pace_.NoteSpared();
  }
  // Nothing that leads to a deletion waits for this.
  const bool is_idle =
      engine_.judge().confirmation().count() <= 1 && look.marks.phase == Phase::kWatching;
  if (is_idle && !is_due) permissions_.AskIfDue(look, stop);
  pace_.NoteLeft({IsSettled(),
                  owner_record_.is_refused() || engine_.is_refused() || permissions_.is_put_off()});
  return Next::kWait;
}

Engine::Outcome WatchLoop::ActOnRoot(const Snapshot& look, const Decision& decision,
                                     const std::stop_token& stop) {
  if (!look.root) return Engine::Outcome::kKept;
  const auto outcome =
      engine_.CarryOut(engine_.Next(*me_, look, decision, stop), *me_, look, decision, stop);
  // Nothing else was written: that would need the resourceVersion of another look.
  const bool is_as_read =
      outcome == Engine::Outcome::kKept || outcome == Engine::Outcome::kConfirms;
  // Marks of a deletion have a record of their own.
  const bool is_watching = look.marks.phase == Phase::kWatching;
  if (is_as_read && is_watching && !tools_.settings->dry_run) RecordOwner(look, decision);
  return outcome;
}

// This watcher's own writes are no change.
void WatchLoop::RecordOwner(const Snapshot& look, const Decision& decision) {
  const std::optional<ObjectMeta> written = owner_record_.Write(look, decision, engine_.owner());
  if (owner_record_.is_refused_by_guard()) engine_.NoteGuard();
  if (!written) return;
  observer_.NoteWritten(*written);
  watch_.NoteWritten(*written);
  root_->meta = *written;
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
int WatchLoop::EndDone(const std::stop_token& stop) {
  watch_.Close();
  const MonotonicTime deleted = tools_.clock.Now();
  WaitUntil(MonotonicTime::max(), stop);
  last_scrape_.Await(tools_.settings->ns, me_ ? me_->pod : "", deleted,
                     [this] { tools_.turn({}); });
  return 0;
}

int WatchLoop::EndToldToStop() {
  tools_.log.info("told to stop");
  return 0;
}

// In steps, so that a long wait doesn't look like a loop that hangs.
void WatchLoop::WaitUntil(MonotonicTime time, const std::stop_token& stop) {
  while (!stop.stop_requested() && tools_.clock.Now() < time) {
    tools_.clock.WaitUntil(std::min(time, tools_.clock.Now() + kLongestStep), stop);
    tools_.turn({});
  }
}

// While all is well the watches say when to look. That the owner's own fields say that it is active
// is seen by a glance: where other objects keep it active, these must be looked at.
void WatchLoop::Rest(MonotonicTime began, const std::stop_token& stop) {
  const MonotonicTime poll =
      pace_.NextPoll(began, engine_.judge().confirmation(), MayWatch() && glance_.is_unseen());
  if (!MayWatch()) {
    watch_.Close();
    return WaitUntil(poll, stop);
  }
  const auto& owner = glance_.active_owner();
  if (owner && root_) watch_.Aim(*owner, *root_);
  watch_.Wait(poll, owner ? std::optional(pace_.RareLook()) : std::nullopt, stop);
}

}  // namespace cluster_watcher
