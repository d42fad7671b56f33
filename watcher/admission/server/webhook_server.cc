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
#include <list>
#include <tuple>
#include <utility>
#include <vector>

#include "probes/base/json.h"

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
constexpr std::size_t kQuickBody = 64u << 10;   // takes a few milliseconds at most
constexpr std::size_t kPiece = 16u << 10;
constexpr std::size_t kMostRest = 32u << 20;

struct Connection {
  explicit Connection(tcp::socket socket)
      : stream(std::move(socket)), turn(stream.get_executor()) {}

  beast::tcp_stream stream;
  asio::steady_timer turn;  // cancelled when its large review may have become the first, or it ends
  bool busy = false;        // with a request
  bool served = false;      // at least one request before
  bool ended = false;
  bool whole = false;                        // its large review waits for the worker, or is there
  bool at_work = false;                      // it is there, and its body can't be freed
  Steady::time_point since = Steady::now();  // it is busy or idle
  std::size_t held = 0;                      // bytes of a large body, or else of a large answer
  std::size_t most_held = 0;                 // in this request
};

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
        limits(bounds) {}

  ListenAddress address;
  TlsCertificate certificate;
  Handlers handlers;
  AdmissionMetrics& metrics;
  Limits limits;
  std::list<std::shared_ptr<Connection>> connections;
  std::list<Connection*> large;  // their reviews are whole; the worker has the first one's
  std::size_t held = 0;          // by all of them
  bool stopping = false;
  asio::io_context io{1};  // ends before what its coroutines use
  tcp::acceptor acceptor{io};
  asio::thread_pool worker{1};  // ends before the coroutines that wait for it

  ErrorCode Listen();
  asio::awaitable<void> Accept();
  asio::awaitable<void> Serve(std::shared_ptr<Connection> connection);
  asio::awaitable<void> ServeTls(Connection& connection);
  asio::awaitable<bool> ServeRequest(Connection& connection, TlsStream& tls,
                                     beast::flat_buffer& buffer);
  asio::awaitable<std::optional<AdmissionAnswer>> AnswerTo(Connection& connection,
                                                           const Handler& handler,
                                                           const std::string& body);
  asio::awaitable<bool> ReadBody(Connection& connection, TlsStream& tls, beast::flat_buffer& buffer,
                                 http::request_parser<http::string_body>& parser);
  asio::awaitable<void> ReadRest(Connection& connection, TlsStream& tls);
  asio::awaitable<void> RefusePlainHttp(Connection& connection);
  asio::awaitable<void> Tick(std::chrono::milliseconds interval, const std::function<void()>& tick);
  asio::awaitable<void> Stop(std::chrono::milliseconds delay);
  std::optional<AdmissionAnswer> Refusal(const http::request_parser<http::string_body>& parser);
  void MakeRoom();
  void CloseIdle();
  void Close(Connection& connection);
  bool Hold(Connection& connection, std::size_t bytes);
  Connection* LongestUnderWay() const;
  Connection* LargestThatWaits() const;
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
      CloseIdle();
      asio::steady_timer pause(io, kAcceptAgain);
      co_await pause.async_wait(Into(error));
      continue;
    }
    MakeRoom();
    socket.set_option(tcp::no_delay(true), error);
    auto connection = std::make_shared<Connection>(std::move(socket));
    connections.push_back(connection);
    metrics.SetConnections(connections.size());
    asio::co_spawn(io, Serve(std::move(connection)), asio::detached);
  }
}

// The new connection may be the API server's.
void WebhookServer::State::MakeRoom() {
  if (connections.size() < limits.connections) return;
  const auto is_unserved = [](const auto& c) { return !c->served && !c->busy && !c->ended; };
  const auto unserved = std::count_if(connections.begin(), connections.end(), is_unserved);
  // Whoever holds served ones must not have each newcomer displace the one before it.
  const bool are_many = static_cast<std::size_t>(unserved) > limits.connections / 2;
  const auto order = [are_many](const Connection& c) {
    return std::tuple(c.busy, are_many && c.served, c.since);
  };
  Connection* first = nullptr;
  for (const auto& one : connections) {
    if (!one->ended && (!first || order(*one) < order(*first))) first = one.get();
  }
  if (first) Close(*first);
}

void WebhookServer::State::CloseIdle() {
  for (const auto& connection : connections) {
    if (!connection->busy && !connection->ended) Close(*connection);
  }
}

void WebhookServer::State::Close(Connection& connection) {
  connection.ended = true;
  if (!connection.at_work) held -= std::exchange(connection.held, 0);
  connection.turn.cancel();
  connection.stream.close();
}

// Accounts for what a connection holds now; what is small is bounded by the number of connections.
// If all hold too much, closes those whose requests take longest: an honest one takes milliseconds.
// Large reviews that are whole stay, since whoever cut off the first of them again and again would
// leave none to be answered, up to half of the bound: beyond it the largest that waits goes, if it
// is larger. Returns whether this one is still open.
bool WebhookServer::State::Hold(Connection& connection, std::size_t bytes) {
  const std::size_t counted = bytes > kQuickBody ? bytes : 0;
  held += counted - connection.held;
  connection.held = counted;
  connection.most_held = std::max(connection.most_held, bytes);
  while (held > limits.bodies && !connection.ended) {
    Connection* victim = LargestThatWaits();
    Connection* const other = LongestUnderWay();
    if (victim == nullptr || (other != nullptr && other->held > victim->held)) victim = other;
    Close(victim == nullptr ? connection : *victim);
  }
  return !connection.ended;
}

