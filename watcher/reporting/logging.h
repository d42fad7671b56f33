// The program's log, on stderr: a line of text, or of JSON with the keys `time` (RFC 3339, UTC),
// `level` and `message`, and those that tell of a decision.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <spdlog/logger.h>

#include "probes/base/json.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

// For one thread.
class Log {
 public:
  // Adds keys and values to the object that a line is.
  using Keys = std::function<void(JsonWriter& line)>;

  // `sink` empty: stderr.
  Log(LogLevel level, LogFormat format, spdlog::sink_ptr sink = nullptr);

  void Configure(LogLevel level, LogFormat format);

  // For lines without keys of their own.
  spdlog::logger& logger() { return logger_; }

  // In text, `message` says it all.
  void Write(spdlog::level::level_enum level, std::string_view message, const Keys& keys);

 private:
  spdlog::logger logger_;
  // Of the line that is being written; the logger's formatters, which are copied, share it.
  std::shared_ptr<const Keys*> keys_ = std::make_shared<const Keys*>(nullptr);
};

}  // namespace cluster_watcher
