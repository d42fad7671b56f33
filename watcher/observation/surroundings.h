// Everything that stands around the owner, as one look reads it: our pod, its namespace, the master
// root, and what else of the cluster runs pods.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/cluster_probe.h"
#include "watcher/observation/snapshot.h"
#include "watcher/protocol/master_root.h"
#include "watcher/settings/settings_in_force.h"

namespace cluster_watcher {

// The word of the root's pod template to the pods to come.
struct PodsToCome {
  WatcherOrders orders;
  TextMap annotations;
  TextMap settings;            // annotations, and the settings that its watcher has otherwise
  std::string text;            // PodTemplateText
  bool are_rolled_out = true;  // where they differ from those that there are
};

// The parts of a look that a snapshot doesn't show.
struct Surroundings {
  std::optional<ObjectMeta> ns;  // nullopt: it wasn't read, or may not be
  std::optional<PodsToCome> pods_to_come;
  std::optional<ClusterListing> makers;  // nullopt: not listed yet

  // Sorted by whose they are, as far as a controller that isn't listed could be read.
  std::string sorted_for;  // the UID of the root
  // The custom resource that stands for the cluster, where the root has made it.
  std::optional<KubeObject> resource;
  KubeObjects root_pods;          // those that haven't ended; some may be terminating
  KubeObjects master_pods;        // those of them that are masters and don't terminate
  KubeObjects other_masters;      // other roots that are masters, each once
  std::vector<KubeObject> named;  // the rest that speaks for itself
};

class SurroundingsReader {
 public:
  // The first pod that is read takes its annotations into `settings`.
  SurroundingsReader(KubeClient& client, Discovery& discovery, SettingsInForce& settings);

  void AsksForPeople() { asks_for_people_ = true; }
  void SetRoot(KubeObject root) { root_ = std::move(root); }

  const std::optional<KubeObject>& root() const { return root_; }       // as last read
  const std::optional<ClusterId>& cluster() const { return cluster_; }  // the same

  // Returns the requests with which it begins, as far as it is known what it will ask for.
  std::vector<ApiRequest> Requests(const Patience& patience);
  // Reads our pod, or outside of pods the one that speaks for the master, the namespace and the
  // root. Ends with the first problem.
  Surroundings Read(Snapshot& snapshot, const Patience& patience);
  // Lists what else runs pods, if it isn't listed yet, and sorts it.
  void ReadMakers(Surroundings& around, Snapshot& snapshot, const Patience& patience);

  // Whether root, pod and namespace are as they were last read, as far as that counts here. Reads
  // them from the API server's cache. False too if that isn't known.
  bool IsAsBefore(const std::stop_token& stop);
  // The root's metadata is now this, because this process has written it on top of what was read.
  void NoteWritten(const ObjectMeta& root);

 private:
  std::vector<ApiRequest> PodAndNamespaceRequests() const;
  Result<std::vector<ResourceType>, ApiError> MakerTypes(const Patience& patience);
  const KubeObject* RootResource(const ClusterId& cluster) const;
  void List(Surroundings& around, const ClusterId& cluster, Snapshot& snapshot,
            const Patience& patience);
  void Sort(Surroundings& around, const KubeObject& root, Snapshot& snapshot,
            const Patience& patience);
  void ReadPod(Surroundings& around, Snapshot& snapshot, const Patience& patience);
  void TakePod(Snapshot& snapshot, JsonValue pod);
  void FindMaster(Surroundings& around, Snapshot& snapshot, const Patience& patience);
  void FindRoot(const ClusterListing& makers, Snapshot& snapshot, const Patience& patience);
  void FindPodThatSpeaks(const Surroundings& around, Snapshot& snapshot, const Patience& patience);
  // Which cluster it is, in which framework's words.
  void TakeCluster(Snapshot& snapshot, const ObjectMeta& pod);
  Result<KubeObject, ApiError> WalkToRoot(const Snapshot& snapshot, const Patience& patience,
                                          JsonDocument& whole);
  void ReadRoot(Surroundings& around, Snapshot& snapshot, const Patience& patience);
  void TakeRoot(Snapshot& snapshot, KubeObject root);
  void TakeSettings(const Surroundings& around, Snapshot& snapshot);
  void TakeWhatIsCopied(const PodsToCome& now, Snapshot& snapshot, TextMap& settings);
  void AddSettingsOfRoot(Snapshot& snapshot, TextMap& settings);
  void TakeTemplate(Surroundings& around, Snapshot& snapshot, const KubeObject& object,
                    JsonValue root);

  KubeClient& client_;
  Discovery& discovery_;
  SettingsInForce& settings_;
  ClusterProbe probe_;
  bool asks_for_people_ = false;

  // Kept from one look to the next.
  std::string pod_uid_;        // empty: not read yet
  TextMap settings_at_start_;  // the pod's annotations then
  std::optional<ClusterId> cluster_;
  std::optional<KubeObject> root_;
  std::optional<ObjectMeta> pod_;  // nullopt: the last look didn't read it
  std::optional<ObjectMeta> namespace_;
};

}  // namespace cluster_watcher
