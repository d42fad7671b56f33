#include "watcher/protocol/injection_status.h"

#include "watcher/protocol/annotations.h"

namespace cluster_watcher {

std::optional<std::int64_t> PortInStatus(JsonValue pod) {
  const auto written = pod["metadata"]["annotations"][annotation::kStatus].AsString();
  const auto status = JsonDocument::Parse(written.value_or(""));
  return status ? status->root()["port"].AsInteger() : std::nullopt;
}

}  // namespace cluster_watcher
