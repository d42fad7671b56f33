// The transport seam: HTTP requests to one API server go out, answers or errors come back. What an
// answer means is not decided here; a simulated transport runs the whole program without sockets.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/base/result.h"

namespace cluster_watcher {

enum class HttpMethod { kGet, kPost, kPatch, kPut, kDelete };

// "GET", "POST", ...: as on the wire and in metric labels.
const char* ToString(HttpMethod method);

struct HttpRequest {
  HttpMethod method = HttpMethod::kGet;
  std::string target;        // path and query, already escaped: "/api/v1/pods?limit=1"
  std::string called = {};   // what messages say instead, where that holds a secret
  std::string bearer_token;  // empty: no Authorization header
  std::string accept = "application/json";
  std::string content_type;           // of `body`
  std::string body;                   // sent if not empty
  Duration timeout{10'000};           // for the whole exchange, connecting included
  std::size_t body_limit = 8u << 20;  // bytes of the answer's body that are accepted
  bool cut_body = false;              // a longer one is no error: what is beyond them isn't read
};

struct HttpResponse {
  int status = 0;
  std::string content_type;  // as sent, parameters included: "application/json; charset=utf-8"
  std::string body;
  std::optional<Duration> retry_after;   // from Retry-After: 0 to 24 hours; a date less `date`
  std::optional<WallTime> date;          // from Date
  std::chrono::microseconds elapsed{0};  // to the last byte, connecting included
};

struct TransportError {
  enum class Kind {
    kConnect,   // name not resolved, refused, reset, closed before the answer was whole
    kTls,       // certificate not trusted, not ours, or no agreement
    kTimeout,   // no whole answer within the request's timeout
    kTooLarge,  // the body passed body_limit
    kProtocol,  // what came is not HTTP, or the request can't be said in it
    kStopped,   // the stop token was requested first
  };
  Kind kind;
  std::string message;  // for people; never holds the token, nor a body
};

using HttpResult = Result<HttpResponse, TransportError>;

// How many reads go side by side. More would gain little, and every idle sidecar would keep as many
// connections to the API server open.
inline constexpr std::size_t kReadsSideBySide = 3;

class Transport {
 public:
  virtual ~Transport() = default;

  // Sends the requests side by side, at most `concurrency` (>= 1) at a time, and returns one result
  // for each, in their order. Follows no redirects. Returns early with kStopped for what isn't
  // finished once `stop` is requested; an empty token can't be stopped.
  virtual std::vector<HttpResult> Perform(std::span<const HttpRequest> requests,
                                          std::size_t concurrency, std::stop_token stop) = 0;
};

}  // namespace cluster_watcher
