#include "watcher/reporting/deletion_report.h"

#include "probes/base/names.h"

namespace cluster_watcher {

std::string DeletionReport::DeletesText() const {
  std::vector<std::string> counts;
  for (const auto& [result, count] : deletes)
    counts.push_back(std::to_string(count) + " " + result);
  return Joined(counts);
}

}  // namespace cluster_watcher
