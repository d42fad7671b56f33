#include "watcher/command/command_line.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <variant>
#include <vector>

namespace cluster_watcher {
namespace {

using Lines = std::vector<std::string>;

CommandLine Parse(const Lines& arguments, const char* program = "/usr/bin/cluster-watcher") {
  std::vector<const char*> pointers = {program};
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  return ParseCommandLine(pointers);
}

// Splits the text at each "|".
Lines Split(const std::string& text) {
  Lines lines(1);
  for (const char c : text) {
    if (c == '|') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

std::string Joined(const Lines& lines) {
  std::string joined;
  for (const std::string& line : lines) joined += (joined.empty() ? "" : " | ") + line;
  return joined;
}

Invocation Invoked(const Lines& arguments) {
  const CommandLine parsed = Parse(arguments);
  if (const auto* errors = std::get_if<UsageErrors>(&parsed)) {
    ADD_FAILURE() << Joined(arguments) << ": " << Joined(errors->lines);
  }
  const auto* invocation = std::get_if<Invocation>(&parsed);
  EXPECT_NE(invocation, nullptr) << Joined(arguments);
  return invocation == nullptr ? Invocation{} : *invocation;
}

Lines ErrorsOf(const Lines& arguments) {
  const CommandLine parsed = Parse(arguments);
  const auto* errors = std::get_if<UsageErrors>(&parsed);
  EXPECT_NE(errors, nullptr) << Joined(arguments);
  return errors == nullptr ? Lines{} : errors->lines;
}

std::string HelpOf(const Lines& arguments) {
  const CommandLine parsed = Parse(arguments);
  const auto* help = std::get_if<HelpText>(&parsed);
  EXPECT_NE(help, nullptr) << Joined(arguments);
  return help == nullptr ? "" : help->text;
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(CommandLine, KnowsItsCommands) {
  const std::pair<Lines, Command> cases[] = {{{}, Command::kWatch},
                                             {{"watch"}, Command::kWatch},
                                             {{"check"}, Command::kCheck},
                                             {{"version"}, Command::kVersion},
                                             {{"--version"}, Command::kVersion},
                                             {{"--version=true"}, Command::kVersion},
                                             {{"watch", "--version"}, Command::kVersion},
                                             {{"--", "check"}, Command::kCheck},
                                             {{"get"}, Command::kList},
                                             {{"ls"}, Command::kList},
                                             {{"inject"}, Command::kInject},
                                             {{"webhook"}, Command::kWebhook},
                                             {{"completion", "zsh"}, Command::kCompletion}};
  for (const auto& [arguments, command] : cases) {
    EXPECT_EQ(Invoked(arguments).command, command) << Joined(arguments);
  }
  EXPECT_TRUE(Invoked({}).flags.empty());
  // The program's name doesn't matter; a plugin of kubectl has another one.
  for (const char* program : {"kubectl-cluster_watcher", "/a/kubectl-cluster_watcher", "", "x"}) {
    const CommandLine parsed = Parse({"check", "c1"}, program);
    ASSERT_TRUE(std::holds_alternative<Invocation>(parsed));
    EXPECT_EQ(std::get<Invocation>(parsed).cluster, "c1");
  }
  EXPECT_TRUE(std::holds_alternative<Invocation>(ParseCommandLine({})));
}

TEST(CommandLine, TakesSettingsAsFlagsOfWatchAndCheck) {
  for (const SettingDescription& setting : SettingDescriptions()) {
    for (const char* command : {"watch", "check"}) {
      const TextMap expected = {{setting.name, "text"}};
      const std::string flag = "--" + setting.name;
      EXPECT_EQ(Invoked({command, flag + "=text"}).flags, expected);
      EXPECT_EQ(Invoked({flag + "=text", command}).flags, expected);
      if (setting.name == "dry-run") continue;
      EXPECT_EQ(Invoked({command, flag, "text"}).flags, expected);
      EXPECT_EQ(Invoked({flag, "text", command}).flags, expected);
    }
  }
}

TEST(CommandLine, ReadsFlagsAsPflagDoes) {
  // Arguments, separated by "|", and the flags they set.
  const std::pair<const char*, TextMap> cases[] = {
      {"-n|lab", {{"namespace", "lab"}}},
      {"-nlab", {{"namespace", "lab"}}},
      {"-n=lab", {{"namespace", "lab"}}},
      {"-n|", {{"namespace", ""}}},
      {"-n=", {{"namespace", ""}}},
      {"-n|a|--namespace=b", {{"namespace", "b"}}},
      {"--namespace=b|-n|a", {{"namespace", "a"}}},
      {"--poll-interval=1s|--poll-interval|2s", {{"poll-interval", "2s"}}},
      {"--cluster=", {{"cluster", ""}}},
      {"--cluster|", {{"cluster", ""}}},
      {"--cluster=|--pod=p", {{"cluster", ""}, {"pod", "p"}}},
      {"--cluster=a|--cluster=", {{"cluster", ""}}},
      {"--cluster=a=b", {{"cluster", "a=b"}}},
      {"--cluster= a b ", {{"cluster", " a b "}}},
      {"--cluster=watch", {{"cluster", "watch"}}},
      {"--cluster|check", {{"cluster", "check"}}},
      {"--poll-interval|-5s", {{"poll-interval", "-5s"}}},
      {"--context=[a,b]", {{"context", "[a,b]"}}},
      {"--completed-when={.a}=B,C", {{"completed-when", "{.a}=B,C"}}},
      {"--completed-when|{.a}=B", {{"completed-when", "{.a}=B"}}},
      {"--kubeconfig=\"a b\"", {{"kubeconfig", "\"a b\""}}},
      {"--owner=deployment/bob|--confirmations|5",
       {{"owner", "deployment/bob"}, {"confirmations", "5"}}},
  };
  for (const auto& [arguments, flags] : cases) {
    EXPECT_EQ(Invoked(Split(arguments)).flags, flags) << arguments;
  }
}

TEST(CommandLine, TakesSeveralClustersAndFlagsThatMayBeRepeated) {
  const Invocation invocation =
      Invoked({"delete", "a", "--as=x", "b", "--as-group=y", "c", "--as-group=z", "-v"});
  EXPECT_EQ(invocation.cluster, "a");
  EXPECT_EQ(invocation.words, (Lines{"b", "c"}));
  EXPECT_EQ(invocation.options.at("as-group"), "y\nz");
  EXPECT_EQ(invocation.options.at("verbose"), "true");
}

TEST(CommandLine, ABooleanTakesItsValueByEqualsOnly) {
  const std::pair<const char*, const char*> cases[] = {{"--dry-run", "true"},
                                                       {"--dry-run|watch", "true"},
                                                       {"watch|--dry-run|--pod=p", "true"},
                                                       {"--dry-run=true", "true"},
                                                       {"--dry-run=false", "false"},
                                                       {"--dry-run=false|check", "false"},
                                                       {"--dry-run|--dry-run=false", "false"},
                                                       {"--dry-run=false|--dry-run", "true"},
                                                       {"--dry-run=", ""},
                                                       {"--dry-run=no", "no"}};
  for (const auto& [arguments, value] : cases) {
    EXPECT_EQ(Invoked(Split(arguments)).flags.at("dry-run"), value) << arguments;
  }
}

TEST(CommandLine, CheckTakesAClusterAndAnOutput) {
  const Invocation plain = Invoked({"check"});
  EXPECT_EQ(plain.cluster, "");
  EXPECT_EQ(plain.output, OutputFormat::kText);
  const Invocation full = Invoked({"-n", "lab", "check", "-o", "json", "c1", "--dry-run"});
  EXPECT_EQ(full.cluster, "c1");
  EXPECT_EQ(full.output, OutputFormat::kJson);
  EXPECT_EQ(full.flags, (TextMap{{"cluster", "c1"}, {"namespace", "lab"}, {"dry-run", "true"}}));
  for (const Lines& json : std::vector<Lines>{{"check", "-ojson"},
                                              {"-o=json", "check"},
                                              {"check", "--output=json"},
                                              {"check", "--output", "json"},
                                              {"check", "-o", "text", "-o", "json"}}) {
    EXPECT_EQ(Invoked(json).output, OutputFormat::kJson) << Joined(json);
  }
  EXPECT_EQ(Invoked({"check", "-o", "text"}).output, OutputFormat::kText);
  for (const char* letters : {"-Awojson", "-wAo=json"}) {
    const Invocation list = Invoked({"list", letters});
    EXPECT_EQ(list.options.at("all-namespaces") + list.options.at("watch"), "truetrue");
    EXPECT_EQ(list.output, OutputFormat::kJson);
  }
  EXPECT_EQ(Invoked({"list", "-Aw=false"}).options.at("watch"), "false");
  const Invocation several = Invoked({"list", "cluster/a", "-l=x", "B_1.c"});
  EXPECT_EQ(several.cluster, "a");
  EXPECT_EQ(several.words, Lines{"B_1.c"});
  EXPECT_EQ(several.options.at("selector"), "x");
  EXPECT_TRUE(Contains(ErrorsOf({"list", "a", "b!"}).front(), "\"b!\" is no name of a cluster"));
  EXPECT_EQ(Invoked({"list", "-An", "-Aw"}).flags.at("namespace"), "-Aw");
  EXPECT_EQ(Invoked({"check", "c1", "--cluster=c1"}).cluster, "c1");
  EXPECT_EQ(Invoked({"check", "check"}).cluster, "check");
  EXPECT_TRUE(
      Contains(ErrorsOf({"check", "--", "--c"}).front(), "\"--c\" is no name of a cluster"));
}

TEST(CommandLine, InjectTakesFiles) {
  const Invocation plain = Invoked({"inject"});
  EXPECT_TRUE(plain.files.empty());
  EXPECT_EQ(plain.flags, (TextMap{{"reject-invalid", "false"}}));
  for (const Lines& several : std::vector<Lines>{{"inject", "-f", "a", "-f", "-"},
                                                 {"-fa", "inject", "-f=-"},
                                                 {"inject", "--filename=a", "--filename", "-"},
                                                 {"inject", "-f", "a", "--filename=-"}}) {
    EXPECT_EQ(Invoked(several).files, (Lines{"a", "-"})) << Joined(several);
    EXPECT_EQ(Invoked(several).flags, (TextMap{{"reject-invalid", "false"}}));
  }
  const Invocation full = Invoked(
      {"inject", "-f", "check", "--image=a", "--image", "b:1", "--config=map", "--reject-invalid"});
  EXPECT_EQ(full.files, Lines{"check"});
  EXPECT_EQ(full.flags, (TextMap{{"config", "map"}, {"image", "b:1"}, {"reject-invalid", "true"}}));
}

TEST(CommandLine, CompletionTakesAShell) {
  EXPECT_EQ(Invoked({"completion", "bash"}).shell, Shell::kBash);
  EXPECT_EQ(Invoked({"completion", "zsh"}).shell, Shell::kZsh);
  EXPECT_EQ(Invoked({"completion", "--", "fish"}).shell, Shell::kFish);
}

TEST(CommandLine, WhatShellsAndTheInstallationAskForIsNotParsed) {
  EXPECT_EQ(HelpOf({"__complete", "help", "chec"}),
            "check\t" + FindCommand("check")->help + "\n:4\n");
  EXPECT_EQ(HelpOf({"__complete"}), HelpOf({"__complete", ""}));
  EXPECT_EQ(HelpOf({"__complete", "--help", "--bad", "-h"}), "-h\tshow how it is used\n:4\n");
  EXPECT_EQ(HelpOf({"__man"}).find(".TH CLUSTER"), 0u);
  EXPECT_EQ(ErrorsOf({"check", "__man"}).size(), 1u);
}

TEST(CommandLine, WebhookHasDefaults) {
  const Invocation plain = Invoked({"webhook"});
  const TextMap defaults = {
      {"config", "/etc/cluster-watcher"}, {"tls-cert", "/tls/tls.crt"}, {"tls-key", "/tls/tls.key"},
      {"webhook-listen", ":8443"},        {"listen", ":9090"},          {"reject-invalid", "false"},
      {"shutdown-delay", "5s"},           {"log-level", "info"},        {"log-format", "text"}};
  EXPECT_EQ(plain.flags, defaults);
  for (const auto& [name, value] : defaults) {
    if (value == "false") continue;
    TextMap given = defaults;
    given[name] = "x";
    EXPECT_EQ(Invoked({"webhook", "--" + name, "x"}).flags, given);
  }
}

// "@" stands for `See "cluster-watcher help`.
TEST(CommandLine, SaysWhatIsWrong) {
  const std::string boolean = ": a boolean takes its value by \"=\", as in ";
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      // Booleans
      {"--dry-run|false", {"unknown command \"false\"" + boolean + "--dry-run=false. @\""}},
      {"watch|--dry-run|false",
       {"watch: unexpected \"false\"" + boolean + "--dry-run=false. @ watch\""}},
      {"inject|--reject-invalid|true",
       {"inject: unexpected \"true\"" + boolean + "--reject-invalid=true. @ inject\""}},
      {"inject|--reject-invalid=yes", {"--reject-invalid: \"yes\": give true or false"}},
      // Arguments
      {"check|a|b", {"check: unexpected \"b\". @ check\""}},
      {"check|", {"check: CLUSTER is empty: give its name"}},
      {"check|a|--cluster=b",
       {"check: CLUSTER \"a\" contradicts --cluster \"b\": give one of them"}},
      {"delete|a||b c",
       {"delete: CLUSTER is empty: give its name",
        "delete: \"b c\" is no name of a cluster: give the value of its label"}},
      {"describe|a", {"unknown command \"describe\"; did you mean check? @\""}},
      {"check|-o|wide", {"--output: \"wide\" is unknown: give text, json or yaml"}},
      {"check|-o|", {"--output: \"\" is unknown: give text, json or yaml"}},
      {"check|a|b|-oyml",
       {"check: unexpected \"b\". @ check\"",
        "--output: \"yml\" is unknown: give text, json or yaml"}},
      {"list|-oyml", {"--output: \"yml\" is unknown: give table, wide, json, yaml or name"}},
      {"list|-ojsonpath={.x}",
       {"--output: \"jsonpath={.x}\" is unknown: give table, wide, json, yaml or name; for parts "
        "of it, -o json | jq"}},
      {"run|--ephemeral|spark-submit|a.py",
       {"run: unexpected \"spark-submit\": a program comes after --. @ run\""}},
      {"run|--ephemeral|false|--|spark-submit",
       {"run: unexpected \"false\"" + boolean + "--ephemeral=false. @ run\""}},
      {"inject|a.yaml", {"inject: unexpected \"a.yaml\". @ inject\""}},
      {"completion", {"completion: no shell: give bash, zsh or fish"}},
      {"completion|", {"completion: no shell: give bash, zsh or fish"}},
      {"completion|tcsh", {"completion: \"tcsh\" is unknown: give bash, zsh or fish"}},
      {"completion|zsh|x", {"completion: unexpected \"x\". @ completion\""}},
      {"completion|zsh|-oa", {"--output is a flag of list, check and doctor, not of completion"}},
      {"version|x", {"version: unexpected \"x\". @ version\""}},
      {"watch|x", {"watch: unexpected \"x\". @ watch\""}},
      {"help|watch|x", {"help: unexpected \"x\". @ help\""}},
      // Flags of other commands
      {"-o|json", {"--output is a flag of list, check and doctor, not of watch"}},
      {"version|-o|json|-n|a",
       {"--namespace is a flag of watch, run and 11 others, not of version",
        "--output is a flag of list, check and doctor, not of version"}},
      {"-f|x", {"--filename is a flag of run, create and inject, not of watch"}},
      {"check|--image=x", {"--image is a flag of inject, not of check"}},
      {"inject|--pod=x|--listen=:1|-o|json",
       {"--listen is a flag of watch, check and webhook, not of inject",
        "--output is a flag of list, check and doctor, not of inject",
        "--pod is a flag of watch and check, not of inject"}},
      {"webhook|-f|x", {"--filename is a flag of run, create and inject, not of webhook"}},
      // Unknown flags
      {"--pol-interval|5s",
       {"unknown flag: --pol-interval; did you mean --poll-interval? @ watch\""}},
      {"check|--onwer=bob|--frobnicate|-x|--pod",
       {"unknown flag: --onwer; did you mean --owner? @ check\"",
        "unknown flag: --frobnicate. @ check\"", "unknown flag: -x. @ check\"",
        "--pod needs a value: --pod=NAME"}},
      {"-poll-interval=5s",
       {"unknown flag: -poll-interval; did you mean --poll-interval? @ watch\""}},
      {"--Dry-run", {"unknown flag: --Dry-run; did you mean --dry-run? @ watch\""}},
      {"--x\n=1", {"unknown flag: --x\\n. @ watch\""}},
      {"--=", {"unknown flag: --. @ watch\""}},
      {"inject|--imgae=x", {"unknown flag: --imgae; did you mean --image? @ inject\""}},
      // Missing values
      {"watch|--poll-interval", {"--poll-interval needs a value: --poll-interval=DURATION"}},
      {"-n", {"-n needs a value: -n NAMESPACE"}},
      {"check|-o", {"-o needs a value: -o text|json|yaml"}},
      {"check|--output", {"--output needs a value: --output=text|json|yaml"}},
      {"--cluster|--dry-run", {"--cluster needs a value: --cluster=NAME"}},
      {"--cluster|--", {"--cluster needs a value: --cluster=NAME"}},
      {"inject|-f", {"-f needs a value: -f FILE"}},
      {"list|-Ao", {"-o needs a value: -o table|wide|json|yaml|name"}},
      {"list|-Axw", {"unknown flag: -xw. @ list\""}},
      {"inject|-f|--config=x", {"--filename needs a value: --filename=FILE"}},
      {"inject|--config", {"--config needs a value: --config=FILE|DIR"}},
      {"inject|-f|", {"--filename is empty: give a file, or - for the standard input"}},
      {"inject|-f-|-f|a|-f-", {"--filename: the standard input can be read only once"}},
      // Unknown commands
      {"wach", {"unknown command \"wach\"; did you mean watch? @\""}},
      {"-n|lab|chek|c1", {"unknown command \"chek\"; did you mean check? @\""}},
      {"help|versoin", {"unknown command \"versoin\"; did you mean version? @\""}},
  };
  for (const auto& [arguments, lines] : cases) {
    Lines expected = lines;
    for (std::string& line : expected) {
      if (const auto at = line.find('@'); at != line.npos) {
        line.replace(at, 1, "See \"cluster-watcher help");
      }
    }
    EXPECT_EQ(ErrorsOf(Split(arguments)), expected) << arguments;
  }
  EXPECT_EQ(ErrorsOf({"--cluster", "--pod", "p"}).front(),
            "--cluster needs a value: --cluster=NAME");
  EXPECT_EQ(ErrorsOf({"---pod=x"}).size(), 1u);
  for (const char* later : {"creates", "claims", "unclaim", "awaits", "deletes", "sweeps",
                            "injector", "hook", "__complet", "", "-", "++", "Watch ", "x\ny"}) {
    const Lines errors = ErrorsOf({later});
    ASSERT_EQ(errors.size(), 1u) << later;
    EXPECT_EQ(errors[0].find("unknown command \""), 0u) << errors[0];
    EXPECT_FALSE(Contains(errors[0], "\n"));
  }
}

TEST(CommandLine, CommandsOfTheDriversSideHaveOptionsAndSettings) {
  const Invocation await = Invoked({"await", "bob", "--app=job/bob", "-n", "lab"});
  EXPECT_EQ(await.command, Command::kAwait);
  EXPECT_EQ(await.cluster, "bob");
  EXPECT_EQ(await.options, (TextMap{{"app", "job/bob"}, {"timeout", "60s"}}));
  EXPECT_EQ(await.flags, (TextMap{{"cluster", "bob"}, {"namespace", "lab"}}));
  EXPECT_EQ(Invoked({"claim", "bob", "--app=bob", "--ephemeral"}).options,
            (TextMap{{"app", "bob"}, {"ephemeral", "true"}}));
  EXPECT_EQ(ErrorsOf({"release", "bob", "alice"}).size(), 1u);
  EXPECT_EQ(ErrorsOf({"await", "bob_"}).size(), 1u);
  EXPECT_EQ(ErrorsOf({"await", "bob", "--poll-interval=5s"}).size(), 1u);
}

TEST(CommandLine, HoldTakesAClusterOrAllAndADuration) {
  EXPECT_EQ(Invoked({"hold", "bob"}).words, Lines{});
  EXPECT_EQ(Invoked({"hold", "bob", "2h"}).words, Lines{"2h"});
  const Invocation all = Invoked({"hold", "2h", "--namespace-wide"});
  EXPECT_EQ(all.cluster, "");
  EXPECT_EQ(all.words, Lines{"2h"});
  EXPECT_EQ(ErrorsOf({"hold", "bob", "2h", "3h"}).size(), 1u);
  EXPECT_EQ(ErrorsOf({"unhold", "bob", "2h"}).size(), 1u);
}

TEST(CommandLine, EnableTakesANamespaceAndDoctorAFlagForIt) {
  const Invocation enable = Invoked({"enable", "lab"});
  EXPECT_EQ(enable.command, Command::kEnable);
  EXPECT_EQ(enable.words, Lines{"lab"});
  EXPECT_EQ(enable.options, (TextMap{{"service-account", "cluster-watcher-master"}}));
  EXPECT_EQ(ErrorsOf({"enable", "lab", "spark"}).size(), 1u);
  EXPECT_EQ(ErrorsOf({"enable", "lab", "-n", "spark"}).size(), 1u) << "one of them";
  const Invocation doctor = Invoked({"doctor", "-n", "lab", "-o", "json"});
  EXPECT_EQ(doctor.flags, (TextMap{{"namespace", "lab"}}));
  EXPECT_EQ(doctor.output, OutputFormat::kJson);
  EXPECT_EQ(ErrorsOf({"doctor", "lab"}).size(), 1u);
  EXPECT_EQ(ErrorsOf({"doctor", "-o", "wide"}).size(), 1u);
}

TEST(CommandLine, HelpIsGivenAnywhere) {
  const std::pair<const char*, Lines> cases[] = {
      {"help", {"--help", "-h", "--pod=x|-h", "--bad|--help", "wach|--help"}},
      {"help|list", {"list|-Ah"}},
      {"help|watch", {"watch|--help", "-h|watch", "watch|--cluster|-h", "watch|--bad|--help"}},
      {"help|check", {"check|c1|-o|json|--help"}},
      {"help|version", {"version|-h"}},
      {"help|help", {"help|--help"}},
  };
  for (const auto& [plain, others] : cases) {
    for (const std::string& arguments : others) {
      EXPECT_EQ(HelpOf(Split(arguments)), HelpOf(Split(plain))) << arguments;
    }
  }
  EXPECT_EQ(Invoked({"check", "--", "h"}).cluster, "h");
  EXPECT_EQ(ErrorsOf({"check", "--", "-h"}).size(), 1u) << "no name of a cluster";
}

TEST(CommandLine, HelpFitsTheScreenAndDescribesEachCommandsFlags) {
  for (const CommandDescription& command : Commands()) {
    const std::string help = HelpOf({"help", command.name});
    for (const Flag& flag : command.flags) {
      if (!flag.is_own) continue;
      const std::string equals = flag.IsBoolean() ? "[=" : "=";
      EXPECT_TRUE(Contains(help, "--" + flag.name + equals + flag.placeholder)) << help;
    }
  }
  EXPECT_TRUE(Contains(HelpOf({"help", "inject"}), "\n  -f, --filename=FILE "));
  std::vector<std::string> all = {HelpOf({"help"})};
  for (const CommandDescription& command : Commands()) {
    all.push_back(HelpOf({"help", command.name}));
  }
  for (const std::string& help : all) {
    EXPECT_TRUE(help.ends_with("\n") && !help.ends_with("\n\n"));
    EXPECT_TRUE(Contains(help, "\nExit codes:\n")) << help;
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 80u) << line;
      EXPECT_FALSE(line.ends_with(' ')) << line;
    }
  }
}

TEST(CommandLine, HelpOfWatchDescribesEverySetting) {
  const std::string help = HelpOf({"help", "watch"});
  for (const SettingDescription& setting : SettingDescriptions()) {
    const std::string equals = setting.name == "dry-run" ? "[=" : "=";
    EXPECT_TRUE(Contains(help, "--" + setting.name + equals + setting.placeholder));
    EXPECT_TRUE(Contains(help, setting.help.substr(0, setting.help.find(' '))));
    if (setting.default_value.empty()) continue;
    EXPECT_TRUE(Contains(help, "(default " + setting.default_value + ")") ||
                Contains(help, setting.default_value + ")"))
        << setting.name;
  }
  EXPECT_TRUE(Contains(help, "-n, --namespace=NAMESPACE"));
  EXPECT_TRUE(Contains(help, "CLUSTER_WATCHER_POLL_INTERVAL=10s"));
  EXPECT_TRUE(Contains(help, "cluster-watcher/poll-interval: 10s"));
}

TEST(CommandLine, HelpListsCommandsAndExitCodes) {
  const std::string general = HelpOf({"help"});
  for (const char* part : {"\n  watch ", "\n  check ", "\n  inject ", "\n  webhook ",
                           "\n  version ", "\n  help ", "\n  0  done"}) {
    EXPECT_TRUE(Contains(general, part)) << part;
  }
  const std::string check = HelpOf({"help", "check"});
  for (const char* part :
       {"check [CLUSTER] [-o text|json|yaml]", "\n  0  keep", "\n  3  abandoned", "\n  4  unknown",
        "\n  1  no such cluster", "\n  2  neither a cluster nor a pod given"}) {
    EXPECT_TRUE(Contains(check, part)) << part;
  }
}

}  // namespace
}  // namespace cluster_watcher
