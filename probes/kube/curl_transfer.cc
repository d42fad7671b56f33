#include "probes/kube/curl_transfer.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <optional>
#include <vector>

#include "probes/base/time_text.h"

#ifndef CLUSTER_WATCHER_VERSION
#define CLUSTER_WATCHER_VERSION "dev"
#endif

namespace cluster_watcher {
namespace {

constexpr std::chrono::hours kLongestRetryAfter{24};
constexpr long kBufferSize = 16L << 10;

std::size_t WriteBody(char* data, std::size_t, std::size_t count, void* user) noexcept {
  Transfer& transfer = *static_cast<Transfer*>(user);
  if (count > transfer.request.body_limit - transfer.body.size()) {
    transfer.too_large = true;
    return count + 1;  // any value but `count` makes curl fail the transfer
  }
  if (transfer.body.empty()) {
    curl_off_t length = -1;
    curl_easy_getinfo(transfer.easy.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (length > 0) {
      transfer.body.reserve(
          std::min(static_cast<std::size_t>(length), transfer.request.body_limit));
    }
  }
  transfer.body.append(data, count);
  return count;
}

bool IsLocal(std::uint32_t address) {
  const std::uint32_t network = address >> 24;
  return network == 127 || network == 0 || address >> 16 == 0xa9fe;
}

// Whether it is a loopback, unspecified or link-local address, or none of the Internet.
bool IsLocal(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return IsLocal(ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr));
  }
  if (address.sa_family != AF_INET6) return true;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&v6) || IN6_IS_ADDR_V4COMPAT(&v6)) {
    std::uint32_t v4 = 0;
    std::copy_n(v6.s6_addr + 12, sizeof v4, reinterpret_cast<unsigned char*>(&v4));
    return IsLocal(ntohl(v4));
  }
  return IN6_IS_ADDR_LOOPBACK(&v6) || IN6_IS_ADDR_UNSPECIFIED(&v6) || IN6_IS_ADDR_LINKLOCAL(&v6);
}

