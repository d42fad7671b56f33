// The judge of truth: reads nothing but the stored objects, at each of their changes, and asks
// neither what a watcher has read nor which marks there are. It knows what keeps the cluster, and
// since when without a break.
//
// Nothing is deleted by a watcher while something has kept the cluster for longer than the protocol
// can miss: evidence is fresh for 5 s, from when it was asked for until the delete is sent. A
// process of which a delete was accepted may go on as long as the marks name it. Claims that the
// settings preserve, and what was to be kept from the beginning, survive all of it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "test/simulation/exchange.h"
#include "test/simulation/world.h"

namespace cluster_watcher::simulation {

class Truth {
 public:
  Truth(const Timeline& timeline, World& world) : timeline_(timeline), world_(world) {}

  // Notes what has changed. To be called after each event.
  void Look();

  // What had to survive and went; empty: nothing.
  const std::string& lost() const { return lost_; }

  // What keeps the cluster at this moment, in words, and since when.
  const std::map<std::string, MonotonicTime>& keepers() const { return keepers_; }

  // To be called before a delete takes effect that a watcher sent for the deletion of this master
  // root. Returns how it breaks the promise; empty: it doesn't.
  std::string WhyNotDelete(const Exchange& exchange, const std::string& root_uid);
  // Whether an object was made when this master root was gone already.
  bool IsMadeAfter(const std::string& root_uid, const std::string& uid) const;
  // To be called when it has taken effect.
  void NoteDeleted(const Exchange& exchange, const std::string& root_uid) {
    begun_.emplace(root_uid, exchange.by->life);
  }
  // Whether this process has deleted something of the cluster, and the marks on its root have named
  // it until 5 s before the exchange.
  bool HasBegun(const Exchange& exchange, const std::string& root_uid) const;
  // Whether this process has deleted anything.
  bool HasDeleted(const Exchange& exchange) const;
  // Whether an object can't go without something that must survive: it owns that, or makes claims
  // that go with it.
  bool HoldsSurvivor(const small_kubernetes::Object& object) const;

 private:
  using Keepers = std::map<std::string, MonotonicTime>;

  void Note(Keepers& now, const std::string& keeper) const;
  void NoteDrivers(Keepers& now);
  void NoteDriver(Keepers& now);
  void NoteNextDriver(Keepers& now);
  void NoteOtherOwner(Keepers& now);
  void NoteHolds(Keepers& now);
  void NoteRoot();
  void NoteSurvivors();
  bool IsBlindAtDeadline() const;

  const Timeline& timeline_;
  World& world_;
  std::uint64_t version_ = 0;
  std::uint64_t survivors_version_ = 0;
  std::map<std::string, std::string> survivors_;  // UIDs, and names
  std::string lost_;
  std::string root_uid_;
  // Of the root, or of the last one that there was.
  bool names_other_ = false;
  // By UID, as versions of the store: until when master roots were there, and since when
  // ConfigMaps, as people make them.
  std::map<std::string, std::uint64_t> roots_ended_;
  std::map<std::string, std::uint64_t> made_;
  std::set<std::string> drivers_;  // UIDs of all that had the driver's name
  std::map<std::string, MonotonicTime> keepers_;
  // A master root's UID, and the process that has deleted something of its cluster.
  std::set<std::pair<std::string, int>> begun_;
  // A master root's UID, and the watcher that its marks name as the one that deletes; until when.
  using Named = std::pair<std::string, std::string>;
  std::set<Named> named_;
  std::map<Named, MonotonicTime> named_until_;
  std::optional<MonotonicTime> deleting_since_;  // when marks of any deletion were first there
};

}  // namespace cluster_watcher::simulation
