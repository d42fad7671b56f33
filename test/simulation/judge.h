// The judge of the promises: reads the raw requests, the raw answers as the watchers got them, and
// the true state in the store, with parsing and rules of its own instead of the program's.
//
// Safety, checked at the instant at which a promise would be broken:
//  1. A cluster passes the point of no return (`phase=deleting` appears on a root) only after a
//     series of looks with consistent reads, each of which is definite evidence of abandonment:
//     --confirmations of them over the whole grace period, or the longer one of a surge, and a last
//     one after the condemnation.
//     The last look and the one that condemned also list other drivers. What the last look read
//     that could keep the cluster is at most 5 s old when the mark is sent, the owner was read
//     again after it, and the root was not written in between. At the last read of the owner the
//     driver was truly gone, and the cluster not in use. Deletes are begun
//     (`deletes-begun`) only after another such look, at most 5 s old. Who finds deletes begun, and
//     a member that was made since, deletes nothing without such a look of its own.
//  2. Nothing outside of the cluster is deleted, nor what was made behind the root's deletion, and
//     nothing is written by a dry run.
//  3. Each delete has the precondition of a UID that this watcher has read of this very object.
//  4. Each delete is sent by the watcher that the master root named at its last look, or by one
//     that had begun when the root was deleted or the marks were removed; or by one whose pod is
//     told to stop, if the root is being deleted and the driver is gone.
//  5. The master root is deleted last, unless the deadline has passed: then everything that is left
//     has been sent for deletion, and a kind that can't be listed has been named in an Event.
//
// Liveness, checked at the end of the history (history.cc):
//  6. A cluster that is abandoned when everything has settled, or of which a member was deleted, is
//     deleted in time.
//  7. A cluster that is in use and wasn't begun stays, without marks.
//
// And by the truth alone, whatever was read and marked (truth.h):
//  8. A cluster that is whole, and that something keeps, loses nothing.
//
// What the driver's side promises is judged in drivers_judge.h; where a watcher breaks it, here.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "test/simulation/drivers_judge.h"
#include "test/simulation/network.h"
#include "test/simulation/reading.h"
#include "test/simulation/truth.h"

namespace cluster_watcher::simulation {

class Judge final : public Listener {
 public:
  struct Counts {
    std::uint64_t sent = 0, condemned = 0, crossed = 0, spared = 0, taken_over = 0, deletes = 0,
                  by_hand = 0, roots_deleted = 0;
  };

  Judge(Timeline& timeline, World& world, Truth& truth, DriversJudge& drivers)
      : timeline_(timeline), world_(world), truth_(truth), drivers_(drivers) {}
  void SetExchanges(const Exchanges& exchanges) { exchanges_ = &exchanges; }

  void Sent(const Exchange& exchange) override;
  void Arriving(const Exchange& exchange) override;
  void Handled(const Exchange& exchange, int status) override;

  // The first broken promise, and how; empty if none.
  const std::string& broken() const { return broken_; }
  void Break(const std::string& promise, const std::string& how);

  // At the end: checks that people were told of what could not be listed.
  void CheckNames();

  // UIDs of master roots on which deletes were marked as begun, and of those that lost a member.
  const std::set<std::string>& BegunRoots() const { return begun_; }
  const std::set<std::string>& BereftRoots() const { return bereft_; }
  const Counts& counts() const { return counts_; }
  // Whether the marks are as a watcher wrote them last.
  bool AreTrueMarks(const SeenRoot& root) const;
  // This life has written that its cluster is abandoned since then.
  void NoteAbandoned(int life, const std::string& since);

 private:
  // A look with consistent reads, as far as its exchanges show.
  struct Look {
    MonotonicTime began;          // when it asked for the groups, by the watcher's clock
    MonotonicTime kept_sent;      // what could keep the cluster: the first read of it,
    MonotonicTime kept_answered;  // and the last answer
    std::size_t first = 0;        // the numbers of its exchanges
    std::size_t last = 0;
    bool asked_for_pod = false;
    bool pod = false;
    bool ns = false;
    std::optional<SeenRoot> root;
    std::set<std::string> members;  // kinds whose members were listed
    std::set<std::string> drivers;  // kinds that were searched for other drivers
    std::optional<std::string> in_use_by;
    bool drivers_while_in_use = false;  // by the true state
    bool owner_read = false;
    bool owner_gone = false;
    bool owner_gone_in_truth = false;
    std::string owner_uid;
    Duration grace{0};
    bool completed = false;
    bool owner_wants_more = false;  // than one replica
    MonotonicTime owner_sent;
    MonotonicTime owner_answered;
    MonotonicTime decided;                     // the same before other drivers were looked for
    std::map<std::string, std::string> holds;  // those in force, by what was read last
    std::set<std::string> other_kinds;         // lists of the owner's name that aren't of its kind
    std::set<std::string> failed;   // what could not be read, not even when it was asked again
    bool names_next_owner = false;  // some answer does, that of another rollout
    std::set<std::string> unauthorized;

