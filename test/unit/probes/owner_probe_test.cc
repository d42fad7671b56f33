#include "probes/owner_probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "test/unit/support/fake_transport.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

constexpr char kWantsOneReplica[] = R"("spec":{"replicas":1})";
constexpr char kNoReplica[] = R"("spec":{"replicas":0})";

ApiRequest ListBob(const char* type, Freshness freshness = Freshness::kConsistent,
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

HttpResponse OneBob(const char* type, const std::string& fields = kWantsOneReplica,
                    const std::string& metadata = "") {
  return ListAnswer(TypeOf(type), {Bob(type, fields, metadata)});
}
std::string PodText(const char* name, const std::string& fields, const std::string& metadata = "") {
  return ObjectText(TypeOf("pod"), "lab", name, name, metadata, fields);
}
std::string PodIn(const char* phase) {
  return R"("spec":{},"status":{"phase":")" + std::string(phase) + R"("})";
}

// An API server without any object named bob until a test adds one.
class OwnerProbeTest : public testing::Test {
 protected:
  OwnerProbeTest() { ServeConfigs(true); }

  void ServeConfigs(bool served) {
    api_.transport.otherwise = [=, this](const HttpRequest& request) -> HttpResult {
      std::vector<ResourceType> types;
      if (served) types.push_back(TypeOf("dc"));
      if (const auto discovered = FakeApi::Discovered(request, types)) return *discovered;
      for (const ResourceType& type : BareNameTypes()) {
        for (const char* ns : {"lab", "attic"}) {
          const std::string list = type.CollectionPath(ns) + "?fieldSelector=metadata.name%3Dbob";
          if (request.target.starts_with(list)) return ListAnswer(type, {});
        }
      }
      for (const char* ns : {"lab", "attic"}) {
        for (const bool metadata_only : {true, false}) {
          const auto all = ApiRequest::ListUnendedPods(ns, "", metadata_only);
          if (request.target == all.http.target) return ListAnswer(TypeOf("pod"), Unended());
        }
      }
      return NoSuchPath();
    };
  }

  OwnerSight Look(const OwnerQuery& query, Freshness freshness = Freshness::kConsistent) {
    return OwnerProbe(api_.client, api_.discovery).Look(query, freshness, {});
  }

  std::size_t ListsByName() const {
    return static_cast<std::size_t>(std::count_if(
        api_.transport.requests.begin(), api_.transport.requests.end(), [](const HttpRequest& r) {
          return r.target.find("fieldSelector=metadata.name") != std::string::npos;
        }));
  }

  std::vector<std::string> Unended() const {
    std::vector<std::string> pods = pods_;
    std::erase_if(pods, [](const std::string& pod) {
      return pod.find("Succeeded") != std::string::npos || pod.find("Failed") != std::string::npos;
    });
    return pods;
  }

  const ApiRequest kAllPods = ApiRequest::ListUnendedPods("lab");
  std::vector<std::string> pods_;  // every pod there is
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

TEST(RecordedOwnerTest, IsForTheNameThatItWasRecordedFor) {
  const OwnerName bob = *OwnerName::Parse("bob");
  const OwnerName pod = *OwnerName::Parse("pod/bob-1");
  RecordedOwner owner{"deployment.apps", "lab", "bob", "u1", std::nullopt, "", ""};
  EXPECT_TRUE(owner.IsFor(bob, "lab"));
  EXPECT_FALSE(owner.IsFor(bob, "attic"));
  EXPECT_FALSE(owner.IsFor(*OwnerName::Parse("alice"), "lab"));
  owner.given = "pod/bob-1";
  EXPECT_TRUE(owner.IsFor(pod, "lab"));
  EXPECT_FALSE(owner.IsFor(pod, "attic"));
  EXPECT_FALSE(owner.IsFor(bob, "lab"));
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
      {kWantsOneReplica, "", false, "active"},
      {R"("spec":{"replicas":5})", "", false, "active"},
      {kNoReplica, "", false, "scaled-to-zero"},
      {kWantsOneReplica, "", true, "replaced"},
      {kNoReplica, "", true, "replaced"},
      {kWantsOneReplica, deleting, false, "deleting"},
      {kNoReplica, deleting, false, "deleting"},
      {kWantsOneReplica, deleting, true, "deleting"},
      {R"("spec":{})", "", false, "unknown"},
      {R"("status":{"replicas":0})", "", false, "unknown"},
  };
  const std::vector<Case> jobs = {
      {R"("spec":{})", "", false, "active"},
      {R"("spec":{"suspend":true})", "", false, "scaled-to-zero"},
      {R"("spec":{"suspend":true},"status":{"active":1})", "", false, "scaled-to-zero"},
      {complete, "", false, "completed"},
      {complete, "", true, "replaced"},
      {complete, deleting, false, "deleting"},
      {R"("status":{})", "", false, "unknown"},
  };
  for (const char* type : {"rc", "deployment", "dc", "sts", "rs", "job"}) {
    for (const Case& one : std::string(type) == "job" ? jobs : replicated) {
      api_.transport.Forget();
      api_.transport.On(ListBob(type), OneBob(type, one.fields, one.metadata));
      const std::string uid = one.other_uid ? "u-older" : std::string("u-") + type;
      ExpectObservation(Look(Recorded(std::string(type) + "/bob", type, uid)), one.expected,
                        type + (" " + one.fields) + one.metadata);
    }
  }
}

TEST_F(OwnerProbeTest, TellsWhatAnOwnerThatWasNeverSeenIs) {
  api_.transport.On(
      ListBob("deployment"),
      OneBob("deployment", R"("spec":{"replicas":3,"selector":{"matchLabels":{"app":"bob"}},)"
                           R"("template":{"spec":{"terminationGracePeriodSeconds":60}}})"));
  const OwnerSight sight = Look(Query("deployment/bob"));
  ExpectObservation(sight, "active", "not replaced");
  EXPECT_EQ(sight.object->meta.uid, "u-deployment");
  EXPECT_EQ(sight.object->type, TypeOf("deployment"));
  EXPECT_EQ(sight.fields.replicas, 3);
  EXPECT_EQ(sight.fields.termination_grace, seconds(60));
  EXPECT_EQ(sight.fields.pod_selector, "app=bob");
  EXPECT_NE(sight.detail.find("deployment.apps/bob"), std::string::npos);
}

TEST_F(OwnerProbeTest, ABareNameIsWhateverOneKindHas) {
  struct Case {
    const char* what;
    std::vector<const char*> found;
    const char* seen_as;  // "": never seen
    const char* only_kind;
    bool configs_served;
    const char* expected;
    std::size_t lists;
    const char* fields = kWantsOneReplica;
  };
  const std::vector<Case> cases = {
      {"nothing", {}, "", "", true, "absent", 5},
      {"nothing, and a kind is not served", {}, "", "", false, "absent", 4},
      {"", {"replicationcontroller"}, "", "", true, "active", 5},
      {"", {"deployment"}, "", "", true, "active", 5},
      {"", {"deploymentconfig"}, "", "", true, "active", 5},
      {"", {"statefulset"}, "", "", true, "active", 5},
      {"", {"job"}, "", "", true, "active", 5},
      {"several", {"sts", "rc"}, "", "", true, "unknown", 5},
      {"the kind is given", {"sts", "rc"}, "", "statefulset", true, "active", 1},
      {"the kind is given with its group", {"sts", "rc"}, "", "sts.apps", true, "active", 1},
      {"what it was recorded as is polled alone", {"sts", "rc"}, "sts", "", true, "active", 1},
      {"once that is absent, the others must be", {}, "sts", "", true, "absent", 6},
      {"another has the name", {"rc"}, "sts", "", true, "replaced", 6},
      {"one that is over too has not taken over",
       {"sts", "deployment"},
       "sts",
       "",
       true,
       "scaled-to-zero",
       5,
       kNoReplica},
      {"two others have the name", {"rc", "job"}, "sts", "", true, "unknown", 6},
  };
  for (const Case& one : cases) {
    api_.transport.Forget();
    ServeConfigs(one.configs_served);
    EXPECT_TRUE(api_.discovery.Refresh({}));
    for (const char* type : one.found) {
      api_.transport.On(ListBob(type), OneBob(type, one.fields));
    }
    OwnerQuery query = Query("bob");
    if (*one.seen_as != 0) query = Recorded("bob", one.seen_as, std::string("u-") + one.seen_as);
    query.only_kind = one.only_kind;
    const OwnerSight sight = Look(query);
    const std::string what = one.found.empty() || *one.what != 0 ? one.what : one.found.front();
    ExpectObservation(sight, one.expected, what);
    EXPECT_EQ(ListsByName(), one.lists) << what;
    if (sight.observation == Observation::kActive) {
      EXPECT_EQ(sight.object->type, TypeOf(one.found.front())) << what;
    }
    EXPECT_EQ(sight.still_running, "");
  }
  api_.transport.On(ListBob("sts"), OneBob("sts"));
  const std::string both = Look(Query("bob")).detail;
  for (const char* part : {"replicationcontroller/bob", "statefulset.apps/bob", "--owner-kind"}) {
    EXPECT_NE(both.find(part), std::string::npos) << both;
  }
}

TEST_F(OwnerProbeTest, ABareNameOfWhichOneKindIsUnreadableIsUnknown) {
  for (const char* seen_as : {"", "sts"}) {
    for (const bool another_exists : {false, true}) {
      for (const HttpResult& answer :
           {HttpResult(NoAnswer()), HttpResult(Refused(401)), HttpResult(Refused(403)),
            HttpResult(NoSuchPath()), HttpResult(OneBob("job", R"("status":{})"))}) {
        api_.transport.Forget();
        if (another_exists) api_.transport.On(ListBob("deployment"), OneBob("deployment"));
        api_.transport.On(ListBob("job"), answer);
        const bool seen = *seen_as != 0;
        ExpectObservation(Look(seen ? Recorded("bob", seen_as, "u-sts") : Query("bob")), "unknown",
                          another_exists ? "one" : "none");
      }
    }
  }
  api_.transport.Forget();
  api_.transport.On(ListBob("sts"), Refused(500));
  ExpectObservation(Look(Recorded("bob", "sts", "u-sts")), "unknown", "whatever the others are");
  EXPECT_EQ(ListsByName(), 1u);
}

// This happens for a while after an API server starts.
TEST_F(OwnerProbeTest, ABareNameThatWasSeenAsAKindThatIsNotServedAnyMoreIsAMistake) {
  ServeConfigs(false);
  const OwnerSight sight = Look(Recorded("bob", "dc", "u-dc"));
  EXPECT_EQ(sight.observation, Observation::kUnknown);
  EXPECT_NE(sight.setting_problem.find("not served any more"), std::string::npos) << sight.detail;
  api_.transport.On(ListBob("sts"), OneBob("sts"));
  ExpectObservation(Look(Recorded("bob", "sts", "u-sts")), "active", "its own kind is served");
}

TEST_F(OwnerProbeTest, APodOfAnyKindThatABareNameMayMeanStillRuns) {
  api_.transport.On(ListPods("app=bob"),
                    ListAnswer(TypeOf("pod"), {PodText("p", PodIn("Running"))}));
  const OwnerSight sight = Look(Recorded("bob", "rc", "u-rc", "app=bob"));
  ExpectObservation(sight, "absent", "");
  EXPECT_EQ(sight.still_running, "pod/p");
}

// A driver's own pods may carry the cluster's label as well.
TEST_F(OwnerProbeTest, OnlyPodsOfARootOfTheClusterAreNoneOfTheOwners) {
  const std::string labelled = R"("labels":{"oshinko-cluster":"spark"})";
  const ResourceType& sets = TypeOf("rs");
  const ResourceType& deployments = TypeOf("deployment");
  const auto by = [&](const ResourceType& type, const char* name, const char* uid) {
    return labelled + "," + ControlledBy(type, name, uid);
  };
  const auto set = [&](const char* name, const std::string& metadata) {
    return ObjectText(sets, "lab", name, "u-set", metadata);
  };
  struct Case {
    const char* what;
    std::string pod;
    std::string set;
    std::string deployment;
    const char* runs;
  };
  const auto pod = [](const char* name, const std::string& metadata) {
    return PodText(name, R"("spec":{})", metadata);
  };
  const std::string below = by(sets, "set", "u-set");
  const auto worker = [&](const std::string& metadata) {
    return ObjectText(deployments, "lab", "w", "u-w", metadata);
  };
  const std::vector<Case> cases = {
      {"without the label", pod("p", R"("labels":{"oshinko-cluster":"other"})"), "", "", "pod/p"},
      {"of the owner", pod("p", by(deployments, "bob", "u1")), "", "", "pod/p"},
      {"of the owner's set", pod("p", below), set("s", by(deployments, "bob", "u1")), "", "pod/p"},
      {"of a worker", pod("p", below), set("s", by(deployments, "w", "u-w")), worker(labelled), ""},
      {"of a stranger", pod("p", below), set("s", by(deployments, "w", "u-w")), worker(""),
       "pod/p"},
      {"of nobody any more", pod("p", below), "", "", "pod/p"},
      {"of the set that the owner left", pod("p", below), set("bob-1", labelled), "", "pod/p"},
      {"of a set of the cluster's", pod("p", below), set("s", labelled), "", ""},
      {"of a worker that is named like it", pod("p", below), set("s", by(deployments, "w", "u-w")),
       ObjectText(deployments, "lab", "bob-w", "u-w", labelled), ""},
      {"that the owner left", pod("bob-1", labelled), "", "", "pod/bob-1"},
      {"that has another owner",
       pod("bob-1", labelled + R"(,"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap",)"
                               R"("name":"c","uid":"u-c"}])"),
       "", "", ""},
      {"of the cluster's own", pod("p", labelled), "", "", ""},
  };
  OwnerQuery query = Recorded("deployment/bob", "deployment", "u1", "app=bob");
  query.cluster.id = ClusterId{"lab", DefaultProfile(), "spark"};
  const auto list = [](const ResourceType& type, const std::string& item) {
    return ListAnswer(type, item.empty() ? std::vector<std::string>() : std::vector{item});
  };
  for (const Case& one : cases) {
    api_.transport.Forget();
    api_.transport.On(ListPods("app=bob"), ListAnswer(TypeOf("pod"), {one.pod}));
    api_.transport.On(ApiRequest::ListMetadata(sets, "lab"), list(sets, one.set));
    api_.transport.On(ApiRequest::ListMetadata(deployments, "lab"),
                      list(deployments, one.deployment));
    const OwnerSight sight = Look(query);
    ExpectObservation(sight, "absent", one.what);
    EXPECT_EQ(sight.still_running, one.runs) << one.what;
  }
  api_.transport.Forget();
  api_.transport.On(ListPods("app=bob"), ListAnswer(TypeOf("pod"), {pod("p", below)}));
  api_.transport.On(ApiRequest::ListMetadata(sets, "lab"), Refused(403));
  ExpectObservation(Look(query), "unknown", "whose they are can't be told");
  query.cluster.root_uid = "u-set";
  OwnerSight sight = Look(query);
  ExpectObservation(sight, "absent", "the master root's need no further look");
  EXPECT_EQ(sight.still_running, "");
  api_.transport.Forget();
  api_.transport.On(ListPods("app=bob"), ListAnswer(TypeOf("pod"), {pod("bob-m", labelled)}));
  query.cluster.root_uid = "bob-m";
  sight = Look(query);
  ExpectObservation(sight, "absent", "the master root is a pod, and named like the owner's");
  EXPECT_EQ(sight.still_running, "");
}

TEST_F(OwnerProbeTest, ARunThatAnAbsentCronJobLeftStillRuns) {
  const ResourceType& jobs = TypeOf("job");
  const char* unfinished = R"("status":{})";
  const char* complete = R"("status":{"conditions":[{"type":"Complete","status":"True"}]})";
  const std::string owned = ControlledBy(TypeOf("cronjob"), "bob", "u-bob");
  struct Case {
    const char* name;
    std::string metadata;
    const char* status;
    bool runs;
  };
  const std::vector<Case> cases = {
      {"bob-1", "", unfinished, true},
      {"bob-1", "", complete, false},
      {"bobby-1", "", unfinished, false},
      {"by-hand", owned, unfinished, true},
      {"by-hand", owned, complete, false},
      {"bob-1", R"("deletionTimestamp":"2026-12-24T18:00:00Z")", unfinished, false},
  };
  for (const Case& one : cases) {
    api_.transport.Forget();
    api_.transport.On(ListBob("cronjob"), ListAnswer(TypeOf("cronjob"), {}));
    api_.transport.On(ApiRequest::List(jobs, "lab"),
                      ListAnswer(jobs, {ObjectText(jobs, "lab", one.name, "u1", one.metadata,
                                                   R"("spec":{},)" + std::string(one.status))}));
    api_.transport.On(ApiRequest::ListUnendedPods("lab", "job-name"),
                      ListAnswer(TypeOf("pod"), {}));
    const OwnerSight sight = Look(Recorded("cronjob/bob", "cronjob", "u-bob"));
    ExpectObservation(sight, "absent", one.name);
    EXPECT_EQ(sight.still_running, one.runs ? "job.batch/" + std::string(one.name) : "");
  }
  api_.transport.Forget();
  api_.transport.On(ListBob("cronjob"), ListAnswer(TypeOf("cronjob"), {}));
  api_.transport.On(ApiRequest::List(jobs, "lab"),
                    ListAnswer(jobs, {ObjectText(jobs, "lab", "by-hand", "u1", owned)}));
  ExpectObservation(Look(Recorded("cronjob/bob", "cronjob", "u-bob")), "unknown", "without a spec");
}

// The selector is of an older Job. Each may be deleted with --cascade=orphan, or be held.
TEST_F(OwnerProbeTest, APodOfAJobThatIsLostOrGoingStillRuns) {
  const ResourceType& pods = TypeOf("pod");
  const ResourceType& jobs = TypeOf("job");
  const ResourceType& cronjobs = TypeOf("cronjob");
  const std::string owned = ControlledBy(cronjobs, "bob", "u-bob");
  const std::string going = R"(,"deletionTimestamp":"2026-12-24T18:00:00Z")";
  const std::string suspended =
      ObjectText(cronjobs, "lab", "bob", "u-bob", "", R"("spec":{"suspend":true})");
  struct Case {
    const char* what;
    std::string owner;
    std::string job;
    const char* pod;
    std::string metadata;
    bool runs;
  };
  const std::string held = ObjectText(jobs, "lab", "by-hand", "u-job", owned + going);
  std::string not_controlled = owned;
  not_controlled.replace(not_controlled.find("true"), 4, "false");
  const std::string own =
      ObjectText(jobs, "lab", "by-hand", "u-job",
                 R"("labels":{"oshinko-cluster":"spark"},)" + not_controlled + going);
  const std::vector<Case> cases = {
      {"both left", "", "", "bob-9-x", "", true},
      {"of another", "", "", "bobby-9-x", "", false},
      {"of a Job that is gone", "", "", "bob-9-x", ControlledBy(jobs, "bob-9", "u-j"), true},
      {"of what is no Job", "", "", "bob-9-x", ControlledBy(TypeOf("replicaset"), "bob-9", "u-r"),
       false},
      {"of a Job that is gone and was another's", "", "", "x", ControlledBy(jobs, "x", "u-x"),
       false},
      {"of a sibling's Job", "",
       ObjectText(jobs, "lab", "bob-etl-9", "u-j", ControlledBy(cronjobs, "bob-etl", "u-etl")),
       "bob-etl-9-x", ControlledBy(jobs, "bob-etl-9", "u-j"), false},
      {"that is going as well", "", "", "bob-9-x", going.substr(1), false},
      {"of one that is held", "", held, "by-hand-x", ControlledBy(jobs, "by-hand", "u-job"), true},
      {"of another's", "", held, "by-hand-x", ControlledBy(jobs, "by-hand", "u-other"), false},
      {"the Job has left it", suspended, "", "bob-9-x", "", true},
      {"held", suspended, held, "by-hand-x", ControlledBy(jobs, "by-hand", "u-job"), true},
      {"its Job is gone", suspended, "", "bob-9-x", ControlledBy(jobs, "bob-9", "u-j"), true},
      {"the cluster's own", suspended, "", "bob-9-x", R"("labels":{"oshinko-cluster":"spark"})",
       false},
      {"the cluster's own Job", suspended, own, "by-hand-x", ControlledBy(jobs, "by-hand", "u-job"),
       false},
      {"only another's", suspended, held, "by-hand-x", ControlledBy(jobs, "x", "u-x"), false},
  };
  const auto list = [](const ResourceType& type, const std::string& item) {
    return ListAnswer(type, item.empty() ? std::vector<std::string>() : std::vector{item});
  };
  const ApiRequest unended = ApiRequest::ListUnendedPods("lab", "job-name");
  for (const Case& one : cases) {
    api_.transport.Forget();
    api_.transport.On(ListBob("cronjob"), list(cronjobs, one.owner));
    api_.transport.On(ApiRequest::List(jobs, "lab"), list(jobs, one.job));
    api_.transport.On(ListPods("job-name in (bob-1)"), ListAnswer(pods, {}));
    api_.transport.On(unended,
                      list(pods, ObjectText(pods, "lab", one.pod, "u1", one.metadata, "")));
    OwnerQuery query = Recorded("cronjob/bob", "cronjob", "u-bob", "job-name in (bob-1)");
    query.cluster.id = ClusterId{"lab", DefaultProfile(), "spark"};
    const OwnerSight sight = Look(query);
    ExpectObservation(sight, one.owner.empty() ? "absent" : "scaled-to-zero", one.what);
    EXPECT_EQ(sight.still_running, one.runs ? "pod/" + std::string(one.pod) : "") << one.what;
  }
  api_.transport.Forget();
  api_.transport.On(ListBob("cronjob"), ListAnswer(cronjobs, {}));
  api_.transport.On(ApiRequest::List(jobs, "lab"), ListAnswer(jobs, {}));
  api_.transport.On(unended, Refused(403));
  ExpectObservation(Look(Recorded("cronjob/bob", "cronjob", "u-bob")), "unknown",
                    "what still runs of the owner can't be told");
}

TEST_F(OwnerProbeTest, APodOfARunThatIsNoJobStillRunsWhateverTheRunSays) {
  const ResourceType& owners = TypeOf("scheduledsparkapplication");
  const ResourceType& runs = TypeOf("sparkapplication");
  const auto others = api_.transport.otherwise;
  api_.transport.otherwise = [&](const HttpRequest& request) -> HttpResult {
    if (const auto discovered = FakeApi::Discovered(request, {owners, runs})) return *discovered;
    return others(request);
  };
  const std::string going = R"(,"deletionTimestamp":"2026-12-24T18:00:00Z")";
  const std::string held =
      ObjectText(runs, "lab", "bob-1", "u-run", ControlledBy(owners, "bob", "u-bob") + going);
  const std::string ended =
      ObjectText(runs, "lab", "bob-2", "u-ended", ControlledBy(owners, "bob", "u-bob"),
                 R"("spec":{},"status":{"applicationState":{"state":"COMPLETED"}})");
  const auto look = [&](const char* run) {
    api_.transport.Forget();
    for (const auto& list :
         {ListBob("scheduledsparkapplication"), ApiRequest::ListMetadata(owners, "lab")}) {
      api_.transport.On(list, ListAnswer(owners, {ObjectText(owners, "lab", "bob", "u-bob", "",
                                                             R"("spec":{"suspend":true})")}));
    }
    for (const auto& list :
         {ApiRequest::List(runs, "lab"), ApiRequest::ListMetadata(runs, "lab")}) {
      api_.transport.On(list, ListAnswer(runs, {held, ended}));
    }
    pods_ = {PodText("driver", PodIn("Running"), ControlledBy(runs, "bob-1", run))};
    const OwnerSight sight = Look(Query("scheduledsparkapplication.sparkoperator.k8s.io/bob"));
    ExpectObservation(sight, "scaled-to-zero", run);
    return sight.still_running;
  };
  EXPECT_EQ(look("u-run"), "pod/driver") << "the run is held";
  EXPECT_EQ(look("u-ended"), "pod/driver") << "its status is ahead of its pods";
  EXPECT_EQ(look("u-another"), "") << "another's";
}

TEST_F(OwnerProbeTest, AGroupThatIsMerelyNotListedDoesCountForABareName) {
  ServeConfigs(false);
  api_.transport.On(ApiRequest::Discover("/apis/apps.openshift.io/v1"), Refused(503));
  ExpectObservation(Look(Query("bob")), "unknown", "");
}

TEST_F(OwnerProbeTest, WhereDiscoveryFailsNothingIsKnownOrCalledAMistake) {
  for (const char* owner : {"bob", "dc/bob"}) {
    for (const HttpResult& answer : {HttpResult(Refused(503)), HttpResult(NoAnswer())}) {
      api_.transport.Forget();
      api_.transport.On(ApiRequest::Discover("/apis"), answer);
      ExpectObservation(Look(Query(owner)), "unknown", owner);
      EXPECT_EQ(ListsByName(), 0u);
    }
  }
}

TEST_F(OwnerProbeTest, WhatMayNotBeListedIsGot) {
  struct Case {
    const char* what;
    HttpResult answer;
    const char* expected;
  };
  const std::vector<Case> cases = {
      {"there", Answer(200, Bob("deployment", kWantsOneReplica)), "active"},
      {"scaled to zero", Answer(200, Bob("deployment", kNoReplica)), "scaled-to-zero"},
      {"can't be judged", Answer(200, Bob("deployment", R"("spec":{})")), "unknown"},
      {"not found", NotFound(TypeOf("deployment"), "bob"), "absent"},
      {"another is not found", NotFound(TypeOf("deployment"), "alice"), "unknown"},
      {"another kind is not found", NotFound(TypeOf("sts"), "bob"), "unknown"},
      {"no such path", NoSuchPath(), "unknown"},
      {"forbidden too", Refused(403), "unknown"},
      {"no answer", NoAnswer(), "unknown"},
  };
  for (const Case& one : cases) {
    api_.transport.Forget();
    api_.transport.On(ListBob("deployment"), Refused(403));
    api_.transport.On(GetBob("deployment"), one.answer);
    ExpectObservation(Look(Query("deployment/bob")), one.expected, one.what);
  }
  api_.transport.Forget();
  api_.transport.On(ListBob("deployment"), Refused(503));
  api_.transport.On(GetBob("deployment"), NotFound(TypeOf("deployment"), "bob"));
  ExpectObservation(Look(Query("deployment/bob")), "unknown", "it may be listed");
}

// The client decides which answers are definite.
TEST_F(OwnerProbeTest, AnyOtherAnswerIsUnknown) {
  const ResourceType& deployments = TypeOf("deployment");
  const std::string alice = ObjectText(deployments, "lab", "alice", "u1", "", kNoReplica);
  const std::vector<std::pair<const char*, HttpResult>> answers = {
      {"timeout", NoAnswer()},
      {"401", Refused(401)},
      {"404 of the object, to a list", NotFound(deployments, "bob")},
      {"404 text", NoSuchPath()},
      {"503", Answer(503, "starting", "text/plain")},
      {"empty", Answer(200, "")},
      {"more to come", ListAnswer(deployments, {}, "more")},
      {"another object", ListAnswer(deployments, {alice})},
      {"another namespace", ListAnswer(deployments, {Bob("deployment", kNoReplica, "", "attic")})},
      {"deleted or not", OneBob("deployment", kWantsOneReplica, R"("deletionTimestamp":false)")},
  };
  for (const auto& [what, answer] : answers) {
    for (const Freshness freshness : {Freshness::kConsistent, Freshness::kCached}) {
      api_.transport.Forget();
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
    api_.transport.Forget();
    api_.transport.On(GetNamespace("attic"), one.answer);
    ExpectObservation(Look(query), one.expected, one.what);
  }

  api_.transport.Forget();
  query.recorded = RecordedOwner{"deployment.apps", "attic", "bob", "u1", std::nullopt, "", ""};
  ExpectObservation(Look(query), "absent", "it was seen there before");
  EXPECT_FALSE(api_.transport.WasAsked(GetNamespace("attic")));
  ExpectObservation(Look(Query("deployment/bob")), "absent", "at home");
  EXPECT_FALSE(api_.transport.WasAsked(GetNamespace("lab")));
}

// Owners of which something may run although they aren't active.
struct NotActive {
  const char* fields;
  const char* metadata;
  const char* observation;
};
constexpr NotActive kNotActive[] = {
    {nullptr, "", "absent"},
    {R"("replicas":1)", R"("deletionTimestamp":"2026-12-24T18:00:00Z","finalizers":["orphan"])",
     "deleting"},
    {R"("replicas":1)", R"("deletionTimestamp":"2026-12-24T18:00:00Z","finalizers":["a/b"])",
     "deleting"},
    {R"("replicas":0)", "", "scaled-to-zero"},
};

class NotActiveTest : public OwnerProbeTest {
 protected:
  // Looks at a Deployment with the selector app=bob.
  OwnerSight LookAt(const NotActive& one, const ClusterOfPods& cluster = {}) {
    const std::string spec = one.fields == nullptr ? "" : one.fields;
    const std::string fields = R"("spec":{"selector":{"matchLabels":{"app":"bob"}},)" + spec + "}";
    const HttpResponse answer = one.fields == nullptr ? ListAnswer(TypeOf("deployment"), {})
                                                      : OneBob("deployment", fields, one.metadata);
    api_.transport.On(ListBob("deployment"), answer);
    OwnerQuery query = Recorded("deployment/bob", "deployment", "u-deployment", "app=bob");
    query.cluster = cluster;
    return Look(query);
  }
};

// A Deployment lets go of its pods only when it is deleted.
TEST_F(NotActiveTest, APodOfTheClusterIsItsOnlyWhereItMayHaveLeftIt) {
  ClusterOfPods cluster;
  cluster.id = ClusterId{"lab", DefaultProfile(), "spark"};
  const std::string pod =
      PodText("bob-1", PodIn("Running"), R"("labels":{"oshinko-cluster":"spark"})");
  for (const NotActive& one : kNotActive) {
    api_.transport.Forget();
    api_.transport.On(ListPods("app=bob"), ListAnswer(TypeOf("pod"), {pod}));
    const OwnerSight sight = LookAt(one, cluster);
    const bool goes = sight.observation != Observation::kScaledToZero;
    ExpectObservation(sight, one.observation, "");
    EXPECT_EQ(sight.still_running, goes ? "pod/bob-1" : "") << one.observation;
  }
}

TEST_F(NotActiveTest, SomethingRunsWhileAPodIsNeitherTerminatingNorFinished) {
  const char* deleting = R"("deletionTimestamp":"2026-12-24T18:00:00Z")";
  const std::vector<std::pair<std::string, bool>> pods = {
      {PodText("p", PodIn("Running")), true},
      {PodText("p", PodIn("Pending")), true},
      {PodText("p", PodIn("Unknown")), true},
      {PodText("p", R"("spec":{})"), true},
      {PodText("p", PodIn("Succeeded")), false},
      {PodText("p", PodIn("Failed")), false},
      {PodText("p", PodIn("Running"), deleting), false},
  };
  for (const NotActive& one : kNotActive) {
    for (const auto& [pod, runs] : pods) {
      api_.transport.Forget();
      api_.transport.On(ListPods("app=bob"), ListAnswer(TypeOf("pod"), {pod}));
      const OwnerSight sight = LookAt(one);
      ExpectObservation(sight, one.observation, pod);
      EXPECT_EQ(sight.still_running, runs ? "pod/p" : "") << one.observation << pod;
    }
  }
}

TEST_F(NotActiveTest, ItsPodsAreReadUpToTheFirstThatRuns) {
  ApiRequest next = ListPods("app=bob");
  next.http.target += "&continue=more";
  ApiRequest last = ListPods("app=bob");
  last.http.target += "&continue=most";
  api_.transport.On(ListPods("app=bob"),
                    ListAnswer(TypeOf("pod"), {PodText("a", PodIn("Failed"))}, "more"));
  api_.transport.On(next, ListAnswer(TypeOf("pod"), {PodText("b", PodIn("Running"))}, "most"));
  EXPECT_EQ(LookAt(kNotActive[0]).still_running, "pod/b");
  EXPECT_FALSE(api_.transport.WasAsked(last));
}

TEST_F(NotActiveTest, IsUnknownWhereItsPodsCantBeRead) {
  const std::string malformed = R"({"metadata":{"name":"p","uid":"p","resourceVersion":"7"}})";
  for (const NotActive& one : kNotActive) {
    for (const HttpResult& answer :
         {HttpResult(Refused(403)), HttpResult(NoAnswer()), HttpResult(NoSuchPath()),
          HttpResult(ListAnswer(TypeOf("pod"), {PodText("p", PodIn("Failed")), malformed}))}) {
      api_.transport.Forget();
      api_.transport.On(ListPods("app=bob"), answer);
      EXPECT_EQ(LookAt(one).observation, Observation::kUnknown) << one.observation;
    }
  }
}

TEST_F(NotActiveTest, AnActiveOwnersPodsArentRead) {
  ExpectObservation(LookAt({R"("replicas":1)", "", ""}), "active", "");
  EXPECT_FALSE(api_.transport.WasAsked(ListPods("app=bob")));
}

TEST_F(OwnerProbeTest, AGlanceReadsTheCacheAndGathersNoEvidence) {
  api_.transport.On(ListBob("sts", Freshness::kCached), OneBob("sts"));
  const OwnerQuery query = Recorded("bob", "sts", "u-sts", "app=bob");
  ExpectObservation(Look(query, Freshness::kCached), "active", "");
  EXPECT_EQ(ListsByName(), 1u);

  api_.transport.Forget();
  ExpectObservation(Look(query, Freshness::kCached), "absent", "");
  EXPECT_FALSE(api_.transport.WasAsked(ListPods("app=bob")));
  EXPECT_FALSE(api_.transport.WasAsked(ListBob("sts"))) << "nothing consistent is asked";

  OwnerQuery elsewhere = Query("deployment/bob");
  elsewhere.ns = "attic";
  ExpectObservation(Look(elsewhere, Freshness::kCached), "absent", "");
  EXPECT_FALSE(api_.transport.WasAsked(GetNamespace("attic")));
}

class GlanceAtObjectTest : public OwnerProbeTest {
 protected:
  const ApiRequest kObject = ApiRequest::Get(TypeOf("sts"), "lab", "bob", Freshness::kCached);
  const ApiRequest kList = ListBob("sts", Freshness::kCached);
  const OwnerQuery query_ = Recorded("bob", "sts", "u-sts", "app=bob");
  OwnerProbe probe_{api_.client, api_.discovery};
};

TEST_F(GlanceAtObjectTest, AsksForNothingElseWhereTheObjectIsThere) {
  for (const auto& [fields, uid, observation] :
       {std::tuple{kWantsOneReplica, "u-sts", "active"},
        std::tuple{kNoReplica, "u-sts", "scaled-to-zero"},
        std::tuple{kWantsOneReplica, "another", "replaced"}}) {
    api_.transport.Forget();
    api_.transport.On(kObject,
                      Answer(200, ObjectText(TypeOf("sts"), "lab", "bob", uid, "", fields)));
    const OwnerSight sight = probe_.Look(query_, Freshness::kCached, {});
    ExpectObservation(sight, observation, "");
    EXPECT_EQ(sight.evidence.front().kind, "StatefulSet");
    EXPECT_EQ(ListsByName(), 0u);
    EXPECT_FALSE(api_.transport.WasAsked(ListPods("app=bob")));
  }
}

TEST_F(GlanceAtObjectTest, OnlyAListSaysThatItIsNotThere) {
  api_.transport.On(kObject, Refused(404));
  ExpectObservation(probe_.Look(query_, Freshness::kCached, {}), "absent", "");
  EXPECT_TRUE(api_.transport.WasAsked(kList));
  api_.transport.On(kList, OneBob("sts"));
  ExpectObservation(probe_.Look(query_, Freshness::kCached, {}), "active", "");
  EXPECT_EQ(api_.transport.TimesAsked(kObject), 2u);
}

TEST_F(GlanceAtObjectTest, AnAccountThatMayOnlyListIsSeldomRefused) {
  api_.transport.On(kObject, Refused(403));
  api_.transport.On(kObject, Answer(200, Bob("sts", kWantsOneReplica)));
  api_.transport.On(kList, OneBob("sts"));
  for (int i = 0; i < 101; ++i) {
    ExpectObservation(probe_.Look(query_, Freshness::kCached, {}), "active", "");
  }
  EXPECT_EQ(api_.transport.TimesAsked(kObject), 1u);
  const std::size_t lists = ListsByName();
  for (int i = 0; i < 3; ++i) probe_.Look(query_, Freshness::kCached, {});
  EXPECT_EQ(api_.transport.TimesAsked(kObject), 4u) << "it may get it now";
  EXPECT_EQ(ListsByName(), lists);
}

TEST_F(GlanceAtObjectTest, WhereOnlyListsAreAnsweredTheyDo) {
  for (const int status : {401, 404, 500, 503}) {
    api_.transport.Forget();
    api_.transport.On(kObject, Refused(status));
    api_.transport.On(kList, OneBob("sts"));
    ExpectObservation(probe_.Look(query_, Freshness::kCached, {}), "active", "");
  }
}

TEST_F(GlanceAtObjectTest, WhatFailsForAllIsUnknownAndASureLookListsAtOnce) {
  api_.transport.On(kObject, Refused(429));
  const OwnerSight sight = probe_.Look(query_, Freshness::kCached, {});
  EXPECT_EQ(sight.observation, Observation::kUnknown);
  EXPECT_TRUE(sight.error);
  EXPECT_EQ(ListsByName(), 0u);
  api_.transport.On(ListBob("sts"), OneBob("sts"));
  ExpectObservation(probe_.Look(query_, Freshness::kConsistent, {}), "active", "");
  EXPECT_EQ(api_.transport.TimesAsked(kObject), 1u);
}

TEST_F(OwnerProbeTest, AKindThatIsNotServedOrCantBeJudgedIsAKindProblem) {
  ServeConfigs(false);
  OwnerQuery only = Query("bob");
  only.only_kind = "dc";
  const std::string configs = "deploymentconfigs.apps.openshift.io";
  const std::pair<OwnerQuery, std::string> cases[] = {
      {Query("dc/bob"), configs},           {only, configs},
      {Query("service/bob"), ""},           {Query("configmap/bob"), ""},
      {Query("gizmo.example.com/bob"), ""}, {Query("deployment.v2/bob"), ""}};
  for (const auto& [query, named] : cases) {
    const OwnerSight sight = Look(query);
    EXPECT_EQ(sight.observation, Observation::kUnknown) << sight.detail;
    EXPECT_NE(sight.setting_problem, "") << query.name.ToText();
    EXPECT_NE(sight.setting_problem.find(named), std::string::npos) << sight.setting_problem;
    EXPECT_FALSE(sight.object);
  }
  EXPECT_EQ(ListsByName(), 0u);
}

// An API server with gizmos, which have scale and status, and with kinds of other groups.
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
                               R"({"name":"gizmos/status","kind":"Gizmo","namespaced":true,)"
                               R"("verbs":["get"]},)"
                               R"({"name":"twins","kind":"Twin","namespaced":true,"verbs":[]}]})");
      }
      if (request.target == "/apis/example.org/v1") {
        return ResourceList("example.org/v1", {{"example.org", "v1", "twins", "Twin"}});
      }
      if (request.target == "/apis/broken/v1") return Answer(503, "down", "text/plain");
      if (request.target == "/apis/apps/v1") return ResourceList("apps/v1", {});
      if (request.target == "/apis/batch/v1") return ResourceList("batch/v1", {});
      if (request.target == kAllPods.http.target) return ListAnswer(TypeOf("pod"), Unended());
      if (request.target == kAllSets.http.target) return ListAnswer(TypeOf("sts"), sets_);
      if (request.target == ApiRequest::ListMetadata(gizmos, "lab").http.target) {
        return ListAnswer(gizmos, {});
      }
      const auto list = ApiRequest::ListByName(gizmos, "lab", "bob", Freshness::kConsistent);
      if (request.target == list.http.target) return ListAnswer(gizmos, {});
      return NoSuchPath();
    };
  }

  void ServeBob(const std::string& fields, const std::string& metadata = "") {
    api_.transport.On(
        ApiRequest::ListByName(gizmos_, "lab", "bob", Freshness::kConsistent),
        ListAnswer(gizmos_, {ObjectText(gizmos_, "lab", "bob", "u-bob", metadata, fields)}));
  }

  const ResourceType gizmos_{"example.com", "v1", "gizmos", "Gizmo"};
  const ApiRequest kAllSets = ApiRequest::ListMetadata(TypeOf("sts"), "lab");
  std::vector<std::string> sets_;  // every StatefulSet
};

