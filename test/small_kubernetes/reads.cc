// Get, list, watch and discovery.
#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "test/small_kubernetes/objects.h"
#include "test/small_kubernetes/small_kubernetes.h"

namespace cluster_watcher::small_kubernetes {
namespace {

std::optional<std::uint64_t> ToNumber(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Where a list in pieces goes on: "VERSION:NAMESPACE:NAME" of the last item before.
struct Continuation {
  std::uint64_t version = 0;
  std::string ns;
  std::string name;
};

std::optional<Continuation> ParseContinuation(std::string_view token) {
  const std::size_t first = token.find(':');
  const std::size_t second = token.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const auto version = ToNumber(token.substr(0, first));
  if (!version) return std::nullopt;
  return Continuation{*version, std::string(token.substr(first + 1, second - first - 1)),
                      std::string(token.substr(second + 1))};
}

std::string DiscoveryEntry(const Resource& resource, std::string_view sub) {
  std::string json = "{\"name\":\"" + resource.plural;
  if (!sub.empty()) json.append("/").append(sub);
  std::string singular = sub.empty() ? resource.kind : "";
  std::transform(singular.begin(), singular.end(), singular.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  json += "\",\"singularName\":\"" + singular +
          "\",\"namespaced\":" + (resource.namespaced ? "true" : "false");
  if (sub == "scale") json += ",\"group\":\"autoscaling\",\"version\":\"v1\"";
  if (sub == "token") json += ",\"group\":\"authentication.k8s.io\",\"version\":\"v1\"";
  json += ",\"kind\":\"" +
          (sub == "scale"   ? "Scale"
           : sub == "token" ? "TokenRequest"
                            : resource.kind) +
          "\",\"verbs\":";
  if (resource.create_only || sub == "token") {
    json += R"(["create"])";
  } else if (!sub.empty()) {
    json += R"(["get","patch","update"])";
  } else if (resource.terminating) {
    json += R"(["delete","deletecollection","get","list","watch"])";
  } else if (resource.kind == "Namespace") {
    json += R"(["create","delete","get","list","patch","update","watch"])";
  } else {
    json += R"(["create","delete","deletecollection","get","list","patch","update","watch"])";
  }
  if (sub.empty() && !resource.short_name.empty()) {
    json += ",\"shortNames\":[\"" + resource.short_name + "\"]";
  }
  const bool in_all = resource.group == "apps" || resource.group == "batch" ||
                      resource.group == "autoscaling" || resource.plural == "pods" ||
                      resource.plural == "services" || resource.plural == "replicationcontrollers";
  if (sub.empty() && in_all) json += R"(,"categories":["all"])";
  return json + "}";
}

std::string ResourceList(const ResourceTable& resources, std::string_view group,
                         std::string_view version) {
  std::string json = R"({"kind":"APIResourceList","apiVersion":"v1","groupVersion":")";
  if (!group.empty()) json.append(group).append("/");
  json.append(version).append("\",\"resources\":[");
  for (const Resource& resource : resources.All()) {
    if (resource.group != group || resource.version != version || resource.removed) continue;
    if (json.back() != '[') json += ',';
    json += DiscoveryEntry(resource, {});
    if (resource.has_status) json += "," + DiscoveryEntry(resource, "status");
    if (resource.has_scale) json += "," + DiscoveryEntry(resource, "scale");
    if (resource.kind == "ServiceAccount") json += "," + DiscoveryEntry(resource, "token");
  }
  return json + "]}\n";
}

std::string Group(const ResourceTable& resources, const std::string& group) {
  std::string versions, first;
  std::set<std::string> seen;
  for (const Resource& resource : resources.All()) {
    if (resource.group != group || resource.removed || !seen.insert(resource.version).second)
      continue;
    const std::string entry = R"({"groupVersion":")" + resource.ApiVersion() + R"(","version":")" +
                              resource.version + "\"}";
    if (first.empty()) first = entry;
    versions += (versions.empty() ? "" : ",") + entry;
  }
  return "\"name\":\"" + group + "\",\"versions\":[" + versions +
         "],\"preferredVersion\":" + first + "}";
}

}  // namespace

std::optional<std::uint64_t> SmallKubernetes::ReadVersion(const Call& call) const {
  const std::string_view asked = call.target.Query("resourceVersion");
  if (asked.empty()) return Store::kNow;
  const std::uint64_t newest = store_.Version();
  const std::uint64_t wanted = ToNumber(asked).value_or(0);
  if (wanted > newest) return std::nullopt;
  if (call.target.Query("resourceVersionMatch") == "Exact") return wanted;
  const std::uint64_t by_versions = newest > stale_versions_ ? newest - stale_versions_ : 1;
  const std::uint64_t by_age = stale_age_.count() > 0 ? store_.VersionBefore(stale_age_) : newest;
  return std::max(wanted, std::min(by_versions, by_age));
}

ObjectPtr SmallKubernetes::Stored(const Call& call) const {
  const std::string_view ns =
      call.resource->namespaced ? std::string_view(call.target.ns) : std::string_view();
  return store_.Get(*call.resource, ns, call.target.name);
}

Response SmallKubernetes::Show(const Call& call, const Object& object, int status) const {
  if (call.representation == Representation::kMetadataList) {
    return NotAcceptable(
        "you requested PartialObjectMetadataList, but the requested object is not a list");
  }
  const bool metadata_only = call.representation == Representation::kMetadata;
  return {status, Render(*call.resource, object, metadata_only) += '\n', "application/json",
          std::nullopt};
}

Response SmallKubernetes::Get(const Call& call) const {
  const auto version = ReadVersion(call);
  if (!version) return Failure(504, "Timeout", "Too large resource version");
  const std::string_view ns =
      call.resource->namespaced ? std::string_view(call.target.ns) : std::string_view();
  const ObjectPtr object = store_.Get(*call.resource, ns, call.target.name, *version);
  if (object == nullptr) return NotFound(*call.resource, call.target.name);
  if (call.target.subresource == "scale") return ReadScale(*object);
  return Show(call, *object);
}

std::optional<Filter> SmallKubernetes::ReadFilter(const Call& call, Response& refusal) const {
  const std::string_view labels = call.target.Query("labelSelector");
  const std::string_view fields = call.target.Query("fieldSelector");
  auto label_selector = LabelSelector::Parse(labels);
  if (!label_selector) {
    refusal = BadRequest("unable to parse requirement: " + std::string(labels));
    return std::nullopt;
  }
  auto field_selector = FieldSelector::Parse(fields, *call.resource);
  if (!field_selector) {
    refusal = BadRequest("field label not supported: " + std::string(fields));
    return std::nullopt;
  }
  return Filter{call.resource, call.resource->namespaced ? call.target.ns : std::string(),
                std::move(*label_selector), std::move(*field_selector)};
}

Response SmallKubernetes::List(const Call& call, std::optional<Watch>* watch) const {
  Response refusal;
  auto filter = ReadFilter(call, refusal);
  if (!filter) return refusal;
  const Resource& resource = *call.resource;
  const Target& target = call.target;
  const bool metadata_only = call.representation != Representation::kWhole;
  if (target.Query("watch") == "1" || target.Query("watch") == "true") {
    Watch events(store_, std::move(*filter), metadata_only,
                 ToNumber(target.Query("resourceVersion")).value_or(0));
    if (watch == nullptr) return {200, events.Next(), "application/json", std::nullopt};
    watch->emplace(std::move(events));
    return {};
  }
  if (call.representation == Representation::kMetadata) {
    return NotAcceptable("you requested PartialObjectMetadata, but the requested object is a list");
  }
  auto version = ReadVersion(call);
  if (!version) return Failure(504, "Timeout", "Too large resource version");
  Continuation last_shown;
  if (const std::string_view token = target.Query("continue"); !token.empty()) {
    const auto parsed = ParseContinuation(token);
    if (!parsed) return BadRequest("continue key is not valid");
    if (parsed->version < store_.OldestVersion()) return Expired();
    last_shown = *parsed;
    version = parsed->version;
  }
  // A read from the cache isn't cut into pieces.
  const bool whole = target.Query("resourceVersion") == "0";
  const std::uint64_t limit = whole ? 0 : ToNumber(target.Query("limit")).value_or(0);
  const std::uint64_t shown = std::min(*version, store_.Version());

  std::vector<ObjectPtr> objects;
  const std::string name = NameInFieldSelector(target.Query("fieldSelector"));
  if (!name.empty() && (!resource.namespaced || !target.ns.empty())) {
    const std::string_view ns = resource.namespaced ? std::string_view(target.ns) : "";
    if (ObjectPtr object = store_.Get(resource, ns, name, *version)) objects.push_back(object);
  } else {
    objects = store_.List(resource, resource.namespaced ? target.ns : "", *version);
  }
  std::erase_if(objects, [&](const ObjectPtr& object) {
    return !filter->Matches(*object) ||
           (last_shown.version > 0 &&
            std::pair(object->ns, object->name) <= std::pair(last_shown.ns, last_shown.name));
  });
  std::string json = metadata_only
                         ? R"({"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1")"
                         : "{\"kind\":\"" + resource.kind + "List\",\"apiVersion\":\"" +
                               resource.ApiVersion() + "\"";
  json += ",\"metadata\":{\"resourceVersion\":\"" + std::to_string(shown) + "\"";
  if (limit > 0 && objects.size() > limit) {
    const Object& last = *objects[limit - 1];
    json += ",\"continue\":\"" + std::to_string(shown) + ":" + last.ns + ":" + last.name + "\"";
    if (!target.Has("labelSelector") && !target.Has("fieldSelector")) {
      json += ",\"remainingItemCount\":" + std::to_string(objects.size() - limit);
    }
    objects.resize(limit);
  }
  json += "},\"items\":[";
  for (const ObjectPtr& object : objects) {
    if (json.back() != '[') json += ',';
    json += RenderItem(resource, *object, metadata_only);
  }
  json += "]}\n";
  return {200, std::move(json), "application/json", std::nullopt};
}

Response SmallKubernetes::ReadScale(const Object& object) const {
  const Value& metadata = object.Metadata();
  Value scale = EmptyObject();
  Set(scale, "kind", Text("Scale"));
  Set(scale, "apiVersion", Text("autoscaling/v1"));
  Value& shown = Child(scale, "metadata");
  for (const char* key : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const Value* value = Find(metadata, key)) Set(shown, key, Copy(*value));
  }
  Value& spec = Child(scale, "spec");
  const std::int64_t wanted = NumberOf(Find(object.body, "spec", "replicas"), 0);
  if (wanted != 0) Set(spec, "replicas", Number(wanted));
  Value& status = Child(scale, "status");
  Set(status, "replicas", Number(NumberOf(Find(object.body, "status", "replicas"), 0)));
  const Value* selector = Find(object.body, "spec", "selector");
  if (selector != nullptr && Find(*selector, "matchLabels") != nullptr) {
    selector = Find(*selector, "matchLabels");
  }
  if (selector != nullptr && selector->IsObject()) {
    std::string text;
    for (const auto& label : selector->GetObject()) {
      text.append(text.empty() ? "" : ",").append(View(label.name)).append("=");
      text.append(TextOf(&label.value));
    }
    if (!text.empty()) Set(status, "selector", Text(text));
  }
  return {200, Write(scale) += '\n', "application/json", std::nullopt};
}

