// The application that uses a cluster, by its owner, as `--app` names it.
#pragma once

#include <optional>
#include <string>

#include "probes/kube/discovery.h"
#include "probes/kube/kube_client.h"
#include "probes/kube/object_meta.h"
#include "probes/owner_name.h"

namespace cluster_watcher {

// An owner that somebody named, as far as it is known.
struct Application {
  OwnerName given;
  // The owner: what was named, or the root of the pod that was. nullopt: it isn't there, or that
  // isn't known.
  std::optional<KubeObject> owner = {};
  bool is_absent = false;   // definitely
  std::string detail = {};  // why there is no owner, for people, with the right that lacks
  bool is_refused = false;  // it may not be read, which waiting doesn't mend

  // "deployment.apps/bob"; what was given where there is no owner.
  std::string Name() const { return owner ? owner->Describe() : given.ToText(); }
  // The cluster that it has claimed; nullopt: none.
  std::optional<std::string> Uses() const;
};

// Looks for `app` in the namespace `ns`. A name without a kind is looked for as `watch` looks for
// it, and as a Pod last. A pod means its root: what controls it, from a ReplicaSet its Deployment,
// from a ReplicationController its DeploymentConfig; a Job stays a Job. What is named otherwise is
// taken literally.
Application FindApplication(KubeClient& client, Discovery& discovery, const OwnerName& app,
                            const std::string& ns, const Patience& patience);

}  // namespace cluster_watcher
