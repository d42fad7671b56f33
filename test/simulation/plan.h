// The parameters of a history: settings of the program, objects in the world, and how much goes
// wrong.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "test/simulation/random.h"

namespace cluster_watcher::simulation {

// kWork: a custom kind of which the program knows nothing but --completed-when.
enum class DriverKind { kDeployment, kStatefulSet, kReplicationController, kJob, kWork };
enum class OwnerGiven { kByLabel, kByFlag, kByBoth, kByAnnotation };
// Deeds that belong together, each timed on what a watcher does.
enum class Plot {
  kNone,
  kDuel,       // a second watcher takes over in the middle of a long deletion
  kNap,        // the evidence grows old before the first delete, and the cluster is used again
  kMadeAnew,   // a member is made right behind the first delete, and the watcher dies
  kTakenDown,  // the root is deleted right after it was read, and a member is made behind it
  kSlept,      // a deletion sleeps, another watcher spares the cluster, and it is made whole
};

// The kind of Plan::workers as --resources names it.
inline constexpr std::array<const char*, 4> kWorkerResources{
    "", "deployments.apps", "statefulsets.apps", "replicationcontrollers"};

struct Plan {
  static Plan Draw(std::uint64_t seed);

  // --- Settings of the program.
  int confirmations;
  Duration poll;
  Duration grace;
  std::optional<Duration> zero_grace;
  Duration startup_grace;
  std::optional<Duration> surge_grace;  // every driver ends with many others; none: alone
  Duration delete_deadline;
  Duration operator_grace;
  Duration steps_deadline;
  int concurrency;
  const char* volumes;
  bool all_kinds;  // the built-in list of kinds instead of a short one
  OwnerGiven given;

  // --- The world.
  DriverKind driver;
  int workers;  // a Deployment, StatefulSet, ReplicationController or none: 0 to 3
  bool web_service;
  bool mounted_config;  // a member that the master pod mounts
  bool plain_pod;
  bool kept_member;
  bool claim;
  bool set_claims;      // of the workers, if they are a StatefulSet,
  bool claims_go;       // which would delete them with itself,
  bool scaled_away;     // one of them was scaled away,
  bool workers_unwell;  // and whose pods never get ready,
  bool set_of_farm;     // and that a custom resource controls, which is a member
  int kept_owner;       // of the kept member: 0 nobody, 1 the Service, 2 the workers
  bool second_cluster;  // of the same driver
  bool evicted_master;  // a master pod that has ended, sorts first, and says something else
  Duration skew;        // between the clocks of two API servers
  bool remade;          // a member that somebody recreates each time
  bool token_rotates;
  bool rollouts;       // of the master, to other orders for its watcher
  bool driver_exists;  // at the beginning
  int steps_before;
  int steps_after;
  bool waves;
  int finalizers;  // members with a finalizer
  bool root_finalizer;
  bool driver_finalizer;
  bool finalizers_stay;

  // --- Faults. From `calm` on there are none.
  MonotonicTime calm;
  double read_faults;  // shares of the requests
  double write_faults;
  bool uneven;         // each kind of request has a share of its own
  double flaky;        // share of the reads that fail for the moment, also after `calm`
  const char* ailing;  // requests for this kind ("services") fail for a while; null: none
  bool ailing_hangs;   // they aren't answered
  bool ailing_writes;  // only changes fail, not reads
  MonotonicTime ails_from;
  MonotonicTime ails_until;
  Micros latency;   // the longest in one direction, without faults
  double dawdling;  // share of batches before which the watcher isn't scheduled
  int scripted;     // deeds at a certain time
  int ambushes;     // deeds exactly when a watcher's request has arrived
  Plot plot;
  int outages;
  int crashes;  // between two requests of whoever has condemned the cluster
  bool clocks_jump;
  bool ask_permissions;  // sent like other requests; else they aren't answered

  // --- Watches.
  bool watch;           // the owner is watched instead of polled
  double watch_faults;  // share of the events, and of the watches that are opened

  // --- The driver's side.
  bool drivers;          // applications claim the cluster, and wait for it
  bool shared_at_first;  // it names no driver before one claims it
};

}  // namespace cluster_watcher::simulation
