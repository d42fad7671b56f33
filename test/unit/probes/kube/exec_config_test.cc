#include "probes/kube/exec_config.h"

#include <gtest/gtest.h>

#include "probes/base/read_yaml.h"

namespace cluster_watcher {
namespace {

constexpr const char* kGood =
    "apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: Never";

struct Read {
  ExecConfig config;
  std::string problems;  // each in a line
};

JsonDocument Flow(const std::string& fields) {
  const auto document = ReadYamlAsJson("{" + fields + "}");
  EXPECT_TRUE(document) << fields;
  return document ? *document : JsonDocument();
}

Read ReadFlow(const std::string& fields, const std::string& directory = "/etc/kube") {
  Read read;
  read.config = ReadExecConfig(Flow(fields).root(), directory,
                               [&](const std::string& what) { read.problems += what + "\n"; });
  return read;
}

std::string Extension(const std::string& fields) { return ReadExecExtension(Flow(fields).root()); }

std::string Config(const std::string& value) {
  return Extension(
      "extensions: [{name: other, extension: {a: b}}, {name: "
      "client.authentication.k8s.io/exec, extension: " +
      value + "}]");
}

TEST(ReadExecConfig, ReadsEveryField) {
  const Read read = ReadFlow(
      "apiVersion: client.authentication.k8s.io/v1beta1, command: aws, args: [eks, get-token, "
      "'', '5'], env: [{name: AWS_PROFILE, value: dev}, {name: EMPTY}, {name: AWS_PROFILE, value: "
      "a=b}], installHint: get it, provideClusterInfo: true, interactiveMode: Always");
  EXPECT_EQ(read.problems, "");
  EXPECT_EQ(read.config.api_version, "client.authentication.k8s.io/v1beta1");
  EXPECT_EQ(read.config.command, "aws");
  EXPECT_EQ(read.config.arguments, (std::vector<std::string>{"eks", "get-token", "", "5"}));
  EXPECT_EQ(read.config.environment,
            (std::map<std::string, std::string>{{"AWS_PROFILE", "a=b"}, {"EMPTY", ""}}));
  EXPECT_EQ(read.config.install_hint, "get it");
  EXPECT_TRUE(read.config.provide_cluster_info);
  EXPECT_EQ(read.config.interactive_mode, InteractiveMode::kAlways);
}

TEST(ReadExecConfig, KnowsTheDefaults) {
  const Read v1 =
      ReadFlow(std::string(kGood) + ", args: null, env: null, provideClusterInfo: false");
  EXPECT_EQ(v1.problems, "");
  EXPECT_FALSE(v1.config.provide_cluster_info);
  EXPECT_EQ(v1.config.interactive_mode, InteractiveMode::kNever);
  const Read beta = ReadFlow("apiVersion: client.authentication.k8s.io/v1beta1, command: aws");
  EXPECT_EQ(beta.problems, "");
  EXPECT_EQ(beta.config.interactive_mode, InteractiveMode::kIfAvailable);
}

TEST(ReadExecConfig, FindsACommandWithASlashBesideTheKubeconfig) {
  const auto command = [](const std::string& text) {
    return ReadFlow("command: " + text).config.command;
  };
  EXPECT_EQ(command("./login"), "/etc/kube/login");
  EXPECT_EQ(command("../login"), "/etc/login") << "also where /etc/kube is a link";
  EXPECT_EQ(command("bin/login"), "/etc/kube/bin/login");
  EXPECT_EQ(command("/bin/login"), "/bin/login");
  EXPECT_EQ(command("login"), "login");
  EXPECT_EQ(ReadFlow("command: ./login", "").config.command, "./login") << "and never in PATH";
}

TEST(ReadExecConfig, SaysWhatIsWrong) {
  const std::string good = kGood;
  const std::string v1 = "apiVersion: client.authentication.k8s.io/v1, ";
  const std::pair<std::string, std::string> cases[] = {
      {v1 + "interactiveMode: Never", "command is missing; name"},
      {v1 + "interactiveMode: Never, command: [a]", "command is not a text"},
      {v1 + "interactiveMode: Never, command: \"a\\0b\"", "command holds a NUL"},
      {v1 + "command: aws", "interactiveMode is missing; set"},
      {v1 + "command: aws, interactiveMode: never", "interactiveMode \"never\" is unknown; set"},
      {"command: aws, interactiveMode: Never", "apiVersion is missing; set"},
      {"apiVersion: client.authentication.k8s.io/v1alpha1, command: aws",
       "apiVersion \"client.authentication.k8s.io/v1alpha1\" is not supported; set"},
      {good + ", args: text", "args is not a list"},
      {good + ", args: [[a]]", "entry of exec.args is not a text"},
      {good + ", args: [5]", "entry of exec.args is not a text; what YAML takes for a number"},
      {good + ", env: {a: b}", "env is not a list"},
      {good + ", env: [a]", "lacks the name"},
      {good + ", env: [{value: a}]", "lacks the name"},
      {good + ", env: [{name: a=b, value: a}]", "lacks the name"},
      {good + ", env: [{name: a, value: [hidden]}]", "\"a\" in exec.env is not a text"},
      {good + ", env: [{name: a, value: yes}]", "\"a\" in exec.env is not a text"},
      {good + ", provideClusterInfo: 'true'", "provideClusterInfo must be true or false"},
      {good + ", installHint: [a]", "installHint is not a text"},
  };
  for (const auto& [fields, problem] : cases) {
    const std::string problems = ReadFlow(fields).problems;
    EXPECT_NE(problems.find(problem), std::string::npos) << fields << ": " << problems;
    EXPECT_EQ(problems.find('\n'), problems.size() - 1) << "more than one: " << problems;
    EXPECT_EQ(problems.find("hidden"), std::string::npos) << "never a secret";
  }
}

TEST(ReadExecExtension, GivesWhatTheClusterKeepsForPlugins) {
  EXPECT_EQ(Config("{audience: 06fa, m: 5, b: true, s: '5', none: null, list: [1.5, x, ~]}"),
            R"({"audience":"06fa","m":5,"b":true,"s":"5","none":null,"list":[1.5,"x",null]})");
  EXPECT_EQ(Config("text"), "\"text\"");
  EXPECT_EQ(Config("null"), "");
  EXPECT_EQ(Extension(""), "");
  EXPECT_EQ(Config("{<<: {a: 1}, b: yes}"), R"({"a":1,"b":true})");
  EXPECT_EQ(Extension("extensions: text"), "");
  EXPECT_EQ(Extension("extensions: [text, {name: [a]}, {name: a}]"), "");
}

}  // namespace
}  // namespace cluster_watcher
