// A TLS server before one that speaks plain HTTP on the loopback, such as a Proxy. It is its own
// certificate authority.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "probes/kube/api_server.h"

struct ssl_ctx_st;

namespace cluster_watcher::integration {

class TlsFront {
 public:
  // `behind` has a URL "http://127.0.0.1:PORT". Keys and certificates are files whose names begin
  // with `files`. Needs the command openssl.
  TlsFront(ApiServer behind, std::string files);
  TlsFront(const TlsFront&) = delete;
  TlsFront& operator=(const TlsFront&) = delete;
  ~TlsFront();

  // Its URL and the certificate that proves it, with the token of the server behind.
  ApiServer Address() const;
  // Cuts all connections. From now on another authority's certificate proves the same address.
  void Rotate();

 private:
  void Accept();
  void Serve(int socket);
  void CutConnections();

  const ApiServer behind_;
  const std::string files_;
  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;  // guards what follows
  std::string certificate_;   // PEM
  std::shared_ptr<ssl_ctx_st> context_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace cluster_watcher::integration
