// The clients that scrape the metrics, how often they do, and when each is expected again.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cluster_watcher {

// Thread-safe. Remembers at most 16 addresses. To make room it forgets the one heard of least
// recently, starting with those that have scraped only once.
class Scrapers {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::size_t kAddresses = 16;

  // Records that an exposition collected at `collected` was sent completely to `address`.
  void Scraped(const std::string& address, Time collected);

  // When the next scrape is due from a regular scraper that has got nothing collected after
  // `since`. Regular means at least two scrapes, and at `now` the last one is at most twice the
  // last interval ago. Returns the earliest of these times, which is in the past if that scrape is
  // late; nullopt if no scrape is to be expected.
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
