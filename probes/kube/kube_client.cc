#include "probes/kube/kube_client.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "probes/kube/look_reads.h"
#include "probes/kube/pod_state.h"

namespace cluster_watcher {
namespace {

constexpr int kPageSize = 500;
constexpr int kSmallPageSize = 50;  // of whole objects, which may be large
// Some dozens of first pages are read at a time. One that is larger is read in smaller ones.
constexpr std::size_t kMostBytesOfPage = 1u << 20;
constexpr std::size_t kMostPages = 1000;
constexpr std::size_t kMostDates = 64;  // of connections that may be gone
constexpr std::string_view kMetadataOnly =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;q=0.1";
constexpr std::string_view kMetadataListOnly =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;q=0.1";

ApiRequest MakeRequest(HttpMethod method, ApiRequest::Expect expect, const ResourceType& type,
                       std::string_view ns, std::string_view name) {
  ApiRequest request;
  request.http.method = method;
  request.expect = expect;
  request.type = type;
  request.ns = ns;
  request.name = name;
  return request;
}

ApiRequest FirstPage(const ResourceType& type, std::string_view ns, bool metadata_only,
                     const std::string& selector = "") {
  ApiRequest request = MakeRequest(HttpMethod::kGet, ApiRequest::Expect::kList, type, ns, "");
  request.metadata_only = metadata_only;
  request.http.target = type.CollectionPath(ns) + "?" + selector +
                        "limit=" + std::to_string(metadata_only ? kPageSize : kSmallPageSize);
  request.http.body_limit = kMostBytesOfPage;
  if (metadata_only) request.http.accept = kMetadataListOnly;
  return request;
}

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

Unexpected<ApiError> Fail(ApiFailure failure, const ApiRequest& request, const std::string& why,
                          std::optional<Duration> retry_after = std::nullopt) {
  return {ApiError{failure, Operation(request) + ": " + why, retry_after,
                   failure == ApiFailure::kThrottled || failure == ApiFailure::kServer}};
}

Unexpected<ApiError> InPassing(Unexpected<ApiError> failed) {
  failed.error.is_transient = true;
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
    words += (words.empty() ? "" : "; ") + (field.empty() ? "" : field + ": ") + message;
  }
  return words;
}

// Lets the next pages of a list be half as large; false if each has one object already.
bool HalvePages(ApiRequest& list) {
  constexpr std::string_view kLimit = "limit=";
  std::string& target = list.http.target;
  const std::size_t at = target.find(kLimit);
  if (at == std::string::npos) return false;
  const std::size_t begin = at + kLimit.size();
  const std::size_t size = std::min(target.find('&', begin), target.size()) - begin;
  const int limit = std::atoi(target.substr(begin, size).c_str());
  if (limit <= 1) return false;
  target.replace(begin, size, std::to_string(limit / 2));
  // An object may be larger than a page should be.
  if (limit / 2 == 1) list.http.body_limit = HttpRequest().body_limit;
  return true;
}

ApiRequest PageAfter(const ApiRequest& list, const std::string& token) {
  ApiRequest page = list;
  if (!token.empty()) page.http.target += "&continue=" + PercentEncode(token);
  return page;
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

ApiFailure FailureOf(TransportError::Kind kind) {
  using Kind = TransportError::Kind;
  if (kind == Kind::kStopped) return ApiFailure::kStopped;
  return kind == Kind::kNotSent ? ApiFailure::kNotSent : ApiFailure::kUnreachable;
}

}  // namespace

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

ApiRequest ApiRequest::Get(const ResourceType& type, std::string_view ns, std::string_view name,
                           Freshness freshness) {
  ApiRequest request = MakeRequest(HttpMethod::kGet, Expect::kObject, type, ns, name);
  request.http.target = type.ObjectPath(ns, name);
  if (freshness == Freshness::kGlance) request.http.target += "?resourceVersion=0";
  return request;
}

ApiRequest ApiRequest::GetMetadata(const ResourceType& type, std::string_view ns,
                                   std::string_view name, Freshness freshness) {
  ApiRequest request = Get(type, ns, name, freshness);
  request.metadata_only = true;
  request.http.accept = kMetadataOnly;
  return request;
}

ApiRequest ApiRequest::ListByName(const ResourceType& type, std::string_view ns,
                                  std::string_view name, Freshness freshness) {
  ApiRequest request = MakeRequest(HttpMethod::kGet, Expect::kList, type, ns, name);
  request.http.target =
      type.CollectionPath(ns) + "?fieldSelector=metadata.name%3D" + PercentEncode(name);
  if (freshness == Freshness::kGlance) request.http.target += "&resourceVersion=0";
  return request;
}

ApiRequest ApiRequest::List(const ResourceType& type, std::string_view ns) {
  return FirstPage(type, ns, false);
}

ApiRequest ApiRequest::ListMetadata(const ResourceType& type, std::string_view ns) {
  return FirstPage(type, ns, true);
}

ApiRequest ApiRequest::ListUnendedPods(std::string_view ns, std::string_view selector,
                                       bool metadata_only) {
  std::string query = "fieldSelector=" + PercentEncode(kUnendedPods) + "&";
  if (!selector.empty()) query += "labelSelector=" + PercentEncode(selector) + "&";
  return FirstPage(*FindBuiltInByName("pods", ""), ns, metadata_only, query);
}

ApiRequest ApiRequest::ListBySelector(const ResourceType& type, std::string_view ns,
                                      std::string_view selector, bool metadata_only) {
  return FirstPage(type, ns, metadata_only, "labelSelector=" + PercentEncode(selector) + "&");
}

ApiRequest ApiRequest::Discover(std::string path) {
  ApiRequest request;
  request.http.target = std::move(path);
  return request;
}

ApiRequest ApiRequest::MergePatch(const ResourceType& type, std::string_view ns,
                                  std::string_view name, std::string body) {
  ApiRequest request = MakeRequest(HttpMethod::kPatch, Expect::kObject, type, ns, name);
  request.http.target = type.ObjectPath(ns, name);
  request.http.content_type = "application/merge-patch+json";
  request.http.body = std::move(body);
  request.http.accept = kMetadataOnly;
  request.metadata_only = true;
  return request;
}

ApiRequest ApiRequest::Create(const ResourceType& type, std::string_view ns, std::string body) {
  ApiRequest request = MakeRequest(HttpMethod::kPost, Expect::kDocument, type, ns, "");
  request.http.target = type.CollectionPath(ns);
  request.http.content_type = "application/json";
  request.http.body = std::move(body);
  return request;
}

ApiRequest ApiRequest::By(std::string_view manager) && {
  http.target += "?fieldManager=" + PercentEncode(manager);
  return std::move(*this);
}

ApiRequest ApiRequest::Delete(const ResourceType& type, std::string_view ns, std::string_view name,
                              const Preconditions& preconditions, PropagationPolicy propagation,
                              bool dry_run) {
  ApiRequest request = MakeRequest(HttpMethod::kDelete, Expect::kDocument, type, ns, name);
  request.http.target = type.ObjectPath(ns, name);
  request.http.content_type = "application/json";
  const char* policy = propagation == PropagationPolicy::kBackground ? "Background" : "Foreground";
  JsonWriter body;
  body.StartObject().Field("kind", "DeleteOptions").Field("apiVersion", "v1");
  body.Field("propagationPolicy", policy);
  body.Key("preconditions").StartObject().Field("uid", preconditions.uid);
  if (!preconditions.resource_version.empty()) {
    body.Field("resourceVersion", preconditions.resource_version);
  }
  body.EndObject();
  if (dry_run) body.Key("dryRun").StartArray().String("All").EndArray();
  request.http.body = body.EndObject().Text();
  return request;
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

KubeClient::KubeClient(Transport& transport, TokenSource& tokens, RequestObserver observer)
    : transport_(transport), tokens_(tokens), observer_(std::move(observer)) {}

std::vector<HttpResult> KubeClient::Send(std::span<const ApiRequest> requests,
                                         std::size_t concurrency, const Patience& patience,
                                         bool retry) {
  auto token = tokens_.Token(patience.stop());
  if (!token) {
    const auto kind = patience.stop().stop_requested() ? TransportError::Kind::kStopped
                                                       : TransportError::Kind::kConnect;
    return std::vector<HttpResult>(requests.size(),
                                   Unexpected{TransportError{kind, token.error().message, false}});
  }
  std::vector<HttpRequest> http;
  http.reserve(requests.size());
  for (const ApiRequest& request : requests) {
    http.push_back(request.http);
    http.back().bearer_token = *token;
    http.back().may_send = patience.may_send();
  }
  // Small batches let the observer see signs of life even if every request hangs until its timeout.
  const std::size_t piece =
      (patience.EndsWithTimeout() ? 1 : 2) * std::max<std::size_t>(concurrency, 1);
  std::vector<HttpResult> results;
  results.reserve(http.size());
  while (results.size() < http.size()) {
    const std::size_t first = results.size();
    if (const TransportError* timed_out = patience.timed_out()) {
      TransportError unsent = *timed_out;
      unsent.may_have_arrived = false;
      results.resize(http.size(), Unexpected{std::move(unsent)});
      break;
    }
    const std::size_t size = std::min(http.size() - first, piece);
    for (HttpResult& result :
         transport_.Perform(std::span(http).subspan(first, size), concurrency, patience.stop())) {
      const auto failure = result ? ApiFailure::kUnexpected : FailureOf(result.error().kind);
      if (failure != ApiFailure::kStopped && failure != ApiFailure::kNotSent) {
        const HttpRequest& request = http[results.size()];
        observer_({request.method, request.target, result ? result->status : 0,
                   result ? result->elapsed : std::chrono::microseconds(0), retry});
      }
      if (!result) patience.Note(result.error());
      if (result) NoteDate(*result, patience);
      results.push_back(std::move(result));
    }
  }
  return results;
}

void KubeClient::NoteDate(const HttpResponse& response, const Patience& patience) {
  if (!response.date || response.connection == 0) return;
  if (dates_.size() >= kMostDates && !dates_.contains(response.connection)) dates_.clear();
  auto& last = dates_.try_emplace(response.connection, *response.date).first->second;
  // One clock doesn't go back: a proxy spreads this connection's requests over several servers.
  const bool is_mixed = !last || *response.date < *last - kDateRounding;
  last = is_mixed ? std::nullopt : response.date;
  if (LookReads* reads = patience.reads()) reads->NoteDate(response.connection, *response.date);
}

std::vector<ApiResult> KubeClient::FetchOnce(std::span<const ApiRequest> requests,
                                             std::size_t concurrency, const Patience& patience,
                                             bool retry) {
  auto results = Send(requests, concurrency, patience, retry);
  auto unauthorized = [](const HttpResult& result) { return result && result->status == 401; };
  if (std::any_of(results.begin(), results.end(), unauthorized) &&
      tokens_.Refresh(patience.stop())) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!unauthorized(results[i])) continue;
      HttpResult again = std::move(Send(requests.subspan(i, 1), 1, patience, true).front());
      const bool is_sent = again || again.error().kind != TransportError::Kind::kNotSent;
      if (is_sent) results[i] = std::move(again);
    }
  }
  std::vector<ApiResult> answers;
  answers.reserve(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    answers.push_back(Interpret(requests[i], std::move(results[i]), &last_glance_));
  }
  return answers;
}

