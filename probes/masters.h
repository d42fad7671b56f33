// Which objects of a cluster are its masters: the one definition, for every rule, command and
// policy.
#pragma once

#include <string>

#include "probes/base/json.h"
#include "probes/cluster_id.h"
#include "probes/cluster_labels.h"
#include "probes/kube/object_meta.h"
#include "probes/profile.h"

namespace cluster_watcher {

// Whether objects of this kind are masters if they say so: those that run pods, or stand for what
// does. A Service that is labelled as the master is its Service.
bool CanBeMaster(const ResourceType& type);

// Whether `object`, which was read whole, is a master: its pod template, or it itself if it is a
// Pod, is labelled as the profile says, annotated cluster-watcher/inject: "true", or has the
// watcher's container; or it is labelled so itself. It need not have pods. The custom resource that
// stands for a cluster is a master too, by its name (ClusterId::IsResource).
bool IsMaster(const ResourceType& type, JsonValue object, const Profile& profile);

// The same as far as metadata tells: not by the pod template. Of a pod it tells of a container that
// was injected.
bool IsMaster(const ResourceType& type, const ObjectMeta& meta, const Profile& profile);

// Whether the metadata of a pod, or of a pod template, asks for a watcher: as a master's of any
// profile, unless the annotation cluster-watcher/inject says otherwise.
bool AsksForWatcher(JsonValue metadata, const ProfileTable& profiles);

// Returns the template of the pods that `object` makes; absent if it isn't a built-in workload.
JsonValue PodTemplateOf(const ResourceType& type, JsonValue object);

// Returns the pod template of a cluster's master root, which was read as `whole`. What a custom
// resource says of it is put together into `made`.
JsonValue MasterTemplateOf(const ClusterId& cluster, const KubeObject& root, JsonValue whole,
                           JsonDocument& made);

// A text that is the same for a Deployment's pod template and for that of a ReplicaSet made from
// it, whatever the order of fields.
std::string PodTemplateText(JsonValue pods);

}  // namespace cluster_watcher
