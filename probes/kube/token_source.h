// The bearer token of the moment. A token file is read again at least once a minute, since the
// kubelet rotates it, and at once when the API server answered 401; while it can't be read or is
// empty, the last good token goes on being used.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "probes/base/clock.h"
#include "probes/base/result.h"
#include "probes/kube/api_server.h"

namespace cluster_watcher {

// The token in `text`, without the white space around it. An error where none is left, or where it
// holds what can't stand in a header; the error doesn't show it.
Result<std::string> ParseToken(std::string_view text);

class TokenSource {
 public:
  TokenSource(const ApiServer& server, Clock& clock);

  // The token to send; empty where none is configured. An error only where there never was a
  // usable one: neither in the file, nor as the fixed token.
  Result<std::string> Token();

  // Reads the file again now. True: the token is another one than before.
  bool Refresh();

  // Why the token couldn't be read the last time; empty: it could.
  const std::string& last_error() const { return last_error_; }

 private:
  void Read();

  std::string token_;
  std::string file_;
  std::string last_error_;
  Clock& clock_;
  std::optional<MonotonicTime> read_at_;  // when the file was last read well
};

}  // namespace cluster_watcher
