// The identity of a command to others: what `condemned-by` names.
#pragma once

#include <string>

#include "probes/kube/api_server.h"
#include "watcher/driver/driver_tools.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {

struct Actor {
  // The pod that the command runs in, if it is one of the cluster's namespace and can be read:
  // whether it is there tells others whether the command still is. Else "cli/RANDOM".
  WatcherId id;
  std::string pod = {};      // its name, as POD_NAME has it
  std::string pod_uid = {};  // of the pod, in whatever namespace; empty: none, or it can't be read
  std::string warning = {};  // why it can't be; empty: it can
};

// Looks for the pod that POD_NAME and POD_NAMESPACE name, for a command about a cluster in `ns`.
Actor WhoActs(const DriverTools& tools, const std::string& ns, const Environment& environment);

// Returns letters and digits of which Kubernetes makes names, others each time.
std::string RandomLetters(int count);

// "cli/RANDOM", another one each time.
WatcherId SomeCommand();

// Names the user that the command is to the API server, "system:serviceaccount:lab:ci", for people.
// Where that isn't told it says so, with whom the kubeconfig names. Takes seconds at most.
// Source: kubernetes.io "Authenticating", SelfSubjectReview.
std::string WhoAsks(const DriverTools& tools);

}  // namespace cluster_watcher
