#include "probes/kube/pod_state.h"

namespace cluster_watcher {

bool HasEnded(JsonValue pod) {
  const auto phase = pod["status"]["phase"].AsString();
  return phase == "Succeeded" || phase == "Failed";
}

std::optional<bool> HasContainerEnded(JsonValue pod, std::string_view container) {
  const auto named = [&](JsonValue list) {
    for (const JsonValue one : list.Elements()) {
      if (one["name"].AsString() == container) return one;
    }
    return JsonValue();
  };
  const JsonValue spec = named(pod["spec"]["containers"]);
  if (!spec.Exists()) return std::nullopt;
  const JsonValue ended = named(pod["status"]["containerStatuses"])["state"]["terminated"];
  if (!ended.IsObject() || spec["restartPolicyRules"].size() > 0) return false;
  const auto own = spec["restartPolicy"].AsString();
  const auto policy = own ? own : pod["spec"]["restartPolicy"].AsString();
  return policy == "Never" || (policy == "OnFailure" && ended["exitCode"].AsInteger() == 0);
}

bool IsRunning(JsonValue pod) {
  const JsonValue deletion = pod["metadata"]["deletionTimestamp"];
  return !HasEnded(pod) && (!deletion.Exists() || deletion.IsNull());
}

}  // namespace cluster_watcher