    // Says why it isn't evidence that the cluster of this root is abandoned; empty if it is.
    std::string Doubt(const std::string& root_uid, const Plan& plan) const;
    // Whether the owner, which is there, has said that it has completed.
    bool SaysCompleted() const;
  };

  // What a life has seen, as far as it has been read.
  struct Record {
    std::size_t next = 0;  // the next exchange to read
    std::vector<Look> looks;
    bool open = false;      // the last look goes on
    std::string recorded;   // the owner's UID, once a look has read all kinds it may be of
    bool by_sight = false;  // `recorded` comes from the current look, in which
    std::string sighted;    // this UID was seen, and these
    std::set<std::string> name_failed;                    // could not be read, or
    std::set<std::string> name_read;                      // was
    std::vector<std::pair<std::size_t, SeenRoot>> roots;  // by number of the exchange
    bool in_passes = false;        // it has tried a mark, as only passes over half a cluster do
    bool has_begun = false;        // it has begun to delete, or written so; else, of
    std::size_t looks_judged = 0;  // so many looks, at a deletion that another had begun, the last
    std::string made_since;        // was followed by a list with this member, made since it began
  };

  // Reads what this life got before `exchange`. Looks and roots are in order.
  const Record& RecordBefore(const Exchange& exchange);
  std::span<const Look> LooksBefore(const Exchange& exchange);
  void Read(const Exchange& one, Record& record) const;
  static void ReadMembers(const Exchange& one, Record& record);
  bool IsOwnerList(const std::string& target) const;
  static void AddKeeping(const Exchange& exchange, Look& look);
  // `recorded` is the owner's UID that this life knows already; empty if it never saw one.
  void Add(const Exchange& exchange, const std::string& recorded, Look& look) const;
  void ReadOwner(const Exchange& exchange, const Json* list, const std::string& recorded,
                 Look& look) const;
  void ReadDrivers(const Exchange& exchange, const Json* list, Look& look) const;
  struct Marked {
    std::string phase;
    std::string by;
    std::string first_deletes;
    static Marked Of(const SeenRoot& root) {
      return {root.phase, root.condemned_by, root.first_deletes};
    }
    bool operator==(const Marked&) const = default;
  };

  void CheckCrossing(const Exchange& exchange, const Marked& before);
  bool IsInSurge(const Exchange& exchange) const;
  void CheckBegin(const Exchange& exchange);
  void CheckClaims(const std::string& root_uid);
  void CheckLastLook(const char* promise, const Exchange& exchange, std::span<const Look> looks,
                     Duration freshness);
  void CheckRight(const Exchange& exchange, const std::string& uid);
  void CheckUid(const Exchange& exchange, const std::string& uid);
  void CheckTarget(const Exchange& exchange);
  void CheckRootIsLast(const Exchange& exchange);
  bool IsMemberKind(std::string_view plural) const;
  void CheckWhatIsLeft(const Exchange& exchange);
  static bool IsLetGo(const small_kubernetes::Object& object);
  template <typename Is>
  const Exchange* LastOf(const Exchange& exchange, Is is_it) const;

  Timeline& timeline_;
  World& world_;
  Truth& truth_;
  DriversJudge& drivers_;
  const Exchanges* exchanges_ = nullptr;
  std::string broken_;
  std::set<std::string> begun_;
  std::set<std::string> bereft_;
  // UID of a master root, and the life that took its deletion over while it was half.
  std::set<std::pair<std::string, int>> taken_over_half_;
  std::map<std::string, MonotonicTime> crossed_at_;  // by the root's UID
  std::map<std::string, Marked> marked_;             // by watchers, last; by the root's UID
  int last_life_to_delete_root_ = 0;
  Counts counts_;
  std::map<int, Record> records_;            // by life
  std::map<int, WallTime> abandoned_since_;  // the same
  // By the root's delete: a kind that couldn't be listed then.
  std::vector<std::pair<std::size_t, const char*>> to_be_named_;

  std::map<std::size_t, std::string> root_of_;  // the deletion's master root, by number of a delete

  // The object of a write, just before the write; null if none.
  small_kubernetes::ObjectPtr before_;
  std::optional<SeenRoot> root_before_;
  std::string untrue_;  // how a delete breaks promise 8, should it take effect
};

}  // namespace cluster_watcher::simulation
