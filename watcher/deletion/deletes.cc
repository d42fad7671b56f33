#include "watcher/deletion/deletes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "watcher/decision/rules.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kMostInABatch = 64;
constexpr std::size_t kMostNamed = 20;
constexpr int kMostSends = 3;

bool IsNotSent(const ApiResult& result) {
  return !result && result.error().failure == ApiFailure::kNotSent;
}

}  // namespace

Deletes::Deletes(const Tools& tools, ClusterId cluster, WallTime collect_after, WarnOnce& warn_once,
                 std::function<bool()> may_send, std::function<bool()> is_whole,
                 std::function<bool(const std::string&)> is_held)
    : tools_(tools),
      cluster_(std::move(cluster)),
      warn_once_(warn_once),
      claims_(tools.client, *tools.settings, cluster_, collect_after),
      may_send_(std::move(may_send)),
      is_whole_(std::move(is_whole)),
      is_held_(std::move(is_held)) {}

bool Deletes::IsHeldBack(const std::vector<ApiResult>& results) {
  const auto refused = std::find_if(results.begin(), results.end(), [](const ApiResult& result) {
    return !result && !result.error().policy.empty() && !IsOfGuard(result.error().policy);
  });
  if (refused == results.end()) return false;
  policy_ = refused->error().policy;
  return is_held_(policy_);
}

bool Deletes::Send(const std::vector<const KubeObject*>& objects, PropagationPolicy propagation) {
  return SendAll(objects, propagation, false);
}

void Deletes::Rehearse(const std::vector<const KubeObject*>& objects,
                       PropagationPolicy propagation) {
  SendAll(objects, propagation, true);
}

bool Deletes::SendAll(const std::vector<const KubeObject*>& objects, PropagationPolicy propagation,
                      bool dry_run) {
  bool all = true;
  bool throttled = false;
  for (std::size_t next = 0; next < objects.size() && !throttled;) {
    // A batch at a time: there may be thousands, and each answer is an object. Until one is
    // accepted none waits behind others: they may hang, and its evidence would grow old.
    const std::size_t most =
        any_accepted_ || dry_run ? kMostInABatch : std::min(kMostInABatch, Concurrency());
    std::vector<const KubeObject*> batch;
    for (; next < objects.size() && batch.size() < most; ++next) {
      const KubeObject& object = *objects[next];
      const bool takes_claims = !dry_run && propagation != PropagationPolicy::kOrphan;
      if (takes_claims && settled_.erase(object.meta.uid) == 0 && !AreClaimsSettled(object)) {
        all = false;
        continue;
      }
      batch.push_back(&object);
    }
    const auto results = SendBatch(batch, propagation, dry_run);
    const bool is_held = !dry_run && IsHeldBack(results);
    if (is_held) warn_once_(policy_);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (is_held && !results[i] && !results[i].error().policy.empty()) continue;
      Count(*batch[i], results[i], dry_run);
      if (results[i] || results[i].error().failure == ApiFailure::kNotFound) {
        accepted_at_.try_emplace(batch[i]->meta.uid, tools_.clock.Now());
        continue;
      }
      all = all && !IsTransient(results[i].error().failure);
      throttled = throttled || results[i].error().failure == ApiFailure::kThrottled;
    }
    const bool is_over = std::any_of(results.begin(), results.end(), IsNotSent);
    if (is_held || is_over) return false;
    if (next < objects.size()) tools_.turn({});
  }
  return all;
}

std::vector<ApiResult> Deletes::SendBatch(const std::vector<const KubeObject*>& batch,
                                          PropagationPolicy propagation, bool dry_run) {
  std::vector<ApiRequest> requests;
  for (const KubeObject* object : batch) {
    const ObjectMeta& meta = object->meta;
    ApiRequest::Preconditions preconditions{meta.uid};
    if (!dry_run) preconditions.resource_version = meta.resource_version;
    requests.push_back(ApiRequest::Delete(object->type, cluster_.ns, meta.name, preconditions,
                                          propagation, dry_run));
  }
  auto results = tools_.client.DoAll(requests, Concurrency(),
                                     dry_run ? Patience() : Patience::While(may_send_));
  if (dry_run) return results;
  // Controllers write status all the time.
  for (int sends = 1; sends < kMostSends && !leaves_conflicts_; ++sends) {
    if (!SendConflictsAgain(batch, propagation, results)) break;
  }
  return results;
}

