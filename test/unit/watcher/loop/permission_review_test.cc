#include "watcher/loop/permission_review.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <spdlog/sinks/ostream_sink.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "metrics/http/exposition.h"
#include "probes/owner_table.h"
#include "test/unit/support/fake_transport.h"

namespace cluster_watcher {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const ResourceType kWidgets{"example.com", "v1", "widgets", "Widget", true};

std::vector<ResourceType> TypesOf(const std::vector<const char*>& names) {
  std::vector<ResourceType> types;
  for (const char* name : names) types.push_back(TypeOf(name));
  return types;
}

KubeObject Root(const ResourceType& type = TypeOf("deployment")) {
  KubeObject root{type, {}};
  root.meta.name = "bob-m";
  root.meta.common.Edit().ns = "lab";
  return root;
}

// What the default settings need if the server has only the kinds of every API server.
ScopeOfWork Work() {
  ScopeOfWork work;
  work.ns = work.owner_ns = "lab";
  work.root = Root();
  work.driver_types = TypesOf({"rc", "deploy", "sts", "job", "rs", "ds", "cj", "pod"});
  work.member_types = TypesOf({"deploy", "sts", "rs", "rc", "ds", "job", "cj", "pod", "svc", "cm",
                               "ing", "netpol", "hpa", "pdb"});
  return work;
}

// "lab: delete pods", "lab: patch deployments.apps bob-m".
std::set<std::string> Texts(const std::vector<Permission>& permissions) {
  std::set<std::string> texts;
  for (const Permission& permission : permissions) {
    const std::string& resource = permission.resource;
    const std::size_t slash = std::min(resource.find('/'), resource.size());
    std::string text = permission.ns + ": " + permission.verb + " " + resource.substr(0, slash);
    if (!permission.group.empty()) text += "." + permission.group;
    text += resource.substr(slash);
    if (!permission.name.empty()) text += " " + permission.name;
    EXPECT_TRUE(texts.insert(text).second) << text << " twice";
  }
  return texts;
}

// Adds each verb on each resource in the namespace.
void AddTo(std::set<std::string>& texts, const std::string& ns,
           const std::vector<const char*>& verbs, const std::vector<const char*>& resources) {
  for (const char* resource : resources) {
    for (const char* verb : verbs) texts.insert(ns + ": " + verb + " " + resource);
  }
}

std::set<std::string> Difference(const std::set<std::string>& of, const std::set<std::string>& to) {
  std::set<std::string> difference;
  std::set_difference(of.begin(), of.end(), to.begin(), to.end(),
                      std::inserter(difference, difference.end()));
  return difference;
}

TEST(PermissionsFor, TheDefaults) {
  std::set<std::string> expected;
  AddTo(expected, "lab", {"get", "list", "delete"},
        {"deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps",
         "jobs.batch", "cronjobs.batch", "replicationcontrollers", "pods"});
  AddTo(
      expected, "lab", {"list", "delete"},
      {"services", "configmaps", "ingresses.networking.k8s.io", "networkpolicies.networking.k8s.io",
       "horizontalpodautoscalers.autoscaling", "poddisruptionbudgets.policy"});
  AddTo(expected, "lab", {"patch"},
        {"deployments.apps bob-m", "statefulsets.apps", "persistentvolumeclaims"});
  AddTo(expected, "lab", {"list"}, {"persistentvolumeclaims"});
  AddTo(expected, "lab", {"create"}, {"events.events.k8s.io"});
  AddTo(expected, "lab", {"get"}, {"namespaces lab"});
  EXPECT_EQ(Texts(PermissionsFor(Work())), expected);
}

TEST(PermissionsFor, WhatIsWatchedIsNamed) {
  ScopeOfWork work = Work();
  const auto polled = Texts(PermissionsFor(work));
  work.watched = Root(TypeOf("rc"));
  work.watched->meta.name = "bob";
  std::set<std::string> expected;
  AddTo(expected, "lab", {"watch"}, {"deployments.apps bob-m", "replicationcontrollers bob"});
  EXPECT_EQ(Difference(Texts(PermissionsFor(work)), polled), expected);
}

// With the shipped Role, no permission is reported as missing.
TEST(PermissionsFor, TheDefaultsAreInTheShippedRole) {
  std::set<std::string> granted;
  const YAML::Node role = YAML::LoadFile(PROJECT_ROOT "/manifests/chart/objects/role/role.yaml");
  for (const YAML::Node& rule : role["rules"]) {
    ASSERT_FALSE(rule["resourceNames"]);
    for (const YAML::Node& group : rule["apiGroups"]) {
      for (const YAML::Node& resource : rule["resources"]) {
        for (const YAML::Node& verb : rule["verbs"]) {
          granted.insert(verb.as<std::string>() + " " + resource.as<std::string>() + "." +
                         group.as<std::string>());
        }
      }
    }
  }
  ScopeOfWork work = Work();
  for (const OwnerKind& kind : kOwnerKinds) {
    work.driver_types.push_back(*FindBuiltInByName(kind.plural, kind.group));
  }
  for (const char* foreign : {"dc", "route", "raycluster", "daskcluster", "flinkdeployment"}) {
    work.member_types.push_back(TypeOf(foreign));
  }
  for (const char* root : {"deploy", "sts", "rs", "rc", "job", "pod", "dc", "raycluster",
                           "daskcluster", "flinkdeployment"}) {
    work.root = Root(TypeOf(root));
    work.watched = Root(TypeOf("deploy"));
    for (const Permission& permission : PermissionsFor(work)) {
      const std::string text = permission.verb + " " + permission.resource + "." + permission.group;
      EXPECT_TRUE(granted.contains(text)) << text << " for a root of kind " << root;
    }
  }
}

TEST(PermissionsFor, ASharedClusterIsOnlyRead) {
  ScopeOfWork work = Work();
  work.shared = true;
  std::set<std::string> expected;
  AddTo(expected, "lab", {"get", "list"},
        {"deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps",
         "jobs.batch", "cronjobs.batch", "replicationcontrollers", "pods"});
  AddTo(expected, "lab", {"get"}, {"namespaces lab"});
  EXPECT_EQ(Texts(PermissionsFor(work)), expected);
}

TEST(PermissionsFor, AnOwnerInAnotherNamespace) {
  ScopeOfWork work = Work();
  work.owner_ns = "drivers";
  const auto here = Texts(PermissionsFor(Work()));
  std::set<std::string> expected;
  AddTo(expected, "drivers", {"get", "list"},
        {"deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps",
         "jobs.batch", "cronjobs.batch", "replicationcontrollers", "pods"});
  AddTo(expected, "drivers", {"create"}, {"events.events.k8s.io"});
  AddTo(expected, "drivers", {"get"}, {"namespaces drivers"});
  EXPECT_EQ(Difference(Texts(PermissionsFor(work)), here), expected);
  EXPECT_TRUE(Difference(here, Texts(PermissionsFor(work))).empty());

  work.owner_seen = true;  // the namespace is known to exist
  expected.erase("drivers: get namespaces drivers");
  EXPECT_EQ(Difference(Texts(PermissionsFor(work)), here), expected);
}

TEST(PermissionsFor, ACustomOwner) {
  const auto before = Texts(PermissionsFor(Work()));
  ScopeOfWork work = Work();
  work.driver_types.push_back(kWidgets);
  EXPECT_EQ(
      Difference(Texts(PermissionsFor(work)), before),
      (std::set<std::string>{"lab: list widgets.example.com", "lab: get widgets.example.com"}));
  work = Work();
  work.driver_types.push_back(TypeOf("scheduledsparkapplications"));
  EXPECT_EQ(Difference(Texts(PermissionsFor(work)), before),
            (std::set<std::string>{"lab: list scheduledsparkapplications.sparkoperator.k8s.io",
                                   "lab: get scheduledsparkapplications.sparkoperator.k8s.io",
                                   "lab: list sparkapplications.sparkoperator.k8s.io"}));
}

TEST(PermissionsFor, ARootOfAnotherKind) {
  const auto before = Texts(PermissionsFor(Work()));
  ScopeOfWork work = Work();
  work.root = Root(kWidgets);
  EXPECT_EQ(Difference(Texts(PermissionsFor(work)), before),
            (std::set<std::string>{
                "lab: get widgets.example.com bob-m", "lab: list widgets.example.com",
                "lab: patch widgets.example.com bob-m", "lab: delete widgets.example.com bob-m"}));
  work.root->type.Edit().namespaced = false;
  EXPECT_TRUE(Texts(PermissionsFor(work)).contains(": delete widgets.example.com bob-m"));
  work.root.reset();
  EXPECT_EQ(Difference(before, Texts(PermissionsFor(work))),
            (std::set<std::string>{"lab: patch deployments.apps bob-m"}));
}

TEST(PermissionsFor, OtherMembers) {
  ScopeOfWork work = Work();
  work.member_types = TypesOf({"svc", "secret"});
  const auto texts = Texts(PermissionsFor(work));
  EXPECT_TRUE(texts.contains("lab: delete secrets"));
  EXPECT_TRUE(texts.contains("lab: delete deployments.apps bob-m"));
  for (const char* other :
       {"lab: delete deployments.apps", "lab: list configmaps", "lab: patch configmaps bob-conf",
        "lab: patch statefulsets.apps", "lab: list persistentvolumeclaims"}) {
    EXPECT_FALSE(texts.contains(other)) << other;
  }
  work.root = Root(TypeOf("sts"));
  EXPECT_TRUE(Texts(PermissionsFor(work)).contains("lab: list persistentvolumeclaims"));
}

class PermissionReviewTest : public testing::Test {
 protected:
  PermissionReviewTest() {
    api_.transport.On(ApiRequest::Discover("/apis"), GroupList({{"apps", {"v1"}}}));
    AnswerReviews([](const std::string&) { return true; });
    log_.set_level(spdlog::level::info);
    log_.set_pattern("%l %v");
  }

