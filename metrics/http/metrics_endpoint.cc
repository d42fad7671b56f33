#include "metrics/http/metrics_endpoint.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <limits>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "metrics/http/exposition.h"
#include "metrics/http/listen_address.h"
#include "metrics/http/open_connections.h"

namespace cluster_watcher {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Connection = OpenConnections::Connection;

constexpr unsigned kSecondsOfSilence = 3;
constexpr std::size_t kLongestBody = 1'048'576;
// libmicrohttpd accepts several connections before we cut those that are too many. This headroom
// keeps it below its own limit, where it would turn newcomers away.
constexpr std::size_t kConnectionsAtATime = 64;
constexpr std::size_t kBytesPerConnection = 16'384;  // For both heads; bodies come on top.

constexpr const char* kPlain = "text/plain; charset=utf-8";
constexpr const char* kIndex =
    "<!DOCTYPE html>\n"
    "<title>cluster-watcher</title>\n"
    "<h1>cluster-watcher</h1>\n"
    "<ul>\n"
    "<li><a href=\"metrics\">/metrics</a>\n"
    "<li><a href=\"healthz\">/healthz</a>\n"
    "<li><a href=\"readyz\">/readyz</a>\n"
    "</ul>\n";

struct Answer {
  unsigned status = MHD_HTTP_OK;
  std::string body;
  const char* content_type = kPlain;
  std::vector<std::pair<const char*, const char*>> headers = {};  // Beyond those of every answer.
};

Answer Page(std::string html) {
  return {MHD_HTTP_OK,
          std::move(html),
          "text/html; charset=utf-8",
          {{"Content-Security-Policy",
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'"},
           {"X-Content-Type-Options", "nosniff"},
           {MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"}}};
}

Answer Ask(const std::function<bool()>& question, const char* if_not) {
  if (question && !question()) return {MHD_HTTP_SERVICE_UNAVAILABLE, if_not};
  return {MHD_HTTP_OK, "ok\n"};
}

// MHD_NO makes libmicrohttpd cut the connection.
MHD_Result Send(MHD_Connection* connection, Answer answer) {
  MHD_Response* response = MHD_create_response_from_buffer(answer.body.size(), answer.body.data(),
                                                           MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.content_type);
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  for (const auto& [name, value] : answer.headers) MHD_add_response_header(response, name, value);
  const MHD_Result result = MHD_queue_response(connection, answer.status, response);
  MHD_destroy_response(response);
  return result;
}

// A dual-stack socket reports an IPv4 client as a mapped IPv6 address; show the IPv4 address.
std::string AddressOf(MHD_Connection* connection) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const sockaddr* const client =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
  if (client->sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in*>(client)->sin_addr;
    ::inet_ntop(AF_INET, &v4, text.data(), text.size());
  } else {
    const auto& v6 = reinterpret_cast<const sockaddr_in6*>(client)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&v6)) {
      ::inet_ntop(AF_INET, &v6.s6_addr[12], text.data(), text.size());
    } else {
      ::inet_ntop(AF_INET6, &v6, text.data(), text.size());
    }
  }
  return text.data();
}

// Without lingering the kernel drops what the client hasn't read yet. libmicrohttpd notices the
// shutdown and closes the connection.
void Cut(int socket) {
  const linger drop{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &drop, sizeof drop);
  ::shutdown(socket, SHUT_RDWR);
}

}  // namespace

// The constructor, Listen and the destructor run on the caller's thread, everything else on the
// server's own.
class MetricsEndpoint::Server {
 public:
  explicit Server(MetricsEndpoint& endpoint)
      : endpoint_(endpoint),
        connections_(endpoint.limits_.connections, endpoint.limits_.connection_age) {}
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Returns 0 once it serves, else an errno. With IPv6 on all interfaces it serves IPv4 too.
  int Listen(const ListenAddress& address, bool ipv6);

  std::uint16_t port() const {
    return MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_BIND_PORT)->port;
  }

 private:
  int StartThread();
  void Serve();
  int MillisecondsToWait() const;
  MHD_Result Take(MHD_Connection* connection, const char* path, const char* method,
                  std::size_t* body_size, void** request);
  Answer Respond(std::string_view path, std::string_view method, Connection& visit);

