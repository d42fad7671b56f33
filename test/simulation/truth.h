// The judge of truth: reads nothing but the stored objects, at each of their changes, and asks
// neither what a watcher has read nor which marks there are. It knows what keeps the cluster, and
// since when without a break.
//
// No object of a cluster that is whole is deleted by a watcher while something has kept the cluster
// for longer than the protocol can miss: evidence is fresh for 5 s, from when it was asked for
// until the delete is sent, and the delete itself takes its time. What a deletion has begun by a
// delete of its own it may finish. Claims that the settings preserve, and what was to be kept from
// the beginning, survive all of it.
#pragma once

#include <map>
#include <set>
#include <string>

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
  // Whether an object was made when this master root was gone already, or going and no longer
  // written.
  bool IsMadeAfter(const std::string& root_uid, const std::string& uid) const;
  // Whether the marks say that deletes were begun, and name as the first something that was there
  // and is gone. If others have deleted that, nobody can tell.
  bool SeemsHalf() const;
  // To be called when it has taken effect: the cluster is half.
  void NoteDeleted(const std::string& root_uid) { half_.insert(root_uid); }

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

  const Timeline& timeline_;
  World& world_;
  std::uint64_t version_ = 0;
  std::uint64_t survivors_version_ = 0;
  std::map<std::string, std::string> survivors_;  // UIDs, and names
  std::string lost_;
  std::string root_uid_;
  // Of the root, or of the last one that there was.
  bool names_other_ = false;
  bool says_completed_ = false;  // the driver that is recorded there
  // By UID, as versions of the store: until when master roots were there, and since when
  // ConfigMaps, as people make them.
  std::map<std::string, std::uint64_t> roots_ended_;
  std::map<std::string, std::uint64_t> made_;
  std::set<std::string> drivers_;  // UIDs of all that had the driver's name
  std::map<std::string, MonotonicTime> keepers_;
  std::set<std::string> half_;  // UIDs of the master roots of which something was deleted
};

}  // namespace cluster_watcher::simulation
