#include "watcher/loop/owner_record.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>

#include <memory>
#include <string>

#include "test/unit/support/lab.h"
#include "watcher/observation/observer.h"
#include "watcher/reporting/logging.h"

namespace cluster_watcher {
namespace {

// The settings must be complete before somebody reads them.
class LabWithPod : protected Lab {
 protected:
  LabWithPod() { settings_.settings.pod = NameOfPod(); }
};

class OwnerRecordTest : public testing::Test, protected LabWithPod {
 protected:
  void Write(Reason reason) {
    Decision decision;
    decision.reason = reason;
    record_.Write(look_, decision, look_.seen);
  }

  Log log_{LogLevel::kDebug, LogFormat::kText, std::make_shared<spdlog::sinks::null_sink_st>()};
  SettingsInForce in_force_{settings_, [this](const TextMap&) { return settings_; }};
  Observer observer_{client_, discovery_, clock_, in_force_};
  Tools tools_{client_, discovery_, clock_, in_force_, metrics_, log_.logger(), [](Duration) {}};
  OwnerRecord record_{tools_};
  Snapshot look_ = observer_.SureLook({});
};

TEST_F(OwnerRecordTest, WritesWhoIsTheOwnerForSure) {
  for (const Reason reason : {Reason::kMisconfigured, Reason::kShared, Reason::kOwnerMismatch,
                              Reason::kUnknown, Reason::kAmbiguous}) {
    Write(reason);
    EXPECT_EQ(Mark("recorded-owner"), "") << ToString(reason);
  }
  Write(Reason::kActive);
  EXPECT_NE(Mark("recorded-owner").find(look_.seen->uid), std::string::npos);
}

TEST_F(OwnerRecordTest, WritesAnewWhatAnEarlierVersionWrote) {
  look_.marks.owner = look_.seen;
  Write(Reason::kActive);
  EXPECT_EQ(Mark("recorded-owner"), "") << "it is there already";
  look_.marks.owner_is_outdated = true;
  Write(Reason::kActive);
  EXPECT_NE(Mark("recorded-owner"), "");
}

TEST_F(OwnerRecordTest, TakesOffAnAppStatusThatIsNotThisOwners) {
  const auto status_after = [this](Reason reason, const std::string& recorded_uid) {
    Annotate(kRoot, "app-status", "completed");
    look_ = observer_.SureLook({});
    look_.marks.owner->uid = recorded_uid;
    Write(reason);
    return Mark("app-status");
  };
  const std::string uid = look_.seen->uid;
  Write(Reason::kActive);
  EXPECT_EQ(status_after(Reason::kCompleted, uid), "completed");
  EXPECT_EQ(status_after(Reason::kActive, "another"), "");
  EXPECT_EQ(status_after(Reason::kSharedByReplicas, uid), "");
}

}  // namespace
}  // namespace cluster_watcher
