#include "watcher/observation/changed_settings.h"

#include "probes/base/names.h"
#include "watcher/protocol/annotations.h"

namespace cluster_watcher {

std::vector<std::string> ChangedSettings(const TextMap& at_start, const TextMap& now) {
  std::vector<std::string> changed;
  for (const SettingDescription& setting : SettingDescriptions()) {
    const std::string key = annotation::kPrefix + setting.name;
    const auto before = at_start.find(key);
    const auto after = now.find(key);
    const bool was = before != at_start.end();
    const bool is = after != now.end();
    if (was == is && (!was || before->second == after->second)) continue;
    const std::string how = !is    ? " was taken off"
                            : !was ? " was added"
                                   : " was changed to " + Quoted(after->second);
    std::string& said = changed.emplace_back("annotation ");
    said += key;
    said += how;
    said += ", but settings are read at start: restart the pod to use it, or set it back";
  }
  return changed;
}

}  // namespace cluster_watcher
