// Deletes a condemned cluster: its members side by side, each by the UID that was listed, until
// nothing of it is left; then the master root. Errors are retried.
#pragma once

#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <spdlog/logger.h>

#include "metrics/watcher_metrics.h"
#include "probes/clock.h"
#include "watcher/claims.h"
#include "watcher/members.h"
#include "watcher/survey.h"

namespace cluster_watcher {

// Older evidence is not acted on.
inline constexpr Duration kFreshEvidence{5'000};

// The kinds that members can be.
struct MemberKinds {
  std::vector<ResourceType> types;      // as they are served
  std::vector<std::string> not_served;  // of those that --resources names: "widgets.example.com"
  std::vector<ApiError> errors;         // of those of which it can't be found out: left out
};
MemberKinds FindMemberKinds(const Settings& settings, Discovery& discovery);

class Deletion {
 public:
  enum class Outcome {
    kGone,       // no member is left, or the deadline has passed
    kCalledOff,  // before the first delete our marks were taken off, or the root by another's hand
    kStale,      // the first delete could not be sent in time; the marks stay: look again
    kRootReplaced,  // the master root's name has another UID: somebody's new cluster
    kOvertaken,     // the marks name another, who finishes it
  };

  // `condemned` is the look that showed the cluster abandoned, with the marks as they were written
  // since: they name us. `turn` is called again and again while it works.
  Deletion(Survey& survey, Clock& clock, WatcherMetrics& metrics, spdlog::logger& log,
           const Snapshot& condemned, std::function<void()> turn);

  // Deletes all members, wave by wave, until `deadline`; then what is left is sent for deletion
  // once. Can't be stopped. Source: k8s.io/apimachinery `metav1.DeleteOptions`.
  Outcome DeleteMembers(MonotonicTime deadline);

  // After the members: what the master pod mounts is left to the garbage collector, and the master
  // root deleted. Ends only when that was accepted, or when another object has its name.
  void DeleteRoot();

  // Where somebody else takes the master root down: deletes the members that are listed now, until
  // they are gone, the deadline, or `may_go_on` (asked before each pass) says no.
  void FinishMembers(MonotonicTime deadline, const std::function<bool()>& may_go_on);

  // One pass of deletes with dryRun=All: nothing changes.
  void Rehearse();

  std::size_t members_found() const { return memory_.listed.size(); }
  const std::vector<std::string>& left() const { return left_; }        // "service/x: kept"
  const std::vector<std::string>& overdue() const { return overdue_; }  // of those, at the deadline

 private:
  enum class RootState { kOurs, kGone, kReplaced, kUnknown };

  RootState ReadRoot();
  bool MarkDeletesBegun();
  bool NamesUs(const Marks& marks) const;
  bool IsOvertaken() const;  // somebody else finishes it
  void RestoreMarks();
  struct Listed {
    std::vector<KubeObject> objects;
    bool complete = true;  // false: a kind could not be listed this time
  };
  Listed ListObjects();
  void SaySkipped(const std::string& plural, const char* result, std::string why);
  void ShowMembers(const MemberPass& pass);
  enum class PassResult { kNoneLeft, kSomeLeft, kIncomplete };  // incomplete: not all was listed
  PassResult DeletePass(RootState root, bool past_deadline);
  bool IsDue(const KubeObject& object, bool past_deadline) const;
  void NameLeft(const MemberPass& pass);
  void Collect(const std::vector<KubeObject>& claims);
  void SendDeletes(const std::vector<const KubeObject*>& objects, PropagationPolicy propagation,
                   bool dry_run);
  void CountDelete(const KubeObject& object, const ApiResult& result, bool dry_run);
  bool ClaimsAreSettled(const KubeObject& object);
  void HandOver();
  PropagationPolicy Propagation() const;
  void Pause(MonotonicTime until);
  void NoteError(const ApiError& error);

  Survey& survey_;
  Clock& clock_;
  WatcherMetrics& metrics_;
  spdlog::logger& log_;
  const KubeObject root_;
  const ClusterId cluster_;
  const Marks marks_;  // as they are written
  const MonotonicTime seen_abandoned_;
  std::function<void()> turn_;
  Claims claims_;
  ObjectMeta root_now_;  // as last read under its UID
  DeletionMemory memory_;
  bool begun_;
  std::vector<KubeObject> mounted_;
  std::vector<std::string> left_;
  std::vector<std::string> overdue_;
  std::set<std::string> skipped_;  // kinds of which it was said
  std::set<std::string> said_;     // errors are logged once
  std::size_t most_readable_ = 0;  // kinds that could be listed in one pass
  bool list_anew_ = false;         // the last listing had gaps: what is served is asked again
  std::size_t remaining_ = 0;      // members, by the last pass
  std::minstd_rand jitter_;
  Duration backoff_;
};

}  // namespace cluster_watcher
