// Flags and texts that the descriptions of several commands share.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "watcher/command/commands.h"

namespace cluster_watcher {

inline constexpr const char* kUsualExits =
    "\nExit codes:\n"
    "  0  done\n"
    "  2  wrong usage\n";

inline constexpr const char* kOwnerForms =
    "OWNER is written as kubectl writes an object, deployment/bob, or as a bare name; a pod means "
    "what\ncontrols it.\n";

Flags SettingFlags();  // of watch
// A flag of another command with the name and meaning of a setting of watch.
Flag LikeSetting(std::string_view name);
// Adds these settings of watch.
CommandDescription WithSettingsOf(CommandDescription command,
                                  std::initializer_list<const char*> names);
// Adds how a command of the driver's side, or of people, reaches its cluster, and further settings
// that it shares with watch.
CommandDescription WithSettings(CommandDescription command,
                                std::initializer_list<const char*> further = {});
// The flags of kubectl by which a command of people reaches the API server in another way than the
// kubeconfig says.
Flags ConnectionFlags();
// A flag that is no setting of watch.
Flag OwnFlag(const char* name, const char* placeholder, const char* default_value,
             const std::string& help, char letter = 0);
Flag SwitchFlag(const char* name, const char* help, char letter = 0);  // off by default
Flag AppFlag(const char* help);                                        // --app=OWNER
Flag VerboseFlag();                                                    // --verbose, -v
Flag FilenameFlag(const char* help);                                   // --filename=FILE, -f

}  // namespace cluster_watcher
