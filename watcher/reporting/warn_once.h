// Logs each text only once, for failures that repeat. After 200 different texts it logs nothing.
#pragma once

#include <set>
#include <string>

#include <spdlog/logger.h>

namespace cluster_watcher {

class WarnOnce {
 public:
  explicit WarnOnce(spdlog::logger& log) : log_(log) {}

  void operator()(const std::string& text) {
    if (said_.size() < kMost && said_.insert(text).second) log_.warn("{}", text);
  }

 private:
  static constexpr std::size_t kMost =
      200;  // so that texts that never repeat don't fill the memory

  spdlog::logger& log_;
  std::set<std::string> said_;
};

}  // namespace cluster_watcher
