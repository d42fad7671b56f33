// Whether something is so that decides what may be deleted. The answer is evidence for a while.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "probes/base/clock.h"

namespace cluster_watcher {

class StillSo {
 public:
  // `is_so` asks the API server.
  StillSo(Clock& clock, std::function<bool()> is_so) : clock_(clock), is_so_(std::move(is_so)) {}

  // Asks at the first call, and again where the answer has grown old since. Where it isn't so it
  // stays so.
  bool Ask() {
    if (!asked_ || (answer_ && Age() >= kOld)) {
      asked_ = clock_.BootNow();
      answer_ = is_so_();
    }
    return IsFresh();
  }
  // Whether it was so a moment ago. Sends no requests, so a transport may ask.
  bool IsFresh() const { return answer_ && Age() < kFresh; }

 private:
  // Well within the minute that others leave a creation's mark alone.
  static constexpr Duration kFresh{15'000};
  static constexpr Duration kOld{10'000};  // what is sent then would take some of the rest

  BootTime::duration Age() const { return clock_.BootNow() - *asked_; }

  Clock& clock_;
  const std::function<bool()> is_so_;
  std::optional<BootTime> asked_;
  bool answer_ = false;
};

}  // namespace cluster_watcher
