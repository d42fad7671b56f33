#include "watcher/command/completion.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "watcher/command/commands.h"
#include "watcher/command/help.h"
#include "watcher/command/shared_flags.h"

namespace cluster_watcher {
namespace {

using Words = std::vector<std::string>;

Words Split(std::string_view text, char separator) {
  Words parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// --- What a usage says --------------------------------------------------------------------------

// Splits at blanks, but for those in brackets.
Words UsageParts(std::string_view usage) {
  Words parts(1);
  int depth = 0;
  for (const char c : usage.substr(0, usage.find('\n'))) {
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (c == ' ' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool NeedsValue(const std::string& argument) {
  const auto [flag, value] = ReadFlag(SplitLetters(argument).back());
  return flag != nullptr && !value && !flag->IsBoolean();
}

// --- Candidates ---------------------------------------------------------------------------------

struct Candidate {
  std::string text;
  std::string about;
};

struct Candidates {
  std::vector<Candidate> list;
  bool files = false;  // file names are meant

  // Adds what begins with `typed`.
  void Offer(std::string_view typed, const std::string& text, const std::string& about = "") {
    if (text.starts_with(typed)) list.push_back({text, about});
  }
};

// Whether an alternative of a placeholder is written as it stands.
bool IsLiteral(std::string_view text) {
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

// Whether the placeholder is one for files: "FILE", "FILE|DIR", "[FILE],...", but not "PROFILE".
bool MeansFiles(std::string_view placeholder) {
  std::string letters;
  for (const char c : placeholder) letters += c >= 'A' && c <= 'Z' ? c : ' ';
  const Words words = Split(letters, ' ');
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return word == "FILE" || word == "DIR"; });
}

// `before` is the part of the word that each candidate repeats.
Candidates ValuesOf(const std::string& placeholder, std::string_view typed,
                    const std::string& before = "") {
  Candidates candidates;
  candidates.files = MeansFiles(placeholder);
  for (const std::string& choice : Split(placeholder, '|')) {
    if (IsLiteral(choice)) candidates.Offer(before + std::string(typed), before + choice);
  }
  return candidates;
}

Candidates CommandNames(std::string_view typed) {
  Candidates candidates;
  for (const CommandDescription& command : Commands()) {
    candidates.Offer(typed, command.name, command.help);
    for (const std::string& alias : command.aliases) candidates.Offer(typed, alias, command.help);
  }
  return candidates;
}

// Whether the shells take it as it stands.
bool IsPlain(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("-_.:/@+,", c) != nullptr;
  });
}

// Which names a placeholder stands for, of a flag or of an operand.
std::optional<NamesOfWhat> NamesMeant(const std::string& placeholder, std::string_view flag) {
  if (placeholder == "CLUSTER" || flag == "cluster") return NamesOfWhat::kClusters;
  if (placeholder == "NAMESPACE") return NamesOfWhat::kNamespaces;
  if (placeholder == "OWNER") return NamesOfWhat::kOwners;
  if (flag == "context") return NamesOfWhat::kContexts;
  return std::nullopt;
}

// --- The word to complete -----------------------------------------------------------------------

// Says what is to be completed, by the words before.
struct Position {
  Words words;                    // that aren't a flag or its value
  const Flag* waiting = nullptr;  // the flag whose value the word is
  bool flags_ended = false;
  TextMap flags;                       // those that have values
  const NameFinder* finder = nullptr;  // what it points at may be empty

  // nullptr if the first word is no command. Without a word it is watch.
  const CommandDescription* Command() const {
    return FindCommand(words.empty() ? "watch" : words.front());
  }
};

Position PositionAfter(std::span<const char* const> words) {
  Position position;
  for (const std::string word : words) {
    if (position.waiting != nullptr) {
      position.flags[position.waiting->name] = word;
      position.waiting = nullptr;
    } else if (position.flags_ended || word.size() < 2 || !word.starts_with('-')) {
      position.words.push_back(word);
    } else if (word == "--") {
      position.flags_ended = true;
    } else if (NeedsValue(word)) {
      position.waiting = ReadFlag(SplitLetters(word).back()).flag;
    } else if (const auto [flag, value] = ReadFlag(SplitLetters(word).back()); flag && value) {
      position.flags[flag->name] = *value;
    }
  }
  return position;
}

// Adds the names that are meant, but those that are there.
Candidates WithNames(const Position& position, std::optional<NamesOfWhat> meant,
                     std::string_view typed, Candidates candidates,
                     const std::string& before = "") {
  if (!meant || !*position.finder) return candidates;
  for (const std::string& name : (*position.finder)(*meant, position.flags)) {
    const auto& words = position.words;
    if (!IsPlain(name) || std::find(words.begin(), words.end(), name) != words.end()) continue;
    candidates.Offer(before + std::string(typed), before + name);
  }
  return candidates;
}

// The command's own description of the flag, because another's may take other values. Before there
// is a command any may follow. nullptr if the command has no such flag.
const Flag* FlagThere(const Position& position, const Flag& flag) {
  if (position.words.empty()) return &flag;
  const CommandDescription* command = position.Command();
  return command == nullptr ? nullptr : FindFlag(command->flags, flag.name);
}

// Completes a flag's value that is a part of its word: "--output=j", "-o=j" or "-oj".
Candidates AttachedValue(const Position& position, const std::string& typed) {
  const auto [any, value] = ReadFlag(SplitLetters(typed).back());
  const Flag* flag = any == nullptr ? nullptr : FlagThere(position, *any);
  if (flag == nullptr || !value) return {};
  const std::string before = typed.substr(0, typed.size() - value->size());
  const std::string kept = before.ends_with('=') ? "" : before;
  return WithNames(position, NamesMeant(flag->placeholder, flag->name), *value,
                   ValuesOf(flag->placeholder, *value, kept), kept);
}

Candidates FlagNames(const Position& position, std::string_view typed) {
  Candidates candidates;
  const CommandDescription* command = position.Command();
  if (command == nullptr) return candidates;
  for (const Flag& flag : command->flags) {
    if (flag.letter != 0) candidates.Offer(typed, {'-', flag.letter}, Explained(flag));
    candidates.Offer(typed, "--" + flag.name + (flag.IsBoolean() ? "" : "="), Explained(flag));
  }
  candidates.Offer(typed, "-h", "show how it is used");
  candidates.Offer(typed, "--help", "show how it is used");
  if (position.words.empty()) candidates.Offer(typed, "--version", "show the version");
  return candidates;
}

Candidates OperandsFor(const Position& position, const std::string& typed) {
  if (position.words.empty()) return CommandNames(typed);
  const CommandDescription* command = position.Command();
  if (command == nullptr) return {};
  const Usage usage = ReadUsage(command->usage);
  if (position.flags_ended && usage.ends_in_program) return {.list = {}, .files = true};
  if (usage.operands.empty()) return {};
  const std::size_t last = usage.operands.size() - 1;
  std::size_t at = position.words.size() - 1;
  if (usage.repeats) at = std::min(at, last);
  if (at > last) return {};
  const std::string& placeholder = usage.operands[at];
  if (placeholder == "COMMAND") return CommandNames(typed);
  return WithNames(position, NamesMeant(placeholder, ""), typed, ValuesOf(placeholder, typed));
}

Candidates CandidatesFor(const Position& position, const std::string& typed) {
  if (position.waiting != nullptr) {
    const Flag* flag = FlagThere(position, *position.waiting);
    if (flag == nullptr) return {};
    return WithNames(position, NamesMeant(flag->placeholder, flag->name), typed,
                     ValuesOf(flag->placeholder, typed));
  }
  if (position.flags_ended || !typed.starts_with('-')) return OperandsFor(position, typed);
  const bool is_long = typed.starts_with("--");
  const bool has_value = is_long ? typed.find('=') != typed.npos : typed.size() > 2;
  return has_value ? AttachedValue(position, typed) : FlagNames(position, typed);
}

}  // namespace

Usage ReadUsage(std::string_view text) {
  Usage usage;
  const Words parts = UsageParts(text);
  for (std::size_t i = 1; i < parts.size(); ++i) {  // after the command's name
    const std::string& part = parts[i];
    const std::size_t begin = std::min(part.find_first_not_of("[("), part.size());
    const std::string inner = part.substr(begin, part.find_first_of("]) .", begin) - begin);
    if (inner == "--") {
      usage.ends_in_program = true;
      return usage;
    }
    if (inner.starts_with('-')) {
      if (begin == 0 && NeedsValue(part)) ++i;
    } else if (!inner.empty() && inner != "FLAGS") {
      usage.operands.push_back(inner);
      usage.repeats = part.find("...") != part.npos;
    }
  }
  return usage;
}

std::optional<Shell> ParseShell(std::string_view name) {
  if (name == "bash") return Shell::kBash;
  if (name == "zsh") return Shell::kZsh;
  if (name == "fish") return Shell::kFish;
  return std::nullopt;
}

std::string Complete(std::span<const char* const> words, const NameFinder& find) {
  const std::string typed = words.empty() ? "" : words.back();
  Position position = PositionAfter(words.empty() ? words : words.first(words.size() - 1));
  position.finder = &find;
  const Candidates candidates = CandidatesFor(position, typed);
  std::string text;
  bool no_space = !candidates.list.empty();
  for (const auto& [candidate, about] : candidates.list) {
    text += candidate;
    if (!about.empty()) text.append("\t").append(about);
    text += '\n';
    no_space = no_space && candidate.ends_with('=');
  }
  return text + ":" + std::to_string((no_space ? 2 : 0) + (candidates.files ? 0 : 4)) + "\n";
}

CommandDescription DescribeCompletion() {
  return {.name = "completion",
          .command = Command::kCompletion,
          .usage = "completion bash|zsh|fish",
          .help = "Print what makes a shell complete commands, flags and their values",
          .flags = {},
          .about =
              "In ~/.bashrc, in ~/.zshrc, and once for fish:\n"
              "  source <(cluster-watcher completion bash)\n"
              "  source <(cluster-watcher completion zsh)\n"
              "  cluster-watcher completion fish \\\n"
              "  >~/.config/fish/completions/cluster-watcher.fish\n",
          .ending = kUsualExits};
}

}  // namespace cluster_watcher
