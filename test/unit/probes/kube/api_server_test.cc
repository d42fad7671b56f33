#include "probes/kube/api_server.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <vector>

#include "test/unit/support/plugin.h"
#include "test/unit/support/temporary_directory.h"
#include "test/unit/support/test_clock.h"

namespace cluster_watcher {
namespace {

constexpr const char* kMinimal = R"(
apiVersion: v1
kind: Config
current-context: dev
clusters:
- name: c1
  cluster: {server: "https://10.0.0.1:6443/", certificate-authority-data: Y2E=}
users:
- name: u1
  user: {token: secret}
contexts:
- name: dev
  context: {cluster: c1, user: u1, namespace: team}
- name: prod
  context: {cluster: gone, user: lost}
)";

// A kubeconfig with one cluster and one user, which hold these fields in flow style.
std::string Config(const std::string& cluster, const std::string& user) {
  return "current-context: x\nclusters: [{name: c, cluster: {" + cluster +
         "}}]\nusers: [{name: u, user: {" + user +
         "}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n";
}

class ApiServerTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.Path(name); }
  std::string Write(const std::string& name, const std::string& text) {
    return directory_.Write(name, text);
  }
  void WriteServiceAccount() {
    Write("account/token", "pod-token\n");
    Write("account/ca.crt", "the ca");
    Write("account/namespace", "team\n");
    environment_["KUBERNETES_SERVICE_HOST"] = "10.0.1.1";
    environment_["KUBERNETES_SERVICE_PORT"] = "443";
  }

  Result<ApiServer> Find(const std::string& kubeconfig = "", const std::string& context = "") {
    const Environment environment = [this](const std::string& name) -> std::optional<std::string> {
      const auto variable = environment_.find(name);
      if (variable == environment_.end()) return std::nullopt;
      return variable->second;
    };
    return FindApiServer(kubeconfig, context, environment, Path("account"));
  }
  Result<ApiServer> FindIn(const std::string& content, const std::string& context = "") {
    return Find(Write("config", content), context);
  }
  // Expects each of these texts in the error.
  static void ExpectError(const Result<ApiServer>& found, const std::vector<std::string>& texts) {
    ASSERT_FALSE(found);
    for (const std::string& text : texts) {
      EXPECT_NE(found.error().message.find(text), std::string::npos)
          << "no \"" << text << "\" in: " << found.error().message;
    }
  }

  const TemporaryDirectory directory_;
  std::map<std::string, std::string> environment_;
};

TEST_F(ApiServerTest, ReadsTheCurrentContext) {
  const Result<ApiServer> found = FindIn(kMinimal);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->url, "https://10.0.0.1:6443");
  EXPECT_EQ(found->ca_pem, "ca");
  EXPECT_EQ(found->token, "secret");
  EXPECT_EQ(found->token_file, "");
  EXPECT_EQ(found->default_namespace, "team");
  EXPECT_EQ(found->user, "u1");
  EXPECT_EQ(found->source, "kubeconfig " + Path("config") + ", context dev");
  EXPECT_FALSE(found->insecure_skip_tls_verify);
}

TEST_F(ApiServerTest, ReadsEverythingThatIsSupported) {
  Write("pki/client.crt", "a certificate");
  const Result<ApiServer> found =
      FindIn(Config("server: https://host, insecure-skip-tls-verify: true, tls-server-name: other, "
                    "extensions: []",
                    "token: a, tokenFile: pki/client.key, client-certificate: pki/client.crt, "
                    "client-key-data: 'a2V5\n  IQ=='"));
  ExpectError(found, {"tokenFile", Path("pki/client.key")});
  Write("pki/client.key", "b\n");
  const Result<ApiServer> complete = Find(Path("config"));
  ASSERT_TRUE(complete) << complete.error().message;
  EXPECT_TRUE(complete->insecure_skip_tls_verify);
  EXPECT_EQ(complete->tls_server_name, "other");
  EXPECT_EQ(complete->token, "a");
  EXPECT_EQ(complete->token_file, Path("pki/client.key"));
  EXPECT_EQ(complete->client_certificate_pem, "a certificate");
  EXPECT_EQ(complete->client_key_pem, "key!");
  EXPECT_EQ(complete->client_certificate_file, Path("pki/client.crt"));
  EXPECT_EQ(complete->client_key_file, "") << "it comes from no file";
}

