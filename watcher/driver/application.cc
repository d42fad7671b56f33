#include "watcher/driver/application.h"

#include <utility>

#include "probes/cluster_probe.h"
#include "probes/owner_kinds.h"
#include "probes/owner_probe.h"
#include "watcher/driver/outcome.h"

namespace cluster_watcher {
namespace {

constexpr int kLongestChain = 4;

void SetUnreadable(Application& found, const ApiError& error) {
  found.is_absent = false;
  found.is_refused = error.failure == ApiFailure::kForbidden;
  found.detail = WhyRefused(error);
}

// Whether an object of this kind always stands for the controller above it.
bool StandsFor(const ResourceType& type, const OwnerReference& controller) {
  if (IsPod(type)) return true;
  return (type.kind == "ReplicaSet" && controller.kind == "Deployment") ||
         (type.kind == "ReplicationController" && controller.kind == "DeploymentConfig");
}

Result<KubeObject, ApiError> ReadController(KubeClient& client, Discovery& discovery,
                                            const KubeObject& object,
                                            const OwnerReference& controller,
                                            const Patience& patience) {
  const auto fail = [&](ApiFailure failure, const std::string& why) {
    return Unexpected{ApiError{failure,
                               object.Describe() + " is controlled by " + controller.kind + " " +
                                   controller.name + ", " + why,
                               std::nullopt}};
  };
  auto type = discovery.ByKind(controller.api_version, controller.kind, patience);
  if (!type) return Unexpected{std::move(type).error()};
  if (!*type) return fail(ApiFailure::kUnexpected, "whose kind is not served");
  auto answer = client.Do(ApiRequest::Get(**type, object.meta.ns(), controller.name), patience);
  if (!answer) return Unexpected{std::move(answer).error()};
  auto meta = ReadObjectMeta(answer->document.root());
  if (!meta) return fail(ApiFailure::kUnexpected, meta.error().message);
  if (meta->uid != controller.uid) return fail(ApiFailure::kUnexpected, "which is gone");
  return KubeObject{**type, *std::move(meta)};
}

// Walks from a pod to the root that it means.
Result<KubeObject, ApiError> RootOfPod(KubeClient& client, Discovery& discovery, KubeObject pod,
                                       const Patience& patience) {
  KubeObject current = std::move(pod);
  for (int i = 0; i < kLongestChain; ++i) {
    const OwnerReference* controller = current.meta.Controller();
    if (controller == nullptr || !StandsFor(current.type, *controller)) break;
    auto next = ReadController(client, discovery, current, *controller, patience);
    if (!next) return next;
    if (!CanJudge(next->type)) break;
    current = *std::move(next);
  }
  return current;
}

void FindPod(KubeClient& client, Discovery& discovery, const std::string& ns,
             const Patience& patience, Application& found) {
  const ResourceType& pods = *FindBuiltInByName("pods", "");
  auto listed = client.Do(
      ApiRequest::ListByName(pods, ns, found.given.name, Freshness::kConsistent), patience);
  if (!listed) {
    SetUnreadable(found, listed.error());
    return;
  }
  const JsonValue item = OnlyItem(*listed);
  if (!item.Exists()) {
    found.is_absent = true;
    if (found.detail.empty()) {
      found.detail = "there is no pod " + found.given.name + " in namespace " + ns;
    }
    return;
  }
  found.is_absent = false;
  auto meta = ReadObjectMeta(item);
  if (!meta) {
    found.detail = meta.error().message;
    return;
  }
  auto root = RootOfPod(client, discovery, {pods, *std::move(meta)}, patience);
  if (root) {
    found.owner = *std::move(root);
  } else {
    SetUnreadable(found, root.error());
  }
}

}  // namespace

std::optional<std::string> Application::Uses() const {
  return owner ? owner->meta.Label(kUsesClusterLabel) : std::nullopt;
}

Application FindApplication(KubeClient& client, Discovery& discovery, const OwnerName& app,
                            const std::string& ns, const Patience& patience) {
  Application found{app};
  const ResourceType* named = FindBuiltInByName(app.kind, app.group);
  if (named != nullptr && IsPod(*named)) {
    FindPod(client, discovery, ns, patience, found);
    return found;
  }
  OwnerProbe probe(client, discovery);
  OwnerQuery query{app, "", ns, ns, std::nullopt, std::nullopt};
  const OwnerSight sight = probe.Look(query, Freshness::kConsistent, patience);
  found.owner = sight.object;
  if (found.owner) return found;
  found.is_absent = sight.observation == Observation::kAbsent;
  found.detail = sight.detail;
  if (sight.error) SetUnreadable(found, *sight.error);
  if (found.is_absent && app.IsBare()) FindPod(client, discovery, ns, patience, found);
  return found;
}

}  // namespace cluster_watcher
