#include "test/small_kubernetes/small_kubernetes.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "test/small_kubernetes/http_server.h"
#include "test/small_kubernetes/local_transport.h"
#include "test/small_kubernetes/patch.h"

namespace cluster_watcher::small_kubernetes {
namespace {

using std::chrono::seconds;

constexpr std::string_view kMetadata =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
constexpr std::string_view kMetadataList =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

class ManualClock final : public Clock {
 public:
  MonotonicTime Now() override { return now_; }
  WallTime WallNow() override {
    return WallTime(std::chrono::seconds(1'767'225'600)) +
           std::chrono::duration_cast<seconds>(now_.time_since_epoch());
  }
  bool WaitUntil(MonotonicTime deadline, std::stop_token stop) override {
    if (stop.stop_requested()) return false;
    now_ = std::max(now_, deadline);
    return true;
  }
  void Advance(Duration time) { now_ += time; }

 private:
  MonotonicTime now_{};
};

class SmallKubernetesTest : public testing::Test {
 protected:
  Response Get(std::string_view target) { return kubernetes.Admin("GET", target); }
  Response Post(std::string_view target, std::string_view body) {
    return kubernetes.Admin("POST", target, body);
  }
  Response Patch(std::string_view target, std::string_view body) {
    return kubernetes.Admin("PATCH", target, body);
  }
  Response Delete(std::string_view target, std::string_view body = {}) {
    return kubernetes.Admin("DELETE", target, body);
  }
  Response As(std::string_view token, std::string_view method, std::string_view target,
              std::string_view body = {}, std::string_view accept = "application/json") {
    return kubernetes.Serve({method, target, token, accept, "application/json", body});
  }

  // The member at a path, as text or JSON; "-" if there is none.
  template <typename... Keys>
  static std::string At(const Response& response, Keys... keys) {
    const std::optional<Value> json = Parse(response.body);
    if (!json) return "not JSON: " + response.body;
    const Value* value = Find(*json, std::string_view(keys)...);
    if (value == nullptr) return "-";
    return value->IsString() ? std::string(TextOf(value)) : Write(*value);
  }

  // The names of a list's items.
  static std::vector<std::string> Names(const Response& response) {
    std::vector<std::string> names;
    const std::optional<Value> json = Parse(response.body);
    const Value* items = json ? Find(*json, "items") : nullptr;
    if (items == nullptr || !items->IsArray()) return {"no items: " + response.body};
    for (const Value& item : items->GetArray()) {
      names.emplace_back(TextOf(Find(item, "metadata", "name")));
    }
    return names;
  }

  // Objects of a kind but what every namespace has.
  std::size_t Count(const std::string& resource) {
    const Response list = Get("/api/v1/namespaces/default/" + resource);
    return Names(list).size();
  }

  void CreateDeployment(const std::string& name, int replicas) {
    const std::string label = "{\"app\":\"" + name + "\"}";
    const Response created = kubernetes.Apply(
        R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":")" + name +
        R"(","annotations":{"a":"1"}},"spec":{"replicas":)" + std::to_string(replicas) +
        R"(,"selector":{"matchLabels":)" + label + R"(},"template":{"metadata":{"labels":)" +
        label + R"(},"spec":{"containers":[{"name":"a","image":"b"}]}}}})");
    ASSERT_EQ(created.status, 201) << created.body;
  }
  void CreateConfigMap(const std::string& name, const std::string& metadata = "") {
    const Response created =
        kubernetes.Apply(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
                         "\"" + metadata + "}}");
    ASSERT_EQ(created.status, 201) << created.body;
  }
  static std::string OwnedBy(const std::string& kind, const std::string& name,
                             const std::string& uid, const std::string& api = "v1",
                             bool block = false) {
    return R"(,"ownerReferences":[{"apiVersion":")" + api + R"(","kind":")" + kind +
           R"(","name":")" + name + R"(","uid":")" + uid + R"(","blockOwnerDeletion":)" +
           (block ? "true" : "false") + "}]";
  }
  void Grant(const std::string& rules, const std::string& ns = "default") {
    kubernetes.Apply(R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":)"
                     R"({"name":"watcher","namespace":")" +
                     ns + R"("},"rules":)" + rules + "}");
    kubernetes.Apply(
        R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":)"
        R"({"name":"watcher","namespace":")" +
        ns +
        R"("},"roleRef":{"kind":"Role","name":"watcher"},)"
        R"("subjects":[{"kind":"ServiceAccount","name":"watcher","namespace":"default"}]})");
  }

  static constexpr const char* kDeployments = "/apis/apps/v1/namespaces/default/deployments";
  static constexpr const char* kConfigMaps = "/api/v1/namespaces/default/configmaps";
  static constexpr const char* kPods = "/api/v1/namespaces/default/pods";

  ManualClock clock;
  SmallKubernetes kubernetes{clock, 7};
};

// --- Statuses

TEST_F(SmallKubernetesTest, MissingObjectIsNotFoundWithDetails) {
  const Response response = Get(std::string(kDeployments) + "/bob");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body,
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
            R"("message":"deployments.apps \"bob\" not found","reason":"NotFound",)"
            R"("details":{"name":"bob","group":"apps","kind":"deployments"},"code":404})"
            "\n");
  EXPECT_EQ(At(Get("/api/v1/namespaces/none/pods/x"), "details"), R"({"name":"x","kind":"pods"})");
}

TEST_F(SmallKubernetesTest, UnknownResourceInServedGroupHasNoDetails) {
  const Response response = Get("/apis/apps/v1/namespaces/default/gadgets/x");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(At(response, "message"), "the server could not find the requested resource");
  EXPECT_EQ(At(response, "details"), "{}");
  EXPECT_EQ(At(Get(std::string(kPods) + "/a/scale"), "details"), "{}");
}

TEST_F(SmallKubernetesTest, UnservedGroupOrVersionIsText) {
  for (const char* path : {"/apis/ray.io/v1/namespaces/default/rayclusters",
                           "/apis/apps/v1beta1/namespaces/default/deployments", "/nothing"}) {
    const Response response = Get(path);
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_EQ(response.body, "404 page not found\n") << path;
    EXPECT_EQ(response.content_type, "text/plain; charset=utf-8") << path;
  }
}

TEST_F(SmallKubernetesTest, ForbiddenSaysWhoWhatWhere) {
  const std::string token = kubernetes.ServiceAccountToken("default", "watcher");
  const Response get = As(token, "GET", "/apis/apps/v1/namespaces/x/deployments/bob");
  EXPECT_EQ(get.status, 403);
  EXPECT_EQ(At(get, "message"),
            "deployments.apps \"bob\" is forbidden: User "
            "\"system:serviceaccount:default:watcher\" cannot get resource \"deployments\" in API "
            "group \"apps\" in the namespace \"x\"");
  EXPECT_EQ(At(get, "details"), R"({"name":"bob","group":"apps","kind":"deployments"})");
  EXPECT_EQ(At(As(token, "GET", "/api/v1/nodes"), "message"),
            "nodes is forbidden: User \"system:serviceaccount:default:watcher\" cannot list "
            "resource \"nodes\" in API group \"\" at the cluster scope");
  EXPECT_EQ(At(As("", "GET", "/api"), "message"),
            "forbidden: User \"system:anonymous\" cannot get path \"/api\"");
  EXPECT_EQ(As("", "GET", "/version").status, 200);
}

TEST_F(SmallKubernetesTest, UnknownTokenIsUnauthorizedBeforeRouting) {
  const Response response = As("stolen", "GET", "/apis/nothing/v1/x");
  EXPECT_EQ(response.status, 401);
  EXPECT_EQ(At(response, "reason"), "Unauthorized");
}

TEST_F(SmallKubernetesTest, CreatingTwiceConflicts) {
  CreateConfigMap("a");
  const Response response = Post(kConfigMaps, R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(response.status, 409);
  EXPECT_EQ(At(response, "reason"), "AlreadyExists");
  EXPECT_EQ(At(response, "message"), "configmaps \"a\" already exists");
}

TEST_F(SmallKubernetesTest, StaleResourceVersionConflicts) {
  CreateConfigMap("a");
  const std::string path = std::string(kConfigMaps) + "/a";
  const std::string version = At(Get(path), "metadata", "resourceVersion");
  const std::string patch =
      R"({"metadata":{"resourceVersion":")" + version + R"(","labels":{"x":"y"}}})";
  EXPECT_EQ(Patch(path, patch).status, 200);
  const Response second = Patch(path, patch);
  EXPECT_EQ(second.status, 409);
  EXPECT_EQ(At(second, "message"),
            "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; "
            "please apply your changes to the latest version and try again");
  const std::string whole = R"({"metadata":{"name":"a","resourceVersion":")" + version + "\"}}";
  EXPECT_EQ(kubernetes.Admin("PUT", path, whole).status, 409);
}

TEST_F(SmallKubernetesTest, UidInPatchIsInvalid) {
  CreateDeployment("bob", 0);
  const Response response =
      Patch(std::string(kDeployments) + "/bob", R"({"metadata":{"uid":"other"}})");
  EXPECT_EQ(response.status, 422);
  EXPECT_EQ(At(response, "message"),
            "Deployment.apps \"bob\" is invalid: metadata.uid: Invalid value: \"other\": field is "
            "immutable");
}

