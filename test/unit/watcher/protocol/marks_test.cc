#include "watcher/protocol/marks.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/base/json.h"
#include "probes/base/time_text.h"
#include "probes/owner_kinds.h"
#include "test/unit/support/objects.h"
#include "test/unit/support/words.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

// A root with the UID "root-1" and these annotations.
ObjectMeta Root(std::map<std::string, std::string, std::less<>> annotations) {
  ObjectMeta meta;
  meta.name = "bob-m";
  meta.common.Edit().ns = "lab";
  meta.uid = "root-1";
  meta.resource_version = "41";
  meta.common.Edit().annotations = std::move(annotations);
  return meta;
}

std::map<std::string, std::string, std::less<>> AllMarks(const std::string& root_uid) {
  return {{annotation::kRootUid, root_uid},
          {annotation::kPhase, "deleting"},
          {annotation::kReason, "owner-absent"},
          {annotation::kCondemnedBy, "bob-m-1/pod-1"},
          {annotation::kDeletingSince, "2026-12-24T18:00:00Z"},
          {annotation::kAbandonedSince, "2026-12-24T17:59:00Z"},
          {annotation::kRecordedOwner,
           R"({"kind":"deployment.apps","namespace":"lab","name":"bob","uid":"owner-1",)"
           R"("grace":"1m30s","selector":"app=bob"})"}};
}

// Both as they stand in JSON.
std::string OwnerMark(const std::string& name, const std::string& uid) {
  return R"({"kind":"deployment.apps","name":")" + name + R"(","uid":")" + uid + R"("})";
}

RecordedOwner Bob() {
  return {"deployment.apps", "lab", "bob", "owner-1", seconds(90), "app=bob", ""};
}

ObjectMeta RootWith(const AnnotationChanges& changes) {
  ObjectMeta root = Root({{annotation::kRootUid, "root-1"}});
  for (const auto& [key, value] : changes) {
    if (value) root.common.Edit().annotations[key] = *value;
  }
  return root;
}

void ExpectNone(const Marks& marks) {
  EXPECT_EQ(marks.phase, Phase::kWatching);
  EXPECT_EQ(marks.reason, "");
  EXPECT_EQ(marks.condemned_by.ToText(), "");
  EXPECT_FALSE(marks.deleting_since || marks.abandoned_since || marks.owner);
}

// The annotations in a patch; null becomes nullopt.
AnnotationChanges PatchedBy(const std::string& patch, const ObjectMeta& root) {
  AnnotationChanges changes;
  auto document = JsonDocument::Parse(patch);
  EXPECT_TRUE(document) << patch;
  if (!document) return changes;
  EXPECT_EQ(document->root().size(), 1u) << patch;
  const JsonValue metadata = document->root()["metadata"];
  EXPECT_EQ(metadata.size(), 2u) << patch;
  EXPECT_EQ(metadata["resourceVersion"].AsString(), root.resource_version);
  for (const auto& [key, value] : metadata["annotations"].Members()) {
    EXPECT_TRUE(value.IsNull() || value.AsString()) << patch;
    changes[std::string(key)] =
        value.IsNull() ? std::nullopt : std::optional(std::string(*value.AsString()));
  }
  return changes;
}

TEST(Marks, AreReadFromTheirOwnRoot) {
  const Marks marks = ReadMarks(Root(AllMarks("root-1")));
  EXPECT_EQ(marks.phase, Phase::kDeleting);
  EXPECT_EQ(marks.reason, "owner-absent");
  EXPECT_EQ(marks.condemned_by, (WatcherId{"bob-m-1", "pod-1"}));
  EXPECT_EQ(marks.deleting_since, ParseTime("2026-12-24T18:00:00Z"));
  EXPECT_EQ(marks.abandoned_since, ParseTime("2026-12-24T17:59:00Z"));
  EXPECT_EQ(marks.owner, Bob());
}

TEST(Marks, OfAnotherObjectDontCount) {
  auto without = AllMarks("");
  without.erase(annotation::kRootUid);
  for (const auto& annotations : {AllMarks("root-0"), AllMarks(""), AllMarks("ROOT-1"), without}) {
    ExpectNone(ReadMarks(Root(annotations)));
    EXPECT_TRUE(HasVoidMarks(Root(annotations)));
  }
}

TEST(Marks, AreForeignEvenWhereThereIsButOne) {
  EXPECT_FALSE(HasVoidMarks(Root({})));
  EXPECT_FALSE(HasVoidMarks(Root({{annotation::kOwner, "bob"}, {annotation::kKeep, "true"}})));
  EXPECT_FALSE(HasVoidMarks(Root(AllMarks("root-1"))));
  for (const auto& [key, value] : AllMarks("root-0")) {
    EXPECT_TRUE(HasVoidMarks(Root({{key, value}}))) << key;
  }
}

