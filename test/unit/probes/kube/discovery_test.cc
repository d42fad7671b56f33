#include "probes/kube/discovery.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/support/fake_transport.h"

namespace cluster_watcher {
namespace {

using Found = Result<std::optional<ResourceType>, ApiError>;

const ApiRequest kGroups = ApiRequest::Discover("/apis");
const ApiRequest kOpenShift = ApiRequest::Discover("/apis/apps.openshift.io/v1");

const ResourceType& Configs() { return TypeOf("deploymentconfig"); }

ResourceType Gizmos(const std::string& version = "v1") {
  return {"example.com", version, "gizmos", "Gizmo"};
}

// "v1", "not served" or "error".
std::string Outcome(const Found& found) {
  if (!found) return "error";
  return *found ? (*found)->version : "not served";
}

void ServeConfigs(FakeApi& api) {
  api.transport.On(kGroups, GroupList({{"apps.openshift.io", {"v1"}}}));
  api.transport.On(kOpenShift, ResourceList("apps.openshift.io/v1", {Configs()}));
}

TEST(Discovery, DoesntAskForWhatEveryServerHas) {
  FakeApi api;
  for (const char* name : {"pod", "deployment", "job", "hpa", "pdb", "ingress"}) {
    EXPECT_EQ(**api.discovery.Resolve(TypeOf(name), {}), TypeOf(name));
    EXPECT_EQ(**api.discovery.ByPlural(TypeOf(name).plural, "", {}), TypeOf(name));
  }
  EXPECT_EQ(**api.discovery.ByKind("apps/v1", "ReplicaSet", {}), TypeOf("replicaset"));
  EXPECT_TRUE(api.transport.requests.empty());
}

TEST(Discovery, FindsWhatIsServedAndAsksOnce) {
  FakeApi api;
  ServeConfigs(api);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(**api.discovery.Resolve(Configs(), {}), Configs());
    EXPECT_EQ(**api.discovery.ByPlural("deploymentconfigs", "apps.openshift.io", {}), Configs());
  }
  EXPECT_EQ(api.transport.requests.size(), 2u);
}

TEST(Discovery, AGroupOrKindThatIsNotListedIsNotServed) {
  FakeApi api;
  api.transport.On(kGroups, GroupList({{"apps.openshift.io", {"v1"}}, {"apps", {"v1"}}}));
  api.transport.On(kOpenShift, ResourceList("apps.openshift.io/v1", {}));
  EXPECT_EQ(Outcome(api.discovery.Resolve(Configs(), {})), "not served");
  EXPECT_EQ(Outcome(api.discovery.Resolve(TypeOf("route"), {})), "not served");
  EXPECT_EQ(Outcome(api.discovery.ByPlural("gizmos", "example.com", {})), "not served");
  api.transport.On(ApiRequest::Discover("/api/v1"), ResourceList("v1", {TypeOf("pod")}));
  EXPECT_EQ(Outcome(api.discovery.ByPlural("gizmos", "", {})), "not served");
  EXPECT_EQ(Outcome(api.discovery.ByKind("example.com/v1", "Gizmo", {})), "not served");
  EXPECT_EQ(Outcome(api.discovery.ByKind("apps.openshift.io/v1", "Gizmo", {})), "not served");
}

TEST(Discovery, AGroupThatIsNotListedIsAskedFor) {
  for (const HttpResult& answer : {HttpResult(Refused(503)), HttpResult(Refused(403)),
                                   HttpResult(NoAnswer()), HttpResult(ResourceList("x/v1", {}))}) {
    FakeApi api;
    api.transport.On(kGroups, GroupList({}));
    api.transport.otherwise = [&](const HttpRequest&) { return answer; };
    EXPECT_EQ(Outcome(api.discovery.Resolve(Configs(), {})), "error");
    EXPECT_EQ(Outcome(api.discovery.ByPlural("gizmos", "example.com", {})), "error");
    EXPECT_EQ(Outcome(api.discovery.ByKind("example.com/v1", "Gizmo", {})), "error");
    EXPECT_FALSE(api.discovery.ByName({"gizmo", "example.com"}, {}));
  }
  FakeApi api;
  api.transport.On(kGroups, GroupList({}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Outcome(api.discovery.Resolve(Configs(), {})), "not served");
  }
  EXPECT_EQ(api.transport.requests.size(), 2u) << "once for all";
}

TEST(Discovery, WhatIsAskedSideBySideNeedsNoFurtherRequest) {
  FakeApi api;
  api.transport.On(kGroups, GroupList({}));
  const std::vector<KindName> kinds = {{"pods", ""},
                                       {"gizmos", "example.com"},
                                       {"gadgets", "example.com"},
                                       {"routes", "route.openshift.io"},
                                       {"widgets", "down.example.com"}};
  api.transport.On(ApiRequest::Discover("/apis/down.example.com"), Refused(503));
  api.discovery.ConfirmMissingGroups(kinds, {});
  EXPECT_TRUE(api.transport.requests.empty()) << "the list of groups was not read yet";
  ASSERT_TRUE(api.discovery.Refresh({}));
  api.discovery.ConfirmMissingGroups(kinds, {});
  EXPECT_EQ(api.transport.requests.size(), 1u + 3u);
  for (const KindName& kind : kinds) {
    const bool is_known = kind.group.empty();
    const bool is_down = kind.kind == "widgets";
    EXPECT_EQ(Outcome(api.discovery.ByPlural(kind.kind, kind.group, {})), is_known  ? "v1"
                                                                          : is_down ? "error"
                                                                                    : "not served")
        << kind.kind;
  }
  EXPECT_EQ(api.transport.requests.size(), 1u + 3u + 1u);
  api.discovery.ConfirmMissingGroups(std::span(kinds).first(4), {});
  EXPECT_EQ(api.transport.requests.size(), 1u + 3u + 1u);
}

TEST(Discovery, ASubresourceIsNoKind) {
  FakeApi api;
  ResourceType scale = Configs();
  scale.plural = "deploymentconfigs/scale";
  api.transport.On(kGroups, GroupList({{"apps.openshift.io", {"v1"}}}));
  api.transport.On(kOpenShift, ResourceList("apps.openshift.io/v1", {scale}));
  EXPECT_EQ(Outcome(api.discovery.Resolve(Configs(), {})), "not served");
}

TEST(Discovery, AnythingButADefiniteAnswerIsAnError) {
  const std::string groups = GroupList({{"apps", {"v1"}}}).body;
  const std::string kind = R"({"kind":"APIGroupList","apiVersion":"v1","groups":)";
  const std::vector<std::pair<const char*, HttpResult>> answers = {
      {"no answer", NoAnswer()},
      {"403", Refused(403)},
      {"404", Refused(404)},
      {"no such path", NoSuchPath()},
      {"503 text", Answer(503, "service unavailable", "text/plain")},
      {"HTML", Answer(200, "<html>", "text/html")},
      {"truncated", Answer(200, groups.substr(0, groups.size() - 1))},
      {"a Status", Answer(200, R"({"kind":"Status","apiVersion":"v1"})")},
      {"another list", ResourceList("apps/v1", {})},
      {"groups null", Answer(200, kind + "null}")},
      {"no groups", Answer(200, R"({"kind":"APIGroupList","apiVersion":"v1"})")},
      {"a group without name", Answer(200, kind + R"([{"versions":[]}]})")},
      {"a group without versions", Answer(200, kind + R"([{"name":"apps.openshift.io"}]})")},
      {"a version without text",
       Answer(200, kind + R"([{"name":"apps.openshift.io","versions":[{"version":1}]}]})")},
      {"a group that is null", Answer(200, kind + "[null]}")},
      {"without the groups of every server",
       Answer(200, kind + R"([{"name":"apiextensions.k8s.io","versions":[]}]})")},
  };
  for (const auto& [what, answer] : answers) {
    FakeApi api;
    api.transport.On(kGroups, answer);
    EXPECT_EQ(Outcome(api.discovery.Resolve(Configs(), {})), "error") << what;
    EXPECT_EQ(Outcome(api.discovery.ByPlural("deploymentconfigs", "", {})), "error") << what;
    EXPECT_EQ(Outcome(api.discovery.ByKind("apps.openshift.io/v2", "DeploymentConfig", {})),
              "error")
        << what;
  }
}

TEST(Discovery, AGroupsResourcesThatCantBeReadAreAnError) {
  const std::string kind = R"({"kind":"APIResourceList","groupVersion":"apps.openshift.io/v1",)";
  const std::vector<std::pair<const char*, HttpResult>> answers = {
      {"403", Refused(403)},
      {"no such path", NoSuchPath()},
      {"503, aggregated API down", Answer(503, "service unavailable", "text/plain")},
      {"another list", GroupList({})},
      {"resources null", Answer(200, kind + R"("resources":null})")},
      {"no resources", Answer(200, kind + R"("a":1})")},
      {"one without name", Answer(200, kind + R"("resources":[{"kind":"A","namespaced":true}]})")},
      {"one without kind", Answer(200, kind + R"("resources":[{"name":"a","namespaced":true}]})")},
      {"namespaced or not", Answer(200, kind + R"("resources":[{"name":"a","kind":"A"}]})")},
      {"one that is null", Answer(200, kind + R"("resources":[null]})")},
  };
  for (const auto& [what, answer] : answers) {
    FakeApi api;
    api.transport.On(kGroups, GroupList({{"apps.openshift.io", {"v1"}}}));
    api.transport.On(kOpenShift, answer);
    EXPECT_EQ(Outcome(api.discovery.Resolve(Configs(), {})), "error") << what;
    EXPECT_EQ(Outcome(api.discovery.ByPlural("dc", "", {})), "error") << what;
    EXPECT_EQ(Outcome(api.discovery.ByKind("apps.openshift.io/v1", "Gizmo", {})), "error") << what;
  }
}

TEST(Discovery, AFailureIsTriedAgain) {
  FakeApi api;
  api.transport.On(kGroups, Refused(503));
  api.transport.On(kGroups, GroupList({{"apps.openshift.io", {"v1"}}}));
  api.transport.On(kOpenShift, Refused(503));
  api.transport.On(kOpenShift, ResourceList("apps.openshift.io/v1", {Configs()}));
  EXPECT_EQ(Outcome(api.discovery.Resolve(Configs(), {})), "error");
  EXPECT_EQ(Outcome(api.discovery.Resolve(Configs(), {})), "error");
  EXPECT_EQ(Outcome(api.discovery.Resolve(Configs(), {})), "v1");
}

TEST(Discovery, RefreshForgets) {
  FakeApi api;
  ServeConfigs(api);
  api.transport.On(kGroups, GroupList({{"apps", {"v1"}}}));
  api.transport.On(kGroups, Refused(503));
  api.transport.On(kOpenShift, NoSuchPath());
  EXPECT_EQ(Outcome(api.discovery.Resolve(Configs(), {})), "v1");
  EXPECT_TRUE(api.discovery.Refresh({}));
  EXPECT_EQ(Outcome(api.discovery.Resolve(Configs(), {})), "not served");
  EXPECT_FALSE(api.discovery.Refresh({}));
  EXPECT_EQ(Outcome(api.discovery.Resolve(Configs(), {})), "error")
      << "what was known before a failure isn't known any more";
}

TEST(Discovery, FindsAKindInWhicheverVersionHasIt) {
  FakeApi api;
  api.transport.On(kGroups, GroupList({{"example.com", {"v2", "v1"}}}));
  api.transport.On(ApiRequest::Discover("/apis/example.com/v2"),
                   ResourceList("example.com/v2", {}));
  const ResourceType gizmos{"example.com", "v1", "gizmos", "Gizmo"};
  api.transport.On(ApiRequest::Discover("/apis/example.com/v1"),
                   ResourceList("example.com/v1", {gizmos}));
  EXPECT_EQ(**api.discovery.ByPlural("gizmos", "example.com", {}), gizmos);
  EXPECT_EQ(**api.discovery.ByKind("example.com/v1alpha1", "Gizmo", {}), gizmos)
      << "a version that is not served any more";
  EXPECT_EQ(api.discovery.ByName({"gizmo", "example.com"}, {})->front(), gizmos);
  EXPECT_TRUE(*api.discovery.IsCalled(gizmos, "gizmos", {}));
  EXPECT_FALSE(*api.discovery.IsCalled(gizmos, "widgets", {}));
}

TEST(Discovery, TakesTheKnownVersionElseThePreferredOne) {
  struct Case {
    std::vector<std::string> offered;  // the preferred one first
    std::string known;
    std::string expected;
  };
  const std::vector<Case> cases = {
      {{"v1"}, "v1", "v1"},
      {{"v2", "v1"}, "v1", "v1"},
      {{"v2", "v1beta1"}, "v1", "v2"},
      {{"v1beta1"}, "v1", "v1beta1"},
  };
  for (const Case& one : cases) {
    FakeApi api;
    api.transport.On(kGroups, GroupList({{"example.com", one.offered}}));
    for (const std::string& version : one.offered) {
      api.transport.On(ApiRequest::Discover("/apis/example.com/" + version),
                       ResourceList("example.com/" + version, {Gizmos(version)}));
    }
    EXPECT_EQ(Outcome(api.discovery.Resolve(Gizmos(one.known), {})), one.expected);
    EXPECT_EQ(Outcome(api.discovery.ByPlural("gizmos", "example.com", {})), one.offered.front());
    EXPECT_EQ(**api.discovery.ByKind("example.com/" + one.expected, "Gizmo", {}),
              Gizmos(one.expected));
  }
}

TEST(Discovery, FindsCoreKindsThatAreNotBuiltInAndNotNamespaced) {
  FakeApi api;
  const ResourceType nodes{"", "v1", "nodes", "Node", false};
  api.transport.On(ApiRequest::Discover("/api/v1"), ResourceList("v1", {nodes}));
  EXPECT_EQ(**api.discovery.ByKind("v1", "Node", {}), nodes);
  EXPECT_EQ(Outcome(api.discovery.ByKind("v1", "Gizmo", {})), "not served");
  EXPECT_EQ(Outcome(api.discovery.ByKind("", "Node", {})), "error") << "of no version";
  EXPECT_EQ(Outcome(api.discovery.ByKind("example.com/", "Gizmo", {})), "error");
  EXPECT_EQ(api.transport.requests.size(), 1u);
}

}  // namespace
}  // namespace cluster_watcher