TEST_F(SmallKubernetesTest, BadRequestsAreRefused) {
  CreateConfigMap("a");
  const std::string path = std::string(kConfigMaps) + "/a";
  EXPECT_EQ(Post(kConfigMaps, "{").status, 400);
  EXPECT_EQ(Post(kConfigMaps, std::string(10'000, '[')).status, 400);
  EXPECT_EQ(Post(kConfigMaps, "{\"metadata\":{\"name\":\"\xff\"}}").status, 400);
  EXPECT_EQ(
      Post(kConfigMaps, R"({"kind":"Secret","apiVersion":"v1","metadata":{"name":"b"}})").status,
      400);
  EXPECT_EQ(Post(kConfigMaps, R"({"metadata":{"name":"b","namespace":"other"}})").status, 400);
  EXPECT_EQ(Post(kConfigMaps, R"({"metadata":{"name":"b","resourceVersion":"1"}})").status, 400);
  EXPECT_EQ(kubernetes.Admin("PUT", path, R"({"metadata":{"name":"b"}})").status, 400);
  EXPECT_EQ(Get(std::string(kConfigMaps) + "?labelSelector=a%20b").status, 400);
  EXPECT_EQ(Get(std::string(kConfigMaps) + "?fieldSelector=data.x%3D1").status, 400);
  EXPECT_EQ(kubernetes.Admin("PATCH", path, "{}", "text/plain").status, 415);
  EXPECT_EQ(kubernetes.Admin("POST", kConfigMaps, "{}", "application/yaml").status, 415);
  EXPECT_EQ(Post(path, "{}").status, 405);
  EXPECT_EQ(At(Post(path, "{}"), "reason"), "MethodNotAllowed");
  EXPECT_EQ(Post("/api/v1/configmaps", R"({"metadata":{"name":"b"}})").status, 405);
  EXPECT_EQ(As("admin", "GET", path, {}, "application/vnd.kubernetes.protobuf").status, 406);
}

TEST_F(SmallKubernetesTest, InvalidObjectsAreRefused) {
  const Response name = Post(kConfigMaps, R"({"metadata":{"name":"Bad_Name"}})");
  EXPECT_EQ(name.status, 422);
  EXPECT_EQ(At(name, "reason"), "Invalid");
  EXPECT_EQ(At(name, "details", "kind"), "ConfigMap");
  EXPECT_EQ(Post(kConfigMaps, R"({"metadata":{}})").status, 422);
  const Response selector = Post(kDeployments, R"({"metadata":{"name":"a"},"spec":{}})");
  EXPECT_EQ(selector.status, 422);
  EXPECT_EQ(At(selector, "message"),
            "Deployment.apps \"a\" is invalid: spec.selector: Required value");
  const Response owner =
      Post(kConfigMaps, R"({"metadata":{"name":"a","ownerReferences":[{"kind":"X"}]}})");
  EXPECT_EQ(owner.status, 422);
}

TEST_F(SmallKubernetesTest, EventAboutNamespaceNeedsItsNamespace) {
  const std::string path = "/apis/events.k8s.io/v1/namespaces/kube-system/events";
  Post("/api/v1/namespaces", R"({"metadata":{"name":"x"}})");
  const auto event = [](const std::string& ns) {
    return R"({"metadata":{"generateName":"e."},"eventTime":"2026-01-01T00:00:00.000000Z",)"
           R"("type":"Warning","reason":"R","action":"A","reportingController":"c/w",)"
           R"("reportingInstance":"i","note":"n","regarding":{"kind":"Namespace","name":"x")" +
           ns + "}}";
  };
  EXPECT_EQ(Post("/apis/events.k8s.io/v1/namespaces/x/events", event("")).status, 422);
  const Response created =
      Post("/apis/events.k8s.io/v1/namespaces/x/events", event(R"(,"namespace":"x")"));
  EXPECT_EQ(created.status, 201) << created.body;
  EXPECT_EQ(At(created, "note"), "n");
  const std::string name = At(created, "metadata", "name");
  EXPECT_EQ(At(Get("/api/v1/namespaces/x/events/" + name), "message"), "n");
  EXPECT_EQ(At(Get("/api/v1/namespaces/x/events/" + name), "involvedObject", "kind"), "Namespace");
  EXPECT_EQ(Post("/apis/events.k8s.io/v1/namespaces/default/events",
                 R"({"metadata":{"name":"e"},"note":"n"})")
                .status,
            422);
}

// --- Reading

TEST_F(SmallKubernetesTest, GetCarriesKindListItemsDoNot) {
  CreateDeployment("bob", 1);
  const Response one = Get(std::string(kDeployments) + "/bob");
  EXPECT_EQ(one.status, 200);
  EXPECT_EQ(At(one, "kind"), "Deployment");
  EXPECT_EQ(At(one, "apiVersion"), "apps/v1");
  const Response list = Get(std::string(kDeployments) + "?fieldSelector=metadata.name%3Dbob");
  EXPECT_EQ(At(list, "kind"), "DeploymentList");
  EXPECT_EQ(At(list, "apiVersion"), "apps/v1");
  EXPECT_NE(At(list, "metadata", "resourceVersion"), "-");
  EXPECT_EQ(Names(list), std::vector<std::string>{"bob"});
  EXPECT_EQ(list.body.find("\"kind\":\"Deployment\","), std::string::npos);
}

TEST_F(SmallKubernetesTest, ListOfNothingIsEmptyArray) {
  const Response missing = Get(std::string(kDeployments) + "?fieldSelector=metadata.name=bob");
  EXPECT_EQ(missing.status, 200);
  EXPECT_EQ(At(missing, "items"), "[]");
  EXPECT_EQ(At(Get("/api/v1/namespaces/misspelt/pods"), "items"), "[]");
}

TEST_F(SmallKubernetesTest, ListsAllNamespaces) {
  CreateConfigMap("a");
  EXPECT_EQ(Names(Get("/api/v1/configmaps")).size(), 3u);
  EXPECT_EQ(
      Names(
          Get("/api/v1/configmaps?fieldSelector=metadata.namespace%3Ddefault,metadata.name!%3Da")),
      std::vector<std::string>{"kube-root-ca.crt"});
}

TEST_F(SmallKubernetesTest, SelectsByLabels) {
  CreateConfigMap("a", R"(,"labels":{"c":"x","t":"1"})");
  CreateConfigMap("b", R"(,"labels":{"c":"y"})");
  CreateConfigMap("e", R"(,"labels":{"c":""})");
  const auto select = [&](const std::string& selector) {
    std::string names;
    for (const std::string& name :
         Names(Get(std::string(kConfigMaps) + "?labelSelector=" + selector)))
      names += name == "kube-root-ca.crt" ? "-" : name;
    return names;
  };
  EXPECT_EQ(select("c%3Dx"), "a");
  EXPECT_EQ(select("c=x"), "a");
  EXPECT_EQ(select("c%3D%3Dy"), "b");
  EXPECT_EQ(select("c="), "e");
  EXPECT_EQ(select("c"), "abe");
  EXPECT_EQ(select("!c"), "-");
  EXPECT_EQ(select("c!=x"), "be-");
  EXPECT_EQ(select("c%20in%20(x,y)"), "ab");
  EXPECT_EQ(select("c+notin+(x,y)"), "e-");
  EXPECT_EQ(select("c,t"), "a");
  EXPECT_EQ(select(""), "abe-");
}

TEST_F(SmallKubernetesTest, MetadataAlone) {
  CreateConfigMap("a");
  const Response one = As("admin", "GET", std::string(kConfigMaps) + "/a", {}, kMetadata);
  EXPECT_EQ(At(one, "kind"), "PartialObjectMetadata");
  EXPECT_EQ(At(one, "apiVersion"), "meta.k8s.io/v1");
  EXPECT_EQ(At(one, "metadata", "name"), "a");
  const Response list =
      As("admin", "GET", kConfigMaps, {}, std::string(kMetadataList) + ",application/json");
  EXPECT_EQ(At(list, "kind"), "PartialObjectMetadataList");
  EXPECT_NE(list.body.find(R"({"kind":"PartialObjectMetadata",)"), std::string::npos);
  EXPECT_EQ(list.body.find("data\":{\"ca.crt"), std::string::npos);
  EXPECT_EQ(As("admin", "GET", kConfigMaps, {}, kMetadata).status, 406);
}

TEST_F(SmallKubernetesTest, ListsInPieces) {
  for (const char* name : {"a", "b", "c"}) CreateConfigMap(name);
  const Response first = Get(std::string(kConfigMaps) + "?limit=2");
  EXPECT_EQ(Names(first), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(At(first, "metadata", "remainingItemCount"), "2");
  // What comes later is not in a list that was begun.
  CreateConfigMap("d");
  const Response rest =
      Get(std::string(kConfigMaps) + "?limit=5&continue=" + At(first, "metadata", "continue"));
  EXPECT_EQ(Names(rest), (std::vector<std::string>{"c", "kube-root-ca.crt"}));
  EXPECT_EQ(At(rest, "metadata", "continue"), "-");
  EXPECT_EQ(Names(Get(std::string(kConfigMaps) + "?limit=2&resourceVersion=0")).size(), 5u);
}

TEST_F(SmallKubernetesTest, GlancesCanLag) {
  CreateConfigMap("a");
  kubernetes.SetStaleness(0, seconds(10));
  clock.Advance(seconds(60));
  Delete(std::string(kConfigMaps) + "/a");
  const std::string path = std::string(kConfigMaps) + "/a";
  EXPECT_EQ(Get(path).status, 404);
  EXPECT_EQ(Get(path + "?resourceVersion=0").status, 200);
  EXPECT_EQ(Names(Get(std::string(kConfigMaps) + "?resourceVersion=0")).size(), 2u);
  EXPECT_EQ(At(Get(std::string(kConfigMaps) + "?resourceVersion=0&fieldSelector=metadata.name=a"),
               "items") == "[]",
            false);
  clock.Advance(seconds(11));
  EXPECT_EQ(Get(path + "?resourceVersion=0").status, 404);
  kubernetes.SetStaleness(1);
  CreateConfigMap("b");
  EXPECT_EQ(Get(std::string(kConfigMaps) + "/b?resourceVersion=0").status, 404);
}

// --- Metadata and defaults

TEST_F(SmallKubernetesTest, FillsMetadataIn) {
  clock.Advance(seconds(5));
  CreateDeployment("bob", 1);
  const Response one = Get(std::string(kDeployments) + "/bob");
  EXPECT_EQ(At(one, "metadata", "creationTimestamp"), "2026-01-01T00:00:05Z");
  EXPECT_EQ(At(one, "metadata", "uid").size(), 36u);
  EXPECT_EQ(At(one, "metadata", "generation"), "1");
  const Response generated = Post(kConfigMaps, R"({"metadata":{"generateName":"x-"}})");
  EXPECT_EQ(At(generated, "metadata", "name").size(), 7u);
}

TEST_F(SmallKubernetesTest, SameSeedSameUids) {
  SmallKubernetes other(clock, 7), another(clock, 8);
  const char* path = "/api/v1/namespaces/default";
  EXPECT_EQ(other.Admin("GET", path).body, Get(path).body);
  EXPECT_NE(another.Admin("GET", path).body, Get(path).body);
}

TEST_F(SmallKubernetesTest, GenerationFollowsSpecAndAnnotationsOfDeployments) {
  CreateDeployment("bob", 1);
  const std::string path = std::string(kDeployments) + "/bob";
  EXPECT_EQ(At(Patch(path, R"({"metadata":{"labels":{"l":"1"}}})"), "metadata", "generation"), "1");
  EXPECT_EQ(At(Patch(path, R"({"metadata":{"annotations":{"l":"1"}}})"), "metadata", "generation"),
            "2");
  EXPECT_EQ(At(Patch(path, R"({"spec":{"replicas":2}})"), "metadata", "generation"), "3");
  EXPECT_EQ(At(Patch(path, R"({"status":{"replicas":9}})"), "status", "replicas"), "2");
}

TEST_F(SmallKubernetesTest, MergePatchDeletesByNull) {
  CreateConfigMap("a", R"(,"annotations":{"x":"1","y":"2"})");
  const Response response =
      Patch(std::string(kConfigMaps) + "/a", R"({"metadata":{"annotations":{"x":null,"z":"3"}}})");
  EXPECT_EQ(At(response, "metadata", "annotations"), R"({"y":"2","z":"3"})");
}

TEST_F(SmallKubernetesTest, UnchangedWritesKeepTheVersion) {
  CreateConfigMap("a", R"(,"annotations":{"x":"1"})");
  const std::string path = std::string(kConfigMaps) + "/a";
  const std::string version = At(Get(path), "metadata", "resourceVersion");
  EXPECT_EQ(
      At(Patch(path, R"({"metadata":{"annotations":{"x":"1"}}})"), "metadata", "resourceVersion"),
      version);
}

TEST_F(SmallKubernetesTest, JsonAndStrategicPatches) {
  CreateConfigMap("a", R"(,"finalizers":["x/y"])");
  const std::string path = std::string(kConfigMaps) + "/a";
  EXPECT_EQ(At(kubernetes.Admin("PATCH", path,
                                R"([{"op":"add","path":"/data","value":{"a/b":"1"}},)"
                                R"({"op":"replace","path":"/data/a~1b","value":"2"}])",
                                "application/json-patch+json"),
               "data"),
            R"({"a/b":"2"})");
  EXPECT_EQ(kubernetes
                .Admin("PATCH", path, R"([{"op":"test","path":"/data/a~1b","value":"1"}])",
                       "application/json-patch+json")
                .status,
            422);
  CreateDeployment("bob", 0);
  const Response patched = kubernetes.Admin(
      "PATCH", std::string(kDeployments) + "/bob",
      R"({"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"a"}],)"
      R"("containers":[{"name":"a","image":"new"},{"name":"c","image":"d"}]}}}})",
      "application/strategic-merge-patch+json");
  EXPECT_EQ(At(patched, "spec", "template", "spec", "containers"),
            R"([{"name":"a","image":"new"},{"name":"c","image":"d"}])");
}

TEST_F(SmallKubernetesTest, ApplyPatchCreatesOrMerges) {
  const std::string path = std::string(kConfigMaps) + "/a";
  const char* body =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1"}})";
  const char* type = "application/apply-patch+yaml";
  EXPECT_EQ(kubernetes.Admin("PATCH", path, body, type).status, 422);
  EXPECT_EQ(kubernetes.Admin("PATCH", path + "?fieldManager=w&force=true", body, type).status, 201);
  EXPECT_EQ(kubernetes.Admin("PATCH", path + "?fieldManager=w&force=true", body, type).status, 200);
}

TEST_F(SmallKubernetesTest, FillsDefaultsIn) {
  kubernetes.Apply(R"({"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"r"},)"
                   R"("spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{}}}})");
  const Response rc = Get("/api/v1/namespaces/default/replicationcontrollers/r");
  EXPECT_EQ(At(rc, "spec", "replicas"), "1");
  EXPECT_EQ(At(rc, "spec", "selector"), R"({"a":"b"})");
  EXPECT_EQ(At(rc, "spec", "template", "spec", "terminationGracePeriodSeconds"), "30");
  kubernetes.Apply(
      R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"template":{}}})");
  const Response job = Get("/apis/batch/v1/namespaces/default/jobs/j");
  EXPECT_EQ(At(job, "spec", "parallelism"), "1");
  EXPECT_EQ(At(job, "spec", "completions"), "1");
  EXPECT_EQ(At(job, "spec", "suspend"), "false");
}

