// Finds what shells complete on the program's command line. All of it is read from the table of
// commands: flags, the words in a placeholder such as "text|json", file names where one is FILE or
// DIR, and what follows a command from its usage: "check [CLUSTER] [FLAGS]" takes a CLUSTER, "help
// [COMMAND]" the name of a command, and what follows "--" in a usage is another program's.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "watcher/command/commands.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

enum class Shell { kBash, kZsh, kFish };
std::optional<Shell> ParseShell(std::string_view name);

// Returns the script that makes the shell ask `cluster-watcher __complete` for what to complete.
std::string CompletionScript(Shell shell);

// Names that only the kubeconfig and the cluster know.
enum class NamesOfWhat { kClusters, kNamespaces, kContexts, kOwners };
// Finds them by the flags that were typed before, without dashes.
using NameFinder = std::function<std::vector<std::string>(NamesOfWhat what, const TextMap& flags)>;

// Returns what `cluster-watcher __complete WORDS...` prints: the candidates for the last word,
// which may be empty, one on each line, with a TAB and a description where there is one. Where that
// word is a flag with a "=", they stand for what follows it. The last line is ":" and the sum of 2,
// if no space follows the candidate, and 4, if file names aren't meant. kubectl asks its plugins
// for the same (cobra's ShellCompDirective). Names that a shell would need quotes for are left out.
std::string Complete(std::span<const char* const> words, const NameFinder& find = {});

// The words after the command's name by its usage, flags left out.
struct Usage {
  std::vector<std::string> operands;  // placeholders, in order, without brackets
  bool repeats = false;               // the last of them
  bool ends_in_program = false;       // "--" and the command line of another program
};
Usage ReadUsage(std::string_view usage);

CommandDescription DescribeCompletion();

}  // namespace cluster_watcher
