// One life of a watcher's process: the whole program over a simulated transport and clock, run as a
// fiber. It can be told to stop, killed and paused anywhere.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include <prometheus/registry.h>
#include <spdlog/logger.h>

#include "metrics/watcher_metrics.h"
#include "probes/base/clock.h"
#include "test/simulation/fiber.h"
#include "test/simulation/network.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher::simulation {

// What the lives in one thread share. Nothing in it influences their decisions.
struct Workshop {
  Workshop();
  void WriteToken(const std::string& token) const;

  Stacks stacks;
  prometheus::Registry registry;
  WatcherMetrics metrics;  // the program only writes to it
  spdlog::sink_ptr silent;
  int token_file;  // a file in memory
  std::string token_path;
};

class Life {
 public:
  // `wall` is the clock of its machine.
  Life(Workshop& workshop, Timeline& timeline, World& world, Network& network, MachineClock& wall,
       Random random, Identity identity);
  ~Life();

  void Start();
  void Terminate();  // SIGTERM
  void Kill();       // SIGKILL
  void Pause();      // as SIGSTOP, and a machine that hangs
  void Continue();

  bool ended() const { return fiber_.ended(); }
  bool paused() const { return paused_; }
  // Whether it may delete anything at all.
  bool acts() const { return !ended() && !identity_->orders.dry_run; }
  bool told_to_stop() const { return stop_.stop_requested(); }
  const Identity& identity() const { return *identity_; }

 private:
  class LifeClock;
  class LifeTransport;
  class StepTransport;
  struct Batch;

  void Run();
  void WakeAt(MonotonicTime time);
  // Runs the action as soon as the process runs.
  void Post(std::function<void()> action);
  void Resume();
  void Suspend() { fiber_.Suspend(); }

  Workshop& workshop_;
  Timeline& timeline_;
  World& world_;
  Network& network_;
  MachineClock& wall_;
  Random random_;
  const std::shared_ptr<const Identity> identity_;
  std::stop_source stop_;
  bool paused_ = false;
  bool running_ = false;
  std::deque<std::function<void()>> posted_;
  // Lets actions that are due after the end of this life notice it.
  std::shared_ptr<int> alive_ = std::make_shared<int>();
  Fiber fiber_;
};

}  // namespace cluster_watcher::simulation
