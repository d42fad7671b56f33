#include "watcher/protocol/gone_watcher.h"

#include "probes/kube/pod_state.h"

namespace cluster_watcher {

bool IsGone(KubeClient& client, const WatcherId& watcher, const std::string& ns,
            const Patience& patience) {
  if (!watcher.IsPod()) return false;
  const ResourceType& pods = *FindBuiltInByName("pods", "");
  auto answer = client.Do(ApiRequest::Get(pods, ns, watcher.pod), patience);
  if (!answer) return answer.error().failure == ApiFailure::kNotFound;
  const JsonValue pod = answer->document.root();
  return pod["metadata"]["uid"].AsString() != watcher.uid || HasEnded(pod);
}

}  // namespace cluster_watcher