TEST(Marks, ThatMakeNoSenseCountAsNone) {
  struct Case {
    const char* key;
    std::string value;
  };
  const std::vector<Case> cases = {
      {annotation::kPhase, ""},
      {annotation::kPhase, "Deleting"},
      {annotation::kPhase, "done"},
      {annotation::kPhase, "creating"},
      {annotation::kDeletingSince, "yesterday"},
      {annotation::kDeletingSince, "1710-01-01T00:00:00Z"},
      {annotation::kDeletingSince, "9999-12-31T23:59:59Z"},
      {annotation::kRecordedOwner, ""},
      {annotation::kRecordedOwner, R"({"kind":"deployment.apps","name":"bob","uid":""})"},
      {annotation::kRecordedOwner, R"({"kind":"a/b","name":"bob","uid":"u"})"},
      {annotation::kRecordedOwner, R"(["deployment.apps"])"},
      {annotation::kRecordedOwner, OwnerMark(std::string(254, 'b'), "u")},
      {annotation::kRecordedOwner, OwnerMark("bob\\u001b[2J", "u")},
      {annotation::kRecordedOwner, OwnerMark("../bob", "u")},
      {annotation::kRecordedOwner, OwnerMark("bob", std::string(129, 'u'))},
      {annotation::kRecordedOwner, OwnerMark("bob", "u\\n1")},
      {annotation::kRecordedOwner, OwnerMark("bob", "\u00fc1")},
  };
  for (const Case& one : cases) {
    auto annotations = AllMarks("root-1");
    annotations[one.key] = one.value;
    const Marks marks = ReadMarks(Root(annotations));
    const std::string key = one.key;
    EXPECT_EQ(marks.phase, key == annotation::kPhase ? Phase::kWatching : Phase::kDeleting);
    EXPECT_EQ(marks.deleting_since.has_value(), key != annotation::kDeletingSince);
    EXPECT_EQ(marks.owner.has_value(), key != annotation::kRecordedOwner) << one.value;
  }
}

