#include "watcher/decision/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

const WallTime kNow{std::chrono::sys_days(std::chrono::year(2026) / 12 / 24)};
constexpr int kInUseRule = 13;

OwnerSight Sight(Observation observation) {
  OwnerSight sight;
  sight.observation = observation;
  sight.detail = "deployment.apps/bob";
  return sight;
}

Facts ActiveFacts() {
  Facts facts;
  facts.given_owner = OwnerName{"deployment", "", "bob"};
  facts.now = kNow;
  facts.root_read = true;
  facts.owner = Sight(Observation::kActive);
  return facts;
}

void Observe(Facts& facts, Observation observation) { facts.owner->observation = observation; }

void Misconfigure(Facts& facts) { facts.setting_errors = {"poll-interval: no duration"}; }
void Share(Facts& facts) {
  facts.given_owner.reset();
  facts.ephemeral_label.reset();
}
void Mismatch(Facts& facts) {
  facts.given_owner = OwnerName{"", "", "bob"};
  facts.ephemeral_label = "alice";
}
void Hold(Facts& facts) { facts.holds = {{"pod m", "tomorrow", kNow + seconds(1)}}; }
void HideTheRoot(Facts& facts) { facts.problem = "get pods: HTTP 500"; }
void Confuse(Facts& facts) { facts.ambiguities = {"pod/n is a master of this cluster too"}; }
void TakeAway(Facts& facts) { Observe(facts, Observation::kAbsent); }
void LeavePods(Facts& facts) {
  TakeAway(facts);
  facts.owner->still_running = 2;
}
void BeginDeleting(Facts& facts) { Observe(facts, Observation::kDeleting); }
void Replace(Facts& facts) { Observe(facts, Observation::kReplaced); }
void ReplaceToAbandon(Facts& facts) {
  Replace(facts);
  facts.replaced_owner = ReplacedOwner::kAbandon;
}
void ScaleToZero(Facts& facts) { Observe(facts, Observation::kScaledToZero); }
void Replicate(Facts& facts) { facts.owner->fields.replicas = 2; }
void Finish(Facts& facts) { Observe(facts, Observation::kCompleted); }
void SayCompleted(Facts& facts) { facts.app_status = "completed"; }
void Nothing(Facts&) {}

struct Row {
  int rule;
  std::function<void(Facts&)> make_true;
  Reason reason;
  const char* text;
  bool abandoned;
};

// A rule's row is left out of a pair with another that sets the owner's observation as well.
bool SetsObservation(const Row& row) { return row.rule >= 6 && row.rule <= 9; }

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      {0, Misconfigure, Reason::kMisconfigured, "misconfigured", false},
      {1, Share, Reason::kShared, "shared", false},
      {2, Mismatch, Reason::kOwnerMismatch, "owner-mismatch", false},
      {3, Hold, Reason::kHeld, "held", false},
      {4, HideTheRoot, Reason::kUnknown, "unknown", false},
      {5, Confuse, Reason::kAmbiguous, "ambiguous", false},
      {6, TakeAway, Reason::kOwnerAbsent, "owner-absent", true},
      {6, LeavePods, Reason::kDriverRunning, "driver-running", false},
      {7, BeginDeleting, Reason::kOwnerDeleting, "owner-deleting", true},
      {8, Replace, Reason::kOwnerAdopted, "owner-adopted", false},
      {8, ReplaceToAbandon, Reason::kOwnerReplaced, "owner-replaced", true},
      {9, ScaleToZero, Reason::kScaledToZero, "scaled-to-zero", true},
      {10, Replicate, Reason::kSharedByReplicas, "shared-by-replicas", false},
      {11, Finish, Reason::kCompleted, "completed", true},
      {11, SayCompleted, Reason::kCompleted, "completed", true},
      {12, Nothing, Reason::kActive, "active", false},
  };
  return rows;
}

// All outcomes are listed, in order, and the one that decided is marked.
void ExpectDecidedBy(int rule, const Decision& decision) {
  ASSERT_EQ(decision.rules.size(), 14u);
  for (int number = 0; number < 14; ++number) {
    const RuleOutcome& outcome = decision.rules[static_cast<std::size_t>(number)];
    EXPECT_EQ(outcome.number, number);
    EXPECT_EQ(outcome.matched, number == rule) << number;
    EXPECT_NE(outcome.detail, "") << number;
  }
  EXPECT_EQ(decision.detail, decision.rules[static_cast<std::size_t>(rule)].detail);
}

