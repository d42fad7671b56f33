#include "watcher/command/shared_flags.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "watcher/settings/settings.h"

namespace cluster_watcher {
namespace {

Flag SettingFlag(const SettingDescription& setting) {
  return {.name = setting.name,
          .placeholder = setting.placeholder,
          .default_value = setting.default_value,
          .help = setting.help,
          .letter = setting.name == "namespace" ? 'n' : '\0',
          .note = setting.from_annotation ? "" : " (not by annotation)",
          .is_own = false};
}

}  // namespace

Flags SettingFlags() {
  Flags flags;
  for (const SettingDescription& setting : SettingDescriptions()) {
    flags.push_back(SettingFlag(setting));
  }
  return flags;
}

Flag LikeSetting(std::string_view name) {
  const std::vector<SettingDescription>& all = SettingDescriptions();
  const auto found = std::find_if(
      all.begin(), all.end(), [name](const SettingDescription& one) { return one.name == name; });
  Flag flag = SettingFlag(*found);
  flag.note.clear();
  flag.is_own = true;
  return flag;
}

void AddConnection(Flags& flags) {
  for (const char* name : {"namespace", "cluster-label", "kubeconfig", "context"}) {
    Flag flag = LikeSetting(name);
    flag.is_own = false;
    if (flag.name == "namespace") {
      flag.help =
          "the cluster's; without it $POD_NAMESPACE, else the kubeconfig context's, else the "
          "service account's, else default";
    }
    flags.push_back(std::move(flag));
  }
}

Flag OwnFlag(const char* name, const char* placeholder, const char* default_value,
             const char* help) {
  return {.name = name,
          .placeholder = placeholder,
          .default_value = default_value,
          .help = help,
          .note = ""};
}

Flag AppFlag(const char* help) { return OwnFlag("app", "OWNER", "", help); }

Flag FilenameFlag(const char* help) {
  Flag flag = OwnFlag("filename", "FILE", "", help);
  flag.letter = 'f';
  return flag;
}

}  // namespace cluster_watcher
