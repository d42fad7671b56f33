#include "watcher/command/man_page.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "watcher/command/commands.h"
#include "watcher/command/help.h"
#include "watcher/command/version.h"

namespace cluster_watcher {
namespace {

std::string Bold(std::string_view text) { return "\\fB" + RoffText(text) + "\\fR"; }
std::string Italic(std::string_view text) { return "\\fI" + RoffText(text) + "\\fR"; }
std::string Section(std::string_view title) { return ".SH \"" + RoffText(title) + "\"\n"; }

// Sets text as help has it: an empty line ends a paragraph, and lines that are indented stay as
// they are.
std::string Paragraphs(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
  std::string page = ".PP\n";
  bool is_indented = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    const bool indents = line.starts_with("  ");
    if (indents != is_indented) page += indents ? ".RS 4\n.nf\n" : ".fi\n.RE\n";
    is_indented = indents;
    page += line.empty() ? ".PP" : RoffText(indents ? line.substr(2) : line);
    page += '\n';
  }
  return page + (is_indented ? ".fi\n.RE\n" : "");
}

std::string FlagEntry(const Flag& flag) {
  const std::string letter = flag.letter == 0 ? "" : Bold(std::string{'-', flag.letter}) + ", ";
  const std::string value = "=" + Italic(flag.placeholder);
  return ".TP\n" + letter + Bold("--" + flag.name) +
         (flag.IsBoolean() ? "[" + value + "]" : value) + "\n" + RoffText(Explained(flag)) + "\n";
}

std::string UsageLine(const CommandDescription& command) {
  return Bold(Program().name) + " " + RoffText(command.usage) + "\n";
}

// Leaves out the flags that help leaves out: the ending says where they are.
std::string CommandPart(const CommandDescription& command) {
  std::string page = ".SS " + RoffText(command.name) + "\n" + UsageLine(command) + ".PP\n" +
                     RoffText(Summary(command)) + ".\n";
  if (!command.about.empty()) page += Paragraphs(command.about);
  for (const Flag& flag : command.flags) {
    if (flag.is_shown) page += FlagEntry(flag);
  }
  return command.ending.empty() ? page : page + Paragraphs(command.ending);
}

std::string EnvironmentPart() {
  const auto variable = [](std::string_view name, std::string_view about) {
    return ".TP\n" + Bold(name) + "\n" + RoffText(about) + "\n";
  };
  return variable("CLUSTER_WATCHER_...",
                  "A setting of watch whose flag isn't given. The name is the flag's in capitals, "
                  "with _ for -: CLUSTER_WATCHER_POLL_INTERVAL for --poll-interval.") +
         variable("POD_NAME", "The pod, where --pod isn't set.") +
         variable("POD_NAMESPACE",
                  "The namespace, where neither --namespace nor, but for watch, the context of a "
                  "kubeconfig that is named gives one.") +
         variable("KUBECONFIG",
                  "Files, with colons between, that say how to reach the API server, where "
                  "--kubeconfig isn't set. Of a name that is defined twice the first counts.");
}

}  // namespace

std::string RoffText(std::string_view text) {
  static constexpr std::pair<char, std::string_view> kEscapes[] = {
      {'\\', "\\(rs"}, {'-', "\\-"},   {'"', "\\(dq"}, {'\'', "\\(aq"},
      {'`', "\\(ga"},  {'^', "\\(ha"}, {'~', "\\(ti"}, {'\n', " "}};
  std::string escaped = text.starts_with('.') ? "\\&" : "";
  for (const char c : text) {
    const auto escape = std::find_if(std::begin(kEscapes), std::end(kEscapes),
                                     [c](const auto& one) { return one.first == c; });
    if (escape == std::end(kEscapes)) {
      escaped += c;
    } else {
      escaped += escape->second;
    }
  }
  return escaped;
}

std::string ManPage() {
  const CommandDescription& program = Program();
  std::string page = ".TH CLUSTER\\-WATCHER 1 \"\" \"" + RoffText(program.name + " " + kVersion) +
                     "\" \"User Commands\"\n.nh\n.ad l\n" + Section("NAME") +
                     RoffText(program.name) + " \\- " + RoffText(program.help) + "\n" +
                     Section("SYNOPSIS");
  for (const CommandDescription& command : Commands()) page += UsageLine(command) + ".br\n";
  page += Section("DESCRIPTION") + Bold(program.name) + " " + RoffText(program.help) + ".\n" +
          Paragraphs(program.about) +
          RoffText("With --help a command shows its part of this page.") + "\n" +
          Section("COMMANDS");
  for (const CommandDescription& command : Commands()) page += CommandPart(command);
  return page + Section("EXIT STATUS") + Paragraphs(program.ending) +
         RoffText("A command that has others names them in its section.") + "\n" +
         Section("ENVIRONMENT") + EnvironmentPart() + Section("SEE ALSO") + Bold("kubectl") +
         "(1)\n";
}

}  // namespace cluster_watcher
