// Finds the API server and our credentials in a kubeconfig or the pod's own service account, as
// kubectl and client-go do.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "probes/base/result.h"
#include "probes/kube/kubeconfig.h"

namespace cluster_watcher {

// Returns the value of an environment variable; nullopt if it isn't set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

class ExecAuthenticator;

struct ApiServer {
  std::string url;  // "https://10.0.0.1:443", maybe with a path, without a trailing slash
  std::string tls_server_name;  // the name that the certificate must have; empty: the URL's host
  std::string proxy_url;  // "http://proxy:3128", https:// or socks5://; empty: connect directly
  std::string ca_pem;     // trusted certificates, PEM; empty: the system's
  bool insecure_skip_tls_verify = false;
  // Nothing is sent to loopback, unspecified and link-local addresses, by whatever name.
  bool must_be_remote = false;
  std::string client_certificate_pem;  // both are PEM, or both empty
  std::string client_key_pem;
  std::string token;              // a fixed bearer token
  std::string token_file;         // a file with a token that may change; overrides `token`
  std::string default_namespace;  // of the context or the service account; may be empty
  std::string user;               // whom the kubeconfig calls so; empty: it names nobody
  std::string source;  // for messages: "kubeconfig /home/a/.kube/config, context dev", "in-cluster"
  // The files that ca_pem, client_certificate_pem and client_key_pem were read from, and which may
  // change; empty for what comes from no file.
  std::string ca_file;
  std::string client_certificate_file;
  std::string client_key_file;
  // Gives token and client certificate in place of all of these; null: no plugin does. Copies share
  // it, so that who sends the token and who shows the certificate run one plugin.
  std::shared_ptr<ExecAuthenticator> plugin;
};

// Where it is looked for: in `kubeconfig` (--kubeconfig, may be empty), else in $KUBECONFIG, else
// in the pod's service account, else in $HOME/.kube/config if that is there. Source: kubernetes.io
// "Organizing Cluster Access Using kubeconfig Files", "Accessing the Kubernetes API from a Pod".
struct ApiServerPlace {
  enum class Kind { kNone, kPod, kFile, kList };
  Kind kind = Kind::kNone;
  std::string kubeconfig;  // the file, or the list as in $KUBECONFIG

  Result<Kubeconfig> Load() const;  // of a file or a list
};
ApiServerPlace FindApiServerPlace(const std::string& kubeconfig, const Environment& environment);

// Finds it there, by the kubeconfig's `context` (--context, may be empty). An error names the file
// or entry at fault.
Result<ApiServer> FindApiServer(
    const std::string& kubeconfig, const std::string& context, const Environment& environment,
    const std::string& service_account_directory = "/var/run/secrets/kubernetes.io/serviceaccount");

}  // namespace cluster_watcher
