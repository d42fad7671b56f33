#include "probes/owner_probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "test/unit/support/fake_transport.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

constexpr char kOneReplica[] = R"("spec":{"replicas":1})";
constexpr char kNoReplica[] = R"("spec":{"replicas":0})";

ApiRequest ListBob(const char* type, Freshness freshness = Freshness::kSure,
                   const char* ns = "lab") {
  return ApiRequest::ListByName(TypeOf(type), ns, "bob", freshness);
}
ApiRequest GetBob(const char* type) { return ApiRequest::Get(TypeOf(type), "lab", "bob"); }
ApiRequest GetNamespace(const char* ns) { return ApiRequest::Get(TypeOf("namespace"), "", ns); }
ApiRequest ListPods(const std::string& selector, const char* ns = "lab") {
  return ApiRequest::ListBySelector(TypeOf("pod"), ns, selector, false);
}

std::string Bob(const char* type, const std::string& fields, const std::string& metadata = "",
                const char* ns = "lab") {
  return ObjectText(TypeOf(type), ns, "bob", std::string("u-") + type, metadata, fields);
}

HttpResponse OneBob(const char* type, const std::string& fields = kOneReplica,
                    const std::string& metadata = "") {
  return Answer(200, ListText(TypeOf(type), {Bob(type, fields, metadata)}));
}

// An API server in which nothing is named bob, until a test says otherwise.
class OwnerProbeTest : public testing::Test {
 protected:
  OwnerProbeTest() { ServeConfigs(true); }

  void ServeConfigs(bool served) {
    const ResourceType& configs = TypeOf("dc");
    api_.transport.otherwise = [=](const HttpRequest& request) -> HttpResult {
      if (request.target == "/apis") {
        return served ? GroupList({{"apps.openshift.io", {"v1"}}}) : GroupList({{"apps", {"v1"}}});
      }
      if (served && request.target == "/apis/apps.openshift.io/v1") {
        return ResourceList("apps.openshift.io/v1", {configs});
      }
      if (request.target == "/apis/apps/v1") {
        return ResourceList("apps/v1", {TypeOf("deployment")});
      }
      if (request.target == "/apis/batch/v1") return ResourceList("batch/v1", {TypeOf("job")});
      for (const ResourceType& type : BareNameTypes()) {
        for (const char* ns : {"lab", "attic"}) {
          const std::string list = type.CollectionPath(ns) + "?fieldSelector=metadata.name%3Dbob";
          if (request.target.starts_with(list)) return Answer(200, ListText(type, {}));
        }
      }
      return NoSuchPath();
    };
  }

  OwnerSight Look(const OwnerQuery& query, Freshness freshness = Freshness::kSure) {
    return OwnerProbe(api_.client, api_.discovery).Look(query, freshness, {});
  }

  std::size_t ListsByName() const {
    return static_cast<std::size_t>(std::count_if(
        api_.transport.requests.begin(), api_.transport.requests.end(),
        [](const HttpRequest& r) { return r.target.find("fieldSelector") != std::string::npos; }));
  }

  FakeApi api_;
};

OwnerQuery Query(const std::string& owner) {
  OwnerQuery query;
  query.name = *OwnerName::Parse(owner);
  query.ns = "lab";
  query.home_ns = "lab";
  return query;
}

OwnerQuery Recorded(const std::string& owner, const char* type, const std::string& uid,
                    const std::string& selector = "") {
  OwnerQuery query = Query(owner);
  query.recorded =
      RecordedOwner{TypeOf(type).SingularName(), "lab", "bob", uid, std::nullopt, selector, ""};
  return query;
}

void ExpectObservation(const OwnerSight& sight, const char* expected, const std::string& what) {
  EXPECT_STREQ(ToString(sight.observation), expected) << what << ": " << sight.detail;
  EXPECT_NE(sight.detail, "") << what;
  EXPECT_EQ(sight.setting_problem, "") << what;
  const bool found =
      sight.observation != Observation::kAbsent && sight.observation != Observation::kUnknown;
  EXPECT_EQ(sight.object.has_value(), found) << what;
}

TEST_F(OwnerProbeTest, EveryObservationOfEveryKind) {
  const std::string deleting = R"("deletionTimestamp":"2026-12-24T18:00:00Z")";
  const std::string complete =
      R"("spec":{},"status":{"conditions":[{"type":"Complete","status":"True"}]})";
  struct Case {
    std::string fields;
    std::string metadata;
    bool other_uid;
    const char* expected;
  };
  const std::vector<Case> replicated = {
      {kOneReplica, "", false, "active"},
      {R"("spec":{"replicas":5})", "", false, "active"},
      {kNoReplica, "", false, "scaled-to-zero"},
      {kOneReplica, "", true, "replaced"},
      {kNoReplica, "", true, "replaced"},
      {kOneReplica, deleting, false, "deleting"},
      {kNoReplica, deleting, false, "deleting"},
      {kOneReplica, deleting, true, "deleting"},
      {R"("spec":{})", "", false, "unknown"},
      {R"("status":{"replicas":0})", "", false, "unknown"},
  };
  const std::vector<Case> jobs = {
      {R"("spec":{})", "", false, "active"},
      {R"("spec":{"suspend":true})", "", false, "scaled-to-zero"},
      {R"("spec":{"suspend":true},"status":{"active":1})", "", false, "active"},
      {complete, "", false, "completed"},
      {complete, "", true, "replaced"},
      {complete, deleting, false, "deleting"},
      {R"("status":{})", "", false, "unknown"},
  };
  for (const char* type : {"rc", "deployment", "dc", "sts", "rs", "job"}) {
    for (const Case& one : std::string(type) == "job" ? jobs : replicated) {
      FakeTransport& transport = api_.transport;
      transport = FakeTransport();
      ServeConfigs(true);
      transport.On(ListBob(type), OneBob(type, one.fields, one.metadata));
      const std::string uid = one.other_uid ? "u-older" : std::string("u-") + type;
      ExpectObservation(Look(Recorded(std::string(type) + "/bob", type, uid)), one.expected,
                        type + (" " + one.fields) + one.metadata);
    }
  }
}

