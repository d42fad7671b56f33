#include "probes/masters.h"

#include <algorithm>
#include <string_view>

#include "probes/kube/discovery.h"
#include "probes/owner_kinds.h"
#include "probes/watcher_container.h"

namespace cluster_watcher {
namespace {

constexpr std::string_view kPodTemplateHash = "pod-template-hash";
constexpr std::string_view kInject = "cluster-watcher/inject";
constexpr std::string_view kStatus = "cluster-watcher/status";  // written by the injection

bool IsMasterPod(JsonValue pod, const Profile& profile) {
  return profile.master.Holds(pod["metadata"]) ||
         pod["metadata"]["annotations"][kInject].AsString() == "true" ||
         pod["metadata"]["annotations"][kStatus].AsString().has_value() ||
         WatcherContainerOf(pod).self.IsObject();
}

void WriteSorted(JsonValue value, JsonWriter& text) {
  if (value.IsArray()) {
    text.StartArray();
    for (const JsonValue element : value.Elements()) WriteSorted(element, text);
    text.EndArray();
  } else if (value.IsObject()) {
    auto members = value.Members();
    std::sort(members.begin(), members.end(),
              [](const auto& one, const auto& other) { return one.first < other.first; });
    text.StartObject();
    for (const auto& [key, member] : members) {
      if (key == kPodTemplateHash) continue;
      WriteSorted(member, text.Key(key));
    }
    text.EndObject();
  } else {
    text.Value(value);
  }
}

}  // namespace

bool CanBeMaster(const ResourceType& type) {
  return IsWorkload(type) ||
         (!Discovery::IsAlwaysServed(type.group) && type.group != "route.openshift.io");
}

bool IsMaster(const ResourceType& type, JsonValue object, const Profile& profile) {
  if (IsPod(type)) return IsMasterPod(object, profile);
  const JsonValue pods = PodTemplateOf(type, object);
  return CanBeMaster(type) && (profile.master.Holds(object["metadata"]) ||
                               (pods.IsObject() && IsMasterPod(pods, profile)));
}

bool IsMaster(const ResourceType& type, const ObjectMeta& meta, const Profile& profile) {
  if (IsPod(type) && (meta.Annotation(kInject) == "true" || meta.Annotation(kStatus))) return true;
  return CanBeMaster(type) && profile.master.Holds(meta);
}

bool AsksForWatcher(JsonValue metadata, const ProfileTable& profiles) {
  const auto asks = metadata["annotations"][kInject].AsString();
  return asks ? asks == "true" : profiles.IsMaster(metadata);
}

JsonValue PodTemplateOf(const ResourceType& type, JsonValue object) {
  if (!IsWorkload(type)) return {};
  const JsonValue spec = object["spec"];
  return type.kind == "CronJob" ? spec["jobTemplate"]["spec"]["template"] : spec["template"];
}

JsonValue MasterTemplateOf(const ClusterId& cluster, const KubeObject& root, JsonValue whole,
                           JsonDocument& made) {
  if (!cluster.IsFrameworks(root)) return PodTemplateOf(root.type, whole);
  made = cluster.profile->MasterTemplate(whole);
  return made.root();
}

std::string PodTemplateText(JsonValue pods) {
  JsonWriter text;
  WriteSorted(pods, text);
  return text.Text();
}

}  // namespace cluster_watcher
