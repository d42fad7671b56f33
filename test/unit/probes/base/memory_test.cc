#include "probes/base/memory.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace cluster_watcher {
namespace {

// Of /proc/self/status, in KiB; -1: there is no such line.
long Resident(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long kib = 0;
    if (word == name + ":" && status >> kib) return kib;
  }
  return -1;
}

// What a kernel that knows no such advice answers.
bool RefuseAdvice() {
  std::array<sock_filter, 4> program = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(MemoryTest, PagesOfFilesAreGivenBackAndMappedAgain) {
  // Formatting touches what isn't used below.
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::to_string(i * 0.1);
  const long before = Resident("RssFile");
  ASSERT_GT(before, 0);
  GiveBackMemory();
  EXPECT_LT(Resident("RssFile"), before);
  EXPECT_EQ(text.size(), [] {
    std::string again;
    for (int i = 0; i < 1000; ++i) again += std::to_string(i * 0.1);
    return again.size();
  }());
}

// The address sanitizer has a heap of its own, which keeps what is freed.
#ifndef CLUSTER_WATCHER_SANITIZED
TEST(MemoryTest, FreeMemoryOfTheHeapIsGivenBack) {
  // Small enough not to be mapped by itself, and kept from the heap's end by one that stays.
  std::vector<std::unique_ptr<std::array<char, 4000>>> blocks(4000);
  for (auto& block : blocks) {
    block = std::make_unique<std::array<char, 4000>>();
    block->fill('x');
  }
  const auto last = std::make_unique<std::array<char, 4000>>();
  const long before = Resident("RssAnon");
  blocks.clear();
  GiveBackMemory();
  EXPECT_LT(Resident("RssAnon"), before - 12'000) << last->size();
}
#endif

TEST(MemoryTest, AKernelThatCanNotDoItLeavesAllAsItIs) {
  EXPECT_EXIT(
      {
        if (!RefuseAdvice() || madvise(nullptr, 0, MADV_DONTNEED) != -1) std::_Exit(2);
        GiveBackMemory();
        std::_Exit(std::to_string(7) == "7" ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace cluster_watcher
