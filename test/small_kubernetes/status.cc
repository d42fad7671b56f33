#include "test/small_kubernetes/status.h"

#include <utility>

namespace cluster_watcher::small_kubernetes {
namespace {

void Add(std::string& json, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  if (json.back() != '{') json += ',';
  json.append("\"").append(key).append("\":").append(Quote(value));
}

std::string ToJson(const Details& details) {
  std::string json = "{";
  Add(json, "name", details.name);
  Add(json, "group", details.group);
  Add(json, "kind", details.kind);
  if (!details.causes.empty()) {
    json += json.back() == '{' ? "\"causes\":[" : ",\"causes\":[";
    for (const Cause& cause : details.causes) {
      json += json.back() == '[' ? "{" : ",{";
      Add(json, "reason", cause.reason);
      Add(json, "message", cause.message);
      Add(json, "field", cause.field);
      json += '}';
    }
    json += ']';
  }
  return json += '}';
}

std::string Quoted(std::string_view name, std::string_view object) {
  return std::string(name) + " \"" + std::string(object) + "\"";
}

Details About(const Resource& resource, std::string_view name) {
  return {std::string(name), resource.group, resource.plural, {}};
}

}  // namespace

Response Failure(int code, std::string_view reason, std::string_view message,
                 const Details* details) {
  std::string json =
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":)";
  json += Quote(message);
  if (!reason.empty()) json.append(",\"reason\":").append(Quote(reason));
  if (details != nullptr) json.append(",\"details\":").append(ToJson(*details));
  json.append(",\"code\":").append(std::to_string(code)).append("}\n");
  return {code, std::move(json), "application/json", std::nullopt};
}

Response NotFound(const Resource& resource, std::string_view name) {
  const Details details = About(resource, name);
  return Failure(404, "NotFound", Quoted(resource.QualifiedName(), name) + " not found", &details);
}

Response NoSuchResource() {
  const Details details;
  return Failure(404, "NotFound", "the server could not find the requested resource", &details);
}

Response NoSuchPath() {
  return {404, "404 page not found\n", "text/plain; charset=utf-8", std::nullopt};
}

Response MethodNotAllowed() {
  const Details details;
  return Failure(405, "MethodNotAllowed",
                 "the server does not allow this method on the requested resource", &details);
}

Response BadRequest(std::string_view message) { return Failure(400, "BadRequest", message); }

Response UnsupportedMediaType(std::string_view accepted) {
  return Failure(
      415, "UnsupportedMediaType",
      "the body of the request was in an unknown format - accepted media types include: " +
          std::string(accepted));
}

Response NotAcceptable(std::string_view message) { return Failure(406, "NotAcceptable", message); }

Response Unauthorized() { return Failure(401, "Unauthorized", "Unauthorized"); }

Response Forbidden(std::string_view plural, std::string_view group, std::string_view name,
                   std::string_view why, std::vector<Cause> causes) {
  const Details details{std::string(name), std::string(group), std::string(plural),
                        std::move(causes)};
  std::string what(plural);
  if (!group.empty()) what.append(".").append(group);
  if (!name.empty()) what = Quoted(what, name);
  const bool empty = plural.empty();
  return Failure(403, "Forbidden",
                 (empty ? "forbidden: " : what + " is forbidden: ") + std::string(why), &details);
}

Response InternalError(std::string_view why) {
  Details details;
  details.causes.push_back({{}, std::string(why), {}});
  return Failure(500, "InternalError", "Internal error occurred: " + std::string(why), &details);
}

Response AlreadyExists(const Resource& resource, const Object& present) {
  const Details details = About(resource, present.name);
  return Failure(409, "AlreadyExists",
                 (present.deleting ? "object is being deleted: " : "") +
                     Quoted(resource.QualifiedName(), present.name) + " already exists",
                 &details);
}

Response Conflict(const Resource& resource, std::string_view name) {
  const Details details = About(resource, name);
  return Failure(409, "Conflict",
                 "Operation cannot be fulfilled on " + Quoted(resource.QualifiedName(), name) +
                     ": the object has been modified; please apply your changes to the latest "
                     "version and try again",
                 &details);
}

Response PreconditionFailed(const Resource& resource, std::string_view name, std::string_view why) {
  const Details details{std::string(name), resource.group, resource.kind, {}};
  return Failure(409, "Conflict",
                 "Operation cannot be fulfilled on " + Quoted(resource.QualifiedKind(), name) +
                     ": " + std::string(why),
                 &details);
}

Response Expired() {
  return Failure(410, "Expired", "The resourceVersion for the provided list is too old.");
}

Response Invalid(const Resource& resource, std::string_view name, std::vector<Cause> causes) {
  std::string message = Quoted(resource.QualifiedKind(), name) + " is invalid: ";
  if (causes.size() > 1) message += '[';
  for (std::size_t i = 0; i < causes.size(); ++i) {
    if (i > 0) message += ", ";
    message.append(causes[i].field).append(": ").append(causes[i].message);
  }
  if (causes.size() > 1) message += ']';
  const Details details{std::string(name), resource.group, resource.kind, std::move(causes)};
  return Failure(422, "Invalid", message, &details);
}

Response Deleted(const Resource& resource, const Object& object) {
  std::string json =
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{)";
  Add(json, "name", object.name);
  Add(json, "group", resource.group);
  Add(json, "kind", resource.plural);
  Add(json, "uid", object.uid);
  return {200, json + "}}\n", "application/json", std::nullopt};
}

}  // namespace cluster_watcher::small_kubernetes
