// Objects, lists and answers as an API server writes them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/kube/resource_type.h"
#include "probes/kube/transport.h"

namespace cluster_watcher {

inline HttpResponse Answer(int status, std::string body,
                           std::string content_type = "application/json") {
  HttpResponse response;
  response.status = status;
  response.content_type = std::move(content_type);
  response.body = std::move(body);
  return response;
}

inline HttpResult NoAnswer(TransportError::Kind kind = TransportError::Kind::kTimeout) {
  return Unexpected{TransportError{kind, "no answer came"}};
}

// An API server's answer to a path that it doesn't serve.
inline HttpResponse NoSuchPath() { return Answer(404, "404 page not found\n", "text/plain"); }

// The built-in kind with this name.
inline const ResourceType& TypeOf(std::string_view name) { return *FindBuiltInByName(name, ""); }

// An object as the API server writes it. `metadata` and `fields` add fields, as JSON text without
// the enclosing braces.
inline std::string ObjectText(const ResourceType& type, std::string_view ns, std::string_view name,
                              std::string_view uid, std::string_view metadata = "",
                              std::string_view fields = "") {
  std::string text = R"({"apiVersion":")" + type.ApiVersion() + R"(","kind":")" + type.kind +
                     R"(","metadata":{"name":")" + std::string(name) + R"(","uid":")" +
                     std::string(uid) + R"(","resourceVersion":"7")";
  if (!ns.empty()) text += R"(,"namespace":")" + std::string(ns) + R"(")";
  if (!metadata.empty()) text += "," + std::string(metadata);
  text += "}";
  if (!fields.empty()) text += "," + std::string(fields);
  return text + "}";
}

inline std::string ListText(const ResourceType& type, const std::vector<std::string>& items,
                            std::string_view next = "") {
  std::string text = R"({"apiVersion":")" + type.ApiVersion() + R"(","kind":")" + type.kind +
                     R"(List","metadata":{"resourceVersion":"9")";
  if (!next.empty()) text += R"(,"continue":")" + std::string(next) + R"(")";
  text += R"(},"items":[)";
  for (std::size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ",") + items[i];
  return text + "]}";
}

inline HttpResponse ListAnswer(const ResourceType& type, const std::vector<std::string>& items,
                               std::string_view next = "") {
  return Answer(200, ListText(type, items, next));
}
inline HttpResponse ObjectAnswer(const ResourceType& type, std::string_view ns,
                                 std::string_view name, std::string_view uid,
                                 std::string_view metadata = "", std::string_view fields = "") {
  return Answer(200, ObjectText(type, ns, name, uid, metadata, fields));
}

// The 404 of a missing object.
inline HttpResponse NotFound(const ResourceType& type, const std::string& name) {
  const std::string group = type.group.empty() ? "" : R"("group":")" + type.group + R"(",)";
  return Answer(404, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
                     R"("message":"not found","reason":"NotFound","details":{"name":")" +
                         name + R"(",)" + group + R"("kind":")" + type.plural +
                         R"("},"code":404})");
}

inline HttpResponse Refused(int status) {
  return Answer(status, R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"no"})");
}

// `"metadata":{…}` of an object in the namespace "lab"; Labelled() makes it the cluster "spark"'s.
inline std::string Meta(const std::string& name, const std::string& more = "") {
  return R"("metadata":{"name":")" + name + R"(","namespace":"lab")" + more + "}";
}
inline std::string Labelled(const std::string& name, const std::string& more = "") {
  return Meta(name, R"(,"labels":{"oshinko-cluster":"spark"})" + more);
}

// `"ownerReferences":[…]` with one controller.
inline std::string ControlledBy(const ResourceType& type, std::string_view name,
                                std::string_view uid) {
  return R"("ownerReferences":[{"apiVersion":")" + type.ApiVersion() + R"(","kind":")" + type.kind +
         R"(","name":")" + std::string(name) + R"(","uid":")" + std::string(uid) +
         R"(","controller":true}])";
}

// Lists these groups and versions besides the groups of every API server.
inline HttpResponse GroupList(std::map<std::string, std::vector<std::string>> groups) {
  for (const char* group : {"apps", "batch"})
    groups.try_emplace(group, std::vector<std::string>{"v1"});
  std::string text = R"({"kind":"APIGroupList","apiVersion":"v1","groups":[)";
  for (bool first = true; const auto& [group, versions] : groups) {
    text += std::string(first ? "" : ",") + R"({"name":")" + group + R"(","versions":[)";
    for (std::size_t i = 0; i < versions.size(); ++i) {
      text += std::string(i == 0 ? "" : ",") + R"({"groupVersion":")" + group + "/" + versions[i] +
              R"(","version":")" + versions[i] + R"("})";
    }
    text += R"(],"preferredVersion":{"groupVersion":")" + group + "/" + versions.front() +
            R"(","version":")" + versions.front() + R"("}})";
    first = false;
  }
  return Answer(200, text + "]}");
}

inline HttpResponse ResourceList(const std::string& group_version,
                                 const std::vector<ResourceType>& types) {
  std::string text = R"({"kind":"APIResourceList","apiVersion":"v1","groupVersion":")" +
                     group_version + R"(","resources":[)";
  for (std::size_t i = 0; i < types.size(); ++i) {
    text += std::string(i == 0 ? "" : ",") + R"({"name":")" + types[i].plural + R"(","kind":")" +
            types[i].kind + R"(","namespaced":)" + (types[i].namespaced ? "true" : "false") +
            R"(,"verbs":["create","get","list"]})";
  }
  return Answer(200, text + "]}");
}

}  // namespace cluster_watcher
