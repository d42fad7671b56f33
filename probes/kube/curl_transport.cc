#include "probes/kube/curl_transport.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "probes/base/time_text.h"
#include "probes/kube/certificates.h"

#ifndef CLUSTER_WATCHER_VERSION
#define CLUSTER_WATCHER_VERSION "dev"
#endif

namespace cluster_watcher {
namespace {

constexpr Duration kConnectTimeout{5'000};
constexpr std::chrono::hours kLongestRetryAfter{24};
// Bounds a wait in case its wake-up got lost, which curl doesn't rule out.
constexpr int kLongestPoll = 1'000;
// The limit of a stream, where for hours there may be nothing to read.
constexpr int kLongestStreamPoll = 10'000;
constexpr long kBufferSize = 16L << 10;
constexpr std::size_t kIdleHandles = 2;
// Half of the promised minute, so that requests every few seconds keep the promise.
constexpr std::chrono::seconds kCertificateInterval{30};
constexpr std::size_t kFewestConnections = kReadsSideBySide;
constexpr std::size_t kMostConnections = 16;

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct MultiDeleter {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
struct UrlDeleter {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
// TLS sessions: a further connection takes up that of an earlier one, without its certificates and
// signatures. As long as a handle uses them they must be there.
using Sessions = std::shared_ptr<CURLSH>;
using Easy = std::unique_ptr<CURL, EasyDeleter>;
using Multi = std::unique_ptr<CURLM, MultiDeleter>;
using List = std::unique_ptr<curl_slist, ListDeleter>;

Sessions NewSessions() {
  Sessions sessions(curl_share_init(), [](CURLSH* share) {
    if (share != nullptr) curl_share_cleanup(share);
  });
  if (sessions) curl_share_setopt(sessions.get(), CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
  return sessions;
}

Unexpected<TransportError> Failed(TransportError::Kind kind, std::string message) {
  return {TransportError{kind, std::move(message)}};
}

TransportError Unsent(TransportError::Kind kind, std::string message) {
  return {kind, std::move(message), false};
}

bool Append(List& list, const std::string& text) {
  curl_slist* longer = curl_slist_append(list.get(), text.c_str());
  if (longer == nullptr) return false;
  static_cast<void>(list.release());
  list.reset(longer);
  return true;
}

// Sets options in order and keeps the first failure.
class Options {
 public:
  explicit Options(CURL* easy) : easy_(easy) {}

  template <typename T>
  Options& Set(CURLoption option, T value) {
    if (code_ == CURLE_OK) code_ = curl_easy_setopt(easy_, option, value);
    return *this;
  }
  // `text` isn't copied, so it must outlive the handle.
  Options& SetBlob(CURLoption option, const std::string& text) {
    if (text.empty()) return *this;
    curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
    return Set(option, &blob);
  }
  CURLcode code() const { return code_; }

 private:
  CURL* easy_;
  CURLcode code_ = CURLE_OK;
};

// --- The API server's address. ---

struct Endpoint {
  std::string base;        // a request's target is appended to it
  std::string address;     // host:port, for messages
  std::string host;        // the Host header if it differs from the host of `base`, else empty
  std::string connect_to;  // in the syntax of CURLOPT_CONNECT_TO; empty: `base` says it
};

std::string Part(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return "";
  std::string copy(text);
  curl_free(text);
  return copy;
}

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

// Fails where curl could not read the proxy's URL, which it would then show with its password.
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

// --- One request. ---

// Must not move while curl holds its address.
struct Transfer {
  Transfer(const HttpRequest& request_, std::size_t index_, Easy easy_)
      : request(request_), index(index_), easy(std::move(easy_)) {}

  const HttpRequest& request;
  std::size_t index;
  Easy easy;
  List headers;
  std::string body;
  bool headers_ended = false;
  bool too_large = false;
  bool is_local = false;  // a connection to a local address was refused
  int sendings = 0;       // begun
  std::array<char, CURL_ERROR_SIZE> error{};
};

// curl treats an answer that breaks off within its headers as complete, such as a 404 without a
// body. So this looks for the empty line after the headers, of an interim answer, too.
std::size_t WatchHeaders(char* data, std::size_t, std::size_t count, void* user) noexcept {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, count);
  if (line.starts_with("HTTP/")) transfer.headers_ended = false;
  if (line == "\r\n" || line == "\n") transfer.headers_ended = true;
  return count;
}

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

// Debian's OpenSSL asks for so much by itself, that of the release doesn't.
constexpr const char* kCiphers = "DEFAULT@SECLEVEL=2";

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
  if (!request.bearer_token.empty()) {
    set = set && Append(headers, "Authorization: Bearer " + request.bearer_token);
  }
  return set;
}

// A reused handle keeps its options, so every option that may differ is set again.
CURLcode SetRequestOptions(Transfer& transfer, const Endpoint& endpoint, bool must_be_remote) {
  if (!SetHeaders(transfer, endpoint)) return CURLE_OUT_OF_MEMORY;
  const HttpRequest& request = transfer.request;
  const auto timeout = std::clamp<Duration::rep>(request.timeout.count(), 1, INT_MAX);
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

// --- One answer. ---

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

bool IsOneOf(CURLcode code, std::initializer_list<CURLcode> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
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

}  // namespace

// --- A batch of requests. ---

struct CurlTransport::State {
  ApiServer server;
  SystemClock system_clock;
  Clock* clock = &system_clock;
  MonotonicTime certificates_read_at;
  Endpoint endpoint;
  List connect_to;
  Sessions sessions;  // by the certificates that are in force
  Multi multi;
  Multi streams;
  bool stream_was_read = false;  // since the last wait
  std::vector<Easy> idle;
  std::vector<std::unique_ptr<Transfer>> under_way;  // empty between batches

  class OpenStream;
  std::vector<OpenStream*> unsent;  // those that could not be sent

  std::string Describe(const HttpRequest& request) const {
    return std::string(ToString(request.method)) + " " +
           (request.called.empty() ? request.target : request.called) + " at " + endpoint.address +
           ": ";
  }

  Result<Easy> TakeHandle();
  std::optional<TransportError> Start(const HttpRequest& request, std::size_t index);
  HttpResult Read(Transfer& transfer, CURLcode code) const;
  TransportError ErrorOf(const Transfer& transfer, CURLcode code) const;
  bool Collect(std::vector<HttpResult>& results);
  void GiveBack(Transfer& transfer);
  void RefreshCertificatesIfDue();
  bool RefreshCertificates();
  void ForgetSessions();
  void EndStreams();
  std::vector<HttpResult> SendAll(std::span<const HttpRequest> requests, std::size_t concurrency,
                                  const std::stop_token& stop);
  void StartUpTo(std::size_t concurrency, std::span<const HttpRequest> requests,
                 std::vector<HttpResult>& results);
  void Abandon(CURLMcode code, std::span<const HttpRequest> requests,
               std::vector<HttpResult>& results);
};

Result<Easy> CurlTransport::State::TakeHandle() {
  if (!idle.empty()) {
    Easy easy = std::move(idle.back());
    idle.pop_back();
    return easy;
  }
  Easy easy(curl_easy_init());
  if (!easy) return Failure("libcurl makes no handle");
  CURLcode code = SetConnectionOptions(easy.get(), connect_to.get(), server.proxy_url);
  if (code == CURLE_OK) code = SetTlsOptions(easy.get(), server, sessions.get());
  if (code == CURLE_OK) return easy;
  return Failure(std::string("libcurl refuses an option: ") + curl_easy_strerror(code));
}

std::optional<TransportError> CurlTransport::State::Start(const HttpRequest& request,
                                                          std::size_t index) {
  using Kind = TransportError::Kind;
  if (const std::string problem = RequestProblem(request); !problem.empty()) {
    return Unsent(Kind::kProtocol, Describe(request) + problem);
  }
  Result<Easy> easy = TakeHandle();
  if (!easy) return Unsent(Kind::kConnect, Describe(request) + easy.error().message);
  auto transfer = std::make_unique<Transfer>(request, index, *std::move(easy));
  const CURLcode code = SetRequestOptions(*transfer, endpoint, server.must_be_remote);
  if (code != CURLE_OK) {
    return Unsent(Kind::kProtocol, Describe(request) + curl_easy_strerror(code));
  }
  const CURLMcode added = curl_multi_add_handle(multi.get(), transfer->easy.get());
  if (added != CURLM_OK) {
    return Unsent(Kind::kConnect, Describe(request) + curl_multi_strerror(added));
  }
  under_way.push_back(std::move(transfer));
  return std::nullopt;
}

// Adds a placeholder result for each request that it starts, or the error if it can't.
void CurlTransport::State::StartUpTo(std::size_t concurrency, std::span<const HttpRequest> requests,
                                     std::vector<HttpResult>& results) {
  while (results.size() < requests.size() && under_way.size() < concurrency) {
    const std::size_t index = results.size();
    std::optional<TransportError> refused = Start(requests[index], index);
    results.push_back(refused ? Unexpected{*std::move(refused)}
                              : Failed(TransportError::Kind::kStopped, "under way"));
  }
}

HttpResult CurlTransport::State::Read(Transfer& transfer, CURLcode code) const {
  if (code == CURLE_OK && transfer.headers_ended) return ReadResponse(transfer);
  if (transfer.too_large && transfer.request.cut_body) return ReadResponse(transfer);
  TransportError error = ErrorOf(transfer, code);
  error.may_have_arrived = transfer.sendings > 0 && error.kind != TransportError::Kind::kNotSent;
  return Unexpected{std::move(error)};
}

TransportError CurlTransport::State::ErrorOf(const Transfer& transfer, CURLcode code) const {
  using Kind = TransportError::Kind;
  const std::string message = Describe(transfer.request);
  if (code == CURLE_OK) {
    return {Kind::kConnect, message + "the connection was closed before the headers were whole"};
  }
  if (transfer.is_local) return {Kind::kLocal, message + "its address is one of this machine"};
  if (code == CURLE_ABORTED_BY_CALLBACK) {
    return transfer.sendings > 1
               ? TransportError{Kind::kConnect, message + "the connection broke before an answer"}
               : TransportError{Kind::kNotSent, message + "it was no longer to be sent"};
  }
  std::string text = transfer.error.data();
  if (text.empty()) text = curl_easy_strerror(code);
  long system_error = 0;
  curl_easy_getinfo(transfer.easy.get(), CURLINFO_OS_ERRNO, &system_error);
  if (code == CURLE_COULDNT_CONNECT && system_error != 0) {
    text += std::string(" (") + std::strerror(static_cast<int>(system_error)) + ")";
    if (!server.proxy_url.empty()) text += "; this is its proxy";
  }
  const Kind kind = transfer.too_large ? Kind::kTooLarge : KindOf(code, text);
  if (kind == Kind::kTooLarge) {
    return {kind, message + "the answer is larger than the " +
                      std::to_string(transfer.request.body_limit) + " bytes accepted"};
  }
  if (kind != Kind::kTls) return {kind, message + text};
  return {kind, message + text + "; check the certificates and names in " + server.source};
}

// Stores the results of finished transfers; false if there are none.
bool CurlTransport::State::Collect(std::vector<HttpResult>& results) {
  bool any = false;
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    // Removing the handle invalidates `message`.
    const CURLcode code = message->data.result;
    void* own = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &own);
    const auto transfer = std::find_if(under_way.begin(), under_way.end(),
                                       [own](const auto& each) { return each.get() == own; });
    if (transfer == under_way.end()) continue;
    results[(*transfer)->index] = Read(**transfer, code);
    GiveBack(**transfer);
    under_way.erase(transfer);
    any = true;
  }
  return any;
}

// Releases the handle of a transfer that has ended.
void CurlTransport::State::GiveBack(Transfer& transfer) {
  CURL* easy = transfer.easy.get();
  const bool removed = curl_multi_remove_handle(multi.get(), easy) == CURLM_OK;
  // A kept handle must not point into the transfer.
  Options options(easy);
  options.Set(CURLOPT_HTTPHEADER, nullptr)
      .Set(CURLOPT_ERRORBUFFER, nullptr)
      .Set(CURLOPT_POSTFIELDS, nullptr)
      .Set(CURLOPT_HEADERDATA, nullptr)
      .Set(CURLOPT_WRITEDATA, nullptr)
      .Set(CURLOPT_OPENSOCKETDATA, nullptr)
      .Set(CURLOPT_PREREQDATA, nullptr)
      .Set(CURLOPT_PRIVATE, nullptr);
  if (removed && options.code() == CURLE_OK && idle.size() < kIdleHandles) {
    idle.push_back(std::move(transfer.easy));
  }
}

// Fails everything unfinished, with curl's error, or as stopped.
void CurlTransport::State::Abandon(CURLMcode code, std::span<const HttpRequest> requests,
                                   std::vector<HttpResult>& results) {
  const bool stopped = code == CURLM_OK;
  const auto error_for = [&](const HttpRequest& request, int sendings) {
    return Unexpected{TransportError{
        stopped ? TransportError::Kind::kStopped : TransportError::Kind::kConnect,
        Describe(request) +
            (stopped ? "stopped before the answer was whole" : curl_multi_strerror(code)),
        sendings > 0}};
  };
  for (const std::unique_ptr<Transfer>& transfer : under_way) {
    results[transfer->index] = error_for(transfer->request, transfer->sendings);
    GiveBack(*transfer);
  }
  under_way.clear();
  while (results.size() < requests.size()) {
    results.push_back(error_for(requests[results.size()], 0));
  }
}

// Reads the files of the certificates. Returns whether new ones are in force. Requires that nothing
// is under way.
bool CurlTransport::State::RefreshCertificates() {
  certificates_read_at = clock->Now();
  std::optional<ApiServer> fresh = WithNewCertificates(server);
  if (!fresh) return false;
  // The handles point into the old texts, and kept connections and sessions trust what they say.
  ForgetSessions();
  Multi renewed(curl_multi_init());
  if (renewed) multi = std::move(renewed);
  server = *std::move(fresh);
  return true;
}

// Requires that nothing is under way; streams keep the sessions with which they began.
void CurlTransport::State::ForgetSessions() {
  idle.clear();
  sessions = NewSessions();
}

void CurlTransport::State::RefreshCertificatesIfDue() {
  if (HasOtherCertificate(server) || clock->Now() - certificates_read_at >= kCertificateInterval) {
    RefreshCertificates();
  }
}

std::string SystemAuthoritiesFile() {
  const char* const file = curl_version_info(CURLVERSION_NOW)->cainfo;
  return file == nullptr ? "" : file;
}

CurlTransport::CurlTransport(std::unique_ptr<State> state) : state_(std::move(state)) {}
CurlTransport::~CurlTransport() = default;

Result<std::unique_ptr<CurlTransport>> CurlTransport::Create(const ApiServer& server,
                                                             Clock& clock) {
  auto transport = Create(server);
  if (!transport) return transport;
  State& state = *(*transport)->state_;
  state.clock = &clock;
  state.certificates_read_at = clock.Now();
  return transport;
}

Result<std::unique_ptr<CurlTransport>> CurlTransport::Create(const ApiServer& server) {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (initialized != CURLE_OK) {
    return Failure(std::string("libcurl can't start: ") + curl_easy_strerror(initialized));
  }
  Result<Endpoint> endpoint = ParseEndpoint(server);
  if (!endpoint) return Failure(std::move(endpoint).error().message);
  for (const auto& check : {CheckProxy, CheckCertificates}) {
    if (const Result<Done> usable = check(server); !usable) return Failure(usable.error().message);
  }
  auto state = std::make_unique<State>();
  state->server = server;
  state->certificates_read_at = state->clock->Now();
  state->endpoint = *std::move(endpoint);
  state->sessions = NewSessions();
  state->multi.reset(curl_multi_init());
  state->streams.reset(curl_multi_init());
  if (!state->multi || !state->streams) return Failure("libcurl can't start: out of memory");
  // Without it nothing would end a wait early.
  if (curl_multi_wakeup(state->streams.get()) != CURLM_OK) {
    return Failure("libcurl can't start: it has no descriptors to be woken up by");
  }
  const std::string& connect_to = state->endpoint.connect_to;
  if (!connect_to.empty() && !Append(state->connect_to, connect_to)) {
    return Failure("libcurl can't start: out of memory");
  }
  // Creates a handle now, so that a libcurl that lacks an option fails before the first request.
  Result<Easy> easy = state->TakeHandle();
  if (!easy) return Failure(server.source + ": " + easy.error().message);
  state->idle.push_back(*std::move(easy));
  return std::unique_ptr<CurlTransport>(new CurlTransport(std::move(state)));
}

std::vector<HttpResult> CurlTransport::Perform(std::span<const HttpRequest> requests,
                                               std::size_t concurrency, std::stop_token stop) {
  State& state = *state_;
  if (!state.under_way.empty()) {
    return {requests.size(), Unexpected{TransportError{TransportError::Kind::kNotSent,
                                                       "other requests are under way", false}}};
  }
  state.RefreshCertificatesIfDue();
  std::vector<HttpResult> results = state.SendAll(requests, concurrency, stop);
  // A device between may drop the beginning of a connection that takes up a session.
  const auto answered = [](const HttpResult& result) { return static_cast<bool>(result); };
  const auto silent = [](const HttpResult& result) {
    using Kind = TransportError::Kind;
    if (result) return false;
    const Kind kind = result.error().kind;
    return kind == Kind::kConnect || kind == Kind::kTls || kind == Kind::kTimeout;
  };
  if (std::none_of(results.begin(), results.end(), answered) &&
      std::any_of(results.begin(), results.end(), silent)) {
    state.ForgetSessions();
  }
  const auto refused = [](const HttpResult& result) {
    return !result && result.error().kind == TransportError::Kind::kTls;
  };
  if (std::none_of(results.begin(), results.end(), refused) || !state.RefreshCertificates()) {
    return results;
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    // Its evidence may have grown old while others of the batch hung.
    if (!refused(results[i]) || requests[i].method == HttpMethod::kDelete) continue;
    results[i] = std::move(state.SendAll(requests.subspan(i, 1), 1, stop).front());
  }
  return results;
}

std::vector<HttpResult> CurlTransport::State::SendAll(std::span<const HttpRequest> requests,
                                                      std::size_t concurrency,
                                                      const std::stop_token& stop) {
  CURLM* const handle = multi.get();
  concurrency = std::max<std::size_t>(concurrency, 1);
  // The connections of a wide batch are closed gradually during narrow ones after it.
  const auto kept =
      static_cast<long>(std::clamp(concurrency, kFewestConnections, kMostConnections));
  curl_multi_setopt(handle, CURLMOPT_MAXCONNECTS, kept);
  std::vector<HttpResult> results;
  results.reserve(requests.size());
  const std::stop_callback wake(stop, [handle] { curl_multi_wakeup(handle); });
  CURLMcode code = CURLM_OK;
  while (code == CURLM_OK && !stop.stop_requested()) {
    StartUpTo(concurrency, requests, results);
    if (under_way.empty()) return results;
    int running = 0;
    code = curl_multi_perform(handle, &running);
    if (Collect(results) || code != CURLM_OK) continue;
    code = curl_multi_poll(handle, nullptr, 0, kLongestPoll, nullptr);
  }
  Abandon(code, requests, results);
  return results;
}

// --- Streams. ---

class CurlTransport::State::OpenStream final : public Stream {
 public:
  OpenStream(State& state, const HttpRequest& request, StreamReader& reader)
      : state_(state),
        reader_(reader),
        request_(request),
        server_(state.server),
        sessions_(state.sessions),
        transfer_(request_, 0, Easy(curl_easy_init())) {
    problem_ = Prepare();
    if (problem_ != CURLE_OK) return;
    is_added_ = curl_multi_add_handle(state_.streams.get(), transfer_.easy.get()) == CURLM_OK;
    if (!is_added_) problem_ = CURLE_FAILED_INIT;
  }
  ~OpenStream() override {
    if (is_added_) curl_multi_remove_handle(state_.streams.get(), transfer_.easy.get());
    std::erase(state_.unsent, this);
  }

  bool is_added() const { return is_added_; }
  void Refuse() {
    state_.stream_was_read = true;
    reader_.End(state_.ErrorOf(transfer_, problem_));
  }
  void Done(CURLcode code) {
    state_.stream_was_read = true;
    if (code == CURLE_OK && transfer_.headers_ended) return reader_.End(std::nullopt);
    if (!has_begun_) state_.ForgetSessions();
    reader_.End(state_.ErrorOf(transfer_, code));
  }

 private:
  // Small, because there is little to read.
  static constexpr long kStreamBuffer = 4L << 10;

  CURLcode Prepare() {
    CURL* const easy = transfer_.easy.get();
    if (easy == nullptr || !RequestProblem(request_).empty()) return CURLE_URL_MALFORMAT;
    CURLcode code = SetConnectionOptions(easy, state_.connect_to.get(), server_.proxy_url);
    if (code == CURLE_OK) code = SetTlsOptions(easy, server_, sessions_.get());
    if (code == CURLE_OK) {
      code = SetRequestOptions(transfer_, state_.endpoint, server_.must_be_remote);
    }
    if (code != CURLE_OK) return code;
    return Options(easy)
        .Set(CURLOPT_TIMEOUT_MS, 0L)
        .Set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(kConnectTimeout.count()))
        .Set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(0))
        .Set(CURLOPT_BUFFERSIZE, kStreamBuffer)
        .Set(CURLOPT_FORBID_REUSE, 1L)
        .Set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L)
        .Set(CURLOPT_HEADERFUNCTION, &OpenStream::ReadHeader)
        .Set(CURLOPT_HEADERDATA, static_cast<void*>(this))
        .Set(CURLOPT_WRITEFUNCTION, &OpenStream::ReadBody)
        .Set(CURLOPT_WRITEDATA, static_cast<void*>(this))
        .Set(CURLOPT_PRIVATE, static_cast<void*>(this))
        .code();
  }