TEST_F(OwnerProbeTest, AnOwnerNeverSeenIsNotReplaced) {
  api_.transport.On(ListBob("deployment"), OneBob("deployment"));
  const OwnerSight sight = Look(Query("deployment/bob"));
  ExpectObservation(sight, "active", "");
  EXPECT_EQ(sight.object->meta.uid, "u-deployment");
  EXPECT_EQ(sight.object->type, TypeOf("deployment"));
}

TEST_F(OwnerProbeTest, TellsTheOwnersFields) {
  api_.transport.On(
      ListBob("deployment"),
      OneBob("deployment", R"("spec":{"replicas":3,"selector":{"matchLabels":{"app":"bob"}},)"
                           R"("template":{"spec":{"terminationGracePeriodSeconds":60}}})"));
  const OwnerSight sight = Look(Query("deployment/bob"));
  EXPECT_EQ(sight.fields.replicas, 3);
  EXPECT_EQ(sight.fields.termination_grace, seconds(60));
  EXPECT_EQ(sight.fields.pod_selector, "app=bob");
  EXPECT_NE(sight.detail.find("deployment.apps/bob"), std::string::npos);
}

TEST_F(OwnerProbeTest, ABareNameThatIsNothingIsAbsent) {
  const OwnerSight sight = Look(Query("bob"));
  ExpectObservation(sight, "absent", "");
  EXPECT_EQ(ListsByName(), 5u);
  EXPECT_EQ(sight.still_running, 0u);
}

TEST_F(OwnerProbeTest, ABareNameThatIsOneThingIsThat) {
  for (const ResourceType& type : BareNameTypes()) {
    const std::string name = LowerCase(type.kind);
    api_.transport = FakeTransport();
    ServeConfigs(true);
    api_.transport.On(ListBob(name.c_str()), OneBob(name.c_str()));
    const OwnerSight sight = Look(Query("bob"));
    ExpectObservation(sight, "active", name);
    EXPECT_EQ(sight.object->type, type);
    EXPECT_EQ(ListsByName(), 5u);
  }
}

TEST_F(OwnerProbeTest, ABareNameThatIsSeveralThingsIsUnknown) {
  api_.transport.On(ListBob("rc"), OneBob("rc", kNoReplica));
  api_.transport.On(ListBob("sts"), OneBob("sts"));
  const OwnerSight sight = Look(Query("bob"));
  ExpectObservation(sight, "unknown", "");
  EXPECT_NE(sight.detail.find("replicationcontroller/bob"), std::string::npos);
  EXPECT_NE(sight.detail.find("statefulset.apps/bob"), std::string::npos);
  EXPECT_NE(sight.detail.find("--owner-kind"), std::string::npos);

  OwnerQuery only = Query("bob");
  only.only_kind = "statefulset";
  ExpectObservation(Look(only), "active", "the kind was given");
  only.only_kind = "sts.apps";
  ExpectObservation(Look(only), "active", "the kind was given with its group");
}

TEST_F(OwnerProbeTest, ABareNameOfWhichOneKindIsUnreadableIsUnknown) {
  for (const bool another_exists : {false, true}) {
    for (const HttpResult& answer :
         {HttpResult(NoAnswer()), HttpResult(Refused(401)), HttpResult(Refused(500)),
          HttpResult(NoSuchPath()), HttpResult(OneBob("job", R"("status":{})"))}) {
      api_.transport = FakeTransport();
      ServeConfigs(true);
      if (another_exists) api_.transport.On(ListBob("deployment"), OneBob("deployment"));
      api_.transport.On(ListBob("job"), answer);
      ExpectObservation(Look(Query("bob")), "unknown", another_exists ? "one" : "none");
    }
  }
}

TEST_F(OwnerProbeTest, AKindThatIsNotServedDoesNotCountForABareName) {
  ServeConfigs(false);
  ExpectObservation(Look(Query("bob")), "absent", "");
  EXPECT_EQ(ListsByName(), 4u);
}

// As for a while after the start of an API server.
TEST_F(OwnerProbeTest, ABareNameThatWasSeenAsAKindThatIsNotServedAnyMoreIsAMistake) {
  ServeConfigs(false);
  const OwnerSight sight = Look(Recorded("bob", "dc", "u-dc"));
  EXPECT_EQ(sight.observation, Observation::kUnknown);
  EXPECT_NE(sight.setting_problem.find("not served any more"), std::string::npos) << sight.detail;
}