std::vector<ApiResult> KubeClient::Fetch(std::span<const ApiRequest> requests,
                                         std::size_t concurrency, const Patience& patience,
                                         RetryAfter retry_after) {
  auto answers = FetchOnce(requests, concurrency, patience, false);
  LookReads* const reads = patience.reads();
  for (int repeats = 0; reads != nullptr && patience.timed_out() == nullptr; ++repeats) {
    std::vector<std::size_t> failed;
    std::vector<ApiRequest> again;
    Duration asked{0};
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i] || !answers[i].error().is_transient) continue;
      if (requests[i].http.method != HttpMethod::kGet) continue;
      failed.push_back(i);
      again.push_back(requests[i]);
      asked = std::max(asked, answers[i].error().retry_after.value_or(Duration(0)));
    }
    if (failed.empty() || !reads->WaitToRepeat(repeats, asked, patience.stop())) break;
    auto repeated = FetchOnce(again, concurrency, patience, true);
    for (std::size_t i = 0; i < failed.size(); ++i) answers[failed[i]] = std::move(repeated[i]);
  }
  for (const ApiResult& answer : answers) {
    if (retry_after == RetryAfter::kNote && !answer && answer.error().retry_after) {
      retry_after_ = std::max(retry_after_, *answer.error().retry_after);
    }
  }
  return answers;
}

