// The whole of a small world at one moment, as bytes: a cluster of a master root, a worker, a
// ConfigMap that the master mounts and one that is to be kept; a driver; two watchers and a
// command. Time is counted in ticks of 3 s.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "probes/base/clock.h"

namespace cluster_watcher::explore {

// How long ago something was: ticks, up to kOld (at least 6 s, when evidence is old); kVeryOld is
// more than a minute, past each deadline. Each is counted no further than somebody asks for it.
using Age = std::uint8_t;
inline constexpr Age kOld = 2, kVeryOld = 3;
Duration Length(Age age);

enum class Presence : std::uint8_t { kGone, kThere, kTerminating };

enum class Driver : std::uint8_t {
  kActive,
  kPodRuns,  // its Deployment is gone, and a pod of it runs on
  kAbsent,
};

// 0: nobody; else the process with this number less one.
using Who = std::uint8_t;

struct Thing {
  Presence presence = Presence::kThere;
  std::uint8_t generation = 0;  // of its UID
};

struct World {
  Driver driver = Driver::kActive;
  std::uint8_t driver_generation = 0;
  Age used_for = kOld;  // since when the driver runs or something holds; reset where nothing does
  bool hold = false;
  bool keep = false;  // on the master root
  Age kept_for = 0;

  Thing root, worker, config, kept;
  bool is_kept_owned = false;  // `kept` belongs to the worker, which would take it along
  bool worker_finalizer = false;
  Age root_gone_for = 0;

  // The marks on the root.
  std::uint8_t phase = 0;  // as Phase: watching, condemned, deleting
  Who by = 0;
  Age deleting_for = 0;
  std::uint8_t deleting_serial = 0;  // tells one time of the mark from another, modulo 4
  std::uint8_t recorded = 0;         // the generation of the owner that they name

  bool maps_fail = false;    // ConfigMaps can't be listed
  bool api_fails = false;    // nothing can be read or written
  bool owner_fails = false;  // the driver's Deployment can't be read
  bool is_begun = false;     // something of the cluster was deleted by a watcher
  std::uint8_t events = 0;   // that may still happen
};

enum class Stage : std::uint8_t {
  kDown,       // the process doesn't run
  kIdle,       // watches
  kLooked,     // has looked, and is about to act
  kCondemned,  // its condemnation is written: looks again
  kConfirmed,  // has looked again, and is about to write the point of no return
  kWaits,      // has taken over: what the other has sent must have arrived
  kBegun,      // the point of no return is written: lists
  kListed,     // has listed: reads the root
  kSends,      // has read it: sends
  kLast,       // the members are gone: sends what goes right before the root
  kRoot,       // and the root
  kAwaits,     // its delete was accepted
  kDone,
};

// Bits of the objects that a list shows, or that a process has deleted.
enum Object : std::uint8_t { kWorker0 = 1, kWorker1 = 2, kConfig = 4, kKept = 8, kRootObject = 16 };

struct Process {
  Stage stage = Stage::kIdle;
  std::uint8_t seen = 0;  // the generation of the owner that it knows

  // What its last look read.
  std::uint8_t reason = 0;  // as Reason
  std::uint8_t read_generation = 0;
  std::uint8_t phase = 0;
  Who by = 0;
  Age deleting_for = 0;
  std::uint8_t deleting_serial = 0;
  std::uint8_t recorded = 0;
  bool has_root = false;
  bool is_root_as_read = false;  // nothing was written on it since
  Age look_age = 0;

  // Its confirmations.
  std::uint8_t count = 0;
  std::uint8_t count_generation = 0;
  Age span = 0;  // from the first to the last, or to now while it watches

  // The marks of others, as it has seen them.
  std::uint8_t seen_phase = 0;
  Who seen_by = 0;
  std::uint8_t seen_serial = 0;
  Age seen_age = 0;

  // Its deletion.
  bool is_resumed = false;
  std::uint8_t condemned_generation = 0;
  Age began_age = 0;
  std::uint8_t accepted = 0;  // objects
  std::uint8_t known = 0;     // members that a list has shown
  bool has_view = false;
  bool is_view_old = false;
  std::uint8_t view = 0;  // objects
  bool worker_terminates = false;
  bool is_complete = false;
  bool holds_back = false;  // an earlier list showed what is to be kept
  std::uint8_t blind = 0;   // up to 2
  bool is_root_read = false;
  Age root_age = 0;
  bool goes_on = false;          // past its deadline, on an old look
  bool is_root_fresh = false;    // nothing was written on it since that
  std::uint8_t unsent = 0;       // objects of the pass that are still to be sent
  bool takes_marks_off = false;  // it has spared the cluster, and its marks are still there

  // Whether looks are repeated: it hasn't deleted the root.
  bool LooksAgain() const { return (accepted & kRootObject) == 0; }
};

inline constexpr int kProcesses = 3;
inline constexpr int kCommand = 2;  // asks for nothing but its application's word; never restarted

struct State {
  World world;
  std::array<Process, kProcesses> processes;
};

// It has no padding, so that its bytes can be compared.
static_assert(std::has_unique_object_representations_v<State>);

}  // namespace cluster_watcher::explore
