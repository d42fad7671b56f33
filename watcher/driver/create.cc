#include "watcher/driver/create.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "probes/base/names.h"
#include "watcher/driver/await.h"
#include "watcher/driver/creation_mark.h"
#include "watcher/driver/creation_plan.h"
#include "watcher/driver/hold.h"
#include "watcher/driver/persistence.h"
#include "watcher/driver/remnants.h"
#include "watcher/driver/still_so.h"
#include "watcher/driver/write_meta.h"
#include "watcher/protocol/gone_watcher.h"
#include "watcher/protocol/master_root.h"

namespace cluster_watcher {
namespace {

constexpr Duration kBetweenLooks{1'000};
constexpr Duration kBetweenListings{250};
// How often it looks again at once although the time is over.
constexpr int kMostOverdue = 5;
constexpr Duration kTimeToTidy{10'000};
// The longest --delete-deadline.
constexpr Duration kOldestDeletion = std::chrono::hours(24);

// What a step came to.
struct Step {
  enum class Next {
    kGoOn,
    kEnd,    // with `outcome`
    kWait,   // and look again, until the time is over; then end with `outcome`
    kAgain,  // look again at once
  };
  Next next = Next::kGoOn;
  DriverOutcome outcome = {};

  static Step End(DriverOutcome outcome) { return {Next::kEnd, std::move(outcome)}; }
  static Step End(DriverExit exit, std::string error) {
    return End(DriverOutcome::Of(exit, std::move(error)));
  }
  static Step Wait(DriverOutcome outcome) { return {Next::kWait, std::move(outcome)}; }
  static Step Again() { return {Next::kAgain, {}}; }
};

class Creation {
 public:
  Creation(const DriverTools& tools, const CreateOrder& order)
      : tools_(tools),
        order_(order),
        me_(SomeProcessOf(order.creator)),
        cluster_("cluster " + order.cluster.name),
        deadline_(tools.clock.Now() + order.timeout) {}

  DriverOutcome Run() {
    for (int overdue = 0;;) {
      Step step = Try();
      const MonotonicTime now = tools_.clock.Now();
      const bool is_over = now >= deadline_ || tools_.stop.stop_requested();
      if (is_over && step.next == Next::kAgain && ++overdue > kMostOverdue) {
        step = Step::Wait(Is("changing all the time: say it again"));
      }
      if (step.next == Step::Next::kEnd || (step.next == Step::Next::kWait && is_over)) {
        std::vector<std::string>& warnings = step.outcome.warnings;
        warnings.insert(warnings.begin(), warnings_.begin(), warnings_.end());
        return std::move(step.outcome);
      }
      if (step.next == Step::Next::kWait) {
        tools_.clock.WaitUntil(std::min(deadline_, now + kBetweenLooks), tools_.stop);
      }
    }
  }

 private:
  using Next = Step::Next;
  // What follows where the mark isn't ours any more.
  enum class Lost { kLookAgain, kSaySo };

  // Looks, and does what the look calls for. Nothing is written before all of the look allows it.
  Step Try() {
    mark_.reset();
    for (const auto step : {&Creation::FindOwner, &Creation::FindKinds, &Creation::Look}) {
      if (Step done = (this->*step)(); done.next != Next::kGoOn) return done;
    }
    if (interrupted_) return Clear();
    WarnOfAbsence();
    if (is_to_complete_) return Complete();
    for (const auto step : {&Creation::BeginRoot, &Creation::LabelOwner, &Creation::ApplyAll}) {
      if (Step done = (this->*step)(); done.next != Next::kGoOn) return done;
    }
    return Finish();
  }

  // --- The look

  Step FindOwner() {
    if (!order_.app) return {};
    app_ = FindApplication(tools_.client, tools_.discovery, *order_.app, order_.cluster.ns,
                           tools_.Reads());
    if (!app_->owner && app_->is_refused) return Step::End(WithoutOwner(*app_));
    if (!app_->owner && !app_->is_absent) return Step::Wait(WithoutOwner(*app_));
    if (!app_->owner) return {};
    const auto another = UsesAnother(tools_, order_.cluster, *app_);
    if (!another) return Unreadable(another.error());
    return another->empty() ? Step{} : UsesTheOther(*another);
  }

  Step UsesTheOther(const std::string& another) const {
    return Step::End(DriverExit::kOthers,
                     app_->Name() + " uses the cluster " + another + ": release that first");
  }

  Step FindKinds() {
    if (!plan_.empty()) return {};
    auto plan = Plan(tools_, order_.objects);
    if (plan) return plan_ = *std::move(plan), Step{};
    const bool may_pass = plan.error().exit == DriverExit::kUnknown;
    return may_pass ? Step::Wait(std::move(plan).error()) : Step::End(std::move(plan).error());
  }

  Step Look() {
    auto view = ReadClusterView(tools_.client, tools_.discovery, order_.cluster, tools_.Reads());
    if (!view) return Unreadable(view.error());
    view_ = *std::move(view);
    interrupted_ = false;
    if (view_.status == ClusterStatus::kRunning) return UseExisting();
    is_whole_ = false;
    if (app_ && view_.exists && BelongingTo(view_, *app_) == Belonging::kAnothers) {
      return Step::End(BelongsToAnother(view_, *app_));
    }
    if (Step step = JudgeStatus(); step.next != Next::kGoOn) return step;
    if (auto in_the_way = LookUpNames(tools_, order_.cluster, plan_)) {
      const bool may_pass = in_the_way->exit != DriverExit::kFailed;
      return may_pass ? Step::Wait(*std::move(in_the_way)) : Step::End(*std::move(in_the_way));
    }
    return JudgeRoot();
  }

  // A complete cluster is used as it is.
  Step UseExisting() {
    if (!order_.app) return Step::End(DriverOutcome::Said(cluster_ + " exists"));
    const Duration left =
        std::max(Duration(0), std::chrono::duration_cast<Duration>(deadline_ - tools_.clock.Now()));
    DriverOutcome ready = Await(tools_, order_.cluster, *order_.app, left);
    if (ready.exit == DriverExit::kNoCluster) return Step::Again();
    if (ready.exit != DriverExit::kDone || !app_->owner) return Step::End(std::move(ready));
    DriverOutcome claimed = Claim(tools_, order_.cluster, *order_.app, false);
    if (claimed.exit != DriverExit::kDone) return Step::End(std::move(claimed));
    if (order_.ephemeral && BelongingTo(view_, *app_) == Belonging::kNobodys) {
      ready.warnings.push_back(cluster_ + " is shared, and stays so");
    }
    return Step::End(std::move(ready));
  }

  Step JudgeStatus() {
    switch (view_.status) {
      case ClusterStatus::kCondemned:
      case ClusterStatus::kDeleting:
        if (IsLeftOver()) return {};
        return Step::Wait(Is(ToString(view_.status)));
      case ClusterStatus::kCreating:
        return JudgeCreator();
      case ClusterStatus::kIncomplete:
        if (!view_.rivals.empty()) {
          return Step::Wait(Is("in disorder: it has several masters, " + Joined(view_.rivals)));
        }
        // What is left of the one before goes first.
        if (!view_.root && view_.is_going) return Step::Wait(Is("still being deleted"));
        return {};
      case ClusterStatus::kRunning:
        return {};
    }
    return {};
  }

  // Whether only a member bears the marks, and whoever began to delete what is left is gone.
  bool IsLeftOver() const {
    const Marks& marks = view_.marks;
    if (view_.root || view_.is_going || !view_.rivals.empty()) return false;
    const bool is_old =
        marks.deleting_since && tools_.clock.WallNow() - *marks.deleting_since >= kOldestDeletion;
    return is_old || IsGone(tools_.client, marks.condemned_by, order_.cluster.ns, tools_.Reads());
  }

  Step JudgeCreator() {
    const WatcherId creator = CreatorOf(view_.root->meta);
    const bool is_mine = IsCreatedBy(view_.root->meta, order_.creator);
    // What is kept could not be cleared: it is taken over.
    if (is_mine && is_cleared_) return {};
    interrupted_ = is_mine || IsCreatorGone(tools_, *view_.root);
    if (interrupted_) return {};
    return Step::End(Is("being created by " + creator.ToText()));
  }

  Step JudgeRoot() {
    const PlannedObject& root = plan_.front();
    // All was made and somebody may use it: only the mark is left, and nothing is deleted.
    is_whole_ = interrupted_ && view_.lacks.empty() &&
                std::all_of(plan_.begin(), plan_.end(),
                            [](const PlannedObject& one) { return one.present.has_value(); });
    if (is_whole_) interrupted_ = false;
    // Somebody has begun since, or before that has any pods.
    const bool is_known =
        interrupted_ || is_whole_ ||
        (is_cleared_ && root.present && IsCreatedBy(root.present->meta, order_.creator));
    if (root.present && !is_known && IsMarkedCreating(root.present->meta)) {
      return Step::Wait(Is("being created by " + CreatorOf(root.present->meta).ToText()));
    }
    // The reads of a look are not of one moment, and somebody may have created the cluster
    // meanwhile. It is incomplete if it is so twice, and its master unchanged.
    is_to_complete_ = root.present && !is_known;
    if (is_to_complete_) {
      const bool is_same = incomplete_ && HasOnlyNewStatus(*incomplete_, root.present->meta);
      incomplete_ = root.present->meta;
      if (!is_same) return Step::Again();
    }
    const bool is_another =
        view_.root && (!root.present || root.present->meta.uid != view_.root->meta.uid);
    if (is_another && !interrupted_) {
      return Step::End(DriverExit::kFailed, cluster_ + " has another master, " +
                                                view_.root->Describe() + ", and not " +
                                                root.Describe());
    }
    const bool is_claimed = order_.ephemeral && app_->owner && view_.exists && !interrupted_ &&
                            BelongingTo(view_, *app_) == Belonging::kNobodys;
    if (!is_claimed) return {};
    return UnusedByOthers();
  }

  Step UnusedByOthers() const {
    auto used = UsedByAnother(tools_, order_.cluster, app_ ? &*app_ : nullptr);
    if (!used) return {};
    const bool may_pass = used->exit == DriverExit::kUnknown;
    return may_pass ? Step::Wait(*std::move(used)) : Step::End(*std::move(used));
  }

  // --- An interrupted creation

  // As a last look does, behind the mark: who claims or holds it now sees that, and who did so
  // before is seen.
  Step WhyNotCleared() {
    const auto hold = FindHold(tools_, mark_->root());
    if (!hold) return Unreadable(hold.error());
    if (*hold) {
      return Step::End(DriverExit::kFailed, **hold + ", and what an interrupted creation left of " +
                                                cluster_ +
                                                " would be deleted: take that off first");
    }
    return UnusedByOthers();
  }

  Step Clear() {
    mark_.emplace(tools_, *view_.root, me_, deadline_);
    if (Step step = Marked(mark_->Put({}), Lost::kLookAgain); step.next != Next::kGoOn) return step;
    if (Step step = WhyNotCleared(); step.next != Next::kGoOn) return step;
    Remnants remnants(tools_, order_.cluster, Types(), order_.say);
    Persistence persistence(tools_, deadline_);
    while (true) {
      // Its root may be going by now, as it should.
      if (Step step = Keep(Lost::kLookAgain); step.next != Next::kGoOn) return step;
      auto state = CreationMark::State::kOurs;
      // A command's mark is written anew meanwhile, unless the root is going, as it should.
      StillSo is_ours(tools_.clock, [&] {
        state = mark_->Confirm();
        const bool is_there = state == CreationMark::State::kOurs && !mark_->root().meta.deleting;
        if (is_there) state = mark_->Keep();
        return state == CreationMark::State::kOurs;
      });
      auto left = remnants.DeleteOnce(view_.root->meta.uid, is_ours);
      if (state == CreationMark::State::kLost) return Step::Again();
      if (state == CreationMark::State::kFailed) left = Unexpected{mark_->problem()};
      if (left && left->empty()) break;
      if (!left && !persistence.WaitToRepeat(left.error())) return Failed(left.error());
      if (!left) continue;
      if (persistence.is_over() || tools_.stop.stop_requested()) {
        return Step::End(Is("still there from an interrupted creation: " + Joined(*left)));
      }
      tools_.clock.WaitUntil(std::min(deadline_, tools_.clock.Now() + kBetweenListings),
                             tools_.stop);
    }
    is_cleared_ = true;
    return Step::Again();
  }

  // --- A cluster that lacks something

  // It may be in use. It gets no mark, so that nobody takes it for an interrupted creation.
  Step Complete() {
    if (Step step = ApplyAll(); step.next != Next::kGoOn) return step;
    if (app_ && app_->owner) {
      DriverOutcome claimed = Claim(tools_, order_.cluster, *order_.app, order_.ephemeral);
      if (claimed.exit != DriverExit::kDone) return Step::End(std::move(claimed));
    }
    return Done("completed");
  }

  // --- The writes

  void WarnOfAbsence() {
    if (!order_.app || app_->owner || !warnings_.empty()) return;
    warnings_.push_back(app_->detail + ": " + cluster_ +
                        " is made a shared one, which nothing deletes by itself");
  }

  bool IsOwned() const { return order_.ephemeral && app_->owner; }

  Step BeginRoot() {
    if (plan_.front().present) {
      mark_.emplace(tools_, *plan_.front().present, me_, deadline_);
      const MetaChanges own = IsOwned() ? EphemeralMeta(*app_->owner) : MetaChanges{};
      return Marked(mark_->Put(own), Lost::kLookAgain);
    }
    if (Step step = PostRoot(); step.next != Next::kGoOn) return step;
    return Marked(mark_->PutUid(), Lost::kSaySo);
  }

  Result<std::string> RootText() const {
    ClusterObject root = *plan_.front().object;
    MetaChanges own = IsOwned() ? EphemeralMeta(*app_->owner) : MetaChanges{};
    own.annotations.merge(CreatingMarks(me_));
    for (const auto& [key, value] : own.annotations) {
      if (auto set = SetAnnotation(root, key, *value); !set) return Failure(set.error().message);
    }
    for (const auto& [key, value] : own.labels) {
      if (auto set = SetOwnLabel(root, key, *value); !set) return Failure(set.error().message);
    }
    return root.Json();
  }

  Step PostRoot() {
    const PlannedObject& root = plan_.front();
    const auto text = RootText();
    if (!text) return Step::End(DriverExit::kFailed, root.Describe() + ": " + text.error().message);
    const ApiRequest post =
        ApiRequest::Create(root.type, order_.cluster.ns, *text).By(kCreateManager);
    Persistence persistence(tools_, deadline_);
    for (bool is_unsure = false;; is_unsure = true) {
      const ApiResult posted = tools_.client.Do(post, tools_.stop);
      if (posted) {
        auto meta = ReadObjectMeta(posted->document.root());
        if (!meta) return Step::End(DriverExit::kFailed, meta.error().message);
        order_.say(root.Describe() + " created");
        mark_.emplace(tools_, KubeObject{root.type, *std::move(meta)}, me_, deadline_);
        return {};
      }
      if (posted.error().failure == ApiFailure::kConflict) return TakeOverOwn(is_unsure);
      if (!persistence.WaitToRepeat(posted.error())) return Failed(posted.error());
    }
  }

  // An object has the root's name that hadn't when we looked. It is ours if the answer to an
  // attempt was lost.
  Step TakeOverOwn(bool is_unsure) {
    if (auto in_the_way = LookUpNames(tools_, order_.cluster, plan_)) {
      const bool may_pass = in_the_way->exit != DriverExit::kFailed;
      return may_pass ? Step::Wait(*std::move(in_the_way)) : Step::End(*std::move(in_the_way));
    }
    const auto& present = plan_.front().present;
    if (!present) return Step::Again();
    const WatcherId creator = CreatorOf(present->meta);
    if (!is_unsure || !IsCreatedBy(present->meta, me_)) {
      return Step::End(
          Is("being created by " + (creator.pod.empty() ? "another" : creator.ToText())));
    }
    order_.say(plan_.front().Describe() + " created");
    mark_.emplace(tools_, *present, me_, deadline_);
    plan_.front().present.reset();
    return {};
  }

  // The owner says that it uses the cluster, unless it has said so of another meanwhile.
  Step LabelOwner() {
    if (!app_ || !app_->owner) return {};
    Persistence persistence(tools_, deadline_);
    while (app_->Uses() != order_.cluster.name) {
      if (Step step = Keep(Lost::kSaySo); step.next != Next::kGoOn) return step;
      const auto another = UsesAnother(tools_, order_.cluster, *app_);
      if (another && !another->empty()) return GiveUpFor(*another);
      ApiResult written = another ? WriteMeta(tools_.client, *app_->owner,
                                              {{{kUsesClusterLabel, order_.cluster.name}}, {}})
                                  : ApiResult(Unexpected{another.error()});
      if (written) break;
      if (!persistence.WaitToRepeat(written.error())) return Failed(written.error());
      auto now = ReadMetaAgain(tools_.client, *app_->owner, tools_.Reads());
      if (now) app_->owner = *std::move(now);
      if (now || now.error().failure != ApiFailure::kNotFound) continue;
      warnings_.push_back(app_->Name() + " is gone");
      break;
    }
    return {};
  }

  // Only the root was made or marked so far.
  Step GiveUpFor(const std::string& another) {
    const KubeObject& root = mark_->root();
    if (plan_.front().present) {
      mark_->TakeOff();
      return UsesTheOther(another);
    }
    Persistence persistence(tools_, deadline_);
    const ApiResult deleted =
        persistence.Do(ApiRequest::Delete(root.type, order_.cluster.ns, root.meta.name,
                                          {root.meta.uid}, PropagationPolicy::kForeground, false));
    const bool is_gone = deleted || deleted.error().failure == ApiFailure::kNotFound;
    return is_gone ? UsesTheOther(another) : Failed(deleted.error());
  }

  Step ApplyAll() {
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      // One that was made just now is as it should be.
      if (i == 0 && !plan_.front().present) continue;
      if (Step step = ApplyOne(plan_[i]); step.next != Next::kGoOn) return step;
    }
    return {};
  }

  Step ApplyOne(const PlannedObject& one) {
    ApiRequest apply =
        ApiRequest::Apply(one.type, order_.cluster.ns, one.object->name, one.object->Json())
            .By(kCreateManager);
    bool is_forced = false;
    Persistence persistence(tools_, deadline_);
    ApiResult applied = Unexpected{ApiError{}};
    while (true) {
      if (Step step = Keep(Lost::kSaySo); step.next != Next::kGoOn) return step;
      applied = tools_.client.Do(apply, tools_.stop);
      if (applied) break;
      const auto& conflicts = applied.error().field_conflicts;
      const bool is_own = std::all_of(conflicts.begin(), conflicts.end(), [](const auto& field) {
        return field.manager == kCreateManager;
      });
      if (!is_own) return Step::End(DriverExit::kFailed, Conflict(one, conflicts));
      if (!conflicts.empty() && !is_forced) {
        // What was created and not applied is ours all the same.
        apply.http.target += "&force=true";
        is_forced = true;
      } else if (!persistence.WaitToRepeat(applied.error())) {
        return Failed(applied.error());
      }
    }
    const auto meta = ReadObjectMeta(applied->document.root());
    if (meta && applied->is_created) made_.push_back({one.type, *meta});
    if (meta && IsMarkedForCollection(*meta)) {
      // It is used again.
      const ApiResult unmarked = persistence.Do(ApiRequest::MergePatch(
          one.type, order_.cluster.ns, meta->name, MarksPatch(*meta, WithoutCollectMarks())));
      if (!unmarked) return Failed(unmarked.error());
    }
    const bool is_same =
        meta && one.present && meta->resource_version == one.present->meta.resource_version;
    order_.say(one.Describe() + (!one.present ? " created"
                                 : is_same    ? " unchanged"
                                              : " configured"));
    return {};
  }

  std::string Conflict(const PlannedObject& one,
                       const std::vector<ApiError::FieldConflict>& conflicts) const {
    std::vector<std::string> fields;
    for (const auto& conflict : conflicts) {
      fields.push_back(conflict.field + " is managed by " + Quoted(conflict.manager));
    }
    return one.Describe() + ": " + Joined(fields) +
           ": take it out of the file, or take it over by kubectl apply --server-side "
           "--field-manager=" +
           kCreateManager + " --force-conflicts; " + Again();
  }

  // What was taken over may have been deleted since, by who doesn't know of us.
  Step LookForAll() {
    MasterRoot root(tools_.client, mark_->root());
    const RootState state = root.Read(tools_.Reads());
    if (state == RootState::kUnknown) return Failed(root.problem());
    if (state != RootState::kOurs) return Marked(CreationMark::State::kLost, Lost::kSaySo);
    if (auto in_the_way = LookUpNames(tools_, order_.cluster, plan_)) {
      return Step::Wait(DriverOutcome::Of(DriverExit::kFailed, in_the_way->error + "; " + Again()));
    }
    const bool are_there = std::all_of(plan_.begin(), plan_.end(), [](const PlannedObject& one) {
      return one.present.has_value();
    });
    return are_there ? Step{} : Step::Again();
  }

  Step Finish() {
    if (Step step = LookForAll(); step.next != Next::kGoOn) return step;
    Step step = Marked(mark_->TakeOff(), Lost::kSaySo);
    if (step.next != Next::kGoOn) return step;
    return Done("created");
  }

  Step Done(const std::string& what) const {
    DriverOutcome done = DriverOutcome::Said(cluster_ + " is " + what);
    // All of the file is there, whatever this look says.
    const auto view =
        ReadClusterView(tools_.client, tools_.discovery, order_.cluster, tools_.Reads());
    if (view && app_ && BelongingTo(*view, *app_) == Belonging::kNobodys) {
      done.said += ", and shared";
    }
    if (view && view->status == ClusterStatus::kIncomplete && !view->lacks.empty()) {
      done.warnings.push_back(cluster_ + " lacks " + Joined(view->lacks) +
                              ": nobody who awaits it will find it ready");
    }
    return Step::End(std::move(done));
  }

  // --- Outcomes

  DriverOutcome Is(const std::string& how) const {
    return DriverOutcome::Of(DriverExit::kNotReady, cluster_ + " is " + how);
  }

  std::string Again() const {
    return mark_ ? cluster_ + " stays marked as being created: say it again to complete it"
                 : "say it again to complete " + cluster_;
  }

  // Who deletes the cluster may have listed it before we made the last of it, and nobody would find
  // that later. Each goes by its UID, unless there is a new master, whose they are by now.
  void DeleteMade() {
    std::set<std::string> uids;
    for (const KubeObject& object : std::exchange(made_, {})) uids.insert(object.meta.uid);
    if (uids.empty()) return;
    Remnants remnants(tools_, order_.cluster, Types(), order_.say, std::move(uids));
    const MonotonicTime end = tools_.clock.Now() + kTimeToTidy;
    while (true) {
      bool is_over = false;
      StillSo is_nobodys(tools_.clock, [&] {
        is_over = !IsGoing();
        if (is_over) return false;
        const auto view =
            ReadClusterView(tools_.client, tools_.discovery, order_.cluster, tools_.Reads());
        is_over = view && (!view->rivals.empty() ||
                           (view->root && view->root->meta.uid != mark_->root().meta.uid));
        return view && !is_over;
      });
      const auto left = remnants.DeleteOnce("", is_nobodys);
      if (is_over || (left && left->empty())) return;
      if (tools_.clock.Now() >= end || tools_.stop.stop_requested()) return;
      tools_.clock.WaitUntil(tools_.clock.Now() + kBetweenListings, tools_.stop);
    }
  }

  // Whether the root that was ours is gone or going, and no other has its name.
  bool IsGoing() {
    MasterRoot root(tools_.client, mark_->root());
    const RootState state = root.Read(tools_.Reads());
    return state == RootState::kGone || state == RootState::kTerminating ||
           (state == RootState::kOurs && root.marks().phase == Phase::kDeleting);
  }

  std::vector<ResourceType> Types() const {
    std::vector<ResourceType> types;
    for (const PlannedObject& one : plan_) types.push_back(one.type);
    return types;
  }

  DriverOutcome Overtaken() {
    DeleteMade();
    const auto view =
        ReadClusterView(tools_.client, tools_.discovery, order_.cluster, tools_.Reads());
    if (!view) return DriverOutcome::Of(DriverExit::kUnknown, view.error());
    if (!view->root) return Is("gone: it was deleted while it was created");
    const std::string who = CreatorOf(view->root->meta).ToText();
    if (view->status == ClusterStatus::kCreating) return Is("being created by " + who);
    return Is(ToString(view->status));
  }

  // A cluster that is completed has no mark.
  Step Keep(Lost lost) { return mark_ ? Marked(mark_->Keep(), lost) : Step{}; }

  // Goes on where the mark is ours. Where it isn't, nothing more is written: we look again, or say
  // whose it is.
  Step Marked(CreationMark::State state, Lost lost) {
    switch (state) {
      case CreationMark::State::kOurs:
        return {};
      case CreationMark::State::kLost:
        return lost == Lost::kLookAgain ? Step::Again() : Step::End(Overtaken());
      case CreationMark::State::kFailed:
        return Failed(mark_->problem());
    }
    return {};
  }

  Step Unreadable(const ApiError& error) const {
    if (error.failure == ApiFailure::kForbidden) {
      return Step::End(DriverExit::kFailed, WhyRefused(error));
    }
    return Step::Wait(DriverOutcome::Of(DriverExit::kUnknown, error));
  }

  // Of a write.
  Step Failed(const ApiError& error) const {
    const std::string why = WhyRefused(error);
    const bool is_begun = mark_ || is_to_complete_;
    return Step::End(DriverExit::kFailed, is_begun ? why + "; " + Again() : why);
  }

  const DriverTools& tools_;
  const CreateOrder& order_;
  const WatcherId me_;
  const std::string cluster_;  // "cluster bob"
  const MonotonicTime deadline_;
  std::optional<Application> app_;
  CreationPlan plan_;
  ClusterView view_;
  std::optional<ObjectMeta> incomplete_;  // the master of a cluster that was
  bool interrupted_ = false;              // what is there is an interrupted creation
  bool is_whole_ = false;                 // it was interrupted behind its last object
  bool is_to_complete_ = false;           // what is there lacks something
  bool is_cleared_ = false;               // one was deleted
  std::optional<CreationMark> mark_;
  KubeObjects made_;  // besides the root
  std::vector<std::string> warnings_;
};

}  // namespace

DriverOutcome Create(const DriverTools& tools, const CreateOrder& order) {
  return Creation(tools, order).Run();
}

}  // namespace cluster_watcher
