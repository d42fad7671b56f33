// A request of a process, and what became of it.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "probes/kube/transport.h"
#include "test/simulation/orders.h"

namespace cluster_watcher::simulation {

// One life of a watcher's process. Its pod may have had others before. Or one of a driver's, whose
// pod is called as the driver.
struct Identity {
  int life = 0;
  std::string pod;
  std::string pod_uid;
  Orders orders;           // of its pod
  bool as_planned = true;  // they are those that the plan gives to the first pod
  bool is_driver = false;  // it is no watcher

  std::string Me() const { return pod + "/" + pod_uid; }
};

struct Exchange {
  std::size_t number = 0;  // its index in the whole history
  std::shared_ptr<const Identity> by;
  HttpRequest request;
  MonotonicTime called;                   // when the watcher meant to send it
  MonotonicTime sent;                     // when it was sent
  std::optional<MonotonicTime> answered;  // when the watcher got the answer or error
  int status = 0;                         // 0: no answer, but an error
  std::string answer;
  bool true_answer = false;  // the server's own, and complete
  std::optional<WallTime> date;
  MonotonicTime by_own_clock;  // `called`, by the watcher's clock

  // The true state when the server first handled it.
  bool handled = false;
  bool driver_was_gone = false;  // and had left no pods behind
  bool no_driver_wanted_to_run = false;
  bool was_in_use = false;

  bool Is(HttpMethod method) const { return request.method == method; }
};

using Exchanges = std::deque<Exchange>;

}  // namespace cluster_watcher::simulation
