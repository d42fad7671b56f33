// The transport over libcurl: HTTP/1.1 with keep-alive; curl's multi interface sends requests side
// by side. No other part of the program uses curl. Not thread-safe.
//
// It connects directly, or by the proxy that the kubeconfig names. Those in the environment are
// never used, because a proxy inherited by a pod must not see a bearer token. It requires TLS 1.2
// or later. If the server has closed a kept connection, the request is sent again on a new one. The
// files of the server's certificates are read again at least once a minute of use, and when a
// request fails in TLS, which is then sent once more; if they hold nothing usable, the last good
// ones stay in use. A client certificate of a credential plugin is shown as soon as the plugin has
// given it. The process must ignore SIGPIPE.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/kube/api_server_flags.h"
#include "probes/kube/streams.h"
#include "probes/kube/transport.h"

namespace cluster_watcher {

// Returns the file that curl reads the system's certificate authorities from; empty: it has none.
// There needn't be such a file.
std::string SystemAuthoritiesFile();

// Streams have connections of their own. All connections take up each other's TLS sessions, as long
// as the files of the certificates stay: the server's certificate is then not looked at again,
// which a server that knows the session has shown before.
class CurlTransport final : public Transport, public Streams {
 public:
  // Fails if the server's URL or certificates can't be used, which no request could change.
  static Result<std::unique_ptr<CurlTransport>> Create(const ApiServer& server);
  // `clock` says when the files are due; it must outlive the transport.
  static Result<std::unique_ptr<CurlTransport>> Create(const ApiServer& server, Clock& clock);
  // Impersonates whom `flags` name, and bounds requests by their time.
  static Result<std::unique_ptr<CurlTransport>> Create(const ApiServer& server,
                                                       const ApiServerFlags& flags);
  ~CurlTransport() override;

  std::vector<HttpResult> Perform(std::span<const HttpRequest> requests, std::size_t concurrency,
                                  std::stop_token stop) override;

  std::unique_ptr<Stream> Open(const HttpRequest& request, StreamReader& reader) override;
  void Wait(MonotonicTime deadline, std::stop_token stop) override;

 private:
  struct State;
  explicit CurlTransport(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cluster_watcher
