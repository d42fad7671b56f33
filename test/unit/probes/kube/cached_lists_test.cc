#include "probes/kube/cached_lists.h"

#include <gtest/gtest.h>

#include "probes/cluster_probe.h"
#include "probes/kube/pod_state.h"
#include "probes/owner_kinds.h"
#include "test/unit/support/lab.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Request;
using small_kubernetes::User;

class CachedListsTest : public testing::Test, protected Lab {
 protected:
  CachedListsTest() {
    kubernetes_.Settle();
    kubernetes_.on_request = [this](const Request& request, const User&) {
      asked_.emplace_back(request.target);
    };
  }
  // What both say must be the same.
  void ExpectSame(const ApiRequest& request) {
    const auto plain = client_.Do(request, {});
    const auto cached = cached_.Do(request, {});
    ASSERT_EQ(plain.has_value(), cached.has_value()) << request.http.target;
    if (!plain) {
      EXPECT_EQ(plain.error().failure, cached.error().failure);
      return;
    }
    const JsonValue one = plain->document.root();
    const JsonValue other = cached->document.root();
    EXPECT_EQ(one["kind"].AsString(), other["kind"].AsString());
    EXPECT_EQ(one["apiVersion"].AsString(), other["apiVersion"].AsString());
    EXPECT_EQ(NamesOf(one), NamesOf(other)) << request.http.target;
    if (one["metadata"]["name"].Exists()) {
      EXPECT_TRUE(*ReadObjectMeta(one) == *ReadObjectMeta(other));
      EXPECT_EQ(one["spec"].ToText(), other["spec"].ToText());
    }
  }
  static std::vector<std::string> NamesOf(JsonValue list) {
    std::vector<std::string> names;
    for (const JsonValue item : list["items"].Elements()) {
      names.emplace_back(item["metadata"]["name"].AsString().value_or(""));
    }
    return names;
  }
  std::size_t Asked(const std::string& what) {
    return static_cast<std::size_t>(std::count_if(
        asked_.begin(), asked_.end(),
        [&](const std::string& target) { return target.find(what) != std::string::npos; }));
  }

  std::vector<std::string> asked_;
  CachedLists lists_{transport_, "lab", "oshinko-cluster"};
  KubeClient cached_{lists_, tokens_, [](const RequestRecord&) {}};
};

TEST_F(CachedListsTest, AnswersAsTheApiServerDoes) {
  const ResourceType& deployments = TypeOf("deployments");
  const ResourceType& pods = TypeOf("pods");
  kubernetes_.Admin("PATCH", "/api/v1/namespaces/lab/pods/" + NameOfPod() + "/status",
                    R"({"status":{"phase":"Failed"}})", "application/merge-patch+json");
  ExpectSame(ApiRequest::Get(deployments, "lab", "bob"));
  ExpectSame(ApiRequest::Get(deployments, "lab", "none"));
  ExpectSame(ApiRequest::GetMetadata(deployments, "lab", "bob"));
  ExpectSame(ApiRequest::ListByName(deployments, "lab", "bob", Freshness::kConsistent));
  ExpectSame(ApiRequest::ListByName(deployments, "lab", "none", Freshness::kCached));
  ExpectSame(ApiRequest::ListBySelector(pods, "lab", "app=bob", false));
  ExpectSame(ApiRequest::ListBySelector(pods, "lab", "app=bob", true));
  ExpectSame(ApiRequest::ListBySelector(pods, "lab", "app in (bob,none)", true));
  ExpectSame(ApiRequest::ListBySelector(pods, "lab", "app!=bob", true));
  ExpectSame(ApiRequest::ListBySelector(pods, "lab", "app=bob,oshinko-type=master", true));
  ExpectSame(ApiRequest::ListBySelector(pods, "lab", "oshinko-cluster", true));
  ExpectSame(ApiRequest::ListUnendedPods("lab"));
  ExpectSame(ApiRequest::ListUnendedPods("lab", "oshinko-cluster=spark"));
  ExpectSame(ApiRequest::List(deployments, "lab"));
  ExpectSame(ApiRequest::GetMetadata(TypeOf("namespaces"), "", "lab"));
  ExpectSame(ApiRequest::Get(deployments, "other", "bob"));
}

