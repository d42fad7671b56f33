// A TLS server before one that speaks plain HTTP on the loopback, such as a Proxy. It is its own
// certificate authority.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "probes/kube/api_server.h"
#include "test/integration/listener.h"

struct ssl_ctx_st;

namespace cluster_watcher::integration {

class TlsFront {
 public:
  // `behind` has a URL "http://127.0.0.1:PORT". Keys and certificates are files whose names begin
  // with `files`. Needs the command openssl.
  TlsFront(ApiServer behind, std::string files);
  TlsFront(const TlsFront&) = delete;
  TlsFront& operator=(const TlsFront&) = delete;

  // Its URL and the certificate that proves it, with the token of the server behind.
  ApiServer Address() const;
  // Cuts all connections. From now on another authority's certificate proves the same address.
  void Rotate();

 private:
  void Serve(int socket);

  const ApiServer behind_;
  const std::string files_;
  mutable std::mutex mutex_;  // guards what follows
  std::string certificate_;   // PEM
  std::shared_ptr<ssl_ctx_st> context_;
  Listener listener_;  // the first to end: what it serves uses all else
};

}  // namespace cluster_watcher::integration
