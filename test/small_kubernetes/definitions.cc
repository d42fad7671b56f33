#include "test/small_kubernetes/definitions.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "test/small_kubernetes/deletion.h"

namespace cluster_watcher::small_kubernetes {
namespace {

constexpr std::string_view kOpen = "x-kubernetes-preserve-unknown-fields";

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::vector<std::string> Texts(const Value* list) {
  std::vector<std::string> texts;
  if (!HasElements(list)) return texts;
  for (const Value& text : list->GetArray()) texts.emplace_back(TextOf(&text));
  return texts;
}

// Splits ".spec.size" into keys.
std::vector<std::string> Keys(const Value* path) {
  std::vector<std::string> keys;
  for (std::string_view rest = TextOf(path); !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view key = rest.substr(0, rest.find('.'));
    keys.emplace_back(key);
    rest.remove_prefix(key.size());
  }
  return keys;
}

void SetCondition(Value& status, const Store& store, std::string_view type, std::string_view reason,
                  std::string_view message) {
  Value condition = EmptyObject();
  Set(condition, "type", Text(type));
  Set(condition, "status", Text("True"));
  Set(condition, "lastTransitionTime", Text(store.Timestamp()));
  Set(condition, "reason", Text(reason));
  Set(condition, "message", Text(message));
  if (!HasElements(Find(status, "conditions"))) Set(status, "conditions", EmptyArray());
  Value& conditions = *Find(status, "conditions");
  for (Value& present : conditions.GetArray()) {
    if (TextOf(Find(present, "type")) != type) continue;
    if (TextOf(Find(present, "reason")) != reason) present = std::move(condition);
    return;
  }
  Append(conditions, std::move(condition));
}

// Type and metadata of an object aren't subject to the schema.
bool IsMeta(std::string_view key) {
  return key == "apiVersion" || key == "kind" || key == "metadata";
}

void Prune(Value& value, const Value& schema, bool top) {
  if (value.IsArray()) {
    const Value* items = Find(schema, "items");
    if (items == nullptr) return;
    for (Value& element : value.GetArray()) Prune(element, *items, false);
  }
  if (!value.IsObject()) return;
  const Value* additional = Find(schema, "additionalProperties");
  for (auto member = value.MemberBegin(); member < value.MemberEnd();) {
    const std::string_view key = View(member->name);
    const Value* property = Find(schema, "properties", key);
    if (property == nullptr && additional != nullptr && additional->IsObject()) {
      property = additional;
    }
    if (top && IsMeta(key)) {
      ++member;
    } else if (property != nullptr) {
      Prune(member->value, *property, false);
      ++member;
    } else if (IsTrue(Find(schema, kOpen)) || IsTrue(additional)) {
      ++member;
    } else {
      member = value.EraseMember(member);
    }
  }
}

void FillIn(Value& value, const Value& schema) {
  if (value.IsArray()) {
    const Value* items = Find(schema, "items");
    if (items == nullptr) return;
    for (Value& element : value.GetArray()) FillIn(element, *items);
  }
  const Value* properties = Find(schema, "properties");
  if (!value.IsObject() || properties == nullptr) return;
  for (const auto& property : properties->GetObject()) {
    const std::string_view key = View(property.name);
    const Value* otherwise = Find(property.value, "default");
    if (Find(value, key) == nullptr && otherwise != nullptr) Set(value, key, Copy(*otherwise));
    if (Value* present = Find(value, key)) FillIn(*present, property.value);
  }
}

Resource KindOf(const Value& spec, const Value& version) {
  Resource resource;
  const Value& names = *Find(spec, "names");
  resource.group = TextOf(Find(spec, "group"));
  resource.version = TextOf(Find(version, "name"));
  resource.plural = TextOf(Find(names, "plural"));
  resource.kind = TextOf(Find(names, "kind"));
  resource.singular = TextOf(Find(names, "singular"));
  resource.list_kind = TextOf(Find(names, "listKind"));
  resource.short_names = Texts(Find(names, "shortNames"));
  resource.categories = Texts(Find(names, "categories"));
  resource.namespaced = TextOf(Find(spec, "scope")) == "Namespaced";
  resource.has_status = Find(version, "subresources", "status") != nullptr;
  if (const Value* scale = Find(version, "subresources", "scale")) {
    resource.has_scale = true;
    resource.scale = {Keys(Find(*scale, "specReplicasPath")),
                      Keys(Find(*scale, "statusReplicasPath")),
                      Keys(Find(*scale, "labelSelectorPath"))};
  }
  if (const Value* schema = Find(version, "schema", "openAPIV3Schema")) {
    resource.schema = std::make_shared<const Value>(Copy(*schema));
  }
  resource.has_generation = true;
  resource.custom = true;
  resource.removed = !IsTrue(Find(version, "served"));
  return resource;
}

}  // namespace

bool IsDefinition(const Resource& resource) {
  return resource.kind == "CustomResourceDefinition" && resource.group == "apiextensions.k8s.io";
}

void SetDefinitionDefaults(Value& body) {
  Value& spec = Child(body, "spec");
  Value& names = Child(spec, "names");
  const std::string kind(TextOf(Find(names, "kind")));
  if (Find(names, "singular") == nullptr) Set(names, "singular", Text(LowerCase(kind)));
  if (Find(names, "listKind") == nullptr && !kind.empty()) {
    Set(names, "listKind", Text(kind + "List"));
  }
  if (Find(spec, "conversion") == nullptr) {
    Set(Child(spec, "conversion"), "strategy", Text("None"));
  }
}

std::vector<Cause> ValidateDefinition(const Value& body) {
  std::vector<Cause> causes;
  const auto text = [&](auto... keys) { return TextOf(Find(body, "spec", keys...)); };
  const std::string name(TextOf(Find(body, "metadata", "name")));
  if (name != std::string(text("names", "plural")) + "." + std::string(text("group"))) {
    causes.push_back(
        {"FieldValueInvalid",
         "Invalid value: " + Quote(name) + ": must be spec.names.plural+\".\"+spec.group",
         "metadata.name"});
  }
  const auto require = [&](std::string_view value, const char* field) {
    if (value.empty()) causes.push_back({"FieldValueRequired", "Required value", field});
  };
  require(text("group"), "spec.group");
  require(text("scope"), "spec.scope");
  const Value* versions = Find(body, "spec", "versions");
  const auto stored = [](const Value& version) { return IsTrue(Find(version, "storage")); };
  if (!HasElements(versions) || std::count_if(versions->Begin(), versions->End(), stored) != 1) {
    causes.push_back({"FieldValueInvalid",
                      "Invalid value: " + (versions == nullptr ? "null" : Write(*versions)) +
                          ": must have exactly one version marked as storage version",
                      "spec.versions"});
  }
  require(text("names", "plural"), "spec.names.plural");
  require(text("names", "kind"), "spec.names.kind");
  const std::string_view group = text("group");
  const bool approved =
      !TextOf(Find(body, "metadata", "annotations", "api-approved.kubernetes.io")).empty();
  constexpr std::string_view kProtected = ".k8s.io";
  if (!approved && group.size() > kProtected.size() &&
      group.substr(group.size() - kProtected.size()) == kProtected) {
    causes.push_back({"FieldValueRequired",
                      "Required value: protected groups must have approval annotation "
                      "\"api-approved.kubernetes.io\", see "
                      "https://github.com/kubernetes/enhancements/pull/1111",
                      "metadata.annotations[api-approved.kubernetes.io]"});
  }
  return causes;
}

void ApplySchema(const Resource& resource, Value& body) {
  if (resource.schema == nullptr) return;
  Prune(body, *resource.schema, true);
  FillIn(body, *resource.schema);
}

Definitions::Definitions(Store& store, ResourceTable& resources, Clock& clock)
    : store_(store),
      resources_(resources),
      clock_(clock),
      definitions_(resources.Of("apiextensions.k8s.io", "customresourcedefinitions")) {}

void Definitions::Sync() {
  const std::uint64_t version = store_.VersionOf(definitions_);
  if (version == seen_ && terminating_.empty()) return;
  seen_ = version;
  for (const ObjectPtr& definition : store_.List(definitions_, {})) {
    if (definition->deleting) {
      Terminate(definition);
    } else {
      Serve(definition);
    }
  }
}

void Definitions::Serve(const ObjectPtr& definition) {
  const Value& spec = *Find(definition->body, "spec");
  const Value& names = *Find(spec, "names");
  for (Resource* version :
       resources_.Versions(TextOf(Find(spec, "group")), TextOf(Find(names, "plural")))) {
    version->removed = true;
  }
  Value body = Copy(definition->body);
  Value& status = Child(body, "status");
  Value stored = EmptyArray();
  // The storage version comes first, because the objects belong to it.
  for (bool storage : {true, false}) {
    for (const Value& version : Find(spec, "versions")->GetArray()) {
      if (IsTrue(Find(version, "storage")) != storage) continue;
      resources_.Add(KindOf(spec, version));
      if (storage) Append(stored, Copy(*Find(version, "name")));
    }
  }
  SetCondition(status, store_, "NamesAccepted", "NoConflicts", "no conflicts found");
  SetCondition(status, store_, "Established", "InitialNamesAccepted",
               "the initial names have been accepted");
  Set(status, "acceptedNames", Copy(names));
  if (!HasElements(Find(status, "storedVersions"))) {
    Set(status, "storedVersions", std::move(stored));
  }
  store_.Update(definition, std::move(body));
}

void Definitions::Terminate(const ObjectPtr& definition) {
  const std::vector<Resource*> versions =
      resources_.Versions(TextOf(Find(definition->body, "spec", "group")),
                          TextOf(Find(definition->body, "spec", "names", "plural")));
  Terminating& state = terminating_[definition->uid];
  bool empty = true;
  if (!versions.empty()) {
    for (Resource* version : versions) version->terminating = true;
    for (const ObjectPtr& object : store_.List(*versions.front(), {})) {
      empty = (object->deleting ? false : Delete(store_, object, {}).gone) && empty;
    }
  }
  if (!empty) {
    state.held = true;
    Value body = Copy(definition->body);
    SetCondition(Child(body, "status"), store_, "Terminating", "InstanceDeletionInProgress",
                 "CustomResource deletion is in progress");
    store_.Update(definition, std::move(body));
    return;
  }
  if (!state.empty_since) state.empty_since = clock_.Now();
  if (state.held && clock_.Now() - *state.empty_since < kLinger) return;
  terminating_.erase(definition->uid);
  for (Resource* version : versions) version->removed = true;
  RemoveFinalizer(store_, definition, kDefinitionFinalizer);
}

}  // namespace cluster_watcher::small_kubernetes
