#include "watcher/command/seen_events.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>

#include "probes/base/duration_text.h"
#include "probes/base/printable.h"
#include "probes/base/time_text.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kColumns = 5;

std::string TextAt(JsonValue object, std::string_view key) {
  return std::string(object[key].AsString().value_or(""));
}

std::optional<WallTime> TimeAt(JsonValue object, std::string_view key) {
  const auto text = object[key].AsString();
  return text ? ParseTime(*text) : std::nullopt;
}

// Source: k8s.io/kubectl, DescribeEvents.
SeenEvent ReadEvent(JsonValue item) {
  SeenEvent event{
      TextAt(item, "type"),    TextAt(item, "reason"),    TextAt(item["source"], "component"),
      TextAt(item, "message"), TimeAt(item, "eventTime"), std::nullopt};
  if (event.from.empty()) event.from = TextAt(item, "reportingComponent");
  if (!event.first) event.first = TimeAt(item, "firstTimestamp");
  const JsonValue series = item["series"];
  event.last = TimeAt(series, "lastObservedTime");
  if (!event.last) event.last = TimeAt(item, "lastTimestamp");
  if (!event.last) event.last = event.first;
  event.count = series["count"].AsInteger().value_or(item["count"].AsInteger().value_or(1));
  return event;
}

std::string AgeText(const std::optional<WallTime>& time, WallTime now) {
  return time ? FormatAge(std::chrono::duration_cast<Duration>(now - *time)) : "<unknown>";
}

}  // namespace

Result<std::vector<SeenEvent>, ApiError> ReadEvents(KubeClient& client,
                                                    const std::vector<KubeObject>& regarding,
                                                    const Patience& patience) {
  std::vector<SeenEvent> events;
  for (const KubeObject& object : regarding) {
    ApiRequest list = ApiRequest::List(*FindBuiltInByName("events", ""), object.meta.ns());
    list.http.target += "&fieldSelector=" + PercentEncode("involvedObject.uid=" + object.meta.uid);
    const auto read = client.EachItem(
        list, [&events](JsonValue item) { events.push_back(ReadEvent(item)); }, patience);
    if (!read) return Unexpected{read.error()};
  }
  std::stable_sort(events.begin(), events.end(), [](const SeenEvent& one, const SeenEvent& other) {
    return one.last < other.last;
  });
  return events;
}

std::string EventTable(const std::vector<SeenEvent>& events, WallTime now) {
  std::vector<std::array<std::string, kColumns>> lines = {
      {"Type", "Reason", "Age", "From", "Message"}, {"----", "------", "----", "----", "-------"}};
  for (const SeenEvent& event : events) {
    std::string age = AgeText(event.last, now);
    if (event.count > 1)
      age += fmt::format(" (x{} over {})", event.count, AgeText(event.first, now));
    lines.push_back({event.type, event.reason, age, event.from, event.message});
  }
  std::array<std::size_t, kColumns> widths{};
  for (auto& line : lines) {
    for (std::size_t i = 0; i < kColumns; ++i) {
      line[i] = Printable(line[i]);
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string text;
  for (const auto& line : lines) {
    text += fmt::format("  {:<{}}  {:<{}}  {:<{}}  {:<{}}  {}\n", line[0], widths[0], line[1],
                        widths[1], line[2], widths[2], line[3], widths[3], line[4]);
  }
  return text;
}

}  // namespace cluster_watcher
