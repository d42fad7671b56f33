// The transport over libcurl: HTTP/1.1 with keep-alive, side by side through its multi interface.
// The one place that knows curl. Not thread-safe.
//
// It goes to the API server straight: proxies are never used, those in the environment included,
// for a proxy that a pod inherits has no business with a bearer token. TLS is 1.2 or later. A
// request on a kept connection that the server has closed meanwhile is sent again on a fresh one.
// The process must ignore SIGPIPE.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "probes/kube/api_server.h"
#include "probes/kube/transport.h"

namespace cluster_watcher {

class CurlTransport final : public Transport {
 public:
  // An error where the server's URL or certificates can't be used, which no request could mend.
  static Result<std::unique_ptr<CurlTransport>> Create(const ApiServer& server);
  ~CurlTransport() override;

  std::vector<HttpResult> Perform(std::span<const HttpRequest> requests, std::size_t concurrency,
                                  std::stop_token stop) override;

 private:
  struct State;
  explicit CurlTransport(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cluster_watcher
