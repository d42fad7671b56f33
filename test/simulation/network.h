// What lies between the watchers and the API server: latency, and whatever can become of a request
// and its answer.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "probes/transport.h"
#include "test/simulation/exchange.h"
#include "test/simulation/plan.h"
#include "test/simulation/timeline.h"
#include "test/simulation/world.h"

namespace cluster_watcher::simulation {

enum class Fate {
  kGood,
  kLost,          // never arrives
  kAnswerLost,    // has its effect, the watcher gets an error
  kLate,          // arrives after the watcher has given up
  kDoubled,       // arrives again, later
  kConflict,      // 409 of a server that didn't do it
  kThrottled,     // 429, with Retry-After
  kServerError,   // 500 or 503
  kAppliedError,  // 500 or 504 of a server that has done it
  kUnauthorized,  // 401
  kTruncated,     // half of the answer
  kNotJson,       // a proxy's page
  kSlow,          // takes long, but arrives in time
};
inline constexpr std::size_t kFates = 13;
const char* ToString(Fate fate);

// Who watches the watchers.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void Sent(const Exchange& exchange) = 0;
  // Right before and after the server handles it; may be more than once.
  virtual void Arriving(const Exchange& exchange) = 0;
  virtual void Handled(const Exchange& exchange, int status) = 0;
};

class Network {
 public:
  // False: nobody waited for it any more.
  using Done = std::function<bool(HttpResult)>;

  Network(Timeline& timeline, World& world, Random random, Listener& listener);

  // Sends it now; `done` is called when the watcher gets its answer or an error.
  void Send(const Identity& by, const HttpRequest& request, MonotonicTime called, bool told_to_stop,
            const Clock& clock, Done done);

  // The API server is away for so long: it refuses, or it doesn't answer.
  void BeginOutage(Micros length, bool refuses);
  // From now on only this token is good, besides the admin's.
  void RotateToken();
  const std::string& token() const { return token_; }

  const Exchanges& exchanges() const { return exchanges_; }
  const std::array<std::uint64_t, kFates>& fates() const { return fates_; }
  std::uint64_t outages() const { return outages_; }

 private:
  Fate Draw(const HttpRequest& request);
  void Arrive(Exchange& exchange, Fate fate, Clock& clock, const Done& done);
  small_kubernetes::Response Handle(Exchange& exchange);
  void Answer(Exchange& exchange, MonotonicTime at, small_kubernetes::Response response,
              bool is_true, Clock& clock, Done done);
  void Fail(Exchange& exchange, MonotonicTime at, TransportError::Kind kind, Clock& clock,
            Done done);
  Micros Latency();

  Timeline& timeline_;
  World& world_;
  Random random_;
  Listener& listener_;
  Exchanges exchanges_;
  std::string token_ = "first";
  int tokens_ = 1;
  MonotonicTime outage_ends_{};
  bool refuses_ = false;
  std::uint64_t outages_ = 0;
  std::array<std::uint64_t, kFates> fates_{};
};

}  // namespace cluster_watcher::simulation
