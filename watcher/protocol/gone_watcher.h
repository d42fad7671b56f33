// Whether who wrote a mark is gone.
#pragma once

#include <string>

#include "probes/kube/kube_client.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {

// Whether the pod of `watcher` in the namespace `ns` is definitely absent, has ended, or is another
// one. False for a command outside of pods ("cli/RANDOM"), and where that can't be read.
bool IsGone(KubeClient& client, const WatcherId& watcher, const std::string& ns,
            const Patience& patience);

}  // namespace cluster_watcher