TEST_F(OwnerProbeTest, TheClustersOwnPodsAreNoneOfTheOwners) {
  OwnerQuery query = Recorded("deployment/bob", "deployment", "u1", "app=bob");
  query.cluster_label = {"oshinko-cluster", "spark"};
  api_.transport.On(
      ListPods("app=bob"),
      Answer(200,
             ListText(TypeOf("pod"),
                      {ObjectText(TypeOf("pod"), "lab", "a", "a",
                                  R"("labels":{"oshinko-cluster":"spark"})", R"("spec":{})"),
                       ObjectText(TypeOf("pod"), "lab", "b", "b",
                                  R"("labels":{"oshinko-cluster":"other"})", R"("spec":{})")})));
  const OwnerSight sight = Look(query);
  ExpectObservation(sight, "absent", "");
  EXPECT_EQ(sight.still_running, 1u);
}

TEST_F(OwnerProbeTest, RunsThatAnAbsentCronJobLeftAreCounted) {
  const ResourceType& jobs = TypeOf("job");
  const auto job = [&](const char* name, const std::string& metadata, const char* status) {
    return ObjectText(jobs, "lab", name, name, metadata, R"("spec":{},)" + std::string(status));
  };
  const char* complete = R"("status":{"conditions":[{"type":"Complete","status":"True"}]})";
  api_.transport.On(ApiRequest::ListByName(TypeOf("cronjob"), "lab", "bob", Freshness::kSure),
                    Answer(200, ListText(TypeOf("cronjob"), {})));
  api_.transport.On(
      ApiRequest::List(jobs, "lab"),
      Answer(200, ListText(jobs, {job("bob-1", "", R"("status":{})"), job("bob-2", "", complete),
                                  job("bob-3", ControlledBy(TypeOf("cronjob"), "bob", "u-bob"),
                                      R"("status":{})"),
                                  job("bobby-1", "", R"("status":{})")})));
  const OwnerSight sight = Look(Query("cronjob/bob"));
  ExpectObservation(sight, "absent", "");
  EXPECT_EQ(sight.still_running, 1u) << "what is owned is on its way out";
}

TEST_F(OwnerProbeTest, AGroupThatIsMerelyNotListedDoesCountForABareName) {
  ServeConfigs(false);
  api_.transport.On(ApiRequest::Discover("/apis/apps.openshift.io/v1"), Refused(503));
  ExpectObservation(Look(Query("bob")), "unknown", "");
}

TEST_F(OwnerProbeTest, WhereDiscoveryFailsABareNameIsUnknown) {
  api_.transport.On(ApiRequest::Discover("/apis"), Refused(503));
  const OwnerSight sight = Look(Query("bob"));
  ExpectObservation(sight, "unknown", "");
  EXPECT_EQ(ListsByName(), 0u);
}

TEST_F(OwnerProbeTest, ARecordedKindIsPolledAlone) {
  api_.transport.On(ListBob("sts"), OneBob("sts"));
  api_.transport.On(ListBob("rc"), OneBob("rc"));
  const OwnerSight sight = Look(Recorded("bob", "sts", "u-sts"));
  ExpectObservation(sight, "active", "");
  EXPECT_EQ(sight.object->type, TypeOf("sts"));
  EXPECT_EQ(ListsByName(), 1u);
}

TEST_F(OwnerProbeTest, OnceARecordedKindIsAbsentTheOthersMustBeToo) {
  ExpectObservation(Look(Recorded("bob", "sts", "u-sts")), "absent", "all of them");
  for (const char* type : {"rc", "deployment", "dc", "sts", "job"}) {
    EXPECT_TRUE(api_.transport.WasAsked(ListBob(type))) << type;
  }
  api_.transport.On(ListBob("rc"), OneBob("rc"));
  ExpectObservation(Look(Recorded("bob", "sts", "u-sts")), "replaced", "another has the name");
  api_.transport.On(ListBob("deployment"), OneBob("deployment"));
  ExpectObservation(Look(Recorded("bob", "sts", "u-sts")), "unknown", "two others have the name");
  api_.transport = FakeTransport();
  ServeConfigs(true);
  api_.transport.On(ListBob("job"), Refused(403));
  api_.transport.On(GetBob("job"), Refused(403));
  ExpectObservation(Look(Recorded("bob", "sts", "u-sts")), "unknown", "one can't be read");
}

TEST_F(OwnerProbeTest, ARecordedKindThatCantBeReadIsUnknownWhateverTheOthersAre) {
  api_.transport.On(ListBob("sts"), Refused(500));
  ExpectObservation(Look(Recorded("bob", "sts", "u-sts")), "unknown", "");
  EXPECT_EQ(ListsByName(), 1u);
}

TEST_F(OwnerProbeTest, WhatMayNotBeListedIsGot) {
  struct Case {
    const char* what;
    HttpResult answer;
    const char* expected;
  };
  const std::vector<Case> cases = {
      {"there", Answer(200, Bob("deployment", kOneReplica)), "active"},
      {"scaled to zero", Answer(200, Bob("deployment", kNoReplica)), "scaled-to-zero"},
      {"can't be judged", Answer(200, Bob("deployment", R"("spec":{})")), "unknown"},
      {"not found", NotFound(TypeOf("deployment"), "bob"), "absent"},
      {"another is not found", NotFound(TypeOf("deployment"), "alice"), "unknown"},
      {"another kind is not found", NotFound(TypeOf("sts"), "bob"), "unknown"},
      {"no such path", NoSuchPath(), "unknown"},
      {"forbidden too", Refused(403), "unknown"},
      {"server error", Refused(500), "unknown"},
      {"no answer", NoAnswer(), "unknown"},
      {"empty", Answer(200, ""), "unknown"},
  };
  for (const Case& one : cases) {
    api_.transport = FakeTransport();
    ServeConfigs(true);
    api_.transport.On(ListBob("deployment"), Refused(403));
    api_.transport.On(GetBob("deployment"), one.answer);
    ExpectObservation(Look(Query("deployment/bob")), one.expected, one.what);
  }
}

