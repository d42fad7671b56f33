#include "test/small_kubernetes/faults.h"

namespace cluster_watcher::small_kubernetes {
namespace {

Fault::Action ActionOf(std::string_view word) {
  if (word == "pass") return Fault::Action::kPass;
  if (word == "drop") return Fault::Action::kDrop;
  if (word == "hang") return Fault::Action::kHang;
  if (word == "truncate") return Fault::Action::kTruncate;
  return Fault::Action::kAnswer;
}

}  // namespace

std::optional<Fault> Faults::Take(std::string_view method, std::string_view target,
                                  std::string_view user) {
  for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
    const bool matches = (fault->method.empty() || fault->method == method) &&
                         (fault->user.empty() || fault->user == user) &&
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

Fault FaultFromJson(const Value& json) {
  Fault fault;
  fault.method = TextOf(Find(json, "method"));
  fault.contains = TextOf(Find(json, "contains"));
  fault.user = TextOf(Find(json, "user"));
  fault.skip = static_cast<int>(NumberOf(Find(json, "skip"), 0));
  fault.times = static_cast<int>(NumberOf(Find(json, "times"), 1));
  fault.action = ActionOf(TextOf(Find(json, "action")));
  fault.apply = IsTrue(Find(json, "apply"));
  fault.response.status = static_cast<int>(NumberOf(Find(json, "status"), 500));
  fault.response.body = TextOf(Find(json, "body"));
  if (const Value* type = Find(json, "contentType")) fault.response.content_type = TextOf(type);
  if (const Value* seconds = Find(json, "retryAfter")) {
    fault.response.retry_after = static_cast<int>(NumberOf(seconds, 1));
  }
  fault.delay = Duration(NumberOf(Find(json, "delay"), 0));
  fault.delay_after = Duration(NumberOf(Find(json, "delayAfter"), 0));
  return fault;
}

}  // namespace cluster_watcher::small_kubernetes
