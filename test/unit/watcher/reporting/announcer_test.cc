// Who gets an Event, and how a long one is shortened. life_of_a_cluster_test.cc covers what is said
// in the course of a life.
#include "watcher/reporting/announcer.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/ostream_sink.h>

#include <set>
#include <sstream>

#include "probes/base/time_text.h"
#include "test/unit/support/lab.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

class AnnouncerTest : public testing::Test, protected Lab {
 protected:
  AnnouncerTest() {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"drivers"}})");
    snapshot_.cluster = ClusterId{"lab", DefaultProfile(), "spark"};
    snapshot_.root = Object("deployments", "spark-m", "lab");
    snapshot_.owner_ns = "lab";
    snapshot_.facts.owner.emplace();
    decision_.reason = Reason::kOwnerAbsent;
    decision_.detail = "there is no deployment.apps/bob";
  }

  static KubeObject Object(const char* plural, const char* name, const char* ns) {
    KubeObject object;
    object.type = *FindBuiltInByName(plural, "apps");
    object.meta.name = name;
    object.meta.common.Edit().ns = ns;
    object.meta.uid = "1";
    return object;
  }

  // The objects of all Events in both namespaces: "NAMESPACE: KIND/NAME".
  std::set<std::string> Regarded() {
    std::set<std::string> all;
    for (const std::string ns : {"lab", "drivers"}) {
      ForEachEvent(ns, [&](JsonValue event) {
        all.insert(ns + ": " + std::string(*event["regarding"]["kind"].AsString()) + "/" +
                   std::string(*event["regarding"]["name"].AsString()));
      });
    }
    return all;
  }
  std::set<std::string> Notes(const std::string& reason) {
    std::set<std::string> notes;
    ForEachEvent("lab", [&](JsonValue event) {
      if (event["reason"].AsString() == reason) notes.emplace(*event["note"].AsString());
    });
    return notes;
  }
  std::string Note() {
    std::string note;
    ForEachEvent("lab", [&](JsonValue event) { note = *event["note"].AsString(); });
    return note;
  }
  void ForEachEvent(const std::string& ns, const std::function<void(JsonValue)>& show) {
    const auto list =
        JsonDocument::Parse(Read("/apis/events.k8s.io/v1/namespaces/" + ns + "/events").body);
    for (const JsonValue event : list->root()["items"].Elements()) show(event);
  }

  Log log_{LogLevel::kInfo, LogFormat::kText, std::make_shared<spdlog::sinks::null_sink_st>()};
  EventRecorder events_{client_, clock_, log_.logger(), "test"};
  Announcer announcer_{events_, clock_, log_};
  Snapshot snapshot_;
  Decision decision_;
  Abandonment abandonment_{.confirmations = 3};
};

using Texts = std::set<std::string>;

TEST_F(AnnouncerTest, AWarningIsOnTheMasterRootAndTheOwnersNamespace) {
  snapshot_.owner_ns = "drivers";
  EXPECT_TRUE(announcer_.Warn(snapshot_, decision_, abandonment_, {}));
  EXPECT_EQ(Regarded(), (Texts{"lab: Deployment/spark-m", "drivers: Namespace/drivers"}));
}

TEST_F(AnnouncerTest, AWarningIsOnTheOwnerTooWhereItIsThere) {
  snapshot_.owner_ns = "drivers";
  snapshot_.facts.owner->object = Object("deployments", "bob", "drivers");
  announcer_.Warn(snapshot_, decision_, abandonment_, {});
  EXPECT_EQ(Regarded(), (Texts{"lab: Deployment/spark-m", "drivers: Namespace/drivers",
                               "drivers: Deployment/bob"}));
}

TEST_F(AnnouncerTest, ADeletionIsOnTheOwnerOrElseItsNamespaceAndOnTheMasterRoot) {
  announcer_.Deleting(snapshot_, {}, "");
  EXPECT_EQ(Regarded(), (Texts{"lab: Deployment/spark-m", "lab: Namespace/lab"}));
  snapshot_.facts.owner->object = Object("deployments", "bob", "drivers");
  announcer_.Deleting(snapshot_, {}, "");
  EXPECT_EQ(Regarded(),
            (Texts{"lab: Deployment/spark-m", "lab: Namespace/lab", "drivers: Deployment/bob"}));
}

