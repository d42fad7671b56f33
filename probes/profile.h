// The words of a framework: how it labels what it makes of a cluster, and what stands for it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/json.h"
#include "probes/base/names.h"
#include "probes/base/result.h"
#include "probes/field_path.h"
#include "probes/kube/object_meta.h"

namespace cluster_watcher {

// Labels, with the values that each may have; all of them must be there.
struct LabelRule {
  std::map<std::string, std::vector<std::string>, std::less<>> labels;

  bool Holds(const ObjectMeta& meta) const;
  bool Holds(JsonValue metadata) const;
  std::string ToText() const;  // "component=jobmanager,type in (a,b)", a label selector
};

// Custom resources that use a cluster as long as they haven't ended.
struct ProfileUses {
  KindName resource;  // plural and group
  FieldPath cluster;  // where one names the cluster
  FieldPath state;
  std::vector<std::string> ended;  // states
  // While this holds, it has not: KubeRay gives a job up that still runs, and Flink's jobs are
  // finished while they are upgraded.
  std::optional<CompletedWhen> unless;
  std::optional<FieldPath> itself;  // where it is there, the root has such a state too
  bool blocks = false;              // the root isn't finalized while there are any

  // Whether it is of the cluster of this name. Fails where FieldPath does.
  Result<bool> IsOf(JsonValue object, const std::string& name) const;
  bool HasEnded(JsonValue object) const;
};

// How a root's master pods are called: the root's name, cut and lowered, `fixed`, a dash and the
// hash of a pod template, a dash and five random characters.
struct PodNameForm {
  std::size_t cut = 0;  // 0: not cut
  bool lower = false;
  std::string fixed;
  bool hash = false;
  bool random = false;
  bool may_be_fixed = false;  // also without what is random
};

// A row of probes/profiles.yaml, which describes the fields.
struct Profile {
  std::string name;
  LabelRule master;
  std::string cluster_label;
  LabelRule members;
  KindName root;          // plural and group; empty: what controls the master
  std::string root_kind;  // "RayCluster"
  std::vector<FieldPath> templates;
  bool inherits = false;
  std::optional<CompletedWhen> rollout;  // nullopt: always
  std::optional<PodNameForm> pods;
  std::optional<ProfileUses> uses;
  // Makers of one root each, "RayJob.ray.io", and what they add to their names for its name.
  std::map<std::string, std::string, std::less<>> theirs;

  // Whether these are Oshinko's words, with whatever label of the cluster.
  bool IsDefault() const { return name == "oshinko"; }
  // Whether it is labelled as Oshinko's, and so is of no cluster in these words, which are others.
  bool IsOshinkos(const ObjectMeta& object) const;
  // A label selector of the objects of the cluster `cluster`; empty: of any cluster's.
  std::string Selector(const std::string& cluster = "") const;
  bool HasRoot() const { return !root.kind.empty(); }
  // Whether objects of this kind stand for clusters.
  bool IsRoot(const ResourceType& type) const;
  // Whether objects of this kind use clusters.
  bool IsUse(const ResourceType& type) const;
  // Whether objects of this kind make roots, one each.
  bool IsTheirs(const ResourceType& type) const;
  // Whether a change of the template in the root `object` leads to new pods.
  bool RollsOut(JsonValue object) const;
  // Returns the pod template of the master, as far as the root `object` tells: annotations, labels
  // and containers.
  JsonDocument MasterTemplate(JsonValue object) const;
};
using SharedProfile = std::shared_ptr<const Profile>;  // never null

class ProfileTable {
 public:
  // The rows that the program is built with.
  static const ProfileTable& BuiltIn();
  // Returns them with the rows in `text`, YAML or JSON, which may replace some by their names, but
  // not Oshinko's. An error names each mistake and the row it is in.
  static Result<ProfileTable> With(std::string_view text);

  const std::vector<SharedProfile>& rows() const { return rows_; }
  SharedProfile Named(std::string_view name) const;  // null: there is none
  // Returns the profile of clusters that this label names; the default one with this label if no
  // row has it.
  SharedProfile OfLabel(const std::string& cluster_label) const;
  // Whether the metadata of a pod, or of a pod template, is labelled as a master's, by any row; as
  // one of a framework only with the label of a cluster.
  bool IsMaster(JsonValue metadata) const;
  // Returns the profile whose masters are labelled so, else whose members are; the default one
  // where none fits. An error names the two that it could be.
  Result<SharedProfile> OfMaster(const ObjectMeta& pod) const;

 private:
  std::vector<SharedProfile> rows_;  // the default one first
};

// Oshinko's, for whoever names no other.
SharedProfile DefaultProfile();
std::shared_ptr<const ProfileTable> BuiltInProfiles();  // the same as ProfileTable::BuiltIn

}  // namespace cluster_watcher
