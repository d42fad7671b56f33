// Sends requests to the Kubernetes API, side by side and page by page, with its token. Source:
// kubernetes.io "Kubernetes API Concepts".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probes/kube/api_answer.h"
#include "probes/kube/api_request.h"
#include "probes/kube/last_glance.h"
#include "probes/kube/object_meta.h"
#include "probes/kube/patience.h"
#include "probes/kube/resource_type.h"
#include "probes/kube/token_source.h"
#include "probes/kube/transport.h"

namespace cluster_watcher {

// One finished request, for metrics and logs. `status` is 0 if there was no answer.
struct RequestRecord {
  HttpMethod method;
  std::string_view target;  // path and query; valid during the call
  int status;
  std::chrono::microseconds elapsed;
  bool retry;  // of a request that was answered 401 with an older token, or that failed for the
               // moment
};
using RequestObserver = std::function<void(const RequestRecord&)>;

// Date headers are whole seconds.
inline constexpr Duration kDateRounding{1'000};
// The last Date header of each connection, by HttpResponse::connection; nullopt where more than one
// server answers, whose clocks differ.
using ServerDates = std::map<std::uint32_t, std::optional<WallTime>>;

// Whether a Retry-After in an answer is noted for TakeRetryAfter, or ignored because it must not
// delay other requests.
enum class RetryAfter { kNote, kIgnore };

class KubeClient {
 public:
  KubeClient(Transport& transport, TokenSource& tokens, RequestObserver observer);

  // Returns a value only if the answer is 200 (any 2xx for a write) and what the request expects:
  // an object of this kind and name, a list of this kind, or any JSON object. A 401 is retried once
  // if the token has changed. Within a look, a read that fails for the moment is repeated
  // (LookReads); nothing else is retried.
  ApiResult Do(const ApiRequest& request, const Patience& patience);
  // Sends the requests side by side. The results are in the order of the requests.
  std::vector<ApiResult> DoAll(std::span<const ApiRequest> requests, std::size_t concurrency,
                               const Patience& patience,
                               RetryAfter retry_after = RetryAfter::kNote);
  // Sends reads of a look side by side, ahead of the calls that need their answers: each of these
  // then takes one and sends nothing. Does nothing outside of a look.
  void ReadAhead(std::span<const ApiRequest> requests, std::size_t concurrency,
                 const Patience& patience);
  const ServerDates& dates() const { return dates_; }
  // Returns the longest noted Retry-After since the last call; 0 if there was none.
  Duration TakeRetryAfter();

  // Shows each object of a list, page by page, and keeps none, because there may be many. A list
  // with an object whose metadata ReadObjectMeta refuses is an error as a whole. If a later page
  // fails, the objects of earlier pages have been shown.
  Result<Done, ApiError> EachItem(const ApiRequest& first,
                                  const std::function<void(JsonValue)>& show,
                                  const Patience& patience);
  // Shows them until `is_it` returns true, and returns whether it did. Later pages aren't read
  // then.
  Result<bool, ApiError> AnyItem(const ApiRequest& first,
                                 const std::function<bool(JsonValue)>& is_it,
                                 const Patience& patience);
  // Shows all objects of several lists; the first pages are read side by side. The results are in
  // the order of `firsts`.
  std::vector<Result<Done, ApiError>> EachItemSideBySide(
      std::span<const ApiRequest> firsts, std::size_t concurrency,
      const std::function<void(std::size_t which, JsonValue item)>& show, const Patience& patience);

 private:
  std::vector<ApiResult> Fetch(std::span<const ApiRequest> requests, std::size_t concurrency,
                               const Patience& patience, RetryAfter retry_after);
  std::vector<ApiResult> FetchOnce(std::span<const ApiRequest> requests, std::size_t concurrency,
                                   const Patience& patience, bool retry);
  void NoteDate(const HttpResponse& response, const Patience& patience);
  // Shows the objects of `page` and of those that follow it until `is_it` returns true.
  Result<bool, ApiError> SearchPages(const ApiRequest& first, ApiResult page,
                                     const std::function<bool(JsonValue)>& is_it,
                                     const Patience& patience);
  std::vector<HttpResult> Send(std::span<const ApiRequest> requests, std::size_t concurrency,
                               const Patience& patience, bool retry);

  Transport& transport_;
  TokenSource& tokens_;
  RequestObserver observer_;
  Duration retry_after_{0};
  ServerDates dates_;
  LastGlance last_glance_;
};

}  // namespace cluster_watcher
