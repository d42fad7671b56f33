// Parses argv into an invocation. Never prints or exits.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "watcher/command/commands.h"
#include "watcher/command/completion.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

enum class OutputFormat { kText, kWide, kJson, kYaml, kName };

// Before a cluster's name, as `list -o name` writes it; where CLUSTER is read it may be there.
inline constexpr std::string_view kNamePrefix = "cluster/";

struct Invocation {
  Command command = Command::kWatch;
  // By name without dashes. For `watch` and `check`: the settings given as flags. For `inject` and
  // `webhook`: their own flags, with defaults for those not given; a boolean is "true" or "false".
  TextMap flags;
  // The own flags of a command that has settings as well, in the same way; the values of one that
  // may be repeated as lines.
  TextMap options;
  std::string cluster;  // `check CLUSTER`, also among the flags; empty: not given
  // The arguments that follow CLUSTER where the command takes more: further clusters; DURATION;
  // `enable NAMESPACE`; or the program of `run` and its arguments.
  std::vector<std::string> words;
  OutputFormat output = OutputFormat::kText;
  std::vector<std::string> files;  // `-f FILE`, in order; empty: not given
  Shell shell = Shell::kBash;      // `completion SHELL`
};

// The text to print on stdout before exiting with 0: `help`, `--help`, and what others than people
// ask for: `__complete WORDS...` (completion.h) and `__man` (man_page.h).
struct HelpText {
  std::string text;
};

// Wrong usage: one line per error, which names the mistake and the remedy; and the exit code.
struct UsageErrors {
  std::vector<std::string> lines;
  int exit = 2;
};

using CommandLine = std::variant<Invocation, HelpText, UsageErrors>;

// Parses as getopt and pflag do: flags and words in any order, `--flag=value` or `--flag value`
// (for a boolean `--flag` or `--flag=value`), letters together (`-Aw`). If a flag is given twice
// the last one counts; `--` ends the flags. The first argument is the program's own name. Values of
// settings are not checked here.
CommandLine ParseCommandLine(std::span<const char* const> arguments);

}  // namespace cluster_watcher
