// Waits for the last scrape after a deletion, so that graphs show its end. Waits at most a minute,
// and never beyond the pod's grace period.
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
  // Returns when the next scrape is due from regular scrapers that haven't scraped after `since`;
  // nullopt if there are none.
  using Next = std::function<std::optional<MonotonicTime>(MonotonicTime since)>;

  LastScrape(KubeClient& client, Clock& clock, spdlog::logger& log, Next next)
      : client_(client), clock_(clock), log_(log), next_(std::move(next)) {}

  // Call it when the pod is told to stop. Doesn't wait if nobody scrapes, if the next scrape comes
  // too late, or if the pod isn't being deleted or can't be read. Calls `turn` repeatedly while it
  // waits.
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