TEST_F(OwnerProbeTest, AnyOtherAnswerIsUnknown) {
  const ResourceType& deployments = TypeOf("deployment");
  const std::string whole = ListText(deployments, {Bob("deployment", kNoReplica)});
  const std::vector<std::pair<const char*, HttpResult>> answers = {
      {"timeout", NoAnswer()},
      {"refused", NoAnswer(TransportError::Kind::kConnect)},
      {"TLS", NoAnswer(TransportError::Kind::kTls)},
      {"too large", NoAnswer(TransportError::Kind::kTooLarge)},
      {"stopped", NoAnswer(TransportError::Kind::kStopped)},
      {"302", Answer(302, "", "")},
      {"401", Refused(401)},
      {"404 of the object, to a list", NotFound(deployments, "bob")},
      {"404 Status", Refused(404)},
      {"404 text", NoSuchPath()},
      {"410", Refused(410)},
      {"429", Refused(429)},
      {"500", Refused(500)},
      {"503", Answer(503, "starting", "text/plain")},
      {"HTML", Answer(200, "<html>", "text/html")},
      {"empty", Answer(200, "")},
      {"truncated", Answer(200, whole.substr(0, whole.size() - 3))},
      {"another kind's list", Answer(200, ListText(TypeOf("pod"), {}))},
      {"a Status", Answer(200, R"({"kind":"Status","apiVersion":"v1","status":"Success"})")},
      {"items null", Answer(200, R"({"kind":"DeploymentList","apiVersion":"apps/v1",)"
                                 R"("metadata":{"resourceVersion":"9"},"items":null})")},
      {"more to come", Answer(200, ListText(deployments, {}, "more"))},
      {"another object", Answer(200, ListText(deployments, {ObjectText(deployments, "lab", "alice",
                                                                       "u1", "", kNoReplica)}))},
      {"another namespace",
       Answer(200, ListText(deployments, {Bob("deployment", kNoReplica, "", "attic")}))},
      {"deleted or not", OneBob("deployment", kOneReplica, R"("deletionTimestamp":false)")},
  };
  for (const auto& [what, answer] : answers) {
    for (const Freshness freshness : {Freshness::kSure, Freshness::kGlance}) {
      api_.transport = FakeTransport();
      ServeConfigs(true);
      api_.transport.On(ListBob("deployment", freshness), answer);
      ExpectObservation(Look(Query("deployment/bob"), freshness), "unknown", what);
      ExpectObservation(Look(Recorded("deployment/bob", "deployment", "u-deployment"), freshness),
                        "unknown", what);
    }
  }
}

TEST_F(OwnerProbeTest, AbsentInAnotherNamespaceTakesThatNamespace) {
  OwnerQuery query = Query("deployment/bob");
  query.ns = "attic";
  struct Case {
    const char* what;
    HttpResult answer;
    const char* expected;
  };
  const std::string attic = ObjectText(TypeOf("namespace"), "", "attic", "u-attic");
  const std::vector<Case> cases = {
      {"there", Answer(200, attic), "absent"},
      {"not found", NotFound(TypeOf("namespace"), "attic"), "unknown"},
      {"forbidden", Refused(403), "unknown"},
      {"server error", Refused(500), "unknown"},
      {"another", Answer(200, ObjectText(TypeOf("namespace"), "", "lab", "u-lab")), "unknown"},
  };
  for (const Case& one : cases) {
    api_.transport = FakeTransport();
    ServeConfigs(true);
    api_.transport.On(GetNamespace("attic"), one.answer);
    ExpectObservation(Look(query), one.expected, one.what);
  }

  api_.transport = FakeTransport();
  ServeConfigs(true);
  query.recorded = RecordedOwner{"deployment.apps", "attic", "bob", "u1", std::nullopt, "", ""};
  ExpectObservation(Look(query), "absent", "it was seen there before");
  EXPECT_FALSE(api_.transport.WasAsked(GetNamespace("attic")));
}

TEST_F(OwnerProbeTest, AbsentAtHomeAsksForNoNamespace) {
  ExpectObservation(Look(Query("deployment/bob")), "absent", "");
  EXPECT_FALSE(api_.transport.WasAsked(GetNamespace("lab")));
}

