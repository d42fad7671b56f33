// The last line of a terminal on stderr, which tells a person what a command is at.
#pragma once

#include <string>

#include <spdlog/sinks/base_sink.h>

#include "watcher/settings/settings.h"

namespace cluster_watcher {

// Shows nothing where stderr is no terminal, or one that can't go back in its line.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine() { Clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // Replaces what is shown; no longer than the terminal is wide.
  void Show(const std::string& text);
  void Clear();
  bool is_on() const { return is_on_; }

 private:
  const bool is_on_;
  std::string shown_;
};

// The log for a person who hasn't asked for it: warnings as lines without a time, and on a terminal
// the rest as a StatusLine.
class StatusSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  // The least level that it shows.
  LogLevel level() const { return line_.is_on() ? LogLevel::kInfo : LogLevel::kWarn; }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

  StatusLine line_;
};

}  // namespace cluster_watcher
