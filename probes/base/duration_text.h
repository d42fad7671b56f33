// Durations as Go writes them: "500ms", "1m30s", "1h", "0".
#pragma once

#include <string>
#include <string_view>

#include "probes/base/clock.h"
#include "probes/base/result.h"

namespace cluster_watcher {

// Units h, m, s, ms, us, ns, fractions allowed ("1.5h"); negative ones and those beyond some 290
// years are errors. Less than a millisecond is cut off. Source: Go's time.ParseDuration.
Result<Duration> ParseDuration(std::string_view text);

std::string FormatDuration(Duration duration);  // "1m30s", "500ms", "0s"

}  // namespace cluster_watcher
