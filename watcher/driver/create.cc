#include "watcher/driver/create.h"

#include <algorithm>
#include <string>
#include <utility>

#include "probes/base/names.h"
#include "watcher/deletion/member_listing.h"
#include "watcher/driver/await.h"
#include "watcher/driver/creation_plan.h"
#include "watcher/driver/persistence.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

class Creation {
 public:
  Creation(const DriverTools& tools, const CreateOrder& order)
      : tools_(tools),
        order_(order),
        cluster_("cluster " + order.cluster.name),
        deadline_(tools.clock.Now() + order.timeout) {}

  DriverOutcome Run() {
    while (true) {
      Readiness step = Try();
      const MonotonicTime now = tools_.clock.Now();
      if (step.is_final || now >= deadline_ || tools_.stop.stop_requested()) {
        std::vector<std::string>& warnings = step.outcome.warnings;
        warnings.insert(warnings.begin(), warnings_.begin(), warnings_.end());
        return std::move(step.outcome);
      }
      if (order_.waits) order_.waits(step.outcome.error);
      tools_.clock.WaitUntil(std::min(deadline_, now + kBetweenLooks), tools_.stop);
    }
  }

 private:
  // nullopt: go on.
  using Ended = std::optional<Readiness>;

  static Ended End(DriverOutcome outcome) { return Readiness{std::move(outcome)}; }
  static Ended Wait(DriverOutcome outcome) { return Readiness{std::move(outcome), false}; }
  static Ended EndIf(DriverExit final_exit, DriverOutcome outcome) {
    const bool is_final = outcome.exit == final_exit;
    return Readiness{std::move(outcome), is_final};
  }

  // Looks, and does what the look calls for. Nothing is written before all of the look allows it.
  Readiness Try() {
    for (const auto step : {&Creation::FindOwner, &Creation::FindKinds, &Creation::Look,
                            &Creation::LookUpObjects, &Creation::LabelOwner, &Creation::Post}) {
      if (Ended ended = (this->*step)()) return *std::move(ended);
    }
    return *Finish();
  }

  // --- The look

  Ended FindOwner() {
    if (!order_.app) return {};
    app_ = FindApplication(tools_.client, tools_.discovery, *order_.app, order_.cluster.ns,
                           tools_.Reads());
    if (!app_.owner && !app_.is_absent) return Readiness{WithoutOwner(app_), app_.is_refused};
    if (app_.owner) {
      auto another = WhyNotAnother(tools_, order_.cluster, app_);
      return another ? EndIf(DriverExit::kOthers, *std::move(another)) : Ended();
    }
    Warn(app_.detail + ": " + cluster_ + " is made a shared one, which nothing deletes by itself");
    return {};
  }

  Ended FindKinds() {
    if (!plan_.empty()) return {};
    auto plan = Plan(tools_, order_.objects);
    if (plan) return plan_ = *std::move(plan), Ended();
    const bool may_pass = plan.error().exit == DriverExit::kUnknown;
    return Readiness{std::move(plan).error(), !may_pass};
  }

  Ended Look() {
    auto view = ReadClusterView(tools_.client, tools_.discovery, order_.cluster, tools_.Reads());
    if (!view) return Unreadable(view.error());
    view_ = *std::move(view);
    if (view_.root ? !MayComplete() : !view_.rivals.empty()) return UseAsItIs();
    // The rest of the one before goes first.
    if (!view_.root && view_.is_going) return Wait(Is("still being deleted"));
    if (app_.owner && !IsOwned() && BelongingTo(view_, app_) == Belonging::kNobodys) {
      auto why = WhyNotAUser(tools_, app_);
      if (why) return EndIf(DriverExit::kWrongUsage, *std::move(why));
    }
    if (!view_.root) return {};
    auto used = UsedByAnother(tools_, order_.cluster, app_);
    if (!used) return {};
    if (used->exit == DriverExit::kOthers) used->exit = DriverExit::kNotReady;
    return Wait(*std::move(used));
  }

  // Whether what the cluster lacks is ours to make: it is the application's own, or a shared one
  // whose creation was interrupted.
  bool MayComplete() const {
    if (view_.status != ClusterStatus::kIncomplete) return false;
    switch (BelongingTo(view_, app_)) {
      case Belonging::kOurs:
        return true;
      case Belonging::kNobodys:
        return !IsOwned() && view_.is_made_by_create;
      case Belonging::kAnothers:
        return false;
    }
    return false;
  }