Response SmallKubernetes::Discover(const Call& call) const {
  const Target& target = call.target;
  const auto json = [](std::string body) {
    return Response{200, std::move(body), "application/json", std::nullopt};
  };
  for (const char* health : {"/healthz", "/livez", "/readyz"}) {
    if (target.path == health) return {200, "ok", "text/plain; charset=utf-8", std::nullopt};
  }
  if (target.path == "/version") {
    return json(R"({"major":"1","minor":"36","gitVersion":"v1.36.3","gitCommit":"",)"
                R"("gitTreeState":"clean","buildDate":"2026-01-01T00:00:00Z","goVersion":"",)"
                R"("compiler":"","platform":"linux/amd64"})");
  }
  if (target.path == "/api") {
    return json(R"({"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[]})");
  }
  if (target.path == "/apis") {
    std::string groups;
    std::set<std::string> seen{""};
    for (const Resource& resource : resources_.All()) {
      if (resource.removed || !seen.insert(resource.group).second) continue;
      groups += (groups.empty() ? "{" : ",{") + Group(resources_, resource.group);
    }
    return json(R"({"kind":"APIGroupList","apiVersion":"v1","groups":[)" + groups + "]}\n");
  }
  if (!target.version.empty() && resources_.ServesVersion(target.group, target.version)) {
    return json(ResourceList(resources_, target.group, target.version));
  }
  if (!target.group.empty() && target.version.empty() && resources_.ServesGroup(target.group)) {
    return json(R"({"kind":"APIGroup","apiVersion":"v1",)" + Group(resources_, target.group) +
                "\n");
  }
  return NoSuchPath();
}

}  // namespace cluster_watcher::small_kubernetes