  static ResolvedSettings Settled() {
    ResolvedSettings settings;
    settings.settings.ns = "lab";
    settings.settings.pod = "bob-m-1";
    return settings;
  }

  // `allowed` says whether what `body` asks for is allowed.
  void AnswerReviews(std::function<bool(const std::string& body)> allowed) {
    api_.transport.otherwise = [allowed](const HttpRequest& request) -> HttpResult {
      if (request.method == HttpMethod::kGet) return NoSuchPath();
      return Answer(201, R"({"kind":"SelfSubjectAccessReview","status":{"allowed":)" +
                             std::string(allowed(request.body) ? "true" : "false") + "}}");
    };
  }
  void Deny(const std::string& verb, const std::string& resource) {
    AnswerReviews([=](const std::string& body) {
      return body.find("\"" + verb + "\"") == std::string::npos ||
             body.find("\"" + resource + "\"") == std::string::npos;
    });
  }
  void AnswerAll(const HttpResult& answer) {
    api_.transport.otherwise = [answer](const HttpRequest& request) {
      return request.method == HttpMethod::kGet ? HttpResult(NoSuchPath()) : answer;
    };
  }

  static Snapshot Look() {
    Snapshot look;
    look.cluster = ClusterId{"lab", DefaultProfile(), "bob"};
    look.root = Root();
    look.owner_name = OwnerName{"deployment", "apps", "bob"};
    look.owner_ns = "lab";
    look.seen = RecordedOwner{"deployment.apps", "lab", "bob", "u1", std::nullopt, "", ""};
    return look;
  }

