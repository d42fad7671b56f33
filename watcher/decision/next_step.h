// Decides what a verdict and the marks on a master root ask for next: pure functions of what was
// read, who acts and what time it is. What is sent to the API server for it stands elsewhere.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "probes/base/clock.h"
#include "watcher/decision/rules.h"
#include "watcher/observation/snapshot.h"

namespace cluster_watcher {

// --- Before this process has condemned the cluster.

// Marks of a condemnation or a deletion, and since when this process has seen them as they are.
struct MarksSeen {
  Phase phase;
  WatcherId by;
  std::optional<WallTime> deleting_since;
  MonotonicTime since;
  int looks = 1;  // that saw them
};
// nullopt: there are none.
std::optional<MarksSeen> SeeMarks(const std::optional<MarksSeen>& before, const Marks& marks,
                                  MonotonicTime now);

enum class OnMarks {
  kNone,            // there are none
  kAnotherCluster,  // the root is now labelled as of another cluster, whose deletion it is
  kWait,            // somebody else is at it
  kCallOff,         // nobody carries the condemnation through: take it off
  kResume,          // it is our own deletion
  kTakeOver,        // its watcher is gone, or takes too long: finish the deletion
};
struct MarksView {
  const Snapshot& look;  // has a root
  const WatcherId& me;
  const std::optional<MarksSeen>& seen;  // as SeeMarks has it
  MonotonicTime now;
  WallTime server_now;
  Duration delete_deadline;
};
// Whether the mark says that the deletion has lasted longer than that. It may be missing, be no
// time, or lie in the future.
bool IsPastDeadline(const Marks& marks, WallTime server_now, Duration delete_deadline);
// `is_gone`: the one who has condemned the cluster is. Asked only if DependsOnWhetherGone.
OnMarks NextOnMarks(const MarksView& view, bool is_gone);
// Whether it matters if the one who has condemned the cluster is gone.
bool DependsOnWhetherGone(const MarksView& view);

// Tells a command, which doesn't watch on, about marks that keep it waiting.
enum class OthersAtIt {
  kMaybe,    // a further look tells
  kDeletes,  // somebody else who is still there deletes the cluster
  kStays,    // its condemnation is neither carried through nor can it be called off
};
OthersAtIt SeeOthers(OnMarks on_marks, const std::optional<MarksSeen>& seen, MonotonicTime now);

// The one that carries a cluster's case from look to look.
enum class Caller {
  kWatcher,      // confirms its verdicts; so does a sweep
  kApplication,  // speaks of its own end, which needs no confirmation
  kPerson,       // wants the cluster to go, whatever rules and marks say
};
// How far abandoned verdicts have come.
enum class Confirmed {
  kKept,         // the verdict is another one
  kUnknown,      // so is this
  kNotYet,       // it must last, or our own pod is terminating
  kButForSurge,  // enough, if not many clusters are abandoned at once
  kYes,
};
// The mark abandoned-since, by which others count this cluster.
enum class SinceMark {
  kRight,
  kToWrite,  // or to take off
  kRefused,  // it can't be written
};
struct CaseView {
  Caller caller;
  bool dry_run;
  OnMarks on_marks;
  bool has_void_marks;  // that are another object's, or are written no longer
  SinceMark since;
  Confirmed confirmed;
};
// The step that a look asks for.
enum class CaseStep {
  kKeep,     // nothing
  kConfirm,  // further looks
  kWait,     // a look later: somebody else is at it
  kCallOff,  // as in OnMarks; so are the next two
  kResume,
  kTakeOver,
  kClear,      // take void marks off
  kMarkSince,  // write the mark abandoned-since, or take it off
  kSpare,      // go back to watching: the cluster is to be condemned, and can't be marked
  kCondemn,
  kRehearse,  // show what a deletion would do
};
CaseStep NextOnCase(const CaseView& view);
// Whether marks of a condemnation or a deletion alone have led to it.
bool IsOnMarks(CaseStep step);
// Whether it leads to deletes, if the rules agree once more.
bool LeadsToDeletes(CaseStep step);

// --- Behind it: each look until the point of no return is written.

struct Condemnation {
  WatcherId me;
  std::string owner_identity;  // of the owner for whose end it was condemned; empty: of the one
                               // that the marks name
  bool is_asked = false;       // by a person, whatever the rules say
  bool is_resumed = false;     // the deletion was begun before
};

struct Begin {};  // write the point of no return
struct Spare {    // take the marks off
  Refusal refusal;
  std::string detail;
};
struct Yield {};      // another watcher carries the deletion through
struct AwaitRead {};  // the verdict is unknown, and the marks of a deletion that was begun stay
using AfterCondemning = std::variant<Begin, Spare, Yield, AwaitRead>;

// `dry_run`: as the look has found the settings.
AfterCondemning NextAfterCondemning(const Condemnation& of, const Snapshot& look,
                                    const Decision& decision, bool dry_run);

}  // namespace cluster_watcher
