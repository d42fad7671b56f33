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
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <sstream>
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
using Parser = http::request_parser<http::string_body>;
using IsDone = bool (Parser::*)() const;

constexpr std::size_t kMostHeader = 16u << 10;
constexpr std::size_t kReadBuffer = 64u << 10;
constexpr std::chrono::milliseconds kAcceptAgain{100};
constexpr std::chrono::milliseconds kDrainStep{20};
constexpr std::chrono::seconds kGoodbye{1};
constexpr std::size_t kLargeBody = 256u << 10;  // memory is given back after larger ones
constexpr std::size_t kPiece = 16u << 10;
constexpr std::size_t kMostRest = 32u << 20;
constexpr unsigned char kTlsHandshake = 22;  // the first byte of a TLS connection
constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";

auto Into(ErrorCode& error) { return asio::redirect_error(asio::use_awaitable, error); }

asio::mutable_buffer SpaceIn(beast::flat_buffer& buffer) {
  return buffer.prepare(beast::read_size(buffer, kReadBuffer));
}

// Returns header and body. Beast's own operations on whole messages would double compile time.
std::string MessageOf(const AdmissionAnswer& answer, unsigned version, bool keep_alive) {
  http::response<http::empty_body> response;
  response.version(version);
  response.result(static_cast<unsigned>(answer.status));
  response.set(http::field::content_type, answer.content_type);
  if (answer.status == 405) response.set(http::field::allow, "POST");
  response.keep_alive(keep_alive);
  response.content_length(answer.body.size());
  std::ostringstream header;
  header << response.base();
  return header.str() + answer.body;
}

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

std::string_view PathOf(const Parser::value_type& request) {
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
  asio::awaitable<bool> Read(WebhookConnection& connection, TlsStream& tls,
                             beast::flat_buffer& buffer, Parser& parser, IsDone is_done,
                             ErrorCode& bad_http);
  asio::awaitable<void> ReadRest(WebhookConnection& connection, TlsStream& tls);
  asio::awaitable<void> RefusePlainHttp(WebhookConnection& connection);
  asio::awaitable<void> Tick(std::chrono::milliseconds interval, const std::function<void()>& tick);
  asio::awaitable<void> Stop(std::chrono::milliseconds delay);
  std::optional<AdmissionAnswer> Refusal(const Parser& parser);
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
  buffer.commit(co_await connection.stream.async_read_some(SpaceIn(buffer), Into(error)));
  if (error) co_return;
  const auto first = *static_cast<const unsigned char*>(buffer.data().data());
  if (first != kTlsHandshake) co_return co_await RefusePlainHttp(connection);
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
std::optional<AdmissionAnswer> WebhookServer::State::Refusal(const Parser& parser) {
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
  ErrorCode bad_http;
  Parser parser;
  parser.header_limit(kMostHeader);
  parser.body_limit(std::min(limits.body, limits.bodies));
  parser.eager(true);
  connection.stream.expires_after(limits.idle);
  if (!co_await Read(connection, tls, buffer, parser, &Parser::is_header_done, bad_http)) {
    co_return false;
  }
  connection.busy = true;
  connection.since = Steady::now();
  connection.stream.expires_after(limits.request);
  std::optional<AdmissionAnswer> answer =
      bad_http ? AnswerError(StatusOf(bad_http), bad_http.message()) : Refusal(parser);
  const bool is_read = !answer;
  if (!answer && beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    co_await asio::async_write(tls, asio::buffer(kGoOn), Into(error));
    if (error) co_return false;
  }
  auto began = Steady::now();
  if (!answer) {
    const bool is_open = co_await Read(connection, tls, buffer, parser, &Parser::is_done, bad_http);
    if (!is_open || bad_http) co_return false;
    began = Steady::now();
    std::string& body = parser.get().body();
    answer = co_await AnswerTo(connection, handlers.find(PathOf(parser.get()))->second, body);
    if (!answer) co_return false;
    std::string().swap(body);
  }
  metrics.Answered(answer->result, Steady::now() - began);
  const bool keep = is_read && parser.get().keep_alive() && !stopping;
  if (!connections.Hold(connection, answer->body.size())) co_return false;
  const std::string message = MessageOf(*answer, parser.get().version() == 10 ? 10 : 11, keep);
  answer.reset();
  connection.stream.expires_after(limits.request);
  co_await asio::async_write(tls, asio::buffer(message), Into(error));
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

// Reads until header or body are there, or `bad_http` says why they won't be. Announcements of a
// client cost nothing: what has arrived counts. Returns false if the connection has ended.
asio::awaitable<bool> WebhookServer::State::Read(WebhookConnection& connection, TlsStream& tls,
                                                 beast::flat_buffer& buffer, Parser& parser,
                                                 IsDone is_done, ErrorCode& bad_http) {
  while (!(parser.*is_done)() && !bad_http) {
    ErrorCode error = http::error::need_more;
    if (buffer.size() > 0) buffer.consume(parser.put(buffer.data(), error));
    if (!connections.Hold(connection, parser.get().body().size())) co_return false;
    if (error == http::error::need_more) {
      if ((parser.*is_done)()) break;  // and the body has only begun
      buffer.commit(co_await tls.async_read_some(SpaceIn(buffer), Into(error)));
      if (error || connection.ended) co_return false;
    } else {
      bad_http = error;
    }
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
  const std::string message = MessageOf(answer, 11, false);
  co_await asio::async_write(connection.stream, asio::buffer(message), Into(error));
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