TEST_F(OwnerProbeTest, CountsTheRunningPodsOfAnAbsentOwner) {
  const auto pod = [](const char* name, const char* phase, const char* metadata = "") {
    return ObjectText(TypeOf("pod"), "lab", name, name, metadata,
                      std::string(R"("status":{"phase":")") + phase + R"("})");
  };
  const char* deleting = R"("deletionTimestamp":"2026-12-24T18:00:00Z")";
  api_.transport.On(ListPods("app=bob"),
                    Answer(200, ListText(TypeOf("pod"),
                                         {pod("a", "Running"), pod("b", "Pending"),
                                          pod("c", "Unknown"), pod("d", "Succeeded"),
                                          pod("e", "Failed"), pod("f", "Running", deleting)},
                                         "more")));
  ApiRequest next = ListPods("app=bob");
  next.http.target += "&continue=more";
  api_.transport.On(next, Answer(200, ListText(TypeOf("pod"), {pod("g", "Running")})));
  const OwnerSight sight = Look(Recorded("deployment/bob", "deployment", "u1", "app=bob"));
  ExpectObservation(sight, "absent", "");
  EXPECT_EQ(sight.still_running, 4u);
}

TEST_F(OwnerProbeTest, CountsThePodsThatADeletionLeavesRunning) {
  const std::string fields = R"("spec":{"replicas":1,"selector":{"matchLabels":{"app":"bob"}}})";
  const std::string deleting = R"("deletionTimestamp":"2026-12-24T18:00:00Z","finalizers":)";
  const std::pair<const char*, std::size_t> cases[] = {{R"(["orphan"])", 1},
                                                       {R"(["foregroundDeletion"])", 0}};
  for (const auto& [finalizers, running] : cases) {
    api_.transport = FakeTransport();
    ServeConfigs(true);
    api_.transport.On(ListBob("deployment"), OneBob("deployment", fields, deleting + finalizers));
    api_.transport.On(ListPods("app=bob"),
                      Answer(200, ListText(TypeOf("pod"), {ObjectText(TypeOf("pod"), "lab", "a",
                                                                      "a", "", R"("spec":{})")})));
    const OwnerSight sight = Look(Query("deployment/bob"));
    ExpectObservation(sight, "deleting", finalizers);
    EXPECT_EQ(sight.still_running, running) << finalizers;
  }
}

TEST_F(OwnerProbeTest, IsUnknownWhereTheAbsentOwnersPodsCantBeCounted) {
  for (const HttpResult& answer :
       {HttpResult(Refused(403)), HttpResult(Refused(500)), HttpResult(NoAnswer()),
        HttpResult(NoSuchPath()), HttpResult(Answer(200, ListText(TypeOf("pod"), {"{}"})))}) {
    api_.transport = FakeTransport();
    ServeConfigs(true);
    api_.transport.On(ListPods("app=bob"), answer);
    ExpectObservation(Look(Recorded("deployment/bob", "deployment", "u1", "app=bob")), "unknown",
                      "");
  }
}

TEST_F(OwnerProbeTest, LooksForPodsOnlyWhereTheOwnerIsAbsentAndItsSelectorKnown) {
  ExpectObservation(Look(Recorded("deployment/bob", "deployment", "u1")), "absent", "no selector");
  api_.transport.On(ListBob("deployment"), OneBob("deployment"));
  ExpectObservation(Look(Recorded("deployment/bob", "deployment", "u-deployment", "app=bob")),
                    "active", "there");
  for (const HttpRequest& request : api_.transport.requests) {
    EXPECT_EQ(request.target.find("/pods"), std::string::npos) << request.target;
  }
}

TEST_F(OwnerProbeTest, AGlanceReadsTheCacheAndGathersNoEvidence) {
  api_.transport.On(ListBob("sts", Freshness::kGlance), OneBob("sts"));
  const OwnerQuery query = Recorded("bob", "sts", "u-sts", "app=bob");
  ExpectObservation(Look(query, Freshness::kGlance), "active", "");
  EXPECT_EQ(ListsByName(), 1u);

  api_.transport = FakeTransport();
  ServeConfigs(true);
  ExpectObservation(Look(query, Freshness::kGlance), "absent", "");
  EXPECT_FALSE(api_.transport.WasAsked(ListPods("app=bob")));
  EXPECT_FALSE(api_.transport.WasAsked(ListBob("sts"))) << "nothing consistent is asked";
}

TEST_F(OwnerProbeTest, AKindThatIsNotServedIsAKindProblem) {
  ServeConfigs(false);
  OwnerQuery only = Query("bob");
  only.only_kind = "dc";
  for (const OwnerQuery& query : {Query("dc/bob"), only}) {
    const OwnerSight sight = Look(query);
    EXPECT_EQ(sight.observation, Observation::kUnknown);
    EXPECT_NE(sight.setting_problem.find("deploymentconfigs.apps.openshift.io"), std::string::npos);
    EXPECT_FALSE(sight.object);
  }
  EXPECT_EQ(ListsByName(), 0u);
}

TEST_F(OwnerProbeTest, AKindThatCantBeJudgedIsAKindProblem) {
  for (const char* owner :
       {"service/bob", "configmap/bob", "gizmo.example.com/bob", "deployment.v2/bob"}) {
    const OwnerSight sight = Look(Query(owner));
    EXPECT_EQ(sight.observation, Observation::kUnknown) << owner;
    EXPECT_NE(sight.setting_problem, "") << owner;
  }
  EXPECT_EQ(ListsByName(), 0u);
}

// An API server that serves gizmos, which have a scale, and more kinds of other groups.
class CustomOwnerTest : public OwnerProbeTest {
 protected:
  CustomOwnerTest() { Serve(R"(["create","get","list"])"); }

  void Serve(const std::string& verbs, bool one_is_down = false) {
    const ResourceType gizmos = gizmos_;
    api_.transport.otherwise = [=, this](const HttpRequest& request) -> HttpResult {
      if (request.target == "/apis") {
        return one_is_down ? GroupList({{"example.com", {"v1"}}, {"broken", {"v1"}}})
                           : GroupList({{"example.com", {"v1"}}, {"example.org", {"v1"}}});
      }
      if (request.target == "/apis/example.com/v1") {
        return Answer(200, R"({"kind":"APIResourceList","apiVersion":"v1","resources":[)"
                           R"({"name":"gizmos","singularName":"gizmo","kind":"Gizmo",)"
                           R"("shortNames":["gz"],"namespaced":true,"verbs":)" +
                               verbs +
                               R"(},{"name":"gizmos/scale","kind":"Scale","namespaced":true,)"
                               R"("verbs":["get"]},)"
                               R"({"name":"twins","kind":"Twin","namespaced":true,"verbs":[]}]})");
      }
      if (request.target == "/apis/example.org/v1") {
        return ResourceList("example.org/v1", {{"example.org", "v1", "twins", "Twin"}});
      }
      if (request.target == "/apis/broken/v1") return Answer(503, "down", "text/plain");
      if (request.target == "/apis/apps/v1") return ResourceList("apps/v1", {});
      if (request.target == "/apis/batch/v1") return ResourceList("batch/v1", {});
      if (request.target == ApiRequest::List(TypeOf("pod"), "lab").http.target) {
        return Answer(200, ListText(TypeOf("pod"), pods_));
      }
      const auto list = ApiRequest::ListByName(gizmos, "lab", "bob", Freshness::kSure);
      if (request.target == list.http.target) return Answer(200, ListText(gizmos, {}));
      return NoSuchPath();
    };
  }

  void ServeBob(const std::string& fields) {
    api_.transport.On(
        ApiRequest::ListByName(gizmos_, "lab", "bob", Freshness::kSure),
        Answer(200, ListText(gizmos_, {ObjectText(gizmos_, "lab", "bob", "u-bob", "", fields)})));
  }
  void ServeScale(HttpResult answer) {
    api_.transport.On(ApiRequest::GetScale(gizmos_, "lab", "bob", Freshness::kSure),
                      std::move(answer));
  }
  static HttpResult ScaleOf(const std::string& spec, const char* uid = "u-bob",
                            const char* name = "bob") {
    return Answer(200, ObjectText({"autoscaling", "v1", "scales", "Scale"}, "lab", name, uid, "",
                                  R"("spec":)" + spec));
  }
  void StartAnew() {
    auto otherwise = api_.transport.otherwise;
    api_.transport = FakeTransport();
    api_.transport.otherwise = std::move(otherwise);
  }

  const ResourceType gizmos_{"example.com", "v1", "gizmos", "Gizmo"};
  std::vector<std::string> pods_;  // all that there are
};

TEST_F(CustomOwnerTest, IsFoundByEveryNameThatDiscoveryHas) {
  for (const char* owner :
       {"gizmo/bob", "gizmos/bob", "gz/bob", "Gizmo/bob", "gizmo.example.com/bob",
        "gizmos.v1.example.com/bob", "gz.example.com/bob"}) {
    StartAnew();
    ServeBob(R"("spec":{})");
    ServeScale(ScaleOf(R"({"replicas":1})"));
    const OwnerSight sight = Look(Query(owner));
    ExpectObservation(sight, "active", owner);
    EXPECT_EQ(sight.object->Describe(), "gizmo.example.com/bob");
  }
}

TEST_F(CustomOwnerTest, ANameInSeveralGroupsIsAmbiguous) {
  const OwnerSight sight = Look(Query("twin/bob"));
  EXPECT_EQ(sight.observation, Observation::kUnknown);
  EXPECT_NE(sight.setting_problem.find("say twin.example.com or twin.example.org"),
            std::string::npos)
      << sight.setting_problem;
}

TEST_F(CustomOwnerTest, AKindThatAGroupThatIsDownMayHaveIsUnknown) {
  Serve(R"(["create","get","list"])", true);
  for (const char* owner : {"widget/bob", "gizmo/bob", "widget.broken/bob"}) {
    ExpectObservation(Look(Query(owner)), "unknown", owner);
  }
  ServeBob(R"("spec":{})");
  ServeScale(ScaleOf(R"({"replicas":1})"));
  ExpectObservation(Look(Query("gizmo.example.com/bob")), "active", "its own group is up");
  const OwnerSight sight = Look(Query("widget.example.com/bob"));
  EXPECT_NE(sight.setting_problem.find("not served"), std::string::npos) << sight.detail;
}

TEST_F(CustomOwnerTest, ANameStandsForWhatItWasRecordedAs) {
  OwnerQuery query = Query("twin/bob");
  query.recorded = RecordedOwner{"twin.example.org", "lab", "bob", "u-bob", std::nullopt, "", ""};
  const ResourceType twins{"example.org", "v1", "twins", "Twin"};
  const auto list = ApiRequest::ListByName(twins, "lab", "bob", Freshness::kSure);
  api_.transport.On(
      list,
      Answer(200, ListText(twins, {ObjectText(twins, "lab", "bob", "u-bob", "", R"("spec":{})")})));
  const OwnerSight sight = Look(query);
  ExpectObservation(sight, "active", "although another kind is called so too");
  EXPECT_EQ(sight.object->Describe(), "twin.example.org/bob");
  EXPECT_TRUE(sight.is_of_recorded_kind);
}

TEST_F(CustomOwnerTest, WhatItWasRecordedAsAndIsNotServedAnyMoreIsAMistake) {
  for (const char* owner : {"gadget/bob", "gadget.example.net/bob"}) {
    OwnerQuery query = Query(owner);
    query.recorded =
        RecordedOwner{"gadget.example.net", "lab", "bob", "u-bob", std::nullopt, "", ""};
    const OwnerSight sight = Look(query);
    EXPECT_EQ(sight.observation, Observation::kUnknown);
    EXPECT_NE(sight.setting_problem.find("not served"), std::string::npos) << sight.detail;
  }
}

TEST_F(CustomOwnerTest, AScaleOfZeroDoesntCountWhileAPodOfItRuns) {
  ServeBob(R"("spec":{})");
  ServeScale(ScaleOf(R"({"replicas":0})"));
  pods_ = {ObjectText(TypeOf("pod"), "lab", "bob-master-0", "u-pod",
                      ControlledBy(gizmos_, "bob", "u-bob"),
                      R"("spec":{},"status":{"phase":"Running"})")};
  Serve(R"(["create","get","list"])");
  ExpectObservation(Look(Query("gizmo/bob")), "active", "its scale counts other pods");
}

TEST_F(CustomOwnerTest, ItsReplicasAreThoseOfItsScale) {
  struct Case {
    const char* what;
    HttpResult answer;
    const char* expected;
  };
  const std::vector<Case> cases = {
      {"one", ScaleOf(R"({"replicas":1})"), "active"},
      {"three", ScaleOf(R"({"replicas":3})"), "active"},
      {"none", ScaleOf(R"({"replicas":0})"), "scaled-to-zero"},
      {"left out", ScaleOf("{}"), "scaled-to-zero"},
      {"no count", ScaleOf(R"({"replicas":"0"})"), "unknown"},
      {"negative", ScaleOf(R"({"replicas":-1})"), "unknown"},
      {"of another object", ScaleOf(R"({"replicas":0})", "u-alice"), "unknown"},
      {"of another name", ScaleOf(R"({"replicas":0})", "u-bob", "alice"), "unknown"},
      {"of another kind",
       Answer(200, ObjectText(gizmos_, "lab", "bob", "u-bob", "", R"("spec":{"replicas":0})")),
       "unknown"},
      {"not found", NotFound(gizmos_, "bob"), "unknown"},
      {"forbidden", Refused(403), "unknown"},
      {"no answer", NoAnswer(), "unknown"},
      {"text", NoSuchPath(), "unknown"},
      {"not set",
       Answer(500, R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":)"
                   R"("Internal error occurred: the spec replicas field \".spec.size\" )"
                   R"(does not exist","reason":"InternalError","code":500})"),
       "active"},
      {"broken", Refused(500), "unknown"},
  };
  for (const Case& one : cases) {
    StartAnew();
    ServeBob(R"("spec":{"replicas":0})");
    ServeScale(one.answer);
    const OwnerSight sight = Look(Query("gizmo/bob"));
    ExpectObservation(sight, one.expected, one.what);
  }
}

