#include "watcher/observation/observer.h"

#include <gtest/gtest.h>

#include "test/unit/support/lab.h"
#include "watcher/decision/rules.h"

namespace cluster_watcher {
namespace {

class ObserverTest : public testing::Test, protected Lab {
 protected:
  ObserverTest() { settings_.settings.pod = NameOfPod(); }
};

// Drivers may be of many kinds.
TEST_F(ObserverTest, AnApiServerThatHangsIsNotAskedForOneKindOfDriverAfterTheOther) {
  SettingsInForce settings(settings_, [this](const TextMap&) { return settings_; });
  Observer observer(client_, discovery_, clock_, settings);
  Delete(kDriver);
  const Snapshot look = observer.SureLook({});
  ASSERT_TRUE(Decide(look.facts).abandoned());
  small_kubernetes::Fault hang;
  hang.contains = kUsesClusterLabel;
  hang.times = 0;
  hang.action = small_kubernetes::Fault::Action::kHang;
  kubernetes_.GetFaults().Add(hang);
  const Duration before = clock_.elapsed;
  EXPECT_EQ(Decide(look.facts, observer.FindOtherDrivers(look, {})).reason, Reason::kUnknown);
  // In virtual time, requests sent side by side run one after the other.
  EXPECT_EQ(clock_.elapsed - before, kReadsSideBySide * HttpRequest().timeout);
}

}  // namespace
}  // namespace cluster_watcher
