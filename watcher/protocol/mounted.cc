#include "watcher/protocol/mounted.h"

namespace cluster_watcher {
namespace {

void AddMounted(std::vector<MountedObject>& mounted, const char* plural, JsonValue name) {
  const auto text = name.AsString();
  if (!text || text->empty()) return;
  mounted.push_back({*FindBuiltInByName(plural, ""), std::string(*text)});
}

void AddVolume(std::vector<MountedObject>& mounted, JsonValue source) {
  AddMounted(mounted, "configmaps", source["configMap"]["name"]);
  AddMounted(mounted, "secrets", source["secret"]["secretName"]);
  AddMounted(mounted, "secrets", source["secret"]["name"]);  // as projected volumes write it
  AddMounted(mounted, "persistentvolumeclaims", source["persistentVolumeClaim"]["claimName"]);
}

void AddEnvironment(std::vector<MountedObject>& mounted, JsonValue containers) {
  for (JsonValue container : containers.Elements()) {
    for (JsonValue from : container["envFrom"].Elements()) {
      AddMounted(mounted, "configmaps", from["configMapRef"]["name"]);
      AddMounted(mounted, "secrets", from["secretRef"]["name"]);
    }
    for (JsonValue variable : container["env"].Elements()) {
      const JsonValue from = variable["valueFrom"];
      AddMounted(mounted, "configmaps", from["configMapKeyRef"]["name"]);
      AddMounted(mounted, "secrets", from["secretKeyRef"]["name"]);
    }
  }
}

}  // namespace

std::vector<MountedObject> MountedBy(JsonValue pod) {
  std::vector<MountedObject> mounted;
  const JsonValue spec = pod["spec"];
  for (JsonValue volume : spec["volumes"].Elements()) {
    AddVolume(mounted, volume);
    for (JsonValue source : volume["projected"]["sources"].Elements()) AddVolume(mounted, source);
  }
  for (JsonValue secret : spec["imagePullSecrets"].Elements()) {
    AddMounted(mounted, "secrets", secret["name"]);
  }
  AddEnvironment(mounted, spec["initContainers"]);
  AddEnvironment(mounted, spec["containers"]);
  return mounted;
}

}  // namespace cluster_watcher
