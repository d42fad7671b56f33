// One life of a watcher's process: the whole program, wired as `watch` wires it.
#pragma once

#include <stop_token>

#include "test/simulation/process.h"
#include "test/simulation/workshop.h"

namespace cluster_watcher::simulation {

class Life final : public Process {
 public:
  // `wall` is the clock of its machine.
  Life(Workshop& workshop, Timeline& timeline, World& world, Network& network, MachineClock& wall,
       Random random, Identity identity);
  ~Life() override;

  // Whether it may delete anything at all.
  bool acts() const { return !ended() && !identity().orders.dry_run; }

 private:
  class StepTransport;

  void Run(Clock& clock, Transport& transport, std::stop_token stop) override;

  Workshop& workshop_;
};

}  // namespace cluster_watcher::simulation
