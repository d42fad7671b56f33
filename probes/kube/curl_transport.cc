#include "probes/kube/curl_transport.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "probes/kube/certificates.h"
#include "probes/kube/curl_state.h"

namespace cluster_watcher {
namespace {

// Bounds a wait in case its wake-up got lost, which curl doesn't rule out.
constexpr int kLongestPoll = 1'000;
constexpr std::size_t kIdleHandles = 2;
// Half of the promised minute, so that requests every few seconds keep the promise.
constexpr std::chrono::seconds kCertificateInterval{30};
constexpr std::size_t kFewestConnections = kReadsSideBySide;
constexpr std::size_t kMostConnections = 16;

}  // namespace

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

// Source: kubernetes.io "Authenticating", User impersonation.
Result<std::unique_ptr<CurlTransport>> CurlTransport::Create(const ApiServer& server,
                                                             const ApiServerFlags& flags) {
  auto transport = Create(server);
  if (!transport) return transport;
  Endpoint& endpoint = (*transport)->state_->endpoint;
  if (!flags.as.empty()) endpoint.headers.push_back("Impersonate-User: " + flags.as);
  for (const std::string& group : flags.as_groups) {
    endpoint.headers.push_back("Impersonate-Group: " + group);
  }
  for (const std::string& header : endpoint.headers) {
    const bool is_odd = std::any_of(header.begin(), header.end(),
                                    [](unsigned char c) { return c < ' ' || c == 0x7f; });
    if (is_odd) return Failure("--as and --as-group: a name can't hold a control character");
  }
  endpoint.longest_request = flags.longest_request;
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

}  // namespace cluster_watcher