TEST(Rules, EachDecidesWhereNoneBeforeItMatches) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(std::string(row.text) + " by rule " + std::to_string(row.rule));
    Facts facts = ActiveFacts();
    row.make_true(facts);
    const Decision decision = Decide(facts);
    EXPECT_STREQ(ToString(decision.reason), row.text);
    EXPECT_EQ(decision.reason, row.reason);
    EXPECT_EQ(decision.abandoned(), row.abandoned);
    EXPECT_STREQ(decision.verdict(), row.abandoned ? "abandoned" : "keep");
    ExpectDecidedBy(row.rule, decision);
  }
}

TEST(Rules, TheFirstThatMatchesDecides) {
  for (const Row& first : Rows()) {
    for (const Row& later : Rows()) {
      if (later.rule <= first.rule || (SetsObservation(first) && SetsObservation(later))) continue;
      if (SetsObservation(first) && later.rule == 11) continue;
      SCOPED_TRACE(std::string(first.text) + " before " + later.text);
      Facts facts = ActiveFacts();
      later.make_true(facts);
      first.make_true(facts);
      const Decision decision = Decide(facts);
      EXPECT_STREQ(ToString(decision.reason), first.text);
      ExpectDecidedBy(first.rule, decision);
    }
  }
}

TEST(Rules, WhatTheOwnerIsBeatsWhatTheApplicationSaid) {
  for (const Row& row : Rows()) {
    if (!SetsObservation(row)) continue;
    Facts facts = ActiveFacts();
    row.make_true(facts);
    SayCompleted(facts);
    EXPECT_STREQ(ToString(Decide(facts).reason), row.text);
  }
}

TEST(Rules, AnotherDriverKeepsWhatIsAbandonedAndChangesNothingElse) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.text);
    Facts facts = ActiveFacts();
    row.make_true(facts);
    facts.in_use_by = "deployment.apps/alice";
    const Decision used = Decide(facts);
    EXPECT_STREQ(ToString(used.reason), row.abandoned ? "in-use" : row.text);
    ExpectDecidedBy(row.abandoned ? kInUseRule : row.rule, used);

    facts.in_use_problem = "list pods: HTTP 403";
    const Decision untold = Decide(facts);
    EXPECT_STREQ(ToString(untold.reason), row.abandoned ? "unknown" : row.text)
        << "not knowing is said, even where one driver is known";
    ExpectDecidedBy(row.abandoned ? kInUseRule : row.rule, untold);
    EXPECT_FALSE(used.abandoned() || untold.abandoned());
  }
}

TEST(Rules, EveryReasonHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(Reason::kCompleted); ++i) {
    EXPECT_TRUE(names.insert(ToString(static_cast<Reason>(i))).second) << i;
  }
}

TEST(Rules, AnOwnerWhoseDeletionOrphansItsPodsIsStillRunning) {
  Facts facts = ActiveFacts();
  Observe(facts, Observation::kDeleting);
  EXPECT_EQ(Decide(facts).reason, Reason::kOwnerDeleting);
  facts.owner->still_running = 1;
  EXPECT_EQ(Decide(facts).reason, Reason::kDriverRunning);
}

TEST(Rules, TheOwnerIsNamedByWhatIsGivenElseByTheLabel) {
  Facts facts = ActiveFacts();
  facts.ephemeral_label = "bob";
  EXPECT_EQ(facts.OwnerNameText(), "deployment/bob");
  EXPECT_EQ(Decide(facts).reason, Reason::kOwnerMismatch);
  facts.label_agrees = true;
  EXPECT_EQ(Decide(facts).reason, Reason::kActive);
  facts.given_owner.reset();
  EXPECT_EQ(facts.OwnerNameText(), "bob");
  EXPECT_EQ(Decide(facts).reason, Reason::kActive) << "the label alone makes it ephemeral";
  facts.ephemeral_label.reset();
  EXPECT_EQ(facts.OwnerNameText(), std::nullopt);
}

