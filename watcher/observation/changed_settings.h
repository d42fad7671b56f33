// Settings are read when the watcher starts, so one that is changed later would not do what its
// author thinks.
#pragma once

#include <string>
#include <vector>

#include "watcher/settings/settings.h"

namespace cluster_watcher {

// Names the setting annotations that were changed, added or taken off since the start. Pure.
std::vector<std::string> ChangedSettings(const TextMap& at_start, const TextMap& now);

}  // namespace cluster_watcher
