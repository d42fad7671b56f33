// The network between the processes and the API server: latency, and all that can happen to a
// request and its answer.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probes/kube/streams.h"
#include "probes/kube/transport.h"
#include "test/simulation/exchange.h"
#include "test/simulation/plan.h"
#include "test/simulation/timeline.h"
#include "test/simulation/world.h"

namespace cluster_watcher::simulation {

enum class Fate {
  kGood,
  kLost,          // never arrives
  kAnswerLost,    // takes effect, the watcher gets an error
  kLate,          // arrives after the watcher has given up
  kDoubled,       // arrives again, later
  kConflict,      // 409 without effect
  kThrottled,     // 429, with Retry-After
  kServerError,   // 500 or 503
  kAppliedError,  // 500 or 504 with effect
  kUnauthorized,  // 401
  kTruncated,     // half of the answer
  kNotJson,       // a proxy's page
  kSlow,          // takes long, but arrives in time
  kAiling,        // of a kind that fails at present
};
inline constexpr std::size_t kFates = 14;
const char* ToString(Fate fate);

// Observes all exchanges.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void Sent(const Exchange& exchange) = 0;
  // Called just before and after the server handles it, perhaps more than once.
  virtual void Arriving(const Exchange& exchange) = 0;
  virtual void Handled(const Exchange& exchange, int status) = 0;
};

// Receives answers.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // Takes the answer to the request numbered `index`. Returns false if nobody waits for it any
  // more.
  virtual bool Receive(std::size_t index, HttpResult result) = 0;
};

// Receives what a watch shows.
class WatchReceiver {
 public:
  virtual ~WatchReceiver() = default;
  // So much has arrived, for whoever reads it. Returns false if nobody does any more.
  virtual bool Arrive(std::function<void(StreamReader&)> what) = 0;
};

class Network {
 public:
  Network(Timeline& timeline, World& world, Random random, Listener& listener);

  // Sends the request; `receiver` gets the answer or an error. `by_own_clock` is `called` by the
  // watcher's clock.
  void Send(std::shared_ptr<const Identity> by, const HttpRequest& request, MonotonicTime called,
            MonotonicTime by_own_clock, std::shared_ptr<Receiver> receiver, std::size_t index);

  // Opens a watch. Events get lost, late, doubled, out of order, and lie; watches break, expire and
  // stall.
  void Watch(std::shared_ptr<const Identity> by, const HttpRequest& request,
             std::shared_ptr<WatchReceiver> receiver);
  // Sends the events of what has changed.
  void LookAtWatches();
  // How long what a watch should have shown may go unnoticed, because not all of it was shown.
  Duration WatchSlack() const;

  // Makes the API server unavailable for a while: it refuses, or it doesn't answer.
  void BeginOutage(Micros length, bool refuses);
  // From now on only another token is valid, besides the admin's; `write_token` gets it.
  void RotateToken();
  std::function<void(const std::string&)> write_token;
  const std::string& token() const { return token_; }

  const Exchanges& exchanges() const { return exchanges_; }
  const std::array<std::uint64_t, kFates>& fates() const { return fates_; }
  std::uint64_t outages() const { return outages_; }
  // Watches that were opened, and events that were not shown as they were.
  std::uint64_t watches() const { return watches_opened_; }
  std::uint64_t tampered() const { return tampered_; }

 private:
  // The outcome planned for an exchange, by its number.
  struct Pending {
    std::shared_ptr<Receiver> receiver;
    std::size_t index;
    Fate fate = Fate::kGood;
    std::optional<TransportError::Kind> error;
    bool arrives = true;  // as far as the client can know
    small_kubernetes::Response response = {};
    bool is_true = false;  // the response is the server's own, and complete
    WallTime date{};
  };

  struct OpenWatch {
    std::shared_ptr<WatchReceiver> receiver;
    small_kubernetes::Watch events;
    std::string pod;
    MonotonicTime ends;
    MonotonicTime next_bookmark;
    bool stalled = false;
  };
  void BeginWatch(const std::string& pod, const HttpRequest& request,
                  const std::shared_ptr<WatchReceiver>& receiver);
  bool Show(OpenWatch& watch);
  std::string Tamper(OpenWatch& watch, const std::string& line);
  void Arrive(const OpenWatch& watch, Micros later, std::function<void(StreamReader&)> what);

  Fate Draw(const HttpRequest& request);
  // How much more often than others a request like this one fails.
  double Proneness(const HttpRequest& request) const;
  bool IsAiling(const HttpRequest& request) const;
  void Arrive(std::size_t number);
  // What drivers have sent changes nothing any more when the true state has come to rest.
  bool IsTooLate(std::size_t number) const;
  small_kubernetes::Response Handle(std::size_t number);
  void Answer(std::size_t number, MonotonicTime at, small_kubernetes::Response response,
              bool is_true);
  void Fail(std::size_t number, MonotonicTime at, TransportError::Kind kind);
  void Deliver(std::size_t number);
  Micros Latency();
  bool IsBySecond(std::size_t number) const;
  // How wrong the clock is of the API server that handles it.
  Duration Skew(std::size_t number) const;

  Timeline& timeline_;
  World& world_;
  Random random_;
  Listener& listener_;
  const std::uint64_t proneness_;
  Exchanges exchanges_;
  std::deque<Pending> pending_;
  std::list<OpenWatch> watches_;
  std::uint64_t shown_version_ = 0;
  bool hid_events_ = false;
  std::string token_ = "first";
  int tokens_ = 1;
  MonotonicTime outage_ends_{};
  bool refuses_ = false;
  std::uint64_t watches_opened_ = 0;
  std::uint64_t tampered_ = 0;
  std::uint64_t outages_ = 0;
  std::array<std::uint64_t, kFates> fates_{};
};

}  // namespace cluster_watcher::simulation
