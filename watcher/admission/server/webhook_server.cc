#include "watcher/admission/server/webhook_server.h"

#include <malloc.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include "probes/base/json.h"
#include "watcher/admission/server/webhook_connections.h"

namespace cluster_watcher {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;
using Steady = std::chrono::steady_clock;
using TlsStream = asio::ssl::stream<beast::tcp_stream&>;

constexpr std::size_t kMostHeader = 16u << 10;
constexpr std::size_t kReadBuffer = 64u << 10;
constexpr std::chrono::milliseconds kAcceptAgain{100};
constexpr std::chrono::milliseconds kDrainStep{20};
constexpr std::chrono::seconds kGoodbye{1};
constexpr std::size_t kLargeBody = 256u << 10;  // memory is given back after larger ones
constexpr std::size_t kPiece = 16u << 10;
constexpr std::size_t kMostRest = 32u << 20;

auto Into(ErrorCode& error) { return asio::redirect_error(asio::use_awaitable, error); }

http::response<http::string_body> ResponseOf(AdmissionAnswer answer, unsigned version,
                                             bool keep_alive) {
  http::response<http::string_body> response;
  response.version(version);
  response.result(static_cast<unsigned>(answer.status));
  response.set(http::field::content_type, answer.content_type);
  if (answer.status == 405) response.set(http::field::allow, "POST");
  response.keep_alive(keep_alive);
  response.body() = std::move(answer.body);
  response.prepare_payload();
  return response;
}

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

std::string_view PathOf(const http::request<http::string_body>& request) {
  const std::string_view target = View(request.target());
  return target.substr(0, target.find('?'));  // the API server appends its timeout
}

int StatusOf(const ErrorCode& error) {
  if (error == http::error::body_limit) return 413;
  return error == http::error::header_limit ? 431 : 400;
}

}  // namespace

struct WebhookServer::State {
  State(ListenAddress listen, TlsCertificate first, Handlers all, AdmissionMetrics& shown,
        const Limits& bounds)
      : address(std::move(listen)),
        certificate(std::move(first)),
        handlers(std::move(all)),
        metrics(shown),
        limits(bounds),
        connections(bounds.connections, bounds.bodies, shown) {}

  ListenAddress address;
  TlsCertificate certificate;
  Handlers handlers;
  AdmissionMetrics& metrics;
  Limits limits;
  WebhookConnections connections;
  bool stopping = false;
  asio::io_context io{1};  // ends before what its coroutines use
  tcp::acceptor acceptor{io};
  asio::thread_pool worker{1};  // ends before the coroutines that wait for it

  ErrorCode Listen();
  asio::awaitable<void> Accept();
  asio::awaitable<void> Serve(std::shared_ptr<WebhookConnection> connection);
  asio::awaitable<void> ServeTls(WebhookConnection& connection);
  asio::awaitable<bool> ServeRequest(WebhookConnection& connection, TlsStream& tls,
                                     beast::flat_buffer& buffer);
  asio::awaitable<std::optional<AdmissionAnswer>> AnswerTo(WebhookConnection& connection,
                                                           const Handler& handler,
                                                           const std::string& body);
  asio::awaitable<bool> ReadBody(WebhookConnection& connection, TlsStream& tls,
                                 beast::flat_buffer& buffer,
                                 http::request_parser<http::string_body>& parser);
  asio::awaitable<void> ReadRest(WebhookConnection& connection, TlsStream& tls);
  asio::awaitable<void> RefusePlainHttp(WebhookConnection& connection);
  asio::awaitable<void> Tick(std::chrono::milliseconds interval, const std::function<void()>& tick);
  asio::awaitable<void> Stop(std::chrono::milliseconds delay);
  std::optional<AdmissionAnswer> Refusal(const http::request_parser<http::string_body>& parser);
};

// Without a host, listens on all interfaces: on IPv6 and IPv4 together where the machine has IPv6.
ErrorCode WebhookServer::State::Listen() {
  ErrorCode error;
  const bool any = address.host.empty();
  auto ip = any ? asio::ip::address(asio::ip::address_v6::any())
                : asio::ip::make_address(address.host, error);
  if (error) return error;
  acceptor.open(ip.is_v6() ? tcp::v6() : tcp::v4(), error);
  if (error && any) {
    ip = asio::ip::address_v4::any();
    acceptor.open(tcp::v4(), error);
  }
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error && any && ip.is_v6()) acceptor.set_option(asio::ip::v6_only(false), error);
  if (!error) acceptor.bind({ip, address.port}, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    ErrorCode ignored;
    acceptor.close(ignored);
  }
  return error;
}

asio::awaitable<void> WebhookServer::State::Accept() {
  while (acceptor.is_open()) {
    ErrorCode error;
    tcp::socket socket = co_await acceptor.async_accept(Into(error));
    if (error == asio::error::operation_aborted) co_return;
    if (error) {  // out of file descriptors, for example
      connections.CloseIdle();
      asio::steady_timer pause(io, kAcceptAgain);
      co_await pause.async_wait(Into(error));
      continue;
    }
    connections.MakeRoom();
    socket.set_option(tcp::no_delay(true), error);
    auto connection = std::make_shared<WebhookConnection>(std::move(socket));
    connections.Add(connection);
    asio::co_spawn(io, Serve(std::move(connection)), asio::detached);
  }
}

