#include "probes/kube/watch_stream.h"

#include <gtest/gtest.h>

#include "test/unit/support/fake_streams.h"
#include "test/unit/support/fake_transport.h"

namespace cluster_watcher {
namespace {

using State = WatchStream::State;

class WatchStreamTest : public testing::Test {
 protected:
  WatchStreamTest() { Open(false); }

  void Open(bool metadata_only) {
    watch_.reset();
    const ResourceType type{"batch", "v1", "jobs", "Job"};
    watch_ = std::make_unique<WatchStream>(
        access_, WatchedObject{type, "lab", "bob", metadata_only}, "7", std::nullopt,
        std::chrono::seconds(1'900), std::stop_token());
  }
  void Begin(int status = 200) { streams_.reader->Begin(status); }
  void Take(const std::string& bytes) { streams_.reader->Take(bytes); }
  void End() { streams_.reader->End(std::nullopt); }

  FakeApi api_;
  FakeStreams streams_;
  std::vector<int> statuses_;
  const WatchAccess access_{streams_, api_.tokens, api_.clock,
                            [this](const RequestRecord& r) { statuses_.push_back(r.status); }};
  std::unique_ptr<WatchStream> watch_;
};

TEST_F(WatchStreamTest, AsksForTheOneObjectAndForBookmarks) {
  EXPECT_EQ(streams_.request.target,
            "/apis/batch/v1/namespaces/lab/jobs?watch=1&fieldSelector=metadata.name%3Dbob"
            "&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=1900");
  EXPECT_EQ(streams_.request.accept, "application/json");
  Open(true);
  EXPECT_EQ(streams_.request.accept.find("application/json;as=PartialObjectMetadata;"), 0u);
}

TEST_F(WatchStreamTest, AStatusSaysHowItGoesOn) {
  const std::pair<int, State> cases[] = {
      {200, State::kUp},      {410, State::kExpired}, {401, State::kUnauthorized},
      {403, State::kRefused}, {404, State::kRefused}, {405, State::kRefused},
      {400, State::kRefused}, {302, State::kRefused}, {429, State::kFailed},
      {500, State::kFailed},  {504, State::kFailed},  {408, State::kFailed}};
  for (const auto& [status, state] : cases) {
    Open(false);
    EXPECT_EQ(watch_->state(), State::kOpening);
    Begin(status);
    EXPECT_EQ(watch_->state(), state) << status;
    EXPECT_EQ(statuses_.back(), status);
  }
  Open(false);
  streams_.reader->End(TransportError{TransportError::Kind::kConnect, "refused"});
  EXPECT_EQ(watch_->state(), State::kFailed);
  EXPECT_EQ(statuses_.back(), 0);
}

TEST_F(WatchStreamTest, OnlyWhatCountsIsAChange) {
  Begin();
  Take(Event("ADDED", 8, R"(,"spec":{"a":1})"));
  EXPECT_TRUE(watch_->TakeChange());
  EXPECT_FALSE(watch_->TakeChange()) << "taken";
  Take(Event("MODIFIED", 9, R"(,"spec":{"a":1})"));
  EXPECT_FALSE(watch_->TakeChange()) << "nothing but resourceVersion and managedFields";
  EXPECT_EQ(watch_->version(), "9");
  EXPECT_EQ(watch_->TakeShown(), "9");
  Take(Event("MODIFIED", 10, R"(,"spec":{"a":1},"status":{"b":1})"));
  EXPECT_TRUE(watch_->TakeChange());
  Take(Event("MODIFIED", 11, R"(,"spec":{"a":2})", "alice"));
  EXPECT_FALSE(watch_->TakeChange()) << "another object";
  Take(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"20"}}})"
       "\n");
  EXPECT_FALSE(watch_->TakeChange());
  EXPECT_EQ(watch_->version(), "20");
  EXPECT_EQ(watch_->TakeShown(), "10") << "a bookmark shows no object";
  const std::string gone = Event("DELETED", 21, R"(,"spec":{"a":1},"status":{"b":1})");
  Take(gone);
  EXPECT_TRUE(watch_->TakeChange());
  Take(gone);
  EXPECT_TRUE(watch_->TakeChange()) << "each time";
  EXPECT_EQ(watch_->state(), State::kUp);
}