void KubeClient::ReadAhead(std::span<const ApiRequest> requests, std::size_t concurrency,
                           const Patience& patience) {
  LookReads* const reads = patience.reads();
  if (reads == nullptr) return;
  auto answers = Fetch(requests, concurrency, patience, RetryAfter::kNote);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    reads->Keep(requests[i], std::move(answers[i]));
  }
}

std::vector<ApiResult> KubeClient::DoAll(std::span<const ApiRequest> requests,
                                         std::size_t concurrency, const Patience& patience,
                                         RetryAfter retry_after) {
  LookReads* const reads = patience.reads();
  if (reads == nullptr) return Fetch(requests, concurrency, patience, retry_after);
  std::vector<std::optional<ApiResult>> ahead;
  std::vector<ApiRequest> missing;
  for (const ApiRequest& request : requests) {
    reads->NoteAsked(request);
    ahead.push_back(reads->Take(request));
    if (!ahead.back()) missing.push_back(request);
  }
  auto fetched = Fetch(missing, concurrency, patience, retry_after);
  auto next = fetched.begin();
  std::vector<ApiResult> answers;
  answers.reserve(requests.size());
  for (auto& answer : ahead) answers.push_back(answer ? *std::move(answer) : std::move(*next++));
  return answers;
}

Duration KubeClient::TakeRetryAfter() { return std::exchange(retry_after_, Duration(0)); }

