// The command `webhook`: the admission server, its settings and their files.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "watcher/command/command_line.h"
#include "watcher/command/commands.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

struct WebhookOptions {
  std::string config;  // the injection's settings: a directory or a file
  std::string tls_certificate;
  std::string tls_key;
  std::string listen;          // HTTPS, ":8443"
  std::string metrics_listen;  // HTTP, for metrics and health
  bool reject_invalid = false;
  Duration shutdown_delay{0};
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
};

struct ResolvedWebhookOptions {
  WebhookOptions options;
  std::vector<std::string> errors;  // each names the flag and the remedy
};

// `flags` holds all of the command's flags, by name without dashes.
ResolvedWebhookOptions ResolveWebhookOptions(const TextMap& flags);

// Serves until `stop` is requested. Returns 0 then, or 2 after an error on stderr if the settings,
// the certificate or an address can't be used.
int RunWebhook(const Invocation& invocation, std::stop_token stop);

CommandDescription DescribeWebhook();

}  // namespace cluster_watcher
