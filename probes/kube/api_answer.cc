#include "probes/kube/api_answer.h"

#include <algorithm>
#include <utility>

#include "probes/kube/object_meta.h"

namespace cluster_watcher {
namespace {

// Returns the verb as RBAC names it.
const char* Verb(const ApiRequest& request) {
  switch (request.http.method) {
    case HttpMethod::kGet:
      return request.expect == ApiRequest::Expect::kList ? "list" : "get";
    case HttpMethod::kPost:
      return "create";
    case HttpMethod::kPatch:
      return "patch";
    case HttpMethod::kPut:
      return "update";
    case HttpMethod::kDelete:
      return "delete";
  }
  return "";
}

std::string Operation(const ApiRequest& request) {
  std::string text = Verb(request);
  if (request.type.plural.empty()) {
    return text + " " + request.http.target.substr(0, request.http.target.find('?'));
  }
  text += " " + request.type.QualifiedName();
  if (!request.name.empty()) text += " \"" + request.name + "\"";
  if (request.type.namespaced && !request.ns.empty()) text += " in namespace " + request.ns;
  return text;
}

Unexpected<ApiError> InPassing(Unexpected<ApiError> failed) {
  failed.error.may_repeat_at_once = true;
  return failed;
}

// Returns the start of an unexpected body as a single printable line.
std::string Excerpt(std::string_view body, std::size_t size = 120) {
  std::string text;
  for (char c : body.substr(0, size)) text += c >= ' ' && c < 127 ? c : ' ';
  return text;
}

// Whether a 404's Status names exactly the requested object. A 404 has many other causes: no such
// resource, a proxy's page, an aggregated API that is down.
bool NamesObject(JsonValue status, const ApiRequest& request) {
  const JsonValue details = status["details"];
  return status["kind"].AsString() == "Status" && status["apiVersion"].AsString() == "v1" &&
         status["status"].AsString() == "Failure" && status["reason"].AsString() == "NotFound" &&
         status["code"].AsInteger() == 404 && !request.name.empty() &&
         details["name"].AsString() == request.name &&
         details["kind"].AsString() == request.type.plural &&
         details["group"].AsString().value_or("") == request.type.group;
}

// RBAC's refusals have no causes. An admission policy's status is what its `reason` says: 403, 413
// or 422; a webhook's what it likes.
std::string PolicyThatRefused(JsonValue status) {
  const std::string_view words = status["message"].AsString().value_or("");
  if (words.starts_with("admission webhook")) return Excerpt(words, 400);
  for (JsonValue cause : status["details"]["causes"].Elements()) {
    const auto message = cause["message"].AsString();
    if (message && message->find("AdmissionPolicy '") != message->npos) {
      return Excerpt(*message, 400);
    }
  }
  return "";
}

// Returns all that was said against the request: the message, and the causes that it leaves out.
std::string WordsOf(JsonValue status) {
  constexpr std::size_t kLongest = 4096;
  std::string words = Excerpt(status["message"].AsString().value_or(""), kLongest);
  for (JsonValue cause : status["details"]["causes"].Elements()) {
    const std::string message = Excerpt(cause["message"].AsString().value_or(""), kLongest);
    if (words.size() > kLongest || words.find(message) != std::string::npos) continue;
    const std::string field = Excerpt(cause["field"].AsString().value_or(""));
    if (!words.empty()) words += "; ";
    if (!field.empty()) words += field + ": ";
    words += message;
  }
  return words;
}

ApiFailure FailureOf(int status) {
  switch (status) {
    case 400:
    case 415:
    case 422:
      return ApiFailure::kInvalid;
    case 401:
      return ApiFailure::kUnauthorized;
    case 403:
      return ApiFailure::kForbidden;
    case 404:
      return ApiFailure::kNotServed;
    case 409:
      return ApiFailure::kConflict;
    case 429:
      return ApiFailure::kThrottled;
    default:
      return status >= 500 ? ApiFailure::kServer : ApiFailure::kUnexpected;
  }
}

Unexpected<ApiError> InterpretError(const ApiRequest& request, const HttpResponse& response) {
  ApiFailure failure = FailureOf(response.status);
  std::string why = "HTTP " + std::to_string(response.status);
  if (failure == ApiFailure::kUnauthorized) why += ", the token has expired or is not valid here";
  auto document = IsJson(response.content_type) ? JsonDocument::Parse(response.body)
                                                : Result<JsonDocument>(Failure("not JSON"));
  if (!document) {
    return Fail(failure, request, why + " " + Excerpt(response.body), response.retry_after);
  }
  const JsonValue status = document->root();
  if (response.status == 404 && NamesObject(status, request)) failure = ApiFailure::kNotFound;
  if (const std::string words = WordsOf(status); !words.empty()) why += ": " + words;
  auto retry_after = response.retry_after;
  if (auto seconds = status["details"]["retryAfterSeconds"].AsInteger(); seconds && !retry_after) {
    retry_after = std::chrono::seconds(std::clamp<std::int64_t>(*seconds, 0, 3600));
  }
  auto failed = Fail(failure, request, why, retry_after);
  failed.error.policy = PolicyThatRefused(status);
  return failed;
}

// Says how the metadata of `object` differs from the request; nullopt if it fits.
std::optional<std::string> WrongPlace(const ApiRequest& request, JsonValue object) {
  auto meta = ReadObjectMeta(object);
  if (!meta) return meta.error().message;
  if (!request.name.empty() && meta->name != request.name) {
    return "an object of another name, \"" + Excerpt(meta->name) + "\"";
  }
  if (request.type.namespaced && !request.ns.empty() && meta->ns() != request.ns) {
    return "an object of another namespace, \"" + Excerpt(meta->ns()) + "\"";
  }
  return std::nullopt;
}

bool IsKind(JsonValue object, std::string_view api_version, std::string_view kind) {
  return object["apiVersion"].AsString() == api_version && object["kind"].AsString() == kind;
}

std::optional<std::string> WrongObject(const ApiRequest& request, JsonValue object) {
  const bool right_kind =
      IsKind(object, request.type.ApiVersion(), request.type.kind) ||
      (request.metadata_only && IsKind(object, "meta.k8s.io/v1", "PartialObjectMetadata"));
  if (!right_kind) return "an object of another kind";
  return WrongPlace(request, object);
}

// A definition may name its list kind as it likes (`listKind`), and nothing that the watcher may
// read tells it. So for a kind that isn't built in any list kind of the right apiVersion will do,
// unless it is a built-in kind's. Source: k8s.io/apiextensions-apiserver,
// CustomResourceDefinitionNames.
bool IsListOf(const ResourceType& type, JsonValue list) {
  const std::string_view kind = list["kind"].AsString().value_or("");
  if (!IsKind(list, type.ApiVersion(), kind)) return false;
  if (kind == type.kind + "List") return true;
  constexpr std::string_view kList = "List";
  if (!kind.ends_with(kList) || kind == kList || kind == type.kind) return false;
  const std::string_view item = kind.substr(0, kind.size() - kList.size());
  return FindBuiltInByName(type.plural, type.group) == nullptr &&
         FindBuiltInByName(item, "") == nullptr;
}

std::optional<std::string> WrongList(const ApiRequest& request, JsonValue list) {
  const bool right_kind =
      IsListOf(request.type, list) ||
      (request.metadata_only && IsKind(list, "meta.k8s.io/v1", "PartialObjectMetadataList"));
  if (!right_kind) return "not a list of this kind";
  const JsonValue version = list["metadata"]["resourceVersion"];
  if (!version.AsString() || version.AsString()->empty()) return "a list without resourceVersion";
  // Only an empty PartialObjectMetadataList may have null items.
  const bool may_be_null = request.metadata_only && request.name.empty() &&
                           list["kind"].AsString() == "PartialObjectMetadataList";
  if (!list["items"].IsArray() && !(may_be_null && list["items"].IsNull())) {
    return "a list without items";
  }
  for (JsonValue item : list["items"].Elements()) {
    if (auto wrong = WrongPlace(request, item)) return wrong;
    // Lists of built-in kinds leave this out.
    const bool typed = !request.metadata_only && item["kind"].Exists();
    if (typed && !IsKind(item, request.type.ApiVersion(), request.type.kind)) {
      return "a list with an object of another kind";
    }
  }
  const JsonValue rest = list["metadata"]["continue"];
  if (rest.Exists() && !rest.AsString()) return "a list whose continue is not a string";
  if (request.name.empty()) return std::nullopt;
  if (list["items"].size() > 1) return "a list by name with more than one item";
  if (rest.Exists() && rest.AsString() != "") return "a list by name that was cut into pages";
  return std::nullopt;
}

}  // namespace

ApiFailure FailureOf(TransportError::Kind kind) {
  using Kind = TransportError::Kind;
  if (kind == Kind::kStopped) return ApiFailure::kStopped;
  return kind == Kind::kNotSent ? ApiFailure::kNotSent : ApiFailure::kUnreachable;
}

Unexpected<ApiError> Fail(ApiFailure failure, const ApiRequest& request, const std::string& why,
                          std::optional<Duration> retry_after) {
  return {ApiError{failure, Operation(request) + ": " + why, retry_after,
                   failure == ApiFailure::kThrottled || failure == ApiFailure::kServer}};
}

bool IsTransient(ApiFailure failure) {
  switch (failure) {
    case ApiFailure::kUnreachable:
    case ApiFailure::kStopped:
    case ApiFailure::kNotSent:
    case ApiFailure::kUnauthorized:
    case ApiFailure::kConflict:
    case ApiFailure::kThrottled:
    case ApiFailure::kServer:
    case ApiFailure::kUnexpected:
      return true;
    case ApiFailure::kForbidden:
    case ApiFailure::kNotFound:
    case ApiFailure::kNotServed:
    case ApiFailure::kInvalid:
      return false;
  }
  return true;
}

ApiResult Interpret(const ApiRequest& request, HttpResult result, LastGlance* last) {
  if (!result) {
    auto failed = Fail(FailureOf(result.error().kind), request, result.error().message);
    failed.error.too_large = result.error().kind == TransportError::Kind::kTooLarge;
    failed.error.may_have_arrived = result.error().may_have_arrived;
    const bool broke = result.error().kind == TransportError::Kind::kConnect;
    return broke ? InPassing(std::move(failed)) : failed;
  }
  // Another 2xx isn't enough for a read: a 206 looks complete but is only a part.
  const bool is_read = request.http.method == HttpMethod::kGet;
  const bool done =
      is_read ? result->status == 200 : result->status >= 200 && result->status <= 299;
  if (!done) return InterpretError(request, *result);
  if (!IsJson(result->content_type)) {
    return Fail(ApiFailure::kUnexpected, request,
                "HTTP " + std::to_string(result->status) + " with a body that is not JSON (" +
                    Excerpt(result->content_type) + "): " + Excerpt(result->body));
  }
  const bool may_be_known = last != nullptr && request.may_be_known;
  if (may_be_known) {
    if (auto same = last->Same(request.http.target, result->body)) {
      return ApiAnswer{*std::move(same), result->date, {}};
    }
  }
  auto document = JsonDocument::Parse(result->body);
  if (!document) {
    return InPassing(
        Fail(ApiFailure::kUnexpected, request, "bad JSON: " + document.error().message));
  }
  std::optional<std::string> wrong;
  switch (request.expect) {
    case ApiRequest::Expect::kObject:
      wrong = WrongObject(request, document->root());
      break;
    case ApiRequest::Expect::kList:
      wrong = WrongList(request, document->root());
      break;
    case ApiRequest::Expect::kDocument:
      if (!document->root().IsObject()) wrong = "not an object";
      break;
  }
  if (wrong) return Fail(ApiFailure::kUnexpected, request, "the answer is " + *wrong);
  if (may_be_known) last->Keep(request.http.target, std::move(result->body), *document);
  return ApiAnswer{*std::move(document), result->date, std::move(result->warnings)};
}

JsonValue OnlyItem(const ApiAnswer& answer) { return answer.document.root()["items"].At(0); }

}  // namespace cluster_watcher
