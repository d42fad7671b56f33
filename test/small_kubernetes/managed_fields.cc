#include "test/small_kubernetes/managed_fields.h"

#include <utility>

#include "test/small_kubernetes/patch.h"

namespace cluster_watcher::small_kubernetes {
namespace {

// Fields as a tree: {"f:metadata":{"f:labels":{"f:app":{}}}}. One without children is a field.

constexpr std::string_view kBeforeFirstApply = "before-first-apply";
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

// Whether `live` has all that is wanted; it may have defaults besides.
bool Covers(const Value* live, const Value& wanted) {
  if (live == nullptr) return false;
  if (wanted.IsObject() && live->IsObject()) {
    for (const auto& member : wanted.GetObject()) {
      if (!Covers(Find(*live, View(member.name)), member.value)) return false;
    }
    return true;
  }
  if (!wanted.IsArray() || !live->IsArray()) return *live == wanted;
  if (live->Size() != wanted.Size()) return false;
  for (rapidjson::SizeType i = 0; i < wanted.Size(); ++i) {
    if (!Covers(&(*live)[i], wanted[i])) return false;
  }
  return true;
}

// The fields of `wanted` that differ in `live` and are in `owned` too.
void Disputed(const Value& fields, const Value& wanted, const Value* live, const Value& owned,
              const std::string& path, std::vector<std::string>& found) {
  for (const auto& member : fields.GetObject()) {
    const Value* other = Find(owned, View(member.name));
    const std::string_view name = NameOf(member.name);
    if (other == nullptr) continue;
    const Value& want = *Find(wanted, name);
    const Value* now = live == nullptr ? nullptr : Find(*live, name);
    const std::string here = path + "." + std::string(name);
    if (IsField(member.value) || IsField(*other)) {
      if (!Covers(now, want)) found.push_back(here);
    } else {
      Disputed(member.value, want, now, *other, here, found);
    }
  }
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

// Takes off what only `before` had, where nobody else owns it.
void TakeOff(Value& live, const Value& before, const Value& now, const Value& others) {
  for (const auto& member : before.GetObject()) {
    const std::string_view key = View(member.name);
    const Value* kept = Find(now, key);
    const Value* owned = Find(others, key);
    Value* part = Find(live, NameOf(member.name));
    if (part == nullptr || (kept != nullptr && IsField(*kept))) continue;
    const Value nothing = EmptyObject();
    if (IsField(member.value)) {
      if (kept == nullptr && owned == nullptr) Remove(live, NameOf(member.name));
    } else if (part->IsObject()) {
      TakeOff(*part, member.value, kept == nullptr ? nothing : *kept,
              owned == nullptr ? nothing : *owned);
    }
  }
}

bool IsOf(const Value& entry, std::string_view manager, std::string_view operation) {
  return TextOf(Find(entry, "manager")) == manager && TextOf(Find(entry, "operation")) == operation;
}

Value Entry(std::string_view manager, std::string_view operation, const FieldWrite& write,
            Value fields) {
  Value entry = EmptyObject();
  Set(entry, "manager", Text(manager));
  Set(entry, "operation", Text(operation));
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
  Append(entries, Entry(kBeforeFirstApply, "Update", write, FieldsOf(object)));
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

std::vector<Cause> ApplyConflicts(const Value& live, const Value& config, const FieldWrite& write) {
  std::vector<Cause> causes;
  const Value fields = FieldsOf(config);
  const Value entries = EntriesOf(live, write);
  for (const Value& entry : entries.GetArray()) {
    if (IsOf(entry, write.manager, "Apply")) continue;
    std::vector<std::string> disputed;
    Disputed(fields, config, &live, *Find(entry, "fieldsV1"), "", disputed);
    std::string who = "conflict with " + Quote(TextOf(Find(entry, "manager")));
    if (TextOf(Find(entry, "operation")) == "Update") {
      who += " using " + std::string(TextOf(Find(entry, "apiVersion")));
    }
    for (std::string& field : disputed) {
      causes.push_back({"FieldManagerConflict", who, std::move(field)});
    }
  }
  return causes;
}

Response ApplyFailed(const std::vector<Cause>& conflicts) {
  const bool one = conflicts.size() == 1;
  std::string message = "Apply failed with " + std::to_string(conflicts.size()) +
                        (one ? " conflict: " : " conflicts: ");
  for (const Cause& cause : conflicts) {
    message += (one ? "" : "\n") + cause.message + ": " + cause.field;
  }
  const Details details{{}, {}, {}, conflicts};
  return Failure(409, "Conflict", message, &details);
}

void ApplyConfig(Value& live, const Value& config, const FieldWrite& write) {
  const Value entries = EntriesOf(live, write);
  Value others = EmptyObject();
  Value before = EmptyObject();
  for (const Value& entry : entries.GetArray()) {
    Add(IsOf(entry, write.manager, "Apply") ? before : others, *Find(entry, "fieldsV1"));
  }
  TakeOff(live, before, FieldsOf(config), others);
  MergePatch(live, config);
}

void NoteApply(const Value* old, Value& body, const Value& config, const FieldWrite& write) {
  Value fields = FieldsOf(config);
  Value entries = old == nullptr ? EmptyArray() : EntriesOf(*old, write);
  Value left = EmptyArray();
  std::string time = write.time;
  for (Value& entry : entries.GetArray()) {
    Value& owned = *Find(entry, "fieldsV1");
    if (IsOf(entry, write.manager, "Apply")) {
      if (owned == fields) time = TextOf(Find(entry, "time"));
      continue;
    }
    // What was taken by force is nobody else's any more.
    Subtract(owned, Changed(fields, config, old));
    Append(left, std::move(entry));
  }
  FieldWrite written = write;
  written.time = std::move(time);
  Append(left, Entry(write.manager, "Apply", written, std::move(fields)));
  SetEntries(body, std::move(left));
}

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
    if (!IsOf(entry, manager, "Update")) {
      Subtract(owned, changed);
    } else if (!noted) {
      Add(owned, changed);
      Set(entry, "time", Text(write.time));
      noted = true;
    }
  }
  if (!noted) Append(entries, Entry(manager, "Update", write, Copy(changed)));
  SetEntries(body, std::move(entries));
}

}  // namespace cluster_watcher::small_kubernetes
