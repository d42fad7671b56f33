// The flags of a command by which it reaches the API server in another way than its kubeconfig
// says, as those of kubectl.
#pragma once

#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/kube/api_server.h"

namespace cluster_watcher {

// Empty: the flag isn't given.
struct ApiServerFlags {
  std::string server;
  std::string token;
  std::string as;
  std::vector<std::string> as_groups;
  Duration longest_request{0};  // bounds what a request may take; 0: its own timeout alone does
};

// Finds the API server as FindApiServer does, and changes it as `flags` say, which is enough where
// there is no kubeconfig. A token replaces all credentials of the kubeconfig; to a server that they
// name over http none are sent. Whom to impersonate says CurlTransport.
Result<ApiServer> FindApiServer(const std::string& kubeconfig, const std::string& context,
                                const Environment& environment, const ApiServerFlags& flags);

}  // namespace cluster_watcher