TEST_F(WatchStreamTest, WhatTheCallerKnowsIsNoChange) {
  Begin();
  Take(Event("ADDED", 9, R"(,"spec":{"a":1})"));
  EXPECT_FALSE(watch_->TakeChange("9"));
  EXPECT_FALSE(watch_->TakeChange("8")) << "taken";
  Take(Event("MODIFIED", 10, R"(,"spec":{"a":2})"));
  EXPECT_FALSE(watch_->TakeChange("11"));
  Take(Event("MODIFIED", 11, R"(,"spec":{"a":3})") + Event("MODIFIED", 12, R"(,"spec":{"a":4})"));
  EXPECT_TRUE(watch_->TakeChange("11")) << "both";
  Take(Event("MODIFIED", 13, R"(,"spec":{"a":5})") + Event("MODIFIED", 14, R"(,"spec":{"a":5})"));
  EXPECT_FALSE(watch_->TakeChange("13")) << "the later one shows the same";
  for (int i = 0; i < 100; ++i) Take(std::string(10'000, 'x'));
  Take("\n");
  EXPECT_TRUE(watch_->TakeChange("99")) << "what is too long to be read has no version";
}

TEST_F(WatchStreamTest, WhereTheMetadataAloneIsWatchedTheRestIsNoChange) {
  Open(true);
  Begin();
  Take(Event("ADDED", 8, R"(,"spec":{"a":1})"));
  EXPECT_TRUE(watch_->TakeChange());
  Take(Event("MODIFIED", 9, R"(,"spec":{"a":2},"status":{"b":1})"));
  EXPECT_FALSE(watch_->TakeChange());
}

TEST_F(WatchStreamTest, AListItemAndAnEventOfTheSameStateAreTheSame) {
  const auto item = JsonDocument::Parse(
      R"({"metadata":{"name":"bob","resourceVersion":"1","uid":"u"},"spec":{"a":1}})");
  const auto object = JsonDocument::Parse(
      R"({"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"bob","resourceVersion":"2",)"
      R"("uid":"u"},"spec":{"a":1}})");
  EXPECT_EQ(Fingerprint(item->root(), false), Fingerprint(object->root(), false));
  EXPECT_NE(Fingerprint(item->root(), false), Fingerprint(item->root(), true));
}

TEST_F(WatchStreamTest, ALineMayArriveInPieces) {
  Begin();
  const std::string event = Event("ADDED", 8, "") + Event("DELETED", 9, "");
  for (const char byte : event) Take(std::string(1, byte));
  EXPECT_TRUE(watch_->TakeChange());
  EXPECT_EQ(watch_->version(), "9");
  Take("\n\n");
  EXPECT_EQ(watch_->state(), State::kUp) << "an empty line says nothing";
}

TEST_F(WatchStreamTest, ALineThatIsTooLongIsPassedOverAndIsAChange) {
  Begin();
  Take(Event("ADDED", 8, R"(,"spec":{"a":1})"));
  EXPECT_TRUE(watch_->TakeChange());
  for (int i = 0; i < 100; ++i) Take(std::string(10'000, 'x'));
  EXPECT_FALSE(watch_->TakeChange());
  Take("x\n" + Event("MODIFIED", 9, R"(,"spec":{"a":1})"));
  EXPECT_TRUE(watch_->TakeChange());
  EXPECT_EQ(watch_->state(), State::kUp);
  EXPECT_EQ(watch_->version(), "9");
  Take(Event("MODIFIED", 10, std::string(R"(,"x":")") + std::string(60'000, 'x') + "\""));
  EXPECT_EQ(watch_->version(), "10") << "this one isn't too long";
}

TEST_F(WatchStreamTest, WhatIsNoEventEndsIt) {
  const std::pair<std::string, State> cases[] = {
      {"<html>\n", State::kFailed},
      {"{}\n", State::kFailed},
      {R"({"kind":"DeploymentList","items":[]})"
       "\n",
       State::kFailed},
      {R"({"type":"CHANGED","object":{"metadata":{"name":"bob","resourceVersion":"8"}}})"
       "\n",
       State::kFailed},
      {R"({"type":"MODIFIED","object":{"metadata":{"name":"bob"}}})"
       "\n",
       State::kFailed},
      {R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}})"
       "\n",
       State::kExpired},
      {R"({"type":"ERROR","object":{"kind":"Status","code":500,"message":"unwell"}})"
       "\n",
       State::kFailed}};
  for (const auto& [line, state] : cases) {
    Open(false);
    Begin();
    Take(line + Event("DELETED", 9, ""));
    EXPECT_EQ(watch_->state(), state) << line;
    EXPECT_EQ(watch_->version(), "7") << "nothing counts that comes behind it";
    End();
    EXPECT_EQ(watch_->state(), state) << line;
  }
  EXPECT_EQ(watch_->problem(), "unwell");
}

TEST_F(WatchStreamTest, BytesThatAreNeitherEventNorBookmarkAreNoSignOfLife) {
  Begin();
  const MonotonicTime begun = watch_->heard();
  api_.clock.elapsed += std::chrono::minutes(1);
  Take("\n");
  Take(R"({"type":"BOOK)");
  EXPECT_EQ(watch_->heard(), begun);
  Take(R"(MARK","object":{"metadata":{"resourceVersion":"9"}}})"
       "\n");
  EXPECT_EQ(watch_->heard(), begun + std::chrono::minutes(1));
}

TEST_F(WatchStreamTest, TheServerMayEndItButNotWithinAnEvent) {
  Begin();
  End();
  EXPECT_EQ(watch_->state(), State::kClosed);
  Open(false);
  Begin();
  Take("{\"type\":");
  End();
  EXPECT_EQ(watch_->state(), State::kFailed);
}

}  // namespace
}  // namespace cluster_watcher
