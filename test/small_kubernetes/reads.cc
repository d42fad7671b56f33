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

// The continuation of a list: "VERSION:NAMESPACE:NAME" of the last item shown.
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

constexpr std::string_view kAggregated = "APIGroupDiscoveryList";
constexpr std::string_view kAggregatedType =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

// An entry of both forms of discovery. `sub` is empty for the kind itself.
struct Entry {
  const Resource& resource;
  std::string_view sub;

  bool IsScale() const { return sub == "scale"; }
  bool IsToken() const { return sub == "token"; }
  bool IsEviction() const { return sub == "eviction"; }
  std::string_view Kind() const {
    if (IsEviction()) return "Eviction";
    return IsScale() ? "Scale" : IsToken() ? "TokenRequest" : std::string_view(resource.kind);
  }
  // The group of a subresource's own kind; empty if it is the resource's.
  std::string_view Group() const {
    if (IsEviction()) return "policy";
    return IsScale() ? "autoscaling" : IsToken() ? "authentication.k8s.io" : "";
  }
  std::string_view Verbs() const {
    if (resource.create_only || IsToken() || IsEviction()) return R"(["create"])";
    if (!sub.empty()) return R"(["get","patch","update"])";
    if (resource.terminating) return R"(["delete","deletecollection","get","list","watch"])";
    if (resource.kind == "Namespace") {
      return R"(["create","delete","get","list","patch","update","watch"])";
    }
    return resource.custom
               ? R"(["delete","deletecollection","get","list","patch","create","update","watch"])"
               : R"(["create","delete","deletecollection","get","list","patch","update","watch"])";
  }
};

std::vector<std::string_view> Subresources(const Resource& resource) {
  std::vector<std::string_view> subs;
  if (resource.kind == "Pod") subs.emplace_back("eviction");
  if (resource.has_scale) subs.emplace_back("scale");
  if (resource.has_status) subs.emplace_back("status");
  if (resource.custom) std::reverse(subs.begin(), subs.end());
  if (resource.kind == "ServiceAccount") subs.emplace_back("token");
  return subs;
}

// Returns ,"shortNames":["po"], or nothing if there are none.
std::string TextList(std::string_view key, const std::vector<std::string>& texts) {
  if (texts.empty()) return {};
  std::string json = "," + Quote(key) + ":[";
  for (const std::string& text : texts) json += (json.back() == '[' ? "" : ",") + Quote(text);
  return json + "]";
}

std::string NamesOf(const Resource& resource) {
  return TextList("shortNames", resource.short_names) + TextList("categories", resource.categories);
}

std::string ResourceEntry(const Entry& entry) {
  const Resource& resource = entry.resource;
  std::string json = "{\"name\":\"" + resource.plural;
  if (!entry.sub.empty()) json.append("/").append(entry.sub);
  json += "\",\"singularName\":" + Quote(entry.sub.empty() ? resource.Singular() : "") +
          ",\"namespaced\":" + (resource.namespaced ? "true" : "false");
  if (!entry.Group().empty()) json += ",\"group\":" + Quote(entry.Group()) + R"(,"version":"v1")";
  json += ",\"kind\":" + Quote(entry.Kind()) + ",\"verbs\":";
  json += entry.Verbs();
  if (entry.sub.empty()) json += NamesOf(resource);
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
    json += ResourceEntry({resource, {}});
    for (std::string_view sub : Subresources(resource))
      json += "," + ResourceEntry({resource, sub});
  }
  return json + "]}\n";
}

std::string Group(const ResourceTable& resources, const std::string& group) {
  std::string versions, first;
  for (const std::string& version : resources.VersionsOf(group)) {
    const std::string entry =
        R"({"groupVersion":")" + group + "/" + version + R"(","version":")" + version + "\"}";
    if (first.empty()) first = entry;
    versions += (versions.empty() ? "" : ",") + entry;
  }
  return "\"name\":\"" + group + "\",\"versions\":[" + versions +
         "],\"preferredVersion\":" + first + "}";
}

// Returns the served groups except core.
std::vector<std::string> Groups(const ResourceTable& resources) {
  std::vector<std::string> groups;
  std::set<std::string> seen{""};
  for (const Resource& resource : resources.All()) {
    if (!resource.removed && seen.insert(resource.group).second) groups.push_back(resource.group);
  }
  return groups;
}

// Built-in kinds omit the group and version of their list.
std::string AggregatedKind(const Entry& entry) {
  const Resource& resource = entry.resource;
  std::string_view group = entry.Group(), version = "v1";
  if (group.empty() && resource.custom) group = resource.group, version = resource.version;
  if (group.empty()) version = "";
  return "\"responseKind\":{\"group\":" + Quote(group) + ",\"version\":" + Quote(version) +
         ",\"kind\":" + Quote(entry.Kind()) + "}";
}

std::string AggregatedResource(const Resource& resource) {
  const Entry entry{resource, {}};
  std::string json = "{\"resource\":" + Quote(resource.plural) + "," + AggregatedKind(entry) +
                     ",\"scope\":" + (resource.namespaced ? "\"Namespaced\"" : "\"Cluster\"") +
                     ",\"singularResource\":" + Quote(resource.Singular()) + ",\"verbs\":";
  json.append(entry.Verbs()).append(NamesOf(resource));
  std::string subs;
  for (std::string_view sub : Subresources(resource)) {
    const Entry part{resource, sub};
    subs += (subs.empty() ? "" : ",") + ("{\"subresource\":" + Quote(sub)) + "," +
            AggregatedKind(part) + ",\"verbs\":" + std::string(part.Verbs()) + "}";
  }
  if (!subs.empty()) json += ",\"subresources\":[" + subs + "]";
  return json + "}";
}

