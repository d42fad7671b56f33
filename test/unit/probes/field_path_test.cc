#include "probes/field_path.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/support/words.h"

namespace cluster_watcher {
namespace {

constexpr char kObject[] = R"({
  "metadata": {"labels": {"example.com/state": "done", "a b": "spaced"}},
  "status": {
    "phase": "Succeeded", "count": 3, "ratio": 0.5, "ended": true, "nothing": null, "empty": "",
    "runs": [{"name": "one", "state": "old"}, {"name": "two", "state": "new"}],
    "conditions": [
      {"type": "Ready", "status": "False", "more": {"by": "x"}},
      {"type": "Complete", "status": "True", "more": {"by": "y"}},
      {"type": "Twice", "status": "1"}, {"type": "Twice", "status": "2"}]
  }
})";

Result<std::optional<std::string>> Find(const std::string& path) {
  static const JsonDocument object = *JsonDocument::Parse(kObject);
  auto parsed = FieldPath::Parse(path);
  EXPECT_TRUE(parsed) << path << ": " << (parsed ? "" : parsed.error().message);
  if (!parsed) return Failure("doesn't parse");
  return parsed->Find(object.root());
}

TEST(FieldPath, FindsWhatKubectlFinds) {
  const std::vector<std::pair<const char*, std::vector<const char*>>> cases = {
      {"Succeeded",
       {"{.status.phase}", ".status.phase", "status.phase", "{$.status.phase}",
        "{.status['phase']}", "{['status'][\"phase\"]}"}},
      {"3", {"{.status.count}"}},
      {"0.5", {"{.status.ratio}"}},
      {"true", {"{.status.ended}"}},
      {"", {"{.status.empty}"}},
      {"done",
       {R"({.metadata.labels.example\.com/state})", "{.metadata.labels['example.com/state']}"}},
      {"spaced", {"{.metadata.labels['a b']}"}},
      {"old", {"{.status.runs[0].state}"}},
      {"new", {"{.status.runs[1].state}", "{.status.runs[-1].state}"}},
      {"one", {"{.status.runs[-2].name}"}},
      {"True", {R"({.status.conditions[?(@.type=="Complete")].status})"}},
      {"False", {R"({.status.conditions[?(@.type=='Ready')].status})"}},
      {"y", {R"({.status.conditions[?( @.type == "Complete" )].more.by})"}},
      {"Ready", {R"({.status.conditions[?(@.more.by=="x")].type})"}},
  };
  for (const auto& [expected, paths] : cases) {
    for (const char* path : paths) {
      const auto found = Find(path);
      ASSERT_TRUE(found) << path;
      EXPECT_EQ(*found, expected) << path;
    }
  }
}

TEST(FieldPath, FindsNothingWhereThereIsNothing) {
  for (const char* path :
       {"{.status.nothing}", "{.status.none}", "{.none.at.all}", "{.status.phase.deeper}",
        "{.status.runs[2].state}", "{.status.runs[-3].state}", "{.status.phase[0]}",
        R"({.status.conditions[?(@.type=="None")].status})",
        R"({.status.phase[?(@.type=="None")].status})"}) {
    const auto found = Find(path);
    ASSERT_TRUE(found) << path;
    EXPECT_EQ(*found, std::nullopt) << path;
  }
}

TEST(FieldPath, AListOrObjectIsAnError) {
  for (const char* path :
       {"{.status}", "{.status.runs}", "{.status.runs[0]}", "{.status.runs.state}",
        R"({.status.conditions[?(@.type=="Twice")].status})", "{.status.conditions[0].more}"}) {
    const auto found = Find(path);
    ASSERT_FALSE(found) << path;
    EXPECT_NE(found.error().message, "");
  }
}

TEST(FieldPath, WhatDoesNotParse) {
  for (const std::string& path :
       Words("{} {.} . {.status {.status}} {..phase} {.status..phase} {.status[*]} {.status.*} "
             "{.status[]} {.status[x]} {.status[0} {.status['a} {.status['a'} {.status[0:1]} "
             "{.status[0,1]} {.status[?(@.a)]} {.status[?(@.a!=\"b\")]} {.status[?(@.a==b)]} "
             "{.status[?(.a==\"b\")]} {.status[?(@==\"b\")]} {.status[?(@.a==\"b\"].c} "
             "{.status.phase.} {.status[99999999999]} {@}")) {
    EXPECT_FALSE(FieldPath::Parse(path)) << path;
  }
  for (const char* path : {"", "{.status} {.phase}", "{.sta tus}", "{range .items[*]}"}) {
    EXPECT_FALSE(FieldPath::Parse(path)) << path;
  }
  EXPECT_FALSE(FieldPath::Parse("{." + std::string(2'000, 'a') + "}"));
}

TEST(CompletedWhen, HoldsWhereTheFieldHasOneOfTheValuesOrAnyIfNoneIsGiven) {
  const JsonDocument object = *JsonDocument::Parse(kObject);
  const std::pair<bool, std::vector<const char*>> cases[] = {
      {true,
       {"{.status.phase}=Succeeded", "{.status.phase}=Failed,Succeeded", ".status.phase=Succeeded",
        "status.phase=Succeeded,Failed", "{.status.ended}=true", "{.status.count}=3",
        R"({.status.conditions[?(@.type=="Complete")].status}=True)",
        R"(.status.conditions[?(@.type=="Complete")].status=True)", "{.status.phase}",
        "status.phase", R"(.status.conditions[?(@.type=="Complete")].status)"}},
      {false,
       {"{.status.phase}=Failed", "{.status.phase}=succeeded", "{.status.nothing}=null",
        "{.status.none}=Succeeded", "{.status.nothing}", "{.status.none}",
        R"({.status.conditions[?(@.type=="Ready")].status}=True)"}},
  };
  for (const auto& [expected, texts] : cases) {
    for (const char* text : texts) {
      const auto completed = CompletedWhen::Parse(text);
      ASSERT_TRUE(completed) << text << ": " << completed.error().message;
      const auto holds = completed->Holds(object.root());
      ASSERT_TRUE(holds) << text;
      EXPECT_EQ(*holds, expected) << text;
      EXPECT_EQ(completed->text(), text);
    }
  }
  EXPECT_FALSE(CompletedWhen::Parse("{.status.runs}=x")->Holds(object.root()));
}

TEST(CompletedWhen, SaysWhatIsWrongAndHowItIsWritten) {
  for (const char* text :
       {"", "=", "=Succeeded", "{.status.phase}=", "{.status.phase}=,",
        "{.status.phase}=Succeeded,", "{.status.phase", "{.status.phase=Succeeded",
        "{.status[*]}=x", "{.status.phase}Succeeded"}) {
    const auto completed = CompletedWhen::Parse(text);
    ASSERT_FALSE(completed) << text;
    EXPECT_NE(completed.error().message.find("{.status.phase}=Succeeded,Failed"), std::string::npos)
        << completed.error().message;
  }
}

}  // namespace
}  // namespace cluster_watcher
