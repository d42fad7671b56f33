#include "watcher/command/version.h"

namespace cluster_watcher {

const char kVersion[] = CLUSTER_WATCHER_VERSION;
const char kRevision[] = CLUSTER_WATCHER_REVISION;

}  // namespace cluster_watcher