TEST_F(SmallKubernetesTest, DryRunChangesNothing) {
  CreateDeployment("bob", 1);
  const std::string path = std::string(kDeployments) + "/bob";
  const std::string before = Get(path).body;
  EXPECT_EQ(Post(std::string(kConfigMaps) + "?dryRun=All", R"({"metadata":{"name":"z"}})").status,
            201);
  EXPECT_EQ(At(Patch(path + "?dryRun=All", R"({"spec":{"replicas":7}})"), "spec", "replicas"), "7");
  EXPECT_EQ(At(Delete(path, R"({"dryRun":["All"]})"), "status"), "Success");
  EXPECT_EQ(Delete(std::string(kPods) + "?dryRun=All").status, 200);
  EXPECT_EQ(Get(path).body, before);
  EXPECT_EQ(Get(std::string(kConfigMaps) + "/z").status, 404);
  EXPECT_EQ(Count("pods"), 1u);
  EXPECT_EQ(Post(std::string(kConfigMaps) + "?dryRun=Some", R"({"metadata":{"name":"z"}})").status,
            400);
}

// --- Deleting

TEST_F(SmallKubernetesTest, DeleteAnswersStatus) {
  CreateDeployment("bob", 1);
  const std::string path = std::string(kDeployments) + "/bob";
  const std::string uid = At(Get(path), "metadata", "uid");
  const Response response =
      Delete(path, R"({"propagationPolicy":"Background","preconditions":{"uid":")" + uid + "\"}}");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(At(response, "status"), "Success");
  EXPECT_EQ(At(response, "details"),
            R"({"name":"bob","group":"apps","kind":"deployments","uid":")" + uid + "\"}");
  EXPECT_EQ(Count("pods"), 0u);
  EXPECT_EQ(Names(Get("/apis/apps/v1/replicasets")).size(), 0u);
  EXPECT_EQ(Delete(path).status, 404);
}

TEST_F(SmallKubernetesTest, DeletePreconditionsConflict) {
  CreateConfigMap("a");
  const std::string path = std::string(kConfigMaps) + "/a";
  const Response uid = Delete(path, R"({"preconditions":{"uid":"other"}})");
  EXPECT_EQ(uid.status, 409);
  EXPECT_EQ(At(uid, "reason"), "Conflict");
  EXPECT_EQ(At(uid, "details"), R"({"name":"a","kind":"ConfigMap"})");
  EXPECT_EQ(Delete(path, R"({"preconditions":{"resourceVersion":"1"}})").status, 409);
  EXPECT_EQ(Delete(path, R"({"propagationPolicy":"Sideways"})").status, 422);
  EXPECT_EQ(Get(path).status, 200);
}

TEST_F(SmallKubernetesTest, FinalizersHold) {
  CreateConfigMap("a", R"(,"finalizers":["x/y"])");
  const std::string path = std::string(kConfigMaps) + "/a";
  const Response first = Delete(path);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(At(first, "kind"), "ConfigMap");
  EXPECT_EQ(At(first, "metadata", "deletionTimestamp"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(At(first, "metadata", "deletionGracePeriodSeconds"), "0");
  clock.Advance(seconds(3));
  const Response again = Delete(path);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(At(again, "metadata", "deletionTimestamp"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(Patch(path, R"({"metadata":{"finalizers":["x/y","more/m"]}})").status, 422);
  EXPECT_EQ(Patch(path, R"({"metadata":{"finalizers":null}})").status, 200);
  EXPECT_EQ(Get(path).status, 404);
}

TEST_F(SmallKubernetesTest, ForegroundWaitsForBlockingDependents) {
  CreateConfigMap("owner");
  const std::string path = std::string(kConfigMaps) + "/owner";
  const std::string uid = At(Get(path), "metadata", "uid");
  CreateConfigMap("held",
                  OwnedBy("ConfigMap", "owner", uid, "v1", true) + R"(,"finalizers":["x/y"])");
  const Response response = Delete(path, R"({"propagationPolicy":"Foreground"})");
  EXPECT_EQ(At(response, "metadata", "finalizers"), R"(["foregroundDeletion"])");
  EXPECT_EQ(Get(path).status, 200);
  EXPECT_NE(At(Get(std::string(kConfigMaps) + "/held"), "metadata", "deletionTimestamp"), "-");
  Patch(std::string(kConfigMaps) + "/held", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(Get(path).status, 404);
}

TEST_F(SmallKubernetesTest, ForegroundOfDeploymentTakesAllDown) {
  CreateDeployment("bob", 2);
  Delete(std::string(kDeployments) + "/bob", R"({"propagationPolicy":"Foreground"})");
  EXPECT_EQ(Names(Get("/apis/apps/v1/deployments")).size(), 0u);
  EXPECT_EQ(Names(Get("/apis/apps/v1/replicasets")).size(), 0u);
  EXPECT_EQ(Count("pods"), 0u);
}

TEST_F(SmallKubernetesTest, OrphanLeavesDependents) {
  CreateDeployment("bob", 1);
  const Response response = Delete(std::string(kDeployments) + "/bob?propagationPolicy=Orphan");
  EXPECT_EQ(At(response, "metadata", "finalizers"), R"(["orphan"])");
  EXPECT_EQ(Get(std::string(kDeployments) + "/bob").status, 404);
  const Response sets = Get("/apis/apps/v1/replicasets");
  EXPECT_EQ(Names(sets).size(), 1u);
  EXPECT_EQ(sets.body.find("ownerReferences"), sets.body.rfind("ownerReferences"));
  EXPECT_EQ(Count("pods"), 1u);
}

TEST_F(SmallKubernetesTest, ControllersAndJobsOrphanUnlessTold) {
  const char* rc = R"({"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"r"},)"
                   R"("spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{}}}})";
  const std::string path = "/api/v1/namespaces/default/replicationcontrollers/r";
  kubernetes.Apply(rc);
  EXPECT_EQ(Count("pods"), 1u);
  Delete(path);
  EXPECT_EQ(Get(path).status, 404);
  EXPECT_EQ(Count("pods"), 1u);
  // The new one adopts the orphan.
  kubernetes.Apply(rc);
  EXPECT_EQ(Count("pods"), 1u);
  Delete(path, R"({"propagationPolicy":"Background"})");
  EXPECT_EQ(Count("pods"), 0u);
}

