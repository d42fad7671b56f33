// The inside of CurlTransport, which its batches and its streams share.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/kube/curl_transfer.h"
#include "probes/kube/curl_transport.h"

namespace cluster_watcher {

struct CurlTransport::State {
  ApiServer server;
  SystemClock system_clock;
  Clock* clock = &system_clock;
  MonotonicTime certificates_read_at;
  Endpoint endpoint;
  List connect_to;
  Sessions sessions;  // by the certificates that are in force
  Multi multi;
  Multi streams;
  bool stream_was_read = false;  // since the last wait
  std::vector<Easy> idle;
  std::vector<std::unique_ptr<Transfer>> under_way;  // empty between batches

  class OpenStream;
  std::vector<OpenStream*> unsent;  // those that could not be sent

  std::string Describe(const HttpRequest& request) const {
    return std::string(ToString(request.method)) + " " +
           (request.called.empty() ? request.target : request.called) + " at " + endpoint.address +
           ": ";
  }

  Result<Easy> TakeHandle();
  std::optional<TransportError> Start(const HttpRequest& request, std::size_t index);
  HttpResult Read(Transfer& transfer, CURLcode code) const;
  TransportError ErrorOf(const Transfer& transfer, CURLcode code) const;
  bool Collect(std::vector<HttpResult>& results);
  void GiveBack(Transfer& transfer);
  void RefreshCertificatesIfDue();
  bool RefreshCertificates();
  void ForgetSessions();
  void EndStreams();
  std::vector<HttpResult> SendAll(std::span<const HttpRequest> requests, std::size_t concurrency,
                                  const std::stop_token& stop);
  void StartUpTo(std::size_t concurrency, std::span<const HttpRequest> requests,
                 std::vector<HttpResult>& results);
  void Abandon(CURLMcode code, std::span<const HttpRequest> requests,
               std::vector<HttpResult>& results);
};

}  // namespace cluster_watcher
