#include "watcher/command/completion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "watcher/command/commands.h"
#include "watcher/command/help.h"

namespace cluster_watcher {
namespace {

using Words = std::vector<std::string>;

struct Completed {
  Words candidates;
  Words descriptions;  // one for each candidate, "" if none
  std::string directive;
};

// Completes the last of the words, which are separated by "|".
Completed Of(const std::string& line, const NameFinder& find = {}) {
  Words words;
  std::istringstream parts(line + "|");
  for (std::string part; std::getline(parts, part, '|');) words.push_back(part);
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  Completed completed;
  std::istringstream lines(Complete(pointers, find));
  for (std::string text; std::getline(lines, text);) {
    EXPECT_EQ(completed.directive, "") << line << ": a line after the last";
    const auto tab = std::min(text.find('\t'), text.size());
    if (text.starts_with(':')) {
      completed.directive = text;
    } else {
      completed.candidates.push_back(text.substr(0, tab));
      completed.descriptions.push_back(text.substr(std::min(tab + 1, text.size())));
    }
  }
  return completed;
}

std::string JoinedWords(const Words& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

// The candidates, and the directive unless it is ":4".
std::string Shown(const std::string& line) {
  const Completed completed = Of(line);
  const std::string directive = completed.directive == ":4" ? "" : " " + completed.directive;
  return JoinedWords(completed.candidates) + directive;
}

Words CommandNames() {
  Words names;
  for (const CommandDescription& command : Commands()) {
    names.push_back(command.name);
    names.insert(names.end(), command.aliases.begin(), command.aliases.end());
  }
  return names;
}

bool Has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(Complete, CompletesCommandsWithTheirHelp) {
  for (const char* line : {"", "help|", "-n|lab|", "--dry-run|", "--poll-interval=1s|", "--|"}) {
    const Completed completed = Of(line);
    EXPECT_EQ(completed.candidates, CommandNames()) << line;
    EXPECT_EQ(completed.descriptions.front(), Commands().front().help);
    EXPECT_EQ(completed.directive, ":4");
  }
  EXPECT_EQ(Shown("webh"), "webhook");
  EXPECT_EQ(Shown("help|webh"), "webhook");
  EXPECT_EQ(Complete({}), Complete(std::vector<const char*>{""}));
}

TEST(Complete, CompletesEachFlagOfEachCommand) {
  for (const CommandDescription& command : Commands()) {
    const Completed all = Of(command.name + "|-");
    for (const Flag& flag : command.flags) {
      const std::string whole = "--" + flag.name + (flag.IsBoolean() ? "" : "=");
      const auto at = std::find(all.candidates.begin(), all.candidates.end(), whole);
      ASSERT_NE(at, all.candidates.end()) << command.name << " " << whole;
      EXPECT_EQ(all.descriptions[static_cast<std::size_t>(at - all.candidates.begin())],
                Explained(flag));
      if (flag.letter == 0) continue;
      EXPECT_TRUE(Has(all.candidates, std::string{'-', flag.letter})) << flag.name;
    }
    EXPECT_TRUE(Has(all.candidates, "-h") && Has(all.candidates, "--help")) << command.name;
    EXPECT_FALSE(Has(all.candidates, "--version"));
    const Words longs = Of(command.name + "|--").candidates;
    EXPECT_TRUE(std::all_of(longs.begin(), longs.end(),
                            [](const std::string& flag) { return flag.starts_with("--"); }));
  }
  EXPECT_TRUE(Has(Of("-").candidates, "--version"));
  EXPECT_EQ(Of("--").candidates.front(), Of("watch|--").candidates.front());
}

TEST(Complete, CompletesTheChoicesOfEachFlag) {
  for (const CommandDescription& command : Commands()) {
    for (const Flag& flag : command.flags) {
      std::istringstream parts(flag.placeholder);
      std::string choices;
      for (std::string part; std::getline(parts, part, '|');) {
        if (part.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != part.npos) continue;
        choices += (choices.empty() ? "" : " ") + part;
      }
      const bool files = Has({"FILE", "DIR", "FILE|DIR", "DIR|FILE"}, flag.placeholder);
      const std::string wanted = choices + (files ? " :0" : "");
      const std::string before = command.name + "|--" + flag.name;
      EXPECT_EQ(Shown(before + "="), wanted) << before;
      // Of two flags of one name none takes the next word where one is a boolean.
      if (ReadFlag("--" + flag.name).flag->IsBoolean()) continue;
      EXPECT_EQ(Shown(before + "|"), wanted) << before;
    }
  }
}

TEST(Complete, CompletesWhatIsTyped) {
  const std::pair<const char*, const char*> cases[] = {
      // Flags
      {"check|--outp", "--output= :6"},
      {"check|--log-", "--log-level= --log-format= :6"},
      {"watch|--dry", "--dry-run"},
      {"check|-o", "-o"},
      {"check|--output", "--output= :6"},
      {"--outp", ""},
      {"inject|--outp", ""},
      {"version|--", "--help"},
      {"bogus|-", ""},
      {"check|c1|--outp", "--output= :6"},
      // Values
      {"check|--output=j", "json"},
      {"check|--output|j", "json"},
      {"check|-o|", "text json yaml"},
      {"check|-o=", "text json yaml"},
      {"check|-o=j", "json"},
      {"check|-oj", "-ojson"},
      {"check|-ojson", "-ojson"},
      {"list|-Awoj", "-Awojson"},
      {"list|-Awo|j", "json"},
      {"check|--output=x", ""},
      {"-o|j", "json"},
      {"-n|lab|check|--output=j", "json"},
      {"inject|--output=", ""},
      {"inject|-o|", ""},
      {"watch|--dry-run=", "true false"},
      {"watch|--dry-run=f", "false"},
      {"watch|--poll-interval=", ""},
      {"watch|--bogus=", ""},
      {"check|--output=json|--output=t", "text"},
      // Files
      {"inject|-f|", " :0"},
      {"inject|-f|a", " :0"},
      {"inject|-fa", " :0"},
      {"inject|-f=a", " :0"},
      {"inject|--config=a", " :0"},
      {"watch|--kubeconfig|", " :0"},
      // Operands
      {"check|", ""},
      {"check|c", ""},
      {"completion|", "bash zsh fish"},
      {"completion|z", "zsh"},
      {"completion|zsh|", ""},
      {"help|check|", ""},
      {"watch|", ""},
      {"bogus|", ""},
      // What looks like one thing and is another
      {"-n|check|chec", "check"},
      {"-n|help|help|vers", "version"},
      {"watch|--cluster|--dry-run|--obs", "--observe= :6"},
      {"check|-o|--|--outp", "--output= :6"},
      {"help|--|chec", "check"},
      {"check|--|--outp", ""},
      {"check|--|-o|", ""},
      {"completion|-|", ""},
  };
  for (const auto& [line, wanted] : cases) EXPECT_EQ(Shown(line), wanted) << line;
}

TEST(Complete, CompletesNamesByTheFlagsThatWereTyped) {
  const NameFinder find = [](NamesOfWhat what, const TextMap& flags) {
    const auto ns = flags.find("namespace");
    const std::string in = ns == flags.end() ? "" : ns->second;
    switch (what) {
      case NamesOfWhat::kClusters:
        return Words{"bob" + in, "A_b.c-9", "a b", "$(x)", "x\ty", "x\ny", ""};
      case NamesOfWhat::kNamespaces:
        return Words{"lab"};
      case NamesOfWhat::kContexts:
        return Words{"arn:aws:eks:eu:1:cluster/x", "admin@c", "my context"};
      case NamesOfWhat::kOwners:
        return Words{"deployment/bob", "job/bob"};
    }
    return Words();
  };
  const std::pair<const char*, const char*> cases[] = {
      {"check|", "bob A_b.c-9"},
      {"check|-n|1|b", "bob1"},
      {"-n1|delete|--wait=false|bob1|", "A_b.c-9"},
      {"delete|--namespace=2|b", "bob2"},
      {"get|A", "A_b.c-9"},
      {"run|--cluster=b", "bob"},
      {"list|-n|", "lab"},
      {"list|-nl", "-nlab"},
      {"enable|", "lab"},
      {"list|--context|", "arn:aws:eks:eu:1:cluster/x admin@c"},
      {"list|--context=a", "arn:aws:eks:eu:1:cluster/x admin@c"},
      {"delete|bob|--app=d", "deployment/bob"},
      {"delete|-l|", ""},
      {"check|bob|", ""},
      {"run|--|", " :0"},
  };
  for (const auto& [line, wanted] : cases) {
    const Completed completed = Of(line, find);
    const std::string directive = completed.directive == ":4" ? "" : " " + completed.directive;
    EXPECT_EQ(JoinedWords(completed.candidates) + directive, wanted) << line;
  }
}

TEST(Complete, TakesAnyWords) {
  for (const char* line : {"|", "||", "-", "--|--|--", "---", "--=", "-=|-=", "=|", "\t|\n",
                           "-\xff", "--output=\n", "-n", "-h|--help|-"}) {
    const std::string text = Complete(std::vector<const char*>{"check", line});
    EXPECT_TRUE(text.starts_with(':') || text.find("\n:") != text.npos) << line;
    EXPECT_FALSE(Of(line).directive.empty()) << line;
  }
}

TEST(ReadUsage, FindsWhatFollowsTheCommand) {
  struct Case {
    const char* usage;
    const char* operands;
    bool repeats = false;
    bool ends_in_program = false;
  };
  const Case cases[] = {
      {"watch", ""},
      {"[watch] [FLAGS]", ""},
      {"check [CLUSTER] [-o text|json] [FLAGS]", "CLUSTER"},
      {"inject [-f FILE]... [FLAGS]", ""},
      {"completion bash|zsh|fish", "bash|zsh|fish"},
      {"show FILE... [FLAGS]", "FILE", true},
      {"show FILE [DIR]... [FLAGS]", "FILE DIR", true},
      {"show FILE... DIR", "FILE DIR"},
      {"move -f FILE --namespace=NAMESPACE CLUSTER", "CLUSTER"},
      {"move --dry-run CLUSTER", "CLUSTER"},
      {"move (CLUSTER|--dry-run) DIR", "CLUSTER|--dry-run DIR"},
      {"run [FLAGS] -- PROGRAM [ARGUMENT]...", "", false, true},
      {"run CLUSTER [-- PROGRAM...]", "CLUSTER", false, true},
      {"two CLUSTER\n  cluster-watcher two FILE", "CLUSTER"},
  };
  for (const auto& [usage, operands, repeats, ends_in_program] : cases) {
    const Usage read = ReadUsage(usage);
    EXPECT_EQ(JoinedWords(read.operands), operands) << usage;
    EXPECT_EQ(read.repeats, repeats) << usage;
    EXPECT_EQ(read.ends_in_program, ends_in_program) << usage;
  }
}

TEST(CompletionScript, ThereIsOneForEachShellThatIsCompleted) {
  const Words shells = Of("completion|").candidates;
  ASSERT_EQ(shells, (Words{"bash", "zsh", "fish"}));
  for (const std::string& name : shells) {
    const auto shell = ParseShell(name);
    ASSERT_TRUE(shell) << name;
    const std::string script = CompletionScript(*shell);
    EXPECT_NE(script.find("# " + name + " completion for cluster-watcher\n"), script.npos);
    EXPECT_NE(script.find(" __complete "), script.npos);
    EXPECT_NE(script.find("kubectl-cluster_watcher"), script.npos);
    EXPECT_TRUE(script.ends_with("\n"));
  }
  for (const char* name : {"", "Bash", "bas", "powershell"}) EXPECT_FALSE(ParseShell(name)) << name;
  // The completion system of zsh reads the first line.
  EXPECT_EQ(CompletionScript(Shell::kZsh).find("#compdef cluster-watcher "), 0u);
}

}  // namespace
}  // namespace cluster_watcher
