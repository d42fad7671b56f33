// Faults that tests inject: which requests are hit, how often, and what happens to them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/base/clock.h"
#include "test/small_kubernetes/json.h"
#include "test/small_kubernetes/status.h"

namespace cluster_watcher::small_kubernetes {

struct Fault {
  enum class Action {
    kPass,      // only delay
    kAnswer,    // send `response` instead of the true answer
    kDrop,      // close the connection without an answer
    kHang,      // never answer
    kTruncate,  // send half of the true answer's body, then close
  };

  // The requests to hit; an empty text matches every one.
  std::string method;
  std::string contains;  // in path and query
  std::string user;      // the whole name
  int skip = 0;          // matching requests that pass first
  int times = 1;         // requests that are hit; 0 or less: all

  Action action = Action::kAnswer;
  bool apply = false;  // the request takes effect nevertheless; kPass and kTruncate always apply
  Response response;   // for kAnswer
  Duration delay{0};   // before the request takes effect
  Duration delay_after{0};  // between that and the answer
};

class Faults {
 public:
  void Add(Fault fault) { faults_.push_back(std::move(fault)); }
  void Clear() { faults_.clear(); }
  std::size_t Pending() const { return faults_.size(); }

  // Returns the first fault that matches, and counts the hit.
  std::optional<Fault> Take(std::string_view method, std::string_view target,
                            std::string_view user);

 private:
  std::vector<Fault> faults_;
};

// Reads {"method", "contains", "user", "skip", "times", "action": "answer", "apply", "status",
// "body", "contentType", "retryAfter", "delay", "delayAfter"}; delays are in milliseconds.
Fault FaultFromJson(const Value& json);

}  // namespace cluster_watcher::small_kubernetes
