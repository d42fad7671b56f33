// The result of a deletion.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "probes/base/clock.h"

namespace cluster_watcher {

struct DeletionReport {
  std::size_t found = 0;               // members
  std::map<std::string, int> deletes;  // by result as in the metrics: {"deleted": 4}
  std::vector<std::string> left;       // "service/x: kept"
  std::size_t overdue = 0;             // what was left at the deadline, or held back
  bool root_deleted = false;
  Duration took{0};

  std::string DeletesText() const;  // "4 deleted; 1 forbidden"; "" if none was sent
  // Returns what was left, claims first: of those that stay for the same reason, of which there may
  // be hundreds, the first three and how many more.
  std::vector<std::string> Told() const;
};

// For people, after what else is said: "; left: service/x; pod/y", or empty.
std::string WhatIsLeft(std::vector<std::string> left);

}  // namespace cluster_watcher