TEST_F(ApiServerTest, ReadsWhatOthersWrite) {
  const auto json = FindIn(
      R"({"current-context":"x","contexts":[{"name":"x","context":{"cluster":"c"}}],
          "clusters":[{"name":"c","cluster":{"server":"http:\/\/[::1]:8001\/base"}}],"users":null})");
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(json->url, "http://[::1]:8001/base");
  EXPECT_EQ(json->token, "") << "a context without a user is anonymous";
  const auto nothing =
      FindIn(Config("server: https://host, proxy-url: '', certificate-authority: null",
                    "exec: null, username: '', password: , as-groups: []"));
  EXPECT_TRUE(nothing) << nothing.error().message << " what is null or empty is absent";
}

TEST_F(ApiServerTest, TakesTheNamedContext) {
  ExpectError(FindIn(kMinimal, "prod"),
              {Path("config"), "\"prod\"", "\"gone\"", "\"c1\"", "\"lost\"", "\"u1\""});
  ExpectError(FindIn(kMinimal, "test"), {"\"test\"", "--context", "\"dev\", \"prod\""});
}

TEST_F(ApiServerTest, NeedsAContext) {
  ExpectError(FindIn("contexts: [{name: a, context: {}}]"),
              {"current-context", "--context", "\"a\""});
  ExpectError(FindIn(""), {"current-context", "none"});
  ExpectError(FindIn("current-context: a\ncontexts: [{name: a}]"), {"\"a\"", "cluster"});
}

