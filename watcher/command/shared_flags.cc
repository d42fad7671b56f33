#include "watcher/command/shared_flags.h"

#include <algorithm>
#include <map>
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

CommandDescription WithSettingsOf(CommandDescription command,
                                  std::initializer_list<const char*> names) {
  static const std::map<std::string_view, const char*> helps = {
      {"namespace",
       "the one that is meant; without it the context's of the kubeconfig that is named, else "
       "$POD_NAMESPACE, else the service account's, else default"},
      {"cluster", "the cluster; without it as said above"},
      {"dry-run", "say what would be deleted, and change nothing"}};
  for (const std::string_view name : names) {
    Flag flag = LikeSetting(name);
    flag.is_own = false;
    if (name == "log-level") flag.default_value = "warn";
    if (const auto help = helps.find(name); help != helps.end()) flag.help = help->second;
    command.flags.push_back(std::move(flag));
    if (name == "context") {
      const Flags further = ConnectionFlags();
      command.flags.insert(command.flags.end(), further.begin(), further.end());
    }
  }
  return command;
}

CommandDescription WithSettings(CommandDescription command,
                                std::initializer_list<const char*> further) {
  command = WithSettingsOf(std::move(command),
                           {"namespace", "cluster-label", "profile", "kubeconfig", "context"});
  return WithSettingsOf(std::move(command), further);
}

Flags ConnectionFlags() {
  return {
      OwnFlag("server", "URL", "", "the API server, instead of the kubeconfig's", 's'),
      OwnFlag("token", "TOKEN", "", "who one is to it, instead of the kubeconfig's user"),
      OwnFlag("as", "USER", "", "the user to impersonate"),
      OwnFlag("as-group", "GROUP...", "", "a group to impersonate; may be repeated"),
      OwnFlag("request-timeout", "DURATION", "",
              "how long a request may take at most, as in 5s; without it, or 0, as long as it is "
              "useful")};
}

Flag OwnFlag(const char* name, const char* placeholder, const char* default_value,
             const std::string& help, char letter) {
  return {.name = name,
          .placeholder = placeholder,
          .default_value = default_value,
          .help = help,
          .letter = letter,
          .note = ""};
}

Flag SwitchFlag(const char* name, const char* help, char letter) {
  return OwnFlag(name, "true|false", "false", help, letter);
}

Flag AppFlag(const char* help) { return OwnFlag("app", "OWNER", "", help); }

Flag VerboseFlag() { return SwitchFlag("verbose", "show the log, as --log-level=info", 'v'); }

Flag FilenameFlag(const char* help) { return OwnFlag("filename", "FILE", "", help, 'f'); }

}  // namespace cluster_watcher
