#include "watcher/observation/misplaced_settings.h"

#include <algorithm>

#include "watcher/protocol/annotations.h"

namespace cluster_watcher {

void AddMisplacedSettings(const KubeObject& root, const ObjectMeta::Texts& of_pods,
                          std::vector<std::string>& errors) {
  const auto known = annotation::All();
  for (const auto& [key, value] : root.meta.annotations()) {
    const bool is_setting = key.starts_with(annotation::kPrefix) &&
                            std::find(known.begin(), known.end(), key) == known.end();
    if (!is_setting || of_pods.contains(key)) continue;
    errors.push_back("annotation " + key + " of " + root.Describe() +
                     " counts on its pods only: write it on their template, or take it off");
  }
}

}  // namespace cluster_watcher
