#include "watcher/driver/cluster_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include "probes/base/json.h"
#include "probes/base/names.h"
#include "probes/masters.h"
#include "watcher/admission/manifest/read_manifests.h"
#include "watcher/admission/pod_templates.h"
#include "watcher/protocol/annotations.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {
namespace {

using Type = YamlNode::Type;

// Roots that stand for their workers in Oshinko's words too, whatever their labels.
constexpr std::string_view kFrameworkClusters[] = {"RayCluster", "DaskCluster", "FlinkDeployment"};

void Substitute(std::string& text, const std::string& name) {
  for (std::size_t at = 0; (at = text.find(kClusterVariable, at)) != std::string::npos;) {
    text.replace(at, kClusterVariable.size(), name);
    at += name.size();
  }
}

void Substitute(YamlNode& node, const std::string& name) {
  if (node.type == Type::kString) Substitute(node.text, name);
  for (YamlNode& key : node.keys) Substitute(key, name);
  for (YamlNode& item : node.items) Substitute(item, name);
}

YamlNode Text(const std::string& text) {
  YamlNode node;
  node.type = Type::kString;
  node.text = text;
  return node;
}

// Escapes a token of a JSON pointer.
std::string Escaped(const std::string& key) {
  std::string token;
  for (const char c : key) token += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return token;
}

// Sets PATH/metadata/FIELD/KEY, whether there are labels or annotations yet or not.
Result<Done> SetMeta(YamlNode& node, const std::string& path, const std::string& field,
                     const std::string& key, const std::string& value) {
  const auto document =
      JsonDocument::Parse(WriteJson(node, JsonWriter::Style::kCompact, Scalars::kMeant));
  if (!document) return Failure(document.error().message);
  JsonValue at = document->root();
  for (std::size_t begin = 1; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string token = path.substr(begin, end - begin);
    at = at.IsArray() ? at.At(std::stoul(token)) : at[token];
    begin = end + 1;
  }
  YamlNode map;
  map.type = Type::kMap;
  const std::string meta = path + "/metadata";
  if (!at["metadata"].IsObject()) {
    if (auto added = AddTo(node, meta, map); !added) return added;
  }
  if (!at["metadata"][field].IsObject()) {
    if (auto added = AddTo(node, meta + "/" + field, map); !added) return added;
  }
  return AddTo(node, meta + "/" + field + "/" + Escaped(key), Text(value));
}

bool IsWorkerLabelled(JsonValue metadata) {
  return metadata["labels"][kTypeLabel].AsString() == kWorkerType;
}

// Whether it is the custom resource that stands for the cluster.
bool IsResource(const ClusterObject& object, const ClusterId& cluster) {
  const Profile& profile = *cluster.profile;
  return profile.HasRoot() && object.kind == profile.root_kind && object.name == cluster.name &&
         object.api_version.starts_with(profile.root.group + "/");
}

bool IsRoot(const ClusterObject& object, JsonValue json, const ClusterId& cluster) {
  const Profile& profile = *cluster.profile;
  if (profile.HasRoot()) return IsResource(object, cluster);
  const auto* const end = std::end(kFrameworkClusters);
  if (std::find(std::begin(kFrameworkClusters), end, object.kind) != end) return true;
  const auto templates = PodTemplatesOf(json);
  if (templates.empty()) return false;
  return profile.master.Holds(json["metadata"]) ||
         std::any_of(templates.begin(), templates.end(), [&](const PodTemplate& one) {
           return IsMaster(*FindBuiltInByName("pods", ""), one.pod, profile);
         });
}

// When it is made. The master first; what makes the cluster complete last, so that a cluster isn't
// taken for complete while other objects are missing.
constexpr int kMasterTurn = 0;
constexpr int kUsualTurn = 1;
constexpr int kWorkerTurn = 2;
constexpr int kMasterServiceTurn = 3;

int TurnOf(const ClusterObject& object, JsonValue json, const ClusterId& cluster) {
  if (IsRoot(object, json, cluster)) return kMasterTurn;
  if (object.kind == "Service") {
    return cluster.profile->master.Holds(json["metadata"]) ? kMasterServiceTurn : kUsualTurn;
  }
  const auto templates = PodTemplatesOf(json);
  const bool is_worker =
      std::any_of(templates.begin(), templates.end(), [&](const PodTemplate& one) {
        return IsWorkerLabelled(json["metadata"]) || IsWorkerLabelled(one.pod["metadata"]);
      });
  return is_worker ? kWorkerTurn : kUsualTurn;
}

// Fields that the API server writes, and `create` never does: an exported manifest has them.
constexpr const char* kOfTheServer[] = {"uid", "resourceVersion", "ownerReferences",
                                        "managedFields"};

// Why it can't be created as it is; empty: nothing.
std::string ProblemOf(JsonValue object, const ClusterId& cluster) {
  const JsonValue metadata = object["metadata"];
  const std::string_view name = metadata["name"].AsString().value_or("");
  const std::string_view ns = metadata["namespace"].AsString().value_or("");
  if (object["apiVersion"].AsString().value_or("").empty()) return "it has no apiVersion";
  if (object["kind"].AsString().value_or("").empty()) return "it has no kind";
  if (metadata["generateName"].Exists() || name.empty()) {
    return "it has no name: give metadata.name, as in name: $(CLUSTER)-m";
  }
  if (!IsDnsSubdomain(name)) return Quoted(name) + " is no name of an object";
  if (!ns.empty() && ns != cluster.ns) {
    return "it is of the namespace " + Quoted(ns) + ", not of " + cluster.ns +
           ": take metadata.namespace off, or give -n";
  }
  for (const char* field : kOfTheServer) {
    if (metadata[field].size() == 0 && !metadata[field].AsString()) continue;
    return std::string("it has metadata.") + field + ": take it off";
  }
  for (const auto& [key, value] : metadata["annotations"].Members()) {
    if (IsMark(key)) return "it is annotated with a mark, " + std::string(key) + ": take it off";
  }
  const auto label = metadata["labels"][cluster.label()].AsString();
  if (label && *label != cluster.name) {
    return "it is labelled as of the cluster " + Quoted(*label) + ": write $(CLUSTER)";
  }
  return "";
}

struct Made {
  int turn;
  ClusterObject object;
};

// An object as it stands in a file.
struct Parsed {
  std::string where;  // "cluster.yaml, line 3: "
  JsonDocument json;
  ClusterObject object;
};

Result<Parsed> Parse(YamlNode node, const ClusterId& cluster) {
  Substitute(node, cluster.name);
  auto json = JsonDocument::Parse(WriteJson(node, JsonWriter::Style::kCompact, Scalars::kMeant));
  if (!json) return Failure("it is not fit for JSON: " + json.error().message);
  ClusterObject object{std::string(node.TextAt("apiVersion")), std::string(node.TextAt("kind")),
                       std::string(json->root()["metadata"]["name"].AsString().value_or("")),
                       std::move(node)};
  return Parsed{"", *std::move(json), std::move(object)};
}

// In whose words the objects are: of a custom resource that is called like the cluster, unless it
// makes masters in Oshinko's.
SharedProfile ProfileOf(const std::vector<Parsed>& objects, const ClusterId& cluster,
                        const ProfileTable& profiles) {
  const Profile& usual = *DefaultProfile();
  for (const Parsed& one : objects) {
    const auto templates = PodTemplatesOf(one.json.root());
    const bool is_usual = std::any_of(
        templates.begin(), templates.end(),
        [&](const PodTemplate& found) { return usual.master.Holds(found.pod["metadata"]); });
    if (is_usual) continue;
    for (const SharedProfile& profile : profiles.rows()) {
      if (IsResource(one.object, {cluster.ns, profile, cluster.name})) return profile;
    }
  }
  return cluster.profile;
}

Result<Done> SetLabels(ClusterObject& object, const ClusterId& cluster) {
  if (IsResource(object, cluster)) return Done{};
  for (const auto& [key, values] : cluster.profile->members.labels) {
    if (auto set = SetLabel(object, key, values.front()); !set) return set;
  }
  return SetLabel(object, cluster.label(), cluster.name);
}

Result<Made> Make(Parsed parsed, const ClusterId& cluster) {
  const JsonValue json = parsed.json.root();
  if (const std::string problem = ProblemOf(json, cluster); !problem.empty()) {
    return Failure(problem);
  }
  const int turn = TurnOf(parsed.object, json, cluster);
  if (auto set = SetLabels(parsed.object, cluster); !set) return Failure(set.error().message);
  return Made{turn, std::move(parsed.object)};
}

std::string WrongMasters(const std::string& file, const std::vector<std::string>& masters,
                         const ClusterId& cluster) {
  if (masters.empty() && cluster.profile->HasRoot()) {
    return file + ": there is no " + cluster.profile->root_kind + " called " + cluster.name;
  }
  if (masters.empty()) {
    std::string labels = cluster.profile->master.ToText();
    labels.replace(labels.find('='), 1, ": ");
    return file + ": there is no master: label the pods of one workload " + labels;
  }
  return file + ": there are several masters, " + Joined(masters) +
         ": give a file with one cluster";
}

// The objects in their order. What is wrong is added to `errors`.
std::vector<ClusterObject> MakeAll(std::vector<Parsed> parsed, const ClusterId& cluster,
                                   const std::string& files, std::vector<std::string>& errors) {
  std::vector<Made> made;
  std::vector<std::string> masters;
  std::set<std::string> names;
  for (Parsed& of_file : parsed) {
    const std::string where = of_file.where;
    auto one = Make(std::move(of_file), cluster);
    if (!one) {
      errors.push_back(where + one.error().message);
      continue;
    }
    const ClusterObject& object = one->object;
    const std::string group = object.api_version.substr(0, object.api_version.find('/') + 1);
    if (!names.insert(group + object.Describe()).second) {
      errors.push_back(where + object.Describe() + " is there twice");
      continue;
    }
    if (one->turn == kMasterTurn) masters.push_back(object.Describe());
    made.push_back(*std::move(one));
  }
  // One that is wrong may be the master.
  if (masters.size() != 1 && errors.empty()) {
    errors.push_back(WrongMasters(files, masters, cluster));
  }
  std::stable_sort(made.begin(), made.end(),
                   [](const Made& one, const Made& other) { return one.turn < other.turn; });
  std::vector<ClusterObject> objects;
  for (Made& one : made) objects.push_back(std::move(one.object));
  return objects;
}

}  // namespace

