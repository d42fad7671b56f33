#include "watcher/command/webhook.h"

#include <prometheus/registry.h>
#include <spdlog/logger.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "metrics/admission_metrics.h"
#include "metrics/http/listen_address.h"
#include "metrics/http/metrics_endpoint.h"
#include "metrics/process_metrics.h"
#include "probes/base/duration_text.h"
#include "probes/base/names.h"
#include "watcher/admission/admission_review.h"
#include "watcher/admission/injection_config.h"
#include "watcher/admission/server/webhook_server.h"
#include "watcher/command/print_errors.h"
#include "watcher/command/shared_flags.h"
#include "watcher/command/version.h"
#include "watcher/reporting/logging.h"

namespace cluster_watcher {
namespace {

constexpr Duration kLongestShutdownDelay = std::chrono::minutes(5);
// A new certificate or ConfigMap is noticed within this time.
constexpr std::chrono::seconds kTick{5};
constexpr std::chrono::seconds kSilence{30};

// The settings and certificate in use, which may change while the server runs, and its handlers.
class Webhook {
 public:
  Webhook(const WebhookOptions& options, AdmissionMetrics& metrics, spdlog::logger& log)
      : options_(options), metrics_(metrics), log_(log) {}

  // Returns the errors; if there are none, the files' settings are in use.
  std::vector<std::string> LoadConfig() {
    auto data = LoadInjectionConfig(options_.config);
    if (!data) return {data.error().message};
    ResolvedInjectionSettings resolved = ResolveInjectionSettings(*data);
    if (resolved.errors.empty()) {
      auto settings = std::make_shared<const InjectionSettings>(std::move(resolved.settings));
      const std::lock_guard lock(settings_mutex_);
      settings_ = std::move(settings);
    }
    for (std::string& error : resolved.errors) error.insert(0, options_.config + ": ");
    return resolved.errors;
  }

  // Reads the files again. An error is logged once, and what is in use stays in use.
  void Reload(WebhookServer& server) {
    Say(Joined(LoadConfig()), config_error_);
    Say(ReloadCertificate(server), certificate_error_);
  }

  void TakeNote(const TlsCertificate& certificate) {
    certificate_source_ = certificate.source;
    expires_ = certificate.expires;
    metrics_.SetCertificateExpiry(expires_);
    if (expires_ < std::chrono::system_clock::now()) {
      log_.error("{} has expired: the API server will not trust it", options_.tls_certificate);
    }
  }

  WebhookServer::Handlers Handlers() {
    const auto mutate = [this](std::string_view body) {
      return Logged(AnswerMutate(body, *Settings()));
    };
    const auto validate = [this](std::string_view body) {
      return Logged(AnswerValidate(body, *Settings(), options_.reject_invalid));
    };
    const auto owner = [this](std::string_view body) { return Logged(AnswerOwner(body)); };
    return {{"/mutate", mutate}, {"/owner", owner}, {"/validate", validate}};
  }

 private:
  std::shared_ptr<const InjectionSettings> Settings() {
    const std::lock_guard lock(settings_mutex_);
    return settings_;
  }

  AdmissionAnswer Logged(AdmissionAnswer answer) {
    if (!answer.log.empty()) log_.info("{}", answer.log);
    return answer;
  }

  // Returns the error; "" if the file's certificate is in use.
  std::string ReloadCertificate(WebhookServer& server) {
    auto loaded = LoadTlsCertificate({options_.tls_certificate, options_.tls_key});
    if (!loaded) return loaded.error().message;
    if (loaded->source == certificate_source_) return "";
    if (loaded->expires < std::chrono::system_clock::now() && loaded->expires < expires_) {
      return options_.tls_certificate + " has expired: the one before it stays in use";
    }
    TakeNote(*loaded);
    server.Use(*std::move(loaded));
    log_.info("a new certificate is in use");
    return "";
  }

  // Logs an error unless it equals the previous one.
  void Say(const std::string& error, std::string& said) {
    if (!error.empty() && error != said) log_.error("{}", error);
    said = error;
  }

