#include "probes/kube/curl_endpoint.h"

#include <curl/curl.h>

#include <memory>
#include <string_view>
#include <utility>

#include "probes/kube/curl_handles.h"

namespace cluster_watcher {
namespace {

std::string Part(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return "";
  std::string copy(text);
  curl_free(text);
  return copy;
}

}  // namespace

Result<Endpoint> ParseEndpoint(const ApiServer& server) {
  const std::unique_ptr<CURLU, UrlDeleter> url(curl_url());
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, server.url.c_str(), 0);
  const std::string scheme = Part(url.get(), CURLUPART_SCHEME);
  if (code != CURLUE_OK || (scheme != "https" && scheme != "http")) {
    // A URL with a user's name and password isn't valid, and must not be logged.
    const bool shown = server.url.find('@') == std::string::npos;
    return Failure(server.source + ": the server's URL " +
                   (shown ? "\"" + server.url + "\" " : "") +
                   (code == CURLUE_OK || code == CURLUE_UNSUPPORTED_SCHEME
                        ? "is not one of https:// or http://"
                        : std::string("can't be read (") + curl_url_strerror(code) +
                              "); it is https://HOST:PORT, with a port from 1 to 65535"));
  }
  for (const CURLUPart part :
       {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY, CURLUPART_FRAGMENT}) {
    if (Part(url.get(), part).empty()) continue;
    return Failure(server.source +
                   ": the server's URL may hold a host, a port and a path, nothing else");
  }
  const std::string port = Part(url.get(), CURLUPART_PORT);
  Endpoint endpoint;
  endpoint.address = Part(url.get(), CURLUPART_HOST) + ":" + port;
  endpoint.base = server.url;
  // curl checks the certificate against the URL's host. So the URL gets the certificate's name, and
  // CURLOPT_CONNECT_TO the real host.
  if (scheme == "https" && !server.tls_server_name.empty()) {
    endpoint.base =
        "https://" + server.tls_server_name + ":" + port + Part(url.get(), CURLUPART_PATH);
    endpoint.host = "Host: " + endpoint.address;
    endpoint.connect_to = "::" + endpoint.address;
  }
  while (endpoint.base.ends_with('/')) endpoint.base.pop_back();
  return endpoint;
}

Result<Done> CheckProxy(const ApiServer& server) {
  if (server.proxy_url.empty()) return Done{};
  const std::unique_ptr<CURLU, UrlDeleter> url(curl_url());
  const CURLUcode code =
      curl_url_set(url.get(), CURLUPART_URL, server.proxy_url.c_str(), CURLU_NON_SUPPORT_SCHEME);
  const bool has_more = !Part(url.get(), CURLUPART_QUERY).empty() ||
                        !Part(url.get(), CURLUPART_FRAGMENT).empty() ||
                        Part(url.get(), CURLUPART_PATH).size() > 1;
  if (code == CURLUE_OK && !has_more) return Done{};
  return Failure(server.source + ": proxy-url can't be read" +
                 (code == CURLUE_OK ? "" : std::string(" (") + curl_url_strerror(code) + ")") +
                 "; it holds a host, a port, and a name and password in which all but letters and "
                 "digits is written as %XX");
}

Result<Done> CheckCertificates(const ApiServer& server) {
  const auto holds = [](const std::string& pem, std::string_view what) {
    return pem.find(what) != std::string::npos;
  };
  constexpr std::string_view kCertificate = "-----BEGIN CERTIFICATE-----";
  if (!server.ca_pem.empty() && !holds(server.ca_pem, kCertificate)) {
    return Failure(server.source +
                   ": no certificate found in the certificate authority; it must be PEM");
  }
  if (server.client_certificate_pem.empty() != server.client_key_pem.empty()) {
    return Failure(server.source +
                   ": a client certificate needs its key, and a key its "
                   "certificate; only one of them is there");
  }
  if (server.client_certificate_pem.empty()) return Done{};
  if (!holds(server.client_certificate_pem, kCertificate)) {
    return Failure(server.source +
                   ": no certificate found in the client certificate; it must be PEM");
  }
  if (holds(server.client_key_pem, "ENCRYPTED")) {
    return Failure(server.source + ": the client key is encrypted; it must be without a password");
  }
  if (!holds(server.client_key_pem, "PRIVATE KEY-----")) {
    return Failure(server.source + ": no private key found in the client key; it must be PEM");
  }
  return Done{};
}

}  // namespace cluster_watcher
