// How far a cluster is, by its own objects: what `list` shows and what `await` waits for. Pods need
// not run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/cluster_probe.h"
#include "probes/kube/discovery.h"
#include "probes/kube/kube_client.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {

// The field manager of what `create` writes.
inline constexpr char kCreateManager[] = "cluster-watcher-create";

enum class ClusterStatus {
  kDeleting,    // its deletion was begun, or somebody deletes its master root
  kCondemned,   // it is about to be deleted
  kIncomplete,  // it lacks a master root, a worker or a master service
  kRunning,
};
const char* ToString(ClusterStatus status);  // "Running"

struct ClusterView {
  ClusterId id;
  ClusterStatus status = ClusterStatus::kIncomplete;
  bool exists = false;    // something carries its label, terminating or not, and isn't kept
  bool stands = false;    // something of it, as before, has no deletionTimestamp
  bool is_going = false;  // something of it, as before, has a deletionTimestamp
  // The master root; nullopt: there is none, or several.
  std::optional<KubeObject> root;
  std::vector<std::string> rivals;  // where several roots are masters: "deployment.apps/bob-m"
  // That of them which stands for the cluster, or has made what does; nullopt: none.
  std::optional<KubeObject> resource;
  Marks marks;                     // of `root`
  bool is_made_by_create = false;  // `root` is
  // The owner that its master pods, or else the root's pod template, give to their watcher, as it
  // is written there: it goes before what stands on the root. Empty: none.
  std::string given_owner;
  // Names what it lacks, for people: "a worker"; none where it is complete.
  std::vector<std::string> lacks;
  // Whose pods aren't made, and why: "pods of replicaset.apps/bob-m-x are refused: ...".
  std::vector<std::string> refused;
  std::int64_t workers = 0;  // desired replicas of its worker workloads, else its worker pods
  std::string master;        // "spark://bob:7077"; empty: it has no master service
  std::string web_ui;        // "http://bob-ui:8080"; empty: it has none
  std::string route;         // the host of its Route; empty: it has none

  std::optional<std::string> ephemeral() const;  // the label `ephemeral` of the root
};

// Reads the cluster by consistent reads. An error names what could not be read; kinds of custom
// resources and Routes that the account may not list count as not there, and so do those that can't
// be read where the master root is a workload.
Result<ClusterView, ApiError> ReadClusterView(KubeClient& client, Discovery& discovery,
                                              const ClusterId& cluster, const Patience& patience);

}  // namespace cluster_watcher
