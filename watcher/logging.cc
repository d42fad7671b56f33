#include "watcher/logging.h"

#include <spdlog/formatter.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "probes/json.h"

namespace cluster_watcher {
namespace {

constexpr char kTime[] = "%Y-%m-%dT%H:%M:%S.%eZ";

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    spdlog::memory_buf_t time;
    time_.format(message, time);
    const auto level = spdlog::level::to_string_view(message.level);
    JsonWriter line;
    line.StartObject().Field("time", {time.data(), time.size()});
    line.Field("level", {level.data(), level.size()});
    line.Field("message", {message.payload.data(), message.payload.size()}).EndObject();
    const std::string text = line.Text() + "\n";
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }

 private:
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

std::shared_ptr<spdlog::logger> MakeLogger(LogLevel level, LogFormat format) {
  auto logger = std::make_shared<spdlog::logger>("cluster-watcher",
                                                 std::make_shared<spdlog::sinks::stderr_sink_st>());
  ConfigureLogger(*logger, level, format);
  logger->flush_on(spdlog::level::trace);
  return logger;
}

void ConfigureLogger(spdlog::logger& logger, LogLevel level, LogFormat format) {
  switch (format) {
    case LogFormat::kText:
      logger.set_formatter(std::make_unique<spdlog::pattern_formatter>(
          std::string(kTime) + " %l %v", spdlog::pattern_time_type::utc));
      break;
    case LogFormat::kJson:
      logger.set_formatter(std::make_unique<JsonFormatter>());
      break;
  }
  logger.set_level(ToSpdlog(level));
}

}  // namespace cluster_watcher
