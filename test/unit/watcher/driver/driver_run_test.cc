#include "watcher/driver/driver_run.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "probes/base/names.h"
#include "test/unit/support/driver_lab.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

constexpr const char* kUsesLabel = "uses-oshinko-cluster";
constexpr const char* kMasterFile = R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: $(CLUSTER)-m}
spec:
  selector: {matchLabels: {app: $(CLUSTER)-m}}
  template:
    metadata: {labels: {app: $(CLUSTER)-m, oshinko-type: master}}
    spec: {containers: [{name: m, image: spark}]}
)";
constexpr const char* kRest = R"(
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: $(CLUSTER)-w}
spec:
  selector: {matchLabels: {app: $(CLUSTER)-w}}
  template:
    metadata: {labels: {app: $(CLUSTER)-w, oshinko-type: worker}}
    spec: {containers: [{name: w, image: spark}]}
---
apiVersion: v1
kind: Service
metadata: {name: $(CLUSTER), labels: {oshinko-type: master}}
spec: {selector: {app: $(CLUSTER)-m}, ports: [{port: 7077}]}
)";

class DriverRunTest : public DriverLab {
 protected:
  // The name; or the error.
  std::string Name() {
    const auto named = NameOfItsCluster(tools_, tools_, bob_, {DefaultProfile()}, "lab");
    return named ? named->name : named.error().error;
  }
  Result<ReadyCluster, DriverOutcome> Ready(const std::string& text = "", bool ephemeral = false) {
    DriverRun run{cluster_, bob_, std::nullopt, ephemeral, seconds(30)};
    if (!text.empty()) {
      auto objects = ReadClusterFiles(std::vector<ManifestFile>{{"c.yaml", text}}, cluster_);
      EXPECT_TRUE(objects) << (objects ? "" : Joined(objects.error()));
      run.objects = std::move(objects->objects);
    }
    return MakeReady(tools_, run);
  }
  void DeleteAll() {
    for (const char* path : {kRoot, kWorker, kService}) Delete(path);
    Delete(kMaps + std::string("/spark-config"));
    kubernetes_.Settle();
  }

  const OwnerName bob_ = *OwnerName::Parse("deployment/bob");
};

TEST_F(DriverRunTest, ANameThatIsGeneratedStaysTheOwners) {
  const std::string name = Name();
  EXPECT_EQ(name.size(), 14u) << name;
  EXPECT_TRUE(name.starts_with("cluster-")) << name;
  EXPECT_EQ(LabelOf(kDriver, kUsesLabel), name);
  EXPECT_EQ(Name(), name);
}

TEST_F(DriverRunTest, OfTwoAtOnceTheSecondUsesTheNameOfTheFirst) {
  std::string other;
  kubernetes_.on_request = [&](const small_kubernetes::Request& request,
                               const small_kubernetes::User&) {
    if (request.method == "PATCH" && std::exchange(other, "x").empty()) other = Name();
  };
  EXPECT_EQ(Name(), other);
}

// A driver that was deleted and made again has lost its label.
TEST_F(DriverRunTest, TheClusterThatNamesTheOwnerIsItsOwn) {
  MakeEphemeral("deployment.apps/bob");
  EXPECT_EQ(Name(), "spark");
  EXPECT_EQ(LabelOf(kDriver, kUsesLabel), "spark");
  LabelObject(kDriver, R"("uses-oshinko-cluster":null)");
  MakeWorkload("other-m", R"("oshinko-cluster":"other","oshinko-type":"master",)");
  Annotate("/apis/apps/v1/namespaces/lab/deployments/other-m", "owner", "deployment.apps/bob");
  EXPECT_EQ(Name(),
            "several clusters name deployment.apps/bob as their owner, other; spark: give one of "
            "them by --cluster");
  EXPECT_EQ(LabelOf(kDriver, kUsesLabel), "");
  Delete(kDriver);
  EXPECT_EQ(Name(), "there is no deployment.apps/bob in namespace lab");
}

TEST_F(DriverRunTest, WhatIsThereIsClaimedAndUsedAsWhatItIs) {
  auto ready = Ready("", true);
  ASSERT_TRUE(ready) << ready.error().error;
  EXPECT_FALSE(ready->is_own);
  EXPECT_EQ(Joined(ready->warnings), "cluster spark is shared, so it is used and not deleted");
  EXPECT_EQ(LabelOf(kDriver, kUsesLabel), "spark");
  EXPECT_EQ(LabelOf(kRoot, "ephemeral"), "");
  MakeEphemeral("deployment.apps/bob");
  ready = Ready();
  ASSERT_TRUE(ready);
  EXPECT_TRUE(ready->is_own);
  EXPECT_TRUE(ready->warnings.empty());
}

TEST_F(DriverRunTest, AnIncompleteSharedClusterIsNotMadeEphemeral) {
  Delete(kWorker);
  kubernetes_.Settle();
  const auto ready = Ready(std::string(kMasterFile) + kRest, true);
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().exit, DriverExit::kNotReady);
  EXPECT_FALSE(Exists(kWorker));
  EXPECT_EQ(LabelOf(kRoot, "ephemeral") + Mark("owner"), "");
}

TEST_F(DriverRunTest, WhatIsNotThereIsCreatedOrNamed) {
  DeleteAll();
  EXPECT_EQ(Ready().error().error,
            "no cluster spark: create it before, or give its manifests by -f");
  const auto ready = Ready(std::string(kMasterFile) + kRest, true);
  ASSERT_TRUE(ready) << ready.error().error;
  EXPECT_TRUE(ready->is_own);
  EXPECT_TRUE(ready->warnings.empty()) << Joined(ready->warnings);
  EXPECT_EQ(ready->app.ToText(), "deployment.apps/bob");
  EXPECT_EQ(ready->app_uid, ObjectUid(kDriver));
}

TEST_F(DriverRunTest, WhatStaysIncompleteIsNotReady) {
  DeleteAll();
  const auto ready = Ready(kMasterFile, true);
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().error, "cluster spark lacks a worker; a master service");
}

TEST_F(DriverRunTest, WhatIsCondemnedIsWaitedForAndThenCreated) {
  MakeEphemeral("deployment.apps/bob");
  MarkRoot("phase", "condemned");
  const std::string uid = ObjectUid(kRoot);
  clock_.At(clock_.elapsed + seconds(5), [this] { DeleteAll(); });
  const auto ready = Ready(std::string(kMasterFile) + kRest, true);
  ASSERT_TRUE(ready) << ready.error().error;
  EXPECT_NE(ObjectUid(kRoot), uid);
}

TEST_F(DriverRunTest, WithoutItsOwnerNothingIsUsed) {
  Delete(kDriver);
  EXPECT_EQ(Ready().error().exit, DriverExit::kFailed);
  MakeWorkload("alice", "");
  MakeDriver();
  MakeEphemeral("deployment.apps/alice");
  EXPECT_EQ(Ready().error().exit, DriverExit::kOthers);
}

}  // namespace
}  // namespace cluster_watcher
