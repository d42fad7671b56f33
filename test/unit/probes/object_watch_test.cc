#include "probes/object_watch.h"

#include <gtest/gtest.h>

#include "test/unit/support/fake_streams.h"
#include "test/unit/support/fake_transport.h"

namespace cluster_watcher {
namespace {

class ObjectWatchTest : public testing::Test {
 protected:
  ObjectWatchTest() {
    api_.transport.On(ApiRequest::ListByName(TypeOf("job"), "lab", "bob", Freshness::kCached),
                      ListAnswer(TypeOf("job"), {}));
  }

  // Begins the watch, if that is due, and answers it.
  void Begin() {
    watch_.Tend({});
    ASSERT_NE(streams_.reader, nullptr);
    streams_.reader->Begin(200);
    watch_.TakeChange();
  }
  // Whether what arrives is a change.
  bool IsChange(const std::string& event) {
    streams_.reader->Take(event);
    watch_.Tend({});
    return watch_.TakeChange();
  }

  FakeApi api_;
  FakeStreams streams_;
  const WatchAccess access_{streams_, api_.tokens, api_.clock, [](const RequestRecord&) {}};
  ObjectWatch watch_{api_.client, access_, {TypeOf("job"), "lab", "bob", false},
                     "1",         7,       [](const ObjectWatch::Ended&) {}};
};

// An etcd that was restored counts from an earlier version on.
TEST_F(ObjectWatchTest, WhatIsKnownIsForgottenWhereTheVersionsMayBeginAnew) {
  Begin();
  watch_.NoteKnown("5000");
  EXPECT_FALSE(IsChange(Event("MODIFIED", 5'000, R"(,"spec":{"a":1})")));
  EXPECT_TRUE(IsChange(Event("MODIFIED", 5'001, R"(,"spec":{"a":2})")));
  streams_.reader->Take(R"({"type":"ERROR","object":{"code":410}})"
                        "\n");
  watch_.Tend({});
  api_.clock.elapsed += std::chrono::minutes(1);
  Begin();
  EXPECT_TRUE(IsChange(Event("MODIFIED", 3'050, R"(,"spec":{"a":3})")));
}

// The API server that is asked where to begin again may know less than the event said.
TEST_F(ObjectWatchTest, ListsThatLagBehindWhatWasShownMakeNoReadNewEnough) {
  Begin();
  EXPECT_TRUE(IsChange(Event("MODIFIED", 5'000, R"(,"spec":{"a":1})")));
  EXPECT_FALSE(watch_.IsAsNew("4999"));
  streams_.reader->Take(R"({"type":"ERROR","object":{"code":410}})"
                        "\n");
  watch_.Tend({});
  api_.clock.elapsed += std::chrono::minutes(1);
  Begin();
  EXPECT_FALSE(watch_.IsAsNew("4999"));
  IsChange(Event("MODIFIED", 4'000, R"(,"spec":{"a":2})"));
  EXPECT_FALSE(watch_.IsAsNew("4999"));
  watch_.NoteConsistentRead();
  EXPECT_TRUE(watch_.IsAsNew("4999"));
}

}  // namespace
}  // namespace cluster_watcher
