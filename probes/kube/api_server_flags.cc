#include "probes/kube/api_server_flags.h"

#include <utility>

#include "probes/kube/exec_authenticator.h"
#include "probes/kube/token_source.h"

namespace cluster_watcher {
namespace {

void DropCredentials(ApiServer& server) {
  for (std::string* credential :
       {&server.token, &server.token_file, &server.client_certificate_pem, &server.client_key_pem,
        &server.client_certificate_file, &server.client_key_file}) {
    credential->clear();
  }
  server.plugin.reset();
}

// The certificate authority stays, the name in the server's certificate doesn't; the token of a pod
// is for its own Kubernetes.
void TakeUrl(const std::string& url, ApiServer& server) {
  if (server.source == "in-cluster") DropCredentials(server);
  server.url = url;
  while (server.url.ends_with('/')) server.url.pop_back();
  server.tls_server_name.clear();
  if (!url.starts_with("https://")) DropCredentials(server);
  // It may hold a password, which is refused later.
  const bool is_shown = url.find_first_of("@?#") == std::string::npos;
  server.source +=
      (server.source.empty() ? "--server" : ", --server") + (is_shown ? " " + url : "");
}

Result<ApiServer> WithFlags(ApiServer server, const ApiServerFlags& flags) {
  if (!flags.token.empty()) {
    DropCredentials(server);
    Result<std::string> token = ParseToken(flags.token);
    if (!token) return Failure("--token " + token.error().message);
    server.token = *std::move(token);
    server.source += server.source.empty() ? "" : ", --token";
  }
  if (!flags.server.empty()) TakeUrl(flags.server, server);
  if (flags.as.empty() && !flags.as_groups.empty()) {
    return Failure("--as-group without --as: name the user whose groups they are");
  }
  if (!flags.as.empty()) server.source += ", as " + flags.as;
  return server;
}

}  // namespace

Result<ApiServer> FindApiServer(const std::string& kubeconfig, const std::string& context,
                                const Environment& environment, const ApiServerFlags& flags) {
  const bool is_anything_there =
      !context.empty() ||
      FindApiServerPlace(kubeconfig, environment).kind != ApiServerPlace::Kind::kNone;
  auto found = flags.server.empty() || is_anything_there
                   ? FindApiServer(kubeconfig, context, environment)
                   : Result<ApiServer>(ApiServer());
  return found ? WithFlags(*std::move(found), flags) : found;
}

}  // namespace cluster_watcher
