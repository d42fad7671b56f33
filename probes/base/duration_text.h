// Durations in Go's notation: "500ms", "1m30s", "1h", "0"; and ages as kubectl shows them.
#pragma once

#include <string>
#include <string_view>

#include "probes/base/clock.h"
#include "probes/base/result.h"

namespace cluster_watcher {

// Parses sums of h, m, s, ms, us and ns, with fractions ("1.5h"), truncated to milliseconds. A
// negative duration or one beyond about 290 years is an error. Source: Go's time.ParseDuration.
Result<Duration> ParseDuration(std::string_view text);

std::string FormatDuration(Duration duration);  // "1m30s", "500ms", "0s"

// Two or three figures, as in kubectl's column AGE: "45s", "5m30s", "3h", "2d4h"; "<invalid>" of
// what is more than a second ahead. Source: k8s.io/apimachinery, duration.HumanDuration.
std::string FormatAge(Duration age);

}  // namespace cluster_watcher
