// Watches on the small Kubernetes without sockets, in a test's time. What arrives can be changed,
// and lost.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probes/kube/streams.h"
#include "test/small_kubernetes/small_kubernetes.h"
#include "test/unit/support/test_clock.h"

namespace cluster_watcher::small_kubernetes {

class LocalStreams final : public Streams {
 public:
  LocalStreams(SmallKubernetes& kubernetes, TestClock& clock)
      : kubernetes_(kubernetes), clock_(clock) {}

  std::unique_ptr<Stream> Open(const HttpRequest& request, StreamReader& reader) override;
  void Wait(MonotonicTime deadline, std::stop_token stop) override;

  // Breaks all that are open.
  void BreakAll();

  // Returns what arrives instead of these events.
  std::function<std::string(std::string events)> tamper;
  bool stalled = false;                // nothing arrives but that it has begun, and its end
  int status = 200;                    // of what is opened from now on
  std::optional<Duration> ends_after;  // instead of what is asked for
  std::vector<std::string> opened;     // the targets, in order
  std::size_t open() const { return open_.size(); }

 private:
  class LocalStream;
  bool Deliver();

  SmallKubernetes& kubernetes_;
  TestClock& clock_;
  std::vector<LocalStream*> open_;
};

}  // namespace cluster_watcher::small_kubernetes
