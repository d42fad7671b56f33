#include "test/integration/proxy.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "probes/kube/curl_transport.h"

namespace cluster_watcher::integration {
namespace {

struct Received {
  std::string method;
  std::string target;
  std::string head;
  std::string body;

  // Returns a header's value, or "" if there is none.
  std::string Header(const std::string& name) const {
    const std::size_t line = head.find("\r\n" + name + ": ");
    if (line == std::string::npos) return "";
    const std::size_t begin = line + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

// Reads the next request; nullopt: the client is gone. `rest` keeps what was read beyond it.
std::optional<Received> Receive(int socket, std::string& rest) {
  char buffer[16384];
  const auto read_more = [&] {
    const ssize_t count = recv(socket, buffer, sizeof buffer, 0);
    if (count > 0) rest.append(buffer, static_cast<std::size_t>(count));
    return count > 0;
  };
  std::size_t end;
  while ((end = rest.find("\r\n\r\n")) == std::string::npos) {
    if (!read_more()) return std::nullopt;
  }
  Received request;
  request.head = rest.substr(0, end + 2);
  const std::size_t space = rest.find(' ');
  request.method = rest.substr(0, space);
  request.target = rest.substr(space + 1, rest.find(' ', space + 1) - space - 1);
  rest.erase(0, end + 4);
  const auto size = static_cast<std::size_t>(std::atoll(request.Header("Content-Length").c_str()));
  while (rest.size() < size) {
    if (!read_more()) return std::nullopt;
  }
  request.body = rest.substr(0, size);
  rest.erase(0, size);
  return request;
}

bool SendAll(int socket, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

HttpRequest PassedOn(const Received& received) {
  HttpRequest request;
  for (const HttpMethod method : {HttpMethod::kGet, HttpMethod::kPost, HttpMethod::kPatch,
                                  HttpMethod::kPut, HttpMethod::kDelete}) {
    if (received.method == ToString(method)) request.method = method;
  }
  request.target = received.target;
  constexpr std::size_t kBearer = sizeof "Bearer " - 1;
  const std::string authorization = received.Header("Authorization");
  if (authorization.size() > kBearer) request.bearer_token = authorization.substr(kBearer);
  request.accept = received.Header("Accept");
  request.content_type = received.Header("Content-Type");
  request.body = received.body;
  return request;
}

// Returns the target with its limit lowered to `items`.
std::string WithPagesOf(int items, const std::string& target) {
  const std::size_t limit = target.find("limit=");
  if (items == 0 || limit == std::string::npos) return target;
  const std::size_t end = std::min(target.find('&', limit), target.size());
  return target.substr(0, limit) + "limit=" + std::to_string(items) + target.substr(end);
}

std::string HttpDate() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

}  // namespace

Lie Lie::Answer(int status, const std::string& body, const std::string& content_type,
                const std::string& more_headers) {
  return {"HTTP/1.1 " + std::to_string(status) + " Whatever\r\nContent-Type: " + content_type +
          "\r\nDate: " + HttpDate() + "\r\n" + more_headers +
          "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body};
}

Proxy::Proxy(ApiServer server)
    : server_(std::move(server)), listener_([this](int socket) { Serve(socket); }) {}

Proxy::~Proxy() { LetGo(); }

ApiServer Proxy::Address() const {
  ApiServer address;
  address.url = "http://127.0.0.1:" + std::to_string(listener_.Port());
  address.token = server_.token;
  return address;
}

void Proxy::LieAbout(const std::string& part, Lie lie) {
  const std::lock_guard lock(mutex_);
  lies_[part] = std::move(lie);
}

void Proxy::TellTheTruth() {
  const std::lock_guard lock(mutex_);
  lies_.clear();
}

void Proxy::LetGo() {
  let_go_ = true;
  let_go_.notify_all();
}

std::vector<Passage> Proxy::LiedTo() {
  const std::lock_guard lock(mutex_);
  return lied_to_;
}

std::optional<Lie> Proxy::LieFor(const Passage& passage) {
  const std::lock_guard lock(mutex_);
  const std::pair<const std::string, Lie>* found = nullptr;
  for (const auto& lie : lies_) {
    if (passage.request_line.find(lie.first) == std::string::npos) continue;
    if (found == nullptr || lie.first.size() > found->first.size()) found = &lie;
  }
  if (found == nullptr) return std::nullopt;
  lied_to_.push_back(passage);
  return found->second;
}

void Proxy::SetGate(Gate gate) {
  const std::lock_guard lock(mutex_);
  gate_ = std::move(gate);
}

bool Proxy::IsLetThrough(const Passage& passage) {
  Gate gate;
  {
    const std::lock_guard lock(mutex_);
    gate = gate_;
    if (!passage.answered) passages_.push_back(passage);
  }
  return !gate || gate(passage);
}

std::vector<Passage> Proxy::PassedOnWith(const std::string& part) {
  const std::lock_guard lock(mutex_);
  std::vector<Passage> found;
  for (const Passage& passage : passages_) {
    if (passage.request_line.find(part) != std::string::npos) found.push_back(passage);
  }
  return found;
}

std::string Proxy::AnswerOf(Failure failure) {
  switch (failure) {
    case Failure::kThrottled:
      return Lie::Answer(429, "too many requests\n", "text/plain", "Retry-After: 1\r\n").bytes;
    case Failure::kError:
      return Lie::Answer(500, "internal error\n", "text/plain").bytes;
    case Failure::kUnavailable:
    case Failure::kCut:
    case Failure::kCutOff:
      break;
  }
  return Lie::Answer(503, "service unavailable\n", "text/plain").bytes;
}

bool Proxy::Fail(int socket, int number) {
  const bool answers = number / fails_every_ % 2 == 1;
  return answers && SendAll(socket, Lie::Answer(503, "service unavailable\n", "text/plain").bytes);
}

void Proxy::FailAtRandom(double share, unsigned seed) {
  const std::lock_guard lock(mutex_);
  fails_at_random_ = share;
  random_.seed(seed);
}

std::optional<Proxy::Failure> Proxy::FailureByChance() {
  const std::lock_guard lock(mutex_);
  if (!std::bernoulli_distribution(fails_at_random_)(random_)) return std::nullopt;
  return static_cast<Failure>(std::uniform_int_distribution<int>(0, 4)(random_));
}

void Proxy::Serve(int socket) {
  auto transport = CurlTransport::Create(server_);
  std::string rest;
  while (const auto received = Receive(socket, rest)) {
    bool sent;
    Passage passage{0, received->method + " " + received->target, received->head, received->body};
    if (const auto lie = LieFor(passage)) {
      if (lie->hangs) let_go_.wait(false);
      ++lies_told_;
      sent = SendAll(socket, lie->bytes);
      for (std::size_t i = 0; sent && i < lie->repetitions; ++i) sent = SendAll(socket, lie->chunk);
      if (lie->closes) break;
    } else {
      passage.number = ++passed_on_;
      // What repeats in step with it would fail for ever.
      const int drifting = passage.number + passage.number / 50;
      if (fails_every_ > 0 && drifting % fails_every_ == 0) {
        if (!Fail(socket, passage.number)) break;
        continue;
      }
      const std::optional<Failure> failure = FailureByChance();
      if (failure == Failure::kCut) break;
      if (failure && failure != Failure::kCutOff) {
        if (!SendAll(socket, AnswerOf(*failure))) break;
        continue;
      }
      if (!IsLetThrough(passage)) break;
      HttpRequest request = PassedOn(*received);
      request.target = WithPagesOf(page_size_, request.target);
      const HttpResult answer = std::move((*transport)->Perform({&request, 1}, 1, {}).front());
      passage.answered = true;
      passage.status = answer ? answer->status : 0;
      std::this_thread::sleep_for(delay_.load());
      sent = answer && IsLetThrough(passage);
      if (!sent) break;
      std::string bytes = Lie::Answer(answer->status, answer->body, answer->content_type).bytes;
      if (failure == Failure::kCutOff) bytes.resize(bytes.size() / 2);
      sent = SendAll(socket, bytes) && failure != Failure::kCutOff;
    }
    if (!sent) break;
  }
  shutdown(socket, SHUT_RDWR);
}

}  // namespace cluster_watcher::integration
