#include "watcher/driver/who_acts.h"

#include <gtest/gtest.h>

#include "test/unit/support/driver_lab.h"

namespace cluster_watcher {
namespace {

class WhoActsTest : public DriverLab {};

TEST_F(WhoActsTest, APodIsThatPodAndNoLaterOneOfItsName) {
  const std::string pod = NameOfPod();
  const WatcherId id = WhoActs(tools_, "lab", pod, "lab");
  EXPECT_EQ(id.pod, pod);
  EXPECT_EQ(id.uid, ObjectUid("/api/v1/namespaces/lab/pods/" + pod));
}

// Others would look for it in the cluster's namespace, and find that it is gone.
TEST_F(WhoActsTest, APodElsewhereOrOfUnknownUidIsACommand) {
  const std::string pod = NameOfPod();
  EXPECT_EQ(WhoActs(tools_, "lab", pod, "other").pod, "cli");
  EXPECT_EQ(WhoActs(tools_, "lab", "none", "lab").pod, "cli");
  EXPECT_EQ(WhoActs(tools_, "lab", "", "lab").pod, "cli");
  Refuse("GET", "/pods/", 403);
  EXPECT_EQ(WhoActs(tools_, "lab", pod, "lab").pod, "cli");
}

TEST_F(WhoActsTest, NoTwoCommandsAreOne) {
  EXPECT_NE(SomeCommand().uid, SomeCommand().uid);
  EXPECT_FALSE(SomeCommand().IsPod());
}

}  // namespace
}  // namespace cluster_watcher
