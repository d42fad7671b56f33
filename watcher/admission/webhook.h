// The command `webhook`: the admission server, its settings and their files.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "watcher/settings.h"

namespace cluster_watcher {

struct WebhookOptions {
  std::string config = "/etc/cluster-watcher";  // the injection's settings: a directory or a file
  std::string tls_certificate = "/tls/tls.crt";
  std::string tls_key = "/tls/tls.key";
  std::string listen = ":8443";          // HTTPS
  std::string metrics_listen = ":9090";  // HTTP: metrics and health
  bool reject_invalid = false;
  Duration shutdown_delay{5'000};
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
};

// `flags`: by name without dashes.
struct ResolvedWebhookOptions {
  WebhookOptions options;
  std::vector<std::string> errors;  // each names the flag and the remedy
};
ResolvedWebhookOptions ResolveWebhookOptions(const TextMap& flags);

// Serves until told to stop. 0: done; 2: the settings, the certificate or an address can't be used,
// which is said on stderr.
int RunWebhook(const WebhookOptions& options, std::stop_token stop);

}  // namespace cluster_watcher
