// Requests, answers, and the Status objects by which an API server reports errors.
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
  std::vector<std::string> warnings = {};
};

struct Cause {
  std::string reason;
  std::string message;
  std::string field;
};

struct Details {
  std::string name;
  std::string group;
  std::string kind;  // usually the plural
  std::vector<Cause> causes;
};

Response Failure(int code, std::string_view reason, std::string_view message,
                 const Details* details = nullptr);

Response NotFound(const Resource& resource, std::string_view name);
Response NoSuchResource();  // in a served group
Response NoSuchPath();      // the group or version isn't served; the answer is text
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
// As DELETE reports it, with the kind in the details.
Response PreconditionFailed(const Resource& resource, std::string_view name, std::string_view why);
Response Expired();
// 422.
Response Invalid(const Resource& resource, std::string_view name, std::vector<Cause> causes);

// The Status by which DELETE says that an object is gone.
Response Deleted(const Resource& resource, const Object& object);

}  // namespace cluster_watcher::small_kubernetes
