#include "watcher/command/command_line.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "watcher/command/help.h"
#include "watcher/command/man_page.h"
#include "watcher/command/print_errors.h"

namespace cluster_watcher {
namespace {

using Words = std::vector<std::string>;

std::string See(const std::string& command) {
  return "See \"cluster-watcher help" + (command.empty() ? "" : " " + command) + "\"";
}

// --- Suggestions --------------------------------------------------------------------------------

// The Levenshtein distance: how many letters to add, remove or change.
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

// Returns the candidate that `typed` was probably meant to be; empty if none is near.
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

std::string UnknownFlag(const std::string& argument, const CommandDescription& command) {
  const std::string flag = argument.substr(0, argument.find('='));
  Words known = {"help", "version"};
  for (const Flag& one : command.flags) known.push_back(one.name);
  const std::string name = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  const std::string nearest = Nearest(name, known);
  const std::string quoted = Quoted(flag);
  return "unknown flag: " + quoted.substr(1, quoted.rfind('"') - 1) +
         (nearest.empty() ? ". " : "; did you mean --" + nearest + "? ") + See(command.name);
}

// Returns a hint for a word that may have been meant as the value of `boolean`; nullptr: of none.
std::string BooleanHint(const std::string& word, const Flag* boolean) {
  if ((word != "true" && word != "false") || boolean == nullptr) return ". ";
  return ": a boolean takes its value by \"=\", as in --" + boolean->name + "=" + word + ". ";
}

std::string UnknownCommand(const std::string& word) {
  Words known;
  for (const CommandDescription& command : Commands()) {
    known.push_back(command.name);
    known.insert(known.end(), command.aliases.begin(), command.aliases.end());
  }
  const std::string nearest = word == "describe" ? "check" : Nearest(word, known);
  return "unknown command " + Quoted(word) +
         (nearest.empty() ? BooleanHint(word, FindFlagOfAny(&Flag::IsBoolean))
                          : "; did you mean " + nearest + "? ") +
         See("");
}

// --- Parsing ------------------------------------------------------------------------------------

// The parts of the command line, not yet interpreted.
struct Scanned {
  std::map<std::string, Words> flags;  // the values given, in order, at least one
  bool version = false;
  std::optional<std::size_t> ended;  // how many words there were before --
  Words words;                       // arguments that aren't a flag or its value, in order
  Words unknown_flags;               // as given
  std::string missing_value;         // the last argument, if it is a flag that lacks its value
};

Scanned Scan(std::span<const char* const> arguments) {
  Scanned scanned;
  bool flags_ended = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i];
    if (flags_ended || argument.size() < 2 || !argument.starts_with('-')) {
      scanned.words.push_back(argument);
    } else if (argument == "--") {
      flags_ended = true;
      scanned.ended = scanned.words.size();
    } else if (argument == "--version" || argument.starts_with("--version=")) {
      scanned.version = true;
      if (argument.ends_with('=')) scanned.words.emplace_back();
    } else {
      for (const std::string& one : SplitLetters(argument)) {
        const auto [flag, value] = ReadFlag(one);
        if (flag == nullptr) {
          scanned.unknown_flags.push_back(one);
        } else if (value || flag->IsBoolean()) {
          scanned.flags[flag->name].push_back(value.value_or("true"));
        } else if (i + 1 < arguments.size()) {
          scanned.flags[flag->name].push_back(arguments[++i]);
        } else {
          scanned.missing_value = one;
        }
      }
    }
  }
  return scanned;
}

// If a value looks like a flag, the real value was probably forgotten.
bool LooksLikeFlag(std::string_view value) { return value.starts_with("--"); }

// `given` includes the dashes.
std::string NeedsValue(const std::string& given, const CommandDescription& command) {
  const std::string name = given.substr(std::min(given.find_first_not_of('-'), given.size()));
  const auto is_it = [&](const Flag& flag) {
    return name == flag.name || name == std::string(1, flag.letter);
  };
  const Flag* flag = FindFlag(command.flags, is_it);
  if (flag == nullptr) flag = FindFlagOfAny(is_it);
  return given + " needs a value: " + given + (given.size() == 2 ? " " : "=") +
         (flag == nullptr ? "VALUE" : flag->placeholder);
}

Words FlagErrors(const Scanned& scanned, const CommandDescription& command) {
  Words errors;
  for (const std::string& flag : scanned.unknown_flags) {
    errors.push_back(UnknownFlag(flag, command));
  }
  for (const auto& [name, values] : scanned.flags) {
    if (std::any_of(values.begin(), values.end(), LooksLikeFlag)) {
      errors.push_back(NeedsValue("--" + name, command));
    }
  }
  if (!scanned.missing_value.empty()) {
    errors.push_back(NeedsValue(scanned.missing_value, command));
  }
  return errors;
}

constexpr std::size_t kMostNamed = 3;

