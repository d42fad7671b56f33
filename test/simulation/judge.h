// The judge of the promises: reads the raw requests, the raw answers as the watchers got them, and
// the true state in the store, with parsing and rules of its own instead of the program's.
//
// Safety, checked at the instant at which a promise would be broken:
//  1. A cluster passes the point of no return (`phase=deleting` is written on a root) only after a
//     series of looks with consistent reads, each of which is definite evidence of abandonment:
//     --confirmations of them over the whole grace period, or the longer one of a surge, and a last
//     one after the condemnation. Whoever resumes a deletion has such a last look after it found
//     the marks; whoever takes it over, 5 s after it wrote that.
//     The last look and the one that condemned also list other drivers. What the last look read
//     that could keep the cluster is at most 5 s old when the mark is sent, the owner was read
//     again after it, and the root was not written in between. At the last read of the owner the
//     driver was truly gone, and the cluster not in use. Until a process knows that a delete of its
//     own was accepted, its last look is as fresh at each delete.
//  2. Nothing outside of the cluster is deleted, nor what was made when the root was gone, and
//     nothing with Orphan. Nothing is written by a dry run, nothing gets an ownerReference, only
//     claims lose some, and none is marked for collection before something is deleted.
//  3. Each delete has the precondition of a UID that this watcher has read of this very object.
//  4. Each delete is sent at most 5 s after a read that shows the master root under its UID, as
//     being deleted by this watcher, and not to be kept. A deletion is taken over only from a pod
//     that has ended, or past the deadline.
//  5. The master root is deleted last, unless the deadline has passed: then everything that is left
//     has been sent for deletion, and a kind that can't be listed has been named in an Event.
//     "Deleted" is said when the cluster's pods are gone.
//
// Liveness, checked at the end of the history (history.cc):
//  6. A cluster that is abandoned when everything has settled is deleted in time.
//  7. A cluster that is in use and wasn't begun stays, without marks; where a deletion was begun,
//  an
//     Event says that it was spared.
//
// And by the truth alone, whatever was read and marked (truth.h):
//  8. A cluster that something keeps loses nothing.
//
// What the driver's side promises is judged in drivers_judge.h; where a watcher breaks it, here.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "test/simulation/drivers_judge.h"
#include "test/simulation/network.h"
#include "test/simulation/seen_looks.h"
#include "test/simulation/truth.h"

namespace cluster_watcher::simulation {

class Judge final : public Listener {
 public:
  struct Counts {
    std::uint64_t sent = 0, condemned = 0, crossed = 0, resumed = 0, spared = 0, taken_over = 0,
                  deletes = 0, roots_deleted = 0, said_deleted = 0;
  };

  Judge(Timeline& timeline, World& world, Truth& truth, DriversJudge& drivers)
      : timeline_(timeline), world_(world), truth_(truth), drivers_(drivers), seen_(world) {}
  void SetExchanges(const Exchanges& exchanges) {
    exchanges_ = &exchanges;
    seen_.SetExchanges(exchanges);
  }

  void Sent(const Exchange& exchange) override;
  void Arriving(const Exchange& exchange) override;
  void Handled(const Exchange& exchange, int status) override;

  // The first broken promise, and how; empty if none.
  const std::string& broken() const { return broken_; }
  void Break(const std::string& promise, const std::string& how);

  // At the end: checks that people were told of what could not be listed, and what was spared.
  void CheckEvents();

  // Whether a deletion has to see to it that the object goes.
  bool IsToGo(const small_kubernetes::Object& object) const;
  // UIDs of the master roots whose clusters have lost something to a watcher.
  const std::set<std::string>& BereftRoots() const { return bereft_; }
  const Counts& counts() const { return counts_; }
  // This life has written that its cluster is abandoned since then.
  void NoteAbandoned(int life, const std::string& since);

 private:
  struct Marked {
    std::string phase;
    std::string by;
    static Marked Of(const SeenRoot& root) { return {root.phase, root.condemned_by}; }
    bool operator==(const Marked&) const = default;
  };

  void CheckWrite(const Exchange& exchange);
  void CheckMarks(const Exchange& exchange, const SeenRoot& after);
  void CheckSeries(const Exchange& exchange);
  void CheckResumption(const Exchange& exchange);
  void CheckTakeOver(const Exchange& exchange);
  bool IsInSurge(const Exchange& exchange) const;
  void CheckClaims(const std::string& root_uid);
  void CheckLastLook(const char* promise, const Exchange& exchange, const std::string& root_uid);
  void CheckRight(const Exchange& exchange);
  void CheckUid(const Exchange& exchange, const std::string& uid);
  void CheckTarget(const Exchange& exchange);
  void CheckRootIsLast(const Exchange& exchange);
  bool IsMemberKind(std::string_view plural) const;
  void CheckWhatIsLeft(const Exchange& exchange);
  bool MayHoldClaims(const small_kubernetes::Object& object) const;
  bool IsAiling(std::string_view plural) const;
  void CheckSaidDeleted(const Exchange& exchange);
  // The store's version when this was sent.
  std::uint64_t VersionAsSent(const Exchange& exchange) const;
  template <typename Is>
  const Exchange* LastOf(const Exchange& exchange, Is is_it) const;

  Timeline& timeline_;
  World& world_;
  Truth& truth_;
  DriversJudge& drivers_;
  SeenLooks seen_;
  const Exchanges* exchanges_ = nullptr;
  std::string broken_;
  std::set<std::string> bereft_;
  std::map<std::string, MonotonicTime> crossed_at_;  // by the root's UID, last
  std::map<std::string, Marked> marked_;             // by watchers, last; by the root's UID
  std::map<std::string, int> begun_by_;  // the life that wrote so last; by the root's UID
  // A master root's UID, and the life that has taken its deletion over; when.
  std::map<std::pair<std::string, int>, MonotonicTime> taken_over_at_;
  int last_life_to_delete_root_ = 0;
  Counts counts_;
  std::map<int, WallTime> abandoned_since_;  // by life
  struct ToBeNamed {
    std::size_t number;  // of the root's delete
    std::string what;    // a kind, or a kind and a name
    const char* why;     // as an Event has to say
  };
  std::vector<ToBeNamed> to_be_named_;
  // The write that took the marks of a deletion off that this life had found.
  std::vector<std::size_t> to_be_told_;
  std::map<std::size_t, std::string> root_of_;  // the deletion's master root, by number of a delete

  // The object of a write, just before the write; null if none.
  small_kubernetes::ObjectPtr before_;
  std::optional<SeenRoot> root_before_;
  std::string untrue_;  // how a delete breaks promise 8, should it take effect
};

}  // namespace cluster_watcher::simulation