TEST_F(SmallKubernetesTest, UnscheduledPodsGoAtOnceScheduledOnesTerminate) {
  kubernetes.Apply(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{}})");
  EXPECT_EQ(At(Delete(std::string(kPods) + "/p"), "kind"), "Pod");
  EXPECT_EQ(Get(std::string(kPods) + "/p").status, 404);
  kubernetes.Apply(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"q"},"spec":{"nodeName":"n"}})");
  const std::string path = std::string(kPods) + "/q";
  EXPECT_EQ(At(Delete(path), "metadata", "deletionGracePeriodSeconds"), "30");
  EXPECT_EQ(At(Get(path), "metadata", "deletionTimestamp"), "2026-01-01T00:00:30Z");
  EXPECT_EQ(
      At(Delete(path, R"({"gracePeriodSeconds":60})"), "metadata", "deletionGracePeriodSeconds"),
      "30");
  EXPECT_EQ(
      At(Delete(path, R"({"gracePeriodSeconds":5})"), "metadata", "deletionGracePeriodSeconds"),
      "5");
  EXPECT_EQ(Delete(path, R"({"gracePeriodSeconds":0})").status, 200);
  EXPECT_EQ(Get(path).status, 404);
}

TEST_F(SmallKubernetesTest, DeletesCollections) {
  CreateConfigMap("a", R"(,"labels":{"c":"x"})");
  CreateConfigMap("b");
  const Response response = Delete(std::string(kConfigMaps) + "?labelSelector=c%3Dx");
  EXPECT_EQ(At(response, "kind"), "ConfigMapList");
  EXPECT_EQ(Names(response), std::vector<std::string>{"a"});
  EXPECT_EQ(Names(Get(kConfigMaps)), (std::vector<std::string>{"b", "kube-root-ca.crt"}));
}

TEST_F(SmallKubernetesTest, ClaimsInUseStay) {
  kubernetes.Apply(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c"},"spec":{}})");
  kubernetes.Apply(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":"n",)"
      R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]}})");
  const std::string path = "/api/v1/namespaces/default/persistentvolumeclaims/c";
  Delete(path);
  EXPECT_NE(At(Get(path), "metadata", "deletionTimestamp"), "-");
  Delete(std::string(kPods) + "/p", R"({"gracePeriodSeconds":0})");
  EXPECT_EQ(Get(path).status, 404);
}

// --- Garbage collector

TEST_F(SmallKubernetesTest, DependentsGoWithTheirLastOwner) {
  CreateConfigMap("a");
  CreateConfigMap("b");
  const std::string a = At(Get(std::string(kConfigMaps) + "/a"), "metadata", "uid");
  const std::string b = At(Get(std::string(kConfigMaps) + "/b"), "metadata", "uid");
  CreateConfigMap(
      "two", R"(,"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":")" + a +
                 R"("},{"apiVersion":"v1","kind":"ConfigMap","name":"b","uid":")" + b + "\"}]");
  const std::string path = std::string(kConfigMaps) + "/two";
  Delete(std::string(kConfigMaps) + "/a");
  EXPECT_EQ(At(Get(path), "metadata", "ownerReferences"),
            R"([{"apiVersion":"v1","kind":"ConfigMap","name":"b","uid":")" + b + "\"}]");
  Delete(std::string(kConfigMaps) + "/b");
  EXPECT_EQ(Get(path).status, 404);
}

TEST_F(SmallKubernetesTest, OwnerWithAnotherUidIsGoneAnUnservedKindIsNot) {
  CreateConfigMap("a");
  CreateConfigMap("wrong", OwnedBy("ConfigMap", "a", "another-uid"));
  CreateConfigMap("foreign", OwnedBy("RayCluster", "a", "some-uid", "ray.io/v1"));
  EXPECT_EQ(Get(std::string(kConfigMaps) + "/wrong").status, 404);
  EXPECT_EQ(Get(std::string(kConfigMaps) + "/foreign").status, 200);
}

// --- Scale

TEST_F(SmallKubernetesTest, ScaleReadsAndWritesReplicas) {
  CreateDeployment("bob", 2);
  const std::string path = std::string(kDeployments) + "/bob/scale";
  const Response scale = Get(path);
  EXPECT_EQ(At(scale, "kind"), "Scale");
  EXPECT_EQ(At(scale, "apiVersion"), "autoscaling/v1");
  EXPECT_EQ(At(scale, "spec"), R"({"replicas":2})");
  EXPECT_EQ(At(scale, "status"), R"({"replicas":2,"selector":"app=bob"})");
  EXPECT_EQ(At(scale, "metadata", "uid"),
            At(Get(std::string(kDeployments) + "/bob"), "metadata", "uid"));
  EXPECT_EQ(At(Patch(path, R"({"spec":{"replicas":0}})"), "spec"), "{}");
  EXPECT_EQ(Count("pods"), 0u);
  EXPECT_EQ(At(Get(std::string(kDeployments) + "/bob"), "spec", "replicas"), "0");
  EXPECT_EQ(
      At(kubernetes.Admin("PUT", path, R"({"metadata":{"name":"bob"},"spec":{"replicas":3}})"),
         "spec"),
      R"({"replicas":3})");
  EXPECT_EQ(
      kubernetes.Admin("PUT", path, R"({"metadata":{"resourceVersion":"1"},"spec":{}})").status,
      409);
  EXPECT_EQ(Patch(path, R"({"spec":{"replicas":-1}})").status, 422);
}

// --- Controllers

TEST_F(SmallKubernetesTest, DeploymentMakesReplicaSetAndPods) {
  CreateDeployment("bob", 2);
  const Response sets = Get("/apis/apps/v1/replicasets");
  ASSERT_EQ(Names(sets).size(), 1u);
  const Response set = Get("/apis/apps/v1/namespaces/default/replicasets/" + Names(sets)[0]);
  EXPECT_EQ(At(set, "metadata", "annotations", "a"), "1");
  const std::string hash = At(set, "metadata", "labels", "pod-template-hash");
  EXPECT_EQ(Names(sets)[0], "bob-" + hash);
  EXPECT_EQ(At(set, "spec", "selector", "matchLabels", "pod-template-hash"), hash);
  const Response pods =
      Get(std::string(kPods) + "?labelSelector=app%3Dbob,pod-template-hash%3D" + hash);
  ASSERT_EQ(Names(pods).size(), 2u);
  const Response pod = Get(std::string(kPods) + "/" + Names(pods)[0]);
  EXPECT_NE(
      At(pod, "metadata", "ownerReferences").find(R"("controller":true,"blockOwnerDeletion":true)"),
      std::string::npos);
  EXPECT_EQ(At(pod, "status", "phase"), "Pending");
  EXPECT_EQ(At(Get(std::string(kDeployments) + "/bob"), "status", "replicas"), "2");
}

TEST_F(SmallKubernetesTest, AnnotationsTravelAndStay) {
  CreateDeployment("bob", 1);
  const std::string path = std::string(kDeployments) + "/bob";
  const std::string version =
      At(Patch(path, R"({"metadata":{"annotations":{"m":"1"}}})"), "metadata", "resourceVersion");
  // The controller has written its status since.
  EXPECT_NE(At(Get(path), "metadata", "resourceVersion"), version);
  Patch(path, R"({"metadata":{"annotations":{"m":null}}})");
  const std::string set = Names(Get("/apis/apps/v1/replicasets"))[0];
  EXPECT_EQ(At(Get("/apis/apps/v1/namespaces/default/replicasets/" + set), "metadata",
               "annotations", "m"),
            "1");
  EXPECT_EQ(Count("pods"), 1u);
}

TEST_F(SmallKubernetesTest, NewTemplateRollsOut) {
  CreateDeployment("bob", 1);
  const std::string pod = Names(Get(kPods))[0];
  Patch(std::string(kDeployments) + "/bob", R"({"spec":{"template":{"spec":{"hostname":"x"}}}})");
  EXPECT_EQ(Names(Get("/apis/apps/v1/replicasets")).size(), 2u);
  // The old pod stays until the new one is ready.
  EXPECT_EQ(Count("pods"), 2u);
  kubernetes.SetPodsRun(true);
  EXPECT_EQ(Count("pods"), 1u);
  EXPECT_NE(Names(Get(kPods))[0], pod);
}