ApiResult KubeClient::Do(const ApiRequest& request, const Patience& patience) {
  return std::move(DoAll(std::span(&request, 1), 1, patience).front());
}

Result<bool, ApiError> KubeClient::SearchPages(const ApiRequest& first, ApiResult page,
                                               const std::function<bool(JsonValue)>& is_it,
                                               const Patience& patience) {
  ApiRequest list = first;
  std::string after;  // what the current page continues
  // The bound is for a server that repeats a page forever.
  for (std::size_t pages = 0; pages < kMostPages; ++pages) {
    while (!page && page.error().too_large && HalvePages(list)) {
      page = Do(PageAfter(list, after), patience);
    }
    if (!page) return Unexpected{std::move(page).error()};
    after = page->document.root()["metadata"]["continue"].AsString().value_or("");
    for (JsonValue item : page->document.root()["items"].Elements()) {
      if (is_it(item)) return true;
    }
    if (after.empty()) return false;
    page = ApiAnswer{};  // two may take megabytes
    page = Do(PageAfter(list, after), patience);
  }
  return Fail(ApiFailure::kUnexpected, first, "the list has no end");
}

Result<Done, ApiError> KubeClient::EachItem(const ApiRequest& first,
                                            const std::function<void(JsonValue)>& show,
                                            const Patience& patience) {
  const auto show_all = [&](JsonValue item) {
    show(item);
    return false;
  };
  auto read = AnyItem(first, show_all, patience);
  if (!read) return Unexpected{std::move(read).error()};
  return Done{};
}

Result<bool, ApiError> KubeClient::AnyItem(const ApiRequest& first,
                                           const std::function<bool(JsonValue)>& is_it,
                                           const Patience& patience) {
  return SearchPages(first, Do(first, patience), is_it, patience);
}

std::vector<Result<Done, ApiError>> KubeClient::EachItemSideBySide(
    std::span<const ApiRequest> firsts, std::size_t concurrency,
    const std::function<void(std::size_t which, JsonValue item)>& show, const Patience& patience) {
  auto first_pages = DoAll(firsts, concurrency, patience);
  std::vector<Result<Done, ApiError>> read;
  read.reserve(firsts.size());
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    const auto show_all = [&](JsonValue item) {
      show(i, item);
      return false;
    };
    auto pages = SearchPages(firsts[i], std::move(first_pages[i]), show_all, patience);
    read.push_back(pages ? Result<Done, ApiError>(Done{}) : Unexpected{std::move(pages).error()});
  }
  return read;
}

}  // namespace cluster_watcher
