// The small Kubernetes without sockets: answers requests at once, in order. Delays and hangs of
// faults pass on the clock, which a test controls.
#pragma once

#include <cstddef>
#include <span>
#include <stop_token>
#include <vector>

#include "probes/base/clock.h"
#include "probes/kube/transport.h"
#include "test/small_kubernetes/small_kubernetes.h"

namespace cluster_watcher::small_kubernetes {

class LocalTransport final : public Transport {
 public:
  LocalTransport(SmallKubernetes& kubernetes, Clock& clock)
      : kubernetes_(kubernetes), clock_(clock) {}

  // Delays within a batch add up.
  std::vector<HttpResult> Perform(std::span<const HttpRequest> requests, std::size_t concurrency,
                                  std::stop_token stop) override;

 private:
  HttpResult PerformOne(const HttpRequest& request, const std::stop_token& stop);

  SmallKubernetes& kubernetes_;
  Clock& clock_;
  bool is_asking_ = false;  // whether a request may be sent
};

}  // namespace cluster_watcher::small_kubernetes
