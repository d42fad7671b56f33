#include "probes/profile.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "probes/cluster_labels.h"
#include "probes/kube/resource_type.h"

namespace cluster_watcher {
namespace {

template <typename Label>
bool HoldsFor(const LabelRule& rule, const Label& label) {
  return std::all_of(rule.labels.begin(), rule.labels.end(), [&](const auto& wanted) {
    const auto value = label(wanted.first);
    const auto& values = wanted.second;
    return value && std::find(values.begin(), values.end(), *value) != values.end();
  });
}

void CopyMembers(JsonValue object, JsonWriter& writer,
                 std::unordered_set<std::string_view>& written) {
  object.ForEachMember([&](std::string_view key, JsonValue value) {
    if (written.insert(key).second) writer.Key(key).Value(value);
  });
}

// Writes the maps under `key`, of which the first that has an entry has the last word.
void WriteMerged(const std::vector<JsonValue>& metadata, std::string_view key, JsonWriter& writer) {
  writer.Key(key).StartObject();
  std::unordered_set<std::string_view> written;
  for (const JsonValue one : metadata) CopyMembers(one[key], writer, written);
  writer.EndObject();
}

void WriteContainers(const std::vector<JsonValue>& specs, std::string_view key,
                     JsonWriter& writer) {
  writer.Key(key).StartArray();
  for (const JsonValue spec : specs) {
    for (const JsonValue container : spec[key].Elements()) writer.Value(container);
  }
  writer.EndArray();
}

}  // namespace

bool LabelRule::Holds(const ObjectMeta& meta) const {
  return HoldsFor(*this, [&](const std::string& key) { return meta.Label(key); });
}

bool LabelRule::Holds(JsonValue metadata) const {
  return HoldsFor(*this,
                  [&](const std::string& key) { return metadata["labels"][key].AsString(); });
}

std::string LabelRule::ToText() const {
  std::string text;
  for (const auto& [key, values] : labels) {
    if (!text.empty()) text += ",";
    text += key;
    if (values.size() == 1) {
      text.append("=").append(values.front());
      continue;
    }
    std::string any;
    for (const std::string& value : values) any.append(any.empty() ? "" : ",").append(value);
    text.append(" in (").append(any).append(")");
  }
  return text;
}

Result<bool> ProfileUses::IsOf(JsonValue object, const std::string& name) const {
  const auto named = cluster.Find(object);
  if (!named) return Unexpected{named.error()};
  return *named == name;
}

bool ProfileUses::HasEnded(JsonValue object) const {
  // A status may be behind what was submitted since.
  const auto seen = object["status"]["observedGeneration"].AsInteger();
  if (seen && *seen < object["metadata"]["generation"].AsInteger().value_or(0)) return false;
  if (unless) {
    const auto holds = unless->Holds(object);
    if (!holds || *holds) return false;
  }
  const auto now = state.Find(object);
  return now && *now && std::find(ended.begin(), ended.end(), **now) != ended.end();
}

bool Profile::IsOshinkos(const ObjectMeta& object) const {
  return !IsDefault() && !object.Label(kDefaultClusterLabel).value_or("").empty();
}

std::string Profile::Selector(const std::string& cluster) const {
  const std::string fixed = members.ToText();
  return cluster_label + (cluster.empty() ? "" : "=" + cluster) +
         (fixed.empty() ? "" : "," + fixed);
}

bool Profile::IsRoot(const ResourceType& type) const {
  return HasRoot() && type.group == root.group && type.plural == root.kind;
}

bool Profile::IsUse(const ResourceType& type) const {
  return uses && type.plural == uses->resource.kind && type.group == uses->resource.group;
}

bool Profile::IsTheirs(const ResourceType& type) const {
  return theirs.contains(type.kind + "." + type.group);
}

bool Profile::RollsOut(JsonValue object) const {
  if (!rollout) return true;
  const auto holds = rollout->Holds(object);
  return !holds || *holds;
}

JsonDocument Profile::MasterTemplate(JsonValue object) const {
  std::vector<JsonValue> parts;  // the last word first
  for (auto path = templates.rbegin(); path != templates.rend(); ++path) {
    const auto found = path->Locate(object);
    if (found && found->IsObject()) parts.push_back(*found);
  }
  std::vector<JsonValue> metadata;
  std::vector<JsonValue> specs;
  for (const JsonValue part : parts) {
    metadata.push_back(part["metadata"]);
    specs.push_back(part["spec"]);
  }
  std::vector<JsonValue> annotated = metadata;
  if (inherits) annotated.push_back(object["metadata"]);
  JsonWriter text;
  text.StartObject().Key("metadata").StartObject();
  WriteMerged(annotated, "annotations", text);
  WriteMerged(metadata, "labels", text);
  text.EndObject().Key("spec").StartObject();
  WriteContainers(specs, "containers", text);
  WriteContainers(specs, "initContainers", text);
  text.EndObject().EndObject();
  return *JsonDocument::Parse(text.Text());
}

}  // namespace cluster_watcher
