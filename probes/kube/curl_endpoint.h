// The API server's address as libcurl takes it. What it couldn't read is refused before, with the
// place and the remedy.
#pragma once

#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/base/result.h"
#include "probes/kube/api_server.h"

namespace cluster_watcher {

struct Endpoint {
  std::string base;     // a request's target is appended to it
  std::string address;  // host:port, for messages
  std::string host;     // the Host header if it differs from the host of `base`, else empty
  std::vector<std::string> headers = {};  // further ones, of all requests
  Duration longest_request{0};            // as in ApiServerFlags
  std::string connect_to;  // in the syntax of CURLOPT_CONNECT_TO; empty: `base` says it
};

Result<Endpoint> ParseEndpoint(const ApiServer& server);
// Fails where curl could not read the proxy's URL, which it would then show with its password.
Result<Done> CheckProxy(const ApiServer& server);
// Fails where a certificate or a key isn't PEM, or lacks the other.
Result<Done> CheckCertificates(const ApiServer& server);

}  // namespace cluster_watcher