TEST(Marks, OfTheOwnerSurviveARoundTrip) {
  for (const ResourceType& type : WorkloadTypes()) {
    for (const auto& grace : {std::optional<seconds>(), std::optional(seconds(0)),
                              std::optional(seconds(90)), std::optional(seconds(86'400))}) {
      for (const char* selector : {"", "app=bob,tier in (a,b),!canary"}) {
        const RecordedOwner owner{type.SingularName(),
                                  "lab",
                                  "bob.example",
                                  "owner-1",
                                  grace,
                                  selector,
                                  *selector == 0 ? "" : "pod/bob-1"};
        const AnnotationChanges changes = OwnerMarks(owner);
        EXPECT_EQ(ReadMarks(RootWith(changes)).owner, owner) << type.QualifiedName();
        const std::string& mark = *changes.at(annotation::kRecordedOwner);
        EXPECT_EQ(mark.find("grace") != mark.npos, grace.has_value());
        EXPECT_EQ(mark.find("selector") != mark.npos, *selector != 0);
      }
    }
  }
}

TEST(Marks, OfAnAbsurdTerminationGraceStillSayThatItIsLong) {
  RecordedOwner owner = Bob();
  auto spec = JsonDocument::Parse(R"({"spec":{"replicas":1,"template":{"spec":)"
                                  R"({"terminationGracePeriodSeconds":9223372036854775807}}}})");
  owner.termination_grace = ReadOwnerFields(TypeOf("deployment"), spec->root())->termination_grace;
  const Marks marks = ReadMarks(RootWith(OwnerMarks(owner)));
  ASSERT_TRUE(marks.owner && marks.owner->termination_grace);
  EXPECT_GE(*marks.owner->termination_grace, std::chrono::hours(1));
}

TEST(MarksPatch, SetsTakesOffAndNamesTheRoot) {
  const ObjectMeta root = Root(AllMarks("root-1"));
  const AnnotationChanges changes = {{annotation::kPhase, "condemned"},
                                     {annotation::kReason, std::nullopt},
                                     {annotation::kCondemnedBy, "a \"b\"\n/c"}};
  AnnotationChanges expected = changes;
  expected[annotation::kRootUid] = "root-1";
  EXPECT_EQ(PatchedBy(MarksPatch(root, changes), root), expected);
}

TEST(MarksPatch, TakesOffMarksThatAreNotItsOwnAndNothingElse) {
  ObjectMeta root = Root(AllMarks("root-0"));
  const std::pair<const char*, const char*> others[] = {
      {annotation::kHoldUntil, "2026-12-24T18:00:00Z"},
      {annotation::kOwner, "bob"},
      {annotation::kKeep, "true"},
      {"example.com/a", "b"}};
  root.common.Edit().annotations.insert(std::begin(others), std::end(others));
  const AnnotationChanges patched =
      PatchedBy(MarksPatch(root, {{annotation::kPhase, "condemned"}}), root);
  for (const auto& [key, value] : others) EXPECT_FALSE(patched.contains(key)) << key;
  for (const auto& [key, value] : AllMarks("root-0")) {
    ASSERT_TRUE(patched.contains(key)) << key;
    if (key == annotation::kRootUid) {
      EXPECT_EQ(patched.at(key), "root-1");
    } else if (key == annotation::kPhase) {
      EXPECT_EQ(patched.at(key), "condemned");
    } else {
      EXPECT_EQ(patched.at(key), std::nullopt) << key;
    }
  }
}

TEST(MarksPatch, WithoutProtocolMarksKeepsTheOwner) {
  ObjectMeta root = Root(AllMarks("root-1"));
  for (const auto& [key, value] : PatchedBy(MarksPatch(root, WithoutProtocolMarks()), root)) {
    value ? void(root.common.Edit().annotations[key] = *value)
          : void(root.common.Edit().annotations.erase(key));
  }
  const Marks marks = ReadMarks(root);
  EXPECT_EQ(marks.owner, Bob());
  EXPECT_EQ(marks.phase, Phase::kWatching);
  EXPECT_EQ(marks.reason + marks.condemned_by.ToText(), "");
  EXPECT_FALSE(marks.deleting_since);
}

TEST(WatcherId, IsReadAsItIsWritten) {
  EXPECT_EQ(WatcherId::Parse("bob-m-1/pod-1"), (WatcherId{"bob-m-1", "pod-1"}));
  for (const char* text : {"bob-m-1/pod-1", "cli/x7f", "nobody", ""}) {
    EXPECT_EQ(WatcherId::Parse(text).ToText(), text);
    EXPECT_EQ(WatcherId::Parse(text).IsPod(), text == std::string("bob-m-1/pod-1")) << text;
  }
}

// They end in log lines and Events.
TEST(Marks, ThatNoWatcherWouldWriteSoLongAreNone) {
  const std::string longest = std::string(253, 'p') + "/" + std::string(128, 'u');
  EXPECT_EQ(WatcherId::Parse(longest).ToText(), longest);
  EXPECT_EQ(WatcherId::Parse(longest + "u").ToText(), "");
  auto annotations = AllMarks("root-1");
  annotations[annotation::kReason] = std::string(65, 'r');
  EXPECT_EQ(ReadMarks(Root(annotations)).reason, "");
}

TEST(Marks, OfStepsSurviveARoundTrip) {
  const std::set<std::string> done = {"before-delete/drain", "before-delete/say \"bye\""};
  ObjectMeta root;
  root.uid = "u";
  root.common.Edit().annotations = {{annotation::kRootUid, "u"},
                                    {annotation::kStepsDone, StepsMark(done)}};
  EXPECT_EQ(ReadMarks(root).steps_done, done);
  root.common.Edit().annotations[annotation::kRootUid] = "another";
  EXPECT_TRUE(ReadMarks(root).steps_done.empty());
  for (const char* text : {"", "drain", "{}", "[1, null]"}) {
    root.common.Edit().annotations = {{annotation::kRootUid, "u"}, {annotation::kStepsDone, text}};
    EXPECT_TRUE(ReadMarks(root).steps_done.empty()) << text;
  }
  EXPECT_TRUE(WithoutProtocolMarks().contains(annotation::kStepsDone));
}

// A sweep may be for another label.
TEST(Marks, OfAClaimThatIsCollectedSayWhichLabelItsClusterHas) {
  const std::pair<ClusterId, const char*> clusters[] = {
      {{"lab", DefaultProfile(), "bob"}, "bob"},
      {{"lab", ProfileTable::BuiltIn().OfLabel("team/cluster"), "bob"}, "team/cluster=bob"}};
  for (const auto& [cluster, written] : clusters) {
    const AnnotationChanges marks = CollectMarks(WallTime(), cluster);
    EXPECT_EQ(marks.at(annotation::kCollectOf), written);
    EXPECT_EQ(CollectedOf(RootWith(marks)), cluster.Selector());
  }
  EXPECT_EQ(CollectedOf(Root({})), "");
}

}  // namespace
}  // namespace cluster_watcher
