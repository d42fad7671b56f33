#include "watcher/decision/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

const WallTime kNow{std::chrono::sys_days(std::chrono::year(2026) / 12 / 24)};
constexpr int kInUseRule = 14;

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

void Observe(Facts& facts, Observation observation, const char* still_running = "") {
  facts.owner->observation = observation;
  facts.owner->still_running = still_running;
}
void Share(Facts& facts) {
  facts.given_owner.reset();
  facts.ephemeral_label.reset();
}
void TakeAway(Facts& facts) { Observe(facts, Observation::kAbsent); }
void ScaleToZero(Facts& facts) { Observe(facts, Observation::kScaledToZero); }
void SayCompleted(Facts& facts) { facts.app_status = "completed"; }

struct Row {
  int rule;
  std::function<void(Facts&)> make_true;
  const char* text;
  bool abandoned;
};

// Two rows that both set the owner's observation can't be combined.
bool SetsObservation(const Row& row) { return row.rule >= 6 && row.rule <= 10; }

const std::vector<Row>& Rows() {
  using F = Facts&;
  static const std::vector<Row> rows = {
      {0, [](F f) { f.setting_errors = {"poll-interval: no duration"}; }, "misconfigured", false},
      {1, Share, "shared", false},
      {2,
       [](F f) {
         f.given_owner = OwnerName{"", "", "bob"};
         f.ephemeral_label = "alice";
       },
       "owner-mismatch", false},
      {2,
       [](F f) {
         f.given_owner = OwnerName{"", "", "bob"};
         f.root_owner = "alice";
       },
       "owner-mismatch", false},
      {3,
       [](F f) {
         f.holds = {{"pod m", "tomorrow", kNow + seconds(1)}};
       },
       "held", false},
      {3, [](F f) { f.kept_root = "deployment.apps/m"; }, "held", false},
      {4, [](F f) { f.problem = "get pods: HTTP 500"; }, "unknown", false},
      {5, [](F f) { f.ambiguities = {"pod/n is a master of this cluster too"}; }, "ambiguous",
       false},
      {6, [](F f) { Observe(f, Observation::kAbsent, "pod/bob-1"); }, "driver-running", false},
      {6, [](F f) { Observe(f, Observation::kDeleting, "pod/bob-1"); }, "driver-running", false},
      {6, [](F f) { Observe(f, Observation::kScaledToZero, "pod/b"); }, "driver-running", false},
      {6, [](F f) { Observe(f, Observation::kCompleted, "pod/b"); }, "driver-running", false},
      {7, TakeAway, "owner-absent", true},
      {8, [](F f) { Observe(f, Observation::kDeleting); }, "owner-deleting", true},
      {9, [](F f) { Observe(f, Observation::kReplaced); }, "owner-adopted", false},
      {10, ScaleToZero, "scaled-to-zero", true},
      {11, [](F f) { f.owner->fields.replicas = 2; }, "shared-by-replicas", false},
      {12, [](F f) { Observe(f, Observation::kCompleted); }, "completed", true},
      {12, SayCompleted, "completed", true},
      {12,
       [](F f) {
         SayCompleted(f);
         f.also_running = "pod/bob-2";
       },
       "driver-running", false},
      {13, [](F) {}, "active", false},
  };
  return rows;
}

// Expects all outcomes in order, with the deciding one marked.
void ExpectDecidedBy(int rule, const Decision& decision) {
  ASSERT_EQ(decision.rules.size(), 15u);
  for (int number = 0; number < 15; ++number) {
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
    EXPECT_EQ(decision.abandoned(), row.abandoned);
    EXPECT_STREQ(decision.verdict(), row.abandoned ? "abandoned" : "keep");
    ExpectDecidedBy(row.rule, decision);
  }
}