  const WebhookOptions& options_;
  AdmissionMetrics& metrics_;
  spdlog::logger& log_;
  // Handlers have threads. In libstdc++ 12 an atomic<shared_ptr> has a data race of its own.
  std::mutex settings_mutex_;
  std::shared_ptr<const InjectionSettings> settings_;
  std::string certificate_source_;
  WallTime expires_{};
  std::string config_error_;
  std::string certificate_error_;
};

}  // namespace

ResolvedWebhookOptions ResolveWebhookOptions(const TextMap& flags) {
  ResolvedWebhookOptions resolved;
  WebhookOptions& options = resolved.options;
  const auto text = [&](std::string_view name) {
    const auto flag = flags.find(name);
    return flag == flags.end() ? std::string() : flag->second;
  };
  options.config = text("config");
  options.tls_certificate = text("tls-cert");
  options.tls_key = text("tls-key");
  options.reject_invalid = text("reject-invalid") == "true";
  options.listen = text("webhook-listen");
  if (auto error = ListenAddressError(options.listen)) {
    resolved.errors.push_back("--webhook-listen: " + *error);
  }
  const auto delay = ParseDuration(text("shutdown-delay"));
  if (!delay || *delay < Duration(0) || *delay > kLongestShutdownDelay) {
    resolved.errors.push_back("--shutdown-delay: " + Quoted(text("shutdown-delay")) +
                              ": give 0s to " + FormatDuration(kLongestShutdownDelay));
  } else {
    options.shutdown_delay = *delay;
  }
  // Parsed as watch parses them.
  TextMap shared;
  for (const char* name : {"listen", "log-level", "log-format"}) shared[name] = text(name);
  const Environment none = [](const std::string&) { return std::nullopt; };
  const ResolvedSettings rest = ResolveSettings(shared, none, {});
  options.metrics_listen = rest.settings.listen;
  options.log_level = rest.settings.log_level;
  options.log_format = rest.settings.log_format;
  resolved.errors.insert(resolved.errors.end(), rest.errors.begin(), rest.errors.end());
  return resolved;
}

int RunWebhook(const Invocation& invocation, std::stop_token stop) {
  const ResolvedWebhookOptions resolved = ResolveWebhookOptions(invocation.flags);
  if (!resolved.errors.empty()) return PrintErrors(resolved.errors);
  const WebhookOptions& options = resolved.options;
  Log logs(options.log_level, options.log_format);
  spdlog::logger& log = logs.logger();
  prometheus::Registry registry;
  AdmissionMetrics metrics(registry, kVersion, kRevision);
  Webhook webhook(options, metrics, log);
  std::vector<std::string> errors = webhook.LoadConfig();
  auto certificate = LoadTlsCertificate({options.tls_certificate, options.tls_key});
  if (!certificate) errors.push_back(certificate.error().message);
  if (!errors.empty()) return PrintErrors(errors);
  webhook.TakeNote(*certificate);
  WebhookServer server(*ParseListenAddress(options.listen), *std::move(certificate),
                       webhook.Handlers(), metrics, {});
  if (auto error = server.Start()) return PrintErrors({*error});
  ProcessMetrics process_metrics;
  std::atomic<std::chrono::steady_clock::time_point> turned{std::chrono::steady_clock::now()};
  const auto is_alive = [&] { return std::chrono::steady_clock::now() - turned.load() < kSilence; };
  MetricsEndpoint endpoint(options.metrics_listen, {&registry, &process_metrics},
                           {is_alive, [stop] { return !stop.stop_requested(); }});
  if (auto error = endpoint.Start()) return PrintErrors({*error});
  log.info(
      "cluster-watcher {} answers admission requests on port {}, metrics and health on port {}",
      kVersion, server.port(), endpoint.port());
  server.Run(stop, options.shutdown_delay, kTick, [&] {
    turned = std::chrono::steady_clock::now();
    webhook.Reload(server);
  });
  log.info("told to stop");
  return 0;
}

CommandDescription DescribeWebhook() {
  return {
      .name = "webhook",
      .command = Command::kWebhook,
      .usage = "webhook [FLAGS]",
      .help = "Serve the API server's admission webhooks, which add the watcher to pods",
      .flags = {OwnFlag("config", "DIR|FILE", "/etc/cluster-watcher",
                        "what the sidecar looks like: the ConfigMap cluster-watcher as a mounted "
                        "directory, or its manifest"),
                OwnFlag("tls-cert", "FILE", "/tls/tls.crt", "the certificate, PEM"),
                OwnFlag("tls-key", "FILE", "/tls/tls.key", "the certificate's key, PEM"),
                OwnFlag("webhook-listen", "ADDRESS", ":8443",
                        "where /mutate, /owner and /validate are served, by HTTPS"),
                LikeSetting("listen"),
                SwitchFlag("reject-invalid",
                           "annotations that the watcher would refuse are refused, not warned of"),
                OwnFlag("shutdown-delay", "DURATION", "5s",
                        "how long requests are still served once the pod stops"),
                LikeSetting("log-level"), LikeSetting("log-format")},
      .about = "",
      .ending =
          "\nExit codes:\n"
          "  0  told to stop\n"
          "  2  wrong usage or settings, or it can't serve\n"};
}

}  // namespace cluster_watcher
