// Sends requests to the Kubernetes API and interprets the answers. Only a definite answer becomes a
// value or kNotFound; every other one is an error that says nothing about the object. Source:
// kubernetes.io "Kubernetes API Concepts", k8s.io/apimachinery `metav1.Status`.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probes/base/json.h"
#include "probes/base/result.h"
#include "probes/kube/object_meta.h"
#include "probes/kube/patience.h"
#include "probes/kube/resource_type.h"
#include "probes/kube/token_source.h"
#include "probes/kube/transport.h"

namespace cluster_watcher {

enum class ApiFailure {
  kUnreachable,   // no answer: refused, reset, timed out, TLS
  kStopped,       // told to stop before the answer came
  kUnauthorized,  // 401
  kForbidden,     // 403
  kNotFound,      // a 404 Status, reason NotFound, whose details name exactly the object asked for
  kNotServed,     // a 404 for the whole resource
  kConflict,      // 409
  kInvalid,       // 400, 415, 422
  kThrottled,     // 429
  kServer,        // 5xx
  kUnexpected,    // anything else: redirects, HTML, JSON that isn't the object asked for
};

// Whether the same request may succeed later. If not, it was refused for good.
bool IsTransient(ApiFailure failure);

struct ApiError {
  ApiFailure failure = ApiFailure::kUnexpected;
  std::string message;  // for people: names the object, the operation and the answer
  std::optional<Duration> retry_after;
};

struct ApiAnswer {
  JsonDocument document;
  std::optional<WallTime> server_time;  // the answer's Date
};
using ApiResult = Result<ApiAnswer, ApiError>;

// A glance may be answered from the API server's cache, which may lag; a sure read is consistent.
enum class Freshness { kGlance, kSure };

enum class PropagationPolicy { kBackground, kForeground, kOrphan };

struct ApiRequest {
  enum class Expect { kObject, kList, kDocument };

  HttpRequest http;
  Expect expect = Expect::kDocument;
  ResourceType type;
  std::string ns;
  std::string name;         // of the object; empty for lists by selector
  std::string subresource;  // "scale"; mostly empty
  bool metadata_only = false;

  static ApiRequest Get(const ResourceType& type, std::string_view ns, std::string_view name,
                        Freshness freshness = Freshness::kSure);
  static ApiRequest GetMetadata(const ResourceType& type, std::string_view ns,
                                std::string_view name);
  // Reads the scale subresource (autoscaling/v1 Scale). The answer is never kNotFound, because API
  // servers answer for a kind without that subresource as if the object were missing.
  static ApiRequest GetScale(const ResourceType& type, std::string_view ns, std::string_view name,
                             Freshness freshness);
  // A list with fieldSelector=metadata.name=NAME. An empty answer is positive evidence of absence,
  // and RBAC rules with resourceNames authorize the request.
  static ApiRequest ListByName(const ResourceType& type, std::string_view ns, std::string_view name,
                               Freshness freshness);
  // The first page of all objects of the kind.
  static ApiRequest List(const ResourceType& type, std::string_view ns);
  // The first page of the objects that match `selector` (not empty).
  static ApiRequest ListBySelector(const ResourceType& type, std::string_view ns,
                                   std::string_view selector, bool metadata_only);
  static ApiRequest Discover(std::string path);  // "/apis", "/apis/apps/v1", "/version"
  // `body` is a JSON merge patch (RFC 7386).
  static ApiRequest MergePatch(const ResourceType& type, std::string_view ns, std::string_view name,
                               std::string body);
  static ApiRequest Create(const ResourceType& type, std::string_view ns, std::string body);
  // Deletes the object only if it has this UID.
  static ApiRequest Delete(const ResourceType& type, std::string_view ns, std::string_view name,
                           std::string_view uid, PropagationPolicy propagation, bool dry_run);
};

// One finished request, for metrics and logs. `status` is 0 if there was no answer.
struct RequestRecord {
  HttpMethod method;
  std::string_view target;  // path and query; valid during the call
  int status;
  std::chrono::microseconds elapsed;
  bool retry;  // of a request that was answered 401 with an older token
};
using RequestObserver = std::function<void(const RequestRecord&)>;

// Whether a Retry-After in an answer is noted for TakeRetryAfter, or ignored because it must not
// delay other requests.
enum class RetryAfter { kNote, kIgnore };

class KubeClient {
 public:
  KubeClient(Transport& transport, TokenSource& tokens, RequestObserver observer);

  // Returns a value only if the answer is 200 (any 2xx for a write) and what the request expects:
  // an object of this kind and name, a list of this kind, or any JSON object. A 401 is retried once
  // if the token has changed; nothing else is retried.
  ApiResult Do(const ApiRequest& request, const Patience& patience);
  // Sends the requests side by side. The results are in the order of the requests.
  std::vector<ApiResult> DoAll(std::span<const ApiRequest> requests, std::size_t concurrency,
                               const Patience& patience,
                               RetryAfter retry_after = RetryAfter::kNote);
  // Returns the longest noted Retry-After since the last call; 0 if there was none.
  Duration TakeRetryAfter();

  // Shows each object of a List or ListBySelector, page by page, and keeps none, because there may
  // be many. If a later page fails, the objects of earlier pages have been shown.
  Result<Done, ApiError> EachItem(const ApiRequest& first,
                                  const std::function<void(JsonValue)>& show,
                                  const Patience& patience);
  // Does so for several lists; the first pages are read side by side. The results are in the order
  // of `firsts`.
  std::vector<Result<Done, ApiError>> EachItemSideBySide(
      std::span<const ApiRequest> firsts, std::size_t concurrency,
      const std::function<void(std::size_t which, JsonValue item)>& show, const Patience& patience);

 private:
  // Shows the objects of `page` and of those that follow it.
  Result<Done, ApiError> EachPage(const ApiRequest& first, ApiResult page,
                                  const std::function<void(JsonValue)>& show,
                                  const Patience& patience);
  std::vector<HttpResult> Send(std::span<const ApiRequest> requests, std::size_t concurrency,
                               const Patience& patience, bool retry);

  Transport& transport_;
  TokenSource& tokens_;
  RequestObserver observer_;
  Duration retry_after_{0};
};

// Interprets `result` as the answer to `request`. Pure.
ApiResult Interpret(const ApiRequest& request, HttpResult result);

// Returns the single item of a ListByName answer; an absent view if the list is empty.
JsonValue OnlyItem(const ApiAnswer& answer);

}  // namespace cluster_watcher
