#include "probes/base/time_text.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <iterator>

namespace cluster_watcher {
namespace {

// Beyond them a WallTime, in nanoseconds, may have no room: what is read is compared in
// milliseconds.
constexpr auto kEarliest = std::chrono::time_point_cast<Duration>(kEarliestTime);
constexpr auto kLatest = std::chrono::time_point_cast<Duration>(kLatestTime);

// Reads `digits` digits at `at` and moves on; nullopt: there are none.
std::optional<int> ReadNumber(std::string_view text, std::size_t& at, std::size_t digits) {
  int number = 0;
  if (at + digits > text.size()) return std::nullopt;
  for (const std::size_t end = at + digits; at < end; ++at) {
    if (text[at] < '0' || text[at] > '9') return std::nullopt;
    number = number * 10 + (text[at] - '0');
  }
  return number;
}

bool ReadChar(std::string_view text, std::size_t& at, std::string_view any_of) {
  if (at >= text.size() || any_of.find(text[at]) == std::string_view::npos) return false;
  ++at;
  return true;
}

// ".123": cut off below the millisecond.
std::optional<std::chrono::milliseconds> ReadFraction(std::string_view text, std::size_t& at) {
  std::chrono::milliseconds fraction{0};
  if (!ReadChar(text, at, ".")) return fraction;
  int weight = 100;
  const std::size_t begin = at;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, weight /= 10) {
    fraction += std::chrono::milliseconds((text[at] - '0') * weight);
  }
  return at == begin ? std::nullopt : std::optional(fraction);
}

std::optional<std::chrono::minutes> ReadZone(std::string_view text, std::size_t& at) {
  if (ReadChar(text, at, "Zz")) return std::chrono::minutes(0);
  if (at >= text.size()) return std::nullopt;
  const bool west = text[at] == '-';
  if (!ReadChar(text, at, "+-")) return std::nullopt;
  const auto hours = ReadNumber(text, at, 2);
  if (!hours || !ReadChar(text, at, ":")) return std::nullopt;
  const auto minutes = ReadNumber(text, at, 2);
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const std::chrono::minutes offset(*hours * 60 + *minutes);
  return west ? -offset : offset;
}

// nullopt: no calendar has it.
std::optional<std::chrono::sys_time<Duration>> TimeOf(int year, int month, int day, int hours,
                                                      int minutes, int seconds) {
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hours > 23 || minutes > 59 || seconds > 60) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(hours) + std::chrono::minutes(minutes) +
         std::chrono::seconds(seconds);
}

}  // namespace

std::string FormatTime(WallTime time) {
  // Not to_time_t, which rounds up what is before 1970.
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, size};
}

WallTime NearestTime(std::chrono::sys_time<Duration> time) {
  return std::clamp(time, kEarliest, kLatest);
}

std::optional<WallTime> ParseTime(std::string_view text) {
  std::size_t at = 0;
  int fields[6];
  constexpr std::string_view kSeparators[] = {"-", "-", "Tt ", ":", ":", ""};
  for (std::size_t i = 0; i < std::size(fields); ++i) {
    const auto number = ReadNumber(text, at, i == 0 ? 4 : 2);
    if (!number) return std::nullopt;
    fields[i] = *number;
    if (!kSeparators[i].empty() && !ReadChar(text, at, kSeparators[i])) return std::nullopt;
  }
  const auto fraction = ReadFraction(text, at);
  if (!fraction) return std::nullopt;
  const auto zone = ReadZone(text, at);
  if (!zone || at != text.size()) return std::nullopt;
  const auto time = TimeOf(fields[0], fields[1], fields[2], fields[3], fields[4], fields[5]);
  if (!time) return std::nullopt;
  return NearestTime(*time + *fraction - *zone);
}

std::optional<WallTime> ParseHttpDate(const std::string& text) {
  std::tm parts{};
  const char* const end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  const auto time = TimeOf(parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                           parts.tm_min, parts.tm_sec);
  if (!time || *time < kEarliest || *time > kLatest) return std::nullopt;
  return *time;
}

}  // namespace cluster_watcher
