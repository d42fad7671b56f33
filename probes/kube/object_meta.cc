#include "probes/kube/object_meta.h"

#include <algorithm>
#include <iterator>

#include "probes/base/names.h"
#include "probes/base/time_text.h"

namespace cluster_watcher {
namespace {

// Whatever else people annotate is nobody's here.
constexpr std::string_view kReadAnnotations[] = {"cluster-watcher/", "openshift.io/"};
constexpr std::size_t kLongestFinalizers = 256;

using Texts = ObjectMeta::Texts;

bool IsAnyKey(std::string_view) { return true; }

// Thousands of objects may be held, and an object's annotations may take 256 kB.
bool IsReadAnnotation(std::string_view key) {
  return std::any_of(std::begin(kReadAnnotations), std::end(kReadAnnotations),
                     [key](std::string_view prefix) { return key.starts_with(prefix); });
}

// A missing or null map is empty, because the API server leaves out empty maps.
Result<Texts> ReadTexts(JsonValue value, const char* field, bool is_read(std::string_view)) {
  Texts map;
  if (!value.Exists() || value.IsNull()) return map;
  if (!value.IsObject()) return Failure(std::string(field) + " is not an object");
  for (const auto& [key, text] : value.Members()) {
    auto string = text.AsString();
    if (!string) return Failure(std::string(field) + " holds a value that is not a string");
    if (is_read(key)) map.emplace(key, *string);
  }
  return map;
}

Result<std::vector<OwnerReference>> ReadOwnerReferences(JsonValue value) {
  std::vector<OwnerReference> references;
  if (!value.Exists() || value.IsNull()) return references;
  if (!value.IsArray()) return Failure("metadata.ownerReferences is not a list");
  for (JsonValue entry : value.Elements()) {
    auto api_version = entry["apiVersion"].AsString();
    auto kind = entry["kind"].AsString();
    auto name = entry["name"].AsString();
    auto uid = entry["uid"].AsString();
    if (!api_version || !kind || !name || !uid) {
      return Failure("metadata.ownerReferences holds an entry that is not an owner reference");
    }
    const JsonValue controller = entry["controller"];
    if (controller.Exists() && !controller.IsNull() && !controller.AsBool()) {
      return Failure("metadata.ownerReferences holds a controller that is not a boolean");
    }
    references.push_back({std::string(*api_version), std::string(*kind), std::string(*name),
                          std::string(*uid), entry["controller"].AsBool().value_or(false),
                          entry["blockOwnerDeletion"].AsBool().value_or(false)});
  }
  return references;
}

// For people: what isn't a text is passed over.
std::string NamesOfFinalizers(JsonValue finalizers) {
  std::string names;
  for (JsonValue one : finalizers.Elements()) {
    names += (names.empty() ? "" : ", ") + std::string(one.AsString().value_or(""));
  }
  return std::string(CutText(names, kLongestFinalizers));
}

std::optional<std::string> Find(const Texts& map, std::string_view key) {
  auto found = map.find(key);
  return found == map.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

const OwnerReference* ObjectMeta::Controller() const {
  for (const OwnerReference& reference : owner_references()) {
    if (reference.controller) return &reference;
  }
  return nullptr;
}

bool ObjectMeta::IsOwnedBy(std::string_view owner_uid) const {
  return std::any_of(owner_references().begin(), owner_references().end(),
                     [owner_uid](const OwnerReference& owner) { return owner.uid == owner_uid; });
}

std::optional<std::string> ObjectMeta::Label(std::string_view key) const {
  return Find(labels(), key);
}

std::optional<std::string> ObjectMeta::Annotation(std::string_view key) const {
  return Find(annotations(), key);
}

Result<ObjectMeta> ReadObjectMeta(JsonValue object) {
  const JsonValue metadata = object["metadata"];
  const auto name = metadata["name"].AsString();
  const auto uid = metadata["uid"].AsString();
  const auto version = metadata["resourceVersion"].AsString();
  if (!name || name->empty() || !uid || uid->empty() || !version || version->empty()) {
    return Failure("an object without metadata.name, uid or resourceVersion");
  }
  auto labels = ReadTexts(metadata["labels"], "metadata.labels", IsAnyKey);
  if (!labels) return Unexpected{std::move(labels).error()};
  auto annotations = ReadTexts(metadata["annotations"], "metadata.annotations", IsReadAnnotation);
  if (!annotations) return Unexpected{std::move(annotations).error()};
  auto references = ReadOwnerReferences(metadata["ownerReferences"]);
  if (!references) return Unexpected{std::move(references).error()};
  const JsonValue ns = metadata["namespace"];
  if (ns.Exists() && !ns.IsNull() && !ns.AsString()) {
    return Failure("metadata.namespace is not a string");
  }
  const JsonValue deletion = metadata["deletionTimestamp"];
  if (deletion.Exists() && !deletion.IsNull() && deletion.AsString().value_or("").empty()) {
    return Failure("metadata.deletionTimestamp is not a time");
  }
  const bool deleting = deletion.Exists() && !deletion.IsNull();
  return ObjectMeta{std::string(*name),
                    std::string(*uid),
                    std::string(*version),
                    ObjectMeta::Common{std::string(ns.AsString().value_or("")), *std::move(labels),
                                       *std::move(annotations), *std::move(references)},
                    ParseTime(metadata["creationTimestamp"].AsString().value_or("")),
                    metadata["generation"].AsInteger().value_or(0),
                    deleting,
                    {deleting ? NamesOfFinalizers(metadata["finalizers"]) : std::string()}};
}

bool HasOnlyNewStatus(const ObjectMeta& before, ObjectMeta now) {
  now.resource_version = before.resource_version;
  return now == before;
}

std::string KubeObject::Describe() const { return type->SingularName() + "/" + meta.name; }

bool IsNoLaterVersion(std::string_view version, std::string_view than) {
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (!is_number(version) || !is_number(than)) return false;
  return version.size() != than.size() ? version.size() < than.size() : version <= than;
}

}  // namespace cluster_watcher