// Returns the commands that have the flag: "watch", "watch and check", "watch, check and 5 others".
std::string CommandsWith(const std::string& flag) {
  Words names;
  for (const CommandDescription& command : Commands()) {
    if (FindFlag(command.flags, flag) != nullptr) names.push_back(command.name);
  }
  if (names.size() > kMostNamed) {
    const std::size_t others = names.size() - (kMostNamed - 1);
    names.resize(kMostNamed - 1);
    names.push_back(std::to_string(others) + " others");
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

std::string UnexpectedWord(const CommandDescription& command, const std::string& word,
                           bool lacks_program = false) {
  const std::string hint = lacks_program
                               ? ": a program comes after --. "
                               : BooleanHint(word, FindFlag(command.flags, &Flag::IsBoolean));
  return command.name + ": unexpected " + Quoted(word) + hint + See(command.name);
}

std::string InLines(const Words& words) {
  return std::accumulate(
      std::next(words.begin()), words.end(), words.front(),
      [](std::string all, const std::string& one) { return std::move(all) + "\n" + one; });
}

// Reads the flags as all commands do: refuses flags of other commands, checks booleans and fills in
// defaults. Settings have other sources too, so their values and defaults are left to those.
Words ReadFlags(const Scanned& scanned, const CommandDescription& command, Invocation& invocation) {
  Words errors;
  const bool has_settings = std::any_of(command.flags.begin(), command.flags.end(),
                                        [](const Flag& flag) { return !flag.is_own; });
  const auto read = [&](const Flag& flag) -> std::string& {
    return (flag.is_own && has_settings ? invocation.options : invocation.flags)[flag.name];
  };
  for (const Flag& flag : command.flags) {
    if (flag.is_own && !flag.default_value.empty()) read(flag) = flag.default_value;
  }
  for (const auto& [name, values] : scanned.flags) {
    const Flag* flag = FindFlag(command.flags, name);
    const bool repeats = flag != nullptr && flag->is_own && flag->placeholder.ends_with("...");
    const std::string value = repeats ? InLines(values) : values.back();
    if (flag == nullptr) {
      errors.push_back("--" + name + " is a flag of " + CommandsWith(name) + ", not of " +
                       command.name);
    } else if (flag->is_own && flag->IsBoolean() && value != "true" && value != "false") {
      errors.push_back("--" + name + ": " + Quoted(value) + ": give true or false");
    } else {
      read(*flag) = value;
    }
  }
  return errors;
}

void ReadCluster(const CommandDescription& command, Words& words, Invocation& invocation,
                 Words& errors) {
  const auto all = invocation.options.find("namespace-wide");
  const bool is_for_all = all != invocation.options.end() && all->second == "true";
  if (is_for_all || words.empty()) return;
  const std::size_t taken = ReadUsage(command.usage).repeats ? words.size() : 1;
  for (std::size_t i = 0; i < taken; ++i) {
    std::string& name = words[i];
    if (name.starts_with(kNamePrefix)) name.erase(0, kNamePrefix.size());
    if (name.empty()) {
      errors.push_back(command.name + ": CLUSTER is empty: give its name");
    } else if (!IsLabelValue(name)) {
      errors.push_back(command.name + ": " + Quoted(name) +
                       " is no name of a cluster: give the value of its label");
    }
    if (i > 0) invocation.words.push_back(name);
  }
  invocation.cluster = words.front();
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(taken));
  const auto flag = invocation.flags.find("cluster");
  if (flag != invocation.flags.end() && flag->second != invocation.cluster) {
    errors.push_back(command.name + ": CLUSTER " + Quoted(invocation.cluster) +
                     " contradicts --cluster " + Quoted(flag->second) + ": give one of them");
  }
  invocation.flags["cluster"] = invocation.cluster;
}

// The formats are the words of the flag's placeholder, the first one being plain.
void ReadOutput(const CommandDescription& command, Invocation& invocation, Words& errors) {
  const Flag* flag = FindFlag(command.flags, "output");
  const std::string& output = invocation.options["output"];
  if (("|" + flag->placeholder + "|").find("|" + output + "|") == std::string::npos) {
    std::string words = flag->placeholder;
    words.replace(words.rfind('|'), 1, " or ");
    for (std::size_t bar = 0; (bar = words.find('|')) != std::string::npos;) {
      words.replace(bar, 1, ", ");
    }
    // "jsonpath=..." and the like
    const bool is_part = output.find('=') != std::string::npos;
    errors.push_back("--output: " + Quoted(output) + " is unknown: give " + words +
                     (is_part ? "; for parts of it, -o json | jq" : ""));
  }
  invocation.output = output == "json"   ? OutputFormat::kJson
                      : output == "yaml" ? OutputFormat::kYaml
                      : output == "name" ? OutputFormat::kName
                      : output == "wide" ? OutputFormat::kWide
                                         : OutputFormat::kText;
}

void ReadFiles(const Scanned& scanned, Invocation& invocation, Words& errors) {
  invocation.flags.erase("filename");
  invocation.options.erase("filename");
  const auto files = scanned.flags.find("filename");
  if (files != scanned.flags.end()) invocation.files = files->second;
  if (std::count(invocation.files.begin(), invocation.files.end(), "") > 0) {
    errors.push_back("--filename is empty: give a file, or - for the standard input");
  }
  if (std::count(invocation.files.begin(), invocation.files.end(), "-") > 1) {
    errors.push_back("--filename: the standard input can be read only once");
  }
}

void ReadCompletion(Words& words, Invocation& invocation, Words& errors) {
  const std::string word = words.empty() ? "" : words.front();
  if (!words.empty()) words.erase(words.begin());
  if (const std::optional<Shell> shell = ParseShell(word)) {
    invocation.shell = *shell;
  } else {
    errors.push_back("completion: " + (word.empty() ? "no shell" : Quoted(word) + " is unknown") +
                     ": give bash, zsh or fish");
  }
}

CommandLine ReadHelp(const Words& rest) {
  if (rest.empty()) return HelpText{HelpFor(nullptr)};
  if (rest.size() > 1) return UsageErrors{{UnexpectedWord(*FindCommand("help"), rest[1])}};
  const CommandDescription* command = FindCommand(rest.front());
  if (command == nullptr) return UsageErrors{{UnknownCommand(rest.front())}};
  return HelpText{HelpFor(command)};
}

// The commands of shells, kubectl and the installation. Their words aren't checked.
std::optional<HelpText> HiddenCommand(std::span<const char* const> arguments) {
  if (arguments.empty()) return std::nullopt;
  if (arguments[0] == std::string_view("__complete"))
    return HelpText{Complete(arguments.subspan(1))};
  if (arguments[0] == std::string_view("__man")) return HelpText{ManPage()};
  return std::nullopt;
}

// A request for help wins over any error. A flag's value that equals a command's name is taken for
// the command here.
std::optional<HelpText> HelpWhereAsked(std::span<const char* const> arguments) {
  const auto is_help = [](std::string_view word) {
    if (word == "--help") return true;
    return word.starts_with('-') && SplitLetters(std::string(word)).back() == "-h";
  };
  const auto end = std::find(arguments.begin(), arguments.end(), std::string_view("--"));
  if (std::none_of(arguments.begin(), end, is_help)) return std::nullopt;
  for (auto word = arguments.begin(); word != end; ++word) {
    if (const CommandDescription* command = FindCommand(*word)) return HelpText{HelpFor(command)};
  }
  return HelpText{HelpFor(nullptr)};
}

}  // namespace