  MetricsEndpoint& endpoint_;
  OpenConnections connections_;
  bool one_closed_ = false;
  MHD_Daemon* daemon_ = nullptr;
  int stop_ = -1;  // Becomes readable when the thread has to end.
  std::thread thread_;
};

int MetricsEndpoint::Server::Listen(const ListenAddress& address, bool ipv6) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(address.port);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(address.port);
  if (!address.host.empty()) {
    void* const binary = ipv6 ? static_cast<void*>(&v6.sin6_addr) : &v4.sin_addr;
    ::inet_pton(ipv6 ? AF_INET6 : AF_INET, address.host.c_str(), binary);
  }
  const auto* const bound =
      ipv6 ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
  const unsigned family = ipv6 ? MHD_USE_DUAL_STACK : MHD_NO_FLAG;

  const MHD_AccessHandlerCallback take =
      [](void* self, MHD_Connection* connection, const char* path, const char* method, const char*,
         const char*, std::size_t* body_size, void** request) noexcept {
        return static_cast<Server*>(self)->Take(connection, path, method, body_size, request);
      };
  const MHD_RequestCompletedCallback completed = [](void* self, MHD_Connection*, void** request,
                                                    MHD_RequestTerminationCode how) noexcept {
    const auto* const visit = static_cast<const Connection*>(*request);
    if (visit == nullptr || !visit->collected || how != MHD_REQUEST_TERMINATED_COMPLETED_OK) return;
    static_cast<Server*>(self)->endpoint_.scrapers_.Scraped(visit->address, *visit->collected);
  };
  const MHD_NotifyConnectionCallback notify = [](void* self, MHD_Connection* connection,
                                                 void** visit,
                                                 MHD_ConnectionNotificationCode what) noexcept {
    auto& server = *static_cast<Server*>(self);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
      *visit = server.connections_.Opened(
          MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
          AddressOf(connection), SteadyClock::now());
    } else {
      server.connections_.Closed(static_cast<const Connection*>(*visit));
      server.one_closed_ = true;
    }
  };
  const auto most = static_cast<unsigned>(endpoint_.limits_.connections + kConnectionsAtATime);
  stop_ = ::eventfd(0, EFD_CLOEXEC);
  if (stop_ < 0) return errno;
  daemon_ = MHD_start_daemon(
      MHD_USE_EPOLL | family, address.port, nullptr, nullptr, take, this, MHD_OPTION_SOCK_ADDR,
      bound, MHD_OPTION_CONNECTION_LIMIT, most, MHD_OPTION_CONNECTION_TIMEOUT, kSecondsOfSilence,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kBytesPerConnection, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
      MHD_OPTION_NOTIFY_COMPLETED, completed, this, MHD_OPTION_NOTIFY_CONNECTION, notify, this,
      MHD_OPTION_END);
  if (daemon_ == nullptr) return errno != 0 ? errno : ENOMEM;
  // Closing a connection doesn't drop an answer that is sent but never read; this timeout does.
  // Accepted sockets inherit it from the listening one.
  const int listening = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_LISTEN_FD)->listen_fd;
  const unsigned patience = static_cast<unsigned>(endpoint_.limits_.connection_age.count());
  ::setsockopt(listening, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);
  return StartThread();
}

// Returns the errno of what has failed, else 0.
int MetricsEndpoint::Server::StartThread() {
  // The thread inherits the signal mask; signals belong to the program's own thread.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  try {
    thread_ = std::thread([this] { Serve(); });
  } catch (const std::system_error& failure) {  // The thread limit may be reached.
    error = failure.code().value();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

MetricsEndpoint::Server::~Server() {
  if (thread_.joinable()) {
    ::eventfd_write(stop_, 1);
    thread_.join();
  }
  if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  if (stop_ >= 0) ::close(stop_);
}

void MetricsEndpoint::Server::Serve() {
  const int events = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
  std::array<pollfd, 2> awaited{{{events, POLLIN, 0}, {stop_, POLLIN, 0}}};
  while (awaited[1].revents == 0) {
    one_closed_ = false;
    MHD_run(daemon_);
    for (int socket : connections_.Due(SteadyClock::now())) Cut(socket);
    ::poll(awaited.data(), awaited.size(), MillisecondsToWait());
  }
}

int MetricsEndpoint::Server::MillisecondsToWait() const {
  // After a close libmicrohttpd accepts new connections only in its next run.
  if (one_closed_) return 0;
  MHD_UNSIGNED_LONG_LONG until_silence = 0;
  const bool waits = MHD_get_timeout(daemon_, &until_silence) == MHD_YES;
  std::optional<OpenConnections::Time> due = connections_.NextDue();
  if (!waits && !due) return -1;
  constexpr long long kLong = std::numeric_limits<int>::max();
  long long wait = waits ? static_cast<long long>(std::min<MHD_UNSIGNED_LONG_LONG>(
                               until_silence, static_cast<MHD_UNSIGNED_LONG_LONG>(kLong)))
                         : kLong;
  if (due) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - SteadyClock::now());
    wait = std::clamp<long long>(left.count(), 0, wait);
  }
  return static_cast<int>(wait);
}

