// Who scrapes the metrics how often, and whether they have seen the last of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cluster_watcher {

// Thread-safe. It knows 16 addresses at the most: for another one it forgets the one that was heard
// of least recently, those first that have scraped only once.
class Scrapers {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::size_t kAddresses = 16;

  // An exposition that was collected at `collected` was sent, whole, to `address`.
  void Scraped(const std::string& address, Time collected);

  // When the next scrape is to be expected of those who scrape regularly (at least two scrapes; the
  // last one not longer ago, at `now`, than twice the time between the last two) and have had none
  // collected after `since`. It is the earliest one, and in the past where that one is late.
  // nullopt: nobody is to be waited for.
  std::optional<Time> NextExpected(Time since, Time now) const;

 private:
  struct Scraper {
    std::string address;
    Time last;
    std::optional<Time> before;  // the scrape before the last one
  };

  mutable std::mutex mutex_;
  std::vector<Scraper> scrapers_;
};

}  // namespace cluster_watcher
