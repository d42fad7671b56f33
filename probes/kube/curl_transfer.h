// One request as libcurl sends it, and its answer.
#pragma once

#include <curl/curl.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "probes/kube/api_server.h"
#include "probes/kube/curl_endpoint.h"
#include "probes/kube/curl_handles.h"
#include "probes/kube/transport.h"

namespace cluster_watcher {

inline constexpr Duration kConnectTimeout{5'000};

// Must not move while curl holds its address.
struct Transfer {
  Transfer(const HttpRequest& request_, std::size_t index_, Easy easy_)
      : request(request_), index(index_), easy(std::move(easy_)) {}

  const HttpRequest& request;
  std::size_t index;
  Easy easy;
  List headers;
  std::string body;
  bool headers_ended = false;
  bool too_large = false;
  bool is_local = false;  // a connection to a local address was refused
  int sendings = 0;       // begun
  std::array<char, CURL_ERROR_SIZE> error{};
};

// curl treats an answer that breaks off within its headers as complete, such as a 404 without a
// body. So this looks for the empty line after the headers, of an interim answer, too.
std::size_t WatchHeaders(char* data, std::size_t, std::size_t count, void* user) noexcept;

// Sets what all requests of a handle share. `connect_to` must outlive it.
CURLcode SetConnectionOptions(CURL* easy, curl_slist* connect_to, const std::string& proxy);
// Sets the certificates of `server`, which must outlive the handle.
CURLcode SetTlsOptions(CURL* easy, const ApiServer& server, CURLSH* sessions);
// Sets what this request asks for: each option that may differ from that of an earlier one.
CURLcode SetRequestOptions(Transfer& transfer, const Endpoint& endpoint, bool must_be_remote);

// Why a request can't be sent as it is; empty: it can.
std::string RequestProblem(const HttpRequest& request);

HttpResponse ReadResponse(Transfer& transfer);
// The kind of a failure that libcurl tells of by `code` and `text`.
TransportError::Kind KindOf(CURLcode code, std::string_view text);

}  // namespace cluster_watcher
