// The applications: their owners come and go as the actors will, and while one wants to run a
// process in its container works on the cluster by the commands of the driver's side.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "test/simulation/driver_process.h"

namespace cluster_watcher::simulation {

class Drivers {
 public:
  Drivers(Workshop& workshop, Timeline& timeline, World& world, Network& network,
          DriversJudge& judge, Random random);

  // Starts and ends processes as the owners in the store want it. To be called after each event.
  void Look();
  // Whoever waits between two commands goes on.
  void Nudge();
  // For accidents between two requests.
  void Sent(const Exchange& exchange);
  void Handled(const Exchange& exchange);
  // All of them end, and none begins again.
  void Stop();

  std::uint64_t lives() const { return static_cast<std::uint64_t>(lives_); }

 private:
  struct Application {
    std::string name;
    MachineClock wall;
    std::unique_ptr<DriverProcess> process = nullptr;
    std::string uid = {};  // of the owner that it runs, or has run, for
    bool starting = false;
    bool stopping = false;
    int requests_left = 0;  // until an accident
    bool dwells = false;    // between its look at the master root and what follows from it
    bool crashes = false;   // then, or else it is held up
  };

  Application* RunBy(int life);
  void HoldUp(Application& application, Micros length);
  void StartLater(Application& application);
  void Start(Application& application);
  void End(Application& application);
  void Bury(Application& application);

  Workshop& workshop_;
  Timeline& timeline_;
  World& world_;
  Network& network_;
  DriversJudge& judge_;
  Random random_;
  std::vector<std::unique_ptr<Application>> applications_;
  bool stopped_ = false;
  int lives_ = 0;
};

}  // namespace cluster_watcher::simulation