std::string AggregatedGroup(const ResourceTable& resources, const std::string& group) {
  std::string json = "{\"metadata\":{";
  if (!group.empty()) json += "\"name\":" + Quote(group);
  json += "},\"versions\":[";
  for (const std::string& version : resources.VersionsOf(group)) {
    if (json.back() != '[') json += ',';
    json += "{\"version\":" + Quote(version) + ",\"resources\":[";
    for (const Resource& resource : resources.All()) {
      if (resource.group != group || resource.version != version || resource.removed) continue;
      if (json.back() != '[') json += ',';
      json += AggregatedResource(resource);
    }
    json += "],\"freshness\":\"Current\"}";
  }
  return json + "]}";
}

Response Aggregated(const ResourceTable& resources, const std::vector<std::string>& groups) {
  std::string json =
      R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},)"
      R"("items":[)";
  for (const std::string& group : groups) {
    if (json.back() != '[') json += ',';
    json += AggregatedGroup(resources, group);
  }
  return {200, json + "]}\n", std::string(kAggregatedType), std::nullopt};
}

// The discovery formats that an Accept header allows.
struct Forms {
  bool plain = false;
  bool aggregated = false;
};

Forms AcceptedForms(std::string_view accept) {
  Forms forms{accept.empty(), false};
  while (!accept.empty()) {
    std::string_view clause = accept.substr(0, accept.find(','));
    accept.remove_prefix(std::min(accept.size(), clause.size() + 1));
    while (!clause.empty() && clause.front() == ' ') clause.remove_prefix(1);
    const auto has = [&](std::string_view text) {
      return clause.find(text) != std::string_view::npos;
    };
    const std::string_view type = clause.substr(0, clause.find(';'));
    if (type != "application/json" && type != "application/*" && type != "*/*") continue;
    if (!has(";as=")) forms.plain = true;
    forms.aggregated |=
        has(";g=apidiscovery.k8s.io") && has(kAggregated) && has(";v=v2") && !has(";v=v2beta1");
  }
  return forms;
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
  if (call.target.subresource == "scale") return ReadScale(call, *object);
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
  // A cached read isn't split into pages.
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
                         : "{\"kind\":\"" + resource.ListKind() + "\",\"apiVersion\":\"" +
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

Response SmallKubernetes::ReadScale(const Call& call, const Object& object) const {
  const Resource& resource = *call.resource;
  const ScalePaths& paths = resource.scale;
  const Value* replicas = FindAt(object.body, paths.spec);
  if (replicas == nullptr && resource.custom) {
    return InternalError("the spec replicas field " + Quote(JsonPath(paths.spec)) +
                         " does not exist");
  }
  const Value& metadata = object.Metadata();
  Value scale = EmptyObject();
  Set(scale, "kind", Text("Scale"));
  Set(scale, "apiVersion", Text("autoscaling/v1"));
  Value& shown = Child(scale, "metadata");
  for (const char* key : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const Value* value = Find(metadata, key)) Set(shown, key, Copy(*value));
  }
  Value& spec = Child(scale, "spec");
  const std::int64_t wanted = NumberOf(replicas, 0);
  if (wanted != 0) Set(spec, "replicas", Number(wanted));
  Value& status = Child(scale, "status");
  Set(status, "replicas", Number(NumberOf(FindAt(object.body, paths.status), 0)));
  if (const std::string_view text = TextOf(FindAt(object.body, paths.selector)); !text.empty()) {
    Set(status, "selector", Text(text));
  }
  const Value* selector = resource.custom ? nullptr : Find(object.body, "spec", "selector");
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
  const bool core = target.path == "/api";
  const bool groups = target.path == "/apis";
  const Forms forms = AcceptedForms(call.request.accept);
  if (forms.aggregated && (core || groups)) {
    return Aggregated(resources_, core ? std::vector<std::string>{""} : Groups(resources_));
  }
  if (!forms.plain) {
    return NotAcceptable(
        "only the following media types are accepted: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf");
  }
  if (core) {
    return json(R"({"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[]})");
  }
  if (groups) {
    std::string all;
    for (const std::string& group : Groups(resources_)) {
      all += (all.empty() ? "{" : ",{") + Group(resources_, group);
    }
    return json(R"({"kind":"APIGroupList","apiVersion":"v1","groups":[)" + all + "]}\n");
  }
  if (!target.version.empty() && resources_.ServesVersion(target.group, target.version)) {
    return json(ResourceList(resources_, target.group, target.version));
  }
  if (!target.group.empty() && target.version.empty() &&
      !resources_.VersionsOf(target.group).empty()) {
    return json(R"({"kind":"APIGroup","apiVersion":"v1",)" + Group(resources_, target.group) +
                "\n");
  }
  const bool known = !target.version.empty() && resources_.HasBuiltIn(target.group);
  return known ? NoSuchResource() : NoSuchPath();
}

}  // namespace cluster_watcher::small_kubernetes
