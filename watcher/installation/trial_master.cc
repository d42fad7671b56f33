#include "watcher/installation/trial_master.h"

#include <utility>

#include "probes/permissions.h"
#include "probes/watcher_container.h"
#include "watcher/protocol/injection_status.h"

namespace cluster_watcher {
namespace {

using Outcome = TrialMaster::Outcome;

// Restricted, and with resources, so that few namespaces refuse it.
std::string MasterPod(bool with_sidecar) {
  return std::string(R"({"apiVersion":"v1","kind":"Pod","metadata":{)"
                     R"("generateName":"cluster-watcher-doctor-",)") +
         (with_sidecar ? "" : R"("annotations":{"cluster-watcher/inject":"false"},)") +
         R"("labels":{"oshinko-type":"master","oshinko-cluster":"cluster-watcher-doctor"}},)"
         R"("spec":{"automountServiceAccountToken":false,"securityContext":{"runAsNonRoot":true,)"
         R"("runAsUser":65532,"seccompProfile":{"type":"RuntimeDefault"}},"containers":[{)"
         R"("name":"master","image":"master","resources":{)"
         R"("requests":{"cpu":"500m","memory":"512Mi"},"limits":{"cpu":"500m","memory":"512Mi"}},)"
         R"("securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}})"
         R"(}]}})";
}

ApiResult Try(const DriverTools& tools, const std::string& ns, bool with_sidecar) {
  const ResourceType& pods = *FindBuiltInByName("pods", "");
  return tools.client.Do(ApiRequest::TryCreate(pods, ns, MasterPod(with_sidecar)), tools.Reads());
}

std::string SidecarOf(JsonValue pod) {
  std::string text(WatcherContainerOf(pod).self["image"].AsString().value_or(""));
  const auto port = PortInStatus(pod);
  return port ? text + ", port " + std::to_string(*port) : text;
}

bool IsByAdmission(const ApiError& error) {
  return error.failure == ApiFailure::kInvalid ||
         (error.failure == ApiFailure::kForbidden && !MissingPermission(error));
}

}  // namespace

TrialMaster TryMaster(const DriverTools& tools, const std::string& ns) {
  auto made = Try(tools, ns, true);
  if (made) {
    const JsonValue pod = made->document.root();
    if (!WatcherContainerOf(pod).self.IsObject()) return {Outcome::kNotInjected, "", {}};
    return {Outcome::kInjected, SidecarOf(pod), {}};
  }
  if (!IsByAdmission(made.error())) return {Outcome::kUnknown, "", std::move(made).error()};
  const bool is_taken_without = Try(tools, ns, false).has_value();
  return {is_taken_without ? Outcome::kSidecarRefused : Outcome::kRefused, "",
          std::move(made).error()};
}

}  // namespace cluster_watcher