TEST_F(CachedListsTest, ReadsEachKindOnce) {
  const ResourceType& deployments = TypeOf("deployments");
  for (const char* name : {"bob", "spark-m", "none"}) {
    for (int i = 0; i < 3; ++i) (void)cached_.Do(ApiRequest::Get(deployments, "lab", name), {});
    (void)cached_.Do(ApiRequest::ListByName(deployments, "lab", name, Freshness::kCached), {});
  }
  EXPECT_EQ(Asked("/deployments"), 1u);
  for (int i = 0; i < 3; ++i) (void)cached_.Do(ApiRequest::Discover("/apis"), {});
  EXPECT_EQ(Asked("/apis"), 2u) << "the list of deployments is below /apis";
}

TEST_F(CachedListsTest, AFailureInPassingIsAskedAgainAndARefusalIsNot) {
  const ApiRequest request = ApiRequest::Get(TypeOf("deployments"), "lab", "bob");
  Refuse("GET", "/deployments", 503, 0, 1);
  EXPECT_EQ(cached_.Do(request, {}).error().failure, ApiFailure::kServer);
  EXPECT_TRUE(cached_.Do(request, {}));
  Refuse("GET", "/services", 403, 0, 1);
  const ApiRequest services = ApiRequest::Get(TypeOf("services"), "lab", "x");
  EXPECT_EQ(cached_.Do(services, {}).error().failure, ApiFailure::kForbidden);
  EXPECT_EQ(cached_.Do(services, {}).error().failure, ApiFailure::kForbidden);
}