TEST_F(CustomOwnerTest, AbsentTakesADefinitionThatStillOffersCreate) {
  ExpectObservation(Look(Query("gizmo/bob")), "absent", "");
  Serve(R"(["delete","deletecollection","get","list","watch"])");
  (void)api_.discovery.Refresh({});
  ExpectObservation(Look(Query("gizmo/bob")), "unknown", "its definition is being deleted");
}

TEST_F(CustomOwnerTest, AbsentTakesADefinitionThatOffersCreateAfterTheEmptyAnswer) {
  ExpectObservation(Look(Query("gizmo/bob")), "absent", "");
  Serve(R"(["get","list"])");  // without a refresh in between
  ExpectObservation(Look(Query("gizmo/bob")), "unknown", "");
  api_.transport.On(ApiRequest::Discover("/apis/example.com/v1"), NoSuchPath());
  ExpectObservation(Look(Query("gizmo/bob")), "unknown", "");
}

TEST_F(CustomOwnerTest, CompletesByItsOwnWords) {
  OwnerQuery query = Query("gizmo/bob");
  query.completed_when = *CompletedWhen::Parse("{.status.phase}=Succeeded,Failed");
  const std::pair<const char*, const char*> cases[] = {
      {R"("status":{"phase":"Succeeded"})", "completed"},
      {R"("status":{"phase":"Failed"})", "completed"},
      {R"("status":{"phase":"Running"})", "active"},
      {R"("status":{})", "active"},
  };
  for (const auto& [fields, expected] : cases) {
    StartAnew();
    ServeBob(fields);
    ServeScale(ScaleOf(R"({"replicas":1})"));
    ExpectObservation(Look(query), expected, fields);
  }
  StartAnew();
  ServeBob(R"("status":{"phase":["Succeeded"]})");
  ServeScale(ScaleOf(R"({"replicas":1})"));
  const OwnerSight sight = Look(query);
  EXPECT_EQ(sight.observation, Observation::kUnknown);
  EXPECT_NE(sight.setting_problem.find("leads to a list"), std::string::npos) << sight.detail;
}