TEST_F(ApiServerTest, RefusesWhatIsNoKubeconfig) {
  ExpectError(FindIn("a: [1,\nb: }\n"), {Path("config"), "line 2"});
  ExpectError(FindIn("a: *unknown\n"), {Path("config"), "line 1, column 4", "\"unknown\""});
  ExpectError(FindIn(std::string(100'000, '[')), {Path("config"), "nested"});
  ExpectError(FindIn("a: 1\na: 2\n"), {Path("config"), "line 2", "\"a\" stands twice"});
  ExpectError(FindIn("just text"), {Path("config"), "map"});
  ExpectError(FindIn("kind: Pod\napiVersion: v1\n"), {Path("config"), "\"Pod\"", "Config of v1"});
  ExpectError(FindIn("kind: Config\napiVersion: v2\n"), {Path("config"), "\"v2\""});
  ExpectError(FindIn("- a\n- b\n"), {Path("config"), "map"});
  ExpectError(FindIn("current-context: [a]"), {"current-context"});
  ExpectError(FindIn("clusters: {}"), {"clusters", "list"});
  ExpectError(FindIn("users:\n- user: {}\n"), {Path("config"), "users", "name"});
  ExpectError(FindIn("users: [text]"), {"users"});
  ExpectError(FindIn("users: [{name: u, user: text}]"), {"\"u\"", "map"});
  ExpectError(FindIn("users: [{name: u, user: {token: [1]}}]"), {"\"u\"", "token", "text"});
  ExpectError(FindIn("users: [{name: u}, {name: u}]"), {"\"u\"", "twice"});
  ExpectError(FindIn(std::string(5u << 20, '#')), {Path("config"), "larger"});
  ExpectError(FindIn(std::string("\xff\xfe\0\x01", 4)), {Path("config")});
}

TEST_F(ApiServerTest, SurvivesAliasesOfAliases) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    const std::string name = "a" + std::to_string(i);
    bomb += name + ": &" + name + " [" + last + ", " + last + ", " + last + ", " + last + "]\n";
  }
  ExpectError(FindIn(bomb + Config("server: https://host", "token: t")),
              {Path("config"), "too large"});
}

// kubectl refuses them, too.
TEST_F(ApiServerTest, TakesNoNumberForAText) {
  for (const char* value : {"5", "yes", "0x1F", "1_000", "[a]"}) {
    const std::string context =
        "contexts: [{name: x, context: {namespace: " + std::string(value) + "}}]";
    ExpectError(FindIn(context), {Path("config"), "context \"x\"", "namespace", "quotes"});
  }
  ExpectError(FindIn("users: [{name: 5}]"), {"users", "name"});
  ExpectError(FindIn("current-context: 5"), {"current-context", "quotes"});
  const auto found = FindIn(
      "current-context: '5'\nclusters: [{name: off, cluster: {server: https://other}}, {name: "
      "'off', cluster: {server: https://host}}]\ncontexts: [{name: '5', context: {cluster: 'off', "
      "namespace: '5'}}]");
  ExpectError(found, {"clusters", "name"});
}

TEST_F(ApiServerTest, FollowsMergeKeysInEveryEntry) {
  const auto found = FindIn(R"(
.cluster: &cluster {server: "https://host", insecure-skip-tls-verify: on}
.user: &user {token: a}
.context: &context {cluster: c, user: u, namespace: team}
current-context: x
clusters: [{name: c, cluster: {<<: *cluster, tls-server-name: other}}]
users: [{name: u, user: {token: b, <<: *user}}]
contexts: [{name: x, context: {<<: [{namespace: first}, *context]}}]
)");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->url, "https://host");
  EXPECT_TRUE(found->insecure_skip_tls_verify);
  EXPECT_EQ(found->tls_server_name, "other");
  EXPECT_EQ(found->token, "a") << "the later one counts";
  EXPECT_EQ(found->default_namespace, "first") << "of a list the first";
}

TEST_F(ApiServerTest, KnowsTheTruthValuesOfYaml) {
  const auto skips = [this](const std::string& value) {
    const auto found =
        FindIn(Config("server: https://host, insecure-skip-tls-verify: " + value, ""));
    return found ? found->insecure_skip_tls_verify ? "yes" : "no" : found.error().message;
  };
  for (const char* value : {"true", "True", "TRUE", "yes", "Yes", "on", "ON", "y"}) {
    EXPECT_EQ(skips(value), "yes") << value;
  }
  for (const char* value : {"false", "False", "no", "NO", "off", "n", "null", "~", ""}) {
    EXPECT_EQ(skips(value), "no") << value;
  }
  for (const char* value : {"'true'", "1", "tRUE", "maybe"}) {
    EXPECT_NE(skips(value).find("insecure-skip-tls-verify must be true or false"),
              std::string::npos)
        << value;
  }
}

TEST_F(ApiServerTest, RefusesANamespaceThatNoneCanBe) {
  for (const char* name : {"Team", "a/b", "'a '", "..", "'a\nb'"}) {
    ExpectError(
        FindIn("current-context: x\nclusters: [{name: c, cluster: {server: https://host}}]\n"
               "contexts: [{name: x, context: {cluster: c, namespace: " +
               std::string(name) + "}}]"),
        {Path("config"), "context \"x\"", "namespace", "DNS label"});
  }
}

TEST_F(ApiServerTest, FindsFilesWhereKubectlDoes) {
  Write("real/deep/config", Config("server: https://host, certificate-authority: ../ca", ""));
  Write("ca", "beside the link");
  Write("real/ca", "beside the directory");
  std::filesystem::create_directory_symlink(Path("real/deep"), Path("link"));
  const auto found = Find(Path("link/config"));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->ca_pem, "beside the link");
}

TEST_F(ApiServerTest, RefusesABadServer) {
  for (const char* server :
       {"", "host:6443", "ftp://host", "https://", "https:///path", "https://:443", "https://a b",
        "https://user@host", "https://host/?a=b", "https://host/#a", "https://a\\nb"}) {
    ExpectError(FindIn(Config("server: \"" + std::string(server) + "\"", "token: t")),
                {Path("config"), "cluster \"c\"", "server"});
  }
}

TEST_F(ApiServerTest, RefusesWhatItDoesNotSupport) {
  for (const char* field : {"auth-provider: {name: gcp}", "username: a", "password: b", "as: admin",
                            "as-groups: [a]", "as-uid: '1'", "as-user-extra: {a: [b]}"}) {
    const std::string name = std::string(field).substr(0, std::string(field).find(':'));
    ExpectError(FindIn(Config("server: https://host", field)),
                {Path("config"), "user \"u\"", name, "not supported", "use"});
  }
}

TEST_F(ApiServerTest, TakesAProxy) {
  for (const char* url : {"http://proxy:3128", "https://proxy", "socks5://u:p@proxy:1080"}) {
    const auto found =
        FindIn(Config("server: https://host, proxy-url: '" + std::string(url) + "'", ""));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->proxy_url, url);
  }
  for (const char* url : {"proxy:3128", "ftp://proxy", "http://", "http://a b"}) {
    ExpectError(FindIn(Config("server: https://host, proxy-url: '" + std::string(url) + "'", "")),
                {"cluster \"c\"", "proxy-url", "socks5"});
  }
  const auto found = FindIn(Config("server: https://host, proxy-url: 'ftp://u:hidden@proxy'", ""));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message.find("hidden"), std::string::npos) << "never a secret";
}

