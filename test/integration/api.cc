#include "test/integration/api.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace cluster_watcher::integration {
namespace {

constexpr Duration kTimeout = std::chrono::seconds(30);

std::string Quote(const std::string& text) {
  JsonWriter json;
  json.String(text);
  return json.Text();
}

std::map<std::string, CustomKind>& CustomKinds() {
  static std::map<std::string, CustomKind> kinds;
  return kinds;
}

}  // namespace

const CustomKind* LearnKind(const std::string& definition) {
  const auto document = JsonDocument::Parse(definition);
  if (!document) return nullptr;
  const JsonValue spec = document->root()["spec"];
  const auto text = [](JsonValue value) { return std::string(value.AsString().value_or("")); };
  for (const JsonValue version : spec["versions"].Elements()) {
    if (version["storage"].AsBool() != true) continue;
    CustomKind kind;
    kind.type = {text(spec["group"]), text(version["name"]), text(spec["names"]["plural"]),
                 text(spec["names"]["kind"]), text(spec["scope"]) == "Namespaced"};
    kind.has_status = version["subresources"]["status"].Exists();
    kind.has_scale = version["subresources"]["scale"].Exists();
    return &(CustomKinds()[kind.type.plural] = kind);
  }
  return nullptr;
}

const CustomKind* FindCustomKind(const std::string& plural) {
  const auto found = CustomKinds().find(plural);
  return found == CustomKinds().end() ? nullptr : &found->second;
}

std::string PathOf(const std::string& plural, const std::string& ns, const std::string& name) {
  std::string path;
  if (plural == "events") {
    path = "/apis/events.k8s.io/v1/namespaces/" + ns + "/events";
  } else if (plural == "roles" || plural == "rolebindings") {
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/" + ns + "/" + plural;
  } else if (plural == "serviceaccounts") {
    path = "/api/v1/namespaces/" + ns + "/serviceaccounts";
  } else if (plural == "customresourcedefinitions") {
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  } else if (const CustomKind* kind = FindCustomKind(plural)) {
    path = kind->type.CollectionPath(ns);
  } else {
    const ResourceType* type = FindBuiltInByName(plural, "");
    if (type == nullptr) {
      ADD_FAILURE() << plural << " is not known";
      return "/";
    }
    path = type->CollectionPath(ns);
  }
  return name.empty() ? path : path + "/" + name;
}

Api::Api(const ApiServer& server) : token_(server.token) {
  auto transport = CurlTransport::Create(server);
  if (transport) {
    transport_ = *std::move(transport);
  } else {
    ADD_FAILURE() << transport.error().message;
  }
}

HttpResult Api::Do(HttpMethod method, const std::string& target, const std::string& body,
                   const std::string& content_type) {
  HttpRequest request;
  request.method = method;
  request.target = target;
  request.bearer_token = token_;
  request.body = body;
  request.timeout = kTimeout;
  if (!body.empty()) request.content_type = content_type;
  return std::move(transport_->Perform({&request, 1}, 1, {}).front());
}

JsonDocument Api::Expect(HttpMethod method, const std::string& target, const std::string& body,
                         const std::string& content_type) {
  const HttpResult answer = Do(method, target, body, content_type);
  if (!answer) {
    ADD_FAILURE() << ToString(method) << " " << target << ": " << answer.error().message;
    return {};
  }
  auto document = JsonDocument::Parse(answer->body);
  if (answer->status < 200 || answer->status > 299 || !document) {
    ADD_FAILURE() << ToString(method) << " " << target << " " << body << ": HTTP " << answer->status
                  << " " << answer->body;
    return {};
  }
  return *std::move(document);
}

std::string Api::Create(const std::string& plural, const std::string& ns, const std::string& body) {
  std::string whole = body;
  if (const CustomKind* kind = FindCustomKind(plural)) {
    whole.insert(whole.find('{') + 1, "\"apiVersion\": " + Quote(kind->type.ApiVersion()) +
                                          ", \"kind\": " + Quote(kind->type.kind) + ", ");
  }
  const JsonDocument created = Expect(HttpMethod::kPost, PathOf(plural, ns), whole);
  return std::string(created.root()["metadata"]["uid"].AsString().value_or(""));
}