TEST_F(CachedListsTest, ReadsAllPages) {
  for (int i = 0; i < 1'200; ++i) MakeMap("map-" + std::to_string(i));
  const auto found = cached_.Do(
      ApiRequest::ListBySelector(TypeOf("configmaps"), "lab", "oshinko-cluster=spark", true), {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->document.root()["items"].size(), 1'201u);
  EXPECT_EQ(Asked("/configmaps"), 3u);
}

TEST_F(CachedListsTest, PagesThatAreTooLargeAreAskedForInParts) {
  for (int i = 0; i < 20; ++i) {
    MakeMap("map-" + std::to_string(i),
            R"(,"annotations":{"a":")" + std::string(1'000, 'x') + R"("})");
  }
  CachedLists lists(transport_, "lab", "oshinko-cluster", {.page = 10'000});
  KubeClient client(lists, tokens_, [](const RequestRecord&) {});
  EXPECT_TRUE(client.Do(ApiRequest::Get(TypeOf("configmaps"), "lab", "map-7"), {}));
  const auto found = client.Do(ApiRequest::List(TypeOf("configmaps"), "lab"), {});
  ASSERT_TRUE(found);
  const auto plain = client_.Do(ApiRequest::List(TypeOf("configmaps"), "lab"), {});
  EXPECT_EQ(NamesOf(found->document.root()), NamesOf(plain->document.root()));
}

TEST_F(CachedListsTest, WhatDoesNotFitIsReadWhereItIs) {
  MakeMap("large", R"(,"annotations":{"a":")" + std::string(20'000, 'x') + R"("})");
  CachedLists lists(transport_, "lab", "oshinko-cluster", {.kept = 10'000});
  KubeClient client(lists, tokens_, [](const RequestRecord&) {});
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(client.Do(ApiRequest::Get(TypeOf("configmaps"), "lab", "large"), {}));
    EXPECT_EQ(client.Do(ApiRequest::Get(TypeOf("configmaps"), "lab", "none"), {}).error().failure,
              ApiFailure::kNotFound);
    EXPECT_TRUE(client.Do(ApiRequest::Get(TypeOf("deployments"), "lab", "bob"), {}));
  }
  EXPECT_EQ(Asked("/configmaps?"), 1u);
  EXPECT_EQ(Asked("/configmaps/"), 4u);
  EXPECT_EQ(Asked("/deployments/"), 0u) << "others fit";
}

TEST_F(CachedListsTest, WhatKubectlAppliedIsNotKept) {
  MakeMap("applied",
          R"(,"annotations":{"a":"b","kubectl.kubernetes.io/last-applied-configuration":"{}"})");
  const auto read = cached_.Do(ApiRequest::Get(TypeOf("configmaps"), "lab", "applied"), {});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->document.root()["metadata"]["annotations"].ToText(), R"({"a":"b"})");
}

TEST_F(CachedListsTest, OfAllNamespacesEachHasItsOwn) {
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other"}})");
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"spark-config",)"
                    R"("namespace":"other","labels":{"oshinko-cluster":"spark"}}})");
  CachedLists lists(transport_, "", "oshinko-cluster");
  KubeClient client(lists, tokens_, [](const RequestRecord&) {});
  const auto count = [&](const std::string& ns, const std::string& selector) {
    const auto answer =
        client.Do(ApiRequest::ListBySelector(TypeOf("configmaps"), ns, selector, true), {});
    return answer ? answer->document.root()["items"].size() : 99;
  };
  EXPECT_EQ(count("", "oshinko-cluster"), 2u);
  EXPECT_EQ(count("lab", "oshinko-cluster=spark"), 1u);
  EXPECT_EQ(count("other", "oshinko-cluster"), 1u);
  EXPECT_EQ(count("none", "oshinko-cluster=spark"), 0u);
  EXPECT_EQ(Asked("/configmaps"), 1u);
  EXPECT_TRUE(client.Do(ApiRequest::GetMetadata(TypeOf("namespaces"), "", "lab"), {}));
}

TEST_F(CachedListsTest, OfPodsOfNoClusterOnlyWhatTellsThatTheyRunIsKept) {
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" +
                    Meta("foreign", R"(,"labels":{"app":"x"},"annotations":{"a":"long"})") +
                    R"(,"spec":{"terminationGracePeriodSeconds":7,"restartPolicy":"Never",)"
                    R"("containers":[{"name":"m","image":"x"}]},"status":{"phase":"Running",)"
                    R"("podIP":"1","containerStatuses":[{"name":"m","image":"x","state":)"
                    R"({"terminated":{"exitCode":0}}}]}})");
  const auto read = cached_.Do(ApiRequest::Get(TypeOf("pods"), "lab", "foreign"), {});
  ASSERT_TRUE(read);
  const JsonValue pod = read->document.root();
  EXPECT_EQ(pod["metadata"]["labels"]["app"].AsString(), "x");
  EXPECT_FALSE(pod["metadata"]["annotations"].Exists());
  EXPECT_EQ(pod["spec"].ToText(), R"({"terminationGracePeriodSeconds":7,"restartPolicy":"Never",)"
                                  R"("containers":[{"name":"m"}]})");
  EXPECT_EQ(pod["status"].ToText(), R"({"phase":"Running","containerStatuses":[{"name":"m",)"
                                    R"("state":{"terminated":{"exitCode":0}}}]})");
  EXPECT_EQ(HasContainerEnded(pod, "m"), true) << "an owner may be judged by it";
  EXPECT_EQ(ReadOwnerFields(TypeOf("pods"), pod)->termination_grace, std::chrono::seconds(7));
}

TEST_F(CachedListsTest, WritesAreSent) {
  const auto written = cached_.Do(
      ApiRequest::MergePatch(TypeOf("deployments"), "lab", "bob", R"({"metadata":{}})"), {});
  EXPECT_TRUE(written);
  EXPECT_EQ(Asked("/deployments/bob"), 1u);
}

}  // namespace
}  // namespace cluster_watcher
