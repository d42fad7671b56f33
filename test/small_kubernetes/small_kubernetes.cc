#include "test/small_kubernetes/small_kubernetes.h"

#include <algorithm>
#include <utility>

#include "test/small_kubernetes/objects.h"

namespace cluster_watcher::small_kubernetes {
namespace {

// Enough for definitions and their objects to settle.
constexpr int kMostRounds = 20;

std::string_view VerbOf(const Request& request, const Target& target) {
  if (request.method == "POST") return "create";
  if (request.method == "PUT") return "update";
  if (request.method == "PATCH") return "patch";
  const bool one = !target.name.empty();
  if (request.method == "DELETE") return one ? "delete" : "deletecollection";
  if (request.method != "GET") return {};
  if (one) return "get";
  const std::string_view watch = target.Query("watch");
  return watch == "1" || watch == "true" ? "watch" : "list";
}

}  // namespace

SmallKubernetes::SmallKubernetes(Clock& clock, std::uint64_t seed)
    : store_(clock, seed),
      controllers_(store_, resources_),
      definitions_(store_, resources_, clock),
      authorizer_(store_, resources_) {
  tokens_.Add(std::string(kAdminToken), {"admin", {"system:masters", "system:authenticated"}});
  for (const char* name : {"default", "kube-system"}) {
    Value body = EmptyObject();
    Value& metadata = Child(body, "metadata");
    Set(metadata, "name", Text(name));
    const Resource& namespaces = resources_.Of("", "namespaces");
    SetDefaults(namespaces, body, true);
    store_.Create(namespaces, std::move(body));
  }
  Settle();
}

Response SmallKubernetes::Serve(const Request& request, const Fault* fault,
                                std::optional<Watch>* watch) {
  const User* known = tokens_.Find(request.token);
  const User& user = known == nullptr ? nobody_ : *known;
  if (on_request) on_request(request, user);
  Response response;
  if (fault == nullptr || fault->action == Fault::Action::kPass) {
    serves_ = true;
    response = Dispatch(request, watch);
    serves_ = false;
  }
  if (fault != nullptr && fault->action == Fault::Action::kAnswer) response = fault->response;
  if (on_answer) on_answer(request, user, response);
  if (log_requests) log_.emplace_back(request.method, request.target);
  return response;
}

Response SmallKubernetes::Dispatch(const Request& request, std::optional<Watch>* watch) {
  const User* user = tokens_.Find(request.token);
  if (user == nullptr) return Unauthorized();
  Call call{request, ParseTarget(request.target), *user};
  const Target& target = call.target;
  const std::string_view verb = VerbOf(request, target);
  if (verb.empty()) return MethodNotAllowed();
  Access access{verb, target.group, target.plural, target.subresource, target.ns, target.name, {}};
  std::string selected;
  if (!target.IsResource()) {
    access = {request.method == "GET" ? "get" : verb, {}, {}, {}, {}, {}, target.path};
  } else if (verb == "list" || verb == "watch") {
    selected = NameInFieldSelector(target.Query("fieldSelector"));
    access.name = selected;
  }
  if (!authorizer_.Allows(*user, access)) {
    return Forbidden(access.resource, access.group, access.name, DescribeDenial(*user, access));
  }
  if (settle_after_writes && definitions_.Lingers()) Settle();
  const std::uint64_t version = store_.Version();
  Response response = Route(call, watch);
  if (settle_after_writes && version != store_.Version()) Settle();
  return response;
}

Response SmallKubernetes::Route(Call& call, std::optional<Watch>* watch) {
  const Target& target = call.target;
  const std::string_view method = call.request.method;
  if (!target.IsResource()) return method == "GET" ? Discover(call) : NoSuchPath();
  call.resource = resources_.Find(target.group, target.version, target.plural);
  const Resource* resource = call.resource;
  if (resource == nullptr) {
    return resources_.HasBuiltIn(target.group) ? NoSuchResource() : NoSuchPath();
  }
  const bool in_namespace = !target.ns.empty() && target.plural != "namespaces";
  if (in_namespace != resource->namespaced && (in_namespace || !target.name.empty())) {
    return NoSuchResource();
  }
  call.representation = Negotiate(call.request.accept);
  if (call.representation == Representation::kNone) {
    return NotAcceptable(
        "only the following media types are accepted: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf");
  }
  if (const std::string_view dry_run = target.Query("dryRun"); !dry_run.empty()) {
    if (dry_run != "All") {
      return Failure(422, "Invalid", "dryRun: Unsupported value: supported values: \"All\"");
    }
    call.dry_run = true;
  }
  const std::string& sub = target.subresource;
  const bool known_sub = sub.empty() || (sub == "status" && resource->has_status) ||
                         (sub == "scale" && resource->has_scale) ||
                         (sub == "token" && resource->kind == "ServiceAccount") ||
                         (sub == "eviction" && resource->kind == "Pod");
  if (!known_sub) return resource->custom ? NotFound(*resource, target.name) : NoSuchResource();
  if (resource->create_only && (method != "POST" || !target.name.empty()))
    return MethodNotAllowed();
  const bool collection = target.name.empty();
  if (collection && !in_namespace && resource->namespaced && method != "GET") {
    return MethodNotAllowed();
  }
  const bool asks = sub == "token" || sub == "eviction";  // POST that acts instead of creating
  if (method == "GET" && asks) return MethodNotAllowed();
  if (method == "GET") return collection ? List(call, watch) : Get(call);
  if (method == "POST") return collection || asks ? Post(call) : MethodNotAllowed();
  if (method == "DELETE") {
    if (!sub.empty() || (collection && resource->kind == "Namespace")) return MethodNotAllowed();
    return collection ? DeleteMany(call) : DeleteOne(call);
  }
  if (collection || asks) return MethodNotAllowed();
  return method == "PUT" ? Put(call) : Patch(call);
}

Response SmallKubernetes::Admin(std::string_view method, std::string_view target,
                                std::string_view body, std::string_view content_type) {
  if (content_type.empty()) {
    content_type = method == "PATCH" ? "application/merge-patch+json" : "application/json";
  }
  return Dispatch({method, target, kAdminToken, "application/json", content_type, body}, nullptr);
}

Response SmallKubernetes::Apply(std::string_view json) {
  const std::optional<Value> body = Parse(json);
  if (!body) return BadRequest("not JSON");
  const Resource* resource =
      resources_.FindKind(TextOf(Find(*body, "apiVersion")), TextOf(Find(*body, "kind")));
  if (resource == nullptr) return NoSuchPath();
  std::string path = resource->group.empty() ? "/api/" : "/apis/" + resource->group + "/";
  path += resource->version;
  if (resource->namespaced) {
    const std::string_view ns = TextOf(Find(*body, "metadata", "namespace"));
    path += "/namespaces/" + (ns.empty() ? "default" : std::string(ns));
  }
  path += "/" + resource->plural;
  const std::string object = path + "/" + std::string(TextOf(Find(*body, "metadata", "name")));
  Response response = Admin("POST", path, json);
  if (response.status == 409) response = Admin("PUT", object, json);
  const bool done = response.status == 200 || response.status == 201;
  if (const Value* status = Find(*body, "status");
      done && status != nullptr && resource->has_status) {
    response = Admin("PATCH", object + "/status", "{\"status\":" + Write(*status) + "}");
  }
  return response;
}

void SmallKubernetes::Settle() {
  std::uint64_t before = 0;
  for (int round = 0; round < kMostRounds && before != store_.Version(); ++round) {
    before = store_.Version();
    definitions_.Sync();
    controllers_.Settle();
  }
}

const Resource& SmallKubernetes::AddKind(Resource resource) {
  resource.custom = true;
  resource.has_generation = true;
  return resources_.Add(std::move(resource));
}

void SmallKubernetes::SetPodsRun(bool run) {
  controllers_.pods_run = run;
  if (settle_after_writes) Settle();
}

void SmallKubernetes::SetStaleness(std::uint64_t versions, Duration age) {
  stale_versions_ = versions;
  stale_age_ = age;
}

std::size_t SmallKubernetes::Count(std::string_view method, std::string_view contains) const {
  return static_cast<std::size_t>(std::count_if(log_.begin(), log_.end(), [&](const auto& logged) {
    return (method.empty() || logged.first == method) &&
           logged.second.find(contains) != std::string::npos;
  }));
}

}  // namespace cluster_watcher::small_kubernetes
