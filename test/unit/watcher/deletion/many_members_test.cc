// How much memory a member takes. The program counts every byte that it holds.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "probes/cluster_probe.h"
#include "test/unit/support/fake_transport.h"
#include "watcher/deletion/members.h"

namespace {
std::size_t held = 0;
}

void* operator new(std::size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  held += malloc_usable_size(memory);
  return memory;
}
void operator delete(void* memory) noexcept {
  held -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace cluster_watcher {
namespace {

constexpr std::size_t kPods = 2000;
constexpr std::size_t kMostOfObject = 320;  // bytes, of one in a list
constexpr std::size_t kMostOfMember = 96;   // of one that is remembered

std::string UidOf(std::size_t n) {
  char uid[37];
  std::snprintf(uid, sizeof uid, "%08zx-93b4-4c56-8a7d-fedcba987654", n);
  return uid;
}

// Half of them bare, half controlled by the first.
std::vector<std::string> Pods() {
  std::vector<std::string> pods;
  for (std::size_t n = 0; n < kPods; ++n) {
    const std::string controller =
        n < kPods / 2 ? "" : "," + ControlledBy(TypeOf("rs"), "w", UidOf(0));
    pods.push_back(ObjectText(
        TypeOf("pods"), "a-namespace-with-a-long-name",
        "worker-of-a-cluster-7d4b9c6f5d-" + UidOf(n).substr(3, 5), UidOf(n),
        R"("creationTimestamp":"2026-01-01T00:00:00Z","labels":{"oshinko-cluster":"bob",)"
        R"("oshinko-type":"worker","number":")" +
            std::to_string(n) +
            R"("},)"
            R"("annotations":{"example.com/filling":")" +
            std::string(1000, 'x') + R"("})" + controller));
  }
  return pods;
}

TEST(ManyMembers, TakeLittleMemory) {
  const ClusterId cluster{"a-namespace-with-a-long-name", DefaultProfile(), "bob"};
  const ResourceType& type = TypeOf("pods");
  FakeApi api;
  api.transport.otherwise = [answer = ListAnswer(type, Pods())](const HttpRequest&) {
    return answer;
  };
  ClusterProbe probe(api.client, api.discovery);
  probe.List(std::span(&type, 1), cluster, 1, {});  // what is held permanently
  const std::size_t before = held;
  ClusterListing listing = probe.List(std::span(&type, 1), cluster, 1, {});
  ASSERT_EQ(listing.objects.size(), kPods);
  EXPECT_LE((held - before) / kPods, kMostOfObject);

  const std::size_t with_objects = held;
  DeletionMemory memory;
  MemberPass pass = SortMembers(std::move(listing.objects), memory);
  ASSERT_EQ(memory.listed.size(), kPods / 2);
  ASSERT_EQ(memory.below.size(), kPods / 2);
  EXPECT_LE((held - with_objects) / kPods, kMostOfMember);
}

}  // namespace
}  // namespace cluster_watcher