std::string ClusterObject::Describe() const { return kind + " " + name; }

std::string ClusterObject::Json() const {
  return WriteJson(node, JsonWriter::Style::kCompact, Scalars::kMeant);
}

Result<Done> SetLabel(ClusterObject& object, const std::string& key, const std::string& value) {
  const auto json =
      JsonDocument::Parse(WriteJson(object.node, JsonWriter::Style::kCompact, Scalars::kMeant));
  if (!json) return Failure(json.error().message);
  if (auto set = SetMeta(object.node, "", "labels", key, value); !set) return set;
  for (const PodTemplate& found : PodTemplatesOf(json->root())) {
    if (found.path.empty()) continue;
    if (auto set = SetMeta(object.node, found.path, "labels", key, value); !set) return set;
  }
  return Done{};
}

Result<Done> SetOwnLabel(ClusterObject& object, const std::string& key, const std::string& value) {
  return SetMeta(object.node, "", "labels", key, value);
}

Result<Done> SetAnnotation(ClusterObject& object, const std::string& key,
                           const std::string& value) {
  return SetMeta(object.node, "", "annotations", key, value);
}

Result<ClusterFile, std::vector<std::string>> ReadClusterFiles(std::span<const ManifestFile> files,
                                                               const ClusterId& of,
                                                               const ProfileTable& profiles,
                                                               bool finds_profile) {
  std::vector<std::string> errors;
  std::string all_files;
  std::vector<Parsed> parsed;
  for (const ManifestFile& file : files) {
    all_files += (all_files.empty() ? "" : ", ") + file.name;
    auto manifests = ReadManifests(file.text);
    if (!manifests) {
      errors.push_back(manifests.error().In(file.name));
      continue;
    }
    if (manifests->empty()) errors.push_back(file.name + " has no objects");
    for (ManifestObject& manifest : *manifests) {
      std::string where = file.name + ", line " + std::to_string(manifest.line) + ": ";
      auto one = Parse(std::move(manifest.root), of);
      if (!one) {
        errors.push_back(where + one.error().message);
        continue;
      }
      one->where = std::move(where);
      parsed.push_back(*std::move(one));
    }
  }
  ClusterId cluster = of;
  if (finds_profile) cluster.profile = ProfileOf(parsed, of, profiles);
  auto objects = MakeAll(std::move(parsed), cluster, all_files, errors);
  if (!errors.empty()) return Unexpected{std::move(errors)};
  return ClusterFile{cluster.profile, std::move(objects)};
}

}  // namespace cluster_watcher