// Opens no socket to a local address. The address is what the name was resolved to, however it is
// written.
curl_socket_t OpenRemoteSocket(void* is_local, curlsocktype, curl_sockaddr* address) noexcept {
  if (IsLocal(address->addr)) {
    *static_cast<bool*>(is_local) = true;
    return CURL_SOCKET_BAD;
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// Debian's OpenSSL asks for so much by itself, that of the release doesn't.
constexpr const char* kCiphers = "DEFAULT@SECLEVEL=2";

// Where a kept connection breaks before the answer begins, curl sends a request again by itself.
// But what a delete rests on may have grown old, and what became of the first would not be known.
int BeforeSending(void* user, char*, char*, int, int) noexcept {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const bool is_again = ++transfer.sendings > 1;
  const bool is_repeat = is_again && transfer.request.method == HttpMethod::kDelete;
  return is_repeat || !transfer.request.MaySend() ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

bool SetHeaders(Transfer& transfer, const Endpoint& endpoint) {
  const HttpRequest& request = transfer.request;
  List& headers = transfer.headers;
  bool set = Append(headers, "Expect:");
  // An empty value removes the header that curl would send.
  set = set && Append(headers, "Accept:" + (request.accept.empty() ? "" : " " + request.accept));
  set = set &&
        Append(headers,
               "Content-Type:" + (request.content_type.empty() ? "" : " " + request.content_type));
  if (!endpoint.host.empty()) set = set && Append(headers, endpoint.host);
  for (const std::string& header : endpoint.headers) set = set && Append(headers, header);
  if (!request.bearer_token.empty()) {
    set = set && Append(headers, "Authorization: Bearer " + request.bearer_token);
  }
  return set;
}

// --- The answer.

std::string Header(CURL* easy, const char* name) {
  curl_header* header = nullptr;
  const bool found = curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK;
  return found ? header->value : "";
}

std::optional<Duration> ParseRetryAfter(const std::string& text, std::optional<WallTime> date) {
  const auto bounded = [](std::chrono::seconds wait) -> Duration {
    return std::clamp<std::chrono::seconds>(wait, std::chrono::seconds(0), kLongestRetryAfter);
  };
  if (text.empty()) return std::nullopt;
  if (text.find_first_not_of("0123456789") == std::string::npos) {
    long long seconds = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (parsed.ec != std::errc()) return kLongestRetryAfter;
    return bounded(std::chrono::seconds(
        std::min<long long>(seconds, std::chrono::seconds(kLongestRetryAfter).count())));
  }
  // A date is only meaningful by the server's own clock.
  const std::optional<WallTime> until = ParseHttpDate(text);
  if (!until || !date) return std::nullopt;
  return bounded(std::chrono::duration_cast<std::chrono::seconds>(*until - *date));
}

// Source: k8s.io/apimachinery, net.NewWarningHeader: `299 - "the text, \"quoted\""`.
std::vector<std::string> ReadWarnings(CURL* easy) {
  constexpr std::string_view kBegin = "299 - \"";
  std::vector<std::string> warnings;
  curl_header* header = nullptr;
  for (std::size_t i = 0;
       curl_easy_header(easy, "Warning", i, CURLH_HEADER, -1, &header) == CURLHE_OK; ++i) {
    const std::string_view value = header->value;
    if (!value.starts_with(kBegin)) continue;
    std::string text;
    for (std::size_t at = kBegin.size(); at < value.size() && value[at] != '"'; ++at) {
      if (value[at] == '\\' && at + 1 < value.size()) ++at;
      text += value[at];
    }
    warnings.push_back(std::move(text));
  }
  return warnings;
}

bool IsOneOf(CURLcode code, std::initializer_list<CURLcode> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

}  // namespace

std::size_t WatchHeaders(char* data, std::size_t, std::size_t count, void* user) noexcept {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, count);
  if (line.starts_with("HTTP/")) transfer.headers_ended = false;
  if (line == "\r\n" || line == "\n") transfer.headers_ended = true;
  return count;
}

CURLcode SetConnectionOptions(CURL* easy, curl_slist* connect_to, const std::string& proxy) {
  return Options(easy)
      .Set(CURLOPT_NOSIGNAL, 1L)
      .Set(CURLOPT_PROTOCOLS_STR, "http,https")
      .Set(CURLOPT_FOLLOWLOCATION, 0L)
      .Set(CURLOPT_PROXY, proxy.c_str())
      .Set(CURLOPT_PROXYPORT, proxy.starts_with("http://") ? 80L : 0L)  // as kubectl; 0: curl's own
      .Set(CURLOPT_NOPROXY, "")
      .Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1))
      .Set(CURLOPT_PATH_AS_IS, 1L)
      .Set(CURLOPT_USERAGENT, "cluster-watcher/" CLUSTER_WATCHER_VERSION)
      .Set(CURLOPT_TCP_NODELAY, 1L)
      .Set(CURLOPT_TCP_KEEPALIVE, 1L)
      .Set(CURLOPT_TCP_KEEPIDLE, 30L)
      .Set(CURLOPT_TCP_KEEPINTVL, 15L)
      .Set(CURLOPT_BUFFERSIZE, kBufferSize)
      .Set(CURLOPT_UPLOAD_BUFFERSIZE, kBufferSize)
      // Without it a cancelled request waits for the end of its name lookup.
      .Set(CURLOPT_QUICK_EXIT, 1L)
      .Set(CURLOPT_CONNECT_TO, connect_to)
      .Set(CURLOPT_HEADERFUNCTION, &WatchHeaders)
      .Set(CURLOPT_WRITEFUNCTION, &WriteBody)
      .code();
}

CURLcode SetTlsOptions(CURL* easy, const ApiServer& server, CURLSH* sessions) {
  const long verify = server.insecure_skip_tls_verify ? 0L : 1L;
  Options options(easy);
  options.Set(CURLOPT_SHARE, sessions)
      .Set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2))
      .Set(CURLOPT_SSL_VERIFYPEER, verify)
      .Set(CURLOPT_SSL_VERIFYHOST, verify * 2)
      .Set(CURLOPT_SSL_CIPHER_LIST, kCiphers)
      .Set(CURLOPT_PROXY_SSL_CIPHER_LIST, kCiphers)
      .Set(CURLOPT_CAPATH, static_cast<char*>(nullptr))
      .SetBlob(CURLOPT_CAINFO_BLOB, server.ca_pem)
      .SetBlob(CURLOPT_SSLCERT_BLOB, server.client_certificate_pem)
      .SetBlob(CURLOPT_SSLKEY_BLOB, server.client_key_pem)
      // Prevents a prompt on the terminal.
      .Set(CURLOPT_KEYPASSWD, "");
  return options.code();
}

