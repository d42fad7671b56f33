#include "probes/watcher_container.h"

#include <gtest/gtest.h>

#include <string>

namespace cluster_watcher {
namespace {

TEST(WaitsForItsWatcher, WhereThatIsAnInitContainerAndNoSidecar) {
  const auto waits = [](const std::string& init, const std::string& regular,
                        const std::string& status = "{}") {
    const auto pod =
        JsonDocument::Parse(R"({"spec":{"initContainers":[{"name":"wait","image":"w"})" + init +
                            R"(],"containers":[{"name":"spark","image":"s"})" + regular +
                            R"(]},"status":)" + status + "}");
    EXPECT_TRUE(pod) << init << regular;
    return pod && WaitsForItsWatcher(pod->root());
  };
  const auto initialized = [](const std::string& status) {
    return R"({"conditions":[{"type":"Ready","status":"True"},{"type":"Initialized","status":")" +
           status + "\"}]}";
  };
  const std::string plain = R"(,{"name":"cluster-watcher","image":"x"})";
  const std::string sidecar = R"(,{"name":"cluster-watcher","image":"x","restartPolicy":"Always"})";
  const std::string by_image = R"(,{"name":"w","image":"r.io/cluster-watcher:1"})";
  const std::string by_owner = R"(,{"name":"w","image":"x","args":["--owner=job/a"]})";
  const std::string by_setting =
      R"(,{"name":"w","image":"x","env":[{"name":"CLUSTER_WATCHER_OWNER_KIND","value":"job"}]})";
  const std::string by_namespace =
      R"(,{"name":"w","image":"x","args":["watch","--owner-namespace","drivers"]})";
  for (const std::string& one : {plain, by_image, by_owner, by_setting, by_namespace}) {
    EXPECT_TRUE(waits(one, "")) << one;
    EXPECT_TRUE(waits(one, "", initialized("False"))) << one;
    EXPECT_FALSE(waits(one, "", initialized("True"))) << "the regular ones have begun";
    EXPECT_FALSE(waits("", one)) << one;
    EXPECT_FALSE(waits(plain, one)) << "it may be either: " << one;
    EXPECT_FALSE(waits(sidecar + one, "")) << one;
    EXPECT_FALSE(waits(one + sidecar, "")) << one;
  }
  EXPECT_FALSE(waits("", ""));
  EXPECT_FALSE(waits(sidecar, ""));
  EXPECT_FALSE(WaitsForItsWatcher(JsonValue()));
}

}  // namespace
}  // namespace cluster_watcher