CommandLine ParseCommandLine(std::span<const char* const> arguments) {
  if (!arguments.empty()) arguments = arguments.subspan(1);
  if (const std::optional<HelpText> answer = HiddenCommand(arguments)) return *answer;
  if (const std::optional<HelpText> help = HelpWhereAsked(arguments)) return *help;
  const Scanned scanned = Scan(arguments);

  Words rest = scanned.words;
  const CommandDescription* command = FindCommand(scanned.version ? "version" : "watch");
  const CommandDescription* given = rest.empty() ? nullptr : FindCommand(rest.front());
  Words program;
  if (given != nullptr && given->takes_program && scanned.ended.value_or(0) > 0) {
    program.assign(rest.begin() + static_cast<std::ptrdiff_t>(*scanned.ended), rest.end());
    rest.resize(*scanned.ended);
  }
  if (given != nullptr) {
    if (!scanned.version) command = given;
    rest.erase(rest.begin());
  }
  const int exit = command->takes_program ? kRunFailedExit : kUsageExit;
  // After an unknown flag it isn't clear which words are values, so words aren't judged.
  if (Words errors = FlagErrors(scanned, *command); !errors.empty()) {
    return UsageErrors{errors, exit};
  }
  if (given == nullptr && !rest.empty()) return UsageErrors{{UnknownCommand(rest.front())}};
  if (!command->command) return ReadHelp(rest);

  Invocation invocation;
  invocation.command = *command->command;
  invocation.words = std::move(program);
  Words errors = ReadFlags(scanned, *command, invocation);
  if (command->takes_cluster) ReadCluster(*command, rest, invocation, errors);
  if (invocation.options.contains("output")) ReadOutput(*command, invocation, errors);
  const bool takes_word =
      invocation.command == Command::kHold || invocation.command == Command::kEnable;
  if (takes_word && !rest.empty()) {
    invocation.words.push_back(rest.front());
    rest.erase(rest.begin());
  }
  if (FindFlag(command->flags, "filename") != nullptr) ReadFiles(scanned, invocation, errors);
  if (invocation.command == Command::kCompletion) ReadCompletion(rest, invocation, errors);
  Words unexpected;
  const bool lacks_program = command->takes_program && invocation.words.empty();
  for (const std::string& word : rest) {
    unexpected.push_back(UnexpectedWord(*command, word, lacks_program));
    if (lacks_program) break;  // the others are its arguments
  }
  errors.insert(errors.begin(), unexpected.begin(), unexpected.end());
  if (!errors.empty()) return UsageErrors{errors, exit};
  return invocation;
}

}  // namespace cluster_watcher
