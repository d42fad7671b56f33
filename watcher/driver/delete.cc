#include "watcher/driver/delete.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "probes/permissions.h"
#include "watcher/deletion/judged_look.h"
#include "watcher/deletion/member_listing.h"
#include "watcher/driver/claim.h"
#include "watcher/driver/cluster_view.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

constexpr Duration kBetweenLooks{1'000};
// What can't be read in passing is asked for again for so long.
constexpr Duration kPatience{15'000};
// Another's condemnation is carried through or called off within a minute.
constexpr Duration kPatienceWithOthers = std::chrono::seconds(90);
// Controllers write status all the time, and drivers come and go.
constexpr int kMostAttempts = 10;

std::string Named(const ClusterId& cluster) { return "cluster " + cluster.name; }

DriverOutcome Failed(std::string why) {
  return DriverOutcome::Of(DriverExit::kFailed, std::move(why));
}

DriverOutcome Kept(Reason reason, const std::string& detail) {
  DriverOutcome outcome = DriverOutcome::Said(std::string("kept: ") + ToString(reason));
  outcome.warnings.push_back(detail);
  return outcome;
}

DriverOutcome BeingDeletedBy(const std::string& whom) {
  return DriverOutcome::Said("already being deleted by " + whom);
}

constexpr const char* kAnothersHand = "another's hand";

class Deleter {
 public:
  Deleter(const DeletionWork& work, const DeleteRequest& request)
      : work_(work),
        request_(request),
        cluster_(request.cluster),
        judge_(work.tools, work.observer),
        rivals_(work.tools, work.reaper, judge_),
        warn_once_(work.tools.log) {}

  DriverOutcome Run() {
    if (request_.ended) {
      app_ = FindApplication(work_.driver.client, work_.driver.discovery, request_.ended->app,
                             cluster_.ns, work_.driver.Reads());
      if (!app_->owner && !app_->is_absent) return Failed(WithoutOwner(*app_).error);
    }
    const auto view = ReadClusterView(work_.driver.client, work_.driver.discovery, cluster_,
                                      work_.driver.Reads());
    if (!view) return Failed(view.error().message);
    if (app_) {
      if (auto why = WhyNotTheirs(*view)) return *std::move(why);
    } else if (!view->root || view->root->meta.deleting) {
      return DeleteListed();
    }
    DriverOutcome outcome = DeleteWhole();
    if (outcome.exit == DriverExit::kDone && is_deleted_) AwaitGone(outcome);
    return outcome;
  }

  // What comes of a deletion of our own that is found begun; nullopt: there is none.
  std::optional<DriverOutcome> Finish() {
    const auto view = ReadClusterView(work_.driver.client, work_.driver.discovery, cluster_,
                                      work_.driver.Reads());
    const bool is_ours = view && view->root && view->marks.phase != Phase::kWatching &&
                         view->marks.condemned_by == work_.me;
    if (!is_ours) return std::nullopt;
    while (!IsStopped()) {
      const Snapshot look = work_.observer.SureLook(work_.driver.stop);
      if (look.no_such_cluster || look.root_changed) return Done();
      if (look.root) {
        if (auto ended = ActOnOthers(look, MonotonicTime::duration(0))) return ended;
        const bool goes_on = look.marks.phase == Phase::kDeleting;
        if (!goes_on) return DriverOutcome::Said(Named(cluster_) + " is kept");
      }
      Wait();
    }
    return Failed("told to stop");
  }

 private:
  // Why the application may not have the cluster deleted; nullopt: it may.
  std::optional<DriverOutcome> WhyNotTheirs(const ClusterView& view) {
    if (!view.exists) return Failed("no " + Named(cluster_));
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

  DriverOutcome DeleteWhole() {
    const MonotonicTime began = work_.tools.clock.Now();
    for (int attempts = 0; attempts < kMostAttempts;) {
      if (!std::exchange(at_once_, false)) Wait();
      if (IsStopped()) return Failed("told to stop: " + Named(cluster_) + " is not deleted");
      Snapshot look = work_.observer.SureLook(work_.driver.stop);
      const auto waited = work_.tools.clock.Now() - began;
      if (look.no_such_cluster) {
        return last_ ? Done() : Failed("no " + Named(cluster_));
      }
      if (!look.root) {
        if (waited > kPatience) return Failed(Unreadable(look));
        continue;
      }
      if (auto ended = ActOnOthers(look, waited)) return *std::move(ended);
      if (look.marks.phase == Phase::kCondemned || look.marks.phase == Phase::kDeleting) continue;
      if (look.root->meta.deleting) {
        last_ = look;
        is_deleted_ = request_.waits;
        return BeingDeletedBy(kAnothersHand);
      }
      if (attempts == 0) {
        if (auto denied = WhyNotAllowed(look)) return Failed(*denied);
      }
      Decision decision = AskedFor();
      if (app_) {
        decision = DecideWithOthers(work_.observer, look, work_.driver.stop);
        if (decision.reason == Reason::kUnknown && waited <= kPatience) continue;
        ++attempts;
        if (auto again = WriteStatus(look, decision)) {
          at_once_ = *again;
          if (*again) continue;
          return Failed(problem_);
        }
        if (request_.only_notes) return DriverOutcome::Said(Named(cluster_) + " is kept");
        if (!decision.abandoned()) return Spared(decision);
      } else {
        ++attempts;
      }
      last_ = look;
      switch (work_.reaper.Condemn(work_.me, look, decision, {}, work_.driver.stop)) {
        case Reaper::Outcome::kDone:
          return Done();
        case Reaper::Outcome::kOvertaken:
        case Reaper::Outcome::kSpared:
          break;
      }
      if (work_.reaper.is_refused_by_policy()) {
        if (auto refused = RefusedByPolicy(look, decision)) return *std::move(refused);
      }
    }
    return Failed(Named(cluster_) + " changes all the time: delete it again");
  }

  // What comes of marks that others have left, or we ourselves before a restart; nullopt: look on.
  std::optional<DriverOutcome> ActOnOthers(const Snapshot& look, MonotonicTime::duration waited) {
    const Marks& marks = look.marks;
    const bool is_deleting = marks.phase == Phase::kDeleting;
    const bool is_ours = marks.condemned_by == work_.me;
    // Who has begun and is still there finishes it. Asked once more: it may have just taken over.
    if (is_deleting && !is_ours && seen_deleting_ == marks.condemned_by) {
      last_ = look;
      is_deleted_ = request_.waits;
      return BeingDeletedBy(marks.condemned_by.ToText());
    }
    seen_deleting_ = is_deleting && !is_ours ? std::optional(marks.condemned_by) : std::nullopt;
    if (is_deleting) last_ = look;
    switch (rivals_.Act(work_.me, look, work_.driver.stop)) {
      case RivalWatchers::Outcome::kDone:
        return Done();
      case RivalWatchers::Outcome::kNoMarks:
        return std::nullopt;
      case RivalWatchers::Outcome::kWait:
        break;
    }
    if (is_deleting && is_ours && work_.reaper.is_refused_by_policy()) {
      return Failed(Named(cluster_) +
                    " is half deleted and a policy holds the rest, which whoever watches it "
                    "finishes later");
    }
    if (marks.phase == Phase::kCondemned && waited > kPatienceWithOthers) {
      return Failed(Named(cluster_) + " stays condemned by " + marks.condemned_by.ToText());
    }
    return std::nullopt;
  }

  // Notes how the application ended, as the recorded owner's word. true: look again; false: it
  // failed; nullopt: there is nothing to write.
  std::optional<bool> WriteStatus(const Snapshot& look, const Decision& decision) {
    const std::string& status = request_.ended->status;
    const auto& marked = look.marks.app_status;
    const bool adopted = decision.reason == Reason::kOwnerAdopted;
    const std::optional<RecordedOwner> owner = adopted ? work_.observer.Adopt(look) : look.seen;
    // One of several drivers has ended: that says nothing about the others.
    const bool is_one_of_many = decision.reason == Reason::kSharedByReplicas;
    if (is_one_of_many && !marked) return std::nullopt;
    // Where it isn't known how many there are, nothing is said for them.
    const bool is_definite = decision.reason != Reason::kUnknown;
    const bool is_theirs = app_->owner && owner && owner->uid == app_->owner->meta.uid;
    if (!is_one_of_many && (!is_theirs || !is_definite)) return std::nullopt;
    const bool is_recorded = look.marks.owner && owner && look.marks.owner->uid == owner->uid;
    if (!is_one_of_many && marked == status && is_recorded) return std::nullopt;
    AnnotationChanges changes;
    if (!is_one_of_many) changes = OwnerMarks(*owner);
    changes[annotation::kAppStatus] = is_one_of_many ? std::nullopt : std::optional(status);
    const auto written =
        MasterRoot(work_.driver.client, *look.root).WriteMarks(changes, kMarksTimeout);
    if (written && is_one_of_many) return std::nullopt;
    if (written || written.error().failure == ApiFailure::kConflict ||
        IsTransient(written.error().failure)) {
      return true;
    }
    problem_ = written.error().message;
    return false;
  }

  DriverOutcome Spared(const Decision& decision) {
    switch (decision.reason) {
      case Reason::kShared:
        return Failed(Named(cluster_) + " is shared");
      case Reason::kUnknown:
        return Failed("owner " + app_->Name() + " unknown: " + decision.detail);
      case Reason::kMisconfigured:
      case Reason::kOwnerMismatch:
        return Failed(Named(cluster_) + " is kept (" + ToString(decision.reason) +
                      "): " + decision.detail);
      case Reason::kHeld:
      case Reason::kAmbiguous:
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
      case Reason::kAsked:
        break;
    }
    return Kept(decision.reason, decision.detail);
  }

  // nullopt: it is no longer refused, or the deletion was begun.
  std::optional<DriverOutcome> RefusedByPolicy(const Snapshot& look, const Decision& decision) {
    MasterRoot root(work_.driver.client, *look.root);
    if (root.Read(work_.driver.Reads()) != RootState::kOurs ||
        root.marks().phase == Phase::kDeleting) {
      return std::nullopt;
    }
    Snapshot now = look;
    now.root = root.object();
    const Decision refused = AskPolicy(work_.driver.client, now, decision);
    if (refused.abandoned()) return std::nullopt;
    const bool is_kept = app_ && refused.reason == Reason::kHeld;
    return is_kept ? Kept(refused.reason, refused.detail)
                   : Failed(Named(cluster_) + " is kept: " + refused.detail);
  }

  // Which permissions are missing, of those without which a deletion comes to nothing or to half;
  // nullopt: none is known to be.
  std::optional<std::string> WhyNotAllowed(const Snapshot& look) {
    const Patience patience = work_.driver.Reads();
    MemberKinds kinds = FindMemberKinds(*work_.tools.settings, work_.driver.discovery, patience);
    std::vector<Permission> needed;
    for (const ResourceType& type : kinds.types) {
      const bool is_claim = type.kind == "PersistentVolumeClaim";
      if (is_claim && work_.tools.settings->volumes != Volumes::kDelete) continue;
      needed.push_back(Permission::For("delete", type, cluster_.ns));
    }
    if (look.root) {
      for (const char* verb : {"patch", "delete"}) {
        needed.push_back(Permission::For(verb, look.root->type, cluster_.ns, look.root->meta.name));
      }
    }
    auto missing =
        PermissionProbe(work_.driver.client, work_.driver.clock).FindMissing(needed, patience);
    if (!missing || missing->empty()) return std::nullopt;
    std::erase_if(*missing, [&](const Permission& permission) {
      return permission.name.empty() && !HasObjects(kinds.types, permission);
    });
    const auto rules = RulesThatGrant(*missing);
    if (rules.empty()) return std::nullopt;
    return Named(cluster_) + " can't be deleted: the account needs in namespace " + cluster_.ns +
           " the rules " + rules.front().text;
  }

  bool HasObjects(const std::vector<ResourceType>& types, const Permission& permission) {
    const auto type = std::find_if(types.begin(), types.end(), [&](const ResourceType& one) {
      return one.plural == permission.resource && one.group == permission.group;
    });
    if (type == types.end()) return false;
    bool any = false;
    const auto read = work_.driver.client.EachItem(
        ApiRequest::ListBySelector(*type, cluster_.ns, cluster_.label + "=" + cluster_.name, true),
        [&](JsonValue) { any = true; }, work_.driver.Reads());
    return read && any;
  }

  // There is no master root to write marks on: what is listed now goes, by its UIDs.
  DriverOutcome DeleteListed() {
    auto order = OrderWithoutRoot();
    if (!order) return Failed("no " + Named(cluster_));
    if (auto denied = WhyNotAllowed({})) return Failed(*denied);
    Deletion deletion(work_.tools, *order, work_.tools.clock.Now());
    const bool is_done =
        deletion.DeleteListed(work_.tools.clock.Now() + work_.tools.settings->delete_deadline);
    DriverOutcome outcome = is_done ? DriverOutcome::Said(Named(cluster_) + " is deleted")
                                    : Failed(Named(cluster_) + " is not all deleted");
    if (!deletion.policy().empty()) outcome.error += ": " + deletion.policy();
    const DeletionReport report = deletion.Report();
    outcome.warnings = report.left;
    return outcome;
  }

  // nullopt: nothing carries the cluster's label.
  std::optional<DeletionOrder> OrderWithoutRoot() {
    const auto listed = MemberListing(work_.tools, warn_once_, cluster_).List(work_.driver.Reads());
    const bool any =
        std::any_of(listed.objects.begin(), listed.objects.end(), [](const KubeObject& object) {
          return !IsKept(object.meta) && !IsNeverDeleted(object.type);
        });
    if (!any && listed.complete) return std::nullopt;
    DeletionOrder order;
    order.look.cluster = cluster_;
    order.look.root = KubeObject{*FindBuiltInByName("pods", ""), {}};
    order.why = AskedFor().detail;
    return order;
  }

  DriverOutcome Done() {
    is_deleted_ = true;
    return DriverOutcome::Said(Named(cluster_) + " is deleted");
  }

  void AwaitGone(DriverOutcome& outcome) {
    if (!request_.waits || !last_) return;
    Deletion deletion(work_.tools, {*last_, last_->marks, ""}, work_.tools.clock.Now());
    for (bool told = false; !IsStopped();) {
      const auto remaining = deletion.Remaining();
      if (remaining && remaining->empty()) return;
      if (remaining && !std::exchange(told, true)) {
        work_.tools.log.info("waiting for {}", Joined(*remaining));
      }
      Wait();
    }
    outcome = Failed("told to stop: " + Named(cluster_) + " is being deleted");
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
  Judge judge_;
  RivalWatchers rivals_;
  WarnOnce warn_once_;
  std::optional<Application> app_;
  bool at_once_ = true;  // the next look needn't wait
  bool is_deleted_ = false;
  std::optional<Snapshot> last_;  // of the cluster that is being deleted
  std::optional<WatcherId> seen_deleting_;
  std::string problem_;
};

}  // namespace

DriverOutcome Delete(const DeletionWork& work, const DeleteRequest& request) {
  return Deleter(work, request).Run();
}

std::optional<DriverOutcome> FinishOwnDeletion(const DeletionWork& work, const ClusterId& cluster) {
  if (!work.me.IsPod()) return std::nullopt;
  const DeleteRequest request{cluster, std::nullopt};
  return Deleter(work, request).Finish();
}

}  // namespace cluster_watcher
