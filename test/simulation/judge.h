// The judge of the promises: reads the raw requests, the raw answers as the watchers got them, and
// the truth in the store. It shares no code with the program.
//
// Safety, each checked at the instant at which it would be broken:
//  1. A cluster passes the point of no return (`phase=deleting` comes into force on a root that had
//     none) only after sure looks, one after the other, that were each definite evidence of
//     abandonment: --confirmations of them over the whole grace period, and one last look behind
//     the condemnation; the last two with the lists of other drivers. The last look is no older
//     than 5 s when its consequence is sent, and the root was not written in between. When the
//     owner was read for the last time the driver was gone in truth, and the cluster not in use.
//     Deletes are begun (`deletes-begun`) only after such a last look, 10 s old at most.
//  2. No delete goes outside of the cluster.
//  3. Each delete has the precondition of a UID that this watcher has read of this very object.
//  4. Each delete is sent by the watcher that the master root named when it last looked, or one
//     that had begun when the root went or the marks were taken off; or when its pod is told to
//     stop, where the root is going and the driver is gone.
//  5. The master root goes last, unless the deadline has passed.
//
// Liveness is for who knows the end of the history (history.cc):
//  6. A cluster that is abandoned when everything has come to rest, or of which a member was
//     deleted, goes in time.
//  7. One that is in use and wasn't begun stays, and no marks with it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "test/simulation/network.h"
#include "test/simulation/reading.h"

namespace cluster_watcher::simulation {

class Judge final : public Listener {
 public:
  struct Counts {
    std::uint64_t sent = 0, condemned = 0, crossed = 0, spared = 0, taken_over = 0, deletes = 0,
                  by_hand = 0, roots_deleted = 0;
  };

  Judge(Timeline& timeline, World& world) : timeline_(timeline), world_(world) {}
  void SetExchanges(const Exchanges& exchanges) { exchanges_ = &exchanges; }

  void Sent(const Exchange& exchange) override;
  void Arriving(const Exchange& exchange) override;
  void Handled(const Exchange& exchange, int status) override;

  // Which promise was broken first, and how; empty: none.
  const std::string& broken() const { return broken_; }
  void Break(const std::string& promise, const std::string& how);

  // UIDs of master roots whose members' deletion was marked as begun, and of those of which a
  // member was deleted.
  const std::set<std::string>& BegunRoots() const { return begun_; }
  const std::set<std::string>& BereftRoots() const { return bereft_; }
  const Counts& counts() const { return counts_; }

 private:
  // A sure look, as far as its exchanges tell.
  struct Look {
    MonotonicTime began;
    std::size_t first = 0;  // the numbers of its exchanges
    std::size_t last = 0;
    bool asked_for_pod = false;
    bool pod = false;
    bool ns = false;
    std::optional<SeenRoot> root;
    std::set<std::string> members;  // kinds whose members were listed
    std::set<std::string> drivers;  // kinds of which other drivers were looked for
    std::optional<std::string> in_use_by;
    bool drivers_while_in_use = false;  // in truth
    bool owner_read = false;
    bool owner_gone = false;
    bool owner_gone_in_truth = false;
    std::string owner_uid;
    Duration grace{0};
    MonotonicTime owner_sent;
    MonotonicTime owner_answered;
    std::string hold;    // one that is in force
    std::string failed;  // what could not be read
    std::set<std::string> unauthorized;

    // Why it isn't evidence that the cluster of this root is abandoned; empty: it is.
    std::string Doubt(const std::string& root_uid, const Plan& plan) const;
  };

  // What one life has seen, as far as it has been read.
  struct Record {
    std::size_t next = 0;  // the exchange to go on with
    std::vector<Look> looks;
    bool open = false;      // the last look goes on
    std::string recorded;   // the owner's UID, by a look that read each kind that it may be of
    bool by_sight = false;  // so said the look that goes on, in which
    std::string sighted;    // it was seen, and these
    std::set<std::string> name_failed;                    // could not be read
    std::vector<std::pair<std::size_t, SeenRoot>> roots;  // by number of the exchange
  };

  // Reads what this life has got before `exchange`; the looks and roots in their order.
  const Record& RecordBefore(const Exchange& exchange);
  std::span<const Look> LooksBefore(const Exchange& exchange);
  void Read(const Exchange& one, Record& record) const;
  // `recorded`: the owner's UID as this life knows it from before; empty: it never saw one.
  void Add(const Exchange& exchange, const std::string& recorded, Look& look) const;
  void ReadOwner(const Exchange& exchange, const Json* list, const std::string& recorded,
                 Look& look) const;
  void ReadDrivers(const Exchange& exchange, const Json* list, Look& look) const;
  void CheckCrossing(const Exchange& exchange);
  void CheckBegin(const Exchange& exchange);
  void CheckLastLook(const char* promise, const Exchange& exchange, std::span<const Look> looks,
                     Duration freshness);
  void CheckRight(const Exchange& exchange, const std::string& uid);
  void CheckUid(const Exchange& exchange, const std::string& uid);
  void CheckTarget(const Exchange& exchange);
  void CheckRootIsLast(const Exchange& exchange);

  Timeline& timeline_;
  World& world_;
  const Exchanges* exchanges_ = nullptr;
  std::string broken_;
  std::set<std::string> begun_;
  std::set<std::string> bereft_;
  std::map<std::string, MonotonicTime> crossed_at_;  // by the root's UID
  int last_life_to_delete_root_ = 0;
  Counts counts_;
  std::map<int, Record> records_;  // by life

  // The object that a write is about, right before it; null: none.
  small_kubernetes::ObjectPtr before_;
  std::optional<SeenRoot> root_before_;
};

}  // namespace cluster_watcher::simulation