bool Deletes::SendConflictsAgain(const std::vector<const KubeObject*>& batch,
                                 PropagationPolicy propagation, std::vector<ApiResult>& results) {
  std::vector<std::size_t> conflicts;
  std::vector<ApiRequest> reads;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (results[i] || results[i].error().failure != ApiFailure::kConflict) continue;
    conflicts.push_back(i);
    reads.push_back(
        ApiRequest::ListByName(batch[i]->type, cluster_.ns, batch[i]->meta.name, Freshness::kSure));
  }
  if (reads.empty()) return false;
  const auto read = tools_.client.DoAll(reads, Concurrency(), RepeatedReads(tools_));
  std::vector<std::size_t> again;
  std::vector<ApiRequest> requests;
  for (std::size_t i = 0; i < conflicts.size(); ++i) {
    const KubeObject& object = *batch[conflicts[i]];
    if (!read[i]) continue;
    auto now = ReadObjectMeta(OnlyItem(*read[i]));
    if (!now) continue;
    ObjectMeta before = object.meta;
    cluster_.DropWhatSaysNothing(before);
    cluster_.DropWhatSaysNothing(*now);
    if (!HasOnlyNewStatus(before, *now)) continue;
    again.push_back(conflicts[i]);
    requests.push_back(ApiRequest::Delete(object.type, cluster_.ns, now->name,
                                          {now->uid, now->resource_version}, propagation, false));
  }
  if (requests.empty()) return false;
  auto sent = tools_.client.DoAll(requests, Concurrency(), Patience::While(may_send_));
  if (std::all_of(sent.begin(), sent.end(), IsNotSent)) return false;
  for (std::size_t i = 0; i < again.size(); ++i) results[again[i]] = std::move(sent[i]);
  return true;
}

std::size_t Deletes::Concurrency() const {
  return static_cast<std::size_t>(tools_.settings->concurrency);
}

bool Deletes::MarkForCollection(const KubeObjects& claims) {
  bool all = true;
  for (const KubeObject& claim : claims) {
    auto answer = tools_.client.Do(claims_.CollectRequest(claim), {});
    if (answer) {
      tools_.log.info("{} is marked for collection", claim.Describe());
    } else {
      all = all && !IsTransient(answer.error().failure);
      warn_once_(answer.error().message);
    }
  }
  return all;
}

void Deletes::TakeFromCollection(const KubeObjects& claims) {
  for (const KubeObject& claim : claims) used_again_.insert_or_assign(claim.meta.uid, claim);
  for (const auto& [uid, claim] : std::exchange(used_again_, {})) {
    auto answer = tools_.client.Do(claims_.PreserveRequest(claim), {});
    if (answer) {
      tools_.log.info("{} is no longer marked for collection", claim.Describe());
    } else {
      warn_once_(claim.Describe() + " stays marked for collection: " + answer.error().message);
    }
  }
}

std::optional<MonotonicTime> Deletes::AcceptedAt(const Uid& uid) const {
  const auto accepted = accepted_at_.find(uid);
  return accepted == accepted_at_.end() ? std::nullopt : std::optional(accepted->second);
}

void Deletes::Count(const KubeObject& object, const ApiResult& result, bool dry_run) {
  const std::string& resource = object.type->plural;
  any_accepted_ = any_accepted_ || (!dry_run && result.has_value());
  if (result) {
    if (!dry_run) tools_.log.info("deleted {}", object.Describe());
    if (!dry_run && first_deleted_.size() < kMostNamed) {
      first_deleted_.push_back(object.Describe());
    }
    return CountResult(resource, dry_run ? "dry-run" : "deleted");
  }
  switch (result.error().failure) {
    case ApiFailure::kNotFound:
      return CountResult(resource, "not-found");
    case ApiFailure::kConflict:
      // Another object has that name. The next pass lists it.
      return CountResult(resource, "conflict");
    case ApiFailure::kForbidden:
      CountResult(resource, "forbidden");
      break;
    case ApiFailure::kUnauthorized:
    case ApiFailure::kNotServed:
    case ApiFailure::kInvalid:
    case ApiFailure::kThrottled:
      CountResult(resource, "failed");
      break;
    case ApiFailure::kNotSent:
      return;
    case ApiFailure::kUnreachable:
    case ApiFailure::kStopped:
    case ApiFailure::kServer:
    case ApiFailure::kUnexpected:
      if (!dry_run && result.error().may_have_arrived) ++open_;
      CountResult(resource, "failed");
      break;
  }
  warn_once_(result.error().message);
}

