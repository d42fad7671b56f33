// A namespace "lab" on a small Kubernetes in the process, in virtual time: the cluster "spark" with
// its master, and its driver "bob".
#pragma once

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "metrics/watcher_metrics.h"
#include "probes/kube/discovery.h"
#include "probes/kube/kube_client.h"
#include "test/small_kubernetes/local_transport.h"
#include "test/unit/support/objects.h"
#include "test/unit/support/test_clock.h"
#include "watcher/settings/settings_in_force.h"

namespace cluster_watcher {

inline constexpr const char* kRoot = "/apis/apps/v1/namespaces/lab/deployments/spark-m";
inline constexpr const char* kDriver = "/apis/apps/v1/namespaces/lab/deployments/bob";
inline constexpr const char* kMaps = "/api/v1/namespaces/lab/configmaps";

class Lab {
 protected:
  explicit Lab(ApiServer server = WithToken()) : server_(std::move(server)) {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"lab"}})");
    MakeRoot();
    MakeDriver();
    MakeMap("spark-config");
    settings_.settings.ns = "lab";
    settings_.settings.owner = *OwnerName::Parse("deployment/bob");
  }

  static ApiServer WithToken() {
    ApiServer server;
    server.token = small_kubernetes::SmallKubernetes::kAdminToken;
    return server;
  }
  void MakeWorkload(const std::string& name, const std::string& labels) {
    kubernetes_.Apply(
        R"({"apiVersion":"apps/v1","kind":"Deployment",)" +
        Meta(name, R"(,"labels":{)" + labels + R"("app":")" + name + R"("})") +
        R"(,"spec":{"replicas":1,"selector":{"matchLabels":{"app":")" + name +
        R"("}},"template":{"metadata":{"labels":{)" + labels + R"("app":")" + name +
        R"("}},"spec":{"containers":[{"name":"main","image":"x"}],"volumes":[{"name":"c",)"
        R"("configMap":{"name":"spark-conf"}}]}}}})");
  }
  void MakeRoot() {
    MakeWorkload("spark-m", R"("oshinko-cluster":"spark","oshinko-type":"master",)");
  }
  void MakeDriver(const std::string& labels = "") { MakeWorkload("bob", labels); }
  void MakeMap(const std::string& name, const std::string& more = "") {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"ConfigMap",)" + Labelled(name, more) + "}");
  }
  // A driver that starts a Job each minute.
  void MakeCronJob(const std::string& name) {
    kubernetes_.Apply(
        R"({"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":")" + name +
        R"(","namespace":"lab"},)"
        R"("spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"containers":)"
        R"([{"name":"main","image":"x"}]}}}}}})");
  }
  void Delete(const std::string& path) { kubernetes_.Admin("DELETE", path); }
  // Serves a custom kind in its version v1.
  void DefineKind(const std::string& group, const std::string& kind, const std::string& plural,
                  const std::string& singular) {
    kubernetes_.Apply(
        R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",)"
        R"("metadata":{"name":")" +
        plural + "." + group + R"("},"spec":{"group":")" + group +
        R"(","scope":"Namespaced","names":{"plural":")" + plural + R"(","singular":")" + singular +
        R"(","kind":")" + kind +
        R"("},"versions":[{"name":"v1","served":true,"storage":true,"schema":)"
        R"({"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})");
    kubernetes_.Settle();
  }
  void DefineRayClusters() { DefineKind("ray.io", "RayCluster", "rayclusters", "raycluster"); }
  void DefineDeploymentConfigs() {
    DefineKind("apps.openshift.io", "DeploymentConfig", "deploymentconfigs", "deploymentconfig");
  }
  // Replaces the cluster's master with another one of the same name.
  void ReplaceRoot() {
    Delete(kRoot);
    MakeRoot();
  }
  small_kubernetes::Response Read(const std::string& path) {
    return kubernetes_.Admin("GET", path);
  }
  void Patch(const std::string& path, const std::string& body) {
    kubernetes_.Admin("PATCH", path, body, "application/merge-patch+json");
  }
  void Annotate(const std::string& path, const std::string& key, const std::string& value) {
    Patch(path,
          R"({"metadata":{"annotations":{"cluster-watcher/)" + key + R"(":")" + value + "\"}}}");
  }
  bool Exists(const std::string& path) { return Read(path).status == 200; }
  bool MapExists(const std::string& name) { return Exists(kMaps + ("/" + name)); }
  std::string NameOfPod(const std::string& app = "spark-m") {
    const auto pods =
        JsonDocument::Parse(Read("/api/v1/namespaces/lab/pods?labelSelector=app%3D" + app).body);
    return std::string(*pods->root()["items"].At(0)["metadata"]["name"].AsString());
  }
  std::string ObjectUid(const std::string& path) {
    const auto object = JsonDocument::Parse(Read(path).body);
    return std::string(*object->root()["metadata"]["uid"].AsString());
  }
  std::string Mark(const std::string& name) {
    const auto root = JsonDocument::Parse(Read(kRoot).body);
    return std::string(
        root->root()["metadata"]["annotations"]["cluster-watcher/" + name].AsString().value_or(""));
  }
  void Refuse(const std::string& method, const std::string& contains, int status, int skip = 0,
              int times = 0) {
    small_kubernetes::Fault fault;
    fault.method = method;
    fault.contains = contains;
    fault.skip = skip;
    fault.times = times;
    fault.response = {
        status, R"({"kind":"Status","apiVersion":"v1","code":)" + std::to_string(status) + "}",
        "application/json", std::nullopt};
    kubernetes_.GetFaults().Add(fault);
  }

  // As cluster-watcher-guard does with marks on the master root.
  void RefuseByGuard(const std::string& method = "PATCH",
                     const std::string& contains = "/deployments/spark-m") {
    small_kubernetes::Fault guard;
    guard.method = method;
    guard.contains = contains;
    guard.times = 0;
    guard.response = {
        403,
        R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden",)"
        R"("message":"ValidatingAdmissionPolicy 'cluster-watcher-guard' denied",)"
        R"("details":{"causes":[{"message":"ValidatingAdmissionPolicy 'cluster-watcher-guard' )"
        R"(with binding 'x' denied request: no"}]}})",
        "application/json", std::nullopt};
    kubernetes_.GetFaults().Add(guard);
  }
  // Calls `what` just before the `number`th request of this method (empty: any) whose target
  // contains `contains` takes effect.
  void Before(const std::string& method, const std::string& contains, int number,
              std::function<void()> what) {
    kubernetes_.on_request = [is_it = IsNth(method, contains, number), what = std::move(what)](
                                 const auto& request, const auto&) mutable {
      if (is_it(request)) what();
    };
  }
  // The same just after the answer was made.
  void After(const std::string& method, const std::string& contains, int number,
             std::function<void()> what) {
    kubernetes_.on_answer = [is_it = IsNth(method, contains, number), what = std::move(what)](
                                const auto& request, const auto&, auto&) mutable {
      if (is_it(request)) what();
    };
  }
  static std::function<bool(const small_kubernetes::Request&)> IsNth(std::string method,
                                                                     std::string contains,
                                                                     int number) {
    return [=, seen = 0](const small_kubernetes::Request& request) mutable {
      return (method.empty() || request.method == method) &&
             request.target.find(contains) != std::string::npos && ++seen == number;
    };
  }
  // How many sure looks there were so far: each reads the pod as a whole.
  std::size_t SureLooks() {
    const std::string pod = "/namespaces/lab/pods/" + settings_.settings.pod;
    return kubernetes_.Count("GET", pod) - kubernetes_.Count("GET", pod + "?");
  }

  TestClock clock_;
  small_kubernetes::SmallKubernetes kubernetes_{clock_};
  small_kubernetes::LocalTransport transport_{kubernetes_, clock_};
  ApiServer server_;
  TokenSource tokens_{server_, clock_};
  prometheus::Registry registry_;
  WatcherMetrics metrics_{registry_, "1.2.3", "0a1b2c3"};
  KubeClient client_{transport_, tokens_, [this](const RequestRecord& request) {
                       metrics_.Requested(
                           request.status == 0 ? "<error>" : std::to_string(request.status),
                           ToString(request.method), request.elapsed);
                     }};
  Discovery discovery_{client_};
  ResolvedSettings settings_;
};

}  // namespace cluster_watcher
