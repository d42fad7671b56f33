// The commands and their flags. To add one: a value of Command here, its description beside its
// function, a row in commands.cc, and a case in Run (dispatch.h). Help, the completion in shells
// and the man page are made of the rows.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cluster_watcher {

enum class Command {
  kWatch,
  kRun,
  kCreate,
  kAwait,
  kClaim,
  kRelease,
  kDelete,
  kSweep,
  kHold,
  kUnhold,
  kList,
  kCheck,
  kDoctor,
  kEnable,
  kInject,
  kWebhook,
  kCompletion,
  kVersion
};

// A flag of one or more commands. In all of them, a flag of the same name is parsed the same.
struct Flag {
  std::string name;  // without dashes
  std::string placeholder;
  std::string default_value;  // "" if none
  std::string help;
  char letter = 0;       // -f; 0 if none
  std::string note;      // follows the default in the help
  bool is_own = true;    // false: a setting of watch
  bool is_shown = true;  // in the help of the command

  bool IsBoolean() const { return placeholder == "true|false"; }
};

using Flags = std::vector<Flag>;

struct CommandDescription {
  std::string name;
  std::optional<Command> command;  // nullopt: help, which HelpFor answers
  std::string usage;               // completion.h says what is read from it
  std::string help;
  Flags flags;
  std::string about;   // the text before the flags
  std::string ending;  // the text after them
  std::vector<std::string> aliases = {};
  bool takes_cluster = false;  // the first word is CLUSTER
  bool takes_program = false;  // what follows -- is a program and its arguments
};

const std::vector<CommandDescription>& Commands();
// By its name or an alias; nullptr if there is none.
const CommandDescription* FindCommand(std::string_view name);

using IsFlag = std::function<bool(const Flag&)>;
// The first flag of some flags, or of all commands; nullptr if there is none.
const Flag* FindFlag(const Flags& flags, const IsFlag& is_it);
const Flag* FindFlag(const Flags& flags, std::string_view name);
const Flag* FindFlagOfAny(const IsFlag& is_it);

const CommandDescription& Program();  // the program as a whole

// The program as it is called: "cluster-watcher", or as a plugin "kubectl cluster-watcher".
std::string CalledAs();
// Returns `text`, which is for people, with the commands that it names as they are called.
std::string AsCalled(std::string text);

// A flag in one argument: "--poll-interval", "--poll-interval=5s", "-n", "-nspark" or "-n=spark".
struct GivenFlag {
  const Flag* flag = nullptr;  // of the first command that has it; nullptr: unknown
  std::optional<std::string> value;
};
GivenFlag ReadFlag(const std::string& argument);
// The arguments that one stands for, at least one: "-Aw" is "-A" and "-w", as all letters but the
// last are of flags without a value. Others are themselves.
std::vector<std::string> SplitLetters(std::string argument);

}  // namespace cluster_watcher
