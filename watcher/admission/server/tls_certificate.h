// The webhook's certificate and key, read from two PEM files.
#pragma once

#include <memory>
#include <string>

#include "probes/base/clock.h"
#include "probes/base/result.h"

typedef struct ssl_ctx_st SSL_CTX;

namespace cluster_watcher {

struct TlsFiles {
  std::string certificate;  // the chain, the server's own first
  std::string key;
};

struct TlsCertificate {
  std::shared_ptr<SSL_CTX> context;  // a server's: TLS 1.2 or later
  WallTime expires;
  std::string source;  // the files' text, by which a change is noticed
};

// The error names the file and the remedy. One that has expired is no error.
Result<TlsCertificate> LoadTlsCertificate(const TlsFiles& files);

}  // namespace cluster_watcher