asio::awaitable<void> WebhookServer::State::Serve(std::shared_ptr<WebhookConnection> connection) {
  const struct Leave {  // on every path
    ~Leave() { connections.Remove(connection); }
    WebhookConnections& connections;
    const std::shared_ptr<WebhookConnection>& connection;
  } leave{connections, connection};
  co_await ServeTls(*connection);
}

asio::awaitable<void> WebhookServer::State::ServeTls(WebhookConnection& connection) {
  ErrorCode error;
  beast::flat_buffer buffer(kReadBuffer);
  connection.stream.expires_after(limits.handshake);
  const bool is_tls = co_await beast::async_detect_ssl(connection.stream, buffer, Into(error));
  if (error) co_return;
  if (!is_tls) co_return co_await RefusePlainHttp(connection);
  // A connection keeps the certificate it began with.
  const std::shared_ptr<SSL_CTX> kept = certificate.context;
  SSL_CTX_up_ref(kept.get());
  asio::ssl::context context(kept.get());
  TlsStream tls(connection.stream, context);
  const std::size_t used =
      co_await tls.async_handshake(asio::ssl::stream_base::server, buffer.data(), Into(error));
  if (error) co_return;
  buffer.consume(used);
  while (!connection.ended && co_await ServeRequest(connection, tls, buffer)) {
    connection.busy = false;
    connection.served = true;
    connection.since = Steady::now();
  }
  connection.stream.expires_after(kGoodbye);
  co_await tls.async_shutdown(Into(error));
}

// Says why the body of a request isn't even read.
std::optional<AdmissionAnswer> WebhookServer::State::Refusal(
    const http::request_parser<http::string_body>& parser) {
  const auto& request = parser.get();
  if (!handlers.contains(PathOf(request))) {
    return AnswerError(404, "only /mutate, /owner and /validate are served here");
  }
  if (request.method() != http::verb::post) return AnswerError(405, "only POST is served here");
  if (!IsJson(View(request[http::field::content_type]))) {
    return AnswerError(415, "the content type must be application/json");
  }
  if (!parser.content_length()) return AnswerError(411, "the request has no Content-Length");
  return std::nullopt;
}

// Returns whether the connection may be used again.
asio::awaitable<bool> WebhookServer::State::ServeRequest(WebhookConnection& connection,
                                                         TlsStream& tls,
                                                         beast::flat_buffer& buffer) {
  const struct Release {  // on every path, after the body and the answer are gone
    ~Release() {
      state.connections.Hold(connection, 0);
      if (std::exchange(connection.most_held, 0) > kLargeBody) malloc_trim(0);
    }
    State& state;
    WebhookConnection& connection;
  } release{*this, connection};
  ErrorCode error;
  http::request_parser<http::string_body> parser;
  parser.header_limit(kMostHeader);
  parser.body_limit(std::min(limits.body, limits.bodies));
  connection.stream.expires_after(limits.idle);
  co_await http::async_read_header(tls, buffer, parser, Into(error));
  const bool is_bad_http =
      error.category() == http::make_error_code(http::error::bad_method).category();
  if (error && (!is_bad_http || error == http::error::end_of_stream)) co_return false;
  connection.busy = true;
  connection.since = Steady::now();
  connection.stream.expires_after(limits.request);
  std::optional<AdmissionAnswer> answer;
  if (error) {
    answer = AnswerError(StatusOf(error), error.message());
  } else {
    answer = Refusal(parser);
  }
  const bool is_read = !answer;
  if (!answer && beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    http::response<http::empty_body> go_on(http::status::continue_, parser.get().version());
    co_await http::async_write(tls, go_on, Into(error));
    if (error) co_return false;
  }
  const auto began = Steady::now();
  if (!answer) {
    if (!co_await ReadBody(connection, tls, buffer, parser)) co_return false;
    const auto whole = Steady::now();
    std::string& body = parser.get().body();
    answer = co_await AnswerTo(connection, handlers.find(PathOf(parser.get()))->second, body);
    if (!answer) co_return false;
    metrics.Answered(answer->result, Steady::now() - whole);
    std::string().swap(body);
  } else {
    metrics.Answered(answer->result, Steady::now() - began);
  }
  const bool keep = is_read && parser.get().keep_alive() && !stopping;
  auto response = ResponseOf(*std::move(answer), parser.get().version() == 10 ? 10 : 11, keep);
  if (!connections.Hold(connection, response.body().size())) co_return false;
  connection.stream.expires_after(limits.request);
  co_await http::async_write(tls, response, Into(error));
  if (!error && !is_read) co_await ReadRest(connection, tls);
  co_return !error && keep;
}