  static std::size_t ReadHeader(char* data, std::size_t size, std::size_t count,
                                void* user) noexcept {
    OpenStream& self = *static_cast<OpenStream*>(user);
    WatchHeaders(data, size, count, &self.transfer_);
    if (!self.transfer_.headers_ended) return count;
    long status = 0;
    curl_easy_getinfo(self.transfer_.easy.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200 && !self.has_begun_) {
      self.has_begun_ = true;
      self.state_.stream_was_read = true;
      self.reader_.Begin(static_cast<int>(status));
    }
    return count;
  }
  static std::size_t ReadBody(char* data, std::size_t, std::size_t count, void* user) noexcept {
    OpenStream& self = *static_cast<OpenStream*>(user);
    self.state_.stream_was_read = true;
    self.reader_.Take({data, count});
    return count;
  }

  State& state_;
  StreamReader& reader_;
  HttpRequest request_;
  const ApiServer server_;  // curl keeps pointers to its texts
  const Sessions sessions_;
  Transfer transfer_;
  bool is_added_ = false;
  bool has_begun_ = false;       // trailers are shown as headers, too
  CURLcode problem_ = CURLE_OK;  // why it isn't
};

std::unique_ptr<Stream> CurlTransport::Open(const HttpRequest& request, StreamReader& reader) {
  State& state = *state_;
  state.RefreshCertificatesIfDue();
  auto stream = std::make_unique<State::OpenStream>(state, request, reader);
  if (!stream->is_added()) state.unsent.push_back(stream.get());
  return stream;
}

void CurlTransport::Wait(MonotonicTime deadline, std::stop_token stop) {
  State& state = *state_;
  CURLM* const handle = state.streams.get();
  const std::stop_callback wake(stop, [handle] { curl_multi_wakeup(handle); });
  while (!stop.stop_requested()) {
    int running = 0;
    const CURLMcode code = curl_multi_perform(handle, &running);
    state.EndStreams();
    if (std::exchange(state.stream_was_read, false)) return;
    const MonotonicTime now = state.clock->Now();
    if (now >= deadline) return;
    const auto left = std::min<Duration>(std::chrono::ceil<Duration>(deadline - now),
                                         Duration(kLongestStreamPoll));
    if (code != CURLM_OK ||
        curl_multi_poll(handle, nullptr, 0, static_cast<int>(left.count()), nullptr) != CURLM_OK) {
      // It did not wait, and would not the next time.
      state.clock->WaitUntil(now + left, stop);
    }
  }
}

// Tells the readers of streams that have ended.
void CurlTransport::State::EndStreams() {
  for (OpenStream* stream : std::exchange(unsent, {})) stream->Refuse();
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(streams.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    void* own = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &own);
    static_cast<OpenStream*>(own)->Done(code);
  }
}

}  // namespace cluster_watcher
