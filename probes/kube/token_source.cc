#include "probes/kube/token_source.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "probes/base/file.h"
#include "probes/kube/exec_authenticator.h"

namespace cluster_watcher {
namespace {

// Half of the promised minute, so that calls every few seconds keep the promise.
constexpr std::chrono::seconds kReadInterval{30};
constexpr std::size_t kTokenLimit = 64u << 10;

}  // namespace

Result<std::string> ParseToken(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kWhiteSpace);
  if (begin == std::string_view::npos) return Failure("holds no token");
  text = text.substr(begin, text.find_last_not_of(kWhiteSpace) - begin + 1);
  const bool visible =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (!visible) {
    return Failure("holds a token with white space, control or non-ASCII characters in it");
  }
  return std::string(text);
}

TokenSource::TokenSource(const ApiServer& server, Clock& clock)
    : file_(server.token_file), plugin_(server.plugin), clock_(clock) {
  if (server.token.empty()) return;
  Result<std::string> token = ParseToken(server.token);
  if (token) {
    token_ = *std::move(token);
  } else {
    last_error_ = server.source + ": the configured token " + token.error().message;
  }
}

Result<std::string> TokenSource::Token(std::stop_token stop) {
  if (plugin_) return plugin_->Token(clock_, std::move(stop));
  if (!file_.empty() && (!read_at_ || clock_.Now() - *read_at_ >= kReadInterval)) Read();
  if (token_.empty() && !last_error_.empty()) return Failure(last_error_);
  return token_;
}

bool TokenSource::Refresh(std::stop_token stop) {
  if (plugin_) return plugin_->Refresh(clock_, std::move(stop));
  if (file_.empty()) return false;
  const std::string before = token_;
  Read();
  return token_ != before;
}

void TokenSource::Read() {
  const Result<std::string> content = ReadFileAgain(file_, kTokenLimit);
  if (!content) {
    last_error_ = "token file " + content.error().message +
                  "; it must exist and be readable (in a pod: automountServiceAccountToken)";
    return;
  }
  Result<std::string> token = ParseToken(*content);
  if (!token) {
    last_error_ = "token file " + file_ + " " + token.error().message;
    return;
  }
  token_ = *std::move(token);
  last_error_.clear();
  read_at_ = clock_.Now();
}

}  // namespace cluster_watcher
