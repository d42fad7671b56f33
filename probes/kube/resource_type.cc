#include "probes/kube/resource_type.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/names.h"
#include "probes/kube/built_in_types.h"

namespace cluster_watcher {
namespace {

ResourceType TypeOf(const BuiltInType& type) {
  return {std::string(type.group), std::string(type.version), std::string(type.plural),
          std::string(type.kind), type.namespaced};
}

const ResourceType* FindByName(std::string_view name, std::string_view group) {
  if (name.empty()) return nullptr;
  for (std::size_t i = 0; i < kBuiltInTypes.size(); ++i) {
    const BuiltInType& type = kBuiltInTypes[i];
    if (!group.empty() && group != type.group) continue;
    if (name == type.plural || name == LowerCase(type.kind) || name == type.short_name) {
      return &BuiltInResourceTypes()[i];
    }
  }
  return nullptr;
}

}  // namespace

std::string ResourceType::ApiVersion() const {
  return group.empty() ? version : group + "/" + version;
}

std::string ResourceType::QualifiedName() const {
  return group.empty() ? plural : plural + "." + group;
}

std::string ResourceType::SingularName() const {
  return group.empty() ? LowerCase(kind) : LowerCase(kind) + "." + group;
}

std::string ResourceType::CollectionPath(std::string_view ns) const {
  std::string path = group.empty() ? "/api/" : "/apis/" + PercentEncode(group) + "/";
  path += PercentEncode(version);
  if (namespaced && !ns.empty()) path += "/namespaces/" + PercentEncode(ns);
  return path + "/" + PercentEncode(plural);
}

std::string ResourceType::ObjectPath(std::string_view ns, std::string_view name) const {
  return CollectionPath(ns) + "/" + PercentEncode(name);
}

const ResourceType* FindBuiltInByKind(std::string_view api_version, std::string_view kind) {
  for (const ResourceType& type : BuiltInResourceTypes()) {
    if (type.kind == kind && type.ApiVersion() == api_version) return &type;
  }
  return nullptr;
}

const ResourceType* FindBuiltInByName(std::string_view name, std::string_view group) {
  const KindName wanted = SplitKindName(name);
  const std::string wanted_group = LowerCase(group);
  if (wanted.group.empty()) return FindByName(wanted.kind, wanted_group);
  if (!wanted_group.empty() && wanted_group != wanted.group) return nullptr;
  return FindByName(wanted.kind, wanted.group);
}

bool IsPod(const ResourceType& type) { return type.kind == "Pod" && type.group.empty(); }

const std::vector<ResourceType>& BuiltInResourceTypes() {
  static const std::vector<ResourceType> types = [] {
    std::vector<ResourceType> all;
    for (const BuiltInType& type : kBuiltInTypes) all.push_back(TypeOf(type));
    return all;
  }();
  return types;
}

std::string PercentEncode(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  const auto is_unreserved = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
  };
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c)) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += {'%', kHex[byte >> 4], kHex[byte & 0xf]};
    }
  }
  return encoded;
}

}  // namespace cluster_watcher
