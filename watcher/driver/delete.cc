#include "watcher/driver/delete.h"

#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "watcher/deletion/deletion.h"
#include "watcher/deletion/judged_look.h"
#include "watcher/driver/claim.h"
#include "watcher/driver/cluster_view.h"
#include "watcher/driver/delete_listed.h"
#include "watcher/driver/deletion_rights.h"
#include "watcher/driver/who_acts.h"
#include "watcher/engine/engine.h"

namespace cluster_watcher {
namespace {

// Reads that fail for the moment are repeated this long.
constexpr Duration kPatienceWithReads{15'000};
// Controllers write status all the time, and drivers come and go.
constexpr int kMostAttempts = 10;

std::string Named(const ClusterId& cluster) { return "cluster " + cluster.name; }

DriverOutcome NoSuch(const ClusterId& cluster) {
  return DriverOutcome::Of(DriverExit::kNoCluster, "no " + Named(cluster));
}

DriverOutcome Kept(Reason reason, const std::string& detail) {
  DriverOutcome outcome = DriverOutcome::Said(std::string("kept: ") + ToString(reason));
  outcome.warnings.push_back(detail);
  return outcome;
}

DriverOutcome BeingDeletedBy(const std::string& whom) {
  return DriverOutcome::Said("already being deleted by " + whom);
}

class Deleter {
 public:
  Deleter(const DeletionWork& work, const DeleteRequest& request, Caller caller)
      : work_(work),
        request_(request),
        cluster_(request.cluster),
        engine_(work.tools, work.observer, work.announcer, work.dial, work.steps_at, caller) {}

  DriverOutcome Run() {
    if (request_.ended) {
      app_ = FindApplication(work_.driver.client, work_.driver.discovery, request_.ended->app,
                             cluster_.ns, work_.driver.Reads());
      if (!app_->owner && !app_->is_absent) return Failed(WithoutOwner(*app_).error);
      const std::string& uid = request_.ended->uid;
      if (app_->owner && !uid.empty() && app_->owner->meta.uid != uid) {
        return Failed(app_->Name() + " is another one now, for which nothing is said");
      }
      work_.observer.SetWord(request_.ended->status);
    }
    const auto view = ReadClusterView(work_.driver.client, work_.driver.discovery, cluster_,
                                      work_.driver.Reads());
    if (!view) return Failed(WhyRefused(view.error()));
    work_.announcer.AskedBy(WhoAsks(work_.driver));
    // A person's word is about all of several masters, and the resource would make some again.
    const auto& root = app_ || view->root ? view->root : view->resource;
    const std::string uid = root ? root->meta.uid : "";
    if (request_.root_uid.value_or(uid) != uid) return NoSuch(cluster_);
    if (app_) {
      if (auto why = WhyNotTheirs(*view)) return *std::move(why);
    } else if (!root) {
      return DeleteListed(work_, cluster_);
    }
    root_uid_ = root->meta.uid;
    work_.observer.SetRoot(*root);
    DriverOutcome outcome = DeleteWhole();
    if (IsStopped() && last_) engine_.TakeMarksOff(work_.me, *last_->root);
    const bool is_by_others = last_ && (DeletedByOthers() || is_gone_);
    if (is_by_others && request_.waits && outcome.exit == DriverExit::kDone) AwaitGone(outcome);
    if (!passed_over_.empty()) outcome.warnings.push_back(PassedOver(passed_over_));
    return outcome;
  }

  // Finishes a deletion that is found begun; nullopt: there is none for us to finish.
  std::optional<DriverOutcome> Finish() {
    const auto view = ReadClusterView(work_.driver.client, work_.driver.discovery, cluster_,
                                      work_.driver.Reads());
    if (!view || !view->root || view->marks.phase == Phase::kWatching) return std::nullopt;
    const bool is_ours = view->marks.condemned_by == work_.me;
    if (is_ours) work_.announcer.AskedBy(WhoAsks(work_.driver));
    work_.observer.SetRoot(*view->root);
    const MonotonicTime began = work_.tools.clock.Now();
    int attempts = 0;
    while (!IsStopped()) {
      const Snapshot look = work_.observer.SureLook(work_.driver.stop);
      const auto waited = work_.tools.clock.Now() - began;
      if (IsGone(look)) return Done();
      if (look.root) {
        const bool is_begun = look.marks.phase == Phase::kDeleting;
        const Decision decision = engine_.Decide(look, work_.driver.stop);
        const CaseStep step = engine_.Next(work_.me, look, decision, work_.driver.stop);
        if (LeadsToDeletes(step) && decision.abandoned()) {
          if (auto denied = Denied(look)) return is_ours ? denied : std::nullopt;
        }
        auto ended = ActOnMarks(step, look, decision);
        if (ended && ended->exit == DriverExit::kDone && !is_finished_) return std::nullopt;
        if (ended) return ended;
        if (!is_begun && !is_ours) return std::nullopt;
        // A dry run heeds no marks.
        if (is_begun && !IsOnMarks(step)) return std::nullopt;
        if (!is_ours && IsNobodysToFinish(look) && ++attempts == kMostAttempts) return std::nullopt;
        if (!is_begun) return DriverOutcome::Said(Named(cluster_) + " is kept");
      } else if (waited > kPatienceWithReads) {
        return is_ours ? std::optional(Failed(Unreadable(look))) : std::nullopt;
      }
      Wait();
    }
    return Failed("told to stop");
  }

 private:
  // Why the application may not have the cluster deleted; nullopt: it may.
  std::optional<DriverOutcome> WhyNotTheirs(const ClusterView& view) {
    if (!view.exists) return NoSuch(cluster_);
    switch (BelongingTo(view, *app_)) {
      case Belonging::kNobodys:
        if (!view.rivals.empty()) break;
        return Failed(view.root ? Named(cluster_) + " is shared"
                                : Named(cluster_) + " lacks " + Joined(view.lacks));
      case Belonging::kAnothers:
        return Failed(BelongsToAnother(view, *app_).error);
      case Belonging::kOurs:
        break;
    }
    if (!view.rivals.empty()) {
      return Kept(Reason::kAmbiguous, "these are all masters of it: " + Joined(view.rivals));
    }
    if (!view.root) return Failed(Named(cluster_) + " lacks " + Joined(view.lacks));
    return std::nullopt;
  }

  // The word of an application is about its own cluster, also if that becomes another's meanwhile,
  // or the owner another one. What is written after this look is a conflict.
  std::optional<DriverOutcome> WhyNoLongerTheirs(const Snapshot& look) {
    if (!app_) return std::nullopt;
    const auto& owner = look.facts.owner;
    if (look.owner_name && Means(*look.owner_name, *app_)) {
      if (!owner || !owner->object || IsTheSame(*owner->object, *app_, cluster_.ns)) {
        return std::nullopt;
      }
      return Failed(app_->Name() + " isn't " + owner->object->Describe() + ", the owner of " +
                    Named(cluster_) + ", for which nothing is said");
    }
    const auto view = ReadClusterView(work_.driver.client, work_.driver.discovery, cluster_,
                                      work_.driver.Reads());
    if (!view) return Failed(WhyRefused(view.error()));
    return WhyNotTheirs(*view);
  }

  // The root that was asked about is gone, or another one now.
  DriverOutcome WithoutRoot() {
    if (const auto by = DeletedByOthers()) return BeingDeletedBy(by->ToText());
    if (!engine_.given_up().empty()) return Failed(engine_.given_up());
    is_gone_ = last_.has_value();
    if (is_gone_ && request_.waits) return Done();
    const auto view = ReadClusterView(work_.driver.client, work_.driver.discovery, cluster_,
                                      work_.driver.Reads());
    if (!view) return Failed(WhyRefused(view.error()));
    if (!view->stands) return is_gone_ ? Done() : NoSuch(cluster_);
    return Failed("somebody deleted or replaced the master root of " + Named(cluster_) +
                  " meanwhile: if what is left is to go as well, say cluster-watcher delete " +
                  cluster_.name);
  }

  DriverOutcome DeleteWhole() {
    bool is_first_look = true;
    MonotonicTime last_known = work_.tools.clock.Now();
    for (int attempts = 0; attempts < kMostAttempts;) {
      if (!std::exchange(is_first_look, false)) Wait();
      if (IsStopped()) return Failed(kToldToStop + (": " + Named(cluster_)) + " is not deleted");
      // A look of the deletion's own may have found it gone.
      if (last_) work_.observer.SetRoot(*last_->root);
      const Snapshot look = work_.observer.SureLook(work_.driver.stop);
      if (IsGone(look)) return WithoutRoot();
      const bool is_patient = work_.tools.clock.Now() - last_known <= kPatienceWithReads;
      if (!look.root) {
        if (!is_patient) return Failed(Unreadable(look));
        continue;
      }
      const Decision decision = engine_.Decide(look, work_.driver.stop);
      const bool is_unknown = decision.reason == Reason::kUnknown;
      if (!is_unknown) last_known = work_.tools.clock.Now();
      const CaseStep step = engine_.Next(work_.me, look, decision, work_.driver.stop);
      if (auto ended = WhyNoLongerTheirs(look)) return *std::move(ended);
      if (IsOwnWatcher(look)) {
        return Failed(
            "the watcher in this pod would take the deletion for its own: say it outside of " +
            Named(cluster_));
      }
      if (LeadsToDeletes(step)) {
        if (auto denied = Denied(look)) return *std::move(denied);
      }
      if (auto ended = ActOnMarks(step, look, decision)) return *std::move(ended);
      if (IsOnMarks(step)) {
        const bool is_ours = look.marks.condemned_by == work_.me;
        if (IsNobodysToFinish(look) && is_unknown && !is_patient) return Spared(decision);
        // Marks that can't be written or taken off don't hold us for ever.
        if (is_ours || (IsNobodysToFinish(look) && !is_unknown)) ++attempts;
        continue;
      }
      if (is_unknown && is_patient) continue;
      ++attempts;
      if (auto ended = ActOn(step, look, decision)) return *std::move(ended);
    }
    return Failed(Named(cluster_) +
                  " changes all the time, or may not be written: delete it again");
  }

  // Acts on a look at a cluster that nobody has marked, or that a person wants to go;
  // nullopt: look again.
  std::optional<DriverOutcome> ActOn(CaseStep step, const Snapshot& look,
                                     const Decision& decision) {
    if (!decision.abandoned()) return Spared(decision);
    if (step == CaseStep::kRehearse) {
      auto denied = Denied(look);
      return denied ? denied : WouldBeDeleted(work_, cluster_, engine_.WouldDelete(look, decision));
    }
    last_ = look;
    if (auto held = WhatHolds(look.facts); held && !app_) passed_over_ = *std::move(held);
    const auto outcome = engine_.CarryOut(step, work_.me, look, decision, work_.driver.stop);
    if (outcome == Engine::Outcome::kDone) return Ended();
    if (!engine_.given_up().empty()) return Failed(engine_.given_up());
    return engine_.is_refused_by_policy() ? RefusedByPolicy(look, decision) : std::nullopt;
  }

  // Whether the cluster that was asked about is no longer there: another of its name is nobody's
  // to delete.
  bool IsGone(const Snapshot& look) {
    if (look.missing == Missing::kCluster || (look.root_changed && !look.root)) return true;
    if (!look.root) return false;
    if (root_uid_.empty()) root_uid_ = look.root->meta.uid;
    return look.root->meta.uid != root_uid_;
  }

  // Acts on marks that others have left, or we ourselves before a restart; nullopt: look on.
  std::optional<DriverOutcome> ActOnMarks(CaseStep step, const Snapshot& look,
                                          const Decision& decision) {
    if (!IsOnMarks(step)) return std::nullopt;
    const Marks& marks = look.marks;
    const bool is_deleting = marks.phase == Phase::kDeleting;
    if (is_deleting) last_ = look;
    const auto outcome = engine_.CarryOut(step, work_.me, look, decision, work_.driver.stop);
    if (outcome == Engine::Outcome::kDone) return Ended();
    if (is_deleting && marks.condemned_by == work_.me && engine_.is_refused_by_policy()) {
      return Failed("the deletion of " + Named(cluster_) +
                    " was begun and a policy holds the rest, which whoever watches it finishes "
                    "later");
    }
    switch (engine_.others()) {
      case OthersAtIt::kMaybe:
        break;
      case OthersAtIt::kDeletes:
        if (!request_.waits) return BeingDeletedBy(marks.condemned_by.ToText());
        break;
      case OthersAtIt::kStays:
        return Failed(Named(cluster_) + " stays condemned by " + marks.condemned_by.ToText());
    }
    return std::nullopt;
  }

  // Whether a deletion was begun that nobody who is still there is known to carry on.
  bool IsNobodysToFinish(const Snapshot& look) const {
    return look.marks.phase == Phase::kDeleting && engine_.others() == OthersAtIt::kMaybe;
  }

  std::optional<DriverOutcome> Denied(const Snapshot& look) const {
    auto denied = WhyNotAllowed(work_.driver, *work_.tools.settings, cluster_, &*look.root);
    if (!denied) return std::nullopt;
    return Failed(*std::move(denied));
  }

  // nullopt: nobody else does, as far as the last look tells.
  std::optional<WatcherId> DeletedByOthers() const {
    auto by = engine_.deleted_by();
    return by == work_.me ? std::nullopt : by;
  }

  // Whether we are in a pod of the cluster whose watcher has our identity.
  bool IsOwnWatcher(const Snapshot& look) const {
    return look.pod && look.pod->meta.uid == work_.me.uid &&
           look.pod_says.watcher == WatcherInPod::kRuns;
  }

  DriverOutcome Spared(const Decision& decision) {
    const Reason reason = decision.reason;
    if (reason == Reason::kShared) return Failed(Named(cluster_) + " is shared");
    if (reason == Reason::kUnknown) {
      return Failed("owner " + app_->Name() + " unknown: " + decision.detail);
    }
    if (reason == Reason::kMisconfigured || reason == Reason::kOwnerMismatch) {
      return Failed(Named(cluster_) + " is kept (" + ToString(reason) + "): " + decision.detail);
    }
    if (reason == Reason::kActive) {
      return Kept(reason,
                  app_->Name() + " wants to run, so it is expected back: " + decision.detail);
    }
    return Kept(reason, decision.detail);
  }

  // nullopt: it is no longer refused.
  std::optional<DriverOutcome> RefusedByPolicy(const Snapshot& look, const Decision& decision) {
    const Decision refused = AskPolicy(work_.driver.client, PodOf(look), look, decision);
    if (refused.abandoned()) return std::nullopt;
    const bool is_kept = app_ && refused.reason == Reason::kHeld;
    return is_kept ? Kept(refused.reason, refused.detail)
                   : Failed(Named(cluster_) + " is kept: " + refused.detail);
  }

  DriverOutcome Done() {
    is_finished_ = true;
    const bool is_verified = work_.tools.until == Until::kAllGone;
    return DriverOutcome::Said(Named(cluster_) + (is_verified ? " deleted" : " is being deleted"));
  }

  // The outcome of a deletion that we have carried through.
  DriverOutcome Ended() {
    if (request_.waits && IsStopped()) return ToldToStop();
    return engine_.given_up().empty() ? Done() : NotAll(engine_.given_up());
  }

  DriverOutcome NotAll(const std::string& left) {
    is_finished_ = true;
    return Failed(Named(cluster_) + " is " + left);
  }

  DriverOutcome ToldToStop() {
    return Failed(kToldToStop + (": " + Named(cluster_)) + " is being deleted");
  }

  // Somebody else deletes it, or has taken its root away.
  void AwaitGone(DriverOutcome& outcome) {
    Deletion deletion(work_.tools, {*last_, last_->marks, ""}, work_.tools.clock.Now());
    const auto ended = deletion.Await(
        work_.tools.clock.Now() + work_.tools.settings->delete_deadline, work_.driver.stop);
    if (ended != DeletionEnd::kDone) {
      outcome = IsStopped() ? ToldToStop()
                            : Failed(Named(cluster_) +
                                     " is not deleted: its deletion was called off, or takes too "
                                     "long: delete it again");
      return;
    }
    std::vector<std::string> left = deletion.overdue();
    if (left.empty() && !deletion.Remaining().empty()) {
      // A cluster that has a root again is the next one, unless that was there before.
      const auto view = ReadClusterView(work_.driver.client, work_.driver.discovery, cluster_,
                                        work_.driver.Reads());
      const bool is_next =
          view && view->root && view->root->meta.created >= last_->facts.server_time;
      if (!is_next) left = deletion.Remaining();
    }
    outcome = left.empty() ? Done() : NotAll("not all deleted; left: " + Joined(left));
  }

  static std::string Unreadable(const Snapshot& look) {
    return look.facts.problem.empty() ? "the master root can't be read" : look.facts.problem;
  }
  bool IsStopped() const { return work_.driver.stop.stop_requested(); }
  void Wait() {
    work_.tools.clock.WaitUntil(work_.tools.clock.Now() + kBetweenLooks, work_.driver.stop);
  }

  const DeletionWork& work_;
  const DeleteRequest& request_;
  const ClusterId& cluster_;
  Engine engine_;
  std::optional<Application> app_;
  bool is_finished_ = false;
  bool is_gone_ = false;          // the root went meanwhile, by whomever
  std::string passed_over_;       // what held the cluster, for people; empty: nothing
  std::string root_uid_;          // of the cluster that was asked about; empty: no look has read it
  std::optional<Snapshot> last_;  // of the cluster that is being deleted
};

}  // namespace

DriverOutcome Delete(const DeletionWork& work, const DeleteRequest& request) {
  return Deleter(work, request, request.ended ? Caller::kApplication : Caller::kPerson).Run();
}

std::optional<DriverOutcome> FinishOwnDeletion(const DeletionWork& work, const ClusterId& cluster) {
  if (!work.me.IsPod() || work.tools.settings->dry_run) return std::nullopt;
  // It is a pod of the driver as any other.
  work.observer.SetCaller("", "");
  const DeleteRequest request{cluster, std::nullopt};
  return Deleter(work, request, Caller::kApplication).Finish();
}

}  // namespace cluster_watcher
