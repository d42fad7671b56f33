#include "probes/kube/exec_authenticator.h"

#include <utility>

namespace cluster_watcher {
namespace {

// Enough for the requests of a look.
constexpr std::chrono::seconds kBeforeExpiry{20};
constexpr std::chrono::seconds kInterval{30};

}  // namespace

ExecAuthenticator::ExecAuthenticator(ExecConfig config) : config_(std::move(config)) {}

Result<std::string> ExecAuthenticator::Token(Clock& clock, std::stop_token stop) {
  if (IsDue(clock)) Run(clock, stop);
  const bool is_usable =
      !credential_.IsEmpty() && (!credential_.expires || clock.WallNow() < *credential_.expires);
  if (!last_error_.empty() && !is_usable) return Failure(last_error_);
  return credential_.token;
}

bool ExecAuthenticator::Refresh(Clock& clock, std::stop_token stop) {
  if (refreshed_at_ && clock.Now() - *refreshed_at_ < kInterval) return false;
  refreshed_at_ = clock.Now();
  const ExecCredential before = credential_;
  if (!Run(clock, stop)) {
    // From now on the plugin's error says more than the server's.
    if (!stop.stop_requested()) credential_ = {};
    return false;
  }
  return credential_.token != before.token ||
         credential_.client_certificate_pem != before.client_certificate_pem ||
         credential_.client_key_pem != before.client_key_pem;
}

bool ExecAuthenticator::IsDue(Clock& clock) const {
  if (!ran_at_) return true;
  // A plugin may give what it has kept itself, or what a clock that goes ahead takes for expired.
  if (clock.Now() - *ran_at_ < kInterval) return false;
  if (!last_error_.empty()) return true;
  return credential_.expires && clock.WallNow() >= *credential_.expires - kBeforeExpiry;
}

bool ExecAuthenticator::Run(Clock& clock, const std::stop_token& stop) {
  Result<ExecCredential> credential = RunExecPlugin(config_, stop);
  ran_at_ = clock.Now();
  if (!credential) {
    // A plugin that was stopped has not failed.
    if (stop.stop_requested()) ran_at_.reset();
    last_error_ = std::move(credential).error().message;
    return false;
  }
  credential_ = *std::move(credential);
  last_error_.clear();
  return true;
}

}  // namespace cluster_watcher