TEST(Rules, HoldsKeepUntilTheyAreOver) {
  struct Case {
    const char* what;
    std::vector<struct Hold> holds;
    std::optional<WallTime> server_time;
    bool held;
  };
  const struct Hold over { "pod m", "past", kNow - seconds(1) };
  const struct Hold now { "pod m", "now", kNow };
  const struct Hold later { "namespace lab", "later", kNow + seconds(1) };
  const struct Hold unparsable { "pod m", "tomorrow", std::nullopt };
  const std::vector<Case> cases = {
      {"none", {}, kNow, false},
      {"past", {over}, kNow, false},
      {"just over", {now}, kNow, false},
      {"future by both clocks", {later}, kNow, true},
      {"future, no server time", {later}, std::nullopt, true},
      {"future by the server's clock only", {over}, kNow - seconds(2), true},
      {"future by the local clock only", {later}, kNow + seconds(9), true},
      {"unparsable", {unparsable}, kNow, true},
      {"one of several is in the future", {over, later}, kNow, true},
      {"one of several is unparsable", {over, unparsable, over}, kNow, true},
      {"several, all over", {over, now}, kNow, false},
  };
  for (const Case& one : cases) {
    Facts facts = ActiveFacts();
    TakeAway(facts);
    facts.holds = one.holds;
    facts.server_time = one.server_time;
    const Decision decision = Decide(facts);
    EXPECT_EQ(decision.reason, one.held ? Reason::kHeld : Reason::kOwnerAbsent) << one.what;
  }
}

TEST(Rules, AHoldIsNamedWithItsPlaceAndText) {
  Facts facts = ActiveFacts();
  facts.holds = {{"namespace lab", "tomorrow", std::nullopt}};
  const std::string detail = Decide(facts).detail;
  EXPECT_NE(detail.find("namespace lab"), std::string::npos);
  EXPECT_NE(detail.find("tomorrow"), std::string::npos);
}

TEST(Rules, UnknownKeepsWhateverElseIsTrue) {
  Facts unknown = ActiveFacts();
  Observe(unknown, Observation::kUnknown);
  unknown.owner->detail = "list deployments.apps: HTTP 503";
  SayCompleted(unknown);
  EXPECT_EQ(Decide(unknown).reason, Reason::kUnknown);
  EXPECT_EQ(Decide(unknown).detail, "list deployments.apps: HTTP 503");

  Facts not_looked_for = ActiveFacts();
  not_looked_for.owner.reset();
  SayCompleted(not_looked_for);
  EXPECT_EQ(Decide(not_looked_for).reason, Reason::kUnknown);

  Facts nothing_known;
  EXPECT_EQ(Decide(nothing_known).reason, Reason::kUnknown);
}

TEST(Rules, NothingAbandonsWithoutTheMasterRootAsWitness) {
  for (const Row& row : Rows()) {
    if (!row.abandoned) continue;
    Facts facts = ActiveFacts();
    row.make_true(facts);
    facts.root_read = false;
    EXPECT_STREQ(ToString(Decide(facts).reason), "unknown") << row.text;
  }
}

TEST(Rules, WithoutTheMasterRootTheClusterIsNotCalledShared) {
  Facts facts = ActiveFacts();
  Share(facts);
  facts.owner.reset();
  facts.root_read = false;
  facts.problem = "get pods: HTTP 500";
  EXPECT_EQ(Decide(facts).reason, Reason::kUnknown);
}

TEST(Rules, ReplicasDecideBeforeTheAppStatus) {
  struct Case {
    std::int64_t replicas;
    std::optional<std::string> app_status;
    Reason reason;
  };
  const std::vector<Case> cases = {
      {0, "completed", Reason::kScaledToZero},
      {1, "completed", Reason::kCompleted},
      {1, "terminated", Reason::kActive},
      {1, "", Reason::kActive},
      {1, "Completed", Reason::kActive},
      {1, std::nullopt, Reason::kActive},
      {2, "completed", Reason::kSharedByReplicas},
      {2, "terminated", Reason::kSharedByReplicas},
      {2'147'483'647, std::nullopt, Reason::kSharedByReplicas},
  };
  for (const Case& one : cases) {
    Facts facts = ActiveFacts();
    facts.owner->fields.replicas = one.replicas;
    if (one.replicas == 0) ScaleToZero(facts);
    facts.app_status = one.app_status;
    EXPECT_STREQ(ToString(Decide(facts).reason), ToString(one.reason))
        << one.replicas << " " << one.app_status.value_or("none");
  }
}

TEST(Rules, ASuspendedOwnerIsSaidToBe) {
  Facts facts = ActiveFacts();
  ScaleToZero(facts);
  EXPECT_NE(Decide(facts).detail.find("0 replicas"), std::string::npos);
  facts.owner->fields.suspended = true;
  EXPECT_NE(Decide(facts).detail.find("suspended"), std::string::npos);
}

}  // namespace
}  // namespace cluster_watcher
