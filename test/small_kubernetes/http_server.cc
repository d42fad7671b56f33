#include "test/small_kubernetes/http_server.h"

#include <civetweb.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <utility>

namespace cluster_watcher::small_kubernetes {
namespace {

// The return value of a handler that is done; the number only matters for an access log.
constexpr int kHandled = 200;
constexpr Duration kWatchDefault = std::chrono::minutes(30);

std::string_view Header(mg_connection* connection, const char* name) {
  const char* value = mg_get_header(connection, name);
  return value == nullptr ? std::string_view() : value;
}

std::string ReadBody(mg_connection* connection) {
  std::string body;
  std::array<char, 16384> buffer;
  int count;
  while ((count = mg_read(connection, buffer.data(), buffer.size())) > 0) {
    body.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return body;
}

std::string HttpDate() {
  std::array<char, 64> text;
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return std::string(text.data(),
                     std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts));
}

const char* ReasonPhrase(int status) { return mg_get_response_code_text(nullptr, status); }

std::string Head(const Response& response, bool chunked) {
  std::string head =
      "HTTP/1.1 " + std::to_string(response.status) + " " + ReasonPhrase(response.status) + "\r\n";
  if (!response.content_type.empty()) head += "Content-Type: " + response.content_type + "\r\n";
  for (const std::string& warning : response.warnings) {
    head += "Warning: 299 - \"" + warning + "\"\r\n";
  }
  if (response.retry_after) {
    head += "Retry-After: " + std::to_string(*response.retry_after) + "\r\n";
  }
  head += "Date: " + HttpDate() + "\r\n";
  head += chunked ? "Transfer-Encoding: chunked\r\n"
                  : "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
  return head + "\r\n";
}

void Send(mg_connection* connection, const std::string& text) {
  mg_write(connection, text.data(), text.size());
}

}  // namespace

Result<Done> HttpServer::Start(int port, int threads) {
  const std::string listen = "127.0.0.1:" + std::to_string(port);
  const std::string thread_count = std::to_string(threads);
  std::array<const char*, 13> options = {"listening_ports",
                                         listen.c_str(),
                                         "num_threads",
                                         thread_count.c_str(),
                                         "enable_keep_alive",
                                         "yes",
                                         "keep_alive_timeout_ms",
                                         "60000",
                                         "tcp_nodelay",
                                         "1",
                                         "request_timeout_ms",
                                         "3600000",
                                         nullptr};
  mg_callbacks callbacks{};
  // By default civetweb logs to files and the terminal.
  callbacks.log_message = [](const mg_connection*, const char*) { return 1; };
  context_ = mg_start(&callbacks, nullptr, options.data());
  if (context_ == nullptr) {
    return cluster_watcher::Failure("cannot listen on " + listen);
  }
  mg_server_port bound{};
  if (mg_get_server_ports(context_, 1, &bound) == 1) port_ = bound.port;
  mg_set_request_handler(context_, "**", &HttpServer::Handle, this);
  return Done{};
}

void HttpServer::Stop() {
  if (context_ == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  mg_stop(std::exchange(context_, nullptr));
}

std::string HttpServer::Kubeconfig() const {
  return "apiVersion: v1\nkind: Config\ncurrent-context: small\n"
         "clusters:\n- name: small\n  cluster:\n    server: " +
         Url() + "\nusers:\n- name: small\n  user:\n    token: " +
         std::string(SmallKubernetes::kAdminToken) +
         "\ncontexts:\n- name: small\n  context:\n    cluster: small\n    user: small\n"
         "    namespace: default\n";
}

void HttpServer::Locked(const std::function<void(SmallKubernetes&)>& what) {
  {
    const std::lock_guard lock(mutex_);
    what(kubernetes_);
  }
  changed_.notify_all();
}

int HttpServer::Handle(mg_connection* connection, void* self) {
  return static_cast<HttpServer*>(self)->Handle(connection);
}

int HttpServer::Handle(mg_connection* connection) {
  const mg_request_info& info = *mg_get_request_info(connection);
  std::string target = info.request_uri;
  if (info.query_string != nullptr) target.append("?").append(info.query_string);
  const std::string body = ReadBody(connection);
  std::string_view token = Header(connection, "Authorization");
  constexpr std::string_view kBearer = "Bearer ";
  token = token.substr(0, kBearer.size()) == kBearer ? token.substr(kBearer.size()) : "";
  const Request request{info.request_method,
                        target,
                        token,
                        Header(connection, "Accept"),
                        Header(connection, "Content-Type"),
                        body};

  std::optional<Watch> watch;
  Response response;
  Locked(
      [&](SmallKubernetes& kubernetes) { response = kubernetes.Serve(request, nullptr, &watch); });
  if (watch) {
    StreamWatch(connection, *watch, target);
  } else {
    Send(connection, Head(response, false) + response.body);
  }
  return kHandled;
}

void HttpServer::StreamWatch(mg_connection* connection, Watch& watch, const std::string& target) {
  using std::chrono::steady_clock;
  const Target asked = ParseTarget(target);
  const std::int64_t seconds = std::atoll(std::string(asked.Query("timeoutSeconds")).c_str());
  const auto deadline =
      steady_clock::now() + (seconds > 0 ? Duration(std::chrono::seconds(seconds)) : kWatchDefault);
  const bool allows_bookmarks = asked.Query("allowWatchBookmarks") == "true";
  auto next_bookmark = steady_clock::now() + bookmarks;
  Send(connection, Head(Response{}, true));
  std::unique_lock lock(mutex_);
  while (true) {
    std::string events = watch.Next();
    const auto now = steady_clock::now();
    const bool over = watch.IsOver() || stopping_ || now >= deadline;
    if (allows_bookmarks && !watch.IsOver() && now >= next_bookmark) {
      events += watch.Bookmark();
      next_bookmark = now + bookmarks;
    }
    lock.unlock();
    if (!events.empty() &&
        mg_send_chunk(connection, events.data(), static_cast<unsigned>(events.size())) < 0) {
      return;
    }
    if (over) break;
    lock.lock();
    // Woken by every write, and regularly to notice the end.
    changed_.wait_until(lock,
                        std::min({deadline, next_bookmark, now + std::chrono::milliseconds(500)}));
  }
  mg_send_chunk(connection, "", 0);
}

}  // namespace cluster_watcher::small_kubernetes
