// Requests to the Kubernetes API in its own terms, and what their answers mean. Only a definite
// answer is a value or kNotFound; whatever else comes back is an error that says nothing about the
// object. Source: kubernetes.io "Kubernetes API Concepts", k8s.io/apimachinery `metav1.Status`.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probes/base/json.h"
#include "probes/base/result.h"
#include "probes/kube/object_meta.h"
#include "probes/kube/resource_type.h"
#include "probes/kube/token_source.h"
#include "probes/kube/transport.h"

namespace cluster_watcher {

enum class ApiFailure {
  kUnreachable,   // no answer: refused, reset, timed out, TLS
  kStopped,       // told to stop first
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

// Whether the same request may be answered otherwise later: it wasn't refused for good.
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

// Whether a read may come from the API server's cache, which may lag, or must be consistent.
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
  // Its scale subresource (autoscaling/v1 Scale). Never kNotFound: a kind without that subresource
  // is answered as if the object were missing.
  static ApiRequest GetScale(const ResourceType& type, std::string_view ns, std::string_view name,
                             Freshness freshness);
  // A list with fieldSelector=metadata.name=NAME: its empty answer is positive evidence of absence,
  // and resourceNames in RBAC authorize it.
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
  // Deletes only the object that has this UID.
  static ApiRequest Delete(const ResourceType& type, std::string_view ns, std::string_view name,
                           std::string_view uid, PropagationPolicy propagation, bool dry_run);
};

// One finished request, for metrics and logs. `status` 0: there was no answer.
struct RequestRecord {
  HttpMethod method;
  std::string_view target;  // path and query; as long as the call
  int status;
  std::chrono::microseconds elapsed;
  bool retry;  // of a request that was answered 401 with an older token
};
using RequestObserver = std::function<void(const RequestRecord&)>;

class KubeClient {
 public:
  KubeClient(Transport& transport, TokenSource& tokens, RequestObserver observer);

  // A value is a 200 answer, to a write any 2xx, that is what was asked for: an object of this kind
  // and name, a list of this kind. A 401 is tried once more if the token has changed; nothing else
  // is.
  ApiResult Do(const ApiRequest& request, std::stop_token stop);
  // Side by side; the results in the order of the requests.
  std::vector<ApiResult> DoAll(std::span<const ApiRequest> requests, std::size_t concurrency,
                               std::stop_token stop);
  // While one of these lives, the first requests that aren't answered in time are the last ones
  // that are sent; the others fail as they did. So what needs every answer ends after one time-out
  // and not after as many as there are requests. Within another it ends nothing.
  class UntilTimeout {
   public:
    explicit UntilTimeout(KubeClient& client)
        : client_(client), within_another_(client.until_timeout_) {
      client_.until_timeout_ = true;
    }
    ~UntilTimeout() {
      if (within_another_) return;
      client_.until_timeout_ = false;
      client_.timed_out_.reset();
    }
    UntilTimeout(const UntilTimeout&) = delete;
    UntilTimeout& operator=(const UntilTimeout&) = delete;

   private:
    KubeClient& client_;
    const bool within_another_;
  };
  // What is asked while one of these lives holds nothing else up: no Retry-After is taken note of.
  class IgnoreRetryAfter {
   public:
    explicit IgnoreRetryAfter(KubeClient& client) : client_(client), before_(client.retry_after_) {}
    ~IgnoreRetryAfter() { client_.retry_after_ = before_; }
    IgnoreRetryAfter(const IgnoreRetryAfter&) = delete;
    IgnoreRetryAfter& operator=(const IgnoreRetryAfter&) = delete;

   private:
    KubeClient& client_;
    const Duration before_;
  };
  // The longest that an answer since the last call asked to wait before the next request, by
  // Retry-After; 0: none did.
  Duration TakeRetryAfter();

  // Shows each object of a List or ListBySelector, page by page, and keeps none: there may be many.
  // Where a later page fails, the objects of those before it were shown.
  Result<Done, ApiError> EachItem(const ApiRequest& first,
                                  const std::function<void(JsonValue)>& show, std::stop_token stop);
  // Of several of them, the first pages side by side; the results in the order of `firsts`.
  std::vector<Result<Done, ApiError>> EachItemSideBySide(
      std::span<const ApiRequest> firsts, std::size_t concurrency,
      const std::function<void(std::size_t which, JsonValue item)>& show, std::stop_token stop);

 private:
  // From `page` on.
  Result<Done, ApiError> EachPage(const ApiRequest& first, ApiResult page,
                                  const std::function<void(JsonValue)>& show, std::stop_token stop);
  std::vector<HttpResult> Send(std::span<const ApiRequest> requests, std::size_t concurrency,
                               std::stop_token stop, bool retry);

  Transport& transport_;
  TokenSource& tokens_;
  RequestObserver observer_;
  Duration retry_after_{0};
  bool until_timeout_ = false;
  std::optional<TransportError> timed_out_;
};

// What `result` means as the answer to `request`. Pure.
ApiResult Interpret(const ApiRequest& request, HttpResult result);

// The single item of a ListByName answer, an absent view where the list is empty.
JsonValue OnlyItem(const ApiAnswer& answer);

}  // namespace cluster_watcher
