#include "watcher/deletion/deletes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "probes/owner_kinds.h"
#include "watcher/decision/rules.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kMostInABatch = 64;
constexpr std::size_t kMostNamed = 20;
constexpr int kMostSends = 3;

// Whether a delete that failed so may have been carried out.
bool MayBeDone(const ApiError& error) {
  const bool is_answered = error.failure != ApiFailure::kServer &&
                           error.failure != ApiFailure::kUnreachable &&
                           error.failure != ApiFailure::kUnexpected;
  return error.may_have_arrived && !is_answered;
}

bool IsNotSent(const ApiResult& result) {
  return !result && result.error().failure == ApiFailure::kNotSent;
}

}  // namespace

Deletes::Deletes(const Tools& tools, const DeletionMemory& memory, WarnOnce& warn_once,
                 std::function<bool()> may_send, std::function<bool()> prepare,
                 std::function<bool()> is_braked)
    : tools_(tools),
      memory_(memory),
      warn_once_(warn_once),
      may_send_(std::move(may_send)),
      prepare_(std::move(prepare)),
      is_braked_(std::move(is_braked)) {}

bool Deletes::NotePolicy(const std::vector<ApiResult>& results) {
  const auto refused = std::find_if(results.begin(), results.end(), [](const ApiResult& result) {
    return !result && !result.error().policy.empty() && !IsOfGuard(result.error().policy);
  });
  if (refused == results.end() || !is_braked_()) return false;
  policy_ = refused->error().policy;
  return true;
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
        sent_.any_accepted || dry_run ? kMostInABatch : std::min(kMostInABatch, Concurrency());
    std::vector<const KubeObject*> batch;
    for (; next < objects.size() && batch.size() < most; ++next) batch.push_back(objects[next]);
    if (!dry_run && !prepare_()) return false;
    const auto results = SendBatch(batch, propagation, dry_run);
    const bool is_held = !dry_run && NotePolicy(results);
    if (is_held) warn_once_(policy_);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (is_held && !results[i] && !results[i].error().policy.empty()) continue;
      Count(*batch[i], results[i], dry_run);
      if (results[i] || results[i].error().failure == ApiFailure::kNotFound) {
        sent_.accepted_at.try_emplace(batch[i]->meta.uid, tools_.clock.Now());
        continue;
      }
      all = all && !IsTransient(results[i].error().failure);
      if (MayBeDone(results[i].error())) NoteUnanswered(*batch[i]);
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
    requests.push_back(ApiRequest::Delete(object->type, memory_.cluster.ns, meta.name,
                                          preconditions, propagation, dry_run));
  }
  auto results = tools_.client.DoAll(requests, Concurrency(),
                                     dry_run ? Patience() : Patience::While(may_send_));
  if (dry_run) return results;
  // Controllers write status all the time.
  for (int sends = 1; sends < kMostSends; ++sends) {
    if (!SendConflictsAgain(batch, propagation, results)) break;
  }
  // A policy refuses with what status it likes. Those of 429 and 5xx pass.
  for (ApiResult& result : results) {
    if (result || result.error().policy.empty()) continue;
    ApiFailure& failure = result.error().failure;
    const bool passes = failure == ApiFailure::kThrottled || failure == ApiFailure::kServer;
    if (!passes) failure = ApiFailure::kForbidden;
  }
  return results;
}

bool Deletes::SendConflictsAgain(const std::vector<const KubeObject*>& batch,
                                 PropagationPolicy propagation, std::vector<ApiResult>& results) {
  std::vector<std::size_t> conflicts;
  std::vector<ApiRequest> reads;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (results[i] || results[i].error().failure != ApiFailure::kConflict) continue;
    if (memory_.cluster.profile->IsUse(batch[i]->type))
      continue;  // its status said that it has ended
    conflicts.push_back(i);
    reads.push_back(ApiRequest::ListByName(batch[i]->type, memory_.cluster.ns, batch[i]->meta.name,
                                           Freshness::kConsistent));
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
    memory_.cluster.DropWhatSaysNothing(before);
    memory_.cluster.DropWhatSaysNothing(*now);
    if (!HasOnlyNewStatus(before, *now)) continue;
    again.push_back(conflicts[i]);
    requests.push_back(ApiRequest::Delete(object.type, memory_.cluster.ns, now->name,
                                          {now->uid, now->resource_version}, propagation, false));
  }
  if (requests.empty()) return false;
  auto sent = tools_.client.DoAll(requests, Concurrency(), Patience::While(may_send_));
  if (std::all_of(sent.begin(), sent.end(), IsNotSent)) return false;
  for (std::size_t i = 0; i < again.size(); ++i) results[again[i]] = std::move(sent[i]);
  return true;
}