std::optional<JsonDocument> Api::Get(const std::string& plural, const std::string& ns,
                                     const std::string& name) {
  const std::string path = PathOf(plural, ns, name);
  const HttpResult answer = Do(HttpMethod::kGet, path);
  if (answer && answer->status == 404) return std::nullopt;
  if (!answer || answer->status != 200) {
    ADD_FAILURE() << "GET " << path << ": " << (answer ? answer->body : answer.error().message);
    return std::nullopt;
  }
  auto document = JsonDocument::Parse(answer->body);
  return document ? std::optional(*std::move(document)) : std::nullopt;
}

std::string Api::Uid(const std::string& plural, const std::string& ns, const std::string& name) {
  const auto object = Get(plural, ns, name);
  if (!object || object->root()["metadata"]["deletionTimestamp"].Exists()) return "";
  return std::string(object->root()["metadata"]["uid"].AsString().value_or(""));
}

std::optional<std::string> Api::Annotation(const std::string& plural, const std::string& ns,
                                           const std::string& name, const std::string& key) {
  const auto object = Get(plural, ns, name);
  if (!object) return std::nullopt;
  const auto value = object->root()["metadata"]["annotations"][key].AsString();
  return value ? std::optional<std::string>(*value) : std::nullopt;
}

std::vector<std::string> Api::Names(const std::string& plural, const std::string& ns,
                                    const std::string& label_selector) {
  std::string target = PathOf(plural, ns);
  if (!label_selector.empty()) target += "?labelSelector=" + PercentEncode(label_selector);
  const JsonDocument list = Expect(HttpMethod::kGet, target);
  std::vector<std::string> names;
  for (const JsonValue item : list.root()["items"].Elements()) {
    names.emplace_back(item["metadata"]["name"].AsString().value_or(""));
  }
  return names;
}

void Api::Patch(const std::string& plural, const std::string& ns, const std::string& name,
                const std::string& body) {
  Expect(HttpMethod::kPatch, PathOf(plural, ns, name), body, "application/merge-patch+json");
}

void Api::SetStatus(const std::string& plural, const std::string& ns, const std::string& name,
                    const std::string& status) {
  const CustomKind* kind = FindCustomKind(plural);
  const bool subresource = kind == nullptr || kind->has_status;
  Patch(plural, ns, subresource ? name + "/status" : name, R"({"status": )" + status + "}");
}

void Api::Annotate(const std::string& plural, const std::string& ns, const std::string& name,
                   const std::string& key, const std::string& value) {
  Patch(plural, ns, name,
        R"({"metadata": {"annotations": {)" + Quote(key) + ": " + Quote(value) + "}}}");
}

void Api::Scale(const std::string& plural, const std::string& ns, const std::string& name,
                int replicas) {
  Patch(plural, ns, name, R"({"spec": {"replicas": )" + std::to_string(replicas) + "}}");
}

void Api::Delete(const std::string& plural, const std::string& ns, const std::string& name,
                 const std::string& propagation) {
  const std::string grace = plural == "pods" ? R"(, "gracePeriodSeconds": 0)" : "";
  Expect(HttpMethod::kDelete, PathOf(plural, ns, name),
         R"({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": ")" + propagation +
             "\"" + grace + "}");
}

void Api::ReleaseFinalizers(const std::string& plural, const std::string& ns,
                            const std::string& name) {
  Patch(plural, ns, name, R"({"metadata": {"finalizers": null}})");
}

std::vector<JsonDocument> Api::History(const std::string& plural, const std::string& ns,
                                       const std::string& name,
                                       const std::string& resource_version) {
  const HttpResult answer =
      Do(HttpMethod::kGet, PathOf(plural, ns) + "?watch=1&timeoutSeconds=1&fieldSelector=" +
                               PercentEncode("metadata.name=" + name) +
                               "&resourceVersion=" + resource_version);
  std::vector<JsonDocument> history;
  if (!answer || answer->status != 200) {
    ADD_FAILURE() << "watch " << plural << ": " << (answer ? answer->body : answer.error().message);
    return history;
  }
  for (std::size_t begin = 0; begin < answer->body.size();) {
    const std::size_t end = std::min(answer->body.find('\n', begin), answer->body.size());
    auto event = JsonDocument::Parse(std::string_view(answer->body).substr(begin, end - begin));
    if (event) history.push_back(*std::move(event));
    begin = end + 1;
  }
  return history;
}

std::string Api::Token(const std::string& ns, const std::string& account) {
  const JsonDocument review =
      Expect(HttpMethod::kPost, PathOf("serviceaccounts", ns, account) + "/token",
             R"({"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
                 "spec": {"expirationSeconds": 3600}})");
  return std::string(review.root()["status"]["token"].AsString().value_or(""));
}

}  // namespace cluster_watcher::integration