// libmicrohttpd calls this once with the request's head, once for each piece of its body, and then
// for the answer.
MHD_Result MetricsEndpoint::Server::Take(MHD_Connection* connection, const char* path,
                                         const char* method, std::size_t* body_size,
                                         void** request) {
  auto& visit = *static_cast<Connection*>(
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
  const bool first = std::exchange(*request, &visit) == nullptr;
  if (first) return MHD_YES;
  if (*body_size == 0) return Send(connection, Respond(path, method, visit));
  visit.body_bytes += std::exchange(*body_size, 0);  // Read and dropped.
  return visit.body_bytes <= kLongestBody ? MHD_YES : MHD_NO;
}

Answer MetricsEndpoint::Server::Respond(std::string_view path, std::string_view method,
                                        Connection& visit) {
  constexpr std::array kPaths =
      std::to_array<std::string_view>({"/", "/metrics", "/healthz", "/readyz"});
  if (std::ranges::find(kPaths, path) == kPaths.end()) {
    return {MHD_HTTP_NOT_FOUND, "not found; see /metrics, /healthz and /readyz\n"};
  }
  const bool gets = method == MHD_HTTP_METHOD_GET;
  if (!gets && method != MHD_HTTP_METHOD_HEAD) {
    return {MHD_HTTP_METHOD_NOT_ALLOWED,
            "only GET and HEAD are allowed\n",
            kPlain,
            {{MHD_HTTP_HEADER_ALLOW, "GET, HEAD"}}};
  }
  try {
    if (path == "/metrics") {
      const SteadyClock::time_point now = SteadyClock::now();
      Answer metrics{MHD_HTTP_OK, Exposition(endpoint_.sources_), kExpositionType};
      if (gets) visit.collected = now;
      return metrics;
    }
    if (path == "/healthz") {
      return Ask(endpoint_.health_.alive, "the watch loop has not turned for too long\n");
    }
    if (path == "/readyz") {
      return Ask(endpoint_.health_.ready,
                 "no poll has been definite yet, or the settings contradict each other\n");
    }
    return Page(endpoint_.page_ ? endpoint_.page_() : kIndex);
  } catch (const std::exception& error) {  // Sources and health checks aren't only our code.
    return {MHD_HTTP_INTERNAL_SERVER_ERROR,
            std::string("the answer could not be made: ") + error.what() + "\n"};
  }
}

MetricsEndpoint::MetricsEndpoint(std::string address,
                                 std::vector<const prometheus::Collectable*> sources, Health health,
                                 EndpointLimits limits, PageMaker page)
    : address_(std::move(address)),
      sources_(std::move(sources)),
      health_(std::move(health)),
      limits_(limits),
      page_(std::move(page)) {}

MetricsEndpoint::~MetricsEndpoint() = default;

std::optional<std::string> MetricsEndpoint::Start() {
  if (server_) return std::nullopt;
  const std::optional<ListenAddress> address = ParseListenAddress(address_);
  if (!address) return ListenAddressError(address_);
  const bool everywhere = address->host.empty();
  const bool ipv6 = everywhere || address->host.find(':') != std::string::npos;
  auto server = std::make_unique<Server>(*this);
  int error = server->Listen(*address, ipv6);
  if (everywhere && (error == EAFNOSUPPORT || error == EADDRNOTAVAIL)) {
    server = std::make_unique<Server>(*this);
    error = server->Listen(*address, false);
  }
  if (error != 0) return "listen on " + address_ + ": " + std::generic_category().message(error);
  port_ = server->port();
  server_ = std::move(server);
  return std::nullopt;
}

}  // namespace cluster_watcher
