#include "test/adversary/evidence.h"

#include <rapidjson/document.h>

#include <set>
#include <string_view>

namespace cluster_watcher::adversary {
namespace {

using rapidjson::Document;
using rapidjson::Value;

bool ParseJson(const Exchange& exchange, int status, Document& document) {
  if (!exchange.answer || exchange.answer->status != status) return false;
  if (!exchange.answer->content_type.starts_with("application/json")) return false;
  const std::string& body = exchange.answer->body;
  document.Parse<rapidjson::kParseValidateEncodingFlag>(body.data(), body.size());
  return !document.HasParseError() && document.IsObject();
}

bool Is(const Value& object, const char* key, const std::string& text) {
  if (!object.IsObject()) return false;
  const auto found = object.FindMember(key);
  return found != object.MemberEnd() && found->value.IsString() && text == found->value.GetString();
}

const Value* Find(const Value& object, const char* key) {
  if (!object.IsObject()) return nullptr;
  const auto found = object.FindMember(key);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

// A definition names the list kind of its objects as it likes, and nothing tells which it is. That
// of a built-in kind it is not.
bool IsListKind(const Sought& sought, const Value& list) {
  if (Is(list, "kind", sought.kind + "List")) return true;
  const Value* kind = Find(list, "kind");
  if (!sought.custom || kind == nullptr || !kind->IsString()) return false;
  const std::string_view text(kind->GetString(), kind->GetStringLength());
  constexpr std::string_view kList = "List";
  static const std::set<std::string_view> built_in = {
      "ConfigMap", "CronJob",    "DaemonSet", "Deployment", "DeploymentConfig",
      "Job",       "Namespace",  "Pod",       "ReplicaSet", "ReplicationController",
      "Service",   "StatefulSet"};
  return text.ends_with(kList) && text.size() > kList.size() && text != sought.kind &&
         !built_in.contains(text.substr(0, text.size() - kList.size()));
}

bool IsEmptyList(const Sought& sought, const Exchange& exchange) {
  const std::string target = sought.collection + "?fieldSelector=metadata.name%3D" + sought.name;
  Document list;
  if (exchange.request.target != target || !ParseJson(exchange, 200, list)) return false;
  const Value* items = Find(list, "items");
  const Value* metadata = Find(list, "metadata");
  const Value* rest = metadata == nullptr ? nullptr : Find(*metadata, "continue");
  return IsListKind(sought, list) && Is(list, "apiVersion", sought.api_version) &&
         items != nullptr && items->IsArray() && items->Empty() &&
         (rest == nullptr || (rest->IsString() && rest->GetStringLength() == 0));
}

bool IsNotFound(const Sought& sought, const Exchange& exchange) {
  Document status;
  if (exchange.request.target != sought.collection + "/" + sought.name ||
      !ParseJson(exchange, 404, status)) {
    return false;
  }
  const Value* details = Find(status, "details");
  return Is(status, "kind", "Status") && Is(status, "reason", "NotFound") && details != nullptr &&
         Is(*details, "name", sought.name) && Is(*details, "kind", sought.plural) &&
         (Is(*details, "group", sought.group) ||
          (sought.group.empty() && Find(*details, "group") == nullptr));
}

bool OffersCreate(const Sought& sought, const Exchange& exchange) {
  Document list;
  if (exchange.request.target != "/apis/" + sought.api_version || !ParseJson(exchange, 200, list)) {
    return false;
  }
  const Value* resources = Find(list, "resources");
  if (resources == nullptr || !resources->IsArray()) return false;
  for (const Value& resource : resources->GetArray()) {
    const Value* verbs = Find(resource, "verbs");
    if (!Is(resource, "name", sought.plural) || verbs == nullptr || !verbs->IsArray()) continue;
    for (const Value& verb : verbs->GetArray()) {
      if (verb.IsString() && std::string("create") == verb.GetString()) return true;
    }
  }
  return false;
}

}  // namespace

bool HasEvidence(const Sought& sought, std::span<const Exchange> heard) {
  for (std::size_t i = 0; i < heard.size(); ++i) {
    if (!IsEmptyList(sought, heard[i]) && !IsNotFound(sought, heard[i])) continue;
    if (!sought.custom) return true;
    for (std::size_t later = i + 1; later < heard.size(); ++later) {
      if (OffersCreate(sought, heard[later])) return true;
    }
  }
  return false;
}

bool HasObject(const std::string& path, const char* key, const std::string& value,
               std::span<const Exchange> heard) {
  for (const Exchange& exchange : heard) {
    Document object;
    if (exchange.request.target != path || !ParseJson(exchange, 200, object)) continue;
    const Value* metadata = Find(object, "metadata");
    if (metadata != nullptr && Is(*metadata, key, value)) return true;
  }
  return false;
}

}  // namespace cluster_watcher::adversary
