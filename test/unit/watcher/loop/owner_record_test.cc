#include "watcher/loop/owner_record.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <memory>
#include <sstream>
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
  std::optional<ObjectMeta> Write(Reason reason) {
    Decision decision;
    decision.reason = reason;
    return record_.Write(look_, decision, look_.seen);
  }

  // Writes where the API server answers so; returns how often it was said that it can't.
  int SaidAfter(int status) {
    if (status != 200) Refuse("PATCH", "spark-m", status);
    Write(Reason::kActive);
    kubernetes_.GetFaults().Clear();
    int count = 0;
    const std::string log = log_text_.str();
    for (std::size_t at = 0; (at = log.find("can't be recorded", at)) != std::string::npos; ++at) {
      ++count;
    }
    return count;
  }

  std::ostringstream log_text_;
  Log log_{LogLevel::kDebug, LogFormat::kText,
           std::make_shared<spdlog::sinks::ostream_sink_st>(log_text_)};
  SettingsInForce in_force_{settings_, [this](const TextMap&) { return settings_; }};
  Observer observer_{client_, discovery_, clock_, in_force_};
  Tools tools_{client_, discovery_, clock_, in_force_, metrics_, log_.logger(), [](Duration) {}};
  OwnerRecord record_{tools_};
  Snapshot look_ = observer_.SureLook({});
};

// Else it would be an absent driver after a restart, once it is gone.
TEST_F(OwnerRecordTest, WritesThatTheOwnerIsAMember) {
  Patch(kDriver, R"({"metadata":{"labels":{"oshinko-cluster":"spark"}}})");
  look_ = observer_.SureLook({});
  Write(Reason::kMisconfigured);
  EXPECT_NE(Mark("recorded-owner").find(R"("member":true)"), std::string::npos);
}

TEST_F(OwnerRecordTest, WritesWhoIsTheOwnerForSure) {
  for (const Reason reason : {Reason::kMisconfigured, Reason::kShared, Reason::kOwnerMismatch,
                              Reason::kUnknown, Reason::kAmbiguous}) {
    Write(reason);
    EXPECT_EQ(Mark("recorded-owner"), "") << ToString(reason);
  }
  Write(Reason::kActive);
  EXPECT_NE(Mark("recorded-owner").find(look_.seen->uid), std::string::npos);
}

TEST_F(OwnerRecordTest, ReturnsWhatItHasWrittenUnlessSomebodyHasAddedToIt) {
  Annotate(kRoot, "root-uid", "another");
  Annotate(kRoot, "phase", "condemned");
  look_ = observer_.SureLook({});
  const auto written = Write(Reason::kActive);
  ASSERT_TRUE(written);
  EXPECT_EQ(written->Annotation(annotation::kRecordedOwner), Mark("recorded-owner"));
  EXPECT_FALSE(written->Annotation(annotation::kPhase)) << "it was another object's";
  EXPECT_TRUE(HasOnlyNewStatus(*written, observer_.SureLook({}).root->meta));
  look_ = observer_.SureLook({});
  EXPECT_FALSE(Write(Reason::kActive)) << "it is there";
  Annotate(kRoot, "hold-until", "2030-01-01T00:00:00Z");
  small_kubernetes::Fault admission;
  admission.method = "PATCH";
  admission.response = Read(kRoot);
  kubernetes_.GetFaults().Add(admission);
  look_.marks.owner.reset();
  EXPECT_FALSE(Write(Reason::kActive)) << "the answer shows a hold as well";
}

TEST_F(OwnerRecordTest, WhatFailsInPassingIsWorthAnotherLookSoon) {
  EXPECT_TRUE(record_.is_written());
  SaidAfter(503);
  EXPECT_FALSE(record_.is_written());
  SaidAfter(403);
  EXPECT_TRUE(record_.is_written()) << "it is refused permanently";
  SaidAfter(503);
  look_.marks.owner = look_.seen;
  Write(Reason::kActive);
  EXPECT_TRUE(record_.is_written()) << "it is there";
}

TEST_F(OwnerRecordTest, ThatItCannotBeWrittenIsSaidOnceUntilItCan) {
  EXPECT_EQ(SaidAfter(409), 0) << "controllers write all the time";
  EXPECT_EQ(SaidAfter(403), 1);
  EXPECT_EQ(SaidAfter(403), 1);
  EXPECT_EQ(SaidAfter(200), 1);
  look_ = observer_.SureLook({});
  look_.marks.owner.reset();
  EXPECT_EQ(SaidAfter(403), 2);
}

}  // namespace
}  // namespace cluster_watcher
