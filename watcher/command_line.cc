#include "watcher/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/names.h"
#include "probes/result.h"

namespace cluster_watcher {
namespace {

using Words = std::vector<std::string>;

struct CommandDescription {
  std::string name;
  std::string usage;
  std::string help;
};

const std::vector<CommandDescription>& Commands() {
  static const std::vector<CommandDescription> commands = {
      {"watch", "[watch] [FLAGS]",
       "Watch the owner of this pod's cluster; delete the cluster once it is abandoned"},
      {"check", "check [CLUSTER] [-o text|json] [FLAGS]",
       "Look once, and say what watch would make of it and why"},
      {"version", "version", "Show the version"},
      {"help", "help [COMMAND]", "Show how the program, or a command, is used"},
  };
  return commands;
}

const CommandDescription* FindCommand(std::string_view name) {
  const auto found =
      std::find_if(Commands().begin(), Commands().end(),
                   [name](const CommandDescription& command) { return command.name == name; });
  return found == Commands().end() ? nullptr : &*found;
}

const SettingDescription* FindSetting(std::string_view name) {
  const std::vector<SettingDescription>& all = SettingDescriptions();
  const auto found = std::find_if(
      all.begin(), all.end(), [name](const SettingDescription& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

bool IsBoolean(const SettingDescription& setting) { return setting.placeholder == "true|false"; }

std::string See(const std::string& command) {
  return "See \"cluster-watcher help" + (command.empty() ? "" : " " + command) + "\"";
}

// --- Help ---------------------------------------------------------------------------------------

constexpr std::size_t kWidth = 100;

// `left` in a column of its own, `right` beside it, broken between words.
std::string Row(const std::string& left, const std::string& right, std::size_t column) {
  std::string text = left;
  std::size_t used = left.size();
  if (used + 2 > column) {
    text += "\n";
    used = 0;
  }
  text.append(column - used, ' ');
  used = column;
  for (std::size_t begin = 0; begin < right.size();) {
    const std::size_t end = std::min(right.find(' ', begin), right.size());
    const std::string word = right.substr(begin, end - begin);
    begin = end + 1;
    if (used > column && used + 1 + word.size() > kWidth) {
      text += "\n" + std::string(column, ' ');
      used = column;
    }
    if (used > column) {
      text += ' ';
      ++used;
    }
    text += word;
    used += word.size();
  }
  return text + "\n";
}

std::string SettingRow(const SettingDescription& setting) {
  const std::string flag = setting.name + (IsBoolean(setting) ? "[=" + setting.placeholder + "]"
                                                              : "=" + setting.placeholder);
  std::string help = setting.help;
  if (!setting.default_value.empty()) help += " (default " + setting.default_value + ")";
  if (!setting.from_annotation) help += " (not by annotation)";
  return Row((setting.name == "namespace" ? "  -n, --" : "      --") + flag, help, 38);
}

std::string GeneralHelp() {
  std::string text =
      "cluster-watcher deletes an ephemeral compute cluster once its driver is gone.\n\n"
      "Usage:\n  cluster-watcher [COMMAND] [FLAGS]\n\nCommands:\n";
  for (const CommandDescription& command : Commands()) {
    text += Row("  " + command.name, command.help, 12);
  }
  return text +
         "\nWithout a command it is watch. Flags stand before or after the command.\n\n"
         "Exit codes:\n"
         "  0  done\n"
         "  1  failed\n"
         "  2  wrong usage or settings\n\n"
         "\"cluster-watcher help COMMAND\" shows the flags of a command.\n";
}

std::string WatchHelp() {
  std::string text =
      "A setting is taken from its flag, else from the environment, else from the pod's\n"
      "annotation, else it has its default:\n"
      "  --poll-interval=10s\n"
      "  CLUSTER_WATCHER_POLL_INTERVAL=10s\n"
      "  cluster-watcher/poll-interval: 10s\n"
      "A flag that is given twice: the last counts. A duration is written as 500ms, 1m30s or 24h.\n"
      "\nFlags:\n";
  for (const SettingDescription& setting : SettingDescriptions()) text += SettingRow(setting);
  return text + Row("  -h, --help", "show this", 38);
}

std::string CheckHelp() {
  return "One sure look at the cluster CLUSTER, else at that of the pod. It changes nothing.\n\n"
         "Flags:\n" +
         Row("  -o, --output=text|json", "how the outcome is shown (default text)", 28) +
         Row("  -h, --help", "show this", 28) +
         "and all flags of watch: \"cluster-watcher help watch\" shows them.\n\n"
         "Exit codes:\n"
         "  0  keep\n"
         "  1  no such cluster\n"
         "  2  neither a cluster nor a pod given, or wrong usage or settings\n"
         "  3  abandoned\n"
         "  4  unknown\n";
}

HelpText HelpFor(const CommandDescription* command) {
  if (command == nullptr) return {GeneralHelp()};
  std::string text = command->help + ".\n\nUsage:\n  cluster-watcher " + command->usage + "\n";
  if (command->name == "watch") text += "\n" + WatchHelp();
  if (command->name == "check") text += "\n" + CheckHelp();
  return {text};
}

// --- Suggestions --------------------------------------------------------------------------------

// Levenshtein's distance: how many letters to add, take away or change.
std::size_t EditDistance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t changed = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

// The candidate that `typed` was probably meant to be; empty: none is near.
std::string Nearest(std::string_view typed, const Words& candidates) {
  std::string nearest;
  std::size_t least = std::min<std::size_t>(2, typed.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = EditDistance(typed, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string UnknownFlag(const std::string& argument, const std::string& command) {
  const std::string flag = argument.substr(0, argument.find('='));
  Words known = {"output", "help", "version"};
  for (const SettingDescription& setting : SettingDescriptions()) known.push_back(setting.name);
  const std::string name = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  const std::string nearest = Nearest(name, known);
  const std::string quoted = Quoted(flag);
  return "unknown flag: " + quoted.substr(1, quoted.rfind('"') - 1) +
         (nearest.empty() ? ". " : "; did you mean --" + nearest + "? ") + See(command);
}

// For a word that may have been meant as the value of a boolean.
std::string BooleanHint(const std::string& word) {
  if (word != "true" && word != "false") return ". ";
  return ": a boolean takes its value by \"=\", as in --dry-run=" + word + ". ";
}

std::string UnknownCommand(const std::string& word) {
  Words known;
  for (const CommandDescription& command : Commands()) known.push_back(command.name);
  const std::string nearest = Nearest(word, known);
  return "unknown command " + Quoted(word) +
         (nearest.empty() ? BooleanHint(word) : "; did you mean " + nearest + "? ") + See("");
}

// --- Parsing ------------------------------------------------------------------------------------

// What stands on the command line, before it is made sense of.
struct Scanned {
  TextMap flags;
  std::optional<std::string> output;
  bool version = false;
  Words words;                // in order, what isn't a flag or its value
  Words unknown_flags;        // as given
  std::string missing_value;  // the flag that is last and lacks its value; empty: none
};

// CLI11 takes `--flag=` for `--flag`, `-n=x` for `-n` with "=x", and knows no flag that takes a
// value by "=" only. Each is put the way that CLI11 reads as meant.
Words ForCli11(std::span<const char* const> arguments) {
  Words prepared;
  bool flags_ended = false;
  for (const std::string argument : arguments) {
    flags_ended = flags_ended || argument == "--";
    const std::size_t equals = argument.find('=');
    const bool is_long = argument.starts_with("--");
    const bool is_empty_long = is_long && equals > 2 && equals == argument.size() - 1;
    const bool is_valued_short = !is_long && argument.starts_with('-') && equals == 2;
    const SettingDescription* setting = is_long ? FindSetting(argument.substr(2)) : nullptr;
    if (!flags_ended && setting != nullptr && IsBoolean(*setting)) {
      prepared.push_back(argument + "=true");
    } else if (!flags_ended && (is_empty_long || is_valued_short)) {
      prepared.push_back(argument.substr(0, equals));
      prepared.push_back(argument.substr(equals + 1));
    } else {
      prepared.push_back(argument);
    }
  }
  return prepared;
}

// What CLI11 could not place: unknown flags and words, in order.
void SortRemaining(const Words& remaining, Scanned& scanned) {
  bool flags_ended = false;
  for (const std::string& argument : remaining) {
    if (!flags_ended && argument == "--") {
      flags_ended = true;
    } else if (!flags_ended && argument.size() > 1 && argument.starts_with('-')) {
      scanned.unknown_flags.push_back(argument);
    } else {
      scanned.words.push_back(argument);
    }
  }
}

Result<Scanned> Scan(std::span<const char* const> arguments) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<std::pair<std::string, CLI::Option*>> settings;
  for (const SettingDescription& setting : SettingDescriptions()) {
    const std::string short_name = setting.name == "namespace" ? "-n," : "";
    CLI::Option* option = app.add_option(short_name + "--" + setting.name);
    settings.emplace_back(setting.name, option->take_last());
  }
  const CLI::Option* output = app.add_option("-o,--output")->take_last();
  const CLI::Option* version = app.add_flag("--version");

  Scanned scanned;
  Words prepared = ForCli11(arguments);
  const std::string last = prepared.empty() ? "" : prepared.back();
  std::reverse(prepared.begin(), prepared.end());
  try {
    app.parse(prepared);
  } catch (const CLI::ArgumentMismatch&) {
    scanned.missing_value = last;
  } catch (const CLI::Error& error) {
    return Failure(error.what());
  }
  for (const auto& [name, option] : settings) {
    if (option->count() > 0) scanned.flags[name] = option->results().back();
  }
  if (output->count() > 0) scanned.output = output->results().back();
  scanned.version = version->count() > 0;
  SortRemaining(app.remaining(), scanned);
  return scanned;
}

// A flag where a value is expected: more likely the value was forgotten.
bool LooksLikeFlag(std::string_view value) { return value.starts_with("--"); }

std::string NeedsValue(const std::string& flag) {
  const std::string name = flag == "-n" ? "namespace" : flag.substr(flag.find_first_not_of('-'));
  const SettingDescription* setting = FindSetting(name);
  const std::string placeholder = setting != nullptr ? setting->placeholder : "text|json";
  return flag + " needs a value: " + flag + (flag.size() == 2 ? " " : "=") + placeholder;
}

Words FlagErrors(const Scanned& scanned, const std::string& command) {
  Words errors;
  for (const std::string& flag : scanned.unknown_flags) {
    errors.push_back(UnknownFlag(flag, command));
  }
  for (const auto& [name, value] : scanned.flags) {
    if (LooksLikeFlag(value)) errors.push_back(NeedsValue("--" + name));
  }
  if (scanned.output && LooksLikeFlag(*scanned.output)) errors.push_back(NeedsValue("--output"));
  if (!scanned.missing_value.empty()) errors.push_back(NeedsValue(scanned.missing_value));
  return errors;
}

std::string UnexpectedWord(const std::string& command, const std::string& word) {
  return command + ": unexpected " + Quoted(word) + BooleanHint(word) + See(command);
}

Words ReadCheck(const Scanned& scanned, const Words& rest, Invocation& invocation) {
  Words errors;
  if (!rest.empty()) {
    invocation.cluster = rest.front();
    if (invocation.cluster.empty()) errors.push_back("check: CLUSTER is empty: give its name");
    const auto flag = scanned.flags.find("cluster");
    if (flag != scanned.flags.end() && flag->second != invocation.cluster) {
      errors.push_back("check: CLUSTER " + Quoted(invocation.cluster) + " contradicts --cluster " +
                       Quoted(flag->second) + ": give one of them");
    }
    invocation.flags["cluster"] = invocation.cluster;
  }
  for (std::size_t i = 1; i < rest.size(); ++i) errors.push_back(UnexpectedWord("check", rest[i]));
  if (scanned.output == "json") {
    invocation.output = OutputFormat::kJson;
  } else if (scanned.output && scanned.output != "text") {
    errors.push_back("--output: " + Quoted(*scanned.output) + " is unknown: give text or json");
  }
  return errors;
}

Words ReadWatch(const Scanned& scanned, const Words& rest) {
  Words errors;
  for (const std::string& word : rest) errors.push_back(UnexpectedWord("watch", word));
  if (scanned.output) errors.push_back("--output is a flag of check, not of watch");
  return errors;
}

Words ReadVersion(const Scanned& scanned, const Words& rest) {
  Words errors;
  for (const std::string& word : rest) errors.push_back(UnexpectedWord("version", word));
  for (const auto& [name, value] : scanned.flags) {
    errors.push_back("--" + name + " is a flag of watch and check, not of version");
  }
  if (scanned.output) errors.push_back("--output is a flag of check, not of version");
  return errors;
}

CommandLine ReadHelp(const Words& rest) {
  if (rest.empty()) return HelpFor(nullptr);
  if (rest.size() > 1) return UsageErrors{{UnexpectedWord("help", rest[1])}};
  const CommandDescription* command = FindCommand(rest.front());
  if (command == nullptr) return UsageErrors{{UnknownCommand(rest.front())}};
  return HelpFor(command);
}

// Help is given whatever else is right or wrong. A flag's value that is called like a command may
// pass for one here.
std::optional<HelpText> HelpWhereAsked(std::span<const char* const> arguments) {
  const auto is_help = [](std::string_view word) { return word == "--help" || word == "-h"; };
  const auto end = std::find(arguments.begin(), arguments.end(), std::string_view("--"));
  if (std::none_of(arguments.begin(), end, is_help)) return std::nullopt;
  for (auto word = arguments.begin(); word != end; ++word) {
    if (const CommandDescription* command = FindCommand(*word)) return HelpFor(command);
  }
  return HelpFor(nullptr);
}

}  // namespace

CommandLine ParseCommandLine(std::span<const char* const> arguments) {
  if (!arguments.empty()) arguments = arguments.subspan(1);
  if (const std::optional<HelpText> help = HelpWhereAsked(arguments)) return *help;
  const Result<Scanned> scanned = Scan(arguments);
  if (!scanned) return UsageErrors{{scanned.error().message}};

  Words rest = scanned->words;
  std::string command = scanned->version ? "version" : "watch";
  const bool given = !rest.empty() && FindCommand(rest.front()) != nullptr;
  if (given) {
    if (!scanned->version) command = rest.front();
    rest.erase(rest.begin());
  }
  // With an unknown flag nobody knows which words are values, so they are not judged.
  if (Words errors = FlagErrors(*scanned, given ? command : "watch"); !errors.empty()) {
    return UsageErrors{errors};
  }
  if (!given && !rest.empty()) return UsageErrors{{UnknownCommand(rest.front())}};
  if (command == "help") return ReadHelp(rest);

  Invocation invocation;
  invocation.flags = scanned->flags;
  Words errors;
  if (command == "check") {
    invocation.command = Command::kCheck;
    errors = ReadCheck(*scanned, rest, invocation);
  } else if (command == "version") {
    invocation.command = Command::kVersion;
    errors = ReadVersion(*scanned, rest);
  } else {
    errors = ReadWatch(*scanned, rest);
  }
  if (!errors.empty()) return UsageErrors{errors};
  return invocation;
}

}  // namespace cluster_watcher
