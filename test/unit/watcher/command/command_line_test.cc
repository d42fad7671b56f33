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
  EXPECT_EQ(Invoked({}).command, Command::kWatch);
  EXPECT_EQ(Invoked({"watch"}).command, Command::kWatch);
  EXPECT_EQ(Invoked({"check"}).command, Command::kCheck);
  EXPECT_EQ(Invoked({"version"}).command, Command::kVersion);
  EXPECT_EQ(Invoked({"--version"}).command, Command::kVersion);
  EXPECT_EQ(Invoked({"watch", "--version"}).command, Command::kVersion);
  EXPECT_EQ(Invoked({"--", "check"}).command, Command::kCheck);
  EXPECT_TRUE(Invoked({}).flags.empty());
}

TEST(CommandLine, IsTheSameAsAPluginOfKubectl) {
  for (const char* program : {"kubectl-cluster_watcher", "/a/kubectl-cluster_watcher", "", "x"}) {
    const CommandLine parsed = Parse({"check", "c1"}, program);
    ASSERT_TRUE(std::holds_alternative<Invocation>(parsed));
    EXPECT_EQ(std::get<Invocation>(parsed).cluster, "c1");
  }
  const CommandLine nothing = ParseCommandLine({});
  EXPECT_TRUE(std::holds_alternative<Invocation>(nothing));
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
  struct Case {
    Lines arguments;
    TextMap flags;
  };
  const std::vector<Case> cases = {
      {{"-n", "lab"}, {{"namespace", "lab"}}},
      {{"-nlab"}, {{"namespace", "lab"}}},
      {{"-n=lab"}, {{"namespace", "lab"}}},
      {{"-n", ""}, {{"namespace", ""}}},
      {{"-n="}, {{"namespace", ""}}},
      {{"-n", "a", "--namespace=b"}, {{"namespace", "b"}}},
      {{"--namespace=b", "-n", "a"}, {{"namespace", "a"}}},
      {{"--poll-interval=1s", "--poll-interval", "2s"}, {{"poll-interval", "2s"}}},
      {{"--cluster="}, {{"cluster", ""}}},
      {{"--cluster", ""}, {{"cluster", ""}}},
      {{"--cluster=", "--pod=p"}, {{"cluster", ""}, {"pod", "p"}}},
      {{"--cluster=a", "--cluster="}, {{"cluster", ""}}},
      {{"--cluster=a=b"}, {{"cluster", "a=b"}}},
      {{"--cluster= a b "}, {{"cluster", " a b "}}},
      {{"--cluster=watch"}, {{"cluster", "watch"}}},
      {{"--cluster", "check"}, {{"cluster", "check"}}},
      {{"--poll-interval", "-5s"}, {{"poll-interval", "-5s"}}},
      {{"--context=[a,b]"}, {{"context", "[a,b]"}}},
      {{"--resources", "pods,services"}, {{"resources", "pods,services"}}},
      {{"--completed-when={.status.phase}=Succeeded,Failed"},
       {{"completed-when", "{.status.phase}=Succeeded,Failed"}}},
      {{"--completed-when", "{.status.phase}=Failed"},
       {{"completed-when", "{.status.phase}=Failed"}}},
      {{"--kubeconfig=\"a b\""}, {{"kubeconfig", "\"a b\""}}},
      {{"--listen", "[::1]:9090"}, {{"listen", "[::1]:9090"}}},
      {{"--owner=deployment/bob", "--confirmations", "5"},
       {{"owner", "deployment/bob"}, {"confirmations", "5"}}},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(Invoked(one.arguments).flags, one.flags) << Joined(one.arguments);
  }
}