  // Returns the number of reviews made for `look`.
  std::size_t Ask(const Snapshot& look = Look()) {
    api_.transport.requests.clear();
    review_.AskIfDue(look, {});
    return static_cast<std::size_t>(std::count_if(
        api_.transport.requests.begin(), api_.transport.requests.end(),
        [](const HttpRequest& request) { return request.method == HttpMethod::kPost; }));
  }

  // Returns what was logged since the last call.
  std::string Log() {
    std::string text = logged_.str();
    logged_.str("");
    return text;
  }

  // The series of missing permissions, one per line.
  std::string Missing() const {
    const prometheus::Collectable* const sources[] = {&metrics_};
    std::istringstream lines(Exposition(sources));
    std::string missing;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("cluster_watcher_permission_missing")) missing += line + "\n";
    }
    return missing;
  }

  FakeApi api_;
  prometheus::Registry registry_;
  WatcherMetrics metrics_{registry_, "1", "2"};
  std::ostringstream logged_;
  spdlog::logger log_{"", std::make_shared<spdlog::sinks::ostream_sink_st>(logged_)};
  SettingsInForce settings_{Settled(), [](const TextMap&) { return Settled(); }};
  Observer observer_{api_.client, api_.discovery, api_.clock, settings_};
  Tools tools_{api_.client, api_.discovery, api_.clock, settings_, metrics_, log_, [](Duration) {}};
  PermissionReview review_{tools_, observer_};
};