// The entry of a user whose plugin lies beside the kubeconfig, and keeps what it is told in a file.
constexpr const char* kPlugin =
    "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, interactiveMode: "
    "Never, "
    "provideClusterInfo: true}";
constexpr const char* kV1 = "client.authentication.k8s.io/v1";

class ApiServerWithPlugin : public ApiServerTest {
 protected:
  // Returns KUBERNETES_EXEC_INFO.
  std::string Told(const Result<ApiServer>& found) {
    Write("plugin", "#!/bin/sh\nprintf %s \"$KUBERNETES_EXEC_INFO\" >'" + Path("info") +
                        "'\necho '{\"kind\": \"ExecCredential\", \"apiVersion\": \"" + kV1 +
                        "\", \"status\": {\"token\": \"given\"}}'\n");
    chmod(Path("plugin").c_str(), 0700);
    if (!found) return found.error().message;
    if (!found->plugin) return "no plugin";
    TestClock clock;
    const auto token = found->plugin->Token(clock, {});
    return token && *token == "given" ? directory_.Read("info") : "no token";
  }
};

TEST_F(ApiServerWithPlugin, TellsItOfTheCluster) {
  const std::string begin =
      R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{)";
  Write("ca.crt", "ca");
  EXPECT_EQ(Told(FindIn(Config("server: https://host:6443, certificate-authority: ca.crt, "
                               "tls-server-name: other, disable-compression: true, extensions: "
                               "[{name: client.authentication.k8s.io/exec, extension: {a: [5]}}]",
                               kPlugin))),
            begin + R"("cluster":{"server":"https://host:6443","tls-server-name":"other",)" +
                R"("certificate-authority-data":"Y2E=","disable-compression":true,)" +
                R"("config":{"a":[5]}},"interactive":false}})");
  EXPECT_EQ(Told(FindIn(Config("server: http://host, insecure-skip-tls-verify: true", kPlugin))),
            begin + R"("cluster":{"server":"http://host","insecure-skip-tls-verify":true},)" +
                R"("interactive":false}})");
  std::string uninformed = kPlugin;
  uninformed.replace(uninformed.find("true"), 4, "false");
  EXPECT_EQ(Told(FindIn(Config("server: https://host", uninformed))),
            begin + R"("interactive":false}})");
}

TEST_F(ApiServerWithPlugin, DoesWithoutItForOneWhoHasCredentials) {
  Write("t", "a");
  for (const char* user :
       {"token: a", "tokenFile: t", "client-certificate-data: YQ==, client-key-data: YQ=="}) {
    const auto found = FindIn(Config("server: https://host", std::string(user) + ", " + kPlugin));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->plugin, nullptr) << user;
    ExpectError(FindIn(Config("server: https://host",
                              std::string(user) + ", exec: {command: a, apiVersion: v1}")),
                {"user \"u\"", "exec.apiVersion"});
  }
}

TEST_F(ApiServerWithPlugin, NamesTheEntryThatIsWrong) {
  const std::string good = "server: https://host";
  ExpectError(FindIn(Config(good, "exec: {command: hidden, args: [hidden]}")),
              {Path("config"), "user \"u\"", "exec.apiVersion is missing", "set it to"});
  ExpectError(FindIn(Config(good, "exec: aws")), {"user \"u\"", "exec is not a map"});
}

TEST_F(ApiServerWithPlugin, IsOnlyTheNamedUsers) {
  const std::string others = "{name: v, user: {exec: {command: [a]}}}, ";
  std::string config = Config("server: https://host", "token: a");
  config.insert(config.find("{name: u"), others);
  const auto found = FindIn(config);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->plugin, nullptr);
}

