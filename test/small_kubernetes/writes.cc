// Create, update, patch, delete, and the subresources that are written.
#include <utility>

#include "test/small_kubernetes/definitions.h"
#include "test/small_kubernetes/managed_fields.h"
#include "test/small_kubernetes/objects.h"
#include "test/small_kubernetes/patch.h"
#include "test/small_kubernetes/small_kubernetes.h"

namespace cluster_watcher::small_kubernetes {
namespace {

constexpr std::string_view kBodyTypes =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";

std::string_view MediaType(std::string_view content_type) {
  return content_type.substr(0, content_type.find(';'));
}

bool IsJson(std::string_view content_type) {
  return content_type.empty() || MediaType(content_type) == "application/json";
}

// New objects don't set fields that only the server decides.
void DropServersFields(Value& metadata) {
  for (const char* key :
       {"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp",
        "deletionGracePeriodSeconds", "generation", "managedFields", "selfLink"}) {
    Remove(metadata, key);
  }
}

Resource MetaKind(const char* kind) {
  Resource resource;
  resource.group = "meta.k8s.io";
  resource.kind = kind;
  return resource;
}

}  // namespace

std::optional<Response> SmallKubernetes::Refuse(const Call& call, const Value& body) const {
  const Resource& resource = *call.resource;
  if (!body.IsObject()) return BadRequest("couldn't get version/kind; the body is no JSON object");
  const std::string_view kind = TextOf(Find(body, "kind"));
  const std::string_view api_version = TextOf(Find(body, "apiVersion"));
  const bool missing = kind.empty() || api_version.empty();
  if (missing && resource.custom) return BadRequest("Object 'Kind' is missing");
  if (!kind.empty() && kind != resource.kind) {
    return BadRequest(std::string(kind) + " in version \"" + std::string(api_version) +
                      "\" cannot be handled as a " + resource.kind);
  }
  if (!api_version.empty() && api_version != resource.ApiVersion()) {
    return BadRequest("the API version in the data (" + std::string(api_version) +
                      ") does not match the expected API version (" + resource.ApiVersion() + ")");
  }
  const std::string_view ns = TextOf(Find(body, "metadata", "namespace"));
  if (resource.namespaced && !ns.empty() && ns != call.target.ns) {
    return BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  const std::string_view name = TextOf(Find(body, "metadata", "name"));
  if (!call.target.name.empty() && name != call.target.name) {
    return BadRequest("the name of the object (" + std::string(name) +
                      ") does not match the name on the URL (" + call.target.name + ")");
  }
  return std::nullopt;
}

Response SmallKubernetes::Post(const Call& call) {
  const bool token = call.target.subresource == "token";
  // `kubectl create token` sends protobuf; its content doesn't matter here.
  if (token && call.request.content_type == "application/vnd.kubernetes.protobuf") {
    return RequestToken(call, EmptyObject());
  }
  if (!IsJson(call.request.content_type)) return UnsupportedMediaType(kBodyTypes);
  std::optional<Value> body = Parse(call.request.body);
  if (!body) return BadRequest("couldn't get version/kind; json parse error");
  if (token) return RequestToken(call, std::move(*body));
  if (call.target.subresource == "eviction") return Evict(call, *body);
  if (auto refusal = Refuse(call, *body)) return *refusal;
  if (call.resource->create_only) return Review(call, std::move(*body));
  return Create(call, std::move(*body));
}

Response SmallKubernetes::Create(const Call& call, Value body) {
  const Resource& resource = *call.resource;
  const Target& target = call.target;
  if (resource.terminating) {
    return Forbidden(resource.plural, resource.group, TextOf(Find(body, "metadata", "name")),
                     "create not allowed while custom resource definition is terminating");
  }
  Remove(body, "kind");
  Remove(body, "apiVersion");
  DropNulls(body);
  Value& metadata = Child(body, "metadata");
  if (!TextOf(Find(metadata, "resourceVersion")).empty()) {
    return BadRequest("resourceVersion should not be set on objects to be created");
  }
  DropServersFields(metadata);
  if (resource.namespaced) Set(metadata, "namespace", Text(target.ns));
  const std::string_view prefix = TextOf(Find(metadata, "generateName"));
  if (TextOf(Find(metadata, "name")).empty() && !prefix.empty()) {
    Set(metadata, "name", Text(std::string(prefix) + store_.RandomName(5)));
  }
  const std::string name(TextOf(Find(metadata, "name")));
  if (resource.namespaced) {
    const Resource& namespaces = resources_.Of("", "namespaces");
    const ObjectPtr ns = store_.Get(namespaces, {}, target.ns);
    if (ns == nullptr) return NotFound(namespaces, target.ns);
    if (ns->deleting) {
      return Forbidden(resource.plural, resource.group, name,
                       "unable to create new content in namespace " + target.ns +
                           " because it is being terminated",
                       {{"NamespaceTerminating", "namespace " + target.ns + " is being terminated",
                         "metadata.namespace"}});
    }
  }
  if (resource.has_status) Remove(body, "status");
  ApplySchema(resource, body);
  if (resource.has_generation) Set(metadata, "generation", Number(1));
  Set(metadata, "uid", Text(store_.NewUid()));
  ToStoredNames(resource, body);
  if (!name.empty()) SetDefaults(resource, body, true);
  if (auto causes = Validate(resource, body, nullptr); !causes.empty()) {
    return Invalid(resource, name, std::move(causes));
  }
  if (const ObjectPtr present =
          store_.Get(resource, TextOf(Find(body, "metadata", "namespace")), name)) {
    return AlreadyExists(resource, *present);
  }
  NoteUpdate(nullptr, body, WriteOf(call));
  return Show(call, *store_.Create(resource, std::move(body), !call.dry_run), 201);
}

Response SmallKubernetes::Put(const Call& call) {
  if (!IsJson(call.request.content_type)) return UnsupportedMediaType(kBodyTypes);
  if (call.target.subresource == "scale") {
    const ObjectPtr old = Stored(call);
    return old == nullptr ? NotFound(*call.resource, call.target.name) : WriteScale(call, old);
  }
  std::optional<Value> body = Parse(call.request.body);
  if (!body) return BadRequest("couldn't get version/kind; json parse error");
  if (auto refusal = Refuse(call, *body)) return *refusal;
  const ObjectPtr old = Stored(call);
  if (old == nullptr) return NotFound(*call.resource, call.target.name);
  const Value* metadata = Find(*body, "metadata");
  const std::string_view uid = TextOf(Find(*metadata, "uid"));
  if (!uid.empty() && uid != old->uid) {
    const Details details{old->name, call.resource->group, call.resource->plural, {}};
    return Failure(409, "Conflict",
                   "Operation cannot be fulfilled on " + call.resource->QualifiedName() + " \"" +
                       old->name +
                       "\": StorageError: invalid object, Code: 4, Precondition failed: "
                       "UID in precondition: " +
                       std::string(uid) + ", UID in object meta: " + old->uid,
                   &details);
  }
  if (call.resource->custom && TextOf(Find(*metadata, "resourceVersion")).empty()) {
    return Invalid(*call.resource, old->name,
                   {{"FieldValueInvalid", "Invalid value: 0: must be specified for an update",
                     "metadata.resourceVersion"}});
  }
  ToStoredNames(*call.resource, *body);
  return Replace(call, old, std::move(*body));
}

Response SmallKubernetes::Patch(const Call& call) {
  const Resource& resource = *call.resource;
  const std::string_view type = MediaType(call.request.content_type);
  const bool strategic = type == "application/strategic-merge-patch+json" && !resource.custom;
  const bool operations = type == "application/json-patch+json";
  if (!strategic && !operations && type != "application/merge-patch+json") {
    return UnsupportedMediaType(
        std::string("application/json-patch+json, application/merge-patch+json, ") +
        (resource.custom ? "" : "application/strategic-merge-patch+json, ") +
        "application/apply-patch+yaml");
  }
  std::optional<Value> patch = Parse(call.request.body);
  if (!patch || (!operations && !patch->IsObject())) {
    return BadRequest("error decoding patch: the body is no JSON object");
  }
  const ObjectPtr old = Stored(call);
  if (old == nullptr) return NotFound(resource, call.target.name);
  if (call.target.subresource == "scale") return WriteScale(call, old);
  Value body = Copy(old->body);
  Set(body, "kind", Text(resource.kind));
  Set(body, "apiVersion", Text(resource.ApiVersion()));
  ToServedNames(resource, body);
  if (operations) {
    if (!JsonPatch(body, *patch)) {
      const Details details;
      return Failure(422, "Invalid",
                     "the server rejected our request due to an error in our request", &details);
    }
  } else if (strategic) {
    StrategicMergePatch(body, *patch);
  } else {
    MergePatch(body, *patch);
  }
  if (auto refusal = Refuse(call, body)) return *refusal;
  ToStoredNames(resource, body);
  return Replace(call, old, std::move(body));
}

FieldWrite SmallKubernetes::WriteOf(const Call& call) const {
  return {call.target.Query("fieldManager"), call.resource->ApiVersion(), store_.Timestamp()};
}

std::optional<Response> SmallKubernetes::Brake(const Call& call, const Object& object,
                                               const Value* changed) const {
  if (!brake || !serves_) return std::nullopt;
  bool refuses = changed == nullptr;
  for (const char* mark : {"phase", "condemned-by", "abandoned-since"}) {
    if (changed == nullptr || (mark == std::string_view("abandoned-since") && !freeze)) break;
    const std::string key = std::string("cluster-watcher/") + mark;
    const std::string_view now = TextOf(Find(*changed, "metadata", "annotations", key.c_str()));
    const std::string_view old = TextOf(Find(object.body, "metadata", "annotations", key.c_str()));
    const bool is_other_phase =
        mark == std::string_view("phase") && now != "condemned" && now != "deleting";
    refuses = refuses || (!now.empty() && now != old && !is_other_phase);
  }
  if (!refuses) return std::nullopt;
  const std::string why =
      "ValidatingAdmissionPolicy 'cluster-watcher-brake' with binding 'cluster-watcher-brake' "
      "denied request: the brake of cluster-watcher is on";
  return Forbidden(call.resource->plural, call.resource->group, object.name, why, {{"", why, ""}});
}

Response SmallKubernetes::Replace(const Call& call, const ObjectPtr& old, Value body) {
  const Resource& resource = *call.resource;
  const std::string_view version = TextOf(Find(body, "metadata", "resourceVersion"));
  if (!version.empty() && version != std::to_string(old->version)) {
    return Conflict(resource, old->name);
  }
  if (auto causes = Validate(resource, body, &old->body); !causes.empty()) {
    return Invalid(resource, old->name, std::move(causes));
  }
  if (auto refusal = Brake(call, *old, &body)) return *refusal;
  Remove(body, "kind");
  Remove(body, "apiVersion");
  DropNulls(body);
  ApplySchema(resource, body);
  const bool status = call.target.subresource == "status";
  if (!status) SetDefaults(resource, body, false);
  PrepareUpdate(*old, body, status);
  if (!status) NoteUpdate(&old->body, body, WriteOf(call));
  return Show(call, *UpdateOrFinish(store_, old, std::move(body), !call.dry_run));
}

Response SmallKubernetes::WriteScale(const Call& call, const ObjectPtr& old) {
  const std::optional<Value> scale = Parse(call.request.body);
  if (!scale || !scale->IsObject())
    return BadRequest("couldn't get version/kind; json parse error");
  const std::string_view version = TextOf(Find(*scale, "metadata", "resourceVersion"));
  if (!version.empty() && version != std::to_string(old->version)) {
    return Conflict(*call.resource, old->name);
  }
  const bool whole = call.request.method == "PUT";
  const Resource& resource = *call.resource;
  const std::int64_t present = NumberOf(FindAt(old->body, resource.scale.spec), 0);
  const std::int64_t wanted = NumberOf(Find(*scale, "spec", "replicas"), whole ? 0 : present);
  if (wanted < 0 && resource.custom) {
    return Invalid(
        resource, old->name,
        {{"FieldValueInvalid",
          "Invalid value: " + std::to_string(wanted) + ": should be a non-negative integer",
          JsonPath(resource.scale.spec)}});
  }
  if (wanted < 0) {
    Resource shown = *call.resource;
    shown.group = "autoscaling";
    shown.kind = "Scale";
    return Invalid(
        shown, old->name,
        {{"FieldValueInvalid",
          "Invalid value: " + std::to_string(wanted) + ": must be greater than or equal to 0",
          "spec.replicas"}});
  }
  Value body = Copy(old->body);
  Value* parent = &body;
  const std::vector<std::string>& keys = resource.scale.spec;
  for (std::size_t i = 0; i + 1 < keys.size(); ++i) parent = &Child(*parent, keys[i]);
  Set(*parent, keys.back(), Number(wanted));
  PrepareUpdate(*old, body, false);
  return ReadScale(call, *store_.Update(old, std::move(body), !call.dry_run));
}

std::optional<DeleteOptions> SmallKubernetes::ReadDeleteOptions(const Call& call,
                                                                Response& refusal) const {
  DeleteOptions options;
  options.dry_run = call.dry_run;
  options.propagation = call.target.Query("propagationPolicy");
  if (const std::string_view grace = call.target.Query("gracePeriodSeconds"); !grace.empty()) {
    const std::optional<Value> number = Parse(grace);
    if (number && number->IsInt64()) options.grace_seconds = number->GetInt64();
  }
  if (!call.request.body.empty()) {
    const std::optional<Value> body = Parse(call.request.body);
    if (!IsJson(call.request.content_type)) {
      refusal = UnsupportedMediaType(kBodyTypes);
      return std::nullopt;
    }
    if (!body || !body->IsObject()) {
      refusal = BadRequest("couldn't get version/kind; json parse error");
      return std::nullopt;
    }
    // If there is a body, the query doesn't count.
    options = {};
    options.propagation = TextOf(Find(*body, "propagationPolicy"));
    const Value* conditions = Find(*body, "preconditions");
    if (conditions != nullptr) {
      if (const Value* uid = Find(*conditions, "uid")) options.uid = TextOf(uid);
      if (const Value* rv = Find(*conditions, "resourceVersion"))
        options.resource_version = TextOf(rv);
    }
    const Value* grace = Find(*body, "gracePeriodSeconds");
    if (grace != nullptr && grace->IsInt64()) options.grace_seconds = grace->GetInt64();
    options.dry_run = HasElements(Find(*body, "dryRun"));
  }
  const std::string& policy = options.propagation;
  if (policy.empty() || policy == "Background" || policy == "Foreground" || policy == "Orphan") {
    return options;
  }
  refusal = Invalid(MetaKind("DeleteOptions"), {},
                    {{"FieldValueNotSupported",
                      "Unsupported value: " + Quote(policy) +
                          ": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
                      "propagationPolicy"}});
  return std::nullopt;
}

Response SmallKubernetes::DeleteOne(const Call& call) {
  Response refusal;
  const auto options = ReadDeleteOptions(call, refusal);
  if (!options) return refusal;
  const ObjectPtr object = Stored(call);
  if (object == nullptr) return NotFound(*call.resource, call.target.name);
  if (options->uid && *options->uid != object->uid) {
    return PreconditionFailed(*call.resource, object->name,
                              "the UID in the precondition (" + *options->uid +
                                  ") does not match the UID in record (" + object->uid +
                                  "). The object might have been deleted and then recreated");
  }
  const std::string version = std::to_string(object->version);
  if (options->resource_version && *options->resource_version != version) {
    return PreconditionFailed(*call.resource, object->name,
                              "the ResourceVersion in the precondition (" +
                                  *options->resource_version +
                                  ") does not match the ResourceVersion in record (" + version +
                                  "). The object might have been modified");
  }
  if (auto braked = Brake(call, *object, nullptr)) return *braked;
  const DeleteOutcome outcome = Delete(store_, object, *options);
  if (!outcome.gone || call.resource->returns_deleted) return Show(call, *outcome.object);
  return Deleted(*call.resource, *outcome.object);
}

// Ignores disruption budgets, which don't protect pods that aren't running.
Response SmallKubernetes::Evict(const Call& call, const Value& body) {
  const ObjectPtr pod = Stored(call);
  if (pod == nullptr) return NotFound(*call.resource, call.target.name);
  DeleteOptions options;
  options.dry_run = call.dry_run;
  const Value* grace = Find(body, "deleteOptions", "gracePeriodSeconds");
  if (grace != nullptr && grace->IsInt64()) options.grace_seconds = grace->GetInt64();
  Delete(store_, pod, options);
  return {201,
          "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\","
          "\"code\":201}\n",
          "application/json", std::nullopt};
}

Response SmallKubernetes::DeleteMany(const Call& call) {
  Response refusal;
  const auto options = ReadDeleteOptions(call, refusal);
  if (!options) return refusal;
  const auto filter = ReadFilter(call, refusal);
  if (!filter) return refusal;
  Response listed = List(call, nullptr);
  for (const ObjectPtr& object : store_.List(*call.resource, filter->ns)) {
    if (filter->Matches(*object)) Delete(store_, object, *options);
  }
  return listed;
}

Response SmallKubernetes::Review(const Call& call, Value body) const {
  if (call.resource->plural == "selfsubjectreviews") {
    Value groups = EmptyArray();
    for (const std::string& group : call.user.groups) Append(groups, Text(group));
    Value& user = Child(Child(body, "status"), "userInfo");
    Set(user, "username", Text(call.user.name));
    Set(user, "groups", std::move(groups));
    Set(Child(body, "metadata"), "creationTimestamp", Text(store_.Timestamp()));
    return Reviewed(call, std::move(body));
  }
  const Value* asked = Find(body, "spec", "resourceAttributes");
  Access access{};
  if (asked != nullptr) {
    access = {TextOf(Find(*asked, "verb")),
              TextOf(Find(*asked, "group")),
              TextOf(Find(*asked, "resource")),
              TextOf(Find(*asked, "subresource")),
              TextOf(Find(*asked, "namespace")),
              TextOf(Find(*asked, "name")),
              {}};
  } else if ((asked = Find(body, "spec", "nonResourceAttributes")) != nullptr) {
    access.verb = TextOf(Find(*asked, "verb"));
    access.path = TextOf(Find(*asked, "path"));
  } else {
    return Invalid(*call.resource, {},
                   {{"FieldValueInvalid",
                     "Invalid value: null: exactly one of nonResourceAttributes or "
                     "resourceAttributes must be specified",
                     "spec.resourceAttributes"}});
  }
  User user = call.user;
  if (call.resource->plural != "selfsubjectaccessreviews") {
    user = {std::string(TextOf(Find(body, "spec", "user"))), {}};
    const Value* groups = Find(body, "spec", "groups");
    if (HasElements(groups)) {
      for (const Value& group : groups->GetArray()) user.groups.emplace_back(TextOf(&group));
    }
  }
  const bool allowed = authorizer_.Allows(user, access);
  Child(body, "metadata");
  Value& status = Child(body, "status");
  Set(status, "allowed", Value(allowed));
  if (allowed) Set(status, "reason", Text("RBAC: allowed"));
  return Reviewed(call, std::move(body));
}

Response SmallKubernetes::Reviewed(const Call& call, Value body) {
  Set(body, "kind", Text(call.resource->kind));
  Set(body, "apiVersion", Text(call.resource->ApiVersion()));
  return {201, Write(body) += '\n', "application/json", std::nullopt};
}

Response SmallKubernetes::RequestToken(const Call& call, Value body) {
  if (Stored(call) == nullptr) return NotFound(*call.resource, call.target.name);
  if (!body.IsObject()) return BadRequest("couldn't get version/kind; json parse error");
  const std::int64_t seconds = NumberOf(Find(body, "spec", "expirationSeconds"), 3600);
  Set(body, "kind", Text("TokenRequest"));
  Set(body, "apiVersion", Text("authentication.k8s.io/v1"));
  Value& metadata = Child(body, "metadata");
  Set(metadata, "name", Text(call.target.name));
  Set(metadata, "namespace", Text(call.target.ns));
  Set(metadata, "creationTimestamp", Text(store_.Timestamp()));
  Value& status = Child(body, "status");
  Set(status, "token", Text(tokens_.AddServiceAccount(call.target.ns, call.target.name)));
  Set(status, "expirationTimestamp", Text(store_.Timestamp(std::chrono::seconds(seconds))));
  return {201, Write(body) += '\n', "application/json", std::nullopt};
}

}  // namespace cluster_watcher::small_kubernetes
