// Deletes a condemned cluster: its members side by side, each by the UID that was listed, until
// nothing of it is left; then the master root. Errors are retried.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <spdlog/logger.h>

#include "metrics/watcher_metrics.h"
#include "probes/base/clock.h"
#include "watcher/deletion/claims.h"
#include "watcher/deletion/member_listing.h"
#include "watcher/deletion/members.h"
#include "watcher/observation/survey.h"
#include "watcher/reporting/deletion_report.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

// The point of no return is not written on older evidence, and the first delete isn't sent on
// evidence twice as old.
inline constexpr Duration kFreshEvidence{5'000};

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
  // since: they name us. `since`: when the deletion began, for who watches how long it takes.
  // `turn` is called again and again while it works.
  Deletion(Survey& survey, Clock& clock, WatcherMetrics& metrics, spdlog::logger& log,
           const Snapshot& condemned, MonotonicTime since, std::function<void()> turn);

  // Deletes all members, wave by wave, until `deadline`; then what is left is sent for deletion at
  // once. Can't be stopped. May be called again, for what has appeared since.
  // Source: k8s.io/apimachinery `metav1.DeleteOptions`.
  Outcome DeleteMembers(MonotonicTime deadline);

  // After the members: what the master pod mounts is left to the garbage collector, and the master
  // root deleted. Ends only when that was accepted, or when it is another's, or another's to do.
  enum class RootOutcome { kDeleted, kKept, kReplaced, kOvertaken };
  RootOutcome DeleteRoot();

  // Where somebody else takes the master root down: deletes the members that are listed now, until
  // the deadline, or until `may_go_on` (asked before each further pass) says no. True: all of them
  // are gone.
  bool FinishMembers(MonotonicTime deadline, const std::function<bool()>& may_go_on);

  // One pass of deletes with dryRun=All: nothing changes. What would be deleted: "service/x".
  std::vector<std::string> Rehearse();

  // What was done so far; without the master root and the time it took.
  DeletionReport Report() const;
  const std::vector<std::string>& overdue() const { return overdue_; }  // left at the deadline

 private:
  enum class RootState { kOurs, kGone, kReplaced, kUnknown };

  RootState ReadRoot();
  bool NamesUs(const Marks& marks) const;
  // nullopt: it has begun, or may be tried again.
  std::optional<Outcome> Begin(RootState root, bool may_begin);
  // Under the resourceVersion that was read last.
  bool WriteMarks(AnnotationChanges changes, Duration timeout);
  bool IsOvertaken() const;  // somebody else finishes it
  void RestoreMarks();
  // Whether what is listed now is the cluster's, beside what was listed before.
  bool CountsAsListed(RootState root, bool complete);
  struct Pass {
    std::size_t remaining = 0;
    bool all_sent = true;               // false: something that is due could not be asked for
    std::vector<std::string> not_gone;  // "service/x"
  };
  Pass DeletePass(std::vector<KubeObject> objects, bool counts_as_listed, bool past_deadline);
  bool IsDue(const KubeObject& object, bool past_deadline) const;
  void NameOverdue(const Pass& pass);
  bool Collect(const std::vector<KubeObject>& claims);
  bool SendDeletes(const std::vector<const KubeObject*>& objects, PropagationPolicy propagation,
                   bool dry_run);
  void CountDelete(const KubeObject& object, const ApiResult& result, bool dry_run);
  void CountResult(const std::string& resource, const char* result);
  bool ClaimsAreSettled(const KubeObject& object);
  bool HandOver(KubeObject object);
  PropagationPolicy Propagation() const;
  void NoteProgress(std::size_t remaining);
  void Pause(MonotonicTime until);

  Survey& survey_;
  Clock& clock_;
  WatcherMetrics& metrics_;
  spdlog::logger& log_;
  WarnOnce warn_once_;
  const KubeObject root_;
  const ClusterId cluster_;
  const Marks marks_;  // as they are written
  const MonotonicTime seen_abandoned_;
  const MonotonicTime since_;
  std::function<void()> turn_;
  MemberListing listing_;
  ObjectMeta root_now_;  // as last read under its UID
  DeletionMemory memory_;
  Claims claims_;
  bool begun_;
  bool resumed_;  // what was listed by who began it isn't known yet
  std::vector<KubeObject> mounted_;
  std::vector<std::string> left_;
  std::vector<std::string> overdue_;
  std::map<std::string, int> results_;  // of deletes
  std::size_t remaining_ = 0;           // members, by the last pass
  MonotonicTime progressed_;
  std::minstd_rand jitter_;
  Duration backoff_;
};

}  // namespace cluster_watcher
