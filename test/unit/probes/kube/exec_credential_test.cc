#include "probes/kube/exec_credential.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "test/unit/support/plugin.h"

namespace cluster_watcher {
namespace {

ExecConfig SomeConfig() {
  ExecConfig config;
  config.api_version = "client.authentication.k8s.io/v1";
  config.command = "login";
  config.source = "kubeconfig /a/config, user \"bob\"";
  return config;
}

std::string StatusAnswer(const std::string& status) {
  return R"({"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": )" +
         status + "}";
}

// Returns the error; each names the entry and says what to do.
std::string ErrorOf(const Result<ExecCredential>& credential) {
  if (credential) return "none";
  const std::string& text = credential.error().message;
  EXPECT_TRUE(text.starts_with("kubeconfig /a/config, user \"bob\": exec: ")) << text;
  EXPECT_NE(text.find("; "), std::string::npos) << "no remedy: " << text;
  return text;
}

TEST(ReadExecCredential, ReadsATokenAndWhenItExpires) {
  const auto token = ReadExecCredential(SomeConfig(), StatusAnswer(R"({"token": "t0"})") + "\n");
  ASSERT_TRUE(token) << token.error().message;
  EXPECT_EQ(token->token, "t0");
  EXPECT_EQ(token->client_certificate_pem, "");
  EXPECT_EQ(token->expires, std::nullopt);
  const auto expiring = ReadExecCredential(
      SomeConfig(),
      StatusAnswer(R"({"token": "t0", "clientKeyData": null, "clientCertificateData": "",
                               "expirationTimestamp": "2026-12-24T18:00:00+01:00"})"));
  ASSERT_TRUE(expiring) << expiring.error().message;
  EXPECT_EQ(expiring->expires, WallTime(std::chrono::sys_days(std::chrono::year(2026) / 12 / 24) +
                                        std::chrono::hours(17)));
}

TEST(ReadExecCredential, TakesYaml) {
  const auto credential = ReadExecCredential(SomeConfig(), R"(# from login
kind: ExecCredential
apiVersion: client.authentication.k8s.io/v1
status:
  token: t0
  expirationTimestamp: 2026-12-24T18:00:00Z
)");
  ASSERT_TRUE(credential) << credential.error().message;
  EXPECT_EQ(credential->token, "t0");
  EXPECT_TRUE(credential->expires);
}

TEST(ReadExecCredential, SaysWhatIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "wrote nothing"},
      {" \n", "wrote nothing"},
      {"hidden", "no object in JSON or YAML"},
      {"[\"hidden\"]", "no object in JSON or YAML"},
      {StatusAnswer(R"({"token": "hidden"})") + "hidden", "no object in JSON or YAML"},
      {"{kind: ExecCredential, status: {token: hidden}}", "no object in JSON or YAML"},
      {"kind: ExecCredential\nstatus: {token: hidden, token: hidden}\n",
       "no object in JSON or YAML"},
      {"kind: ExecCredential\napiVersion: client.authentication.k8s.io/v1beta1\n",
       "apiVersion \"client.authentication.k8s.io/v1beta1\", asked in"},
      {"error: hidden\n", "of kind \"\""},
      {R"({"token": "hidden"})", "of kind \"\""},
      {R"({"kind": "Status", "apiVersion": "v1"})", "of kind \"Status\""},
      {R"({"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1beta1",
           "status": {"token": "hidden"}})",
       "apiVersion \"client.authentication.k8s.io/v1beta1\", asked in "
       "client.authentication.k8s.io/v1; set apiVersion"},
      {R"({"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1"})",
       "without a status"},
      {StatusAnswer("{}"), "neither a token nor"},
      {StatusAnswer(R"({"token": ""})"), "neither a token nor"},
      {StatusAnswer(R"({"token": 5})"), "token that is not a text"},
      {StatusAnswer(R"({"token": "hidden\nhidden"})"), "token that holds"},
      {StatusAnswer(R"({"clientCertificateData": "hidden"})"), "without clientKeyData"},
      {StatusAnswer(R"({"token": "a", "clientKeyData": "hidden"})"),
       "without clientCertificateData"},
      {StatusAnswer(R"({"clientCertificateData": "hidden", "clientKeyData": "hidden"})"),
       "not PEM"},
      {StatusAnswer(R"({"token": "hidden", "expirationTimestamp": "soon"})"), "\"soon\""},
  };
  for (const auto& [output, what] : cases) {
    const std::string error = ErrorOf(ReadExecCredential(SomeConfig(), output));
    EXPECT_NE(error.find("login"), std::string::npos) << error;
    EXPECT_NE(error.find(what), std::string::npos) << output << ": " << error;
    EXPECT_EQ(error.find("hidden"), std::string::npos) << "never a secret: " << error;
  }
}

