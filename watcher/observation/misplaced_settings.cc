#include "watcher/observation/misplaced_settings.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "watcher/protocol/annotations.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {
namespace {

// Without these a cluster is deleted that with them is kept. Others say when, or what goes with it.
constexpr std::string_view kKeeping[] = {"dry-run", "owner-namespace"};

bool IsPassedOver(std::string_view key) {
  if (!key.starts_with(annotation::kPrefix)) return false;
  const auto known = annotation::All();
  if (std::find(known.begin(), known.end(), key) != known.end()) return false;
  const std::string_view name = key.substr(std::size(annotation::kPrefix) - 1);
  const auto& settings = SettingDescriptions();
  return std::find(std::begin(kKeeping), std::end(kKeeping), name) != std::end(kKeeping) ||
         std::none_of(settings.begin(), settings.end(),
                      [name](const auto& setting) { return setting.name == name; });
}

}  // namespace

void AddMisplacedSettings(const KubeObject& root, const ObjectMeta::Texts& of_pods,
                          std::vector<std::string>& errors) {
  for (const auto& [key, value] : root.meta.annotations()) {
    if (!IsPassedOver(key) || of_pods.contains(key)) continue;
    errors.push_back("annotation " + key + " of " + root.Describe() +
                     " counts on its pods only: write it on their template, or take it off");
  }
}

}  // namespace cluster_watcher
