// The metric families of the admission webhook. Every method may be called from any thread.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <map>
#include <string>
#include <string_view>

namespace cluster_watcher {

class AdmissionMetrics {
 public:
  using Seconds = std::chrono::duration<double>;

  // `registry` must outlive this. Every result is exposed as 0 from the start: for new pods
  // "injected", "not-asked", "already" and "left-alone"; for owners "owned"; for annotations
  // "valid", "warned" and "rejected"; and "error" for a body that isn't an AdmissionReview.
  AdmissionMetrics(prometheus::Registry& registry, const std::string& version,
                   const std::string& revision);

  // Counts an answered request. `took` runs from the request's last byte to the answer's first. A
  // result that isn't in the list above is only timed.
  void Answered(std::string_view result, Seconds took);
  void SetConnections(std::size_t open);
  void SetCertificateExpiry(std::chrono::system_clock::time_point expiry);

 private:
  std::map<std::string, prometheus::Counter*, std::less<>> requests_;
  prometheus::Histogram* duration_;
  prometheus::Gauge* connections_;
  prometheus::Gauge* certificate_expiry_;
};

}  // namespace cluster_watcher