TEST_F(SmallKubernetesTest, NewTemplateOfARecreatedDeploymentDoesNotWait) {
  CreateDeployment("bob", 1);
  const std::string pod = Names(Get(kPods))[0];
  Patch(std::string(kDeployments) + "/bob", R"({"spec":{"strategy":{"type":"Recreate"},
      "template":{"spec":{"hostname":"x"}}}})");
  EXPECT_EQ(Count("pods"), 1u);
  EXPECT_NE(Names(Get(kPods))[0], pod);
}

TEST_F(SmallKubernetesTest, EvictionDeletesAPod) {
  CreateDeployment("bob", 0);
  kubernetes.Apply(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{}})");
  const char* body = R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}})";
  const std::string path = std::string(kPods) + "/p/eviction";
  EXPECT_EQ(kubernetes.Admin("POST", path, body).status, 201);
  EXPECT_EQ(Count("pods"), 0u);
  EXPECT_EQ(kubernetes.Admin("POST", path, body).status, 404);
}

TEST_F(SmallKubernetesTest, StatefulSetMakesPodsInOrderAndClaims) {
  const char* set =
      R"({"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"s"},"spec":{"replicas":2,)"
      R"("persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"},)"
      R"("selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b","c":"d"}},"spec":{}},)"
      R"("volumeClaimTemplates":[{"metadata":{"name":"v"},"spec":{}}]}})";
  kubernetes.Apply(set);
  // The second waits until the first is ready, which nothing makes it.
  EXPECT_EQ(Names(Get(kPods)), std::vector<std::string>{"s-0"});
  kubernetes.SetPodsRun(true);
  EXPECT_EQ(Names(Get(kPods)), (std::vector<std::string>{"s-0", "s-1"}));
  const Response claim = Get("/api/v1/namespaces/default/persistentvolumeclaims/v-s-0");
  EXPECT_EQ(At(claim, "metadata", "labels"), R"({"a":"b"})");
  Delete("/apis/apps/v1/namespaces/default/statefulsets/s");
  EXPECT_EQ(Count("pods"), 0u);
  EXPECT_EQ(Count("persistentvolumeclaims"), 0u);
}

TEST_F(SmallKubernetesTest, JobRunsUnlessSuspendedAndCompletes) {
  kubernetes.Apply(
      R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"suspend":true,"template":{"spec":{}}}})");
  const std::string path = "/apis/batch/v1/namespaces/default/jobs/j";
  EXPECT_EQ(Count("pods"), 0u);
  EXPECT_EQ(At(Get(path), "status", "conditions"), R"([{"type":"Suspended","status":"True"}])");
  Patch(path, R"({"spec":{"suspend":false}})");
  ASSERT_EQ(Count("pods"), 1u);
  EXPECT_EQ(At(Get(path), "status", "active"), "1");
  Patch(std::string(kPods) + "/" + Names(Get(kPods))[0] + "/status",
        R"({"status":{"phase":"Succeeded"}})");
  EXPECT_NE(At(Get(path), "status", "conditions").find(R"({"type":"Complete","status":"True"})"),
            std::string::npos);
  EXPECT_EQ(Count("pods"), 1u);
}

TEST_F(SmallKubernetesTest, EndpointsFollowServices) {
  kubernetes.Apply(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s","labels":{"c":"x"}},"spec":{"selector":{"a":"b"}}})");
  const Response endpoints = Get("/api/v1/namespaces/default/endpoints/s");
  EXPECT_EQ(At(endpoints, "metadata", "labels", "c"), "x");
  EXPECT_EQ(At(endpoints, "metadata", "ownerReferences"), "-");
  EXPECT_EQ(At(Delete("/api/v1/namespaces/default/services/s"), "kind"), "Service");
  EXPECT_EQ(Get("/api/v1/namespaces/default/endpoints/s").status, 404);
}

TEST_F(SmallKubernetesTest, PodsRunWhenTold) {
  kubernetes.SetPodsRun(true);
  CreateDeployment("bob", 1);
  const Response pod = Get(std::string(kPods) + "/" + Names(Get(kPods))[0]);
  EXPECT_EQ(At(pod, "status", "phase"), "Running");
  EXPECT_EQ(At(Get(std::string(kDeployments) + "/bob"), "status", "availableReplicas"), "1");
  Delete(std::string(kDeployments) + "/bob");
  EXPECT_EQ(Count("pods"), 0u);
}

TEST_F(SmallKubernetesTest, ControllersCanBeHeldStill) {
  kubernetes.settle_after_writes = false;
  CreateDeployment("bob", 1);
  EXPECT_EQ(Count("pods"), 0u);
  kubernetes.Settle();
  EXPECT_EQ(Count("pods"), 1u);
  Delete(std::string(kDeployments) + "/bob");
  EXPECT_EQ(Count("pods"), 1u);
}

TEST_F(SmallKubernetesTest, NamespacesFillAndEmpty) {
  Post("/api/v1/namespaces", R"({"metadata":{"name":"x"}})");
  EXPECT_EQ(At(Get("/api/v1/namespaces/x"), "status", "phase"), "Active");
  EXPECT_EQ(Get("/api/v1/namespaces/x/serviceaccounts/default").status, 200);
  EXPECT_EQ(Get("/api/v1/namespaces/x/configmaps/kube-root-ca.crt").status, 200);
  Post("/api/v1/namespaces/x/configmaps", R"({"metadata":{"name":"held","finalizers":["x/y"]}})");
  const Response response = Delete("/api/v1/namespaces/x");
  EXPECT_EQ(At(response, "status", "phase"), "Terminating");
  EXPECT_EQ(Names(Get("/api/v1/namespaces/x/configmaps")), std::vector<std::string>{"held"});
  const Response refused =
      Post("/api/v1/namespaces/x/configmaps", R"({"metadata":{"name":"new"}})");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(At(refused, "message"),
            "configmaps \"new\" is forbidden: unable to create new content in namespace x because "
            "it is being terminated");
  EXPECT_NE(At(refused, "details", "causes").find("NamespaceTerminating"), std::string::npos);
  Patch("/api/v1/namespaces/x/configmaps/held", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(Get("/api/v1/namespaces/x").status, 404);
  EXPECT_EQ(
      At(Post("/api/v1/namespaces/x/configmaps", R"({"metadata":{"name":"new"}})"), "message"),
      "namespaces \"x\" not found");
}

// --- Custom kinds

TEST_F(SmallKubernetesTest, CustomKindsComeAndGo) {
  Resource rays;
  rays.group = "ray.io";
  rays.version = "v1";
  rays.plural = "rayclusters";
  rays.kind = "RayCluster";
  kubernetes.AddKind(rays);
  const std::string path = "/apis/ray.io/v1/namespaces/default/rayclusters";
  EXPECT_EQ(
      kubernetes
          .Apply(
              R"({"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":"r"},"spec":{"a":1}})")
          .status,
      201);
  EXPECT_NE(Get(path).body.find(R"("items":[{"kind":"RayCluster","apiVersion":"ray.io/v1",)"),
            std::string::npos);
  // Without a scale subresource: the very answer of a missing object.
  EXPECT_EQ(At(Get(path + "/r/scale"), "details"),
            R"({"name":"r","group":"ray.io","kind":"rayclusters"})");
  EXPECT_EQ(At(Patch(path + "/r", R"({"spec":{"a":2}})"), "metadata", "generation"), "2");
  EXPECT_EQ(
      kubernetes.Admin("PATCH", path + "/r", "{}", "application/strategic-merge-patch+json").status,
      415);
  EXPECT_NE(Get("/apis/ray.io/v1").body.find("create"), std::string::npos);
  kubernetes.TerminateKind("ray.io", "rayclusters");
  EXPECT_EQ(Get("/apis/ray.io/v1").body.find("create"), std::string::npos);
  EXPECT_EQ(Post(path, R"({"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":"q"}})")
                .status,
            403);
  EXPECT_EQ(Get(path).status, 200);
  kubernetes.RemoveKind("ray.io", "rayclusters");
  EXPECT_EQ(Get(path).body, "404 page not found\n");
}

constexpr char kDefinitions[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr char kWidgets[] = "/apis/example.com/v1/namespaces/default/widgets";

// Served as v1, stored, and v1beta1; widgets have sizes, gadgets nothing.
std::string DefinitionOf(const std::string& plural, const std::string& kind,
                         const std::string& subresources) {
  const std::string schema =
      R"("schema":{"openAPIV3Schema":{"type":"object","properties":{)"
      R"("spec":{"type":"object","properties":{"size":{"type":"integer"},)"
      R"("color":{"type":"string","default":"red"},)"
      R"("open":{"type":"object","x-kubernetes-preserve-unknown-fields":true},)"
      R"("list":{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"}}}}}},)"
      R"("status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}})";
  return R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",)"
         R"("metadata":{"name":")" +
         plural + R"(.example.com"},"spec":{"group":"example.com","scope":"Namespaced",)" +
         R"("names":{"plural":")" + plural + R"(","kind":")" + kind +
         R"(","shortNames":["x","y"]},)" +
         R"("versions":[{"name":"v1beta1","served":true,"storage":false,)" + schema + "," +
         subresources + R"(},{"name":"v1","served":true,"storage":true,)" + schema + "," +
         subresources + "}]}}";
}

std::string WidgetsDefinition() {
  return DefinitionOf("widgets", "Widget",
                      R"("subresources":{"status":{},"scale":{"specReplicasPath":".spec.size",)"
                      R"("statusReplicasPath":".status.size","labelSelectorPath":".status.all"}})");
}

