// The kubelet of the node of the master pods: starts a watcher in each, restarts it when it ends,
// tells it to stop when its pod is deleted, and removes the pod once it has ended.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "test/simulation/life.h"

namespace cluster_watcher::simulation {

class Kubelet {
 public:
  struct Counts {
    std::uint64_t lives = 0, kills = 0, terminations = 0, pauses = 0;
  };

  Kubelet(Workshop& workshop, Timeline& timeline, World& world, Network& network, Random random);

  // Does what the present state of the store requires. Cheap if no pod has changed.
  void Look();

  // --- Accidents of its containers. They return false if there is none that can have one.
  bool KillOne();
  bool PauseOne(Micros length);
  // Suspends its machine.
  bool SuspendOne(Micros length);
  // Makes the pod fail, as an eviction does.
  bool FailOne();
  bool JumpOneClock(Duration by);
  void ContinueAll();

  std::vector<std::string> PodNames() const;
  bool AnyAlive() const;
  // Whether some watcher may delete something; and whether all of them have the plan's orders.
  bool AnyActs() const;
  bool AllAsPlanned() const;
  const Counts& counts() const { return counts_; }

 private:
  struct Pod {
    std::string name;
    std::string uid;
    MachineClock wall;
    Orders orders;
    std::unique_ptr<Life> life;
    bool starting = false;
    bool terminating = false;
    bool removing = false;
    bool failed = false;
    bool gone = false;  // from the store
    bool asleep = false;
    int lives = 0;
  };

  // Removes a pod that never ran.
  void Bury(const small_kubernetes::ObjectPtr& object);
  void Tend(Pod& pod, const small_kubernetes::ObjectPtr& object);
  void StartLater(Pod& pod, Micros delay);
  void TerminateSoon(Pod& pod, Micros grace);
  void Remove(Pod& pod);
  Pod* OneRunning();
  bool HoldUp(Micros length, bool suspends);
  void GoOn(Pod& pod);
  void Kill(Pod& pod);

  Workshop& workshop_;
  Timeline& timeline_;
  World& world_;
  Network& network_;
  Random random_;
  std::vector<std::unique_ptr<Pod>> pods_;
  std::set<std::string> buried_;
  std::uint64_t version_ = 0;
  int lives_ = 0;
  Counts counts_;
};

}  // namespace cluster_watcher::simulation
