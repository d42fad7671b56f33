// Requests, answers, and the Status objects that an API server answers where something is wrong.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "test/small_kubernetes/resource_table.h"
#include "test/small_kubernetes/store.h"

namespace cluster_watcher::small_kubernetes {

struct Request {
  std::string_view method = "GET";
  std::string_view target = "/";  // path and query, escaped
  std::string_view token = {};    // empty: anonymous
  std::string_view accept = "application/json";
  std::string_view content_type = "application/json";
  std::string_view body = {};
};

struct Response {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::optional<int> retry_after;  // seconds
};

struct Cause {
  std::string reason;
  std::string message;
  std::string field;
};

struct Details {
  std::string name;
  std::string group;
  std::string kind;  // the plural, mostly
  std::vector<Cause> causes;
};

Response Failure(int code, std::string_view reason, std::string_view message,
                 const Details* details = nullptr);

Response NotFound(const Resource& resource, std::string_view name);
Response NoSuchResource();  // in a group that is served
Response NoSuchPath();      // a group or version that isn't served: text
Response MethodNotAllowed();
Response BadRequest(std::string_view message);
Response UnsupportedMediaType(std::string_view accepted);
Response NotAcceptable(std::string_view message);
Response Unauthorized();
Response Forbidden(std::string_view plural, std::string_view group, std::string_view name,
                   std::string_view why, std::vector<Cause> causes = {});
Response InternalError(std::string_view why);
Response AlreadyExists(const Resource& resource, const Object& present);
Response Conflict(const Resource& resource, std::string_view name);
// The shape of DELETE, whose details hold the kind.
Response PreconditionFailed(const Resource& resource, std::string_view name, std::string_view why);
Response Expired();
// 422; `kind_name` as in the message: `ConfigMap "a"`.
Response Invalid(const Resource& resource, std::string_view name, std::vector<Cause> causes);

// The Status with which DELETE answers that an object is gone.
Response Deleted(const Resource& resource, const Object& object);

}  // namespace cluster_watcher::small_kubernetes
