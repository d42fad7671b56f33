// The transport seam: sends HTTP requests to one API server, and returns answers or errors without
// interpreting them. A simulated transport runs the whole program without sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/base/result.h"

namespace cluster_watcher {

enum class HttpMethod { kGet, kPost, kPatch, kPut, kDelete };

// Returns "GET", "POST", ..., as on the wire and in metric labels.
const char* ToString(HttpMethod method);

struct HttpRequest {
  HttpMethod method = HttpMethod::kGet;
  std::string target;        // path and query, already escaped: "/api/v1/pods?limit=1"
  std::string called = {};   // replaces `target` in messages, if that holds a secret
  std::string bearer_token;  // empty: no Authorization header
  std::string accept = "application/json";
  std::string content_type;           // of `body`
  std::string body;                   // sent if not empty
  Duration timeout{10'000};           // for the whole exchange, connecting included
  std::size_t body_limit = 8u << 20;  // accepted bytes of the answer's body
  bool cut_body = false;              // truncate a longer body at the limit instead of failing
  // Asked right before it is sent, once there is a connection; empty: always true. If it says no,
  // the request fails as kNotSent. It must send nothing itself.
  std::function<bool()> may_send = {};

  bool MaySend() const { return !may_send || may_send(); }
};

struct HttpResponse {
  int status = 0;
  std::string content_type;  // with its parameters: "application/json; charset=utf-8"
  std::string body;
  std::optional<Duration> retry_after;   // Retry-After, 0 to 24 hours; a date minus `date`
  std::optional<WallTime> date;          // the Date header
  std::vector<std::string> warnings;     // the texts of Warning headers with the code 299
  std::chrono::microseconds elapsed{0};  // until the last byte, connecting included
  // Tells the connections that are open at a time apart; 0: not known. Another connection may lead
  // to another API server, whose clock differs.
  std::uint32_t connection = 0;
};

struct TransportError {
  enum class Kind {
    kConnect,   // name not resolved, refused, reset, closed before the whole answer
    kTls,       // certificate not trusted, ours refused, or no agreement
    kTimeout,   // no whole answer within the request's timeout
    kTooLarge,  // the body exceeded body_limit
    kProtocol,  // the answer isn't HTTP, or the request can't be expressed in it
    kStopped,   // stop was requested first
    kLocal,     // the server must be remote, and its address isn't
    kNotSent,   // HttpRequest::may_send said no
  };
  Kind kind;
  std::string message;           // for people; never contains the token or a body
  bool may_have_arrived = true;  // false: nothing of the request was sent
};

using HttpResult = Result<HttpResponse, TransportError>;

// How many reads are sent side by side. More would gain little, and every idle sidecar would keep
// that many connections to the API server.
inline constexpr std::size_t kReadsSideBySide = 3;
// The same where they decide whether the cluster is deleted: their answers soon grow old.
inline constexpr std::size_t kUrgentReadsSideBySide = 16;

class Transport {
 public:
  virtual ~Transport() = default;

  // Sends the requests, at most `concurrency` (>= 1) at a time, and returns their results in order.
  // Follows no redirects; sends nothing twice that deletes. Once `stop` is requested it returns
  // early, with kStopped for unfinished requests; an empty token never stops. Called while it is at
  // others, by what they ask, it sends nothing: kNotSent.
  virtual std::vector<HttpResult> Perform(std::span<const HttpRequest> requests,
                                          std::size_t concurrency, std::stop_token stop) = 0;
};

}  // namespace cluster_watcher
