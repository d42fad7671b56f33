#include "test/small_kubernetes/managed_fields.h"

#include <utility>

namespace cluster_watcher::small_kubernetes {
namespace {

// Fields as a tree: {"f:metadata":{"f:labels":{"f:app":{}}}}. One without children is a field.

constexpr std::string_view kUnknown = "unknown";

bool IsField(const Value& node) { return node.ObjectEmpty(); }
std::string Key(std::string_view name) { return "f:" + std::string(name); }
std::string_view NameOf(const Value& key) { return View(key).substr(2); }

Value FieldsIn(const Value& object) {
  Value fields = EmptyObject();
  if (!object.IsObject()) return fields;
  for (const auto& member : object.GetObject()) {
    Set(fields, Key(View(member.name)), FieldsIn(member.value));
  }
  return fields;
}

// What managers own of a whole object.
Value FieldsOf(const Value& object) {
  Value managed = EmptyObject();
  for (const auto& member : object.GetObject()) {
    const std::string_view name = View(member.name);
    if (name == "apiVersion" || name == "kind" || name == "status") continue;
    if (name != "metadata") Set(managed, Key(name), FieldsIn(member.value));
  }
  for (const char* name : {"labels", "annotations", "finalizers", "ownerReferences"}) {
    const Value* part = Find(object, "metadata", name);
    if (part == nullptr || (part->IsObject() && part->ObjectEmpty())) continue;
    Set(Child(managed, "f:metadata"), Key(name), FieldsIn(*part));
  }
  return managed;
}

void Subtract(Value& fields, const Value& taken) {
  for (const auto& member : taken.GetObject()) {
    Value* present = Find(fields, View(member.name));
    if (present == nullptr) continue;
    if (!IsField(*present) && !IsField(member.value)) {
      Subtract(*present, member.value);
      if (!IsField(*present)) continue;
    }
    Remove(fields, View(member.name));
  }
}

void Add(Value& fields, const Value& more) {
  for (const auto& member : more.GetObject()) {
    Value* present = Find(fields, View(member.name));
    if (present == nullptr) {
      Set(fields, View(member.name), Copy(member.value));
    } else {
      Add(*present, member.value);
    }
  }
}

// What is in `now` and wasn't so in `before`.
Value Changed(const Value& fields, const Value& now, const Value* before) {
  Value changed = EmptyObject();
  for (const auto& member : fields.GetObject()) {
    const std::string_view name = NameOf(member.name);
    const Value& value = *Find(now, name);
    const Value* old = before == nullptr ? nullptr : Find(*before, name);
    if (old != nullptr && *old == value) continue;
    const bool goes_on = old != nullptr && old->IsObject() && !IsField(member.value);
    Value inner = goes_on ? Changed(member.value, value, old) : Copy(member.value);
    if (goes_on && IsField(inner)) continue;
    Set(changed, View(member.name), std::move(inner));
  }
  return changed;
}

Value FieldsEntry(std::string_view manager, const FieldWrite& write, Value fields) {
  Value entry = EmptyObject();
  Set(entry, "manager", Text(manager));
  Set(entry, "operation", Text("Update"));
  Set(entry, "apiVersion", Text(write.api_version));
  Set(entry, "time", Text(write.time));
  Set(entry, "fieldsType", Text("FieldsV1"));
  Set(entry, "fieldsV1", std::move(fields));
  return entry;
}

// The entries of an object; those of one that was never tracked are of nobody by name.
Value EntriesOf(const Value& object, const FieldWrite& write) {
  if (const Value* managed = Find(object, "metadata", "managedFields")) return Copy(*managed);
  Value entries = EmptyArray();
  Append(entries, FieldsEntry(kUnknown, write, FieldsOf(object)));
  return entries;
}

void SetEntries(Value& body, Value entries) {
  Value left = EmptyArray();
  for (Value& entry : entries.GetArray()) {
    if (!IsField(*Find(entry, "fieldsV1"))) Append(left, std::move(entry));
  }
  Set(Child(body, "metadata"), "managedFields", std::move(left));
}

}  // namespace

void NoteUpdate(const Value* old, Value& body, const FieldWrite& write) {
  const bool is_tracked = old != nullptr && Find(*old, "metadata", "managedFields") != nullptr;
  if (write.manager.empty() && !is_tracked) return;
  // Who writes may change them as well.
  Value entries = old == nullptr ? EmptyArray() : EntriesOf(is_tracked ? body : *old, write);
  const Value present = FieldsOf(body);
  const Value changed = Changed(present, body, old);
  Value gone = EmptyObject();
  if (old != nullptr) gone = Changed(FieldsOf(*old), *old, &body);
  const std::string_view manager = write.manager.empty() ? kUnknown : write.manager;
  bool noted = IsField(changed);
  for (Value& entry : entries.GetArray()) {
    Value& owned = *Find(entry, "fieldsV1");
    Subtract(owned, gone);
    if (TextOf(Find(entry, "manager")) != manager) {
      Subtract(owned, changed);
    } else if (!noted) {
      Add(owned, changed);
      Set(entry, "time", Text(write.time));
      noted = true;
    }
  }
  if (!noted) Append(entries, FieldsEntry(manager, write, Copy(changed)));
  SetEntries(body, std::move(entries));
}

}  // namespace cluster_watcher::small_kubernetes
