// argv to what was asked for. Prints nothing and exits nowhere.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "watcher/command/commands.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

enum class OutputFormat { kText, kJson };

struct Invocation {
  Command command = Command::kWatch;
  // By name without dashes. `watch` and `check`: the settings that were given as flags. `inject`
  // and `webhook`: their own flags, with the defaults of those that weren't given; a boolean is
  // "true" or "false".
  TextMap flags;
  std::string cluster;  // `check CLUSTER`, which is among the flags as well; empty: not given
  OutputFormat output = OutputFormat::kText;
  std::vector<std::string> files;  // `inject -f FILE`, in order; empty: not given
};

// What is to be printed on stdout, exit 0: `help`, `--help`.
struct HelpText {
  std::string text;
};

// Wrong usage, exit 2: one line for each error, each names the thing and the remedy.
struct UsageErrors {
  std::vector<std::string> lines;
};

using CommandLine = std::variant<Invocation, HelpText, UsageErrors>;

// Reads it as getopt and pflag do: flags and words in any order, `--flag=value` or `--flag value`
// (for a boolean `--flag` or `--flag=value`), the last of a flag given twice counts, `--` ends the
// flags. The first argument is the program's own name. Of values only booleans of `inject` and
// `webhook` are looked at here.
CommandLine ParseCommandLine(std::span<const char* const> arguments);

}  // namespace cluster_watcher
