// An HTTPS server for admission requests: small bodies, quick answers, clients that keep their
// connections. One thread serves them all; a second one answers large reviews, one after the other.
//
// What clients may cost is bounded: the number of connections (a new one displaces the oldest that
// hasn't asked for anything yet, where these are most, or else the one idle longest, or else the
// one whose request takes longest), the time for a handshake, a request and an answer, the bytes of
// one body, and those of all large bodies and answers that are under way, as far as they have
// arrived: beyond that the requests that take longest are cut off. Of large reviews that wait for
// the second thread that is only the largest, where they hold more than half. Small requests are
// never cut off for the bytes of others.
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
  // Answers a POST of JSON to its path, such as "/mutate". Other requests get an HTTP error. Called
  // in either thread, also in both at a time.
  using Handler = std::function<AdmissionAnswer(std::string_view body)>;
  using Handlers = std::map<std::string, Handler, std::less<>>;

  struct Limits {
    std::size_t connections = 256;
    std::size_t body = 8u << 20;           // bytes; an object has up to 3 MiB, an update holds two
    std::size_t bodies = 16u << 20;        // bytes of all under way that have more than 64 KiB
    std::chrono::seconds handshake{5};     // since the connection was opened
    std::chrono::seconds idle{120};        // for the next request's head; the API server's is 90
    std::chrono::seconds request{5};       // for the body, a large review's turn, and the answer
    std::chrono::seconds last_answers{5};  // when stopping
  };

  WebhookServer(ListenAddress address, TlsCertificate certificate, Handlers handlers,
                AdmissionMetrics& metrics, Limits limits);
  ~WebhookServer();

  // Returns nullopt once it listens, else the error, which names the address.
  [[nodiscard]] std::optional<std::string> Start();
  std::uint16_t port() const;

  // Serves, and calls `tick` about every `tick_interval`. When `stop` is requested it serves for
  // `shutdown_delay` longer, because clients take a while to notice, then finishes the requests
  // that have begun and returns.
  void Run(std::stop_token stop, std::chrono::milliseconds shutdown_delay,
           std::chrono::milliseconds tick_interval, const std::function<void()>& tick);

  // Uses the certificate for new connections. Call it only from `tick` or before Run.
  void Use(TlsCertificate certificate);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cluster_watcher
