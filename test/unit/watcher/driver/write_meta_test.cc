#include "watcher/driver/write_meta.h"

#include <gtest/gtest.h>

#include "test/unit/support/driver_lab.h"

namespace cluster_watcher {
namespace {

class WriteMetaTest : public DriverLab {
 protected:
  KubeObject Worker() {
    auto worker = ClusterProbe(client_, discovery_)
                      .List(std::array{*FindBuiltInByName("deployments", "apps")}, cluster_, 1, {});
    for (KubeObject& object : worker.objects) {
      if (object.meta.name == "spark-w") return object;
    }
    ADD_FAILURE() << "there is no worker";
    return {};
  }
};

TEST_F(WriteMetaTest, WritesAndTakesOff) {
  const auto written =
      WriteMeta(client_, Worker(),
                {{{"x", "y"}, {"oshinko-type", std::nullopt}}, {{"cluster-watcher/keep", "true"}}});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(LabelOf(kWorker, "x"), "y");
  EXPECT_EQ(LabelOf(kWorker, "oshinko-type"), "");
  EXPECT_EQ(LabelOf(kWorker, "oshinko-cluster"), "spark");
  EXPECT_NE(Read(kWorker).body.find(R"("cluster-watcher/keep":"true")"), std::string::npos);
}

TEST_F(WriteMetaTest, WhatHasChangedSinceIsAConflict) {
  const KubeObject before = Worker();
  Annotate(kWorker, "keep", "true");
  const auto written = WriteMeta(client_, before, {{{"x", "y"}}, {}});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().failure, ApiFailure::kConflict);
  EXPECT_EQ(LabelOf(kWorker, "x"), "");
  const auto now = ReadMetaAgain(client_, before, {});
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_TRUE(WriteMeta(client_, *now, {{{"x", "y"}}, {}}));
}

TEST_F(WriteMetaTest, AnotherOfItsNameIsNotTheSame) {
  const KubeObject before = Worker();
  Delete(kWorker);
  auto now = ReadMetaAgain(client_, before, {});
  ASSERT_FALSE(now);
  EXPECT_EQ(now.error().failure, ApiFailure::kNotFound);
  MakeWorkload("spark-w", R"("oshinko-cluster":"spark",)");
  now = ReadMetaAgain(client_, before, {});
  ASSERT_FALSE(now);
  EXPECT_EQ(now.error().failure, ApiFailure::kNotFound);
  EXPECT_EQ(now.error().message, "deployment.apps/spark-w is gone: another has its name");
  EXPECT_FALSE(WriteMeta(client_, before, {{{"x", "y"}}, {}}));
}

}  // namespace
}  // namespace cluster_watcher