// nullptr: none is under way.
Connection* WebhookServer::State::LongestUnderWay() const {
  Connection* longest = nullptr;
  for (const auto& one : connections) {
    if (one->held == 0 || one->whole || one->ended) continue;
    if (longest == nullptr || one->since < longest->since) longest = one.get();
  }
  return longest;
}

// nullptr: none waits, or all that are whole hold no more than their half.
Connection* WebhookServer::State::LargestThatWaits() const {
  std::size_t whole = 0;
  Connection* largest = nullptr;
  for (Connection* one : large) {
    whole += one->held;
    if (!one->at_work && !one->ended && (!largest || one->held > largest->held)) largest = one;
  }
  return whole > limits.bodies / 2 ? largest : nullptr;
}

asio::awaitable<void> WebhookServer::State::Serve(std::shared_ptr<Connection> connection) {
  const struct Leave {  // on every path
    ~Leave() {
      state.connections.remove(connection);
      state.metrics.SetConnections(state.connections.size());
    }
    State& state;
    const std::shared_ptr<Connection>& connection;
  } leave{*this, connection};
  co_await ServeTls(*connection);
}

asio::awaitable<void> WebhookServer::State::ServeTls(Connection& connection) {
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
    return AnswerError(404, "only /mutate and /validate are served here");
  }
  if (request.method() != http::verb::post) return AnswerError(405, "only POST is served here");
  if (!IsJson(View(request[http::field::content_type]))) {
    return AnswerError(415, "the content type must be application/json");
  }
  if (!parser.content_length()) return AnswerError(411, "the request has no Content-Length");
  return std::nullopt;
}

// Returns whether the connection may be used again.
asio::awaitable<bool> WebhookServer::State::ServeRequest(Connection& connection, TlsStream& tls,
                                                         beast::flat_buffer& buffer) {
  const struct Release {  // on every path, after the body and the answer are gone
    ~Release() {
      state.Hold(connection, 0);
      if (std::exchange(connection.most_held, 0) > kLargeBody) malloc_trim(0);
    }
    State& state;
    Connection& connection;
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
  if (!Hold(connection, response.body().size())) co_return false;
  connection.stream.expires_after(limits.request);
  co_await http::async_write(tls, response, Into(error));
  if (!error && !is_read) co_await ReadRest(connection, tls);
  co_return !error && keep;
}

// A large review takes tens of milliseconds, in which nobody else is kept waiting. It waits for its
// turn here: in the worker's queue it would keep its body after its connection was closed. Returns
// nullopt if the connection was closed meanwhile, or its turn didn't come in time.
asio::awaitable<std::optional<AdmissionAnswer>> WebhookServer::State::AnswerTo(
    Connection& connection, const Handler& handler, const std::string& body) {
  if (body.size() <= kQuickBody) co_return handler(body);
  const struct Leave {  // on every path
    ~Leave() {
      connection.whole = connection.at_work = false;
      state.large.remove(&connection);
      if (!state.large.empty()) state.large.front()->turn.cancel();
    }
    State& state;
    Connection& connection;
  } leave{*this, connection};
  large.push_back(&connection);
  connection.whole = true;
  const auto deadline = Steady::now() + limits.request;
  connection.turn.expires_at(deadline);
  while (large.front() != &connection && !connection.ended && Steady::now() < deadline) {
    ErrorCode error;
    co_await connection.turn.async_wait(Into(error));
  }
  if (large.front() != &connection || connection.ended) co_return std::nullopt;
  connection.at_work = true;
  const auto work = [&]() -> asio::awaitable<AdmissionAnswer> { co_return handler(body); };
  AdmissionAnswer answer = co_await asio::co_spawn(worker, work, asio::use_awaitable);
  if (connection.ended) co_return std::nullopt;
  co_return answer;
}

// Announcements of a client cost nothing: what has arrived counts. Returns whether all has.
asio::awaitable<bool> WebhookServer::State::ReadBody(
    Connection& connection, TlsStream& tls, beast::flat_buffer& buffer,
    http::request_parser<http::string_body>& parser) {
  ErrorCode error;
  parser.eager(true);
  while (!parser.is_done()) {
    co_await http::async_read_some(tls, buffer, parser, Into(error));
    if (error || connection.ended) co_return false;
    if (!Hold(connection, parser.get().body().size())) co_return false;
  }
  co_return true;
}

// Reads the rest of a refused body: closing before its end sends a reset, which would destroy the
// answer.
asio::awaitable<void> WebhookServer::State::ReadRest(Connection& connection, TlsStream& tls) {
  ErrorCode error;
  std::vector<char> piece(kPiece);
  connection.busy = false;  // it has its answer
  connection.since = Steady::now();
  connection.stream.expires_after(limits.request);
  for (std::size_t read = 0; !error && read < kMostRest;) {
    read += co_await tls.async_read_some(asio::buffer(piece), Into(error));
  }
}

asio::awaitable<void> WebhookServer::State::RefusePlainHttp(Connection& connection) {
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
  while (!connections.empty() && Steady::now() < deadline) {
    CloseIdle();
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
