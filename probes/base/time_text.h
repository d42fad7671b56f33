// Times as Kubernetes writes them (RFC 3339).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "probes/base/clock.h"

namespace cluster_watcher {

// In UTC, to the second: "2026-12-24T18:00:00Z".
std::string FormatTime(WallTime time);

// With any zone and fraction, which is cut off below the millisecond; nullopt: it isn't a time. A
// year that the clock can't hold gives WallTime::max() or min().
std::optional<WallTime> ParseTime(std::string_view text);

}  // namespace cluster_watcher
