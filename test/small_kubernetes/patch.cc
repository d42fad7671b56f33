#include "test/small_kubernetes/patch.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace cluster_watcher::small_kubernetes {
namespace {

void Merge(Value& target, const Value& patch, bool strategic);

// Returns the member that identifies the elements of a list; empty if the list is replaced.
std::string_view MergeKey(std::string_view list) {
  for (std::string_view by_name : {"containers", "initContainers", "env", "volumes"}) {
    if (list == by_name) return "name";
  }
  if (list == "ports") return "containerPort";
  if (list == "volumeMounts") return "mountPath";
  if (list == "conditions") return "type";
  if (list == "ownerReferences") return "uid";
  return {};
}

Value::ValueIterator FindElement(Value& list, std::string_view key, const Value& element) {
  return std::find_if(list.Begin(), list.End(), [&](const Value& present) {
    return Same(Find(present, key), Find(element, key));
  });
}

void MergeList(Value& list, const Value& patch, std::string_view key) {
  for (const Value& element : patch.GetArray()) {
    const auto present = FindElement(list, key, element);
    const bool removed = TextOf(Find(element, "$patch")) == "delete";
    if (present == list.End()) {
      if (!removed) Append(list, Copy(element));
    } else if (removed) {
      list.Erase(present);
    } else {
      Merge(*present, element, true);
    }
  }
}

void MergeSet(Value& list, const Value& patch) {
  for (const Value& element : patch.GetArray()) {
    if (std::find(list.Begin(), list.End(), element) == list.End()) Append(list, Copy(element));
  }
}

bool AllHave(const Value& list, std::string_view key) {
  return std::all_of(list.Begin(), list.End(),
                     [&](const Value& element) { return Find(element, key) != nullptr; });
}

// Returns whether `patch` is for such a list, and has been merged.
bool MergedAsList(Value& target, std::string_view name, const Value& patch) {
  constexpr std::string_view kDeletedPrimitives = "$deleteFromPrimitiveList/";
  if (name.substr(0, kDeletedPrimitives.size()) == kDeletedPrimitives && patch.IsArray()) {
    Value* list = Find(target, name.substr(kDeletedPrimitives.size()));
    if (list == nullptr || !list->IsArray()) return true;
    for (const Value& element : patch.GetArray()) {
      const auto present = std::find(list->Begin(), list->End(), element);
      if (present != list->End()) list->Erase(present);
    }
    return true;
  }
  if (!name.empty() && name.front() == '$') return true;
  Value* list = Find(target, name);
  if (!patch.IsArray() || list == nullptr || !list->IsArray()) return false;
  if (name == "finalizers") return MergeSet(*list, patch), true;
  const std::string_view key = MergeKey(name);
  if (key.empty() || !AllHave(patch, key)) return false;
  return MergeList(*list, patch, key), true;
}

void Merge(Value& target, const Value& patch, bool strategic) {
  if (!patch.IsObject()) {
    target = Copy(patch);
    return;
  }
  if (!target.IsObject()) target.SetObject();
  for (const auto& member : patch.GetObject()) {
    const std::string_view name = View(member.name);
    if (strategic && MergedAsList(target, name, member.value)) continue;
    if (member.value.IsNull()) {
      Remove(target, name);
    } else if (member.value.IsObject()) {
      Merge(Child(target, name), member.value, strategic);
    } else {
      Set(target, name, Copy(member.value));
    }
  }
}

std::string Unescape(std::string_view segment) {
  std::string text;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    if (segment[i] == '~' && i + 1 < segment.size()) {
      text += segment[++i] == '1' ? '/' : '~';
    } else {
      text += segment[i];
    }
  }
  return text;
}

constexpr rapidjson::SizeType kNowhere = ~rapidjson::SizeType{0};

// Returns the index that a segment means, the list's size for "-".
rapidjson::SizeType Index(const Value& list, std::string_view segment) {
  if (!list.IsArray()) return kNowhere;
  if (segment == "-") return list.Size();
  rapidjson::SizeType index = 0;
  const auto [end, error] = std::from_chars(segment.data(), segment.data() + segment.size(), index);
  const bool whole = error == std::errc() && end == segment.data() + segment.size();
  return whole && index <= list.Size() ? index : kNowhere;
}

bool Insert(Value& parent, const std::string& last, const Value& value) {
  if (parent.IsObject()) return Set(parent, last, Copy(value)), true;
  const rapidjson::SizeType index = Index(parent, last);
  if (index == kNowhere) return false;
  Append(parent, Copy(value));
  std::rotate(parent.Begin() + index, parent.End() - 1, parent.End());
  return true;
}

bool Apply(Value& parent, const std::string& last, std::string_view op, const Value* value) {
  Value* present = Find(parent, last);
  const rapidjson::SizeType index = Index(parent, last);
  const bool element = index != kNowhere && index < parent.Size();
  if (element) present = &parent[index];
  if (op == "add") return value != nullptr && Insert(parent, last, *value);
  if (present == nullptr) return false;
  if (op == "test") return Same(present, value);
  if (op == "replace" && value != nullptr) return *present = Copy(*value), true;
  if (op != "remove") return false;
  if (element) return parent.Erase(parent.Begin() + index), true;
  return Remove(parent, last);
}

}  // namespace

void MergePatch(Value& target, const Value& patch) { Merge(target, patch, false); }

void StrategicMergePatch(Value& target, const Value& patch) { Merge(target, patch, true); }

bool JsonPatch(Value& target, const Value& patch) {
  if (!patch.IsArray()) return false;
  for (const Value& operation : patch.GetArray()) {
    std::string_view path = TextOf(Find(operation, "path"));
    if (path.empty() || path.front() != '/') return false;
    Value* parent = &target;
    std::size_t slash;
    while ((slash = path.find('/', 1)) != std::string_view::npos) {
      const std::string segment = Unescape(path.substr(1, slash - 1));
      const rapidjson::SizeType index = Index(*parent, segment);
      const bool element = index != kNowhere && index < parent->Size();
      parent = element ? &(*parent)[index] : Find(*parent, segment);
      if (parent == nullptr) return false;
      path.remove_prefix(slash);
    }
    if (!Apply(*parent, Unescape(path.substr(1)), TextOf(Find(operation, "op")),
               Find(operation, "value"))) {
      return false;
    }
  }
  return true;
}

}  // namespace cluster_watcher::small_kubernetes