std::string Widget(const std::string& name, const std::string& rest = "") {
  return R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":")" + name + "\"" +
         rest + "}";
}

TEST_F(SmallKubernetesTest, DefinitionsMakeKinds) {
  EXPECT_EQ(Get(kWidgets).body, "404 page not found\n");
  EXPECT_EQ(Post(kDefinitions, WidgetsDefinition()).status, 201);
  const Response definition = Get(std::string(kDefinitions) + "/widgets.example.com");
  EXPECT_EQ(At(definition, "status", "acceptedNames"),
            R"({"plural":"widgets","kind":"Widget","shortNames":["x","y"],"singular":"widget",)"
            R"("listKind":"WidgetList"})");
  EXPECT_EQ(At(definition, "status", "storedVersions"), R"(["v1"])");
  EXPECT_NE(At(definition, "status", "conditions").find(R"("type":"Established","status":"True")"),
            std::string::npos);
  EXPECT_EQ(At(Get("/apis/example.com"), "versions"),
            R"([{"groupVersion":"example.com/v1","version":"v1"},)"
            R"({"groupVersion":"example.com/v1beta1","version":"v1beta1"}])");
  const std::string entries =
      R"([{"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget","verbs":)"
      R"(["delete","deletecollection","get","list","patch","create","update","watch"],)"
      R"("shortNames":["x","y"]},{"name":"widgets/status","singularName":"","namespaced":true,)"
      R"("kind":"Widget","verbs":["get","patch","update"]},{"name":"widgets/scale",)"
      R"("singularName":"","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale",)"
      R"("verbs":["get","patch","update"]}])";
  EXPECT_EQ(At(Get("/apis/example.com/v1"), "resources"), entries);
  EXPECT_EQ(At(Get("/apis/example.com/v1beta1"), "resources"), entries);
  EXPECT_EQ(Get("/apis/example.com/v2").body, "404 page not found\n");
  EXPECT_EQ(Get("/apis/example.com/v1/namespaces/default/gadgets").body, "404 page not found\n");
}

TEST_F(SmallKubernetesTest, CustomObjectsAreTheSameInEveryVersion) {
  Post(kDefinitions, WidgetsDefinition());
  EXPECT_EQ(Post(kWidgets, Widget("a", R"(},"spec":{"size":1})")).status, 201);
  const std::string beta = "/apis/example.com/v1beta1/namespaces/default/widgets";
  EXPECT_EQ(At(Get(beta), "kind"), "WidgetList");
  EXPECT_EQ(At(Get(beta + "/a"), "apiVersion"), "example.com/v1beta1");
  EXPECT_EQ(At(Get(beta + "/a"), "metadata"), At(Get(std::string(kWidgets) + "/a"), "metadata"));
  EXPECT_EQ(At(Delete(beta + "/a"), "status"), "Success");
  EXPECT_EQ(Get(std::string(kWidgets) + "/a").status, 404);
}

TEST_F(SmallKubernetesTest, CustomObjectsHoldWhatTheirSchemaHas) {
  Post(kDefinitions, WidgetsDefinition());
  const Response made =
      Post(kWidgets,
           Widget("a", R"(},"junk":1,"status":{"size":9},"spec":{"size":1,"junk":1,"open":{"b":2},)"
                       R"("list":[{"a":1,"b":2}]})"));
  EXPECT_EQ(At(made, "spec"), R"({"size":1,"open":{"b":2},"list":[{"a":1}],"color":"red"})");
  EXPECT_EQ(At(made, "junk"), "-");
  EXPECT_EQ(At(made, "status"), "-");
  const std::string path = std::string(kWidgets) + "/a";
  const Response status =
      Patch(path + "/status", R"({"spec":{"size":5},"status":{"size":2,"b":[]}})");
  EXPECT_EQ(At(status, "status"), R"({"size":2,"b":[]})");
  EXPECT_EQ(At(status, "spec", "size"), "1");
  EXPECT_EQ(At(status, "metadata", "generation"), "1");
  EXPECT_EQ(At(Patch(path, R"({"spec":{"junk":1}})"), "metadata", "generation"), "1");
}

TEST_F(SmallKubernetesTest, ScaleFollowsTheDefinedPaths) {
  Post(kDefinitions, WidgetsDefinition());
  Post(kWidgets, Widget("a", R"(},"spec":{"size":3})"));
  Post(kWidgets, Widget("b", "}"));
  const std::string scale = std::string(kWidgets) + "/a/scale";
  EXPECT_EQ(At(Get(scale), "spec"), R"({"replicas":3})");
  EXPECT_EQ(At(Get(scale), "status"), R"({"replicas":0})");
  Patch(std::string(kWidgets) + "/a/status", R"({"status":{"size":2,"all":"a=b"}})");
  EXPECT_EQ(At(Get(scale), "status"), R"({"replicas":2,"selector":"a=b"})");
  EXPECT_EQ(At(Patch(scale, R"({"spec":{"replicas":0}})"), "spec"), "{}");
  const Response negative = Patch(scale, R"({"spec":{"replicas":-1}})");
  EXPECT_EQ(negative.status, 422);
  EXPECT_EQ(At(negative, "message"),
            "Widget.example.com \"a\" is invalid: .spec.size: Invalid value: -1: should be a "
            "non-negative integer");
  const Response unset = Get(std::string(kWidgets) + "/b/scale");
  EXPECT_EQ(unset.status, 500);
  EXPECT_EQ(At(unset, "message"),
            "Internal error occurred: the spec replicas field \".spec.size\" does not exist");
  EXPECT_EQ(At(Patch(std::string(kWidgets) + "/b/scale", R"({"spec":{"replicas":4}})"), "spec"),
            R"({"replicas":4})");
  EXPECT_EQ(At(Get(std::string(kWidgets) + "/b"), "spec", "size"), "4");
}

TEST_F(SmallKubernetesTest, WithoutASubresourceTheObjectItselfSeemsMissing) {
  Post(kDefinitions, DefinitionOf("gadgets", "Gadget", R"("subresources":{})"));
  const std::string path = "/apis/example.com/v1/namespaces/default/gadgets";
  const Response made = Post(path, R"({"apiVersion":"example.com/v1","kind":"Gadget",)"
                                   R"("metadata":{"name":"a"},"status":{"phase":"b"}})");
  EXPECT_EQ(At(made, "status"), R"({"phase":"b"})");
  for (const char* sub : {"/scale", "/status"}) {
    EXPECT_EQ(At(Get(path + "/a" + sub), "message"), "gadgets.example.com \"a\" not found");
    EXPECT_EQ(At(Patch(path + "/a" + sub, "{}"), "details"),
              R"({"name":"a","group":"example.com","kind":"gadgets"})");
  }
  EXPECT_EQ(At(Patch(path + "/a", R"({"status":{"phase":"c"}})"), "metadata", "generation"), "2");
}

TEST_F(SmallKubernetesTest, BadDefinitionsAreRefused) {
  std::string other = WidgetsDefinition();
  other.replace(other.find("widgets.example.com"), 7, "wodgets");
  EXPECT_EQ(At(Post(kDefinitions, other), "message"),
            "CustomResourceDefinition.apiextensions.k8s.io \"wodgets.example.com\" is invalid: "
            "metadata.name: Invalid value: \"wodgets.example.com\": must be "
            "spec.names.plural+\".\"+spec.group");
  EXPECT_EQ(Post(kDefinitions, R"({"metadata":{"name":"a"},"spec":{}})").status, 422);
  Post(kDefinitions, WidgetsDefinition());
  EXPECT_EQ(At(Post(kDefinitions, WidgetsDefinition()), "reason"), "AlreadyExists");
}

TEST_F(SmallKubernetesTest, ADeletedDefinitionTakesItsObjectsAlong) {
  Post(kDefinitions, WidgetsDefinition());
  Post(kWidgets, Widget("a", "}"));
  const std::string path = std::string(kDefinitions) + "/widgets.example.com";
  const Response deleted = Delete(path);
  EXPECT_EQ(At(deleted, "kind"), "CustomResourceDefinition");
  EXPECT_NE(At(deleted, "status", "conditions").find("InstanceDeletionPending"), std::string::npos);
  EXPECT_EQ(Get(kWidgets).body, "404 page not found\n");
  EXPECT_EQ(Get("/apis/example.com").status, 404);
  EXPECT_EQ(Get(path).status, 404);
  Post(kDefinitions, WidgetsDefinition());
  EXPECT_TRUE(Names(Get(kWidgets)).empty());
  EXPECT_EQ(Post(kWidgets, Widget("a", "}")).status, 201);
}

