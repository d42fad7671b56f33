// Deletes a condemned cluster: its members side by side, each by the UID that was listed, until
// nothing of it is left; then the master root. Errors are retried; it ends only when the master
// root's deletion was accepted, or when another object has the master root's name.
#pragma once

#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <spdlog/logger.h>

#include "metrics/watcher_metrics.h"
#include "probes/clock.h"
#include "watcher/members.h"
#include "watcher/survey.h"

namespace cluster_watcher {

// Older evidence is not acted on.
inline constexpr Duration kFreshEvidence{5'000};

// The kinds that members can be, as they are served. Those of which that can't be found out are
// left out, and why is added to `errors`.
std::vector<ResourceType> MemberTypes(const Settings& settings, Discovery& discovery,
                                      std::vector<ApiError>& errors);

class Deletion {
 public:
  enum class Outcome {
    kDone,
    kCalledOff,  // before the first delete our marks were taken off, or the root by another's hand
    kStale,      // the first delete could not be sent in time; the marks stay: look again
    kRootReplaced,  // the master root's name has another UID: somebody's new cluster
  };

  // `condemned` is the look that showed the cluster abandoned; its root's marks name `me`. `turn`
  // is called again and again while it works.
  Deletion(Survey& survey, Clock& clock, WatcherMetrics& metrics, spdlog::logger& log,
           const Snapshot& condemned, std::string me, std::function<void()> turn);

  // Deletes until `deadline`; then what is left is sent for deletion once and the master root goes
  // all the same. Can't be stopped. Source: k8s.io/apimachinery `metav1.DeleteOptions`.
  Outcome Run(MonotonicTime deadline);

  // Where somebody else takes the master root down: deletes the members that are listed now, until
  // they are gone, the deadline, or `may_go_on` (asked before each pass) says no.
  void FinishMembers(MonotonicTime deadline, const std::function<bool()>& may_go_on);

  // One pass of deletes with dryRun=All: nothing changes.
  void Rehearse();

  std::size_t members_found() const { return memory_.listed.size(); }
  const std::vector<std::string>& left() const { return left_; }  // "service/x: kept"

 private:
  enum class RootState { kOurs, kGone, kReplaced, kUnknown };

  RootState ReadRoot();
  bool MarkDeletesBegun();
  bool IsStillOurs() const;
  struct Listed {
    std::vector<KubeObject> objects;
    bool complete = true;  // false: a kind could not be listed this time
  };
  Listed ListObjects();
  void ShowMembers(const MemberPass& pass);
  enum class PassResult { kNoneLeft, kSomeLeft, kIncomplete };  // incomplete: not all was listed
  PassResult DeletePass(RootState root, bool past_deadline);
  std::vector<KubeObject> DueIn(const MemberPass& pass, bool past_deadline) const;
  void NameLeft(const MemberPass& pass);
  void SendDeletes(std::vector<KubeObject> objects, bool dry_run);
  void CountDelete(const KubeObject& object, const ApiResult& result, bool dry_run);
  bool ClaimsStay(const KubeObject& object);
  void HandOver(const std::vector<KubeObject>& mounted);
  void DeleteRoot();
  PropagationPolicy Propagation() const;
  void Pause(MonotonicTime until);
  void NoteError(const ApiError& error);

  Survey& survey_;
  Clock& clock_;
  WatcherMetrics& metrics_;
  spdlog::logger& log_;
  const KubeObject root_;
  const ClusterId cluster_;
  const std::string me_;
  std::function<void()> turn_;
  ObjectMeta root_now_;  // as last read under its UID
  DeletionMemory memory_;
  bool begun_;
  std::vector<KubeObject> mounted_;
  std::vector<std::string> left_;
  std::set<std::string> said_;     // errors are logged once
  std::size_t most_readable_ = 0;  // kinds that could be listed in one pass
  bool list_anew_ = false;         // the last listing had gaps: what is served is asked again
  std::size_t remaining_ = 0;      // members, by the last pass
  std::minstd_rand jitter_;
  Duration backoff_;
};

}  // namespace cluster_watcher
