// An HTTPS server for admission requests: small bodies, quick answers, a client that keeps its
// connections. One thread does everything.
//
// What a client may cost is bounded: so many connections, of which one that has asked for nothing
// yet, or else has been idle longest, gives way to a new one; so much time for a handshake, a
// request and an answer; so many bytes for one body and for all that are being read.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "metrics/admission_metrics.h"
#include "metrics/http/listen_address.h"
#include "watcher/admission/admission_review.h"
#include "watcher/admission/server/tls_certificate.h"

namespace cluster_watcher {

class WebhookServer {
 public:
  // What answers a POST of JSON, by its path: "/mutate". Other requests get an error of HTTP.
  using Handler = std::function<AdmissionAnswer(std::string_view body)>;
  using Handlers = std::map<std::string, Handler, std::less<>>;

  struct Limits {
    std::size_t connections = 256;
    std::size_t body = 8u << 20;        // bytes: an object of up to 3 MiB, twice where it changes
    std::size_t bodies = 16u << 20;     // bytes of all that are being read
    std::chrono::seconds handshake{5};  // from the connection on
    std::chrono::seconds idle{120};     // for the next request's head; the API server's are 90
    std::chrono::seconds request{5};    // for its body, and again for the answer
    std::chrono::seconds last_answers{5};  // at the end
  };

  WebhookServer(ListenAddress address, TlsCertificate certificate, Handlers handlers,
                AdmissionMetrics& metrics, Limits limits);
  ~WebhookServer();

  // Nothing once it listens; else why it can't, naming the address.
  [[nodiscard]] std::optional<std::string> Start();
  std::uint16_t port() const;

  // Serves; `tick` is called about every `tick_interval`. Told to stop, it goes on for
  // `shutdown_delay`, for it takes a while until nobody is sent here any more, finishes what it has
  // begun, and returns.
  void Run(std::stop_token stop, std::chrono::milliseconds shutdown_delay,
           std::chrono::milliseconds tick_interval, const std::function<void()>& tick);

  // For connections from now on. Only in `tick`, or before Run.
  void Use(TlsCertificate certificate);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cluster_watcher
