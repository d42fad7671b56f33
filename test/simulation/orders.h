// What a master pod, or the pod template of the master root, tells the watcher in it.
#pragma once

#include <string>

#include "test/small_kubernetes/json.h"

namespace cluster_watcher::simulation {

struct Orders {
  // How far pods get: ready, running but never ready, or not even running.
  enum class Health { kReady, kUnready, kPending };

  std::string owner;  // "deployment/bob"; empty: no flag names one
  bool dry_run = false;
  bool opted_out = false;  // there is no watcher in it
  bool held = false;
  Health health = Health::kReady;

  static Orders Read(const small_kubernetes::Value& pod);
  // "containers" of the pod's spec, as JSON.
  std::string Containers() const;
  // A merge patch of a pod template that gives these orders.
  std::string Patch() const;
  // Whether the watchers in both are told the same.
  bool AreSameAs(const Orders& other) const {
    return owner == other.owner && dry_run == other.dry_run && opted_out == other.opted_out;
  }
};

}  // namespace cluster_watcher::simulation
