#include "watcher/deletion/deletion.h"

#include <functional>
#include <iterator>
#include <utility>

#include "probes/base/names.h"
#include "probes/owner_kinds.h"
#include "watcher/deletion/await_gone.h"

namespace cluster_watcher {
namespace {

// Past the deadline each is tried this often before it is given up.
constexpr int kLeastLatePasses = 2;
constexpr int kMostRootSends = 2;
constexpr Duration kBetweenReminders = std::chrono::minutes(1);

// The kind of an owner that was never seen, as far as it is said.
std::string GivenKind(const OwnerName& owner, const Settings& settings) {
  const KindName given =
      owner.IsBare() ? SplitKindName(settings.owner_kind) : KindName{owner.kind, owner.group};
  if (given.kind.empty()) return "";
  const ResourceType* built_in = FindBuiltInByName(given.kind, given.group);
  return built_in == nullptr ? given.ToText() : built_in->SingularName();
}

DeletionMemory MemoryOf(const DeletionOrder& condemned, const Settings& settings) {
  const Snapshot& look = condemned.look;
  DeletionMemory memory;
  memory.cluster = *look.cluster;
  memory.root_uid = look.root->meta.uid;
  memory.root_is_resource = look.cluster->IsResource(*look.root);
  if (look.root->type->kind == "StatefulSet") memory.root_set = look.root->meta.name;
  memory.mounted = look.pod_says.mounted;
  memory.owner_uids = condemned.other_owners;
  if (look.seen) memory.owner_uids.insert(look.seen->uid);
  if (condemned.marks.owner) memory.owner_uids.insert(condemned.marks.owner->uid);
  if (const auto& owner = look.facts.owner; owner && owner->object) {
    memory.owner = owner->object;
    memory.owner_uids.insert(owner->object->meta.uid);
    const OwnerReference* above = owner->object->meta.Controller();
    if (above != nullptr) memory.owner_controller_uid = above->uid;
  }
  if (look.owner_name && look.owner_ns == look.cluster->ns) {
    memory.owner_name = look.seen ? look.seen->name : look.owner_name->name;
    memory.owner_kind = look.seen ? look.seen->kind : GivenKind(*look.owner_name, settings);
  }
  return memory;
}

}  // namespace

Deletion::Deletion(const Tools& tools, const DeletionOrder& condemned, MonotonicTime began)
    : tools_(tools),
      warn_once_(tools.log),
      cluster_(*condemned.look.cluster),
      as_seen_(*condemned.look.root),
      began_(began),
      memory_(MemoryOf(condemned, *tools.settings)),
      deletes_(
          tools, memory_, warn_once_, [this] { return mandate_.MaySend(); },
          [this] { return mandate_.Renew(); }, [this] { return mandate_.IsBraked(); }),
      mandate_(tools, warn_once_, condemned, deletes_.sent()),
      reader_(tools, warn_once_, cluster_, mandate_, memory_),
      pace_(tools.client, tools.clock,
            static_cast<unsigned>(std::hash<std::string>()(as_seen_.meta.uid))) {
  TakeSettings(condemned);
}

void Deletion::Take(const DeletionOrder& order) {
  mandate_.Take(order);
  TakeSettings(order);
  is_taken_ = !HasDeleted();
}

void Deletion::GoOn(const DeletionOrder& last) {
  mandate_.GoOn();
  TakeSettings(last);
}

bool Deletion::HasEnded() {
  mandate_.BeginList();
  const auto why = mandate_.WhyEnded();
  return why && why != DeletionEnd::kStale;
}

// They may be annotations that were changed meanwhile.
void Deletion::TakeSettings(const DeletionOrder& order) {
  memory_.volumes = tools_.settings->volumes;
  const WallTime since = order.marks.deleting_since.value_or(tools_.clock.WallNow());
  memory_.collect_after =
      std::chrono::floor<std::chrono::seconds>(since + tools_.settings->volume_retention);
}

bool Deletion::FindWhyRootStays() {
  view_ = reader_.Read(false);
  const HeldBack* held = WhyRootIsHeldBack(*view_, memory_);
  if (held == nullptr || held->may_pass) {
    view_.reset();  // steps will make it old
    return false;
  }
  left_.root_held_back = held->why;
  return true;
}

DeletionEnd Deletion::DeleteMembers(MonotonicTime deadline) {
  const bool is_old = std::exchange(is_taken_, false);
  if (!is_old) view_.reset();
  if (view_) view_->is_old = true;
  return RunPasses(deadline, false);
}

// The root may go on what has just shown that the members are gone.
DeletionEnd Deletion::RunPasses(MonotonicTime deadline, bool with_root) {
  for (;;) {
    tools_.turn({});
    tools_.metrics.SetDeletionDuration(tools_.clock.Now() - began_);
    const bool late = tools_.clock.Now() >= deadline;
    if (auto end = RunPass(late, with_root)) return *end;
    if (late) SayWhatRemains();
    if (tools_.until == Until::kAllGone && view_) {
      const auto names = NamesOfTerminating(*view_, deletes_.sent());
      if (!names.empty()) tools_.log.info("waiting for {}", Joined(names));
    }
    if (!IsRootInDoubt()) view_.reset();
    pace_.Pause(late ? MonotonicTime::max() : deadline);
  }
}

std::optional<DeletionEnd> Deletion::RunPass(bool late, bool with_root) {
  if (late) ++late_.all;
  // A list wouldn't tell: garbage collection would have changed it.
  if (view_ && IsRootInDoubt()) {
    const RootState state = mandate_.Read();
    if (state == RootState::kUnknown) return GivenUp();
    if (state != RootState::kOurs) return EndWithRoot(late);
    view_.reset();
  }
  if (!view_) view_ = reader_.Read(late);
  if (auto why = mandate_.WhyEnded()) {
    if (why == DeletionEnd::kStale && GivenUp()) return DeletionEnd::kGivenUp;
    if (why != DeletionEnd::kRootGone) return why;
    if (IsRootInDoubt()) return EndWithRoot(late);
    if (!IsWhole()) SettleClaims();
    return why;
  }
  LetGoOfClaims();
  // Where the root can't be read either, the API server is away.
  const bool is_blind = !view_->complete && mandate_.is_root_read();
  late_.blind = is_blind ? late_.blind + (late ? 1 : 0) : 0;
  const PassPlan plan = PlanPass(*view_, memory_, deletes_.sent(), Terms(late, with_root));
  if (plan.root_stays != nullptr) {
    left_.root_held_back = plan.root_stays->why;
    return DeletionEnd::kRootMustStay;
  }
  deletes_.Send(plan.due, plan.propagation);
  left_.policy = deletes_.TakePolicy();
  const PassEnd end = Conclude(late, with_root);
  if (!left_.policy.empty()) return DeletionEnd::kHeld;
  const bool is_done = end.is_over && (!with_root || SendRoot(end));
  if (is_done) {
    NameLeft(late);
    return DeletionEnd::kDone;
  }
  if (!left_.policy.empty()) return DeletionEnd::kHeld;
  return GivenUp();
}

PassTerms Deletion::Terms(bool late, bool with_root) const {
  PassTerms terms;
  terms.now = tools_.clock.Now();
  terms.late = late;
  terms.blind_passes = late_.blind;
  terms.is_root_read = mandate_.is_root_read();
  terms.may_begin = mandate_.has_root() || reader_.is_closed() || late;
  terms.with_root = with_root;
  terms.terminating_is_gone =
      tools_.until == Until::kAccepted || tools_.gives_up || tools_.hurry.stop_requested();
  terms.propagation = PropagationOf(tools_);
  return terms;
}

PassEnd Deletion::Conclude(bool late, bool with_root) {
  PassEnd end = ConcludePass(*view_, memory_, deletes_.sent(), Terms(late, with_root));
  const auto members = static_cast<std::int64_t>(memory_.listed.size());
  tools_.metrics.SetMembers(members,
                            static_cast<std::int64_t>(end.remaining + view_->members.last.size()));
  if (left_.policy.empty() && end.collects) {
    deletes_.TakeFromCollection(std::exchange(view_->used_again, {}));
    const bool all = deletes_.MarkForCollection(
        view_->members.to_collect, Patience::While([this] { return mandate_.MaySend(); }));
    end.is_over = end.is_over && (all || late);
    if (!all && !late) ++end.remaining;
  }
  pace_.Note(end.remaining);
  return end;
}

void Deletion::LetGoOfClaims() {
  const auto& writes = view_->survivors.writes;
  if (writes.empty() || !mandate_.Renew()) return;
  const auto written =
      tools_.client.DoAll(writes, static_cast<std::size_t>(tools_.settings->concurrency),
                          Patience::While([this] { return mandate_.MaySend(); }));
  for (const ApiResult& one : written) {
    if (!one && one.error().failure != ApiFailure::kNotSent) warn_once_(one.error().message);
  }
}

void Deletion::NameLeft(bool late) {
  left_.overdue = NamesOfLeft(*view_, memory_, deletes_.sent(), late);
  for (const std::string& left : left_.overdue) warn_once_(left);
}

void Deletion::SayWhatRemains() {
  if (tools_.clock.Now() - late_.said < kBetweenReminders) return;
  late_.said = tools_.clock.Now();
  tools_.log.warn("the deadline has passed, it is tried on{}", WhatIsLeft(StillThere()));
}

std::vector<std::string> Deletion::StillThere() const {
  const SentDeletes& sent = deletes_.sent();
  // The rest is known by then, of the root by AwaitGone.
  if (!view_ || sent.AcceptedAt(as_seen_.meta.uid)) return left_.overdue;
  std::vector<std::string> names = NamesOfLeft(*view_, memory_, sent, true);
  if (view_->survivors.unknown) names.push_back(view_->survivors.unknown->message);
  const KubeObject& root = mandate_.root();
  if (mandate_.has_root()) names.push_back(root.Describe() + WhyStillThere(root, sent));
  return names;
}

// Nothing comes between, as another list: a master pod that is rescheduled now could not start.
bool Deletion::SendRoot(const PassEnd& end) {
  if (end.last.empty() && !end.root) return false;
  const bool all = deletes_.Send(end.last, PropagationOf(tools_));
  left_.policy = deletes_.TakePolicy();
  if (!all || !left_.policy.empty() || !end.root) return false;
  // It is read and sent again at once where it has changed, or that fails for the moment.
  const PropagationPolicy propagation = RootPropagationOf(tools_, as_seen_.type);
  for (int sends = 1; !deletes_.Send({&mandate_.root()}, propagation); ++sends) {
    if (sends == kMostRootSends) break;
    mandate_.BeginList();
    if (mandate_.WhyEnded()) break;
  }
  left_.policy = deletes_.TakePolicy();
  if (!deletes_.sent().AcceptedAt(as_seen_.meta.uid)) return false;
  SettleClaims();
  return true;
}

DeletionEnd Deletion::EndWithRoot(bool late) {
  deletes_.WasCarriedOut(as_seen_.meta.uid);
  SettleClaims();
  NameLeft(late);
  return DeletionEnd::kDone;
}

std::optional<DeletionEnd> Deletion::GivenUp() const {
  const bool gives_up = late_.all >= kLeastLatePasses && tools_.gives_up;
  return gives_up ? std::optional(DeletionEnd::kGivenUp) : std::nullopt;
}

void Deletion::SettleClaims() {
  deletes_.TakeFromCollection(std::exchange(view_->used_again, {}));
  deletes_.MarkForCollection(view_->members.to_collect, {});
}

DeletionEnd Deletion::Await(MonotonicTime deadline, const std::stop_token& stop) {
  AwaitGone await(tools_, warn_once_, cluster_, as_seen_, mandate_, reader_, deletes_, memory_,
                  view_);
  const DeletionEnd end = await.Run(deadline, stop);
  left_.overdue.insert(left_.overdue.end(), await.left().begin(), await.left().end());
  return end;
}

std::vector<std::string> Deletion::Rehearse() {
  view_ = reader_.Read(true);
  const MemberPass& members = view_->members;
  const auto found = static_cast<std::int64_t>(memory_.listed.size());
  tools_.metrics.SetMembers(found, found);
  std::vector<const KubeObject*> all;
  for (const auto* group : {&members.to_delete, &members.last}) {
    for (const KubeObject& object : *group) {
      if (WhyHeldBack(*view_, memory_, object) == nullptr) all.push_back(&object);
    }
  }
  all.push_back(&as_seen_);
  std::vector<std::string> names;
  for (const KubeObject* object : all) names.push_back(object->Describe());
  for (const KubeObject& claim : std::exchange(view_->members.to_collect, {})) {
    tools_.log.info("dry run: would mark {} for collection", claim.Describe());
  }
  NameLeft(false);
  deletes_.Rehearse(all, PropagationOf(tools_));
  return names;
}

std::vector<std::string> Deletion::Remaining() const {
  if (!view_) return {};
  std::vector<std::string> names;
  const MemberPass& members = view_->members;
  for (const auto* group :
       {&members.to_delete, &members.leftovers, &members.last, &members.to_collect}) {
    for (const KubeObject& object : *group) {
      if (!object.meta.deleting) names.push_back(object.Describe());
    }
  }
  for (const std::string& why : view_->failed) names.push_back("what could not be listed: " + why);
  return names;
}

DeletionReport Deletion::Report() const {
  DeletionReport report;
  report.found = memory_.listed.size();
  report.deletes = deletes_.results();
  report.left = reader_.Left();
  report.left.insert(report.left.begin(), left_.overdue.begin(), left_.overdue.end());
  report.overdue = left_.overdue.size();
  report.root_deleted = deletes_.sent().MayHaveDeleted(as_seen_.meta.uid);
  return report;
}

DeletionEnd Deletion::DeleteListed(MonotonicTime deadline,
                                   std::function<RootState()> read_other_master) {
  memory_.root_uid.clear();
  mandate_.ReadInstead(std::move(read_other_master));
  return DeleteMembers(deadline);
}

}  // namespace cluster_watcher
