#include "test/small_kubernetes/local_transport.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

namespace cluster_watcher::small_kubernetes {
namespace {

Unexpected<TransportError> Fail(TransportError::Kind kind, const char* message) {
  return {TransportError{kind, message}};
}

}  // namespace

std::vector<HttpResult> LocalTransport::Perform(std::span<const HttpRequest> requests, std::size_t,
                                                std::stop_token stop) {
  // As little as a real one can.
  if (is_asking_) std::abort();
  std::vector<HttpResult> results;
  results.reserve(requests.size());
  for (const HttpRequest& request : requests) results.push_back(PerformOne(request, stop));
  return results;
}

HttpResult LocalTransport::PerformOne(const HttpRequest& request, const std::stop_token& stop) {
  using Kind = TransportError::Kind;
  const Request asked{ToString(request.method), request.target,       request.bearer_token,
                      request.accept,           request.content_type, request.body};
  if (stop.stop_requested()) return Fail(Kind::kStopped, "stopped");
  is_asking_ = true;
  const bool may_send = request.MaySend();
  is_asking_ = false;
  if (!may_send) return Fail(Kind::kNotSent, "it was no longer to be sent");
  const MonotonicTime begin = clock_.Now();
  const MonotonicTime deadline = begin + request.timeout;
  // Returns whether `until` was reached in time.
  const auto wait = [&](MonotonicTime until) {
    return clock_.WaitUntil(std::min(until, deadline), stop) && until < deadline;
  };
  const auto late = [&] {
    return stop.stop_requested() ? Fail(Kind::kStopped, "stopped")
                                 : Fail(Kind::kTimeout, "no answer in time");
  };
  const std::optional<Fault> fault = kubernetes_.GetFaults().Take(asked.method, asked.target);
  if (fault && fault->action == Fault::Action::kRefuse) {
    return Unexpected{TransportError{Kind::kConnect, "connection refused", false}};
  }
  Response response = kubernetes_.Serve(asked, fault ? &*fault : nullptr);
  if (fault) {
    if (fault->action == Fault::Action::kHang) {
      wait(MonotonicTime::max());
      return late();
    }
    if (fault->delay_after.count() > 0 && !wait(clock_.Now() + fault->delay_after)) return late();
  }
  if (response.body.size() > request.body_limit) return Fail(Kind::kTooLarge, "body too large");
  HttpResponse answer;
  answer.status = response.status;
  answer.content_type = std::move(response.content_type);
  answer.body = std::move(response.body);
  if (response.retry_after) answer.retry_after = std::chrono::seconds(*response.retry_after);
  answer.warnings = std::move(response.warnings);
  answer.date = clock_.WallNow();
  answer.elapsed = std::chrono::duration_cast<std::chrono::microseconds>(clock_.Now() - begin);
  return answer;
}

}  // namespace cluster_watcher::small_kubernetes
