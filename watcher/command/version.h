// The version of this build.
#pragma once

namespace cluster_watcher {

extern const char kVersion[];   // "0.1.0"
extern const char kRevision[];  // the short commit; "unknown" outside of a checkout

}  // namespace cluster_watcher
