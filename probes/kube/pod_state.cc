#include "probes/kube/pod_state.h"

namespace cluster_watcher {

bool HasEnded(JsonValue pod) {
  const auto phase = pod["status"]["phase"].AsString();
  return phase == "Succeeded" || phase == "Failed";
}

bool IsRunning(JsonValue pod) {
  const JsonValue deletion = pod["metadata"]["deletionTimestamp"];
  return !HasEnded(pod) && (!deletion.Exists() || deletion.IsNull());
}

}  // namespace cluster_watcher
