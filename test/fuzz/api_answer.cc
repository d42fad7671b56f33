// Fuzzes answers of the API server: a value is what was asked for, and only a 404 that names the
// object means that it doesn't exist. The first line has the request, the kind, the status and the
// content type, "get deployments 200 application/json"; the rest is the body.
#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "probes/kube/kube_client.h"
#include "test/fuzz/fuzz.h"

namespace cluster_watcher {
namespace {

constexpr char kNamespace[] = "ns";
constexpr char kName[] = "bob";

ApiRequest RequestOf(std::string_view word, const ResourceType& type) {
  if (word == "list")
    return ApiRequest::ListByName(type, kNamespace, kName, Freshness::kConsistent);
  if (word == "all") return ApiRequest::List(type, kNamespace);
  if (word == "select") return ApiRequest::ListBySelector(type, kNamespace, "a=b", false);
  if (word == "select-metadata") return ApiRequest::ListBySelector(type, kNamespace, "a=b", true);
  if (word == "metadata") return ApiRequest::GetMetadata(type, kNamespace, kName);
  if (word == "patch") return ApiRequest::MergePatch(type, kNamespace, kName, "{}");
  if (word == "create") return ApiRequest::Create(type, kNamespace, "{}");
  if (word == "discover") return ApiRequest::Discover("/apis");
  if (word == "delete") {
    return ApiRequest::Delete(type, kNamespace, kName, {"u1"}, PropagationPolicy::kBackground,
                              false);
  }
  return ApiRequest::Get(type, kNamespace, kName);
}

bool IsText(JsonValue value, std::string_view text) { return value.AsString() == text; }
bool IsTextNotEmpty(JsonValue value) { return !value.AsString().value_or("").empty(); }

bool IsKind(JsonValue value, const ApiRequest& request, const std::string& suffix) {
  const bool whole = IsText(value["apiVersion"], request.type.ApiVersion()) &&
                     IsText(value["kind"], request.type.kind + suffix);
  const bool metadata = request.metadata_only && IsText(value["apiVersion"], "meta.k8s.io/v1") &&
                        IsText(value["kind"], "PartialObjectMetadata" + suffix);
  return whole || metadata;
}

// Whether it is an object with the requested name in the requested place.
bool IsInPlace(JsonValue object, const ApiRequest& request) {
  const JsonValue meta = object["metadata"];
  return IsTextNotEmpty(meta["uid"]) && IsTextNotEmpty(meta["resourceVersion"]) &&
         (request.name.empty() ? IsTextNotEmpty(meta["name"]) : IsText(meta["name"], kName)) &&
         (!request.type.namespaced || IsText(meta["namespace"], kNamespace));
}

void CheckList(JsonValue list, const ApiRequest& request) {
  Require(IsKind(list, request, "List"), "a list is of the kind that was asked for");
  Require(IsTextNotEmpty(list["metadata"]["resourceVersion"]), "a list has a resourceVersion");
  Require(list["items"].IsArray() || (list["items"].IsNull() && request.metadata_only),
          "a list has items");
  for (JsonValue item : list["items"].Elements()) {
    Require(IsInPlace(item, request), "what is listed is what was asked for");
  }
  const JsonValue rest = list["metadata"]["continue"];
  Require(!rest.Exists() || rest.AsString(), "the rest of a list can be asked for");
  if (request.name.empty()) return;
  Require(list["items"].IsArray() && list["items"].size() <= 1, "one object has a name, or none");
  Require(!IsTextNotEmpty(rest), "a list by name is whole");
}

void CheckValue(const ApiAnswer& answer, const ApiRequest& request, int status,
                std::string_view content_type) {
  const JsonValue root = answer.document.root();
  Require(status >= 200 && status <= 299, "a value comes with a 2xx");
  Require(content_type.starts_with("application/json"), "a value comes as JSON");
  Require(root.IsObject(), "a value is an object");
  switch (request.expect) {
    case ApiRequest::Expect::kObject:
      Require(IsKind(root, request, ""), "an object is of the kind that was asked for");
      Require(IsInPlace(root, request), "an object is the one that was asked for");
      break;
    case ApiRequest::Expect::kList:
      CheckList(root, request);
      Require(OnlyItem(answer).Exists() == (root["items"].size() > 0), "OnlyItem finds an item");
      break;
    case ApiRequest::Expect::kDocument:
      break;
  }
}

void CheckError(const ApiError& error, const ApiRequest& request, int status,
                std::string_view body) {
  Require(IsOneLine(error.message), "an error is one line");
  Require((error.failure == ApiFailure::kUnreachable) == (status == 0),
          "who answers was reached, who doesn't wasn't");
  Require(error.failure != ApiFailure::kStopped, "nobody stopped it");
  Require((error.failure == ApiFailure::kConflict) == (status == 409), "a conflict is a 409");
  if (error.retry_after) {
    Require(*error.retry_after >= Duration(0) && *error.retry_after <= std::chrono::hours(24),
            "nobody waits for more than a day");
  }
  if (error.failure != ApiFailure::kNotFound) return;
  Require(status == 404, "what is not found is a 404");
  const auto document = JsonDocument::Parse(body);
  Require(document.has_value(), "what is not found is said in JSON");
  const JsonValue details = document->root()["details"];
  Require(IsText(document->root()["reason"], "NotFound") && IsText(details["name"], kName) &&
              IsText(details["kind"], request.type.plural) && request.name == kName &&
              details["group"].AsString().value_or("") == request.type.group,
          "what is not found is what was asked for");
}

}  // namespace

void TryInput(std::string_view input) {
  std::string_view body = input;
  std::string_view line = TakeLine(body);
  const std::string_view word = TakeWord(line);
  const ResourceType* type = FindBuiltInByName(TakeWord(line), "");
  const std::string_view number = TakeWord(line);
  if (type == nullptr) return;
  HttpResponse response;
  std::from_chars(number.data(), number.data() + number.size(), response.status);
  if (response.status < 0 || response.status > 999) return;  // no transport returns such a status
  response.content_type = line;
  response.body = body;

  const ApiRequest request = RequestOf(word, *type);
  const int status = response.status;
  const HttpResult none = Unexpected{TransportError{TransportError::Kind::kTimeout, "no answer"}};
  const ApiResult result = Interpret(request, status == 0 ? none : HttpResult(std::move(response)));
  if (result) {
    CheckValue(*result, request, status, line);
  } else {
    CheckError(result.error(), request, status, body);
  }
}

}  // namespace cluster_watcher
