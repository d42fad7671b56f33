// The HTTP endpoint for operators and the kubelet: /metrics, /healthz and /readyz, and a page at /.
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

// Both are called on the endpoint's thread, at any time.
struct Health {
  std::function<bool()> alive;  // /healthz; false once the loop has stopped turning.
  std::function<bool()> ready;  // /readyz; false before a first definite poll, or misconfigured.
};

// Makes the page at /: HTML with no more than its own text and style, for browsers are told to load
// and run nothing else. Called on the endpoint's thread, at any time. Empty: a page of links.
using PageMaker = std::function<std::string()>;

struct EndpointLimits {
  std::size_t connections = 64;
  std::chrono::milliseconds connection_age = std::chrono::seconds(10);
};

// Answers GET and HEAD on one thread of its own, which takes no signals; at exit the endpoint need
// not be destroyed. Connections are served side by side, one request each, so a slow or silent
// client holds nobody up. No client is turned away; instead a connection is cut when it has been
// silent for 3 s, when it exceeds its age limit, when it sends a body of more than 1 MiB, and, when
// there are too many, if it is the oldest one of the address that has the most.
class MetricsEndpoint {
 public:
  // `address` is `:PORT` (all interfaces, IPv6 too where the machine has it), `IPV4:PORT` or
  // `[IPV6]:PORT`; port 0 lets the system choose. `sources` must outlive the endpoint.
  MetricsEndpoint(std::string address, std::vector<const prometheus::Collectable*> sources,
                  Health health, EndpointLimits limits = {}, PageMaker page = {});
  ~MetricsEndpoint();
  MetricsEndpoint(const MetricsEndpoint&) = delete;  // The thread holds its address.
  MetricsEndpoint& operator=(const MetricsEndpoint&) = delete;

  // Returns nullopt once it serves, else the error, which names the address. It may be called
  // again, because a port in use may become free.
  [[nodiscard]] std::optional<std::string> Start();

  // The port it listens on; 0 before Start.
  std::uint16_t port() const { return port_; }

  // The clients that get /metrics.
  const Scrapers& scrapers() const { return scrapers_; }

 private:
  class Server;

  const std::string address_;
  const std::vector<const prometheus::Collectable*> sources_;
  const Health health_;
  const EndpointLimits limits_;
  const PageMaker page_;
  Scrapers scrapers_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Server> server_;  // Last, because its thread uses the other fields.
};

}  // namespace cluster_watcher
