// One life of a driver's container: it runs commands of the driver's side, one after the other, as
// the script of an application does.
#pragma once

#include <stop_token>
#include <string>

#include "test/simulation/drivers_judge.h"
#include "test/simulation/process.h"
#include "test/simulation/workshop.h"
#include "watcher/driver/driver_tools.h"
#include "watcher/settings/settings_in_force.h"

namespace cluster_watcher::simulation {

class DriverProcess final : public Process {
 public:
  // `app`: the name of its owner. `wall` is the clock of its machine.
  DriverProcess(Workshop& workshop, Timeline& timeline, World& world, Network& network,
                DriversJudge& judge, MachineClock& wall, Random random, Identity identity,
                std::string app);
  ~DriverProcess() override;

  // It runs its next command now, if it waits between two.
  void Nudge();

 private:
  void Run(Clock& clock, Transport& transport, std::stop_token stop) override;
  DriverCommand Choose();
  DriverCommand Of(DriverCommand::Kind kind);
  DriverOutcome Do(const DriverCommand& command, const DriverTools& tools,
                   SettingsInForce& settings);
  void Idle(Micros longest, const std::stop_token& stop);

  Workshop& workshop_;
  DriversJudge& judge_;
  const std::string app_;
  bool nudged_ = false;
  bool has_claimed_ = false;
  DriverCommand last_;
  DriverExit last_exit_ = DriverExit::kDone;
  bool is_first_ = true;
};

}  // namespace cluster_watcher::simulation
