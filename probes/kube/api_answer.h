// Answers of the Kubernetes API. Only a definite answer becomes a value or kNotFound; every other
// one is an error that says nothing about the object. Source: k8s.io/apimachinery `metav1.Status`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/base/json.h"
#include "probes/base/result.h"
#include "probes/kube/api_request.h"
#include "probes/kube/last_glance.h"

namespace cluster_watcher {

enum class ApiFailure {
  kUnreachable,   // no answer: refused, reset, timed out, TLS
  kStopped,       // told to stop before the answer came
  kNotSent,       // it was no longer to be sent (Patience::While)
  kUnauthorized,  // 401
  kForbidden,     // 403
  kNotFound,      // a 404 Status, reason NotFound, whose details name exactly the object asked for
  kNotServed,     // any other 404: it says nothing about the object
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
  bool may_repeat_at_once = false;
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

// Interprets `result` as the answer to `request`; one that may be known is looked up in `last`,
// and kept there.
ApiResult Interpret(const ApiRequest& request, HttpResult result, LastGlance* last = nullptr);

// Returns the single item of a ListByName answer; an absent view if the list is empty.
JsonValue OnlyItem(const ApiAnswer& answer);

// The failure of a request that has no answer.
ApiFailure FailureOf(TransportError::Kind kind);
// Returns the error of `request`: `why` after the operation and the object.
Unexpected<ApiError> Fail(ApiFailure failure, const ApiRequest& request, const std::string& why,
                          std::optional<Duration> retry_after = std::nullopt);

}  // namespace cluster_watcher
