#include "watcher/command/man_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "watcher/command/commands.h"
#include "watcher/command/help.h"
#include "watcher/command/version.h"

namespace cluster_watcher {
namespace {

// The text of the page between a heading and the next of its kind.
std::string Part(const std::string& page, const std::string& heading) {
  const std::size_t begin = page.find(heading + "\n");
  if (begin == page.npos) return "there is no " + heading;
  const std::size_t next = std::min(page.find("\n.SH", begin + 1), page.find("\n.SS", begin + 1));
  return page.substr(begin, next - begin + 1);
}

bool Mentions(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

TEST(RoffText, EscapesWhatRoffWouldTakeForMore) {
  EXPECT_EQ(RoffText("plain text, 100 % (of it)"), "plain text, 100 % (of it)");
  EXPECT_EQ(RoffText(".PP"), "\\&.PP");
  EXPECT_EQ(RoffText("a.b."), "a.b.");
  EXPECT_EQ(RoffText("'br"), "\\(aqbr");
  EXPECT_EQ(RoffText("--dry-run"), "\\-\\-dry\\-run");
  EXPECT_EQ(RoffText("\\fB\\n"), "\\(rsfB\\(rsn");
  EXPECT_EQ(RoffText("\"a\" 'b' `c` ^ ~"), "\\(dqa\\(dq \\(aqb\\(aq \\(gac\\(ga \\(ha \\(ti");
  EXPECT_EQ(RoffText("a\n.b"), "a .b");
  EXPECT_EQ(RoffText(""), "");
}

TEST(ManPage, HasTheSectionsOfAManual) {
  const std::string page = ManPage();
  EXPECT_EQ(
      page.find(".TH CLUSTER\\-WATCHER 1 \"\" \"" + RoffText(Program().name + " " + kVersion)), 0u);
  std::vector<std::string> headings;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(".SH")) headings.push_back(line.substr(4));
  }
  EXPECT_EQ(headings,
            (std::vector<std::string>{"\"NAME\"", "\"SYNOPSIS\"", "\"DESCRIPTION\"", "\"COMMANDS\"",
                                      "\"EXIT STATUS\"", "\"ENVIRONMENT\"", "\"SEE ALSO\""}));
  // whatis(1) and apropos(1) read this form.
  EXPECT_TRUE(Mentions(page, ".SH \"NAME\"\ncluster\\-watcher \\- " + Program().help + "\n"));
  for (const char* name : {"CLUSTER_WATCHER_...", "POD_NAME", "POD_NAMESPACE", "KUBECONFIG"}) {
    EXPECT_TRUE(Mentions(Part(page, ".SH \"ENVIRONMENT\""), std::string("\\fB") + name + "\\fR\n"));
  }
  EXPECT_TRUE(Mentions(Part(page, ".SH \"EXIT STATUS\""), "\n0  done\n"));
  EXPECT_TRUE(page.ends_with(".SH \"SEE ALSO\"\n\\fBkubectl\\fR(1)\n"));
}

TEST(ManPage, DescribesEachCommandAsHelpDoes) {
  const std::string page = ManPage();
  std::set<std::string> flags;
  for (const CommandDescription& command : Commands()) {
    const std::string usage = "\\fBcluster\\-watcher\\fR " + RoffText(command.usage) + "\n";
    EXPECT_TRUE(Mentions(Part(page, ".SH \"SYNOPSIS\""), usage)) << command.name;
    const std::string part = Part(page, ".SS " + RoffText(command.name));
    EXPECT_TRUE(Mentions(part, usage)) << part;
    EXPECT_TRUE(Mentions(part, "\n" + RoffText(Summary(command)) + ".\n")) << part;
    std::istringstream lines(command.about + command.ending);
    for (std::string line; std::getline(lines, line);) {
      if (line.empty()) continue;
      const std::size_t indent = line.starts_with("  ") ? 2 : 0;
      EXPECT_TRUE(Mentions(part, "\n" + RoffText(line.substr(indent)) + "\n")) << line;
    }
    for (const Flag& flag : command.flags) {
      const std::string value = "=\\fI" + RoffText(flag.placeholder) + "\\fR";
      const std::string entry = "\\fB" + RoffText("--" + flag.name) + "\\fR" +
                                (flag.IsBoolean() ? "[" + value + "]" : value) + "\n" +
                                RoffText(Explained(flag)) + "\n";
      if (Mentions(part, entry)) flags.insert(flag.name);
      if (command.flags.front().is_own != flag.is_own) continue;
      EXPECT_TRUE(Mentions(part, entry)) << entry << part;
      if (flag.letter == 0) continue;
      EXPECT_TRUE(Mentions(part, std::string("\n\\fB\\-") + flag.letter + "\\fR, " + entry));
    }
  }
  for (const CommandDescription& command : Commands()) {
    for (const Flag& flag : command.flags) EXPECT_TRUE(flags.contains(flag.name)) << flag.name;
  }
}

TEST(ManPage, SetsExamplesAndListsAsTheyStand) {
  const std::string watch = Part(ManPage(), ".SS watch");
  EXPECT_TRUE(Mentions(watch,
                       "default:\n.RS 4\n.nf\n\\-\\-poll\\-interval=10s\n"
                       "CLUSTER_WATCHER_POLL_INTERVAL=10s\n"
                       "cluster\\-watcher/poll\\-interval: 10s\n.fi\n.RE\nA flag that"))
      << watch;
  EXPECT_TRUE(Mentions(Part(ManPage(), ".SS check"), "4  unknown\n.fi\n.RE"));
}

TEST(ManPage, HasOnlyRequestsThatItMeans) {
  const std::set<std::string> requests = {".TH", ".SH", ".SS", ".PP", ".TP", ".RS",
                                          ".RE", ".nf", ".fi", ".br", ".nh", ".ad"};
  bool is_as_it_stands = false;
  std::istringstream lines(ManPage());
  for (std::string line; std::getline(lines, line);) {
    EXPECT_FALSE(line.empty() || line.starts_with('\'') || line.starts_with(' ')) << line;
    if (!line.starts_with('.')) continue;
    const std::string request = line.substr(0, line.find(' '));
    EXPECT_TRUE(requests.contains(request)) << line;
    if (request != ".nf" && request != ".fi") continue;
    EXPECT_EQ(is_as_it_stands, request == ".fi");
    is_as_it_stands = request == ".nf";
  }
  EXPECT_FALSE(is_as_it_stands);
}

}  // namespace
}  // namespace cluster_watcher