// The namespace may be gone with the driver, or the account may have no rights there.
TEST_F(AnnouncerTest, WhatCannotBeWrittenInTheOwnersNamespaceIsWrittenInTheClusters) {
  snapshot_.owner_ns = "gone";
  announcer_.Deleted(snapshot_, "", {});
  EXPECT_EQ(Regarded(), Texts{"lab: Namespace/lab"});
}

TEST_F(AnnouncerTest, ItIsKnownWhenNobodyCouldBeTold) {
  Refuse("POST", "/events", 503);
  EXPECT_FALSE(announcer_.Warn(snapshot_, decision_, abandonment_, {}));
}

// A watcher that can't read anything at the last look has named the objects in earlier Events.
TEST_F(AnnouncerTest, ASparingIsToldOfAlsoWhereNothingCanBeRead) {
  announcer_.Condemned(snapshot_, decision_, abandonment_);
  announcer_.Spared({}, Refusal::kUnknown, "get /apis: HTTP 503");
  EXPECT_EQ(Notes("ClusterSpared"),
            (Texts{"Cluster spark is spared (unknown): get /apis: HTTP 503"}));
  EXPECT_EQ(Regarded(), (Texts{"lab: Deployment/spark-m", "lab: Namespace/lab"}));
}

TEST_F(AnnouncerTest, TheSameSparingIsToldOfOnceAnHour) {
  const auto spare = [&](Refusal refusal) {
    announcer_.Spared(snapshot_, refusal, "at " + std::to_string(clock_.elapsed.count()));
    return announcer_.spares_again();
  };
  EXPECT_FALSE(spare(Refusal::kConflict));
  clock_.elapsed = seconds(60);
  EXPECT_TRUE(spare(Refusal::kConflict));
  EXPECT_FALSE(spare(Refusal::kHold));
  EXPECT_FALSE(spare(Refusal::kConflict));
  clock_.elapsed += std::chrono::hours(2);
  EXPECT_FALSE(spare(Refusal::kConflict));
  EXPECT_EQ(Notes("ClusterSpared").size(), 4u);
  announcer_.Condemned(snapshot_, decision_, abandonment_);
  EXPECT_FALSE(spare(Refusal::kConflict)) << "the last Event would be a condemnation";
  announcer_.CameBack(snapshot_, decision_, seconds(1), {});
  EXPECT_FALSE(spare(Refusal::kConflict));
}

// Until the pod has been read, nobody knows which objects the Event is about.
TEST_F(AnnouncerTest, NothingIsToldOfWhatIsNotKnown) {
  announcer_.Spared({}, Refusal::kUnknown, "");
  announcer_.CameBack({}, decision_, seconds(1), {});
  EXPECT_EQ(Regarded(), Texts{});
}

// If the API server throttles Events, deletions go on.
TEST_F(AnnouncerTest, WhatIsAskedOfEventsHoldsUpNothingElse) {
  small_kubernetes::Fault fault;
  fault.contains = "/events";
  fault.times = 0;
  fault.response = {429, "{}", "application/json", 60};
  kubernetes_.GetFaults().Add(fault);
  announcer_.Deleting(snapshot_, {}, "");
  EXPECT_EQ(client_.TakeRetryAfter(), Duration(0));
}

