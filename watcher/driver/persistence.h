// Sends writes again that fail for the moment, until a deadline.
#pragma once

#include "watcher/driver/driver_tools.h"

namespace cluster_watcher {

class Persistence {
 public:
  Persistence(const DriverTools& tools, MonotonicTime deadline)
      : tools_(tools), deadline_(deadline) {}

  // Waits until what failed with `error` may be sent again, as long as the API server asks for by
  // Retry-After, but for half a minute at most. False: it was refused permanently, the time is over
  // or a stop was requested. A conflict may pass: what it means is the caller's to say.
  bool WaitToRepeat(const ApiError& error);

  // Sends it until it is answered permanently or the time is over; at least once. Conflicts are
  // answers.
  ApiResult Do(const ApiRequest& request);

  bool is_over() const { return tools_.clock.Now() >= deadline_; }

 private:
  const DriverTools& tools_;
  const MonotonicTime deadline_;
  Duration pause_{0};
};

}  // namespace cluster_watcher
