// What a history is drawn from: the program's settings, what is in the world, how much goes wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "test/simulation/random.h"

namespace cluster_watcher::simulation {

enum class DriverKind { kDeployment, kStatefulSet, kReplicationController, kJob };
enum class OwnerGiven { kByLabel, kByFlag, kByBoth, kByAnnotation };

struct Plan {
  static Plan Draw(std::uint64_t seed);

  // --- The program's settings.
  int confirmations;
  Duration poll;
  Duration grace;
  std::optional<Duration> zero_grace;
  Duration startup_grace;
  Duration delete_deadline;
  bool abandon_replaced;
  bool foreground;
  bool finish_on_termination;
  Duration steps_deadline;
  const char* volumes;
  bool all_kinds;  // the built-in list of kinds instead of a short one
  OwnerGiven given;

  // --- The world.
  DriverKind driver;
  int workers;  // a Deployment, a StatefulSet, a ReplicationController or none: 0 to 3
  bool web_service;
  bool mounted_config;  // a member that the master pod mounts
  bool plain_pod;
  bool kept_member;
  bool claim;
  bool remade;  // a member that somebody makes again each time
  bool token_rotates;
  bool driver_exists;  // at the beginning
  int steps_before;
  int steps_after;
  bool waves;
  int finalizers;  // members with a finalizer
  bool finalizers_stay;

  // --- What goes wrong, and for how long. From `calm` on nothing does.
  MonotonicTime calm;
  double read_faults;  // shares of the requests
  double write_faults;
  Micros latency;   // the longest of one way, without faults
  double dawdling;  // of the batches: the watcher isn't scheduled before it sends them
  int scripted;     // things that happen at a time
  int ambushes;     // things that happen right when a watcher's request has come in
  bool duel;        // a long deletion, in the middle of which a second watcher takes over
  int outages;
  bool clocks_jump;
  bool ask_permissions;  // in requests like others; else they aren't answered
};

}  // namespace cluster_watcher::simulation
