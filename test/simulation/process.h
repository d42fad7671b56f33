// A process of the program over a simulated transport and clock, run as a fiber. It can be told to
// stop, killed and paused anywhere.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <stop_token>

#include "probes/base/clock.h"
#include "probes/kube/streams.h"
#include "probes/kube/transport.h"
#include "test/simulation/fiber.h"
#include "test/simulation/network.h"

namespace cluster_watcher::simulation {

class Process {
 public:
  // `wall` is the clock of its machine.
  Process(Stacks& stacks, Timeline& timeline, World& world, Network& network, MachineClock& wall,
          Random random, Identity identity);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  // A derived class must have called Kill.
  virtual ~Process() = default;

  void Start();
  void Terminate();  // SIGTERM
  void Kill();       // SIGKILL
  void Pause();      // as SIGSTOP, and a machine that hangs
  void Continue();

  bool ended() const { return fiber_.ended(); }
  bool paused() const { return paused_; }
  const Identity& identity() const { return *identity_; }

 protected:
  // The program. The fiber ends with it.
  virtual void Run(Clock& clock, Transport& transport, std::stop_token stop) = 0;

  // While Run runs.
  Streams& streams() { return *streams_; }

  void WakeAt(MonotonicTime time);
  void Suspend() { fiber_.Suspend(); }

  Timeline& timeline_;
  World& world_;
  Network& network_;
  MachineClock& wall_;
  Random random_;

 private:
  class ProcessClock;
  class ProcessTransport;
  class ProcessStreams;
  struct Batch;
  struct Feed;

  // Runs the action as soon as the process runs.
  void Post(std::function<void()> action);
  void Resume();

  const std::shared_ptr<const Identity> identity_;
  std::stop_source stop_;
  bool paused_ = false;
  bool running_ = false;
  Streams* streams_ = nullptr;
  std::deque<std::function<void()>> posted_;
  // Lets actions that are due after the end of this process notice it.
  std::shared_ptr<int> alive_ = std::make_shared<int>();
  Fiber fiber_;
};

}  // namespace cluster_watcher::simulation
