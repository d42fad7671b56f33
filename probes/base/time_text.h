// Times as Kubernetes writes them (RFC 3339), and HTTP.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "probes/base/clock.h"

namespace cluster_watcher {

// In UTC, to the second: "2026-12-24T18:00:00Z".
std::string FormatTime(WallTime time);

// The times between them can be computed with: WallTime ends in 2262.
inline constexpr WallTime kEarliestTime{std::chrono::sys_days(std::chrono::year(1900) / 1 / 1)};
inline constexpr WallTime kLatestTime{std::chrono::sys_days(std::chrono::year(2200) / 1 / 1)};

// Returns the nearest time between these two.
WallTime NearestTime(std::chrono::sys_time<Duration> time);

// With any zone and fraction, which is cut off below the millisecond; nullopt: it isn't a time.
// What lies outside of these two gives the nearest of them.
std::optional<WallTime> ParseTime(std::string_view text);

// The Date of an answer: "Sun, 06 Nov 1994 08:49:37 GMT"; nullopt: it isn't one,
// or lies outside of these two. Source: RFC 9110, IMF-fixdate, the one form that may be sent.
std::optional<WallTime> ParseHttpDate(const std::string& text);

}  // namespace cluster_watcher
