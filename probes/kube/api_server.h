// Where the API server is and who we are there: read from a kubeconfig or from the pod's own
// service account, in the way of kubectl and client-go.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "probes/base/result.h"

namespace cluster_watcher {

// Looks an environment variable up; nullopt: not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

struct ApiServer {
  std::string url;              // "https://10.0.0.1:443", may hold a path, no slash at its end
  std::string tls_server_name;  // the name the certificate must have; empty: the URL's host
  std::string ca_pem;           // certificates to trust, PEM; empty: the system's
  bool insecure_skip_tls_verify = false;
  std::string client_certificate_pem;  // both PEM, or both empty
  std::string client_key_pem;
  std::string token;       // a fixed bearer token
  std::string token_file;  // a file with the token, replaced as it rotates; wins over `token`
  std::string default_namespace;  // of the context or of the service account; may be empty
  std::string source;  // for messages: "kubeconfig /home/a/.kube/config, context dev", "in-cluster"
};

// The API server that `kubeconfig` (--kubeconfig; may be empty) and `context` (--context; may be
// empty) name; without them $KUBECONFIG (a colon-separated list, merged, the first to name a thing
// wins), else the pod's service account, else $HOME/.kube/config. Every error names the file or
// entry and the remedy. Source: kubernetes.io "Organizing Cluster Access Using kubeconfig Files",
// "Accessing the Kubernetes API from a Pod".
Result<ApiServer> FindApiServer(
    const std::string& kubeconfig, const std::string& context, const Environment& environment,
    const std::string& service_account_directory = "/var/run/secrets/kubernetes.io/serviceaccount");

}  // namespace cluster_watcher
