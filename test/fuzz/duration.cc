// Fuzzes durations: what is accepted, and any other length of time, parses the same once formatted.
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "probes/base/duration_text.h"
#include "test/fuzz/fuzz.h"

namespace cluster_watcher {

void TryInput(std::string_view input) {
  const auto duration = ParseDuration(input);
  if (duration) {
    Require(*duration >= Duration(0), "a duration is not negative");
    const auto again = ParseDuration(FormatDuration(*duration));
    Require(again && *again == *duration, "what is written reads the same");
  } else {
    Require(IsOneLine(duration.error().message), "the reason is one line");
  }

  std::int64_t milliseconds = 0;
  std::memcpy(&milliseconds, input.data(), std::min(sizeof milliseconds, input.size()));
  const std::string text = FormatDuration(Duration(milliseconds));
  Require(IsOneLine(text), "any length of time can be written");
  const bool fits =
      milliseconds >= 0 && milliseconds <= std::numeric_limits<std::int64_t>::max() / 1'000'000;
  const auto read = ParseDuration(text);
  Require(read.has_value() == fits, "what is negative or too long is refused");
  Require(!fits || read->count() == milliseconds, "any length of time reads the same");
}

}  // namespace cluster_watcher
