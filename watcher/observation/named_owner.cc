#include "watcher/observation/named_owner.h"

#include <string>

#include "probes/base/names.h"
#include "probes/owner_kinds.h"
#include "watcher/observation/owner_names.h"
#include "watcher/observation/surroundings.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

// A ReplicaSet's may be a copy of another's.
std::optional<std::string> AnnotatedOwner(const KubeObject& root) {
  return SpeaksForItself(root) ? root.meta.Annotation(annotation::kOwner) : std::nullopt;
}

void CompareRootOwner(const std::optional<OwnerName>& given, Snapshot& snapshot) {
  if (!given || !snapshot.root) return;
  Facts& facts = snapshot.facts;
  facts.root_owner = AnnotatedOwner(*snapshot.root);
  if (!facts.root_owner) return;
  const auto named = OwnerName::Parse(*facts.root_owner);
  facts.root_owner_agrees = named && NamesOwner(snapshot, *named, "");
}

// From outside of the pods not all settings are seen: not those within a shell's words.
void LookForOwnerElsewhere(const Settings& settings, Snapshot& snapshot) {
  const auto& recorded = snapshot.marks.owner;
  if (!settings.pod.empty() || !snapshot.owner_name || !recorded) return;
  if (!recorded->IsFor(*snapshot.owner_name, recorded->ns)) return;
  const bool is_another_kind = snapshot.owner_name->IsBare() && settings.owner_kind.empty() &&
                               !IsBareNameKind(recorded->kind);
  const bool is_elsewhere = settings.owner_namespace.empty() && recorded->ns != snapshot.owner_ns;
  if (!is_another_kind && !is_elsewhere) return;
  snapshot.facts.unseen =
      "its watcher has seen the owner as " + recorded->ToText() + " in namespace " +
      Quoted(recorded->ns) +
      ", and no setting that is seen from here leads there: annotate the master's pod template "
      "with cluster-watcher/" +
      (is_elsewhere ? "owner-namespace" : "owner-kind");
}

}  // namespace

void FindOwnerName(const Settings& settings, Snapshot& snapshot) {
  snapshot.owner_ns = settings.OwnerNamespace();
  if (settings.owner) {
    snapshot.owner_name = settings.owner;
    snapshot.facts.given_owner = settings.owner;
    return;
  }
  if (!snapshot.root) return;
  const auto annotated = AnnotatedOwner(*snapshot.root);
  const auto& label = snapshot.facts.ephemeral_label;
  if (!annotated && !label) return;
  auto parsed = OwnerName::Parse(annotated ? *annotated : *label);
  if (!parsed) {
    snapshot.facts.setting_errors.push_back(
        std::string(annotated ? "annotation cluster-watcher/owner" : "label ephemeral") +
        " of the master root: " + parsed.error().message);
    return;
  }
  snapshot.owner_name = *parsed;
  if (annotated) snapshot.facts.given_owner = *parsed;
}

// The label holds only a name. It also agrees if it names the object that the given owner stands
// for, or a ReplicationController of the given DeploymentConfig.
void CompareOwnerNames(KubeClient& client, const Settings& settings, Snapshot& snapshot,
                       const Patience& patience) {
  CompareRootOwner(settings.owner, snapshot);
  LookForOwnerElsewhere(settings, snapshot);
  Facts& facts = snapshot.facts;
  if (!facts.given_owner || !facts.ephemeral_label) return;
  const std::string& label = *facts.ephemeral_label;
  const auto& seen = snapshot.seen;
  facts.label_agrees = IsNameOfOwner(snapshot, label);
  if (facts.label_agrees || !IsDeploymentConfig(snapshot)) return;
  auto listed = client.Do(ApiRequest::ListByName(*FindBuiltInByName("replicationcontrollers", ""),
                                                 snapshot.owner_ns, label, Freshness::kConsistent),
                          patience);
  if (!listed) {
    facts.label_agrees = true;  // no mismatch is known; the problem makes the verdict unknown
    return NoteProblem(snapshot, listed.error());
  }
  if (const JsonValue item = OnlyItem(*listed); item.Exists()) {
    auto meta = ReadObjectMeta(item);
    const OwnerReference* controller = meta ? meta->Controller() : nullptr;
    const auto& object = facts.owner ? facts.owner->object : std::optional<KubeObject>();
    const std::string uid = object ? object->meta.uid : seen ? seen->uid : "";
    facts.label_agrees = controller != nullptr && controller->kind == "DeploymentConfig" &&
                         controller->name == NameOfOwner(snapshot) &&
                         (uid.empty() || controller->uid == uid);
    return;
  }
  facts.label_agrees = IsNameOfItsController(snapshot, label);
}

}  // namespace cluster_watcher
