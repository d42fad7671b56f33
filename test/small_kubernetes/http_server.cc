#include "test/small_kubernetes/http_server.h"

#include <arpa/inet.h>
#include <civetweb.h>
#include <netinet/in.h>
#include <sys/socket.h>

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

// Cuts a connection. civetweb has no function for it and doesn't reveal the socket, but the
// socket's two ports identify it.
void Cut(const mg_request_info& info) {
  for (int socket = 3; socket < 4096; ++socket) {
    sockaddr_in peer{}, own{};
    socklen_t peer_size = sizeof peer, own_size = sizeof own;
    if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0 ||
        getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) != 0) {
      continue;
    }
    if (ntohs(peer.sin_port) == info.remote_port && ntohs(own.sin_port) == info.server_port) {
      shutdown(socket, SHUT_RDWR);
      return;
    }
  }
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

std::string LogJson(const std::vector<LoggedRequest>& log) {
  std::string json = "[";
  for (const LoggedRequest& logged : log) {
    if (json.back() != '[') json += ',';
    json += "{\"method\":" + Quote(logged.method) + ",\"target\":" + Quote(logged.target) +
            ",\"user\":" + Quote(logged.user) + ",\"status\":" + std::to_string(logged.status) +
            "}";
  }
  return json + "]\n";
}

bool FlagOr(const Value* value, bool otherwise) {
  return value != nullptr && value->IsBool() ? value->GetBool() : otherwise;
}

Resource KindFromJson(const Value& json) {
  Resource resource;
  resource.group = TextOf(Find(json, "group"));
  resource.version = TextOf(Find(json, "version"));
  resource.plural = TextOf(Find(json, "plural"));
  resource.kind = TextOf(Find(json, "kind"));
  resource.namespaced = FlagOr(Find(json, "namespaced"), true);
  resource.has_status = IsTrue(Find(json, "status"));
  resource.has_scale = IsTrue(Find(json, "scale"));
  return resource;
}

void ApplySettings(SmallKubernetes& kubernetes, const Value& json) {
  if (Find(json, "staleVersions") != nullptr || Find(json, "staleMilliseconds") != nullptr) {
    kubernetes.SetStaleness(static_cast<std::uint64_t>(std::max<std::int64_t>(
                                0, NumberOf(Find(json, "staleVersions"), 0))),
                            Duration(NumberOf(Find(json, "staleMilliseconds"), 0)));
  }
  kubernetes.settle_after_writes = FlagOr(Find(json, "settle"), kubernetes.settle_after_writes);
  if (kubernetes.settle_after_writes) kubernetes.Settle();
  if (const Value* linger = Find(json, "definitionLinger")) {
    kubernetes.SetDefinitionLinger(Duration(NumberOf(linger, 0)));
  }
  if (const Value* run = Find(json, "podsRun")) kubernetes.SetPodsRun(IsTrue(run));
}