// A reused handle keeps its options, so every option that may differ is set again.
CURLcode SetRequestOptions(Transfer& transfer, const Endpoint& endpoint, bool must_be_remote) {
  if (!SetHeaders(transfer, endpoint)) return CURLE_OUT_OF_MEMORY;
  const HttpRequest& request = transfer.request;
  const Duration longest = endpoint.longest_request;
  const Duration allowed =
      longest == Duration(0) ? request.timeout : std::min(request.timeout, longest);
  const auto timeout = std::clamp<Duration::rep>(allowed.count(), 1, INT_MAX);
  // 0 is no limit; WriteBody cuts what is too much.
  const auto limit = request.cut_body ? 0 : std::min<std::size_t>(request.body_limit, LONG_MAX);
  Options options(transfer.easy.get());
  options.Set(CURLOPT_URL, (endpoint.base + request.target).c_str())
      .Set(CURLOPT_HTTPHEADER, transfer.headers.get())
      .Set(CURLOPT_TIMEOUT_MS, static_cast<long>(timeout))
      .Set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min(timeout, kConnectTimeout.count())))
      .Set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(limit))
      .Set(CURLOPT_ERRORBUFFER, transfer.error.data())
      .Set(CURLOPT_HEADERDATA, static_cast<void*>(&transfer))
      .Set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer))
      .Set(CURLOPT_PRIVATE, static_cast<void*>(&transfer))
      .Set(CURLOPT_PREREQFUNCTION, &BeforeSending)
      .Set(CURLOPT_PREREQDATA, static_cast<void*>(&transfer))
      .Set(CURLOPT_HTTPGET, 1L);
  if (must_be_remote) {
    options.Set(CURLOPT_OPENSOCKETFUNCTION, &OpenRemoteSocket)
        .Set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(&transfer.is_local));
  }
  const bool has_body = !request.body.empty() || (request.method != HttpMethod::kGet &&
                                                  request.method != HttpMethod::kDelete);
  if (has_body) {
    options.Set(CURLOPT_POSTFIELDS, request.body.c_str())
        .Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
  return options.Set(CURLOPT_CUSTOMREQUEST, ToString(request.method)).code();
}

// Says why a request can't be sent; "" if it can. It must not add a header within a value, nor a
// target that leads to another host.
std::string RequestProblem(const HttpRequest& request) {
  if (!request.target.starts_with('/')) return "the target must begin with /";
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  for (const auto& [name, value] : {std::pair{"bearer token", &request.bearer_token},
                                    std::pair{"media type to accept", &request.accept},
                                    std::pair{"media type", &request.content_type}}) {
    if (std::any_of(value->begin(), value->end(), is_control)) {
      return std::string("the ") + name + " holds a control character";
    }
  }
  return "";
}

HttpResponse ReadResponse(Transfer& transfer) {
  CURL* easy = transfer.easy.get();
  HttpResponse response;
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  response.status = static_cast<int>(status);
  response.content_type = Header(easy, "Content-Type");
  response.body = std::move(transfer.body);
  response.date = ParseHttpDate(Header(easy, "Date"));
  response.retry_after = ParseRetryAfter(Header(easy, "Retry-After"), response.date);
  response.warnings = ReadWarnings(easy);
  curl_off_t elapsed = 0;
  curl_easy_getinfo(easy, CURLINFO_TOTAL_TIME_T, &elapsed);
  response.elapsed = std::chrono::microseconds(elapsed);
  long port = 0;
  curl_easy_getinfo(easy, CURLINFO_LOCAL_PORT, &port);
  response.connection = static_cast<std::uint32_t>(port);
  return response;
}

TransportError::Kind KindOf(CURLcode code, std::string_view text) {
  using Kind = TransportError::Kind;
  if (code == CURLE_OPERATION_TIMEDOUT) return Kind::kTimeout;
  if (code == CURLE_FILESIZE_EXCEEDED) return Kind::kTooLarge;
  if (IsOneOf(code, {CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
                     CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CLIENTCERT,
                     CURLE_SSL_INVALIDCERTSTATUS, CURLE_USE_SSL_FAILED})) {
    return Kind::kTls;
  }
  if (IsOneOf(code, {CURLE_SSL_CONNECT_ERROR, CURLE_RECV_ERROR, CURLE_SEND_ERROR})) {
    // These codes mean either a lost connection or a TLS refusal (TLS 1.3 reports a refused client
    // certificate only at this point). An OpenSSL error 0A... is a refusal, except for the one that
    // means that the connection was closed.
    const bool refused = text.find("error:0A") != text.npos;
    const bool closed = text.find("error:0A000126") != text.npos;
    return refused && !closed ? Kind::kTls : Kind::kConnect;
  }
  if (IsOneOf(code, {CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_GOT_NOTHING,
                     CURLE_PARTIAL_FILE, CURLE_INTERFACE_FAILED, CURLE_NO_CONNECTION_AVAILABLE})) {
    return Kind::kConnect;
  }
  return Kind::kProtocol;
}

}  // namespace cluster_watcher