TEST_F(ApiServerTest, RefusesUnusableCredentials) {
  const std::string good = "server: https://host";
  ExpectError(FindIn(Config(good, "client-certificate-data: YQ==")),
              {"client-certificate", "without client-key"});
  ExpectError(FindIn(Config(good, "client-key-data: YQ==")),
              {"client-key", "without client-certificate"});
  ExpectError(FindIn(Config(good, "client-certificate: no.crt, client-key: no.key")),
              {Path("no.crt"), Path("no.key"), "No such file"});
  ExpectError(FindIn(Config(good + ", certificate-authority: no.crt", "")),
              {"certificate-authority", Path("no.crt")});
  ExpectError(FindIn(Config(good + ", certificate-authority: " + Write("void", ""), "")),
              {Path("void"), "empty"});
  ExpectError(FindIn(Config(good, "tokenFile: " + Write("blank", " \n"))),
              {Path("blank"), "no token", "kubectl create token"});
  ExpectError(FindIn(Config(good, "token: \"a\\nb\"")), {"token"});
  for (const std::string key : {"client-certificate", "client-key"}) {
    ExpectError(FindIn(Config(good, "client-certificate-data: YQ==, client-key-data: YQ==, " + key +
                                        ": " + Write("one", "a"))),
                {key + " and " + key + "-data", "exclude"});
  }
  ExpectError(FindIn(Config(good + ", certificate-authority-data: Y2E=, certificate-authority: " +
                                Write("ca", "ca"),
                            "")),
              {"certificate-authority and certificate-authority-data", "exclude"});
  ExpectError(FindIn(Config(
                  good + ", insecure-skip-tls-verify: true, certificate-authority-data: YQ==", "")),
              {"exclude"});
}

TEST_F(ApiServerTest, RefusesWhatIsNotBase64) {
  for (const char* data : {"Y", "YQ", "YQ=", "Y===", "YQ==YQ==", "Y!==", "=", "a-_b"}) {
    ExpectError(
        FindIn(Config(
            "server: https://host, certificate-authority-data: '" + std::string(data) + "'", "")),
        {"certificate-authority-data", "base64"});
  }
}

TEST_F(ApiServerTest, NamesSeveralProblemsAtOnce) {
  ExpectError(FindIn(Config("server: host, proxy-url: p, certificate-authority: none",
                            "exec: {a: b}, token: 'a b'")),
              {"server", "proxy-url", Path("none"), "exec.command", "exec.apiVersion", "token"});
  const auto found = FindIn(Config("server: host", "token: \"hidden\\nhidden\", password: hidden"));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message.find("hidden"), std::string::npos) << "never a secret";
}

TEST_F(ApiServerTest, ShowsNoSecretOfAUrlThatIsWrong) {
  for (const std::string url :
       {"https://bob:hidden@host", "https://bob:hid@den/hidden@host", "bob:hidden@host",
        "https://host?token=hidden", "https://host#hidden", "ftp://bob:hidden@host/?hidden"}) {
    const auto found = FindIn(Config("server: '" + url + "'", "token: t"));
    ASSERT_FALSE(found) << url;
    EXPECT_EQ(found.error().message.find("hid"), std::string::npos) << found.error().message;
    EXPECT_NE(found.error().message.find("host"), std::string::npos) << found.error().message;
  }
}

TEST_F(ApiServerTest, FailsOnANamedFileThatIsMissing) {
  ExpectError(Find(Path("none")), {Path("none"), "No such file", "--kubeconfig"});
  ExpectError(Find(Path("")), {Path(""), "directory"});
}

TEST_F(ApiServerTest, MergesTheListInTheEnvironment) {
  Write("a", "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n");
  Write("b/b",
        "current-context: z\nclusters: [{name: c, cluster: {server: 'https://first', "
        "certificate-authority: ca}}]\n");
  Write("b/ca", "from b");
  Write("c", Config("server: https://second", "token: t"));
  environment_["KUBECONFIG"] =
      ":" + Path("none") + ":" + Path("a") + ":" + Path("b/b") + ":" + Path("c") + ":";
  const Result<ApiServer> found = Find();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->url, "https://first");
  EXPECT_EQ(found->ca_pem, "from b") << "relative to the file that names it";
  EXPECT_EQ(found->ca_file, Path("b/ca"));
  EXPECT_EQ(found->token, "t");
  EXPECT_EQ(found->source,
            "kubeconfig " + Path("a") + ":" + Path("b/b") + ":" + Path("c") + ", context x");
}