TEST(CommandLine, ABooleanTakesItsValueByEqualsOnly) {
  const auto dry_run = [](const Lines& arguments) {
    const TextMap flags = Invoked(arguments).flags;
    const auto found = flags.find("dry-run");
    return found == flags.end() ? "absent" : found->second;
  };
  EXPECT_EQ(dry_run({"--dry-run"}), "true");
  EXPECT_EQ(dry_run({"--dry-run", "watch"}), "true");
  EXPECT_EQ(dry_run({"watch", "--dry-run", "--pod=p"}), "true");
  EXPECT_EQ(dry_run({"--dry-run=true"}), "true");
  EXPECT_EQ(dry_run({"--dry-run=false"}), "false");
  EXPECT_EQ(dry_run({"--dry-run=false", "check"}), "false");
  EXPECT_EQ(dry_run({"--dry-run", "--dry-run=false"}), "false");
  EXPECT_EQ(dry_run({"--dry-run=false", "--dry-run"}), "true");
  EXPECT_EQ(dry_run({"--dry-run="}), "");
  EXPECT_EQ(dry_run({"--dry-run=no"}), "no");
  EXPECT_EQ(ErrorsOf({"--dry-run", "false"}),
            Lines{"unknown command \"false\": a boolean takes its value by \"=\", as in "
                  "--dry-run=false. See \"cluster-watcher help\""});
  EXPECT_EQ(ErrorsOf({"watch", "--dry-run", "false"}),
            Lines{"watch: unexpected \"false\": a boolean takes its value by \"=\", as in "
                  "--dry-run=false. See \"cluster-watcher help watch\""});
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
  EXPECT_EQ(Invoked({"check", "c1", "--cluster=c1"}).cluster, "c1");
  EXPECT_EQ(Invoked({"check", "check"}).cluster, "check");
  EXPECT_EQ(Invoked({"check", "--", "--c"}).cluster, "--c");
}

TEST(CommandLine, CheckSaysWhatIsWrong) {
  EXPECT_EQ(ErrorsOf({"check", "a", "b"}),
            Lines{"check: unexpected \"b\". See \"cluster-watcher help check\""});
  EXPECT_EQ(ErrorsOf({"check", ""}), Lines{"check: CLUSTER is empty: give its name"});
  EXPECT_EQ(ErrorsOf({"check", "a", "--cluster=b"}),
            Lines{"check: CLUSTER \"a\" contradicts --cluster \"b\": give one of them"});
  EXPECT_EQ(ErrorsOf({"check", "-o", "yaml"}),
            Lines{"--output: \"yaml\" is unknown: give text or json"});
  EXPECT_EQ(ErrorsOf({"check", "-o", ""}), Lines{"--output: \"\" is unknown: give text or json"});
  EXPECT_EQ(ErrorsOf({"check", "a", "b", "-oyaml"}).size(), 2u);
}

