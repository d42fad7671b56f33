// What operators and the kubelet read over HTTP: /metrics, /healthz and /readyz.
#pragma once

#include <prometheus/collectable.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metrics/http/scrapers.h"

namespace cluster_watcher {

// Called on the endpoint's thread, at any time.
struct Health {
  std::function<bool()> alive;  // /healthz: false says that the loop has stopped turning.
  std::function<bool()> ready;  // /readyz: false before a first definite poll, or misconfigured.
};

struct EndpointLimits {
  std::size_t connections = 64;
  std::chrono::milliseconds connection_age = std::chrono::seconds(10);
};

// Answers GET and HEAD. It has one thread of its own, which never takes a signal; on the way out of
// the program there is no need to destroy it. Connections are served side by side, and each carries
// one request, so a slow or silent client holds nobody up. Nobody is turned away, and nobody stays:
// a connection is cut when it has been silent for 3 s, when it is too old, whatever it does, when
// it sends a body of more than 1 MiB, and, where there are too many, when it is the oldest one of
// the address that has the most.
class MetricsEndpoint {
 public:
  // `address`: `:PORT` (all interfaces, IPv6 too where the machine has it), `IPV4:PORT` or
  // `[IPV6]:PORT`; port 0 lets the system choose. `sources` must outlive the endpoint.
  MetricsEndpoint(std::string address, std::vector<const prometheus::Collectable*> sources,
                  Health health, EndpointLimits limits = {});
  ~MetricsEndpoint();
  MetricsEndpoint(const MetricsEndpoint&) = delete;  // Its thread has its address.
  MetricsEndpoint& operator=(const MetricsEndpoint&) = delete;

  // Nothing once it serves; else why it can't, naming the address. It may be called again, for a
  // port that is in use may become free. For an address that is none see ListenAddressError.
  [[nodiscard]] std::optional<std::string> Start();

  // The port that it listens on; 0 before Start.
  std::uint16_t port() const { return port_; }

  // Those who get /metrics.
  const Scrapers& scrapers() const { return scrapers_; }

 private:
  class Server;

  const std::string address_;
  const std::vector<const prometheus::Collectable*> sources_;
  const Health health_;
  const EndpointLimits limits_;
  Scrapers scrapers_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Server> server_;  // Last: its thread uses the others.
};

}  // namespace cluster_watcher
