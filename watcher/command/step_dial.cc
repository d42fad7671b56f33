#include "watcher/command/step_dial.h"

#include <utility>

#include "probes/base/file.h"
#include "probes/kube/certificates.h"
#include "probes/kube/curl_transport.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kAuthoritiesLimit = 4u << 20;

std::string Authorities(const ApiServer& cluster, const std::string& system_authorities) {
  std::string pem = cluster.ca_pem;
  if (const auto more = ReadFile(system_authorities, kAuthoritiesLimit)) pem += "\n" + *more;
  return pem;
}

}  // namespace

Dial DialSteps(ApiServer cluster, std::string system_authorities, StepsAt at) {
  return [cluster = std::move(cluster), system_authorities = std::move(system_authorities),
          at](const std::string& url) mutable -> Result<std::unique_ptr<Transport>> {
    ApiServer server;
    server.url = url;
    server.source = "step";
    server.must_be_remote = at != StepsAt::kMaster;
    if (url.starts_with("https:")) {
      if (auto fresh = WithNewCertificates(cluster)) cluster = *std::move(fresh);
      server.ca_pem = Authorities(cluster, system_authorities);
    }
    auto transport = CurlTransport::Create(server);
    if (!transport) return Failure(transport.error().message);
    return std::unique_ptr<Transport>(*std::move(transport));
  };
}

}  // namespace cluster_watcher