TEST(CommandLine, InjectTakesFiles) {
  const Invocation plain = Invoked({"inject"});
  EXPECT_EQ(plain.command, Command::kInject);
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

TEST(CommandLine, InjectSaysWhatIsWrong) {
  EXPECT_EQ(ErrorsOf({"inject", "a.yaml"}),
            Lines{"inject: unexpected \"a.yaml\". See \"cluster-watcher help inject\""});
  EXPECT_EQ(ErrorsOf({"inject", "--reject-invalid", "true"}),
            Lines{"inject: unexpected \"true\": a boolean takes its value by \"=\", as in "
                  "--reject-invalid=true. See \"cluster-watcher help inject\""});
  EXPECT_EQ(ErrorsOf({"inject", "--reject-invalid=yes"}),
            Lines{"--reject-invalid: \"yes\": give true or false"});
  EXPECT_EQ(ErrorsOf({"inject", "-f"}), Lines{"-f needs a value: -f FILE"});
  EXPECT_EQ(ErrorsOf({"inject", "-f", "--config=x"}),
            Lines{"--filename needs a value: --filename=FILE"});
  EXPECT_EQ(ErrorsOf({"inject", "--config"}), Lines{"--config needs a value: --config=FILE|DIR"});
  EXPECT_EQ(ErrorsOf({"inject", "-f", ""}),
            Lines{"--filename is empty: give a file, or - for the standard input"});
  EXPECT_EQ(ErrorsOf({"inject", "-f-", "-f", "a", "-f-"}),
            Lines{"--filename: the standard input can be read only once"});
  EXPECT_EQ(ErrorsOf({"inject", "--imgae=x"}),
            Lines{"unknown flag: --imgae; did you mean --image? See \"cluster-watcher help "
                  "inject\""});
}

TEST(CommandLine, WebhookHasDefaults) {
  const Invocation plain = Invoked({"webhook"});
  EXPECT_EQ(plain.command, Command::kWebhook);
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

TEST(CommandLine, FlagsOfOtherCommandsAreRefused) {
  EXPECT_EQ(ErrorsOf({"-o", "json"}), Lines{"--output is a flag of check, not of watch"});
  EXPECT_EQ(ErrorsOf({"version", "-o", "json", "-n", "a"}),
            (Lines{"--namespace is a flag of watch and check, not of version",
                   "--output is a flag of check, not of version"}));
  EXPECT_EQ(ErrorsOf({"-f", "x"}), Lines{"--filename is a flag of inject, not of watch"});
  EXPECT_EQ(ErrorsOf({"check", "--image=x"}), Lines{"--image is a flag of inject, not of check"});
  EXPECT_EQ(ErrorsOf({"inject", "--pod=x", "--listen=:1", "-o", "json"}),
            (Lines{"--listen is a flag of watch, check and webhook, not of inject",
                   "--output is a flag of check, not of inject",
                   "--pod is a flag of watch and check, not of inject"}));
  EXPECT_EQ(ErrorsOf({"webhook", "-f", "x"}),
            Lines{"--filename is a flag of inject, not of webhook"});
  EXPECT_EQ(ErrorsOf({"version", "x"}),
            Lines{"version: unexpected \"x\". See \"cluster-watcher help version\""});
  EXPECT_EQ(ErrorsOf({"watch", "x"}),
            Lines{"watch: unexpected \"x\". See \"cluster-watcher help watch\""});
}

TEST(CommandLine, UnknownFlagsAreAllNamed) {
  EXPECT_EQ(ErrorsOf({"--pol-interval", "5s"}),
            Lines{"unknown flag: --pol-interval; did you mean --poll-interval? See "
                  "\"cluster-watcher help watch\""});
  EXPECT_EQ(
      ErrorsOf({"check", "--onwer=bob", "--frobnicate", "-x", "--pod"}),
      (Lines{"unknown flag: --onwer; did you mean --owner? See \"cluster-watcher help check\"",
             "unknown flag: --frobnicate. See \"cluster-watcher help check\"",
             "unknown flag: -x. See \"cluster-watcher help check\"",
             "--pod needs a value: --pod=NAME"}));
  EXPECT_EQ(ErrorsOf({"-poll-interval=5s"}),
            Lines{"unknown flag: -poll-interval; did you mean --poll-interval? See "
                  "\"cluster-watcher help watch\""});
  EXPECT_EQ(ErrorsOf({"--Dry-run"}),
            Lines{"unknown flag: --Dry-run; did you mean --dry-run? See \"cluster-watcher help "
                  "watch\""});
  EXPECT_EQ(ErrorsOf({"--x\n=1"}),
            Lines{"unknown flag: --x\\n. See \"cluster-watcher help watch\""});
  EXPECT_EQ(ErrorsOf({"--="}), Lines{"unknown flag: --. See \"cluster-watcher help watch\""});
  EXPECT_EQ(ErrorsOf({"---pod=x"}).size(), 1u);
}

TEST(CommandLine, UnknownCommandsAreNamed) {
  EXPECT_EQ(ErrorsOf({"wach"}),
            Lines{"unknown command \"wach\"; did you mean watch? See \"cluster-watcher help\""});
  EXPECT_EQ(ErrorsOf({"-n", "lab", "chek", "c1"}),
            Lines{"unknown command \"chek\"; did you mean check? See \"cluster-watcher help\""});
  for (const char* later : {"run", "create", "claim", "release", "await", "delete", "list", "sweep",
                            "injector", "hook", "completion", "", "-", "++", "Watch ", "x\ny"}) {
    const Lines errors = ErrorsOf({later});
    ASSERT_EQ(errors.size(), 1u) << later;
    EXPECT_EQ(errors[0].find("unknown command \""), 0u) << errors[0];
    EXPECT_FALSE(Contains(errors[0], "\n"));
  }
  EXPECT_EQ(ErrorsOf({"run"}), Lines{"unknown command \"run\". See \"cluster-watcher help\""});
  EXPECT_EQ(
      ErrorsOf({"help", "versoin"}),
      Lines{"unknown command \"versoin\"; did you mean version? See \"cluster-watcher help\""});
}

TEST(CommandLine, MissingValuesAreNamed) {
  EXPECT_EQ(ErrorsOf({"watch", "--poll-interval"}),
            Lines{"--poll-interval needs a value: --poll-interval=DURATION"});
  EXPECT_EQ(ErrorsOf({"-n"}), Lines{"-n needs a value: -n NAMESPACE"});
  EXPECT_EQ(ErrorsOf({"check", "-o"}), Lines{"-o needs a value: -o text|json"});
  EXPECT_EQ(ErrorsOf({"check", "--output"}), Lines{"--output needs a value: --output=text|json"});
  EXPECT_EQ(ErrorsOf({"--cluster", "--pod", "p"}).front(),
            "--cluster needs a value: --cluster=NAME");
  EXPECT_EQ(ErrorsOf({"--cluster", "--dry-run"}), Lines{"--cluster needs a value: --cluster=NAME"});
  EXPECT_EQ(ErrorsOf({"--cluster", "--"}), Lines{"--cluster needs a value: --cluster=NAME"});
}

TEST(CommandLine, HelpIsGivenAnywhere) {
  const std::string general = HelpOf({"help"});
  const std::string watch = HelpOf({"help", "watch"});
  const std::string check = HelpOf({"help", "check"});
  for (const Lines& arguments : std::vector<Lines>{
           {"--help"}, {"-h"}, {"--pod=x", "-h"}, {"--bad", "--help"}, {"wach", "--help"}}) {
    EXPECT_EQ(HelpOf(arguments), general) << Joined(arguments);
  }
  for (const Lines& arguments : std::vector<Lines>{{"watch", "--help"},
                                                   {"-h", "watch"},
                                                   {"watch", "--cluster", "-h"},
                                                   {"watch", "--bad", "--help"}}) {
    EXPECT_EQ(HelpOf(arguments), watch) << Joined(arguments);
  }
  EXPECT_EQ(HelpOf({"check", "c1", "-o", "json", "--help"}), check);
  EXPECT_EQ(HelpOf({"version", "-h"}), HelpOf({"help", "version"}));
  EXPECT_EQ(HelpOf({"help", "--help"}), HelpOf({"help", "help"}));
  EXPECT_EQ(Invoked({"check", "--", "-h"}).cluster, "-h");
  EXPECT_EQ(ErrorsOf({"help", "watch", "x"}),
            Lines{"help: unexpected \"x\". See \"cluster-watcher help help\""});
}

TEST(CommandLine, HelpFitsTheScreen) {
  for (const Lines& arguments : std::vector<Lines>{{"help"},
                                                   {"help", "watch"},
                                                   {"help", "check"},
                                                   {"help", "inject"},
                                                   {"help", "webhook"},
                                                   {"help", "version"},
                                                   {"help", "help"}}) {
    const std::string help = HelpOf(arguments);
    EXPECT_TRUE(help.ends_with("\n") && !help.ends_with("\n\n"));
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 100u) << line;
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

TEST(CommandLine, HelpOfOtherCommandsDescribesTheirFlags) {
  for (const CommandDescription& command : Commands()) {
    const std::string help = HelpOf({"help", command.name});
    for (const Flag& flag : command.flags) {
      if (!flag.is_own) continue;
      const std::string equals = flag.IsBoolean() ? "[=" : "=";
      EXPECT_TRUE(Contains(help, "--" + flag.name + equals + flag.placeholder)) << help;
    }
  }
  EXPECT_TRUE(Contains(HelpOf({"help", "inject"}), "\n  -f, --filename=FILE "));
}

TEST(CommandLine, HelpListsCommandsAndExitCodes) {
  const std::string general = HelpOf({"help"});
  for (const char* part : {"\n  watch ", "\n  check ", "\n  inject ", "\n  webhook ",
                           "\n  version ", "\n  help ", "\n  0  done"}) {
    EXPECT_TRUE(Contains(general, part)) << part;
  }
  const std::string check = HelpOf({"help", "check"});
  for (const char* part :
       {"check [CLUSTER] [-o text|json]", "\n  0  keep", "\n  3  abandoned", "\n  4  unknown",
        "\n  1  no such cluster", "\n  2  neither a cluster nor a pod given"}) {
    EXPECT_TRUE(Contains(check, part)) << part;
  }
}

}  // namespace
}  // namespace cluster_watcher
