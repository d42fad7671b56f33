// Bounds how long a command goes on.
#pragma once

#include <atomic>
#include <stop_token>
#include <thread>
#include <utility>

#include "probes/base/clock.h"

namespace cluster_watcher {

// Requests a stop once `stop` is requested, or `limit` is over; 0: there is none.
class TimeLimit {
 public:
  TimeLimit(std::stop_token stop, Duration limit) : on_stop_(std::move(stop), Request{stop_}) {
    if (limit == Duration(0)) return;
    thread_ = std::jthread([this, limit](const std::stop_token& ends) {
      SystemClock clock;
      if (!clock.WaitUntil(clock.Now() + limit, ends) || stop_.stop_requested()) return;
      is_over_ = true;
      stop_.request_stop();
    });
  }

  std::stop_token token() const { return stop_.get_token(); }
  // Whether it is the limit that has requested the stop.
  bool IsOver() const { return is_over_; }

 private:
  struct Request {
    std::stop_source& stop;
    void operator()() const { stop.request_stop(); }
  };
  std::stop_source stop_;
  std::atomic<bool> is_over_ = false;
  std::stop_callback<Request> on_stop_;
  std::jthread thread_;
};

}  // namespace cluster_watcher