constexpr char kListServices[] =
    "cluster_watcher_permission_missing{resource=\"services\",verb=\"list\"} 1\n";
constexpr char kDeleteServices[] =
    "cluster_watcher_permission_missing{resource=\"services\",verb=\"delete\"} 1\n";

TEST_F(PermissionReviewTest, AsksAtFirstAndOnceAnHour) {
  const std::size_t all = PermissionsFor(Work()).size();
  EXPECT_EQ(Ask(), all);
  EXPECT_EQ(Ask(), 0u);
  api_.clock.elapsed += minutes(59);
  EXPECT_EQ(Ask(), 0u);
  api_.clock.elapsed += minutes(1);
  EXPECT_EQ(Ask(), all);
  EXPECT_EQ(Log(), "");
  EXPECT_EQ(Missing(), "");
}

TEST_F(PermissionReviewTest, AsksAgainForAnotherOwnerOrRootButNotAtOnce) {
  Snapshot look = Look();
  EXPECT_GT(Ask(look), 0u);
  look.owner_name = OwnerName{"job", "", "bob"};
  look.seen.reset();
  EXPECT_FALSE(review_.is_put_off());
  EXPECT_EQ(Ask(look), 0u);
  EXPECT_TRUE(review_.is_put_off()) << "so that a look comes soon";
  api_.clock.elapsed += seconds(59);
  EXPECT_EQ(Ask(look), 0u);
  api_.clock.elapsed += seconds(1);
  EXPECT_GT(Ask(look), 0u);
  EXPECT_FALSE(review_.is_put_off());
  api_.clock.elapsed += minutes(1);
  EXPECT_EQ(Ask(look), 0u);
  look.seen = RecordedOwner{"job.batch", "lab", "bob", "u2", std::nullopt, "", ""};
  EXPECT_GT(Ask(look), 0u);
  api_.clock.elapsed += minutes(1);
  look.root = Root(TypeOf("sts"));
  EXPECT_GT(Ask(look), 0u);
}

TEST_F(PermissionReviewTest, SaysAndShowsOnceWhatIsMissing) {
  Deny("delete", "services");
  Ask();
  EXPECT_EQ(Missing(), kDeleteServices);
  EXPECT_EQ(Log(),
            "warning permissions are missing: a Role in namespace lab needs rules: "
            "[{apiGroups: [\"\"], resources: [\"services\"], verbs: [\"delete\"]}]\n");
  api_.clock.elapsed += hours(1);
  Ask();
  EXPECT_EQ(Missing(), kDeleteServices);
  EXPECT_EQ(Log(), "");

  AnswerReviews([](const std::string& body) { return body.find("\"services\"") == body.npos; });
  api_.clock.elapsed += hours(1);
  Ask();
  EXPECT_EQ(Missing(), std::string(kDeleteServices) + kListServices);
  EXPECT_EQ(Log(),
            "warning permissions are missing: a Role in namespace lab needs rules: "
            "[{apiGroups: [\"\"], resources: [\"services\"], verbs: [\"list\", \"delete\"]}]\n");

  AnswerReviews([](const std::string&) { return true; });
  api_.clock.elapsed += hours(1);
  Ask();
  EXPECT_EQ(Missing(), "");
  EXPECT_EQ(Log(), "info the permissions that were missing are granted\n");
}

TEST_F(PermissionReviewTest, AFailureIsNoNews) {
  const std::vector<HttpResult> failures = {
      Refused(403),
      Refused(404),
      NoSuchPath(),
      Refused(500),
      Refused(503),
      NoAnswer(),
      Answer(201, "{}"),
      Answer(201, R"({"kind":"SelfSubjectAccessReview","status":{"allowed":"false"}})")};
  for (const HttpResult& failure : failures) {
    AnswerAll(failure);
    EXPECT_LE(Ask(), kReadsSideBySide);
    EXPECT_EQ(Ask(), 0u) << "it is asked again at the next poll";
    EXPECT_EQ(Missing(), "");
    EXPECT_EQ(Log(), "");
    api_.clock.elapsed += hours(1);
  }
  Deny("list", "services");
  Ask();
  Log();
  for (const HttpResult& failure : failures) {
    api_.clock.elapsed += hours(1);
    AnswerAll(failure);
    Ask();
    EXPECT_EQ(Missing(), kListServices);
    EXPECT_EQ(Log(), "");
  }
}

