// A body of code that can stop in the middle and be gone on with later, on a stack of its own. One
// thread runs all fibers of a history, one at a time.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace cluster_watcher::simulation {

// Stacks that are used again and again; not thread-safe.
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
  // What a killed fiber's Suspend throws: it unwinds the body.
  struct Killed {};

  Fiber(Stacks& stacks, std::function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  // Kills it if it hasn't ended.
  ~Fiber();

  // Runs it from where it stands until it suspends itself or ends. From outside of fibers only.
  void Resume();
  // From within its body. Throws Killed if it was killed meanwhile.
  void Suspend();
  // Unwinds its body where it stands.
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