TEST_F(OwnerProbeTest, CompletedWhenIsNotForWorkloads) {
  OwnerQuery query = Query("deployment/bob");
  query.completed_when = *CompletedWhen::Parse("{.status.phase}=Succeeded");
  api_.transport.On(ListBob("deployment"), OneBob("deployment"));
  const OwnerSight sight = Look(query);
  EXPECT_EQ(sight.observation, Observation::kUnknown);
  EXPECT_NE(sight.setting_problem.find("custom resources"), std::string::npos) << sight.detail;
}

// A Pod that belongs to a ReplicaSet of a Deployment.
class PodOwnerTest : public OwnerProbeTest {
 protected:
  PodOwnerTest() {
    api_.transport.On(ListBob("pod"), OneBob("pod", R"("spec":{})",
                                             ControlledBy(TypeOf("rs"), "bob-5f7", "u-set")));
    ServeSet(ControlledBy(TypeOf("deployment"), "bobby", "u-bobby"));
    ServeDeployment(1);
  }
  void ServeSet(const std::string& metadata, const char* uid = "u-set") {
    const ResourceType& sets = TypeOf("rs");
    set_ = Answer(200, ObjectText(sets, "lab", "bob-5f7", uid, metadata, kNoReplica));
  }
  void ServeDeployment(int replicas, const char* uid = "u-bobby") {
    const ResourceType& deployments = TypeOf("deployment");
    deployment_ =
        Answer(200, ObjectText(deployments, "lab", "bobby", uid, "",
                               R"("spec":{"replicas":)" + std::to_string(replicas) + "}"));
  }
  OwnerSight LookAtPod(const std::string& owner = "pod/bob") {
    api_.transport.On(ApiRequest::Get(TypeOf("rs"), "lab", "bob-5f7"), set_);
    api_.transport.On(ApiRequest::Get(TypeOf("deployment"), "lab", "bobby"), deployment_);
    return Look(Query(owner));
  }