TEST_F(SmallKubernetesTest, ADeletedDefinitionWaitsForHeldObjects) {
  Post(kDefinitions, WidgetsDefinition());
  Post(kWidgets, Widget("free", "}"));
  Post(kWidgets, Widget("held", R"(,"finalizers":["x/y"]})"));
  const std::string path = std::string(kDefinitions) + "/widgets.example.com";
  Delete(path);
  EXPECT_EQ(Names(Get(kWidgets)), std::vector<std::string>{"held"});
  EXPECT_NE(At(Get(std::string(kWidgets) + "/held"), "metadata", "deletionTimestamp"), "-");
  EXPECT_NE(Get("/apis/example.com/v1")
                .body.find(R"("verbs":["delete","deletecollection","get","list","watch"])"),
            std::string::npos);
  EXPECT_EQ(At(Post(kWidgets, Widget("new", "}")), "message"),
            "widgets.example.com \"new\" is forbidden: create not allowed while custom resource "
            "definition is terminating");
  EXPECT_EQ(At(Post(kDefinitions, WidgetsDefinition()), "message"),
            "object is being deleted: customresourcedefinitions.apiextensions.k8s.io "
            "\"widgets.example.com\" already exists");
  // Then an empty list, for a while.
  Patch(std::string(kWidgets) + "/held", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(Get(kWidgets).status, 200);
  EXPECT_TRUE(Names(Get(kWidgets)).empty());
  EXPECT_EQ(At(Get(std::string(kWidgets) + "/held"), "reason"), "NotFound");
  EXPECT_EQ(At(Get(path), "metadata", "finalizers"),
            R"(["customresourcecleanup.apiextensions.k8s.io"])");
  clock.Advance(Definitions::kLinger);
  EXPECT_EQ(Get(kWidgets).body, "404 page not found\n");
  EXPECT_EQ(Get(path).status, 404);
}

TEST_F(SmallKubernetesTest, ADeletedDefinitionMayLingerLonger) {
  kubernetes.SetDefinitionLinger(seconds(10));
  Post(kDefinitions, WidgetsDefinition());
  Post(kWidgets, Widget("held", R"(,"finalizers":["x/y"]})"));
  Delete(std::string(kDefinitions) + "/widgets.example.com");
  Patch(std::string(kWidgets) + "/held", R"({"metadata":{"finalizers":null}})");
  clock.Advance(seconds(9));
  EXPECT_EQ(Get(kWidgets).status, 200);
  clock.Advance(seconds(1));
  EXPECT_EQ(Get(kWidgets).status, 404);
}

TEST_F(SmallKubernetesTest, AggregatedDiscovery) {
  constexpr std::string_view kAccept =
      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const auto discover = [&](std::string_view path, const std::string& accept) {
    return As(SmallKubernetes::kAdminToken, "GET", path, {}, accept);
  };
  Post(kDefinitions, WidgetsDefinition());
  const Response groups = discover("/apis", std::string(kAccept) + ",application/json");
  EXPECT_EQ(groups.content_type, kAccept);
  EXPECT_EQ(At(groups, "kind"), "APIGroupDiscoveryList");
  EXPECT_EQ(At(groups, "apiVersion"), "apidiscovery.k8s.io/v2");
  EXPECT_NE(
      groups.body.find(
          R"({"metadata":{"name":"policy"},"versions":[{"version":"v1","resources":[)"
          R"({"resource":"poddisruptionbudgets","responseKind":{"group":"","version":"",)"
          R"("kind":"PodDisruptionBudget"},"scope":"Namespaced",)"
          R"("singularResource":"poddisruptionbudget","verbs":["create","delete",)"
          R"("deletecollection","get","list","patch","update","watch"],"shortNames":["pdb"],)"
          R"("subresources":[{"subresource":"status","responseKind":{"group":"","version":"",)"
          R"("kind":"PodDisruptionBudget"},"verbs":["get","patch","update"]}]}],)"
          R"("freshness":"Current"}]})"),
      std::string::npos)
      << groups.body;
  EXPECT_NE(groups.body.find(
                R"({"metadata":{"name":"example.com"},"versions":[{"version":"v1","resources":[)"
                R"({"resource":"widgets","responseKind":{"group":"example.com","version":"v1",)"
                R"("kind":"Widget"},"scope":"Namespaced","singularResource":"widget","verbs":)"
                R"(["delete","deletecollection","get","list","patch","create","update","watch"],)"
                R"("shortNames":["x","y"],"subresources":[{"subresource":"status","responseKind":)"
                R"({"group":"example.com","version":"v1","kind":"Widget"},"verbs":)"
                R"(["get","patch","update"]},{"subresource":"scale","responseKind":)"
                R"({"group":"autoscaling","version":"v1","kind":"Scale"},"verbs":)"
                R"(["get","patch","update"]}]}],"freshness":"Current"},{"version":"v1beta1",)"),
            std::string::npos)
      << groups.body;
  const Response core = discover("/api", std::string(kAccept));
  EXPECT_NE(core.body.find(R"("items":[{"metadata":{},"versions":[{"version":"v1",)"),
            std::string::npos);
  EXPECT_NE(core.body.find(R"("resource":"pods","responseKind":{"group":"","version":"",)"),
            std::string::npos);
  EXPECT_EQ(discover("/apis/apps", std::string(kAccept)).status, 406);
  EXPECT_EQ(At(discover("/apis", "application/json"), "kind"), "APIGroupList");
}

TEST_F(SmallKubernetesTest, Discovery) {
  EXPECT_EQ(At(Get("/version"), "gitVersion"), "v1.36.3");
  EXPECT_EQ(At(Get("/api"), "versions"), R"(["v1"])");
  EXPECT_NE(Get("/apis").body.find(R"("name":"apps")"), std::string::npos);
  EXPECT_NE(Get("/api/v1").body.find(R"({"name":"replicationcontrollers/scale")"),
            std::string::npos);
  EXPECT_EQ(At(Get("/apis/batch"), "preferredVersion", "groupVersion"), "batch/v1");
  EXPECT_EQ(Get("/openapi/v2").status, 404);
}

// --- Authorization

TEST_F(SmallKubernetesTest, RolesGrantByNameAndSubresource) {
  const std::string token = kubernetes.ServiceAccountToken("default", "watcher");
  Grant(
      R"([{"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["bob"],"verbs":["get","list"]},)"
      R"({"apiGroups":["apps"],"resources":["deployments/scale"],"verbs":["get"]}])");
  CreateDeployment("bob", 1);
  const std::string path = kDeployments;
  EXPECT_EQ(As(token, "GET", path + "/bob").status, 200);
  EXPECT_EQ(As(token, "GET", path + "/eve").status, 403);
  EXPECT_EQ(As(token, "GET", path).status, 403);
  EXPECT_EQ(As(token, "GET", path + "?fieldSelector=metadata.name%3Dbob").status, 200);
  EXPECT_EQ(As(token, "GET", path + "?fieldSelector=metadata.name%3Deve").status, 403);
  EXPECT_EQ(As(token, "GET", path + "/bob/scale").status, 200);
  EXPECT_EQ(As(token, "DELETE", path + "/bob").status, 403);
  EXPECT_EQ(As(token, "GET", "/apis/apps/v1/namespaces/other/deployments/bob").status, 403);
  EXPECT_EQ(As(token, "GET", "/apis").status, 200);
}

TEST_F(SmallKubernetesTest, ClusterRolesGrantEverywhere) {
  const std::string token = kubernetes.ServiceAccountToken("default", "watcher");
  kubernetes.Apply(
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"r"},)"
      R"("rules":[{"apiGroups":[""],"resources":["*"],"verbs":["get"]}]})");
  kubernetes.Apply(
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"r"},)"
      R"("roleRef":{"kind":"ClusterRole","name":"r"},"subjects":[{"kind":"Group","name":"system:serviceaccounts:default"}]})");
  EXPECT_EQ(As(token, "GET", "/api/v1/namespaces/kube-system").status, 200);
  EXPECT_EQ(As(token, "GET", "/api/v1/nodes/n").status, 404);
  EXPECT_EQ(As(token, "GET", "/api/v1/nodes").status, 403);
}

TEST_F(SmallKubernetesTest, AccessReviewsAnswerByTheSameRules) {
  const std::string token = kubernetes.ServiceAccountToken("default", "watcher");
  Grant(R"([{"apiGroups":[""],"resources":["pods"],"verbs":["delete"]}])");
  const auto ask = [&](const std::string& resource) {
    return As(
        token, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        R"({"spec":{"resourceAttributes":{"namespace":"default","verb":"delete","resource":")" +
            resource + "\"}}}");
  };
  EXPECT_EQ(ask("pods").status, 201);
  EXPECT_EQ(At(ask("pods"), "status", "allowed"), "true");
  EXPECT_EQ(At(ask("secrets"), "status", "allowed"), "false");
}

TEST_F(SmallKubernetesTest, IssuesTokens) {
  const Response response = Post("/api/v1/namespaces/default/serviceaccounts/default/token", "{}");
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(At(response, "status", "expirationTimestamp"), "2026-01-01T01:00:00Z");
  EXPECT_NE(At(As(At(response, "status", "token"), "GET", kPods), "message")
                .find("system:serviceaccount:default:default"),
            std::string::npos);
  EXPECT_EQ(Post("/api/v1/namespaces/default/serviceaccounts/no/token", "{}").status, 404);
  kubernetes.GetTokens().Revoke(At(response, "status", "token"));
  EXPECT_EQ(As(At(response, "status", "token"), "GET", kPods).status, 401);
}

// --- Faults, hooks, log, transport

class LocalTransportTest : public SmallKubernetesTest {
 protected:
  HttpResult Perform(HttpMethod method, const std::string& target, std::stop_token stop = {}) {
    HttpRequest request;
    request.method = method;
    request.target = target;
    request.bearer_token = "admin";
    request.timeout = seconds(10);
    return transport.Perform(std::span(&request, 1), 1, stop)[0];
  }
  static TransportError::Kind KindOf(const HttpResult& result) { return result.error().kind; }

  LocalTransport transport{kubernetes, clock};
};

TEST_F(LocalTransportTest, AnswersAndLogs) {
  const HttpResult result = Perform(HttpMethod::kGet, "/api/v1/namespaces/default");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  EXPECT_EQ(result->content_type, "application/json");
  EXPECT_EQ(result->date, clock.WallNow());
  ASSERT_EQ(kubernetes.Log().size(), 1u);
  EXPECT_EQ(kubernetes.Log()[0].user, "admin");
  EXPECT_EQ(kubernetes.Log()[0].status, 200);
  EXPECT_EQ(kubernetes.Count("GET", "/namespaces/"), 1u);
  EXPECT_EQ(kubernetes.Count("POST"), 0u);
}

