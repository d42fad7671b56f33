// What this build calls itself.
#pragma once

namespace cluster_watcher {

extern const char kVersion[];   // "0.1.0"
extern const char kRevision[];  // the commit, short; "unknown" outside of a checkout

}  // namespace cluster_watcher
