#include "metrics/metrics_endpoint.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

#include "metrics/exposition.h"
#include "metrics/listen_address.h"

namespace cluster_watcher {
namespace {

constexpr unsigned kConnections = 64;
constexpr unsigned kConnectionsOfOneClient = 16;
constexpr unsigned kSecondsOfSilence = 3;
constexpr std::size_t kBytesPerConnection = 16'384;  // For both heads; bodies are beside it.
constexpr std::size_t kThreadStack = 131'072;

constexpr const char* kIndex =
    "<!DOCTYPE html>\n"
    "<title>cluster-watcher</title>\n"
    "<h1>cluster-watcher</h1>\n"
    "<ul>\n"
    "<li><a href=\"/metrics\">/metrics</a>\n"
    "<li><a href=\"/healthz\">/healthz</a>\n"
    "<li><a href=\"/readyz\">/readyz</a>\n"
    "</ul>\n";

struct Answer {
  unsigned status = MHD_HTTP_OK;
  std::string body;
  const char* content_type = "text/plain; charset=utf-8";
};

Answer Ask(const std::function<bool()>& question, const char* if_not) {
  if (question && !question()) return {MHD_HTTP_SERVICE_UNAVAILABLE, if_not};
  return {MHD_HTTP_OK, "ok\n"};
}

Answer Get(std::string_view path, const std::vector<const prometheus::Collectable*>& sources,
           const Health& health) {
  if (path == "/metrics") return {MHD_HTTP_OK, Exposition(sources), kExpositionContentType};
  if (path == "/healthz") {
    return Ask(health.alive, "the watch loop has not turned for too long\n");
  }
  if (path == "/readyz") {
    return Ask(health.ready,
               "no poll has been definite yet, or the settings contradict each other\n");
  }
  if (path == "/") return {MHD_HTTP_OK, kIndex, "text/html; charset=utf-8"};
  return {MHD_HTTP_NOT_FOUND, "not found; see /metrics, /healthz and /readyz\n"};
}

Answer Respond(std::string_view method, std::string_view path,
               const std::vector<const prometheus::Collectable*>& sources, const Health& health) {
  try {
    Answer answer = Get(path, sources, health);
    const bool reads = method == MHD_HTTP_METHOD_GET || method == MHD_HTTP_METHOD_HEAD;
    if (reads || answer.status == MHD_HTTP_NOT_FOUND) return answer;
    return {MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are allowed\n"};
  } catch (const std::exception& error) {  // What collects and asks is not only ours.
    return {MHD_HTTP_INTERNAL_SERVER_ERROR,
            std::string("the answer could not be made: ") + error.what() + "\n"};
  }
}

// MHD_NO cuts the connection.
MHD_Result Send(MHD_Connection* connection, Answer answer) {
  MHD_Response* response = MHD_create_response_from_buffer(answer.body.size(), answer.body.data(),
                                                           MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.content_type);
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  if (answer.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  }
  const MHD_Result result = MHD_queue_response(connection, answer.status, response);
  MHD_destroy_response(response);
  return result;
}

// A server, or none and errno. One for IPv6 on all interfaces serves IPv4 too.
MHD_Daemon* Listen(const ListenAddress& address, bool ipv6, MHD_AccessHandlerCallback answer,
                   void* endpoint) {
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
  // The server's thread inherits what is blocked: signals are for the program's own thread.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  MHD_Daemon* const daemon = MHD_start_daemon(
      MHD_USE_AUTO_INTERNAL_THREAD | family, address.port, nullptr, nullptr, answer, endpoint,
      MHD_OPTION_SOCK_ADDR, bound, MHD_OPTION_CONNECTION_LIMIT, kConnections,
      MHD_OPTION_PER_IP_CONNECTION_LIMIT, kConnectionsOfOneClient, MHD_OPTION_CONNECTION_TIMEOUT,
      kSecondsOfSilence, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kBytesPerConnection,
      MHD_OPTION_THREAD_STACK_SIZE, kThreadStack, MHD_OPTION_END);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return daemon;
}

}  // namespace

MetricsEndpoint::MetricsEndpoint(std::string address,
                                 std::vector<const prometheus::Collectable*> sources, Health health)
    : address_(std::move(address)), sources_(std::move(sources)), health_(std::move(health)) {}

void MetricsEndpoint::StopDaemon::operator()(MHD_Daemon* daemon) const { MHD_stop_daemon(daemon); }

std::optional<std::string> MetricsEndpoint::Start() {
  if (daemon_) return std::nullopt;
  const std::optional<ListenAddress> address = ParseListenAddress(address_);
  if (!address) return ListenAddressError(address_);

  // Called once with the request's head, for each piece of its body, and then for the answer.
  const MHD_AccessHandlerCallback answer =
      [](void* endpoint, MHD_Connection* connection, const char* path, const char* method,
         const char*, const char*, std::size_t* body_size, void** head_seen) noexcept {
        if (*head_seen == nullptr || *body_size != 0) {
          *head_seen = endpoint;
          *body_size = 0;  // Taken and dropped.
          return MHD_YES;
        }
        const auto& self = *static_cast<const MetricsEndpoint*>(endpoint);
        return Send(connection, Respond(method, path, self.sources_, self.health_));
      };
  const bool everywhere = address->host.empty();
  const bool ipv6 = everywhere || address->host.find(':') != std::string::npos;
  daemon_.reset(Listen(*address, ipv6, answer, this));
  const bool no_ipv6 = !daemon_ && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL);
  if (everywhere && no_ipv6) daemon_.reset(Listen(*address, false, answer, this));
  if (!daemon_) {
    return "listen on " + address_ + ": " + std::generic_category().message(errno);
  }
  port_ = MHD_get_daemon_info(daemon_.get(), MHD_DAEMON_INFO_BIND_PORT)->port;
  return std::nullopt;
}

}  // namespace cluster_watcher