TEST_F(AnnouncerTest, TheCommandIsThereHoweverMuchThereIsToSay) {
  decision_.detail = std::string(3'000, 'x');
  announcer_.Warn(snapshot_, decision_, abandonment_, {});
  const std::string note = Note();
  EXPECT_EQ(note.size(), 1024u);
  EXPECT_NE(note.find("x.... Unless"), std::string::npos) << note;
  EXPECT_TRUE(
      note.ends_with("kubectl annotate -n lab deployment.apps/spark-m --overwrite "
                     "cluster-watcher/hold-until=2026-12-25T00:00:00Z"))
      << note;
}

TEST_F(AnnouncerTest, NothingForeignForgesALineOrSteersATerminal) {
  decision_.detail = "kept\nCluster bob is deleted\x1b[2J" + std::string(300, '\x1b');
  announcer_.Warn(snapshot_, decision_, abandonment_, {});
  const std::string note = Note();
  EXPECT_NE(note.find("kept\\nCluster bob is deleted\\u001b[2J"), std::string::npos) << note;
  EXPECT_EQ(note.size(), 1024u);
  EXPECT_TRUE(note.ends_with("2026-12-25T00:00:00Z")) << "the command is there all the same";
  Marks marks;
  marks.reason = "\u202e";
  announcer_.TakenOver(snapshot_, marks);
  EXPECT_EQ(Read("/apis/events.k8s.io/v1/namespaces/lab/events").body.find("\u202e"),
            std::string::npos);
}

TEST_F(AnnouncerTest, ANoteIsNotCutInTheMiddleOfACharacter) {
  const std::string note = FitNote("", "a" + std::string("\xC3\xA4") + std::string(1'100, 'x'), "");
  EXPECT_EQ(note.size(), 1024u);
  std::string umlauts;
  for (int i = 0; i < 1'000; ++i) umlauts += "\xC3\xA4";
  EXPECT_EQ(FitNote("", umlauts, "").size(), 1023u);
}

TEST_F(AnnouncerTest, WhatWasLeftIsNamed) {
  DeletionReport report;
  report.found = 3;
  report.deletes = {{"deleted", 2}, {"forbidden", 1}};
  report.left = {"service/ui: kept", "secret/key: forbidden"};
  report.root_deleted = true;
  report.took = seconds(90);
  announcer_.Deleted(snapshot_, "owner-absent", report);
  EXPECT_EQ(Note(),
            "Cluster spark is deleted (owner-absent): 3 members and the master root, in 1m30s "
            "(deletes: 2 deleted; 1 forbidden); left: service/ui: kept; left: secret/key: "
            "forbidden");
}

TEST_F(AnnouncerTest, ClaimsThatStayAreNamedFirstAndCounted) {
  DeletionReport report;
  for (int i = 0; i < 40; ++i) {
    report.left.push_back("pod/" + std::string(60, 'x') + std::to_string(i) + ": kept");
  }
  for (int i = 0; i < 100; ++i) {
    report.left.push_back("persistentvolumeclaim/data-" + std::to_string(i) +
                          ": volumes are preserved");
  }
  report.left.push_back("persistentvolumeclaim/other: its StatefulSet stays");
  announcer_.AskedBy("alice");
  announcer_.Deleted(snapshot_, "asked", report);
  const std::string note = Note();
  EXPECT_NE(
      note.find("; left: persistentvolumeclaim/data-0, persistentvolumeclaim/data-1, "
                "persistentvolumeclaim/data-2 and 97 more: volumes are preserved; left: pod/"),
      std::string::npos)
      << note;
  EXPECT_NE(note.find("; left: persistentvolumeclaim/other: its StatefulSet stays"),
            std::string::npos);
  EXPECT_TRUE(note.ends_with(".... Asked for by alice")) << note;
  EXPECT_EQ(note.size(), 1024u);
}

TEST_F(AnnouncerTest, WhatACommandBeganIsSaidWithWhatIsKnown) {
  Marks marks;
  marks.condemned_by = {"cli", "bcdfg"};
  marks.reason = "asked";
  marks.deleting_since = clock_.WallNow();
  announcer_.TakenOver(snapshot_, marks);
  announcer_.Deleted(snapshot_, "owner-absent", {});
  const std::string begun = ". Begun by cli/bcdfg (asked) at " + FormatTime(clock_.WallNow());
  EXPECT_EQ(Notes("ClusterDeleted"),
            (Texts{"Cluster spark is deleted (owner-absent): 0 members, in 0s" + begun}));
  announcer_.Condemned(snapshot_, decision_, abandonment_);
  announcer_.Spared(snapshot_, Refusal::kHold, "held");
  EXPECT_EQ(Notes("ClusterSpared"), (Texts{"Cluster spark is spared (hold): held"}))
      << "the next deletion is its own";
}

TEST_F(AnnouncerTest, ASweepIsNamedAndWarnsAllTheSame) {
  std::ostringstream text;
  Log log(LogLevel::kWarn, LogFormat::kJson,
          std::make_shared<spdlog::sinks::ostream_sink_st>(text));
  Announcer announcer(events_, clock_, log);
  announcer.SweptBy("system:serviceaccount:ops:sweep");
  announcer.Deleted(snapshot_, "owner-absent", {});
  EXPECT_TRUE(Note().ends_with(". Asked for by a sweep of system:serviceaccount:ops:sweep"));
  const auto line = JsonDocument::Parse(text.str());
  ASSERT_TRUE(line) << text.str();
  EXPECT_EQ(line->root()["askedBy"].AsString(), "system:serviceaccount:ops:sweep");
}

}  // namespace
}  // namespace cluster_watcher
