#include "metrics/admission_metrics.h"

namespace cluster_watcher {
namespace {

constexpr const char* kResults[] = {"injected", "not-asked", "already",  "left-alone", "owned",
                                    "valid",    "warned",    "rejected", "error"};

prometheus::Histogram::BucketBoundaries AdmissionBuckets() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1};
}

}  // namespace

AdmissionMetrics::AdmissionMetrics(prometheus::Registry& registry, const std::string& version,
                                   const std::string& revision)
    : duration_(&prometheus::BuildHistogram()
                     .Name("cluster_watcher_admission_duration_seconds")
                     .Help("How long it took to answer an admission request.")
                     .Register(registry)
                     .Add({}, AdmissionBuckets())),
      connections_(&prometheus::BuildGauge()
                        .Name("cluster_watcher_admission_connections")
                        .Help("Connections that are open to the webhook.")
                        .Register(registry)
                        .Add({})),
      certificate_expiry_(
          &prometheus::BuildGauge()
               .Name("cluster_watcher_admission_certificate_expiry_timestamp_seconds")
               .Help("When the webhook's certificate expires.")
               .Register(registry)
               .Add({})) {
  prometheus::BuildGauge()
      .Name("cluster_watcher_build_info")
      .Help("The version that runs.")
      .Register(registry)
      .Add({{"version", version}, {"revision", revision}})
      .Set(1);
  auto& requests = prometheus::BuildCounter()
                       .Name("cluster_watcher_admission_requests_total")
                       .Help("Admission requests by what came of them.")
                       .Register(registry);
  for (const char* result : kResults) requests_[result] = &requests.Add({{"result", result}});
}

void AdmissionMetrics::Answered(std::string_view result, Seconds took) {
  if (const auto counter = requests_.find(result); counter != requests_.end()) {
    counter->second->Increment();
  }
  duration_->Observe(took.count());
}

void AdmissionMetrics::SetConnections(std::size_t open) {
  connections_->Set(static_cast<double>(open));
}

void AdmissionMetrics::SetCertificateExpiry(std::chrono::system_clock::time_point expiry) {
  certificate_expiry_->Set(std::chrono::duration<double>(expiry.time_since_epoch()).count());
}

}  // namespace cluster_watcher
