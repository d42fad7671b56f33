// The command `webhook`: the admission server, its settings and their files.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "watcher/command/command_line.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

struct WebhookOptions {
  std::string config;  // the injection's settings: a directory or a file
  std::string tls_certificate;
  std::string tls_key;
  std::string listen;          // HTTPS, ":8443"
  std::string metrics_listen;  // HTTP: metrics and health
  bool reject_invalid = false;
  Duration shutdown_delay{0};
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
};

struct ResolvedWebhookOptions {
  WebhookOptions options;
  std::vector<std::string> errors;  // each names the flag and the remedy
};

// `flags`: the command's, by name without dashes, all of them.
ResolvedWebhookOptions ResolveWebhookOptions(const TextMap& flags);

// Serves until told to stop. 0: done; 2: the settings, the certificate or an address can't be used,
// which is said on stderr.
int RunWebhook(const Invocation& invocation, std::stop_token stop);

}  // namespace cluster_watcher
