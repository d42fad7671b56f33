// The program's log, on stderr: a line of text, or of JSON with the keys `time` (RFC 3339, UTC),
// `level` and `message`.
#pragma once

#include <memory>

#include <spdlog/logger.h>

#include "watcher/settings.h"

namespace cluster_watcher {

std::shared_ptr<spdlog::logger> MakeLogger(LogLevel level, LogFormat format);
void ConfigureLogger(spdlog::logger& logger, LogLevel level, LogFormat format);

}  // namespace cluster_watcher