  Ended UseAsItIs() {
    if (!order_.app) {
      return view_.status == ClusterStatus::kRunning
                 ? End(DriverOutcome::Said(cluster_ + " exists"))
                 : Wait(NotReady(view_));
    }
    Readiness ready = ReadinessFor(tools_, view_, app_);
    if (ready.outcome.exit != DriverExit::kDone || !app_.owner) return ready;
    DriverOutcome claimed = Claim(tools_, order_.cluster, *order_.app, false);
    if (claimed.exit != DriverExit::kDone) return End(std::move(claimed));
    if (order_.ephemeral && BelongingTo(view_, app_) == Belonging::kNobodys) {
      ready.outcome.warnings.push_back(cluster_ + " is shared, and stays so");
    }
    return ready;
  }

  Ended LookUpObjects() {
    if (auto in_the_way = LookUpNames(tools_, order_.cluster, plan_)) {
      return EndIf(DriverExit::kFailed, *std::move(in_the_way));
    }
    const PlannedObject& root = plan_.front();
    const bool is_there = root.present.has_value();
    // Somebody has begun since.
    if (is_there && !view_.root) return Wait(NotReady(view_));
    if (view_.root && (!is_there || root.present->meta.uid != view_.root->meta.uid)) {
      return End(DriverOutcome::Of(DriverExit::kFailed, cluster_ + " has another master, " +
                                                            view_.root->Describe() + ", and not " +
                                                            root.Describe()));
    }
    if (is_there) root_uid_ = root.present->meta.uid;
    if (is_there) return {};
    if (const auto others = NotInFile(); !others.empty()) {
      Warn("left of an earlier " + cluster_ + ", and part of this one now: " + Joined(others));
    }
    return {};
  }

  // --- The writes

  bool IsOwned() const { return order_.ephemeral && app_.owner; }

  Ended LabelOwner() {
    if (!app_.owner) return {};
    auto failed = LabelAsUser(tools_, order_.cluster, app_, deadline_);
    if (!failed) return {};
    const bool may_pass = failed->exit == DriverExit::kUnknown;
    return Readiness{*std::move(failed), !may_pass};
  }

  Result<std::string> TextOf(const PlannedObject& one) const {
    if (&one != &plan_.front() || !IsOwned()) return one.object->Json();
    ClusterObject root = *one.object;
    const MetaChanges own = EphemeralMeta(*app_.owner);
    for (const auto& [key, value] : own.annotations) {
      if (auto set = SetAnnotation(root, key, *value); !set) return Failure(set.error().message);
    }
    for (const auto& [key, value] : own.labels) {
      if (auto set = SetOwnLabel(root, key, *value); !set) return Failure(set.error().message);
    }
    return root.Json();
  }

  Ended Post() {
    for (PlannedObject& one : plan_) {
      if (one.present) continue;
      const auto text = TextOf(one);
      if (!text) {
        return End(
            DriverOutcome::Of(DriverExit::kFailed, one.Describe() + ": " + text.error().message));
      }
      const ApiResult posted =
          Persistence(tools_, deadline_)
              .Do(ApiRequest::Create(one.type, order_.cluster.ns, *text).By(kCreateManager));
      if (!posted && posted.error().failure == ApiFailure::kConflict) {
        // Somebody was quicker, or our own answer was lost: another look tells whose it is.
        return Wait(DriverOutcome::Of(DriverExit::kNotReady, posted.error()));
      }
      if (!posted) return End(Failed(posted.error()));
      for (const std::string& warning : posted->warnings) Warn("Warning: " + warning);
      const auto meta = ReadObjectMeta(posted->document.root());
      if (!meta) return Wait(DriverOutcome::Of(DriverExit::kUnknown, meta.error().message));
      order_.say(one.Describe() + " created");
      if (&one != &plan_.front()) continue;
      root_uid_ = meta->uid;
      has_made_root_ = true;
    }
    return {};
  }

