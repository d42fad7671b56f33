// Code that can be suspended in the middle and resumed later, with a stack of its own. One thread
// runs all fibers of a history, one at a time.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace cluster_watcher::simulation {

// Reuses stacks. Not thread-safe.
class Stacks {
 public:
  static constexpr std::size_t kSize = 512u << 10;

  Stacks() = default;
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  ~Stacks();

  void* Take();
  void GiveBack(void* stack) { free_.push_back(stack); }

 private:
  std::vector<void*> free_;
  std::vector<void*> all_;
};

class Fiber {
 public:
  // Thrown by Suspend in a killed fiber, to unwind its body.
  struct Killed {};

  Fiber(Stacks& stacks, std::function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  // Kills the fiber if it hasn't ended.
  ~Fiber();

  // Runs the body until it suspends itself or ends. Call it only from outside of fibers.
  void Resume();
  // Call it from the body. Throws Killed if the fiber was killed meanwhile.
  void Suspend();
  // Unwinds the body from where it is suspended.
  void Kill();
  bool ended() const { return ended_; }

 private:
  static void Enter(unsigned high, unsigned low);
  void Run();

  Stacks& stacks_;
  std::function<void()> body_;
  void* stack_;
  ucontext_t inside_{};
  ucontext_t outside_{};
  bool begun_ = false;
  bool ended_ = false;
  bool killed_ = false;
};

}  // namespace cluster_watcher::simulation
