// Waits until the metrics of a deletion that has ended were scraped, so that who graphs it sees its
// end; never beyond the pod's grace period, and a minute at the most.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <spdlog/logger.h>

#include "probes/base/clock.h"
#include "probes/kube/kube_client.h"

namespace cluster_watcher {

class LastScrape {
 public:
  // When the next scrape comes of those who scrape regularly and have not since then; nullopt:
  // there is nobody to wait for.
  using Next = std::function<std::optional<MonotonicTime>(MonotonicTime since)>;

  LastScrape(KubeClient& client, Clock& clock, spdlog::logger& log, Next next)
      : client_(client), clock_(clock), log_(log), next_(std::move(next)) {}

  // For when the pod is told to stop. Returns at once where nobody scrapes, where the next scrape
  // comes too late, or where the pod isn't being deleted or can't be read. `turn` is called again
  // and again meanwhile.
  void Await(const std::string& ns, const std::string& pod, MonotonicTime since,
             const std::function<void()>& turn);

 private:
  std::optional<MonotonicTime> EndOfPod(const std::string& ns, const std::string& pod);

  KubeClient& client_;
  Clock& clock_;
  spdlog::logger& log_;
  Next next_;
};

}  // namespace cluster_watcher
