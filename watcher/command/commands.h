// The commands and their flags, as people see them. A command is added here, and in main.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cluster_watcher {

enum class Command { kWatch, kCheck, kInject, kWebhook, kVersion };

// A flag of one command or more: what is called the same in two of them is read the same.
struct Flag {
  std::string name;  // without dashes
  std::string placeholder;
  std::string default_value;  // "" for none
  std::string help;
  char letter = 0;     // -f; 0: none
  std::string note;    // behind the default
  bool is_own = true;  // false: one of the settings of watch

  bool IsBoolean() const { return placeholder == "true|false"; }
};

using Flags = std::vector<Flag>;

struct CommandDescription {
  std::string name;
  std::optional<Command> command;  // nullopt: help, which is answered here
  std::string usage;
  std::string help;
  Flags flags;
  std::string about;   // what stands before the flags
  std::string ending;  // and behind them
};

const std::vector<CommandDescription>& Commands();
const CommandDescription* FindCommand(std::string_view name);     // nullptr: there is none
const Flag* FindFlag(const Flags& flags, std::string_view name);  // nullptr: there is none
const Flags& AllFlags();                                          // each name once

// What `help COMMAND` prints; nullptr: what `help` does.
std::string HelpFor(const CommandDescription* command);

}  // namespace cluster_watcher