TEST_F(CustomOwnerTest, IsFoundByEveryNameThatDiscoveryHas) {
  for (const char* owner :
       {"gizmo/bob", "gizmos/bob", "gz/bob", "Gizmo/bob", "gizmo.example.com/bob",
        "gizmos.v1.example.com/bob", "gz.example.com/bob"}) {
    api_.transport.Forget();
    ServeBob(R"("spec":{})");
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
  ExpectObservation(Look(Query("gizmo.example.com/bob")), "active", "its own group is up");
  const OwnerSight sight = Look(Query("widget.example.com/bob"));
  EXPECT_NE(sight.setting_problem.find("not served"), std::string::npos) << sight.detail;
}

TEST_F(CustomOwnerTest, ANameStandsForWhatItWasRecordedAs) {
  OwnerQuery query = Query("twin/bob");
  query.recorded = RecordedOwner{"twin.example.org", "lab", "bob", "u-bob", std::nullopt, "", ""};
  const ResourceType twins{"example.org", "v1", "twins", "Twin"};
  api_.transport.On(
      ApiRequest::ListByName(twins, "lab", "bob", Freshness::kConsistent),
      ListAnswer(twins, {ObjectText(twins, "lab", "bob", "u-bob", "", R"("spec":{})")}));
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

TEST_F(CustomOwnerTest, ANameStandsForWhatItMeantBefore) {
  const ApiRequest others = ApiRequest::Discover("/apis/example.org/v1");
  OwnerProbe probe(api_.client, api_.discovery);
  const auto look = [&] {
    ServeBob(R"("spec":{})");
    return probe.Look(Query("gizmo/bob"), Freshness::kConsistent, {});
  };
  ExpectObservation(look(), "active", "");
  api_.transport.On(others,
                    ResourceList("example.org/v1", {{"example.org", "v1", "gizmos", "Gizmo"}}));
  EXPECT_TRUE(api_.discovery.Refresh({}));
  EXPECT_NE(Look(Query("gizmo/bob")).setting_problem, "") << "to another it is ambiguous";
  ExpectObservation(look(), "active", "another kind of that name has been installed");
}

TEST_F(CustomOwnerTest, AShortNameStandsForWhatItWasRecordedAs) {
  api_.transport.On(ApiRequest::Discover("/apis/example.org/v1"),
                    Answer(200, R"({"kind":"APIResourceList","apiVersion":"v1","resources":[)"
                                R"({"name":"gears","singularName":"gear","kind":"Gear",)"
                                R"("shortNames":["gz"],"namespaced":true,"verbs":[]}]})"));
  ServeBob(R"("spec":{})");
  OwnerQuery query = Query("gz/bob");
  EXPECT_NE(Look(query).setting_problem, "") << "it is ambiguous";
  query.recorded = RecordedOwner{"gizmo.example.com", "lab", "bob", "u-bob", std::nullopt, "", ""};
  ExpectObservation(Look(query), "active", "");
}

// The owner must not become another one because its definition is gone.
TEST_F(CustomOwnerTest, WhatItWasRecordedAsIsNoKindOfTheSameNameInAnotherGroup) {
  OwnerQuery query = Query("gizmo/bob");
  query.recorded = RecordedOwner{"gizmo.example.net", "lab", "bob", "u-bob", std::nullopt, "", ""};
  const OwnerSight sight = Look(query);
  EXPECT_EQ(sight.observation, Observation::kUnknown);
  EXPECT_NE(sight.setting_problem.find("not served"), std::string::npos) << sight.detail;
}

TEST_F(CustomOwnerTest, WhatWasRecordedOfAKindOfAnotherNameDoesNotCount) {
  for (const char* kind : {"twin.example.org", "gadget.example.net"}) {
    api_.transport.Forget();
    ServeBob(R"("spec":{})");
    OwnerQuery query = Query("gizmo/bob");
    query.recorded = RecordedOwner{kind, "lab", "bob", "u-bob", std::nullopt, "", ""};
    const OwnerSight sight = Look(query);
    ExpectObservation(sight, "active", kind);
    EXPECT_FALSE(sight.is_of_recorded_kind) << kind;
  }
}

// A search takes a request for each group.
TEST_F(CustomOwnerTest, AKindThatWasNotServedIsSearchedForAgainNowAndThen) {
  OwnerProbe probe(api_.client, api_.discovery);
  const auto is_mistake = [&] {
    return !probe.Look(Query("gear/bob"), Freshness::kConsistent, {}).setting_problem.empty();
  };
  EXPECT_TRUE(is_mistake());
  api_.transport.On(ApiRequest::Discover("/apis/example.org/v1"),
                    ResourceList("example.org/v1", {{"example.org", "v1", "gears", "Gear"}}));
  EXPECT_TRUE(api_.discovery.Refresh({}));
  int looks = 0;
  while (looks < 30 && is_mistake()) ++looks;
  EXPECT_EQ(looks, 11);
}

TEST_F(CustomOwnerTest, APodBelowItsStatefulSetIsOneOfItsPods) {
  const std::string deleting = R"("deletionTimestamp":"2026-12-24T18:00:00Z")";
  const std::string below = ControlledBy(TypeOf("sts"), "set", "u-set");
  struct Case {
    const char* what;
    std::string pod;
    std::string set;
    bool runs;
  };
  const std::string of_bob = ControlledBy(gizmos_, "bob", "u-bob");
  const auto set = [&](const std::string& metadata, const char* uid = "u-set") {
    return ObjectText(TypeOf("sts"), "lab", "set", uid, metadata, "");
  };
  const std::vector<Case> cases = {
      {"of it", PodText("p", PodIn("Running"), below), set(of_bob), true},
      {"terminating", PodText("p", PodIn("Running"), below + "," + deleting), set(of_bob), false},
      {"finished", PodText("p", PodIn("Failed"), below), set(of_bob), false},
      {"labelled as of the cluster",
       PodText("p", PodIn("Running"), below + R"(,"labels":{"oshinko-cluster":"spark"})"),
       set(of_bob), true},
      {"of another", PodText("p", PodIn("Running"), below),
       set(ControlledBy(gizmos_, "bob", "u-other")), false},
      {"of nobody", PodText("p", PodIn("Running"), below), set(""), false},
      {"of a set that is gone", PodText("p", PodIn("Running"), below), set(of_bob, "u-2"), false},
      {"of a node", PodText("p", PodIn("Running"), ControlledBy(TypeOf("namespace"), "n", "u-n")),
       set(of_bob), false},
  };
  for (const Case& one : cases) {
    pods_ = {PodText("lone", PodIn("Running")), one.pod};
    sets_ = {one.set};
    OwnerQuery query = Query("gizmo/bob");
    query.recorded = RecordedOwner{"gizmo.example.com", "lab", "bob", "u-bob", {}, "", ""};
    query.cluster.id = ClusterId{"lab", DefaultProfile(), "spark"};
    api_.transport.Forget();
    OwnerSight sight = Look(query);
    ExpectObservation(sight, "absent", one.what);
    EXPECT_EQ(sight.still_running, one.runs ? "pod/p" : "") << one.what;

    ServeBob(R"("status":{"phase":"Done"})");
    query.completed_when = *CompletedWhen::Parse("{.status.phase}=Done");
    sight = Look(query);
    ExpectObservation(sight, "completed", one.what);
    EXPECT_EQ(sight.still_running, one.runs ? "pod/p" : "") << one.what;
    EXPECT_EQ(api_.transport.TimesAsked(kAllPods), 2u) << "once in each look";
    EXPECT_FALSE(api_.transport.WasAsked(ApiRequest::List(TypeOf("pod"), "lab")));
  }
}

TEST_F(CustomOwnerTest, IsUnknownWhereThePodsControllersCantBeRead) {
  OwnerQuery query = Query("gizmo/bob");
  query.recorded = RecordedOwner{"gizmo.example.com", "lab", "bob", "u-bob", {}, "", ""};
  const std::string looped = ObjectText(TypeOf("sts"), "lab", "set", "u-set",
                                        ControlledBy(TypeOf("sts"), "set", "u-set"), "");
  const ResourceType unserved{"example.net", "v1", "gears", "Gear"};
  const std::tuple<const char*, ResourceType, HttpResult> cases[] = {
      {"forbidden", TypeOf("sts"), Refused(403)},
      {"no answer", TypeOf("sts"), NoAnswer()},
      {"malformed", TypeOf("sts"), ListAnswer(TypeOf("sts"), {R"({"metadata":{}})"})},
      {"without end", TypeOf("sts"), ListAnswer(TypeOf("sts"), {looped})},
      {"not served", unserved, NoSuchPath()},
  };
  for (const auto& [what, type, answer] : cases) {
    api_.transport.Forget();
    pods_ = {PodText("p", PodIn("Running"), ControlledBy(type, "set", "u-set"))};
    api_.transport.On(kAllSets, answer);
    ExpectObservation(Look(query), "unknown", what);
  }
}

// Two requests for 10,000 pods of one StatefulSet, but for the pages.
TEST_F(CustomOwnerTest, ControllersOfAKindAreListedOnce) {
  for (int i = 0; i < 3; ++i) {
    pods_.push_back(PodText(("p" + std::to_string(i)).c_str(), PodIn("Running"),
                            ControlledBy(TypeOf("sts"), "set", "u-" + std::to_string(i / 2))));
  }
  OwnerQuery query = Query("gizmo/bob");
  query.recorded = RecordedOwner{"gizmo.example.com", "lab", "bob", "u-bob", {}, "", ""};
  ExpectObservation(Look(query), "absent", "");
  EXPECT_EQ(api_.transport.TimesAsked(kAllSets), 1u);
}

// The definition is read after the empty answer, with or without a refresh in between.
TEST_F(CustomOwnerTest, AbsentTakesADefinitionThatStillOffersCreate) {
  for (const bool refreshed : {false, true}) {
    api_.transport.Forget();
    Serve(R"(["create","get","list"])");
    (void)api_.discovery.Refresh({});
    ExpectObservation(Look(Query("gizmo/bob")), "absent", "");
    Serve(R"(["delete","deletecollection","get","list","watch"])");
    if (refreshed) (void)api_.discovery.Refresh({});
    ExpectObservation(Look(Query("gizmo/bob")), "unknown", "its definition is being deleted");
    api_.transport.On(ApiRequest::Discover("/apis/example.com/v1"), NoSuchPath());
    ExpectObservation(Look(Query("gizmo/bob")), "unknown", "its definition is gone");
  }
}

TEST_F(CustomOwnerTest, AbsentTakesADefinitionThatIsStillServed) {
  ExpectObservation(Look(Query("gizmo/bob")), "absent", "");
  api_.transport.On(ApiRequest::Discover("/apis/example.com/v1"),
                    ResourceList("example.com/v1", {}));
  ExpectObservation(Look(Query("gizmo/bob")), "unknown", "it went behind the list");
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
    api_.transport.Forget();
    ServeBob(fields);
    ExpectObservation(Look(query), expected, fields);
  }
  for (const char* observed : {"1", "2"}) {
    api_.transport.Forget();
    ServeBob(R"("status":{"phase":"Failed","observedGeneration":)" + std::string(observed) + "}",
             R"("generation":2)");
    ExpectObservation(Look(query), *observed == '1' ? "active" : "completed", observed);
  }
  api_.transport.Forget();
  ServeBob(R"("status":{"phase":["Succeeded"]})");
  const OwnerSight sight = Look(query);
  EXPECT_EQ(sight.observation, Observation::kUnknown);
  EXPECT_NE(sight.setting_problem.find("leads to a list"), std::string::npos) << sight.detail;
}

TEST_F(OwnerProbeTest, CompletedWhenAddsToWhatAKindSaysItself) {
  const ResourceType& workflows = TypeOf("workflow");
  api_.transport.otherwise = [&](const HttpRequest& request) -> HttpResult {
    return FakeApi::Discovered(request, {workflows}).value_or(NoSuchPath());
  };
  api_.transport.On(ListPods("workflows.argoproj.io/workflow=bob"), ListAnswer(TypeOf("pod"), {}));
  api_.transport.On(kAllPods, ListAnswer(TypeOf("pod"), {}));
  api_.transport.On(ListBob("workflow"),
                    OneBob("workflow", R"("spec":{},"status":{"phase":"Succeeded"})"));
  OwnerQuery query = Query("workflow/bob");
  query.completed_when = *CompletedWhen::Parse("{.status.stage}=Over");
  ExpectObservation(Look(query), "completed", "");
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
  void ServeAll() {
    api_.transport.On(ListBob("pod"), OneBob("pod", R"("spec":{})",
                                             ControlledBy(TypeOf("rs"), "bob-5f7", "u-set")));
    ServeSet(ControlledBy(TypeOf("deployment"), "bobby", "u-bobby"));
    ServeDeployment(1);
  }
  void ServeSet(const std::string& metadata, const char* uid = "u-set") {
    const ResourceType& sets = TypeOf("rs");
    set_ = ObjectAnswer(sets, "lab", "bob-5f7", uid, metadata, kNoReplica);
  }
  void ServeDeployment(int replicas, const char* uid = "u-bobby") {
    const ResourceType& deployments = TypeOf("deployment");
    deployment_ = ObjectAnswer(deployments, "lab", "bobby", uid, "",
                               R"("spec":{"replicas":)" + std::to_string(replicas) + "}");
  }
  OwnerSight LookAtPod(const std::string& owner = "pod/bob") {
    api_.transport.On(ApiRequest::Get(TypeOf("rs"), "lab", "bob-5f7"), set_);
    api_.transport.On(ApiRequest::Get(TypeOf("deployment"), "lab", "bobby"), deployment_);
    return Look(Query(owner));
  }

  HttpResult set_ = NoSuchPath();
  HttpResult deployment_ = NoSuchPath();
};

TEST_F(PodOwnerTest, MeansWhatControlsIt) {
  const std::string below = ControlledBy(TypeOf("deployment"), "bobby", "u-bobby");
  struct Case {
    const char* what;
    std::function<void()> change;
    const char* expected;
    const char* owner;
  };
  const std::vector<Case> cases = {
      {"the Deployment", [] {}, "active", "deployment.apps/bobby"},
      {"scaled to zero", [&] { ServeDeployment(0); }, "scaled-to-zero", "deployment.apps/bobby"},
      {"forbidden", [&] { set_ = Refused(403); }, "unknown", ""},
      {"gone", [&] { set_ = NotFound(TypeOf("rs"), "bob-5f7"); }, "unknown", ""},
      {"another ReplicaSet has the name", [&] { ServeSet(below, "u-other"); }, "unknown", ""},
      {"another Deployment has the name", [&] { ServeDeployment(0, "u-other"); }, "unknown", ""},
      {"nothing controls it", [&] { ServeSet(""); }, "scaled-to-zero", "replicaset.apps/bob-5f7"},
      {"itself", [&] { ServeSet(ControlledBy(TypeOf("rs"), "bob-5f7", "u-set")); }, "unknown", ""},
  };
  for (const Case& one : cases) {
    api_.transport.Forget();
    ServeAll();
    one.change();
    const OwnerSight sight = LookAtPod();
    ExpectObservation(sight, one.expected, one.what);
    EXPECT_EQ(sight.object ? sight.object->Describe() : "", one.owner) << one.what;
    EXPECT_TRUE(sight.followed_controller || !sight.object) << one.what;
  }
}

// A DeploymentConfig makes a ReplicationController for each redeploy.
TEST_F(PodOwnerTest, MeansTheConfigAboveItsController) {
  const ResourceType& controllers = TypeOf("rc");
  const ResourceType& configs = TypeOf("dc");
  api_.transport.On(ListBob("pod"),
                    OneBob("pod", R"("spec":{})", ControlledBy(controllers, "bob-1", "u-rc")));
  api_.transport.On(ApiRequest::Get(controllers, "lab", "bob-1"),
                    ObjectAnswer(controllers, "lab", "bob-1", "u-rc",
                                 ControlledBy(configs, "bob", "u-dc"), kNoReplica));
  api_.transport.On(ApiRequest::Get(configs, "lab", "bob"),
                    ObjectAnswer(configs, "lab", "bob", "u-dc", "", kWantsOneReplica));
  const OwnerSight sight = Look(Query("pod/bob"));
  ExpectObservation(sight, "active", sight.detail.c_str());
  EXPECT_EQ(sight.object ? sight.object->Describe() : "", "deploymentconfig.apps.openshift.io/bob");
}

TEST_F(PodOwnerTest, WhatRunsNoDriverIsNotFollowed) {
  for (const char* kind : {"configmap", "pod"}) {
    api_.transport.Forget();
    ServeAll();
    ServeSet(ControlledBy(TypeOf(kind), "bob", "u-pod"));
    const OwnerSight sight = LookAtPod();
    ExpectObservation(sight, "unknown", kind);
    EXPECT_NE(sight.detail.find("can't be judged"), std::string::npos) << sight.detail;
  }
}

TEST_F(PodOwnerTest, ThePodMayHaveBeenRecordedItself) {
  ServeAll();
  OwnerQuery query = Query("pod/bob");
  query.recorded = RecordedOwner{"pod", "lab", "bob", "u-pod", std::nullopt, "", ""};
  api_.transport.On(ApiRequest::Get(TypeOf("rs"), "lab", "bob-5f7"), set_);
  api_.transport.On(ApiRequest::Get(TypeOf("deployment"), "lab", "bobby"), deployment_);
  ExpectObservation(Look(query), "active", "the Deployment doesn't replace it");
}

TEST_F(OwnerProbeTest, AnotherKindMayHaveTakenOverFromOneThatIsOver) {
  api_.transport.On(ListBob("sts"), OneBob("sts", kNoReplica));
  api_.transport.On(ListBob("deployment"), OneBob("deployment"));
  const OwnerSight sight = Look(Recorded("bob", "sts", "u-sts"));
  ExpectObservation(sight, "unknown", "");
  EXPECT_NE(sight.detail.find("is both statefulset.apps/bob and deployment.apps/bob"),
            std::string::npos)
      << sight.detail;
}

// Another pod may have the name by now, that nothing controls. One that is terminating says
// nothing.
TEST_F(PodOwnerTest, ThePodIsLookedForOnceTheRecordedDeploymentIsOver) {
  const ResourceType& pods = TypeOf("pod");
  const struct {
    HttpResult pod;
    const char* expected;
  } cases[] = {
      {ListAnswer(pods, {}), "absent"},
      {OneBob("pod", PodIn("Running")), "replaced"},
      {OneBob("pod", PodIn("Running"), R"("deletionTimestamp":"2026-12-24T18:00:00Z")"), "absent"},
      {Refused(503), "unknown"}};
  for (const auto& one : cases) {
    api_.transport.Forget();
    OwnerQuery query = Query("pod/bob");
    query.recorded =
        RecordedOwner{"deployment.apps", "lab", "bobby", "u-bobby", std::nullopt, "", "pod/bob"};
    const auto list =
        ApiRequest::ListByName(TypeOf("deployment"), "lab", "bobby", Freshness::kConsistent);
    api_.transport.On(list, ListAnswer(TypeOf("deployment"), {}));
    api_.transport.On(ListBob("pod"), one.pod);
    ExpectObservation(Look(query), one.expected, one.expected);
  }
}

TEST_F(PodOwnerTest, OneThatWasNeverSeenMayHaveBeenAWorkloads) {
  const std::string pod = "bobby-5f7bcdfghj-x2x2x";
  const ResourceType& deployments = TypeOf("deployment");
  const std::string labelled = R"("labels":{"oshinko-cluster":"c"})";
  struct Case {
    const char* name;
    const char* fields;
    const char* expected;
    std::string metadata = "";
  };
  const Case cases[] = {{"bobby", kWantsOneReplica, "unknown"},
                        {"bobby", kNoReplica, "absent"},
                        {"bob", kWantsOneReplica, "absent"},
                        {"alice", kWantsOneReplica, "absent"},
                        {"bobby", kWantsOneReplica, "absent", labelled}};
  const auto look = [&](const OwnerQuery& query, const HttpResult& listed) {
    api_.transport.Forget();
    api_.transport.On(ApiRequest::ListByName(TypeOf("pod"), "lab", pod, Freshness::kConsistent),
                      ListAnswer(TypeOf("pod"), {}));
    for (const ResourceType& type : OwnerTypes()) {
      api_.transport.On(ApiRequest::List(type, "lab"),
                        type == deployments ? listed : HttpResult(ListAnswer(type, {})));
    }
    return Look(query);
  };
  const auto listed = [&](const Case& one) {
    return HttpResult(ListAnswer(deployments, {ObjectText(deployments, "lab", one.name, "u-bobby",
                                                          one.metadata, one.fields)}));
  };
  OwnerQuery query = Query("pod/" + pod);
  query.cluster.id = ClusterId{"lab", DefaultProfile(), "c"};
  for (const Case& one : cases) {
    const OwnerSight sight = look(query, listed(one));
    ExpectObservation(sight, one.expected, one.name);
    EXPECT_EQ(sight.detail.find("deployment.apps/bobby") == std::string::npos,
              sight.observation == Observation::kAbsent);
  }
  ExpectObservation(look(query, Refused(403)), "unknown", "not allowed");
  query.recorded = RecordedOwner{"pod", "lab", pod, "u-pod", std::nullopt, "", ""};
  ExpectObservation(look(query, listed(cases[0])), "absent", "it was seen by itself");
  const std::string set = "bobby-5f7bcdfghj";
  look(query, listed(cases[0]));
  api_.transport.On(ApiRequest::ListByName(TypeOf("rs"), "lab", set, Freshness::kConsistent),
                    ListAnswer(TypeOf("rs"), {}));
  ExpectObservation(Look(Query("rs/" + set)), "unknown", "an old revision's ReplicaSet");
}

TEST_F(OwnerProbeTest, APodOfItsOwnIsTheOwner) {
  const std::pair<const char*, const char*> cases[] = {{"Running", "active"},
                                                       {"Pending", "active"},
                                                       {"Succeeded", "completed"},
                                                       {"Failed", "completed"}};
  for (const auto& [phase, expected] : cases) {
    api_.transport.Forget();
    api_.transport.On(ListBob("pod"), OneBob("pod", PodIn(phase)));
    ExpectObservation(Look(Query("pod/bob")), expected, phase);
  }
}

TEST_F(OwnerProbeTest, WhatWasRecordedOfAnotherKindDoesNotCount) {
  api_.transport.On(ListBob("deployment"), OneBob("deployment"));
  const OwnerSight sight = Look(Recorded("deployment/bob", "job", "u-job"));
  ExpectObservation(sight, "active", "");
  EXPECT_FALSE(sight.is_of_recorded_kind);
}

}  // namespace
}  // namespace cluster_watcher
