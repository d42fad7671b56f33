#include "watcher/reporting/logging.h"

#include <spdlog/formatter.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "probes/base/printable.h"

namespace cluster_watcher {
namespace {

constexpr char kTime[] = "%Y-%m-%dT%H:%M:%S.%eZ";

std::string_view TextOf(spdlog::string_view_t text) { return {text.data(), text.size()}; }

// Messages contain text from API servers and from the authors of objects.
class TextFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string shown = Printable(TextOf(message.payload));
    spdlog::details::log_msg line = message;
    line.payload = shown;
    pattern_.format(line, out);
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<TextFormatter>();
  }

 private:
  spdlog::pattern_formatter pattern_{std::string(kTime) + " %l %v", spdlog::pattern_time_type::utc};
};

class JsonFormatter final : public spdlog::formatter {
 public:
  explicit JsonFormatter(std::shared_ptr<const Log::Keys*> keys) : keys_(std::move(keys)) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    spdlog::memory_buf_t time;
    time_.format(message, time);
    JsonWriter line;
    line.StartObject().Field("time", {time.data(), time.size()});
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
  spdlog::pattern_formatter time_{kTime, spdlog::pattern_time_type::utc, ""};
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
