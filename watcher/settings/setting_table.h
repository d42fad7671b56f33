// All settings: to add one, add a field to Settings and a row to the table in setting_table.cc.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/result.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

// Sets the fields that `text` is for, or returns an error and sets none.
using Parse = std::function<Result<Done>(std::string_view text, Settings& settings)>;

struct Setting {
  SettingDescription description;
  Parse parse;
  std::string stand_in = {};  // the variable that is read after the setting's own; empty: none
};

// In the order in which people read about them.
const std::vector<Setting>& AllSettings();

}  // namespace cluster_watcher
