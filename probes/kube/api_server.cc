#include "probes/kube/api_server.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "probes/base/file.h"
#include "probes/base/json.h"
#include "probes/base/names.h"
#include "probes/kube/base64.h"
#include "probes/kube/exec_authenticator.h"
#include "probes/kube/token_source.h"

namespace cluster_watcher {
namespace {

// Collects all problems, so that a person can fix them together.
class Problems {
 public:
  void Add(const std::string& problem) { text_ += (text_.empty() ? "" : "; ") + problem; }
  // Begins the text with the entry that has the problem.
  void Add(const char* kind, const KubeconfigEntry& entry, const std::string& problem) {
    Add("kubeconfig " + entry.file + ", " + kind + " " + Quoted(entry.name) + ": " + problem);
  }
  bool Any() const { return !text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// A relative path is relative to the kubeconfig that contains it. Like kubectl it leaves "link/.."
// out, wherever the link leads.
std::string PathOf(const KubeconfigEntry& entry, const std::string& key) {
  const std::filesystem::path path = entry.Text(key);
  if (path.is_absolute()) return path.string();
  return (std::filesystem::path(entry.file).parent_path() / path).lexically_normal().string();
}

// Returns the decoded field `key`-data, or the content of the file `key`; "" if neither is set.
// `file` becomes the path of that file.
std::string ReadData(const char* kind, const KubeconfigEntry& entry, const std::string& key,
                     std::string& file, Problems& problems) {
  const std::string data_key = key + "-data";
  if (entry.Has(data_key) && entry.Has(key)) {
    problems.Add(kind, entry, key + " and " + data_key + " exclude each other; remove one of them");
  }
  if (entry.Has(data_key)) {
    std::optional<std::string> data = DecodeBase64(entry.Text(data_key));
    if (!data) problems.Add(kind, entry, data_key + " is not base64");
    if (data && data->empty()) problems.Add(kind, entry, data_key + " is empty");
    return std::move(data).value_or("");
  }
  if (!entry.Has(key)) return "";
  file = PathOf(entry, key);
  Result<std::string> content = ReadFile(file, kCredentialFileLimit);
  if (!content) {
    problems.Add(kind, entry, key + ": " + content.error().message);
    return "";
  }
  if (content->empty()) problems.Add(kind, entry, key + ": " + file + " is empty");
  return *std::move(content);
}

// Returns the URL in quotes without a user's name and password, query and fragment.
std::string WithoutSecrets(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  std::string shown = url;
  if (const std::size_t at = url.rfind('@'); at != std::string::npos && at >= begin) {
    shown.replace(begin, at - begin, "...");
  }
  const std::size_t end = shown.find_first_of("?#");
  if (end != std::string::npos) shown.replace(end + 1, std::string::npos, "...");
  return Quoted(shown);
}

// Says what is wrong with the URL of an API server; "" if nothing is.
std::string UrlProblem(const std::string& url) {
  if (url.empty()) return "server is missing; set it to the API server's URL";
  const std::size_t scheme = url.starts_with("https://") ? 8 : url.starts_with("http://") ? 7 : 0;
  if (scheme == 0) return "server " + WithoutSecrets(url) + " must begin with https:// or http://";
  const std::string host = url.substr(scheme, url.find('/', scheme) - scheme);
  if (host.empty() || host.starts_with(':'))
    return "server " + WithoutSecrets(url) + " names no host";
  const bool odd = std::any_of(url.begin(), url.end(), [](unsigned char c) {
    return c <= ' ' || c >= 0x7f || c == '?' || c == '#' || c == '@' || c == '\\';
  });
  if (odd)
    return "server " + WithoutSecrets(url) + " may hold a host, a port and a path, nothing else";
  return "";
}

// The same of a proxy's, which may hold a name and a password.
std::string ProxyProblem(const std::string& url) {
  if (url.empty()) return "";
  const auto schemes = {"http://", "https://", "socks5://"};
  const bool is_known = std::any_of(schemes.begin(), schemes.end(), [&](std::string_view scheme) {
    return url.starts_with(scheme) && url.size() > scheme.size();
  });
  const bool odd =
      std::any_of(url.begin(), url.end(), [](unsigned char c) { return c <= ' ' || c >= 0x7f; });
  if (is_known && !odd) return "";
  return "proxy-url " + WithoutSecrets(url) +
         " must be the URL of a proxy: http://, https:// or socks5://, a host and a port";
}

void ReadCluster(const KubeconfigEntry& cluster, ApiServer& server, Problems& problems) {
  server.url = cluster.Text("server");
  if (const std::string problem = UrlProblem(server.url); !problem.empty()) {
    problems.Add("cluster", cluster, problem);
  }
  while (server.url.ends_with('/')) server.url.pop_back();
  server.tls_server_name = cluster.Text("tls-server-name");
  server.ca_pem = ReadData("cluster", cluster, "certificate-authority", server.ca_file, problems);
  server.insecure_skip_tls_verify = cluster.Has("insecure-skip-tls-verify");
  if (server.insecure_skip_tls_verify && !server.ca_pem.empty()) {
    problems.Add("cluster", cluster,
                 "insecure-skip-tls-verify and certificate-authority exclude each other; remove "
                 "one of them");
  }
  server.proxy_url = cluster.Text("proxy-url");
  if (const std::string problem = ProxyProblem(server.proxy_url); !problem.empty()) {
    problems.Add("cluster", cluster, problem);
  }
}

// Refuses other forms of authentication; ignoring them would mean acting as someone else.
void CheckSupported(const KubeconfigEntry& user, Problems& problems) {
  for (const char* key : {"auth-provider", "username", "password"}) {
    if (!user.Has(key)) continue;
    problems.Add("user", user,
                 std::string(key) +
                     " is not supported; use a token (kubectl create token SERVICE_ACCOUNT) as "
                     "token or tokenFile, a client certificate, or a credential plugin (exec)");
  }
  for (const char* key : {"as", "as-uid", "as-groups", "as-user-extra"}) {
    if (!user.Has(key)) continue;
    problems.Add(
        "user", user,
        std::string(key) + " (impersonation) is not supported; use the credentials of that user");
  }
}

void ReadTokens(const KubeconfigEntry& user, ApiServer& server, Problems& problems) {
  if (user.Has("token")) {
    Result<std::string> token = ParseToken(user.Text("token"));
    if (token) {
      server.token = *std::move(token);
    } else {
      problems.Add("user", user, "token " + token.error().message);
    }
  }
  if (!user.Has("tokenFile")) return;
  server.token_file = PathOf(user, "tokenFile");
  const Result<std::string> content = ReadFile(server.token_file, kCredentialFileLimit);
  if (!content) {
    problems.Add("user", user, "tokenFile: " + content.error().message);
  } else if (const Result<std::string> token = ParseToken(*content); !token) {
    problems.Add("user", user,
                 "tokenFile: " + server.token_file + " " + token.error().message +
                     "; write one into it (kubectl create token SERVICE_ACCOUNT)");
  }
}

// Returns what a plugin is told of the cluster if it is to be. Source: k8s.io/client-go
// pkg/apis/clientauthentication, Cluster.
std::string WriteExecCluster(const KubeconfigEntry& cluster, const ApiServer& server) {
  JsonWriter json;
  json.StartObject().Field("server", server.url);
  if (!server.tls_server_name.empty()) json.Field("tls-server-name", server.tls_server_name);
  if (server.insecure_skip_tls_verify) json.Key("insecure-skip-tls-verify").Bool(true);
  if (!server.proxy_url.empty()) json.Field("proxy-url", server.proxy_url);
  if (!server.ca_pem.empty()) json.Field("certificate-authority-data", EncodeBase64(server.ca_pem));
  if (cluster.Has("disable-compression")) json.Key("disable-compression").Bool(true);
  if (const auto config = JsonDocument::Parse(cluster.exec_extension)) {
    json.Key("config").Value(config->root());
  }
  return json.EndObject().Text();
}

// Like client-go: a plugin isn't run for a user who has a token or a client certificate anyway.
void ReadPlugin(const KubeconfigEntry& user, const KubeconfigEntry* cluster, ApiServer& server,
                Problems& problems) {
  for (const std::string& problem : user.problems) problems.Add("user", user, problem);
  const bool is_needed =
      server.token.empty() && server.token_file.empty() && server.client_certificate_pem.empty();
  if (!user.exec || !is_needed) return;
  ExecConfig config = *user.exec;
  if (config.provide_cluster_info && cluster != nullptr) {
    config.cluster = WriteExecCluster(*cluster, server);
  }
  server.plugin = std::make_shared<ExecAuthenticator>(std::move(config));
}

void ReadUser(const KubeconfigEntry& user, ApiServer& server, Problems& problems) {
  CheckSupported(user, problems);
  ReadTokens(user, server, problems);
  const bool certificate = user.Has("client-certificate") || user.Has("client-certificate-data");
  const bool key = user.Has("client-key") || user.Has("client-key-data");
  if (certificate != key) {
    problems.Add("user", user,
                 certificate ? "client-certificate is set without client-key"
                             : "client-key is set without client-certificate");
    return;
  }
  server.client_certificate_pem =
      ReadData("user", user, "client-certificate", server.client_certificate_file, problems);
  server.client_key_pem = ReadData("user", user, "client-key", server.client_key_file, problems);
}

Result<ApiServer> Resolve(const Kubeconfig& config, const std::string& context_name) {
  const std::string file = "kubeconfig " + config.files;
  const std::string name = context_name.empty() ? config.current_context : context_name;
  const std::string choice = "; choose one with --context, there is: " + NamesOf(config.contexts);
  if (name.empty()) return Failure(file + ": current-context is not set" + choice);
  const KubeconfigEntry* context = Find(config.contexts, name);
  if (context == nullptr) return Failure(file + ": there is no context " + Quoted(name) + choice);

  ApiServer server;
  server.source = file + ", context " + name;
  server.default_namespace = context->Text("namespace");
  Problems problems;
  if (!server.default_namespace.empty() && !IsDnsLabel(server.default_namespace)) {
    problems.Add("context", *context,
                 "namespace " + Quoted(server.default_namespace) +
                     " is not a namespace's name; give a DNS label");
  }
  const std::string cluster_name = context->Text("cluster");
  const KubeconfigEntry* const cluster = Find(config.clusters, cluster_name);
  if (cluster != nullptr) {
    ReadCluster(*cluster, server, problems);
  } else {
    problems.Add("context", *context,
                 "it names the cluster " + Quoted(cluster_name) +
                     ", which isn't there; there is: " + NamesOf(config.clusters));
  }
  // A context without a user is valid: it acts as system:anonymous, or as a local proxy decides.
  const std::string user_name = context->Text("user");
  server.user = user_name;
  if (const KubeconfigEntry* user = Find(config.users, user_name)) {
    ReadUser(*user, server, problems);
    ReadPlugin(*user, cluster, server, problems);
  } else if (!user_name.empty()) {
    problems.Add("context", *context,
                 "it names the user " + Quoted(user_name) +
                     ", which isn't there; there is: " + NamesOf(config.users));
  }
  if (problems.Any()) return Failure(problems.text());
  return server;
}

Result<std::string> ReadServiceAccountFile(const std::string& file) {
  constexpr const char* kRemedy =
      "; the pod or its service account may have automountServiceAccountToken: false, which must "
      "be true here";
  Result<std::string> content = ReadFile(file, kCredentialFileLimit);
  if (!content) {
    return Failure("in-cluster: " + content.error().message +
                   (IsMissing(file)
                        ? kRemedy
                        : "; the pod's runAsUser or fsGroup must let the watcher read it"));
  }
  if (content->empty()) return Failure("in-cluster: " + file + " is empty" + kRemedy);
  return content;
}

Result<ApiServer> FromServiceAccount(const std::string& host, const std::string& port,
                                     const std::string& directory) {
  ApiServer server;
  const bool bare_ipv6 = host.find(':') != std::string::npos && !host.starts_with('[');
  server.url = "https://" + (bare_ipv6 ? "[" + host + "]" : host) + ":" + port;
  server.source = "in-cluster";
  if (const std::string problem = UrlProblem(server.url); !problem.empty()) {
    return Failure("in-cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT: " + problem);
  }
  server.token_file = directory + "/token";
  const Result<std::string> token = ReadServiceAccountFile(server.token_file);
  if (!token) return Failure(token.error().message);
  if (const Result<std::string> parsed = ParseToken(*token); !parsed) {
    return Failure("in-cluster: " + server.token_file + " " + parsed.error().message);
  }
  server.ca_file = directory + "/ca.crt";
  Result<std::string> ca = ReadServiceAccountFile(server.ca_file);
  if (!ca) return Failure(ca.error().message);
  server.ca_pem = *std::move(ca);
  // Optional, as in client-go: the code that needs a namespace reports its absence.
  if (const Result<std::string> name = ReadFile(directory + "/namespace", kCredentialFileLimit)) {
    server.default_namespace = name->substr(0, name->find_last_not_of(" \t\r\n") + 1);
  }
  return server;
}

}  // namespace

Result<Kubeconfig> ApiServerPlace::Load() const {
  return kind == Kind::kList ? LoadKubeconfigList(kubeconfig) : LoadKubeconfig(kubeconfig);
}

ApiServerPlace FindApiServerPlace(const std::string& kubeconfig, const Environment& environment) {
  using Kind = ApiServerPlace::Kind;
  const auto variable = [&environment](const char* name) { return environment(name).value_or(""); };
  if (!kubeconfig.empty()) return {Kind::kFile, kubeconfig};
  const std::string list = variable("KUBECONFIG");
  if (!list.empty()) return {Kind::kList, list};
  if (!variable("KUBERNETES_SERVICE_HOST").empty() &&
      !variable("KUBERNETES_SERVICE_PORT").empty()) {
    return {Kind::kPod, ""};
  }
  const std::string home = variable("HOME");
  const std::string file = home + "/.kube/config";
  if (!home.empty() && !IsMissing(file)) return {Kind::kFile, file};
  return {};
}

Result<ApiServer> FindApiServer(const std::string& kubeconfig, const std::string& context,
                                const Environment& environment,
                                const std::string& service_account_directory) {
  const auto variable = [&environment](const char* name) { return environment(name).value_or(""); };
  const std::string host = variable("KUBERNETES_SERVICE_HOST");
  const ApiServerPlace place = FindApiServerPlace(kubeconfig, environment);
  switch (place.kind) {
    case ApiServerPlace::Kind::kFile:
    case ApiServerPlace::Kind::kList: {
      const Result<Kubeconfig> config = place.Load();
      if (!config) return Failure(config.error().message);
      return Resolve(*config, context);
    }
    case ApiServerPlace::Kind::kPod:
      if (!context.empty()) {
        return Failure("--context " + context +
                       " needs a kubeconfig, but in this pod the service account would be used; "
                       "name a file with --kubeconfig, or leave --context out");
      }
      return FromServiceAccount(host, variable("KUBERNETES_SERVICE_PORT"),
                                service_account_directory);
    case ApiServerPlace::Kind::kNone:
      break;
  }
  return Failure(std::string("there is no kubeconfig, and this is not a pod: ") +
                 (host.empty() ? "KUBERNETES_SERVICE_HOST" : "KUBERNETES_SERVICE_PORT") +
                 " is not set; name a kubeconfig with --kubeconfig or KUBECONFIG, or run in a pod");
}

}  // namespace cluster_watcher
