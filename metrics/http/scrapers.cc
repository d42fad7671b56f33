#include "metrics/http/scrapers.h"

#include <algorithm>
#include <utility>

namespace cluster_watcher {

void Scrapers::Scraped(const std::string& address, Time collected) {
  const std::lock_guard lock(mutex_);
  auto scraper = std::ranges::find(scrapers_, address, &Scraper::address);
  if (scraper == scrapers_.end()) {
    if (scrapers_.size() == kAddresses) {
      scrapers_.erase(std::ranges::min_element(scrapers_, {}, [](const Scraper& known) {
        return std::pair(known.before.has_value(), known.last);
      }));
    }
    scrapers_.push_back({address, collected, std::nullopt});
    return;
  }
  // A slow answer may complete after a later one.
  if (collected > scraper->last) {
    scraper->before = std::exchange(scraper->last, collected);
  } else if (collected < scraper->last && (!scraper->before || collected > *scraper->before)) {
    scraper->before = collected;
  }
}

std::optional<Scrapers::Time> Scrapers::NextExpected(Time since, Time now) const {
  const std::lock_guard lock(mutex_);
  std::optional<Time> next;
  for (const Scraper& scraper : scrapers_) {
    if (!scraper.before || scraper.last > since) continue;
    const auto interval = scraper.last - *scraper.before;
    if (now - scraper.last > 2 * interval) continue;
    const Time expected = scraper.last + interval;
    if (!next || expected < *next) next = expected;
  }
  return next;
}

}  // namespace cluster_watcher
