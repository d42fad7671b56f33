#include "probes/base/duration_text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

using Nanoseconds = std::uint64_t;

constexpr Nanoseconds kLongest = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view kDigits = "0123456789";

struct Unit {
  std::string_view name;
  Nanoseconds length;
};
constexpr std::array<Unit, 6> kUnits = {{{"h", 3'600'000'000'000},
                                         {"m", 60'000'000'000},
                                         {"s", 1'000'000'000},
                                         {"ms", 1'000'000},
                                         {"us", 1'000},
                                         {"ns", 1}}};

Unexpected<Error> NotADuration(std::string_view text, const std::string& why) {
  return Failure(Quoted(text) + " is not a duration: " + why);
}

// Removes the longest beginning of `text` that holds only (TakeUntil: none of) `characters`.
std::string_view TakeWhile(std::string_view& text, std::string_view characters) {
  const std::string_view taken = text.substr(0, text.find_first_not_of(characters));
  text.remove_prefix(taken.size());
  return taken;
}
std::string_view TakeUntil(std::string_view& text, std::string_view characters) {
  const std::string_view taken = text.substr(0, text.find_first_of(characters));
  text.remove_prefix(taken.size());
  return taken;
}

// Returns WHOLE.FRACTION units, truncated to nanoseconds; nullopt if that is too long.
std::optional<Nanoseconds> Multiply(std::string_view whole, std::string_view fraction,
                                    Nanoseconds unit) {
  const Nanoseconds most = kLongest / unit;
  Nanoseconds count = 0;
  for (const char character : whole) {
    const auto digit = static_cast<Nanoseconds>(character - '0');
    if (count > (most - digit) / 10) return std::nullopt;
    count = count * 10 + digit;
  }
  // Truncating at every digit, from the last to the first, is exact for any number of digits.
  Nanoseconds rest = 0;
  for (std::size_t i = fraction.size(); i > 0; --i) {
    rest = (static_cast<Nanoseconds>(fraction[i - 1] - '0') * unit + rest) / 10;
  }
  return count * unit + rest;
}

std::string UnitMissing(std::string_view text) {
  const std::string example = text.size() <= 20 ? std::string(text) + "s" : "30s";
  return "it needs a unit, for example " + example;
}

}  // namespace

Result<Duration> ParseDuration(std::string_view text) {
  std::string_view left = text;
  if (left.starts_with('-')) return NotADuration(text, "it is negative");
  if (left.starts_with('+')) left.remove_prefix(1);
  if (left == "0") return Duration::zero();
  if (left.empty()) return NotADuration(text, "it is empty; write for example 30s or 1m30s");

  Nanoseconds total = 0;
  while (!left.empty()) {
    const std::string_view whole = TakeWhile(left, kDigits);
    std::string_view fraction;
    if (left.starts_with('.')) {
      left.remove_prefix(1);
      fraction = TakeWhile(left, kDigits);
    }
    if (whole.empty() && fraction.empty()) {
      return NotADuration(text, "a number is missing; write for example 30s or 1m30s");
    }
    if (left.starts_with('.')) return NotADuration(text, "a number in it has two points");
    const std::string_view name = TakeUntil(left, "0123456789.");
    if (name.empty()) return NotADuration(text, UnitMissing(text));
    const auto* unit = std::find_if(kUnits.begin(), kUnits.end(),
                                    [name](const Unit& known) { return known.name == name; });
    if (unit == kUnits.end()) {
      return NotADuration(text, Quoted(name) + " is not a unit: use h, m, s, ms, us or ns");
    }
    const std::optional<Nanoseconds> part = Multiply(whole, fraction, unit->length);
    if (!part || *part > kLongest - total) {
      return NotADuration(text, "it is longer than 290 years");
    }
    total += *part;
  }
  return Duration(static_cast<Duration::rep>(total / 1'000'000));
}

std::string FormatDuration(Duration duration) {
  const bool negative = duration < Duration::zero();
  // Negated as unsigned, because the shortest duration has no positive counterpart.
  auto left = static_cast<std::uint64_t>(duration.count());
  if (negative) left = 0 - left;
  if (left == 0) return "0s";

  std::string text = negative ? "-" : "";
  const auto append = [&](std::uint64_t length, const char* unit) {
    if (left >= length) text += std::to_string(left / length) + unit;
    left %= length;
  };
  append(3'600'000, "h");
  append(60'000, "m");
  if (left < 1'000 || left % 1'000 == 0) {
    append(1'000, "s");
    append(1, "ms");
    return text;
  }
  std::string fraction = std::to_string(left % 1'000 + 1'000).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return text + std::to_string(left / 1'000) + "." + fraction + "s";
}

std::string FormatAge(Duration age) {
  constexpr std::int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour, kYear = 365 * kDay;
  struct Form {
    std::int64_t below;  // seconds, as all of these
    std::int64_t unit;
    char name;
    std::int64_t part = 0;  // 0: left out
    char part_name = 0;
  };
  static constexpr Form kForms[] = {{2 * kMinute, 1, 's'},
                                    {10 * kMinute, kMinute, 'm', 1, 's'},
                                    {3 * kHour, kMinute, 'm'},
                                    {8 * kHour, kHour, 'h', kMinute, 'm'},
                                    {48 * kHour, kHour, 'h'},
                                    {8 * kDay, kDay, 'd', kHour, 'h'},
                                    {2 * kYear, kDay, 'd'},
                                    {8 * kYear, kYear, 'y', kDay, 'd'},
                                    {std::numeric_limits<std::int64_t>::max(), kYear, 'y'}};
  std::int64_t seconds = age.count() / 1'000;
  if (seconds < -1) return "<invalid>";
  seconds = std::max<std::int64_t>(seconds, 0);
  const Form& form = *std::find_if(std::begin(kForms), std::end(kForms),
                                   [&](const Form& one) { return seconds < one.below; });
  const std::int64_t parts = form.part == 0 ? 0 : seconds % form.unit / form.part;
  std::string text = std::to_string(seconds / form.unit) + form.name;
  return parts == 0 ? text : text + std::to_string(parts) + form.part_name;
}

}  // namespace cluster_watcher
