// The program's log on stderr. Each line is text, or JSON with the keys `time` (RFC 3339, UTC),
// `level` and `message`, and further keys for a decision. What could forge a line or steer a
// terminal is escaped.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <spdlog/logger.h>

#include "probes/base/json.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

// Not thread-safe.
class Log {
 public:
  // Adds keys and values to the JSON object of a line.
  using Keys = std::function<void(JsonWriter& line)>;

  // Without a `sink` it logs to stderr.
  Log(LogLevel level, LogFormat format, spdlog::sink_ptr sink = nullptr);

  void Configure(LogLevel level, LogFormat format);

  // Writes lines without further keys.
  spdlog::logger& logger() { return logger_; }

  // Text lines hold `message` only.
  void Write(spdlog::level::level_enum level, std::string_view message, const Keys& keys);

 private:
  spdlog::logger logger_;
  // The keys of the line being written. The logger clones its formatter, so both share the pointer.
  std::shared_ptr<const Keys*> keys_ = std::make_shared<const Keys*>(nullptr);
};

}  // namespace cluster_watcher