TEST(Rules, TheFirstThatMatchesDecides) {
  for (const Row& first : Rows()) {
    for (const Row& later : Rows()) {
      if (later.rule <= first.rule || (SetsObservation(first) && SetsObservation(later))) continue;
      if (SetsObservation(first) && later.rule == 12) continue;
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

// The rules of one who is over tell what it is; that something runs is said once.
TEST(Rules, WhatRunsOfAnOwnerThatIsOverIsNamed) {
  Facts facts = ActiveFacts();
  Observe(facts, Observation::kScaledToZero, "pod/bob-1");
  facts.owner->fields.suspended = true;
  EXPECT_EQ(Decide(facts).detail, "deployment.apps/bob is suspended, but pod/bob-1 still runs");
  Observe(facts, Observation::kReplaced, "pod/bob-1");
  EXPECT_EQ(Decide(facts).reason, Reason::kOwnerAdopted) << "it isn't over";
}

TEST(Rules, AnApplicationThatSaysThatItHasCompletedIsWhatRuns) {
  for (const Observation observation :
       {Observation::kDeleting, Observation::kScaledToZero, Observation::kCompleted}) {
    Facts facts = ActiveFacts();
    facts.owner->object = KubeObject{ResourceType{"apps", "v1", "deployments", "Deployment"}, {}};
    Observe(facts, observation, "pod/bob-1");
    SayCompleted(facts);
    EXPECT_TRUE(Decide(facts).abandoned()) << ToString(observation);
    facts.also_running = "pod/bob-2";
    EXPECT_EQ(Decide(facts).reason, Reason::kDriverRunning) << ToString(observation);
  }
  Facts absent = ActiveFacts();
  Observe(absent, Observation::kAbsent, "pod/bob-1");
  SayCompleted(absent);
  EXPECT_EQ(Decide(absent).reason, Reason::kDriverRunning) << "none was found that could say so";
}

TEST(Rules, OfAKindWithoutARowItIsSaidThatOnlyItsExistenceCounts) {
  const char kFlag[] = "--completed-when";
  for (const char* kind : {"Gizmo", "Workflow"}) {
    Facts facts = ActiveFacts();
    facts.owner->object = KubeObject{
        ResourceType{"argoproj.io", "v1alpha1", LowerCase(kind) + "s", kind}, ObjectMeta()};
    EXPECT_EQ(Decide(facts).detail.find(kFlag) != std::string::npos, *kind == 'G');
  }
}

TEST(Rules, WhatMayNotBeListedIsSaidAndPassedOver) {
  Facts facts = ActiveFacts();
  TakeAway(facts);
  facts.unlistable = {"daemonsets.apps"};
  const Decision decision = Decide(facts);
  EXPECT_EQ(decision.reason, Reason::kOwnerAbsent);
  EXPECT_NE(decision.rules[4].detail.find("daemonsets.apps"), std::string::npos);
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

TEST(Rules, WhatAPolicyForbidsIsHeldAndTheGuardsRefusalIsAMistake) {
  Facts facts = ActiveFacts();
  TakeAway(facts);
  const std::string brake = "ValidatingAdmissionPolicy 'cluster-watcher-brake' says no";
  const Decision held = HeldByPolicy(Decide(facts), brake);
  EXPECT_EQ(held.reason, Reason::kHeld);
  EXPECT_EQ(held.detail, brake);
  ExpectDecidedBy(3, held);
  const Decision guarded =
      HeldByPolicy(Decide(facts), "ValidatingAdmissionPolicy 'cluster-watcher-guard' says no");
  EXPECT_EQ(guarded.reason, Reason::kMisconfigured);
  ExpectDecidedBy(0, guarded);
}

// The words of API servers 1.28 to 1.36.
TEST(Rules, AnAdmissionThatRefusesIsNamedWithTheRemedy) {
  const std::pair<const char*, const char*> cases[] = {
      {"HTTP 403: admission webhook \"deny.example.com\" denied the request: not on Fridays",
       "admission webhook deny.example.com: "},
      {"HTTP 500: Internal error occurred: failed calling webhook \"deny.example.com\": failed to "
       "call webhook: Post \"https://deny.ops.svc:443/?timeout=10s\": no endpoints available",
       "admission webhook deny.example.com, which can't be called"},
      {"HTTP 422: deployments.apps \"m\" is forbidden: ValidatingAdmissionPolicy 'quiet' with "
       "binding 'quiet-lab' denied request: no",
       "admission policy quiet, by its binding quiet-lab: "},
  };
  for (const auto& [words, begins] : cases) {
    EXPECT_TRUE(WhoRefuses(words).starts_with(begins)) << WhoRefuses(words);
  }
  for (const char* words : {"", "HTTP 500: etcdserver: no leader", "HTTP 403: User is forbidden",
                            "failed calling webhook \"", "AdmissionPolicy 'half"}) {
    EXPECT_EQ(WhoRefuses(words), "") << words;
  }
}

TEST(Rules, AnotherDriverKeepsWhatIsAbandonedAndChangesNothingElse) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.text);
    Facts facts = ActiveFacts();
    row.make_true(facts);
    OtherDrivers others;
    others.in_use_by = "deployment.apps/alice";
    const Decision used = Decide(facts, others);
    EXPECT_EQ(used.overruled, row.abandoned);
    EXPECT_STREQ(ToString(used.reason), row.abandoned ? "in-use" : row.text);
    ExpectDecidedBy(row.abandoned ? kInUseRule : row.rule, used);

    others.unknown = ApiError{ApiFailure::kForbidden, "list pods: HTTP 403", std::nullopt};
    const Decision untold = Decide(facts, others);
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

TEST(Rules, LabelAndAnnotationOfTheMasterRootMustBothAgree) {
  Facts facts = ActiveFacts();
  facts.ephemeral_label = "bob";
  facts.root_owner = "deployment/bob";
  for (const bool label : {false, true}) {
    for (const bool annotation : {false, true}) {
      facts.label_agrees = label;
      facts.root_owner_agrees = annotation;
      EXPECT_EQ(Decide(facts).reason,
                label && annotation ? Reason::kActive : Reason::kOwnerMismatch);
    }
  }
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

TEST(Rules, TheDetailNamesWhatDecided) {
  Facts held = ActiveFacts();
  held.holds = {{"namespace lab", "tomorrow", std::nullopt}};
  Facts kept = ActiveFacts();
  kept.kept_root = "deployment.apps/m";
  Facts scaled = ActiveFacts();
  ScaleToZero(scaled);
  Facts suspended = scaled;
  suspended.owner->fields.suspended = true;
  const std::pair<Facts, const char*> cases[] = {{held, "namespace lab"},
                                                 {held, "tomorrow"},
                                                 {kept, "deployment.apps/m is annotated"},
                                                 {scaled, "0 replicas"},
                                                 {suspended, "suspended"}};
  for (const auto& [facts, part] : cases) {
    EXPECT_NE(Decide(facts).detail.find(part), std::string::npos) << Decide(facts).detail;
  }
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
  Facts facts = ActiveFacts();
  Share(facts);
  facts.owner.reset();
  facts.root_read = false;
  facts.problem = "get pods: HTTP 500";
  EXPECT_EQ(Decide(facts).reason, Reason::kUnknown) << "nor is the cluster called shared";
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

}  // namespace
}  // namespace cluster_watcher
