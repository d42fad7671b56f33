// The current bearer token. In use, a token file is read again at least once a minute, because the
// kubelet rotates it, and on Refresh. While it can't be read or is empty, the last good token stays
// in use. A credential plugin is run as ExecAuthenticator says.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "probes/base/clock.h"
#include "probes/base/result.h"
#include "probes/kube/api_server.h"

namespace cluster_watcher {

// What may stand around a credential in a file or an answer.
inline constexpr std::string_view kWhiteSpace = " \t\r\n";

// Returns the token in `text` without surrounding white space. Fails if there is none, or if it
// contains characters that a header can't; the error doesn't show it.
Result<std::string> ParseToken(std::string_view text);

class TokenSource {
 public:
  TokenSource(const ApiServer& server, Clock& clock);

  // Returns the token to send; empty if none is configured. Fails only if there has never been a
  // usable one, neither in the file nor as the fixed token, or if the plugin fails. Until `stop` is
  // requested it waits for the plugin.
  Result<std::string> Token(std::stop_token stop = {});

  // Reads the file, or runs the plugin, now. Returns whether the credentials have changed.
  bool Refresh(std::stop_token stop = {});

 private:
  void Read();

  std::string token_;
  std::string file_;
  std::shared_ptr<ExecAuthenticator> plugin_;  // may be null
  std::string last_error_;
  Clock& clock_;
  std::optional<MonotonicTime> read_at_;  // when the file was last read successfully
};

}  // namespace cluster_watcher