void Deletes::WasCarriedOut(const Uid& unanswered) {
  sent_.unanswered.erase(unanswered);
  sent_.any_accepted = true;
  sent_.accepted_at.try_emplace(unanswered, tools_.clock.Now());
}

std::size_t Deletes::Concurrency() const {
  return static_cast<std::size_t>(tools_.settings->concurrency);
}

ApiRequest Deletes::CollectionRequest(const KubeObject& claim,
                                      const AnnotationChanges& marks) const {
  return ApiRequest::MergePatch(claim.type, memory_.cluster.ns, claim.meta.name,
                                MarksPatch(claim.meta, marks));
}

bool Deletes::MarkForCollection(KubeObjects& claims, const Patience& patience) {
  bool all = true;
  KubeObjects unmarked;
  for (KubeObject& claim : claims) {
    auto answer = tools_.client.Do(
        CollectionRequest(claim, CollectMarks(memory_.collect_after, memory_.cluster)), patience);
    if (answer) {
      tools_.log.info("{} is marked for collection", claim.Describe());
    } else {
      all = all && !IsTransient(answer.error().failure);
      warn_once_(answer.error().message);
      unmarked.push_back(std::move(claim));
    }
  }
  claims = std::move(unmarked);
  return all;
}

void Deletes::TakeFromCollection(const KubeObjects& claims) {
  for (const KubeObject& claim : claims) {
    auto answer = tools_.client.Do(CollectionRequest(claim, WithoutCollectMarks()), {});
    if (answer) {
      tools_.log.info("{} is no longer marked for collection", claim.Describe());
    } else {
      warn_once_(claim.Describe() + " stays marked for collection: " + answer.error().message);
    }
  }
}

void Deletes::Count(const KubeObject& object, const ApiResult& result, bool dry_run) {
  const std::string& resource = object.type->plural;
  sent_.any_accepted = sent_.any_accepted || (!dry_run && result);
  if (result) {
    sent_.failed.erase(object.meta.uid);
    sent_.forbidden.erase(object.meta.uid);
    if (!dry_run) tools_.log.info("deleted {}", object.Describe());
    if (!dry_run) Name(object.Describe());
    return CountResult(resource, dry_run ? "dry-run" : "deleted");
  }
  switch (result.error().failure) {
    case ApiFailure::kNotFound:
      return CountResult(resource, "not-found");
    case ApiFailure::kConflict:
      // Another object has that name. The next pass lists it.
      return CountResult(resource, "conflict");
    case ApiFailure::kForbidden:
      sent_.forbidden[object.meta.uid] = result.error().message;
      CountResult(resource, "forbidden");
      break;
    case ApiFailure::kNotServed:
    case ApiFailure::kInvalid:
      sent_.forbidden[object.meta.uid] = result.error().message;
      CountResult(resource, "failed");
      break;
    case ApiFailure::kNotSent:
      return;
    case ApiFailure::kUnauthorized:
    case ApiFailure::kThrottled:
    case ApiFailure::kUnreachable:
    case ApiFailure::kStopped:
    case ApiFailure::kServer:
    case ApiFailure::kUnexpected:
      CountResult(resource, "failed");
      if (sent_.failed.size() < kMostNamed) sent_.failed[object.meta.uid] = result.error().message;
      break;
  }
  warn_once_(result.error().message);
}

void Deletes::NoteUnanswered(const KubeObject& object) {
  const bool is_new = sent_.unanswered.insert(object.meta.uid).second;
  if (is_new) Name(object.Describe() + " (perhaps: its delete was not answered)");
}

void Deletes::Name(std::string deleted) {
  if (first_deleted_.size() < kMostNamed) first_deleted_.push_back(std::move(deleted));
}

void Deletes::CountResult(const std::string& resource, const char* result) {
  ++results_[result];
  tools_.metrics.Deleted(resource, result);
}

}  // namespace cluster_watcher
