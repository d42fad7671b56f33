// The page of a watcher for people who don't read metrics.
#pragma once

#include <string>

#include "metrics/watcher_status.h"

namespace cluster_watcher {

// Returns a whole page in HTML, pure: how `status` looks at `now`. Texts are foreign, so each is
// cut as in an Event, printable, and escaped. It loads nothing and runs nothing; it asks the
// browser to fetch it again every few seconds. Links are relative, so that they hold behind a
// proxy.
std::string PageFor(const WatcherStatus& status, WatcherStatus::WallTime now);

}  // namespace cluster_watcher
