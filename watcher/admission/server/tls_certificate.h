// The webhook's certificate and key, read from two PEM files.
#pragma once

#include <memory>
#include <string>

#include "probes/base/clock.h"
#include "probes/base/result.h"

typedef struct ssl_ctx_st SSL_CTX;

namespace cluster_watcher {

struct TlsFiles {
  std::string certificate;  // the chain, the server's certificate first
  std::string key;
};

struct TlsCertificate {
  std::shared_ptr<SSL_CTX> context;  // for a server: TLS 1.2 or later
  WallTime expires;
  std::string source;  // the text of both files, to notice changes
};

// An error names the file and the remedy. An expired certificate isn't an error.
Result<TlsCertificate> LoadTlsCertificate(const TlsFiles& files);

}  // namespace cluster_watcher
