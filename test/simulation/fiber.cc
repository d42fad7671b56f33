#include "test/simulation/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace cluster_watcher::simulation {
namespace {

constexpr std::size_t kGuard = 4096;

}  // namespace

Stacks::~Stacks() {
  for (void* stack : all_) munmap(stack, kSize);
}

void* Stacks::Take() {
  if (!free_.empty()) {
    void* stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void* stack = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED || mprotect(stack, kGuard, PROT_NONE) != 0) {
    std::perror("a fiber's stack");
    std::exit(1);
  }
  all_.push_back(stack);
  return stack;
}

Fiber::Fiber(Stacks& stacks, std::function<void()> body)
    : stacks_(stacks), body_(std::move(body)), stack_(stacks.Take()) {
  getcontext(&inside_);
  inside_.uc_stack.ss_sp = stack_;
  inside_.uc_stack.ss_size = Stacks::kSize;
  inside_.uc_link = &outside_;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  // makecontext only passes ints.
  makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::Enter), 2,
              static_cast<unsigned>(self >> 32), static_cast<unsigned>(self & 0xffffffff));
}

Fiber::~Fiber() {
  Kill();
  stacks_.GiveBack(stack_);
}

void Fiber::Enter(unsigned high, unsigned low) {
  reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(high) << 32 | low)->Run();
}

void Fiber::Run() {
  try {
    body_();
  } catch (const Killed&) {
  }
  ended_ = true;
}

void Fiber::Resume() {
  if (ended_) return;
  begun_ = true;
  swapcontext(&outside_, &inside_);
}

void Fiber::Suspend() {
  swapcontext(&inside_, &outside_);
  if (killed_) throw Killed{};
}

void Fiber::Kill() {
  if (ended_) return;
  killed_ = true;
  if (begun_) {
    Resume();
  } else {
    ended_ = true;
  }
}

}  // namespace cluster_watcher::simulation
