// The lab with a cluster that is complete, for the driver's side.
#pragma once

#include <string>

#include "probes/base/time_text.h"
#include "test/unit/support/lab.h"
#include "watcher/driver/cluster_view.h"
#include "watcher/driver/driver_tools.h"

namespace cluster_watcher {

inline constexpr const char* kWorker = "/apis/apps/v1/namespaces/lab/deployments/spark-w";
inline constexpr const char* kService = "/api/v1/namespaces/lab/services/spark";

class DriverLab : public testing::Test, protected Lab {
 protected:
  explicit DriverLab(ApiServer server = WithToken()) : Lab(std::move(server)) {
    LabelObject(kRoot, R"("oshinko-cluster":"spark","oshinko-type":"master")");
    MakeWorkload("spark-w", R"("oshinko-cluster":"spark","oshinko-type":"worker",)");
    LabelObject(kWorker, R"("oshinko-cluster":"spark","oshinko-type":"worker")");
    MakeService("spark", R"("oshinko-type":"master")");
    kubernetes_.Settle();
  }

  void LabelObject(const std::string& path, const std::string& labels) {
    Patch(path, R"({"metadata":{"labels":{)" + labels + "}}}");
  }
  void MakeService(const std::string& name, const std::string& labels,
                   const std::string& selector = R"("app":"spark-m")") {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Service",)" +
                      Meta(name, R"(,"labels":{"oshinko-cluster":"spark",)" + labels + "}") +
                      R"(,"spec":{"selector":{)" + selector + R"(},"ports":[{"port":7077}]}})");
  }
  // The cluster is the ephemeral one of `owner`, "deployment.apps/bob".
  void MakeEphemeral(const std::string& owner) {
    LabelObject(kRoot, R"("ephemeral":")" + owner.substr(owner.find('/') + 1) + "\"");
    Annotate(kRoot, "owner", owner);
  }
  void MarkRoot(const std::string& mark, const std::string& value) {
    Annotate(kRoot, "root-uid", ObjectUid(kRoot));
    Annotate(kRoot, mark, value);
  }
  // The deletion that somebody has begun, now.
  void MarkDeleting(const std::string& by, const std::string& reason = "") {
    MarkRoot("phase", "deleting");
    if (!reason.empty()) Annotate(kRoot, "reason", reason);
    Annotate(kRoot, "condemned-by", by);
    Annotate(kRoot, "deleting-since", cluster_watcher::FormatTime(clock_.WallNow()));
  }
  // A watcher is in the master pod, and is in this state: {"running":{}}.
  void PutWatcherIntoPod(const std::string& state) {
    const std::string pod = "/api/v1/namespaces/lab/pods/" + NameOfPod();
    Patch(pod, R"({"spec":{"initContainers":[{"name":"cluster-watcher","image":"w",)"
               R"("restartPolicy":"Always"}]}})");
    Patch(pod + "/status",
          R"({"status":{"initContainerStatuses":[{"name":"cluster-watcher","state":)" + state +
              "}]}}");
  }
  // The value of a label; empty: it has none.
  std::string LabelOf(const std::string& path, const std::string& label) {
    const auto object = JsonDocument::Parse(Read(path).body);
    return std::string(object->root()["metadata"]["labels"][label].AsString().value_or(""));
  }
  ClusterView View() {
    auto view = ReadClusterView(client_, discovery_, cluster_, tools_.Reads());
    EXPECT_TRUE(view) << (view ? "" : view.error().message);
    return view ? *std::move(view) : ClusterView{};
  }

  const ClusterId cluster_{"lab", DefaultProfile(), "spark"};
  const DriverTools tools_{client_, discovery_, clock_, {}};
};

}  // namespace cluster_watcher
