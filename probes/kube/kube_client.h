// Sends requests to the Kubernetes API and interprets the answers. Only a definite answer becomes a
// value or kNotFound; every other one is an error that says nothing about the object. Source:
// kubernetes.io "Kubernetes API Concepts", k8s.io/apimachinery `metav1.Status`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probes/base/json.h"
#include "probes/base/result.h"
#include "probes/kube/last_glance.h"
#include "probes/kube/object_meta.h"
#include "probes/kube/patience.h"
#include "probes/kube/resource_type.h"
#include "probes/kube/token_source.h"
#include "probes/kube/transport.h"

namespace cluster_watcher {

enum class ApiFailure {
  kUnreachable,   // no answer: refused, reset, timed out, TLS
  kStopped,       // told to stop before the answer came
  kNotSent,       // it was no longer to be sent (Patience::While)
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

// Whether the same request may succeed later. If not, it was refused permanently.
bool IsTransient(ApiFailure failure);

struct ApiError {
  ApiFailure failure = ApiFailure::kUnexpected;
  std::string message;  // for people: names the object, the operation and the answer
  std::optional<Duration> retry_after;
  // The same read may succeed right away: 429, 5xx, a connection that broke, half an answer.
  bool is_transient = false;
  bool too_large = false;  // the answer exceeded what is accepted
  // Whether the API server may have carried it out; false: the request was never sent.
  bool may_have_arrived = true;
  // The words of an admission policy that refused the request; empty if none did. Source:
  // kubernetes.io "Validating Admission Policy".
  std::string policy = {};
};

struct ApiAnswer {
  JsonDocument document;
  std::optional<WallTime> server_time;  // the answer's Date
  std::vector<std::string> warnings;    // of the API server, for people
};
using ApiResult = Result<ApiAnswer, ApiError>;

// A glance may be answered from the API server's cache, which may lag; a sure read is consistent.
enum class Freshness { kGlance, kSure };

enum class PropagationPolicy { kBackground, kForeground };

struct ApiRequest {
  enum class Expect { kObject, kList, kDocument };

  HttpRequest http;
  Expect expect = Expect::kDocument;
  ResourceType type;
  std::string ns;
  std::string name;  // of the object; empty for lists by selector
  bool metadata_only = false;
  // An answer that says the same as the last needn't be parsed again (LastGlance).
  bool may_be_known = false;

  static ApiRequest Get(const ResourceType& type, std::string_view ns, std::string_view name,
                        Freshness freshness = Freshness::kSure);
  static ApiRequest GetMetadata(const ResourceType& type, std::string_view ns,
                                std::string_view name, Freshness freshness = Freshness::kSure);
  // A list with fieldSelector=metadata.name=NAME. An empty answer is positive evidence of absence,
  // and RBAC rules with resourceNames authorize the request.
  static ApiRequest ListByName(const ResourceType& type, std::string_view ns, std::string_view name,
                               Freshness freshness);
  // The first page of all objects of the kind.
  static ApiRequest List(const ResourceType& type, std::string_view ns);
  static ApiRequest ListMetadata(const ResourceType& type, std::string_view ns);
  // The same of pods that have neither succeeded nor failed, and that `selector` finds (empty:
  // all).
  static ApiRequest ListUnendedPods(std::string_view ns, std::string_view selector = {},
                                    bool metadata_only = true);
  // The first page of the objects that match `selector` (not empty).
  static ApiRequest ListBySelector(const ResourceType& type, std::string_view ns,
                                   std::string_view selector, bool metadata_only);
  static ApiRequest Discover(std::string path);  // "/apis", "/apis/apps/v1", "/version"
  // `body` is a JSON merge patch (RFC 7386).
  static ApiRequest MergePatch(const ResourceType& type, std::string_view ns, std::string_view name,
                               std::string body);
  static ApiRequest Create(const ResourceType& type, std::string_view ns, std::string body);
  // Says which field manager writes.
  ApiRequest By(std::string_view manager) &&;
  // Deletes the object only if it has the UID, and the resourceVersion if one is given.
  struct Preconditions {
    std::string_view uid;
    std::string_view resource_version = {};  // empty: any
  };
  static ApiRequest Delete(const ResourceType& type, std::string_view ns, std::string_view name,
                           const Preconditions& preconditions, PropagationPolicy propagation,
                           bool dry_run);
};

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

// Interprets `result` as the answer to `request`; one that may be known is looked up in `last`,
// and kept there.
ApiResult Interpret(const ApiRequest& request, HttpResult result, LastGlance* last = nullptr);

// Returns the single item of a ListByName answer; an absent view if the list is empty.
JsonValue OnlyItem(const ApiAnswer& answer);

}  // namespace cluster_watcher
