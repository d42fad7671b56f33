#include "watcher/protocol/master_root.h"

#include <gtest/gtest.h>

#include "test/unit/support/fake_transport.h"

namespace cluster_watcher {
namespace {

class MasterRootTest : public testing::Test {
 protected:
  MasterRootTest() {
    object_.meta.name = "bob-m";
    object_.meta.common.Edit().ns = "lab";
    object_.meta.uid = "root";
    object_.meta.resource_version = "1";
  }
  RootState ReadAs(HttpResult answer) {
    FakeApi api;
    api.transport.On(ApiRequest::GetMetadata(object_.type, "lab", "bob-m"), std::move(answer));
    MasterRoot root(api.client, object_);
    const RootState state = root.Read();
    version_ = root.object().meta.resource_version;
    problem_ = root.problem().message;
    return state;
  }
  std::string Text(const std::string& uid, const std::string& more = "") {
    return ObjectText(object_.type, "lab", "bob-m", uid, more);
  }

  KubeObject object_{TypeOf("deployment"), {}};
  std::string version_;
  std::string problem_;
};

TEST_F(MasterRootTest, IsToldApartByItsUid) {
  EXPECT_EQ(ReadAs(Answer(200, Text("root"))), RootState::kOurs);
  EXPECT_EQ(version_, "7") << "as it was read now";
  EXPECT_EQ(ReadAs(Answer(200, Text("root", R"("deletionTimestamp":"2026-12-24T00:00:00Z")"))),
            RootState::kTerminating);
  EXPECT_EQ(version_, "7");
  EXPECT_EQ(ReadAs(Answer(200, Text("other"))), RootState::kReplaced);
  EXPECT_EQ(version_, "1") << "another object's is of no use";
  EXPECT_EQ(ReadAs(NotFound(object_.type, "bob-m")), RootState::kGone);
  for (int status : {401, 403, 404, 410, 429, 500, 503}) {
    EXPECT_EQ(ReadAs(Refused(status)), RootState::kUnknown) << status;
    EXPECT_NE(problem_.find("bob-m"), std::string::npos) << status;
  }
  EXPECT_EQ(ReadAs(NoAnswer()), RootState::kUnknown);
}

TEST_F(MasterRootTest, IsReadWholeWhereMoreThanItsMetadataIsAskedFor) {
  FakeApi api;
  const std::string text =
      ObjectText(object_.type, "lab", "bob-m", "root", "", R"("spec":{"replicas":3})");
  api.transport.On(ApiRequest::Get(object_.type, "lab", "bob-m"), Answer(200, text));
  MasterRoot root(api.client, object_);
  EXPECT_EQ(root.ReadWhole(), RootState::kOurs);
  EXPECT_EQ(root.whole()["spec"]["replicas"].AsInteger(), 3);
  EXPECT_EQ(api.transport.requests.back().accept,
            ApiRequest::Get(object_.type, "", "").http.accept);
}

TEST_F(MasterRootTest, WritesUnderTheResourceVersionThatItRead) {
  FakeApi api;
  api.transport.On(ApiRequest::GetMetadata(object_.type, "lab", "bob-m"),
                   Answer(200, Text("root")));
  MasterRoot root(api.client, object_);
  ASSERT_EQ(root.Read(), RootState::kOurs);
  (void)root.WriteMarks({{annotation::kPhase, "condemned"}}, Duration(123));
  const HttpRequest& patch = api.transport.requests.back();
  EXPECT_EQ(patch.method, HttpMethod::kPatch);
  EXPECT_EQ(patch.timeout, Duration(123));
  EXPECT_NE(patch.body.find(R"("resourceVersion":"7")"), std::string::npos) << patch.body;
}

class MasterRootConflict : public MasterRootTest {
 protected:
  // What comes of a write that meets a conflict, after which the root is this.
  ApiResult WriteThen(const std::string& now) {
    FakeApi api;
    api.transport.On(ApiRequest::GetMetadata(object_.type, "lab", "bob-m"), Answer(200, now));
    const auto patch = ApiRequest::MergePatch(object_.type, "lab", "bob-m", "{}");
    api.transport.On(patch, Refused(409));
    api.transport.On(patch, Answer(200, now));
    object_.meta.generation = 3;
    ApiResult written = MasterRoot(api.client, object_)
                            .WriteMarks({{annotation::kPhase, "condemned"}}, Duration(123));
    body_ = api.transport.requests.back().body;
    return written;
  }

  std::string body_;  // of the last request
};

TEST_F(MasterRootConflict, IsNoneWhereOnlyTheStatusIsNew) {
  EXPECT_TRUE(WriteThen(Text("root", R"("generation":3)")));
  EXPECT_NE(body_.find(R"("resourceVersion":"7")"), std::string::npos) << body_;
}

TEST_F(MasterRootConflict, IsOneWhereAnythingElseIs) {
  for (
      const std::string more :
      {R"("generation":4)", R"("generation":3,"labels":{"a":"b"})",
       R"("generation":3,"annotations":{"cluster-watcher/hold-until":"2026-12-24T18:00:00Z"})",
       R"("generation":3,"deletionTimestamp":"2026-12-24T00:00:00Z")",
       R"("generation":3,"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"b"}])"}) {
    auto written = WriteThen(Text("root", more));
    ASSERT_FALSE(written) << more;
    EXPECT_EQ(written.error().failure, ApiFailure::kConflict) << more;
    EXPECT_EQ(body_, "") << "read, and not written again";
  }
  EXPECT_FALSE(WriteThen(Text("other", R"("generation":3)")));
}

}  // namespace
}  // namespace cluster_watcher
