// The way to the servers of steps.
#pragma once

#include <string>

#include "probes/kube/api_server.h"
#include "watcher/deletion/step_runner.h"

namespace cluster_watcher {

// The transport that it returns gives no credentials away, and trusts over https what one of the
// authorities proves with which `cluster` is verified, as its files have them at that time, or one
// of the file `system_authorities`, if there is such a file. Outside of the master pod nothing is
// sent to what would be another server there: loopback, unspecified and link-local addresses, by
// whatever name.
Dial DialSteps(ApiServer cluster, std::string system_authorities, StepsAt at);

}  // namespace cluster_watcher
