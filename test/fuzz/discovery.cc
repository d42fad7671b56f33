// Fuzzes discovery: whatever the API server says about its kinds, what is found is what was sought.
// The first line is the question, "kind apps/v1 Deployment", "plural rayclusters ray.io", "name
// rayjob" or "resolve rayclusters.ray.io"; the answers follow in the order of the requests,
// separated by "---". An empty one is a 404.
#include "probes/kube/discovery.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "test/fuzz/fuzz.h"
#include "test/unit/support/fake_transport.h"

namespace cluster_watcher {
namespace {

bool IsPath(std::string_view text) {
  return text.starts_with('/') && std::all_of(text.begin(), text.end(), [](char c) {
           return c > ' ' && c < 127 && c != '?' && c != '#';
         });
}

template <typename T>
void CheckReason(const Result<T, ApiError>& result) {
  if (!result) Require(IsOneLine(result.error().message), "the reason is one line");
}

// Asks what the line says, and checks the result.
std::vector<ResourceType> Find(std::string_view line, Discovery& discovery) {
  std::vector<ResourceType> found;
  const auto keep = [&found](const Result<std::optional<ResourceType>, ApiError>& result) {
    CheckReason(result);
    if (result && *result) found.push_back(**result);
  };
  const std::string_view question = TakeWord(line);
  if (question == "kind") {
    const std::string_view version = TakeWord(line);
    keep(discovery.ByKind(version, line, {}));
    Require(found.empty() || (found[0].kind == line && found[0].ApiVersion() == version),
            "a kind is of the name and version that was looked for");
  } else if (question == "plural") {
    const std::string_view plural = TakeWord(line);
    keep(discovery.ByPlural(plural, line, {}));
    Require(
        found.empty() || found[0].plural == plural || FindBuiltInByName(plural, line) != nullptr,
        "a plural is the one that was looked for");
  } else if (question == "name") {
    const KindName name = SplitKindName(line);
    const auto types = discovery.ByName(name, {});
    CheckReason(types);
    if (types) found = *types;
    for (const ResourceType& type : found) {
      Require(name.group.empty() || type.group == name.group,
              "a kind is of the group that was named");
    }
  } else if (const ResourceType* type = FindBuiltInByName(line, "")) {
    keep(discovery.Resolve(*type, {}));
    Require(found.empty() || (found[0].plural == type->plural && found[0].group == type->group),
            "a known kind stays what it is");
  }
  return found;
}

}  // namespace

void TryInput(std::string_view input) {
  std::string_view answers = input;
  const std::string_view line = TakeLine(answers);
  FakeApi api;
  api.transport.otherwise = [&answers](const HttpRequest&) {
    const std::string_view answer = TakeUntil(answers, "---\n");
    return answer.empty() ? NoSuchPath() : Answer(200, std::string(answer));
  };
  for (const ResourceType& type : Find(line, api.discovery)) {
    const auto offer = api.discovery.OfferOf(type, {});
    CheckReason(offer);
    Require(IsPath(type.ObjectPath("ns", "bob")), "what is found can be asked for");
    const bool from_documents = FindBuiltInByKind(type.ApiVersion(), type.kind) == nullptr;
    Require(!from_documents || (offer && *offer), "what was found in a document is offered by it");
    CheckReason(api.discovery.OfferNow(type, {}));
  }
  Require(api.transport.requests.size() < 1000, "there is an end to the questions");
  for (const HttpRequest& request : api.transport.requests) {
    Require(IsPath(request.target), "discovery asks for a path, whatever its parts are called");
  }
}

}  // namespace cluster_watcher