TEST_F(LocalTransportTest, AnswersFromFaultsInTheirOrder) {
  Fault fault;
  fault.method = "GET";
  fault.contains = "/configmaps";
  fault.skip = 1;
  fault.times = 2;
  fault.response = {429, "slow down", "text/plain", 3};
  kubernetes.GetFaults().Add(fault);
  std::vector<int> statuses;
  for (int i = 0; i < 4; ++i) statuses.push_back(Perform(HttpMethod::kGet, kConfigMaps)->status);
  EXPECT_EQ(statuses, (std::vector<int>{200, 429, 429, 200}));
  kubernetes.GetFaults().Add(fault);
  kubernetes.GetFaults().Clear();
  EXPECT_EQ(kubernetes.GetFaults().Pending(), 0u);
  fault.skip = 0;
  kubernetes.GetFaults().Add(fault);
  EXPECT_EQ(Perform(HttpMethod::kGet, kConfigMaps)->retry_after, Duration(3000));
}

TEST_F(LocalTransportTest, DropsBeforeOrAfterApplying) {
  CreateConfigMap("a");
  const std::string path = std::string(kConfigMaps) + "/a";
  Fault fault;
  fault.method = "DELETE";
  fault.action = Fault::Action::kDrop;
  kubernetes.GetFaults().Add(fault);
  EXPECT_EQ(KindOf(Perform(HttpMethod::kDelete, path)), TransportError::Kind::kConnect);
  EXPECT_EQ(Get(path).status, 200);
  fault.apply = true;
  kubernetes.GetFaults().Add(fault);
  EXPECT_EQ(KindOf(Perform(HttpMethod::kDelete, path)), TransportError::Kind::kConnect);
  EXPECT_EQ(Get(path).status, 404);
  EXPECT_EQ(kubernetes.Log().back().status, 0);
}

TEST_F(LocalTransportTest, HangsAndDelaysTakeVirtualTime) {
  Fault fault;
  fault.action = Fault::Action::kHang;
  kubernetes.GetFaults().Add(fault);
  const MonotonicTime begin = clock.Now();
  EXPECT_EQ(KindOf(Perform(HttpMethod::kGet, kPods)), TransportError::Kind::kTimeout);
  EXPECT_EQ(clock.Now() - begin, seconds(10));
  fault.action = Fault::Action::kPass;
  fault.delay = seconds(2);
  fault.delay_after = seconds(3);
  kubernetes.GetFaults().Add(fault);
  EXPECT_EQ(Perform(HttpMethod::kGet, kPods)->elapsed, seconds(5));
  fault.delay_after = seconds(9);
  kubernetes.GetFaults().Add(fault);
  EXPECT_EQ(KindOf(Perform(HttpMethod::kGet, kPods)), TransportError::Kind::kTimeout);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(KindOf(Perform(HttpMethod::kGet, kPods, stop.get_token())),
            TransportError::Kind::kStopped);
}

TEST_F(LocalTransportTest, TruncatesAndLimits) {
  Fault fault;
  fault.action = Fault::Action::kTruncate;
  kubernetes.GetFaults().Add(fault);
  EXPECT_EQ(KindOf(Perform(HttpMethod::kGet, kPods)), TransportError::Kind::kConnect);
  HttpRequest request;
  request.target = kConfigMaps;
  request.bearer_token = "admin";
  request.body_limit = 10;
  EXPECT_EQ(KindOf(transport.Perform(std::span(&request, 1), 1, {})[0]),
            TransportError::Kind::kTooLarge);
}

TEST_F(LocalTransportTest, HooksMayChangeTheWorld) {
  kubernetes.on_request = [&](const Request& request, const User&) {
    if (request.method == "GET") CreateConfigMap("made");
  };
  kubernetes.on_answer = [](const Request&, const User& user, Response& response) {
    response.body += user.name;
  };
  const HttpResult result = Perform(HttpMethod::kGet, std::string(kConfigMaps) + "/made");
  EXPECT_EQ(result->status, 200);
  EXPECT_TRUE(result->body.ends_with("admin"));
}

// --- Watches

TEST_F(SmallKubernetesTest, WatchTellsWhatChanged) {
  const std::string path = std::string(kConfigMaps) + "?watch=1&fieldSelector=metadata.name%3Da";
  const std::string version = At(Get(kConfigMaps), "metadata", "resourceVersion");
  std::optional<Watch> watch;
  const std::string target = path + "&resourceVersion=" + version;
  kubernetes.Serve({"GET", target, "admin"}, nullptr, &watch);
  ASSERT_TRUE(watch);
  EXPECT_EQ(watch->Next(), "");
  CreateConfigMap("a");
  CreateConfigMap("b");
  const std::string added = watch->Next();
  EXPECT_EQ(added.find(R"({"type":"ADDED","object":{"kind":"ConfigMap")"), 0u);
  EXPECT_EQ(added.find('\n'), added.size() - 1);
  Patch(std::string(kConfigMaps) + "/a", R"({"data":{"x":"1"}})");
  Delete(std::string(kConfigMaps) + "/a");
  const std::string rest = watch->Next();
  EXPECT_EQ(rest.find(R"({"type":"MODIFIED")"), 0u);
  EXPECT_NE(rest.find(R"({"type":"DELETED")"), std::string::npos);
  EXPECT_EQ(Get(path).body, "");
  CreateConfigMap("a");
  EXPECT_EQ(Get(path).body.find(R"({"type":"ADDED")"), 0u);
}

TEST_F(SmallKubernetesTest, WatchFromTooLongAgoExpires) {
  CreateConfigMap("a");
  for (int i = 0; i < 20'100; ++i) {
    Patch(std::string(kConfigMaps) + "/a", "{\"data\":{\"x\":\"" + std::to_string(i) + "\"}}");
  }
  const Response response = Get(std::string(kConfigMaps) + "?watch=1&resourceVersion=2");
  EXPECT_EQ(response.body.find(R"({"type":"ERROR","object":{"kind":"Status")"), 0u);
  EXPECT_NE(response.body.find("\"code\":410"), std::string::npos);
}

// --- HTTP

class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server.Start(0, 3)); }

  // All that the server sends until it closes the connection.
  std::string Send(const std::string& method, const std::string& target,
                   const std::string& body = {}) {
    const int connection = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server.Port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::string answer;
    if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
      const std::string request =
          method + " " + target +
          " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
          "Authorization: Bearer admin\r\nContent-Type: application/json\r\nContent-Length: " +
          std::to_string(body.size()) + "\r\n\r\n" + body;
      send(connection, request.data(), request.size(), MSG_NOSIGNAL);
      char buffer[4096];
      ssize_t count;
      while ((count = recv(connection, buffer, sizeof buffer, 0)) > 0) {
        answer.append(buffer, static_cast<std::size_t>(count));
      }
    }
    close(connection);
    return answer;
  }

  ManualClock clock;
  SmallKubernetes kubernetes{clock};
  HttpServer server{kubernetes};
  const std::string maps = "/api/v1/namespaces/default/configmaps";
};

TEST_F(HttpServerTest, ServesOnAPortOfTheSystemsChoice) {
  EXPECT_GT(server.Port(), 0);
  EXPECT_NE(server.Kubeconfig().find("server: " + server.Url()), std::string::npos);
  const std::string answer = Send("GET", maps + "?labelSelector=a%3Db");
  EXPECT_EQ(answer.find("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: "), 0u);
  EXPECT_NE(answer.find("\"items\":[]}"), std::string::npos);
  EXPECT_EQ(Send("POST", maps, R"({"metadata":{"name":"a"}})").find("HTTP/1.1 201 Created"), 0u);
  // DELETE has a body, too.
  EXPECT_EQ(Send("DELETE", maps + "/a", R"({"preconditions":{"uid":"x"}})").find("HTTP/1.1 409"),
            0u);
  HttpServer second(kubernetes);
  EXPECT_FALSE(second.Start(server.Port()));
}

TEST_F(HttpServerTest, OthersOrderFaults) {
  Send("POST", "/__faults", R"({"contains":"configmaps","action":"drop"})");
  Send("POST", "/__faults", R"({"contains":"configmaps","action":"truncate"})");
  Send("POST", "/__faults", R"({"contains":"configmaps","status":429,"retryAfter":2})");
  EXPECT_EQ(Send("GET", maps), "");
  const std::string half = Send("GET", maps);
  EXPECT_EQ(half.find("HTTP/1.1 200"), 0u);
  EXPECT_EQ(half.find("]}"), std::string::npos);
  EXPECT_NE(Send("GET", maps).find("\r\nRetry-After: 2\r\n"), std::string::npos);
  EXPECT_EQ(Send("GET", maps).find("HTTP/1.1 200"), 0u);
  EXPECT_NE(Send("GET", "/__requests").find("\"status\":429"), std::string::npos);
  Send("POST", "/__kinds", R"({"group":"g.io","version":"v1","plural":"gs","kind":"G"})");
  EXPECT_NE(Send("GET", "/apis/g.io/v1/gs").find("GList"), std::string::npos);
}

TEST_F(HttpServerTest, StreamsWatches) {
  std::string told;
  std::thread client(
      [&] { told = Send("GET", maps + "?watch=1&timeoutSeconds=1&resourceVersion=9"); });
  // A write while it waits.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  server.Locked([&](SmallKubernetes& locked) {
    locked.Admin("POST", maps, R"({"metadata":{"name":"new"}})");
  });
  client.join();
  EXPECT_NE(told.find(R"({"type":"ADDED","object":{"kind":"ConfigMap")"), std::string::npos);
  EXPECT_NE(told.find("\"name\":\"new\""), std::string::npos);
}

TEST_F(HttpServerTest, StopEndsWhatHangs) {
  Send("POST", "/__faults", R"({"action":"hang"})");
  std::thread client([&] { EXPECT_EQ(Send("GET", maps), ""); });
  while (true) {
    bool arrived = false;
    server.Locked([&](SmallKubernetes& locked) { arrived = locked.Count("GET") > 0; });
    if (arrived) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  server.Stop();
  client.join();
}

}  // namespace
}  // namespace cluster_watcher::small_kubernetes