TEST_F(ApiServerTest, FailsWhereAFileOfTheListIsBrokenOrNoneExists) {
  WriteServiceAccount();
  environment_["KUBECONFIG"] = Path("none") + ":" + Path("nothing");
  ExpectError(Find(), {"KUBECONFIG", Path("none"), Path("nothing")});
  environment_["KUBECONFIG"] = Write("good", kMinimal) + ":" + Write("broken", "a: ]");
  ExpectError(Find(), {Path("broken"), "YAML"});
}

TEST_F(ApiServerTest, TakesTheServiceAccountOfThePod) {
  WriteServiceAccount();
  const Result<ApiServer> found = Find();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->url, "https://10.0.1.1:443");
  EXPECT_EQ(found->ca_pem, "the ca");
  EXPECT_TRUE(found->ca_file.ends_with("/ca.crt")) << found->ca_file;
  EXPECT_EQ(found->token, "");
  EXPECT_EQ(found->token_file, Path("account/token"));
  EXPECT_EQ(found->default_namespace, "team");
  EXPECT_EQ(found->source, "in-cluster");
  for (const char* host : {"fd00::1", "[fd00::1]"}) {
    environment_["KUBERNETES_SERVICE_HOST"] = host;
    EXPECT_EQ(Find()->url, "https://[fd00::1]:443");
  }
  ExpectError(Find("", "dev"), {"--context dev", "--kubeconfig"});
}

TEST_F(ApiServerTest, NamesTheVariableThatAPodLacks) {
  WriteServiceAccount();
  environment_["KUBERNETES_SERVICE_PORT"] = "";
  ExpectError(Find(), {"KUBERNETES_SERVICE_PORT is not set"});
  environment_["KUBERNETES_SERVICE_HOST"] = "";
  ExpectError(Find(), {"KUBERNETES_SERVICE_HOST is not set"});
}

TEST_F(ApiServerTest, AFileThatCanNotBeReadIsNotOneThatIsMissing) {
  WriteServiceAccount();
  std::filesystem::remove(Path("account/token"));
  std::filesystem::create_directory(Path("account/token"));  // root reads every file
  ExpectError(Find(), {"in-cluster", Path("account/token"), "fsGroup"});
}

TEST_F(ApiServerTest, NeedsTheWholeServiceAccount) {
  for (const char* file : {"account/token", "account/ca.crt"}) {
    WriteServiceAccount();
    Write(file, "");
    ExpectError(Find(), {"in-cluster", Path(file), "empty", "automountServiceAccountToken"});
    std::filesystem::remove(Path(file));
    ExpectError(Find(), {"in-cluster", Path(file), "automountServiceAccountToken"});
  }
  WriteServiceAccount();
  std::filesystem::remove(Path("account/namespace"));
  const Result<ApiServer> found = Find();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->default_namespace, "");
}

TEST_F(ApiServerTest, KnowsAnOrderAmongItsSources) {
  Write("home/.kube/config", Config("server: https://home", "token: t"));
  environment_["HOME"] = Path("home");
  environment_["KUBECONFIG"] = "";
  EXPECT_EQ(Find()->url, "https://home");
  WriteServiceAccount();
  EXPECT_EQ(Find()->url, "https://10.0.1.1:443");
  environment_["KUBECONFIG"] = Write("listed", Config("server: https://listed", "token: t"));
  EXPECT_EQ(Find()->url, "https://listed");
  EXPECT_EQ(FindIn(kMinimal)->url, "https://10.0.0.1:6443");
}

TEST_F(ApiServerTest, FailsWhereThereIsNothing) {
  ExpectError(Find(), {"no kubeconfig", "not a pod", "--kubeconfig"});
  environment_["HOME"] = Path("");
  environment_["KUBERNETES_SERVICE_HOST"] = "10.0.0.1";
  ExpectError(Find(), {"no kubeconfig", "not a pod", "--kubeconfig"});
}

}  // namespace
}  // namespace cluster_watcher
