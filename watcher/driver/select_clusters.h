// Selects clusters by labels, as kubectl selects objects.
#pragma once

#include <map>
#include <string>

#include "watcher/driver/cluster_list.h"

namespace cluster_watcher {

// The UID of each one's master root by its name; empty: it has none, or several.
using SelectedClusters = std::map<std::string, std::string>;

// Finds the clusters in the words of `profile`, in namespace `ns`, whose master root the label
// selector fits; all of them if it is empty. One without a master root fits none. Fails if the API
// server doesn't understand the selector, or something can't be read.
Result<SelectedClusters, ApiError> SelectClusters(const DriverTools& tools,
                                                  const SharedProfile& profile,
                                                  const std::string& ns,
                                                  const std::string& selector);

}  // namespace cluster_watcher
