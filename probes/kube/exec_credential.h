// Asks a credential plugin for credentials. Source: kubernetes.io "client.authentication.k8s.io",
// ExecCredential.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "probes/base/clock.h"
#include "probes/base/result.h"
#include "probes/kube/exec_config.h"

namespace cluster_watcher {

struct ExecCredential {
  std::string token;                   // empty: none
  std::string client_certificate_pem;  // both are PEM and belong together, or both are empty
  std::string client_key_pem;
  std::optional<WallTime> expires;  // nullopt: not known

  bool IsEmpty() const { return token.empty() && client_certificate_pem.empty(); }
};

// Runs the plugin, which may take a minute, or five where a person may have to answer. The error
// names the entry and the remedy, and shows nothing that the plugin wrote to its output.
Result<ExecCredential> RunExecPlugin(const ExecConfig& config, std::stop_token stop);

// Writes what the plugin is told in KUBERNETES_EXEC_INFO. Pure.
std::string ExecInfo(const ExecConfig& config, bool interactive);

// Reads what the plugin wrote. Pure.
Result<ExecCredential> ReadExecCredential(const ExecConfig& config, std::string_view output);

}  // namespace cluster_watcher