int Deletes::conflicts() const {
  const auto conflicts = results_.find("conflict");
  return conflicts == results_.end() ? 0 : conflicts->second;
}

void Deletes::CountResult(const std::string& resource, const char* result) {
  ++results_[result];
  tools_.metrics.Deleted(resource, result);
}

bool Deletes::SettleClaimsOf(const KubeObject& object) {
  const bool settled = AreClaimsSettled(object);
  if (settled) settled_.insert(object.meta.uid);
  return settled;
}

bool Deletes::SendWaitingClaims() {
  std::vector<const KubeObject*> due;
  std::unordered_map<Uid, std::optional<bool>> made_anew;  // sets
  for (auto next = claims_waiting_.begin(); next != claims_waiting_.end();) {
    const auto& [uid, waiting] = *next;
    const bool is_due = AcceptedAt(waiting.set).has_value();
    const bool is_first = is_due && claims_sent_.try_emplace(uid, waiting.claim.Describe()).second;
    std::optional<bool> anew;
    if (is_due) {
      const auto known = made_anew.try_emplace(waiting.set);
      if (known.second) known.first->second = IsSetMadeAnew(waiting);
      anew = known.first->second;
    }
    if (!anew && is_first) anew = false;
    if (anew && !*anew) due.push_back(&waiting.claim);
    next = anew && *anew ? claims_waiting_.erase(next) : std::next(next);
  }
  Send(due, PropagationPolicy::kBackground);
  std::erase_if(claims_waiting_, [this](const auto& entry) {
    return AcceptedAt(entry.second.claim.meta.uid).has_value();
  });
  return claims_waiting_.empty();
}

std::optional<bool> Deletes::IsSetMadeAnew(const WaitingClaim& waiting) {
  const auto now = ReadSet(tools_.client, cluster_.ns, waiting.set_name, RepeatedReads(tools_));
  if (now) return *now && (*now)->uid != waiting.set;
  warn_once_(now.error().message);
  return std::nullopt;
}

void Deletes::TakeAsAccepted(const Uid& uid) { accepted_at_.try_emplace(uid, tools_.clock.Now()); }

std::vector<std::string> Deletes::ClaimsLeft() const {
  std::vector<std::string> left;
  for (const auto& [uid, claim] : claims_sent_) {
    if (!AcceptedAt(uid)) left.push_back(claim);
  }
  return left;
}

std::vector<FirstDelete> Deletes::WaitingClaims() const {
  std::vector<FirstDelete> marks;
  for (const auto& [uid, waiting] : claims_waiting_) {
    marks.push_back(FirstDelete::Of(waiting.claim));
    marks.back().is_orphan = true;
  }
  return marks;
}

bool Deletes::WouldGo(const KubeObject& object, PropagationPolicy propagation) {
  const ObjectMeta& meta = object.meta;
  const auto tried =
      tools_.client.Do(ApiRequest::Delete(object.type, cluster_.ns, meta.name,
                                          {meta.uid, meta.resource_version}, propagation, true),
                       {});
  if (tried) return true;
  if (!tried.error().policy.empty() && !IsOfGuard(tried.error().policy)) {
    policy_ = tried.error().policy;
  }
  if (tried.error().failure == ApiFailure::kConflict) CountResult(object.type->plural, "conflict");
  warn_once_(tried.error().message);
  // A webhook that can't answer dry runs; the delete itself may be accepted.
  return tried.error().failure == ApiFailure::kInvalid;
}

bool Deletes::AreClaimsSettled(const KubeObject& object) {
  if (object.type->kind != "StatefulSet") return true;
  auto settled = claims_.Settle(object);
  if (!settled) {
    warn_once_(settled.error().message);
    return false;
  }
  if (!settled->now) {
    warn_once_(object.Describe() + ": waiting until its claims are let go of");
    return false;
  }
  for (const KubeObject& claim : settled->used_again) {
    used_again_.insert_or_assign(claim.meta.uid, claim);
  }
  if (is_whole_()) {
    for (KubeObject& claim : settled->due) {
      claims_waiting_.insert_or_assign(claim.meta.uid,
                                       WaitingClaim{claim, object.meta.uid, object.meta.name});
    }
    return true;
  }
  std::vector<const KubeObject*> due;
  for (const KubeObject& claim : settled->due) {
    due.push_back(&claim);
    claims_sent_.try_emplace(claim.meta.uid, claim.Describe());
  }
  return Send(due, PropagationPolicy::kBackground);
}

}  // namespace cluster_watcher
