// libcurl's handles as values that free themselves, and their options.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>
#include <utility>

#include "probes/kube/transport.h"

namespace cluster_watcher {

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct MultiDeleter {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
struct UrlDeleter {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
// TLS sessions: a further connection takes up that of an earlier one, without its certificates and
// signatures. As long as a handle uses them they must be there.
using Sessions = std::shared_ptr<CURLSH>;
using Easy = std::unique_ptr<CURL, EasyDeleter>;
using Multi = std::unique_ptr<CURLM, MultiDeleter>;
using List = std::unique_ptr<curl_slist, ListDeleter>;

inline Sessions NewSessions() {
  Sessions sessions(curl_share_init(), [](CURLSH* share) {
    if (share != nullptr) curl_share_cleanup(share);
  });
  if (sessions) curl_share_setopt(sessions.get(), CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
  return sessions;
}

inline Unexpected<TransportError> Failed(TransportError::Kind kind, std::string message) {
  return {TransportError{kind, std::move(message)}};
}

inline TransportError Unsent(TransportError::Kind kind, std::string message) {
  return {kind, std::move(message), false};
}

inline bool Append(List& list, const std::string& text) {
  curl_slist* longer = curl_slist_append(list.get(), text.c_str());
  if (longer == nullptr) return false;
  static_cast<void>(list.release());
  list.reset(longer);
  return true;
}

// Sets options in order and keeps the first failure.
class Options {
 public:
  explicit Options(CURL* easy) : easy_(easy) {}

  template <typename T>
  Options& Set(CURLoption option, T value) {
    if (code_ == CURLE_OK) code_ = curl_easy_setopt(easy_, option, value);
    return *this;
  }
  // `text` isn't copied, so it must outlive the handle.
  Options& SetBlob(CURLoption option, const std::string& text) {
    if (text.empty()) return *this;
    curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
    return Set(option, &blob);
  }
  CURLcode code() const { return code_; }

 private:
  CURL* easy_;
  CURLcode code_ = CURLE_OK;
};

}  // namespace cluster_watcher
