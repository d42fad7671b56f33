// Sends the deletes of one deletion, each for the UID that was listed, and counts what comes of
// them. Claims that a sweep collects and the pods of steps are deleted elsewhere.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/cluster_probe.h"
#include "watcher/deletion/pass_plan.h"
#include "watcher/deletion/tools.h"
#include "watcher/deletion/uid.h"
#include "watcher/protocol/marks.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class Deletes {
 public:
  // `may_send` is asked right before anything is sent, and sends nothing itself. `prepare` is asked
  // before each batch, and may read what that rests on again; where it says no, nothing more is
  // sent. `is_braked` is asked where an admission policy has refused one: does it refuse all, or
  // protect that object?
  Deletes(const Tools& tools, const DeletionMemory& memory, WarnOnce& warn_once,
          std::function<bool()> may_send, std::function<bool()> prepare,
          std::function<bool()> is_braked);

  // Sends one for each object, side by side. True: each was accepted, or refused permanently;
  // false: some must be sent again. An object that has changed since it was listed, in more than
  // its status and labels that say nothing about a cluster, is not deleted (a conflict): somebody
  // may have annotated it to be kept.
  bool Send(const std::vector<const KubeObject*>& objects, PropagationPolicy propagation);
  // The same with dryRun=All: nothing changes.
  void Rehearse(const std::vector<const KubeObject*>& objects, PropagationPolicy propagation);

  // Marks claims for `sweep`, and leaves those in `claims` that could not be marked. False: some
  // must be sent again.
  bool MarkForCollection(KubeObjects& claims, const Patience& patience);
  // Takes the marks of an earlier deletion off claims that stay. One that can't be is warned of.
  void TakeFromCollection(const KubeObjects& claims);

  const SentDeletes& sent() const { return sent_; }
  // Takes note of what came of a delete that was not answered.
  void WasCarriedOut(const Uid& unanswered);
  // How many came to which result, as the metrics have it: {"deleted": 4}.
  const std::map<std::string, int>& results() const { return results_; }
  // The words of an admission policy, since the last call, that refused a delete, as the brake
  // does; empty if none did. The guard's refusals don't count: they don't end by themselves.
  std::string TakePolicy() { return std::exchange(policy_, ""); }
  // The first objects whose delete was accepted, or may have been carried out: "service/x".
  const std::vector<std::string>& first_deleted() const { return first_deleted_; }

 private:
  bool SendAll(const std::vector<const KubeObject*>& objects, PropagationPolicy propagation,
               bool dry_run);
  // The results are in the order of `batch`.
  std::vector<ApiResult> SendBatch(const std::vector<const KubeObject*>& batch,
                                   PropagationPolicy propagation, bool dry_run);
  // Sends those again whose result is a conflict though only their status has changed. False: there
  // are none, or they may not be sent.
  bool SendConflictsAgain(const std::vector<const KubeObject*>& batch,
                          PropagationPolicy propagation, std::vector<ApiResult>& results);
  std::size_t Concurrency() const;
  ApiRequest CollectionRequest(const KubeObject& claim, const AnnotationChanges& marks) const;
  bool NotePolicy(const std::vector<ApiResult>& results);
  void Count(const KubeObject& object, const ApiResult& result, bool dry_run);
  void NoteUnanswered(const KubeObject& object);
  void Name(std::string deleted);
  void CountResult(const std::string& resource, const char* result);

  const Tools& tools_;
  const DeletionMemory& memory_;
  WarnOnce& warn_once_;
  const std::function<bool()> may_send_;
  const std::function<bool()> prepare_;
  const std::function<bool()> is_braked_;
  SentDeletes sent_;
  std::map<std::string, int> results_;
  std::string policy_;
  std::vector<std::string> first_deleted_;
};

}  // namespace cluster_watcher
