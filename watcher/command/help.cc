#include "watcher/command/help.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace cluster_watcher {
namespace {

constexpr std::size_t kWidth = 80;

// Appends `text` to `begun`, broken between words; further lines are indented. Brackets stay whole.
std::string Filled(std::string begun, const std::string& text, std::size_t indent) {
  std::size_t used = begun.size() - (begun.rfind('\n') + 1);
  bool is_first = true;  // of its line
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    for (int depth = 0; end < text.size() && (text[end] != ' ' || depth > 0); ++end) {
      depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
    }
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (!is_first && used + 1 + word.size() > kWidth) {
      begun += "\n" + std::string(indent, ' ');
      used = indent;
      is_first = true;
    }
    begun += (is_first ? "" : " ") + word;
    used += (is_first ? 0 : 1) + word.size();
    is_first = false;
  }
  return begun + "\n";
}

// Lets lines run on, but for those that are indented: an example, or a row of two columns.
std::string Wrapped(const std::string& text) {
  std::string wrapped;
  std::string paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) wrapped += Filled("", std::exchange(paragraph, ""), 0);
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (!line.empty() && line.front() != ' ') {
      paragraph += (paragraph.empty() ? "" : " ") + line;
      continue;
    }
    end_paragraph();
    const std::size_t gap = line.find("  ", std::min(line.find_first_not_of(' '), line.size()));
    const std::size_t column = line.find_first_not_of(' ', gap);
    const bool is_row = gap != std::string::npos && column != std::string::npos;
    wrapped += is_row ? FilledRow(line.substr(0, gap), line.substr(column), column) : line + "\n";
  }
  end_paragraph();
  return wrapped;
}

std::string UsageText(const CommandDescription& command) {
  return "\nUsage:\n" + Filled("  " + Program().name + " ", command.usage, 6);
}

constexpr std::size_t kMostColumn = 32;

std::string FlagText(const Flag& flag) {
  const std::string before =
      flag.letter == 0 ? "      --" : std::string("  -") + flag.letter + ", --";
  return before + flag.name +
         (flag.IsBoolean() ? "[=" + flag.placeholder + "]" : "=" + flag.placeholder);
}

std::string FlagRows(const Flags& flags) {
  std::size_t column = 0;
  for (const Flag& flag : flags) {
    if (flag.is_shown) column = std::max(column, FlagText(flag).size() + 4);
  }
  column = std::min(column, kMostColumn);
  std::string text;
  for (const Flag& flag : flags) {
    if (!flag.is_shown) continue;
    text += FilledRow(FlagText(flag), Explained(flag), column);
  }
  return text + FilledRow("  -h, --help", "show this", column);
}

std::string GeneralHelp() {
  const CommandDescription& program = Program();
  std::string text =
      program.name + " " + program.help + ".\n" + UsageText(program) + "\nCommands:\n";
  std::size_t longest = 0;
  for (const CommandDescription& command : Commands()) {
    longest = std::max(longest, command.name.size());
  }
  for (const CommandDescription& command : Commands()) {
    text += FilledRow("  " + command.name, Summary(command), longest + 5);
  }
  return text + "\n" + Wrapped(program.about + program.ending) +
         "\n\"cluster-watcher help COMMAND\" shows the flags of a command.\n";
}

}  // namespace

std::string FilledRow(const std::string& left, const std::string& right, std::size_t column) {
  const bool fits = left.size() + 2 <= column;
  const std::string gap =
      fits ? std::string(column - left.size(), ' ') : "\n" + std::string(column, ' ');
  return Filled(left + gap, right, column);
}

std::string Explained(const Flag& flag) {
  const std::string preset =
      flag.default_value.empty() ? "" : " (default " + flag.default_value + ")";
  return flag.help + preset + flag.note;
}

std::string Summary(const CommandDescription& command) {
  std::string also;
  for (const std::string& alias : command.aliases) also += (also.empty() ? "" : ", ") + alias;
  return also.empty() ? command.help : command.help + " (also " + also + ")";
}

std::string HelpFor(const CommandDescription* command) {
  if (command == nullptr) return GeneralHelp();
  std::string text = Wrapped(Summary(*command) + ".") + UsageText(*command);
  if (!command->about.empty()) text += "\n" + Wrapped(command->about);
  if (!command->flags.empty()) text += "\nFlags:\n" + FlagRows(command->flags);
  return text + Wrapped(command->ending);
}

}  // namespace cluster_watcher
