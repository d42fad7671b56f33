#include "watcher/deletion/deletion.h"

#include <algorithm>

#include "probes/base/names.h"
#include "watcher/protocol/marks.h"
#include "watcher/protocol/owner_reference.h"

namespace cluster_watcher {
namespace {

constexpr Duration kFirstBackoff{50};
constexpr Duration kLongestBackoff{2'000};
// Where nothing has moved for a while, a finalizer or a missing permission holds it up.
constexpr Duration kStuck{30'000};
constexpr Duration kLongestBackoffOfStuck{10'000};
// Within the patience of who asks whether the loop turns.
constexpr Duration kLongestAskedWait{20'000};
constexpr int kLatePasses = 2;
constexpr int kMostLatePasses = 6;
constexpr int kMostHandOvers = 3;
constexpr std::size_t kMostDeletesInABatch = 64;
// The garbage collector's time for what is left of a controller, before we do it ourselves.
constexpr Duration kLeftoverPatience{1'000};

DeletionMemory MemoryOf(const Snapshot& condemned, const Settings& settings, WallTime now) {
  DeletionMemory memory;
  memory.root_uid = condemned.root->meta.uid;
  if (condemned.root->type.kind == "StatefulSet") memory.root_set = condemned.root->meta.name;
  memory.mounted = condemned.mounted;
  memory.volumes = settings.volumes;
  const WallTime since = condemned.marks.deleting_since.value_or(now);
  memory.collect_after =
      std::chrono::floor<std::chrono::seconds>(since + settings.volume_retention);
  if (condemned.seen) memory.owner_uids.insert(condemned.seen->uid);
  if (condemned.marks.owner) memory.owner_uids.insert(condemned.marks.owner->uid);
  if (const auto& owner = condemned.facts.owner; owner && owner->object) {
    memory.owner_uids.insert(owner->object->meta.uid);
    const OwnerReference* above = owner->object->meta.Controller();
    if (above != nullptr) memory.owner_controller_uid = above->uid;
  }
  if (condemned.owner_name && condemned.owner_ns == condemned.cluster->ns) {
    memory.owner_name = condemned.seen ? condemned.seen->name : condemned.owner_name->name;
    memory.owner_kind = condemned.seen ? condemned.seen->kind : "";
  }
  return memory;
}

}  // namespace

Deletion::Deletion(Survey& survey, Clock& clock, WatcherMetrics& metrics, spdlog::logger& log,
                   const Snapshot& condemned, MonotonicTime since, std::function<void()> turn)
    : survey_(survey),
      clock_(clock),
      metrics_(metrics),
      log_(log),
      warn_once_(log),
      root_(*condemned.root),
      cluster_(*condemned.cluster),
      marks_(condemned.marks),
      seen_abandoned_(condemned.began),
      since_(since),
      turn_(std::move(turn)),
      listing_(survey, metrics, log, warn_once_, cluster_),
      memory_(MemoryOf(condemned, survey.settings().settings, clock.WallNow())),
      claims_(survey.client(), survey.settings().settings, cluster_, root_, memory_.collect_after),
      begun_(condemned.marks.deletes_begun),
      resumed_(begun_),
      progressed_(clock.Now()),
      jitter_(static_cast<unsigned>(std::hash<std::string>()(root_.meta.uid))),
      backoff_(kFirstBackoff) {}

Deletion::Outcome Deletion::DeleteMembers(MonotonicTime deadline) {
  for (int passes = 0, late_passes = 0;; ++passes) {
    turn_();
    metrics_.SetDeletionDuration(clock_.Now() - since_);
    // First what there is, then whose it is: what was listed before the root was found to be ours
    // is of this cluster, however long we were held up in between.
    MemberListing::Listed listed = listing_.List();
    const RootState root = ReadRoot();
    if (root == RootState::kReplaced) return Outcome::kRootReplaced;
    if (!begun_) {
      // A cluster that can't be listed is still whole, and a driver may come back to it.
      const bool may_begin =
          listed.complete || !listed.objects.empty() || (listed.any && passes > 0);
      if (auto outcome = Begin(root, may_begin)) return *outcome;
    } else if (root == RootState::kOurs) {
      if (IsOvertaken()) return Outcome::kOvertaken;
      RestoreMarks();
    }
    const bool late = clock_.Now() >= deadline;
    if (begun_) {
      const Pass pass =
          DeletePass(std::move(listed.objects), CountsAsListed(root, listed.complete), late);
      const bool sure = listed.complete && root != RootState::kUnknown;
      if (sure && pass.remaining == 0) {
        log_.info("all {} members are gone{}", memory_.listed.size(),
                  mounted_.empty() ? "" : " but for what the master mounts");
        return Outcome::kGone;
      }
      if (late) {
        ++late_passes;
        backoff_ = std::min(backoff_, kFirstBackoff * (1 << late_passes));
        if (late_passes >= (sure && pass.all_sent ? kLatePasses : kMostLatePasses)) {
          NameOverdue(pass);
          return Outcome::kGone;
        }
      }
    }
    Pause(late ? MonotonicTime::max() : deadline);
  }
}

std::optional<Deletion::Outcome> Deletion::Begin(RootState root, bool may_begin) {
  if (root == RootState::kOurs && IsOvertaken()) return Outcome::kOvertaken;
  if (root == RootState::kGone || (root == RootState::kOurs && !NamesUs(ReadMarks(root_now_)))) {
    return Outcome::kCalledOff;
  }
  // By now the cluster may be in use again. Counted from the look: a process that was held up
  // doesn't know it.
  const auto left = [this] {
    return std::chrono::floor<Duration>(seen_abandoned_ + 2 * kFreshEvidence - clock_.Now());
  };
  if (left() <= Duration(0)) return Outcome::kStale;
  if (root == RootState::kUnknown || !may_begin) return std::nullopt;
  // What would hold it back now is for a whole look to see.
  const bool as_seen =
      root_now_.labels == root_.meta.labels &&
      root_now_.Annotation(annotation::kHoldUntil) == root_.meta.Annotation(annotation::kHoldUntil);
  if (!as_seen) return Outcome::kStale;
  const bool marked = WriteMarks({{annotation::kDeletesBegun, "true"}}, left());
  if (left() <= Duration(0)) return Outcome::kStale;
  begun_ = marked;
  return std::nullopt;
}

bool Deletion::CountsAsListed(RootState root, bool complete) {
  const bool resumed = resumed_;
  if (complete) resumed_ = false;
  if (root == RootState::kOurs) {
    memory_.made_before.reset();
    return true;
  }
  if (!resumed) return false;
  // Who began it had listed what was there with the root, and so do we, as far as we know that.
  memory_.made_before = survey_.root_seen_at();
  return memory_.made_before.has_value();
}

bool Deletion::FinishMembers(MonotonicTime deadline, const std::function<bool()>& may_go_on) {
  memory_.made_before = survey_.root_seen_at();
  memory_.mounted.clear();
  memory_.root_set.clear();
  if (!memory_.made_before) return false;
  for (bool first = true; clock_.Now() < deadline; first = false) {
    turn_();
    if (!first && !may_go_on()) return false;
    MemberListing::Listed listed = listing_.List();
    if (ReadRoot() != RootState::kGone) return false;
    // The first list is the one that counts; nothing that appears later is ours to delete.
    const Pass pass = DeletePass(std::move(listed.objects), first, false);
    if (listed.complete && pass.remaining == 0) return true;
    Pause(deadline);
  }
  return false;
}

std::vector<std::string> Deletion::Rehearse() {
  MemberPass pass = SortMembers(listing_.List().objects, true, memory_);
  metrics_.SetMembers(static_cast<std::int64_t>(memory_.listed.size()),
                      static_cast<std::int64_t>(memory_.listed.size()));
  std::vector<const KubeObject*> all;
  for (const KubeObject& object : pass.to_delete) all.push_back(&object);
  for (const KubeObject& object : pass.mounted) all.push_back(&object);
  all.push_back(&root_);
  std::vector<std::string> names;
  for (const KubeObject* object : all) names.push_back(object->Describe());
  for (const KubeObject& claim : pass.to_collect) {
    log_.info("dry run: would mark {} for collection", claim.Describe());
  }
  for (const std::string& left : pass.left) log_.info("dry run: would leave {}", left);
  for (const std::string& mistake : pass.mistakes) log_.warn("dry run: {}", mistake);
  SendDeletes(all, Propagation(), true);
  return names;
}

DeletionReport Deletion::Report() const {
  DeletionReport report;
  report.found = memory_.listed.size();
  report.deletes = results_;
  report.left = listing_.skipped();
  report.left.insert(report.left.end(), left_.begin(), left_.end());
  report.left.insert(report.left.end(), overdue_.begin(), overdue_.end());
  report.overdue = !overdue_.empty();
  return report;
}

Deletion::RootState Deletion::ReadRoot() {
  auto answer =
      survey_.client().Do(ApiRequest::GetMetadata(root_.type, cluster_.ns, root_.meta.name), {});
  if (!answer && answer.error().failure == ApiFailure::kNotFound) return RootState::kGone;
  if (!answer) {
    warn_once_(answer.error().message);
    return RootState::kUnknown;
  }
  auto meta = ReadObjectMeta(answer->document.root());
  if (!meta) return RootState::kUnknown;
  if (meta->uid != root_.meta.uid) return RootState::kReplaced;
  root_now_ = *std::move(meta);
  return root_now_.deleting ? RootState::kGone : RootState::kOurs;
}

bool Deletion::NamesUs(const Marks& marks) const {
  return marks.phase == Phase::kDeleting && marks.condemned_by == marks_.condemned_by;
}

bool Deletion::WriteMarks(AnnotationChanges changes, Duration timeout) {
  ApiRequest request = ApiRequest::MergePatch(root_.type, cluster_.ns, root_.meta.name,
                                              MarksPatch(root_now_, std::move(changes)));
  request.http.timeout = timeout;
  auto answer = survey_.client().Do(request, {});
  if (!answer) warn_once_(answer.error().message);
  return answer.has_value();
}

bool Deletion::IsOvertaken() const {
  const Marks now = ReadMarks(root_now_);
  return now.phase == Phase::kDeleting && !NamesUs(now);
}

// Where somebody took them off the deletion goes on, and whoever comes after a crash must know.
void Deletion::RestoreMarks() {
  const Marks now = ReadMarks(root_now_);
  if (NamesUs(now) && now.deletes_begun) return;
  AnnotationChanges changes = {{annotation::kPhase, ToString(Phase::kDeleting)},
                               {annotation::kReason, marks_.reason},
                               {annotation::kCondemnedBy, marks_.condemned_by},
                               {annotation::kDeletesBegun, "true"}};
  if (marks_.deleting_since) {
    changes[annotation::kDeletingSince] = FormatTime(*marks_.deleting_since);
  }
  WriteMarks(std::move(changes), HttpRequest().timeout);
}

Deletion::Pass Deletion::DeletePass(std::vector<KubeObject> objects, bool counts_as_listed,
                                    bool past_deadline) {
  MemberPass members = SortMembers(std::move(objects), counts_as_listed, memory_);
  for (const std::string& mistake : members.mistakes) log_.warn("{}", mistake);
  for (const std::string& left : members.left) log_.info("left alone: {}", left);
  left_.insert(left_.end(), members.left.begin(), members.left.end());
  metrics_.SetMembers(static_cast<std::int64_t>(memory_.listed.size()),
                      static_cast<std::int64_t>(members.remaining()));
  std::vector<const KubeObject*> due = DueMembers(members, memory_, past_deadline);
  std::erase_if(due, [&](const KubeObject* object) { return !IsDue(*object, past_deadline); });
  Pass pass;
  pass.remaining = members.remaining();
  for (const auto* group : {&members.to_delete, &members.leftovers, &members.to_collect}) {
    for (const KubeObject& object : *group) {
      if (past_deadline) pass.not_gone.push_back(object.Describe());
    }
  }
  // Before a wave may begin, what its predecessors control must have gone as well.
  pass.all_sent =
      SendDeletes(due, memory_.HasWaves() ? PropagationPolicy::kForeground : Propagation(), false);
  if (!Collect(members.to_collect)) pass.all_sent = false;
  NoteProgress(pass.remaining);
  mounted_ = std::move(members.mounted);
  return pass;
}

// What is being deleted already is waited for, and what a deleted member controls is the garbage
// collector's for a while.
bool Deletion::IsDue(const KubeObject& object, bool past_deadline) const {
  if (object.meta.deleting) return false;
  const OwnerReference* controller = object.meta.Controller();
  const auto below = memory_.below.find(object.meta.uid);
  // What a member had controlled and has lost that controller is a member itself.
  if (controller == nullptr || below == memory_.below.end() || past_deadline) return true;
  // The garbage collector may have taken what is between before we did.
  auto deleted = memory_.deleted_since.find(controller->uid);
  if (deleted == memory_.deleted_since.end()) {
    deleted = memory_.deleted_since.find(below->second);
  }
  return deleted != memory_.deleted_since.end() &&
         clock_.Now() - deleted->second >= kLeftoverPatience;
}

void Deletion::NameOverdue(const Pass& pass) {
  overdue_.clear();
  for (const std::string& object : pass.not_gone) {
    overdue_.push_back(object + ": not gone by the deadline");
    log_.warn("{}", overdue_.back());
  }
}

bool Deletion::Collect(const std::vector<KubeObject>& claims) {
  bool all = true;
  for (const KubeObject& claim : claims) {
    auto answer = survey_.client().Do(claims_.CollectRequest(claim), {});
    if (answer) {
      log_.info("{} is marked for collection", claim.Describe());
    } else {
      all = all && !IsTransient(answer.error().failure);
      warn_once_(answer.error().message);
    }
  }
  return all;
}

// True: all that could be sent was.
bool Deletion::SendDeletes(const std::vector<const KubeObject*>& objects,
                           PropagationPolicy propagation, bool dry_run) {
  const auto concurrency = static_cast<std::size_t>(survey_.settings().settings.concurrency);
  bool all = true;
  bool throttled = false;
  for (std::size_t next = 0; next < objects.size() && !throttled;) {
    // A batch at a time: there may be thousands, and each answer is an object.
    std::vector<const KubeObject*> batch;
    std::vector<ApiRequest> requests;
    for (; next < objects.size() && batch.size() < kMostDeletesInABatch; ++next) {
      const KubeObject& object = *objects[next];
      if (!dry_run && !ClaimsAreSettled(object)) {
        all = false;
        continue;
      }
      batch.push_back(&object);
      requests.push_back(ApiRequest::Delete(object.type, cluster_.ns, object.meta.name,
                                            object.meta.uid, propagation, dry_run));
    }
    const auto results = survey_.client().DoAll(requests, concurrency, {});
    for (std::size_t i = 0; i < batch.size(); ++i) {
      CountDelete(*batch[i], results[i], dry_run);
      if (results[i] || results[i].error().failure == ApiFailure::kNotFound) {
        memory_.deleted_since.try_emplace(batch[i]->meta.uid, clock_.Now());
        continue;
      }
      all = all && !IsTransient(results[i].error().failure);
      throttled = throttled || results[i].error().failure == ApiFailure::kThrottled;
    }
    if (next < objects.size()) turn_();
  }
  return all;
}

void Deletion::CountDelete(const KubeObject& object, const ApiResult& result, bool dry_run) {
  const std::string& resource = object.type.plural;
  if (result) {
    if (!dry_run) log_.info("deleted {}", object.Describe());
    return CountResult(resource, dry_run ? "dry-run" : "deleted");
  }
  switch (result.error().failure) {
    case ApiFailure::kNotFound:
      return CountResult(resource, "not-found");
    case ApiFailure::kConflict:
      // Another object has that name. The next pass lists anew.
      return CountResult(resource, "conflict");
    case ApiFailure::kForbidden:
      CountResult(resource, "forbidden");
      break;
    case ApiFailure::kUnreachable:
    case ApiFailure::kStopped:
    case ApiFailure::kUnauthorized:
    case ApiFailure::kNotServed:
    case ApiFailure::kInvalid:
    case ApiFailure::kThrottled:
    case ApiFailure::kServer:
    case ApiFailure::kUnexpected:
      CountResult(resource, "failed");
      break;
  }
  warn_once_(result.error().message);
}

void Deletion::CountResult(const std::string& resource, const char* result) {
  ++results_[result];
  metrics_.Deleted(resource, result);
}

bool Deletion::ClaimsAreSettled(const KubeObject& object) {
  if (object.type.kind != "StatefulSet") return true;
  auto settled = claims_.Settle(object);
  if (!settled) {
    warn_once_(settled.error().message);
    return false;
  }
  if (!*settled) warn_once_(object.Describe() + ": waiting until its claims are let go of");
  return *settled;
}

// What the master pod mounts stays until the master root is gone, so that a master pod that is
// rescheduled in the middle can still start: the garbage collector takes it along.
bool Deletion::HandOver(KubeObject object) {
  for (int attempt = 0; attempt < kMostHandOvers; ++attempt) {
    KubeClient& client = survey_.client();
    auto answer = client.Do(ApiRequest::MergePatch(object.type, cluster_.ns, object.meta.name,
                                                   OwnerReferencePatch(object.meta, root_)),
                            {});
    if (answer) {
      log_.info("{} is mounted by the master and goes with it", object.Describe());
      return true;
    }
    if (answer.error().failure == ApiFailure::kNotFound) return true;
    warn_once_(answer.error().message);
    if (!IsTransient(answer.error().failure)) return false;
    // A list, which the account may ask for where it may not get the object.
    auto now = client.Do(
        ApiRequest::ListByName(object.type, cluster_.ns, object.meta.name, Freshness::kSure), {});
    auto meta = now ? ReadObjectMeta(OnlyItem(*now)) : Result<ObjectMeta>(Failure(""));
    if (meta && meta->uid != object.meta.uid) return true;  // somebody's new one
    if (meta) object.meta = *std::move(meta);
  }
  return false;
}

Deletion::RootOutcome Deletion::DeleteRoot() {
  RootState state = ReadRoot();
  if (state == RootState::kReplaced) return RootOutcome::kReplaced;
  if (state == RootState::kOurs && IsOvertaken()) return RootOutcome::kOvertaken;
  if (state == RootState::kOurs && IsKept(root_now_)) {
    left_.push_back(root_.Describe() + ": kept");
    return RootOutcome::kKept;
  }
  std::vector<const KubeObject*> refused;
  for (const KubeObject& object : mounted_) {
    if (state != RootState::kGone && !HandOver(object)) refused.push_back(&object);
  }
  for (backoff_ = kFirstBackoff;;) {
    turn_();
    SendDeletes({&root_}, Propagation(), false);
    // Not until it is gone: it may be waiting for our own pod to end.
    state = ReadRoot();
    if (state == RootState::kReplaced) return RootOutcome::kReplaced;
    if (state == RootState::kGone) break;
    if (state == RootState::kOurs && IsOvertaken()) return RootOutcome::kOvertaken;
    Pause(MonotonicTime::max());
  }
  SendDeletes(refused, Propagation(), false);
  return RootOutcome::kDeleted;
}

PropagationPolicy Deletion::Propagation() const {
  switch (survey_.settings().settings.propagation) {
    case Propagation::kBackground:
      return PropagationPolicy::kBackground;
    case Propagation::kForeground:
      return PropagationPolicy::kForeground;
  }
  return PropagationPolicy::kBackground;
}

// Only progress is followed closely, not objects that somebody makes again and again.
void Deletion::NoteProgress(std::size_t remaining) {
  if (remaining < remaining_) {
    backoff_ = kFirstBackoff;
    progressed_ = clock_.Now();
  }
  remaining_ = remaining;
}

void Deletion::Pause(MonotonicTime until) {
  const Duration asked = std::min(survey_.client().TakeRetryAfter(), kLongestAskedWait);
  const Duration jittered = backoff_ * std::uniform_int_distribution<int>(80, 120)(jitter_) / 100;
  clock_.WaitUntil(std::min(until, clock_.Now() + std::max(jittered, asked)), {});
  const bool stuck = clock_.Now() - progressed_ >= kStuck;
  backoff_ = std::min(backoff_ * 2, stuck ? kLongestBackoffOfStuck : kLongestBackoff);
}

}  // namespace cluster_watcher