  HttpResult set_ = NoSuchPath();
  HttpResult deployment_ = NoSuchPath();
};

TEST_F(PodOwnerTest, MeansTheDeploymentBehindIt) {
  const OwnerSight sight = LookAtPod();
  ExpectObservation(sight, "active", "");
  EXPECT_EQ(sight.object->Describe(), "deployment.apps/bobby");
  EXPECT_TRUE(sight.followed_controller);
}

TEST_F(PodOwnerTest, MeansTheDeploymentThatIsScaledToZero) {
  ServeDeployment(0);
  ExpectObservation(LookAtPod(), "scaled-to-zero", "");
}

TEST_F(PodOwnerTest, WhatControlsItAndCantBeReadIsUnknown) {
  set_ = Refused(403);
  ExpectObservation(LookAtPod(), "unknown", "forbidden");
}

TEST_F(PodOwnerTest, AControllerThatIsGoneIsUnknown) {
  set_ = NotFound(TypeOf("rs"), "bob-5f7");
  ExpectObservation(LookAtPod(), "unknown", "not found");
}

TEST_F(PodOwnerTest, AnotherObjectUnderTheControllersNameIsUnknown) {
  ServeSet(ControlledBy(TypeOf("deployment"), "bobby", "u-bobby"), "u-other");
  ExpectObservation(LookAtPod(), "unknown", "the ReplicaSet");
}

TEST_F(PodOwnerTest, AnotherDeploymentUnderTheNameIsUnknown) {
  ServeDeployment(0, "u-other");
  ExpectObservation(LookAtPod(), "unknown", "the Deployment");
}

TEST_F(PodOwnerTest, AReplicaSetWithoutControllerIsTheOwner) {
  ServeSet("");
  const OwnerSight sight = LookAtPod();
  ExpectObservation(sight, "scaled-to-zero", "");
  EXPECT_EQ(sight.object->Describe(), "replicaset.apps/bob-5f7");
}

TEST_F(PodOwnerTest, AControllerThatRunsNoDriverIsUnknown) {
  ServeSet(ControlledBy(TypeOf("rs"), "bob-5f7", "u-set"));
  ExpectObservation(LookAtPod(), "unknown", "itself");
}

TEST_F(PodOwnerTest, OnceRecordedTheDeploymentIsLookedForAlone) {
  OwnerQuery query = Query("pod/bob");
  query.recorded =
      RecordedOwner{"deployment.apps", "lab", "bobby", "u-bobby", std::nullopt, "", "pod/bob"};
  const auto list = ApiRequest::ListByName(TypeOf("deployment"), "lab", "bobby", Freshness::kSure);
  api_.transport.On(list, Answer(200, ListText(TypeOf("deployment"), {})));
  const OwnerSight sight = Look(query);
  ExpectObservation(sight, "absent", "");
  EXPECT_FALSE(api_.transport.WasAsked(ListBob("pod")));
}

TEST_F(OwnerProbeTest, APodOfItsOwnIsTheOwner) {
  const std::pair<const char*, const char*> cases[] = {{"Running", "active"},
                                                       {"Pending", "active"},
                                                       {"Succeeded", "completed"},
                                                       {"Failed", "completed"}};
  for (const auto& [phase, expected] : cases) {
    api_.transport = FakeTransport();
    ServeConfigs(true);
    api_.transport.On(ListBob("pod"), OneBob("pod", R"("spec":{},"status":{"phase":")" +
                                                        std::string(phase) + "\"}"));
    ExpectObservation(Look(Query("pod/bob")), expected, phase);
  }
}

TEST_F(OwnerProbeTest, WhatWasRecordedOfAnotherKindDoesNotCount) {
  api_.transport.On(ListBob("deployment"), OneBob("deployment"));
  const OwnerSight sight = Look(Recorded("deployment/bob", "job", "u-job"));
  ExpectObservation(sight, "active", "");
  EXPECT_FALSE(sight.is_of_recorded_kind);
}

TEST_F(OwnerProbeTest, DiscoveryThatFailsIsNoKindProblem) {
  for (const HttpResult& answer : {HttpResult(Refused(503)), HttpResult(NoAnswer())}) {
    api_.transport = FakeTransport();
    ServeConfigs(true);
    api_.transport.On(ApiRequest::Discover("/apis"), answer);
    ExpectObservation(Look(Query("dc/bob")), "unknown", "");
  }
}

}  // namespace
}  // namespace cluster_watcher
