// The current bearer token. In use, a token file is read again at least once a minute, because the
// kubelet rotates it, and on Refresh. While it can't be read or is empty, the last good token stays
// in use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "probes/base/clock.h"
#include "probes/base/result.h"
#include "probes/kube/api_server.h"

namespace cluster_watcher {

// Returns the token in `text` without surrounding white space. Fails if there is none, or if it
// contains characters that a header can't; the error doesn't show it.
Result<std::string> ParseToken(std::string_view text);

class TokenSource {
 public:
  TokenSource(const ApiServer& server, Clock& clock);

  // Returns the token to send; empty if none is configured. Fails only if there has never been a
  // usable one, neither in the file nor as the fixed token.
  Result<std::string> Token();

  // Reads the file now. Returns whether the token has changed.
  bool Refresh();

  // Why the last read failed; empty if it didn't.
  const std::string& last_error() const { return last_error_; }

 private:
  void Read();

  std::string token_;
  std::string file_;
  std::string last_error_;
  Clock& clock_;
  std::optional<MonotonicTime> read_at_;  // when the file was last read successfully
};

}  // namespace cluster_watcher
