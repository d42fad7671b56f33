// The objects that a label selector finds, in kubectl's grammar and by the API server's judgement.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "watcher/driver/driver_tools.h"

namespace cluster_watcher {

class LabelSelection {
 public:
  // Of the namespace `ns`; of all of them if it is empty.
  LabelSelection(const DriverTools& tools, std::string ns, std::string selector)
      : tools_(tools), ns_(std::move(ns)), selector_(std::move(selector)) {}

  // Asks once for each kind. Fails if that can't be read; of a selector that is wrong it gives the
  // API server's words, and the remedy.
  Result<bool, ApiError> Finds(const KubeObject& object);

 private:
  const DriverTools& tools_;
  const std::string ns_;
  const std::string selector_;
  std::map<std::string, std::set<std::string>> found_;  // UIDs by kind
};

}  // namespace cluster_watcher