void ApplyToken(SmallKubernetes& kubernetes, const Value& json) {
  if (const Value* revoked = Find(json, "revoke")) {
    kubernetes.GetTokens().Revoke(TextOf(revoked));
    return;
  }
  User user{std::string(TextOf(Find(json, "user"))), {"system:authenticated"}};
  if (const Value* groups = Find(json, "groups"); HasElements(groups)) {
    for (const Value& group : groups->GetArray()) user.groups.emplace_back(TextOf(&group));
  }
  kubernetes.GetTokens().Add(std::string(TextOf(Find(json, "token"))), std::move(user));
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

std::string HttpServer::Kubeconfig(const std::string& token, const std::string& ns) const {
  return "apiVersion: v1\nkind: Config\ncurrent-context: small\n"
         "clusters:\n- name: small\n  cluster:\n    server: " +
         Url() + "\nusers:\n- name: small\n  user:\n    token: " + token +
         "\ncontexts:\n- name: small\n  context:\n    cluster: small\n    user: small\n"
         "    namespace: " +
         ns + "\n";
}

void HttpServer::Locked(const std::function<void(SmallKubernetes&)>& what) {
  {
    const std::lock_guard lock(mutex_);
    what(kubernetes_);
  }
  changed_.notify_all();
}

bool HttpServer::Wait(std::unique_lock<std::mutex>& lock, Duration time) {
  return !changed_.wait_for(lock, time, [&] { return stopping_; });
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

  std::unique_lock lock(mutex_);
  Response response;
  std::optional<Fault> fault;
  std::optional<Watch> watch;
  if (target.substr(0, 3) == "/__") {
    response = Control(request);
  } else {
    fault = kubernetes_.Intercept(request);
    if (fault && fault->delay.count() > 0 && !Wait(lock, fault->delay)) return Cut(info), kHandled;
    response = kubernetes_.Serve(request, fault ? &*fault : nullptr, &watch);
  }
  changed_.notify_all();
  if (fault) {
    if (fault->action == Fault::Action::kDrop) return Cut(info), kHandled;
    if (fault->action == Fault::Action::kHang) {
      Wait(lock, std::chrono::hours(1));
      return Cut(info), kHandled;
    }
    if (fault->delay_after.count() > 0 && !Wait(lock, fault->delay_after))
      return Cut(info), kHandled;
    if (fault->action == Fault::Action::kAnswer) watch.reset();
  }
  if (watch) {
    lock.unlock();
    StreamWatch(connection, *watch, target);
    return kHandled;
  }
  lock.unlock();
  const bool truncate = fault && fault->action == Fault::Action::kTruncate;
  const std::size_t sent = truncate ? response.body.size() / 2 : response.body.size();
  Send(connection, Head(response, false) + response.body.substr(0, sent));
  if (truncate) Cut(info);
  return kHandled;
}

void HttpServer::StreamWatch(mg_connection* connection, Watch& watch, const std::string& target) {
  const std::string asked(ParseTarget(target).Query("timeoutSeconds"));
  const std::int64_t seconds = std::atoll(asked.c_str());
  const auto deadline = std::chrono::steady_clock::now() +
                        (seconds > 0 ? Duration(std::chrono::seconds(seconds)) : kWatchDefault);
  Send(connection, Head(Response{}, true));
  std::unique_lock lock(mutex_);
  while (true) {
    const std::string events = watch.Next();
    const bool over = watch.IsOver() || stopping_ || std::chrono::steady_clock::now() >= deadline;
    lock.unlock();
    if (!events.empty() &&
        mg_send_chunk(connection, events.data(), static_cast<unsigned>(events.size())) < 0) {
      return;
    }
    if (over) break;
    lock.lock();
    // Woken by every write, and regularly to notice the end.
    changed_.wait_until(lock, std::min(deadline, std::chrono::steady_clock::now() +
                                                     std::chrono::milliseconds(500)));
  }
  mg_send_chunk(connection, "", 0);
}

Response HttpServer::Control(const Request& request) {
  const User* user = kubernetes_.GetTokens().Find(request.token);
  if (user == nullptr || !user->IsIn("system:masters")) {
    return Forbidden({}, {}, {}, "only admins order faults");
  }
  const std::optional<Value> parsed = Parse(request.body.empty() ? "{}" : request.body);
  if (!parsed) return BadRequest("the body is not JSON");
  const std::string path(request.target);
  const bool post = request.method == "POST";
  const bool drop = request.method == "DELETE";
  const Value& json = *parsed;
  if (path == "/__requests" && request.method == "GET") {
    return {200, LogJson(kubernetes_.Log()), "application/json", std::nullopt};
  }
  if (path == "/__requests" && drop) {
    kubernetes_.ClearLog();
  } else if (path == "/__faults" && post) {
    kubernetes_.GetFaults().Add(FaultFromJson(json));
  } else if (path == "/__faults" && drop) {
    kubernetes_.GetFaults().Clear();
  } else if (path == "/__kinds" && post) {
    kubernetes_.AddKind(KindFromJson(json));
  } else if (path == "/__kinds" && drop && IsTrue(Find(json, "terminate"))) {
    kubernetes_.TerminateKind(TextOf(Find(json, "group")), TextOf(Find(json, "plural")));
  } else if (path == "/__kinds" && drop) {
    kubernetes_.RemoveKind(TextOf(Find(json, "group")), TextOf(Find(json, "plural")));
  } else if (path == "/__settings" && post) {
    ApplySettings(kubernetes_, json);
  } else if (path == "/__tokens" && post) {
    ApplyToken(kubernetes_, json);
  } else {
    return NoSuchPath();
  }
  return {200, "{}\n", "application/json", std::nullopt};
}

}  // namespace cluster_watcher::small_kubernetes
