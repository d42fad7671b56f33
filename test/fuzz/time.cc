// Fuzzes times: what is accepted parses the same, to the second, once formatted. Times before 1700
// or after 2200 become the earliest or the latest one.
#include <chrono>
#include <string>
#include <string_view>

#include "probes/base/time_text.h"
#include "test/fuzz/fuzz.h"

namespace cluster_watcher {

void TryInput(std::string_view input) {
  const auto time = ParseTime(input);
  if (!time) return;
  const std::string text = FormatTime(*time);
  Require(text.size() == 20 && text.ends_with('Z'), "a time is written in UTC, to the second");
  const auto again = ParseTime(text);
  if (text < "1700" || text > "2201") {
    Require(again == WallTime::min() || again == WallTime::max(), "far away is far away");
    return;
  }
  using std::chrono::seconds;
  Require(again && std::chrono::floor<seconds>(*again) == std::chrono::floor<seconds>(*time),
          "what is written reads as the same second");
}

}  // namespace cluster_watcher
