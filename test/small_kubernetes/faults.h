// Faults that tests inject: which requests are hit, how often, and what happens to them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/base/clock.h"
#include "test/small_kubernetes/status.h"

namespace cluster_watcher::small_kubernetes {

struct Fault {
  enum class Action {
    kPass,    // only delay
    kAnswer,  // with `response` instead of the true answer
    kHang,    // never answer
    kRefuse,  // no connection comes about; only where there are no sockets
  };

  // The requests to hit; an empty text matches every one.
  std::string method;
  std::string contains;  // in path and query
  int skip = 0;          // how many of them pass first
  int times = 1;         // how many are hit; 0 or less: all

  Action action = Action::kAnswer;
  Response response;        // of kAnswer; the request has no effect then
  Duration delay_after{0};  // between the request's effect and the answer
};

class Faults {
 public:
  void Add(Fault fault) { faults_.push_back(std::move(fault)); }
  void Clear() { faults_.clear(); }

  // Returns the first fault that matches and counts the hit.
  std::optional<Fault> Take(std::string_view method, std::string_view target);

 private:
  std::vector<Fault> faults_;
};

}  // namespace cluster_watcher::small_kubernetes
