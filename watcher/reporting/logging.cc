#include "watcher/reporting/logging.h"

#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <cstdio>

#include "probes/base/printable.h"
#include "probes/base/time_text.h"

namespace cluster_watcher {
namespace {

std::string_view TextOf(spdlog::string_view_t text) { return {text.data(), text.size()}; }

// "2026-12-24T18:00:00.123Z". Spdlog's own pattern has no milliseconds before 1970, where a machine
// without a clock may be.
std::string TimeOf(const spdlog::details::log_msg& message) {
  const auto second = std::chrono::floor<std::chrono::seconds>(message.time);
  const auto rest = std::chrono::floor<std::chrono::milliseconds>(message.time - second);
  char text[8];
  std::snprintf(text, sizeof text, ".%03dZ", static_cast<int>(rest.count()));
  std::string time = FormatTime(second);
  time.pop_back();
  return time + text;
}

// Messages contain text from API servers and from the authors of objects.
class TextFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    std::string line = TimeOf(message) + " ";
    line += TextOf(spdlog::level::to_string_view(message.level));
    line += " " + Printable(TextOf(message.payload)) + "\n";
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<TextFormatter>();
  }
};

class JsonFormatter final : public spdlog::formatter {
 public:
  explicit JsonFormatter(std::shared_ptr<const Log::Keys*> keys) : keys_(std::move(keys)) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    JsonWriter line;
    line.StartObject().Field("time", TimeOf(message));
    line.Field("level", TextOf(spdlog::level::to_string_view(message.level)));
    line.Field("message", Printable(TextOf(message.payload)));
    if (*keys_ != nullptr) (**keys_)(line);
    const std::string text = Printable(line.EndObject().Text()) + "\n";
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>(keys_);
  }

 private:
  std::shared_ptr<const Log::Keys*> keys_;
};

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

Log::Log(LogLevel level, LogFormat format, spdlog::sink_ptr sink)
    : logger_("cluster-watcher",
              sink ? std::move(sink) : std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
  Configure(level, format);
  logger_.flush_on(spdlog::level::trace);
}

void Log::Configure(LogLevel level, LogFormat format) {
  switch (format) {
    case LogFormat::kText:
      logger_.set_formatter(std::make_unique<TextFormatter>());
      break;
    case LogFormat::kJson:
      logger_.set_formatter(std::make_unique<JsonFormatter>(keys_));
      break;
  }
  logger_.set_level(ToSpdlog(level));
}

void Log::Write(spdlog::level::level_enum level, std::string_view message, const Keys& keys) {
  *keys_ = &keys;
  logger_.log(level, "{}", message);
  *keys_ = nullptr;
}

}  // namespace cluster_watcher
