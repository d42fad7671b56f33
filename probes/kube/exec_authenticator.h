// The credentials that a plugin gives, kept while they are valid. The plugin is run when they are
// first needed, shortly before they expire, and on Refresh. While it fails, it is run again after
// half a minute at the earliest, and credentials that are neither expired nor refused stay in use.
// Not thread-safe.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "probes/base/clock.h"
#include "probes/base/result.h"
#include "probes/kube/exec_credential.h"

namespace cluster_watcher {

class ExecAuthenticator {
 public:
  explicit ExecAuthenticator(ExecConfig config);

  // Returns the token to send, empty if the plugin gives certificates only. The error is the
  // plugin's.
  Result<std::string> Token(Clock& clock, std::stop_token stop);

  // Runs the plugin, because the server refused its credentials, and returns whether it gave
  // others. Does nothing within half a minute after the last time: else each request of somebody
  // whom the server doesn't know would run it.
  bool Refresh(Clock& clock, std::stop_token stop);

  // The last ones; empty if there are none yet.
  const ExecCredential& credential() const { return credential_; }

 private:
  bool IsDue(Clock& clock) const;
  // Returns whether it succeeded.
  bool Run(Clock& clock, const std::stop_token& stop);

  const ExecConfig config_;
  ExecCredential credential_;
  std::string last_error_;               // of the last run; empty: it did not fail
  std::optional<MonotonicTime> ran_at_;  // nullopt: not yet
  std::optional<MonotonicTime> refreshed_at_;
};

}  // namespace cluster_watcher
