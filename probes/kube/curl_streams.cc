// The streams of CurlTransport.
#include <curl/curl.h>

#include <algorithm>
#include <utility>

#include "probes/kube/curl_state.h"

namespace cluster_watcher {
namespace {

// The limit of a wait for streams, where for hours there may be nothing to read.
constexpr int kLongestStreamPoll = 10'000;

}  // namespace

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