// A large review takes tens of milliseconds, in which nobody else is kept waiting. It waits for its
// turn here: in the worker's queue it would keep its body after its connection was closed. Returns
// nullopt if the connection was closed meanwhile, or its turn didn't come in time.
asio::awaitable<std::optional<AdmissionAnswer>> WebhookServer::State::AnswerTo(
    WebhookConnection& connection, const Handler& handler, const std::string& body) {
  if (body.size() <= WebhookConnections::kQuickBody) co_return handler(body);
  const struct Leave {  // on every path
    ~Leave() { connections.LeaveQueue(connection); }
    WebhookConnections& connections;
    WebhookConnection& connection;
  } leave{connections, connection};
  connections.Queue(connection);
  const auto deadline = Steady::now() + limits.request;
  connection.turn.expires_at(deadline);
  while (!connections.IsNext(connection) && !connection.ended && Steady::now() < deadline) {
    ErrorCode error;
    co_await connection.turn.async_wait(Into(error));
  }
  if (!connections.IsNext(connection) || connection.ended) co_return std::nullopt;
  connection.at_work = true;
  const auto work = [&]() -> asio::awaitable<AdmissionAnswer> { co_return handler(body); };
  AdmissionAnswer answer = co_await asio::co_spawn(worker, work, asio::use_awaitable);
  if (connection.ended) co_return std::nullopt;
  co_return answer;
}

// Announcements of a client cost nothing: what has arrived counts. Returns whether all has.
asio::awaitable<bool> WebhookServer::State::ReadBody(
    WebhookConnection& connection, TlsStream& tls, beast::flat_buffer& buffer,
    http::request_parser<http::string_body>& parser) {
  ErrorCode error;
  parser.eager(true);
  while (!parser.is_done()) {
    co_await http::async_read_some(tls, buffer, parser, Into(error));
    if (error || connection.ended) co_return false;
    if (!connections.Hold(connection, parser.get().body().size())) co_return false;
  }
  co_return true;
}

// Reads the rest of a refused body: closing before its end sends a reset, which would destroy the
// answer.
asio::awaitable<void> WebhookServer::State::ReadRest(WebhookConnection& connection,
                                                     TlsStream& tls) {
  ErrorCode error;
  std::vector<char> piece(kPiece);
  connection.busy = false;  // it has its answer
  connection.since = Steady::now();
  connection.stream.expires_after(limits.request);
  for (std::size_t read = 0; !error && read < kMostRest;) {
    read += co_await tls.async_read_some(asio::buffer(piece), Into(error));
  }
}

asio::awaitable<void> WebhookServer::State::RefusePlainHttp(WebhookConnection& connection) {
  ErrorCode error;
  const AdmissionAnswer answer = AnswerError(400, "this port speaks HTTPS");
  metrics.Answered(answer.result, {});
  auto response = ResponseOf(answer, 11, false);
  co_await http::async_write(connection.stream, response, Into(error));
  connection.stream.socket().shutdown(tcp::socket::shutdown_send, error);
}

asio::awaitable<void> WebhookServer::State::Tick(std::chrono::milliseconds interval,
                                                 const std::function<void()>& tick) {
  asio::steady_timer timer(io);
  while (true) {
    tick();
    ErrorCode error;
    timer.expires_after(interval);
    co_await timer.async_wait(Into(error));
  }
}

asio::awaitable<void> WebhookServer::State::Stop(std::chrono::milliseconds delay) {
  ErrorCode error;
  stopping = true;  // answers now announce that the connection closes
  asio::steady_timer timer(io, delay);
  co_await timer.async_wait(Into(error));
  acceptor.close(error);
  const auto deadline = Steady::now() + limits.last_answers;
  while (!connections.IsEmpty() && Steady::now() < deadline) {
    connections.CloseIdle();
    timer.expires_after(kDrainStep);
    co_await timer.async_wait(Into(error));
  }
  io.stop();
}

WebhookServer::WebhookServer(ListenAddress address, TlsCertificate certificate, Handlers handlers,
                             AdmissionMetrics& metrics, Limits limits)
    : state_(std::make_unique<State>(std::move(address), std::move(certificate),
                                     std::move(handlers), metrics, limits)) {}

WebhookServer::~WebhookServer() = default;

std::optional<std::string> WebhookServer::Start() {
  const ErrorCode error = state_->Listen();
  if (!error) return std::nullopt;
  return "can't listen on " + state_->address.text + ": " + error.message();
}

std::uint16_t WebhookServer::port() const {
  ErrorCode error;
  return state_->acceptor.local_endpoint(error).port();
}

void WebhookServer::Run(std::stop_token stop, std::chrono::milliseconds shutdown_delay,
                        std::chrono::milliseconds tick_interval,
                        const std::function<void()>& tick) {
  asio::co_spawn(state_->io, state_->Accept(), asio::detached);
  asio::co_spawn(state_->io, state_->Tick(tick_interval, tick), asio::detached);
  const std::stop_callback on_stop(stop, [this, shutdown_delay] {
    asio::co_spawn(state_->io, state_->Stop(shutdown_delay), asio::detached);
  });
  state_->io.run();
}

void WebhookServer::Use(TlsCertificate certificate) {
  state_->certificate = std::move(certificate);
}

}  // namespace cluster_watcher