  // Whoever deletes the cluster may have listed it before the last of it was made.
  Ended Finish() {
    const auto view =
        ReadClusterView(tools_.client, tools_.discovery, order_.cluster, tools_.Reads());
    if (!view) return Unreadable(view.error());
    if (!view->root || view->root->meta.uid != root_uid_) {
      return End(WithWhatIsLeft(Is("gone: it was deleted while it was created")));
    }
    if (view->status == ClusterStatus::kCondemned || view->status == ClusterStatus::kDeleting) {
      return End(WithWhatIsLeft(NotReady(*view)));
    }
    const char* how = has_made_root_ ? " is created" : " is completed";
    const bool is_shared = order_.app && BelongingTo(*view, app_) == Belonging::kNobodys;
    DriverOutcome done = DriverOutcome::Said(cluster_ + how + (is_shared ? ", and shared" : ""));
    // An operator makes the rest of a framework's cluster in a moment.
    if (!view->lacks.empty() && !order_.cluster.IsFrameworks(*view->root)) {
      Warn(cluster_ + " lacks " + Joined(view->lacks) + ": nobody who awaits it finds it ready");
    }
    return End(std::move(done));
  }

  // --- Outcomes

  void Warn(std::string warning) {
    if (std::find(warnings_.begin(), warnings_.end(), warning) == warnings_.end()) {
      warnings_.push_back(std::move(warning));
    }
  }

  DriverOutcome Is(const std::string& how) const {
    return DriverOutcome::Of(DriverExit::kNotReady, cluster_ + " is " + how);
  }

  // Returns what carries the cluster's label, stays by itself and isn't going.
  KubeObjects WhatIsThere() const {
    MemberKinds kinds = FindMemberKinds(Settings(), tools_.discovery, tools_.Reads());
    for (const PlannedObject& one : plan_) {
      const bool is_known =
          std::find(kinds.types.begin(), kinds.types.end(), one.type) != kinds.types.end();
      if (!is_known) kinds.types.push_back(one.type);
    }
    ClusterListing listing =
        ClusterProbe(tools_.client, tools_.discovery)
            .List(kinds.types, order_.cluster, kUrgentReadsSideBySide, tools_.Reads());
    std::erase_if(listing.objects, [](const KubeObject& object) {
      return object.meta.deleting || object.meta.Controller() != nullptr;
    });
    return std::move(listing.objects);
  }

  // Leaves out what outlives clusters on purpose.
  std::vector<std::string> NotInFile() const {
    std::vector<std::string> names;
    for (const KubeObject& object : WhatIsThere()) {
      if (IsKept(object.meta) || object.type->kind == "PersistentVolumeClaim") continue;
      const bool is_planned =
          std::any_of(plan_.begin(), plan_.end(), [&](const PlannedObject& one) {
            return one.type == object.type && one.object->name == object.meta.name;
          });
      if (!is_planned) names.push_back(object.Describe());
    }
    return names;
  }

  DriverOutcome WithWhatIsLeft(DriverOutcome outcome) const {
    std::vector<std::string> names;
    for (const KubeObject& object : WhatIsThere()) names.push_back(object.Describe());
    if (!names.empty()) outcome.error += "; of it are left: " + Joined(names);
    return outcome;
  }

  Ended Unreadable(const ApiError& error) const {
    const bool is_refused = error.failure == ApiFailure::kForbidden;
    return Readiness{
        DriverOutcome::Of(is_refused ? DriverExit::kFailed : DriverExit::kUnknown, error),
        is_refused};
  }

  DriverOutcome Failed(const ApiError& error) const {
    const std::string again = root_uid_.empty() ? "" : "; run it again to complete " + cluster_;
    return DriverOutcome::Of(DriverExit::kFailed, WhyRefused(error) + again);
  }

  const DriverTools& tools_;
  const CreateOrder& order_;
  const std::string cluster_;  // "cluster bob"
  const MonotonicTime deadline_;
  Application app_;  // of no name where none is given
  CreationPlan plan_;
  ClusterView view_;
  std::string root_uid_;  // empty: not made yet
  bool has_made_root_ = false;
  std::vector<std::string> warnings_;
};

}  // namespace

DriverOutcome Create(const DriverTools& tools, const CreateOrder& order) {
  return Creation(tools, order).Run();
}

}  // namespace cluster_watcher
