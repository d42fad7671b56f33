// argv to what was asked for. Prints nothing and exits nowhere.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "watcher/settings.h"

namespace cluster_watcher {

enum class Command { kWatch, kCheck, kVersion };
enum class OutputFormat { kText, kJson };

struct Invocation {
  Command command = Command::kWatch;
  TextMap flags;        // the settings that were given as flags, by name without dashes
  std::string cluster;  // `check CLUSTER`, which is among the flags as well; empty: not given
  OutputFormat output = OutputFormat::kText;
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

// As getopt and pflag read it: flags and words in any order, `--flag=value` or `--flag value` (for
// a boolean `--flag` or `--flag=value`), the last of a flag given twice counts, `--` ends the
// flags. The first argument is the program's own name. The values of settings are not looked at
// here.
CommandLine ParseCommandLine(std::span<const char* const> arguments);

}  // namespace cluster_watcher