TEST(ExecInfo, TellsThePluginWhatItIsToDo) {
  ExecConfig config = SomeConfig();
  EXPECT_EQ(ExecInfo(config, true),
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
            R"("spec":{"interactive":true}})");
  config.api_version = "client.authentication.k8s.io/v1beta1";
  config.cluster = R"({"server":"https://a","config":{"b":[1]}})";
  EXPECT_EQ(ExecInfo(config, false),
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1",)"
            R"("spec":{"cluster":{"server":"https://a","config":{"b":[1]}},"interactive":false}})");
}

class RunExecPluginTest : public testing::Test {
 protected:
  RunExecPluginTest() { plugin_.GiveToken("t0"); }

  // With the standard input from this file.
  static Result<ExecCredential> RunWith(const ExecConfig& config, const std::string& input,
                                        std::stop_token stop = {}) {
    const int before = dup(STDIN_FILENO);
    const int file = open(input.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    EXPECT_GE(file, 0) << input;
    dup2(file, STDIN_FILENO);
    close(file);
    auto credential = RunExecPlugin(config, std::move(stop));
    dup2(before, STDIN_FILENO);
    close(before);
    return credential;
  }

  const Plugin plugin_;
};

TEST_F(RunExecPluginTest, GivesItArgumentsAndEnvironment) {
  plugin_.Script(
      "printf '[%s]' \"$@\" >\"$dir/args\"; echo \"$A $KUBERNETES_EXEC_INFO\" >\"$dir/env\"; "
      "cat \"$dir/answer\"");
  ExecConfig config = plugin_.Config();
  config.arguments = {"get token", "$HOME"};
  config.environment = {{"A", "b c"}, {"KUBERNETES_EXEC_INFO", "not this"}};
  const auto credential = RunExecPlugin(config, {});
  ASSERT_TRUE(credential) << credential.error().message;
  EXPECT_EQ(credential->token, "t0");
  EXPECT_EQ(plugin_.Read("args"), "[get token][$HOME]");
  EXPECT_EQ(plugin_.Read("env"), "b c " + ExecInfo(config, false) + "\n");
}

TEST_F(RunExecPluginTest, SaysHowItEnded) {
  plugin_.Script("echo hidden; exit 3");
  EXPECT_NE(ErrorOf(RunExecPlugin(plugin_.Config(), {})).find("exit code 3;"), std::string::npos);
  plugin_.Script("kill -KILL $$");
  EXPECT_NE(ErrorOf(RunExecPlugin(plugin_.Config(), {})).find("signal 9;"), std::string::npos);
  plugin_.Script("exec yes");
  EXPECT_NE(ErrorOf(RunExecPlugin(plugin_.Config(), {})).find("wrote more"), std::string::npos);
}

TEST_F(RunExecPluginTest, SaysHowToGetOneThatIsMissing) {
  ExecConfig config = plugin_.Config();
  config.arguments = {"hidden"};
  config.environment = {{"A", "hidden"}};
  config.command = "no-such-plugin";
  config.install_hint = "brew install it:\n  \x1b[31mor not\n";
  const std::string missing = ErrorOf(RunExecPlugin(config, {}));
  EXPECT_NE(missing.find("no-such-plugin is not in PATH; install"), std::string::npos) << missing;
  EXPECT_NE(missing.find("correct command: brew install it: \\u001b[31mor not"), std::string::npos)
      << missing;
  config.command = plugin_.Path("answer");
  const std::string other = ErrorOf(RunExecPlugin(config, {}));
  EXPECT_NE(other.find("can't be executed"), std::string::npos) << other;
  EXPECT_EQ(other.find("brew"), std::string::npos) << "it is installed";
  EXPECT_EQ((missing + other).find("hidden"), std::string::npos) << "arguments may be secrets";
}

TEST_F(RunExecPluginTest, IsInteractiveOnlyInATerminal) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_TRUE(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
  const std::string name = ptsname(terminal);
  ASSERT_EQ(write(terminal, "t1\n", 3), 3);
  plugin_.Script(
      "test -t 0 && read token && sed \"s/t0/$token/\" \"$dir/answer\" || cat \"$dir/answer\"\n"
      "echo \"$KUBERNETES_EXEC_INFO\" >\"$dir/info\"");
  ExecConfig config = plugin_.Config();
  const auto run = [&](InteractiveMode mode, const std::string& input) {
    config.interactive_mode = mode;
    const auto credential = RunWith(config, input);
    if (!credential) return ErrorOf(credential);
    return credential->token +
           (plugin_.Read("info") == ExecInfo(config, true) + "\n" ? " interactive" : "");
  };
  EXPECT_EQ(run(InteractiveMode::kNever, name), "t0");
  EXPECT_EQ(run(InteractiveMode::kIfAvailable, name), "t1 interactive");
  ASSERT_EQ(write(terminal, "t2\n", 3), 3);
  EXPECT_EQ(run(InteractiveMode::kAlways, name), "t2 interactive");
  EXPECT_EQ(run(InteractiveMode::kIfAvailable, "/dev/null"), "t0");
  EXPECT_NE(run(InteractiveMode::kAlways, "/dev/null").find("not a terminal; run"),
            std::string::npos);
  EXPECT_EQ(plugin_.Runs(), 4) << "not where nobody can answer";
  close(terminal);
}

TEST_F(RunExecPluginTest, IsStoppedWithUs) {
  std::stop_source source;
  source.request_stop();
  plugin_.Script("exec sleep 1000");
  const auto stopped = RunExecPlugin(plugin_.Config(), source.get_token());
  ASSERT_FALSE(stopped);
  EXPECT_NE(stopped.error().message.find("was stopped"), std::string::npos);
}

}  // namespace
}  // namespace cluster_watcher
