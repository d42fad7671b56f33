#include "test/small_kubernetes/faults.h"

namespace cluster_watcher::small_kubernetes {
std::optional<Fault> Faults::Take(std::string_view method, std::string_view target) {
  for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
    const bool matches = (fault->method.empty() || fault->method == method) &&
                         target.find(fault->contains) != std::string_view::npos;
    if (!matches) continue;
    if (fault->skip > 0) {
      --fault->skip;
      continue;
    }
    Fault taken = *fault;
    if (fault->times > 0 && --fault->times == 0) faults_.erase(fault);
    return taken;
  }
  return std::nullopt;
}

}  // namespace cluster_watcher::small_kubernetes