TEST_F(PermissionReviewTest, WithoutAWordFromTheServerItIsNotAsked) {
  Snapshot look;
  look.facts.problem = "get /apis: no answer";
  EXPECT_EQ(Ask(look), 0u);
  EXPECT_TRUE(api_.transport.requests.empty());
}

// A missing RoleBinding is the most common mistake: then not even the pod can be read.
TEST_F(PermissionReviewTest, ARefusalIsAnAnswer) {
  AnswerReviews([](const std::string&) { return false; });
  Snapshot look;
  look.forbidden = true;
  EXPECT_GT(Ask(look), 30u);
  EXPECT_NE(Missing().find("{resource=\"pods\",verb=\"get\"} 1\n"), std::string::npos);
  EXPECT_NE(Log().find("{apiGroups: [\"events.k8s.io\"], resources: [\"events\"], verbs: "
                       "[\"create\"]}"),
            std::string::npos);
  // Once permissions are granted, the next look has a root.
  AnswerReviews([](const std::string&) { return true; });
  api_.clock.elapsed += minutes(1);
  EXPECT_GT(Ask(), 0u);
  EXPECT_EQ(Missing(), "");
}

TEST_F(PermissionReviewTest, WhatIsServedCounts) {
  api_.transport = FakeTransport();
  api_.transport.On(ApiRequest::Discover("/apis"),
                    GroupList({{"example.com", {"v1"}}, {"route.openshift.io", {"v1"}}}));
  api_.transport.On(ApiRequest::Discover("/apis/route.openshift.io/v1"),
                    ResourceList("route.openshift.io/v1", {TypeOf("route")}));
  api_.transport.On(ApiRequest::Discover("/apis/example.com/v1"),
                    ResourceList("example.com/v1", {kWidgets}));
  AnswerReviews([](const std::string& body) {
    return body.find("\"widgets\"") == body.npos && body.find("\"routes\"") == body.npos &&
           body.find("\"rayclusters\"") == body.npos;
  });
  Snapshot look = Look();
  look.owner_name = OwnerName{"widget", "example.com", "bob"};
  look.seen.reset();
  Ask(look);
  const std::string series = "cluster_watcher_permission_missing{resource=\"";
  EXPECT_EQ(Missing(), series + "routes\",verb=\"delete\"} 1\n" + series +
                           "routes\",verb=\"list\"} 1\n" + series + "widgets\",verb=\"get\"} 1\n" +
                           series + "widgets\",verb=\"list\"} 1\n");
}

TEST_F(PermissionReviewTest, ASharedClusterTakesLess) {
  Snapshot look = Look();
  look.owner_name.reset();
  look.seen.reset();
  Deny("delete", "services");
  EXPECT_GT(Ask(look), 0u);
  EXPECT_EQ(Missing(), "");
}

// Each request that times out costs time in which nobody looks at the owner.
TEST_F(PermissionReviewTest, AnApiServerThatHangsIsAskedNoMore) {
  api_.transport.On(ApiRequest::Discover("/apis"), GroupList({{"apps", {"v1"}},
                                                              {"flink.apache.org", {"v1beta1"}},
                                                              {"kubernetes.dask.org", {"v1"}},
                                                              {"ray.io", {"v1"}}}));
  ASSERT_TRUE(api_.client.Do(ApiRequest::Discover("/apis"), {}));  // uses up the earlier answer
  api_.transport.On(ApiRequest::Discover("/apis/apps.openshift.io/v1"), NoSuchPath());
  std::size_t hanging = 0;
  api_.transport.otherwise = [&](const HttpRequest&) { return ++hanging, NoAnswer(); };
  EXPECT_EQ(Ask(), 0u);
  EXPECT_EQ(hanging, 1u);
}

}  // namespace
}  // namespace cluster_watcher
