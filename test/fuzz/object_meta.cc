// Fuzzes the metadata of an object and its marks: they are read as written, an object without a
// name, UID or resourceVersion is refused, marks of another object don't count, and the resulting
// patches are JSON.
#include "probes/kube/object_meta.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "test/fuzz/fuzz.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {
namespace {

void CheckOwnerReferences(const ObjectMeta& meta, JsonValue references) {
  Require(meta.owner_references().size() == references.size(), "every owner reference is read");
  for (std::size_t i = 0; i < references.size(); ++i) {
    const OwnerReference& read = meta.owner_references()[i];
    const JsonValue written = references.At(i);
    Require(written["uid"].AsString() == read.uid && written["name"].AsString() == read.name &&
                written["kind"].AsString() == read.kind &&
                written["apiVersion"].AsString() == read.api_version &&
                written["controller"].AsBool().value_or(false) == read.controller,
            "an owner reference is as written");
  }
  const OwnerReference* controller = meta.Controller();
  const bool any = std::any_of(meta.owner_references().begin(), meta.owner_references().end(),
                               [](const OwnerReference& each) { return each.controller; });
  Require((controller != nullptr) == any && (!any || controller->controller),
          "the controller is one that says so");
}

void CheckMarks(const ObjectMeta& meta) {
  const Marks marks = ReadMarks(meta);
  const bool own = meta.Annotation(annotation::kRootUid) == meta.uid;
  Require(own || (marks.phase == Phase::kWatching && !marks.owner && !marks.deleting_since &&
                  marks.reason.empty()),
          "marks that aren't the object's own do not count");
  const AnnotationChanges changes = marks.owner ? OwnerMarks(*marks.owner) : AnnotationChanges();

  const auto patch = JsonDocument::Parse(MarksPatch(meta, changes));
  Require(patch.has_value(), "a patch is JSON");
  const JsonValue patched = patch->root()["metadata"];
  Require(patched["resourceVersion"].AsString() == meta.resource_version,
          "a patch holds for what was read");
  Require(patched["annotations"][annotation::kRootUid].AsString() == meta.uid,
          "a patch marks the object as its own");

  ObjectMeta next = meta;
  for (const auto& [key, text] : patched["annotations"].Members()) {
    next.common.Edit().annotations.erase(std::string(key));
    if (text.AsString()) next.common.Edit().annotations.emplace(key, *text.AsString());
  }
  const Marks again = ReadMarks(next);
  Require(!HasVoidMarks(next), "a patch leaves no void marks");
  Require(again.owner.has_value() == marks.owner.has_value(), "the owner stays recorded");
  if (!marks.owner) return;
  Require(again.owner->uid == marks.owner->uid && again.owner->name == marks.owner->name &&
              again.owner->ns == marks.owner->ns && again.owner->kind == marks.owner->kind &&
              again.owner->pod_selector == marks.owner->pod_selector &&
              again.owner->termination_grace == marks.owner->termination_grace,
          "the owner is recorded as it was read");
}

}  // namespace

void TryInput(std::string_view input) {
  const auto document = JsonDocument::Parse(input);
  if (!document) return;
  const auto meta = ReadObjectMeta(document->root());
  if (!meta) {
    Require(IsOneLine(meta.error().message), "the reason is one line");
    return;
  }
  const JsonValue written = document->root()["metadata"];
  Require(!meta->name.empty() && written["name"].AsString() == meta->name, "the name is there");
  Require(!meta->uid.empty() && written["uid"].AsString() == meta->uid, "the UID is there");
  Require(!meta->resource_version.empty() &&
              written["resourceVersion"].AsString() == meta->resource_version,
          "the resourceVersion is there");
  Require(written["namespace"].AsString().value_or("") == meta->ns(),
          "the namespace is as written");
  Require(meta->deleting == !written["deletionTimestamp"].AsString().value_or("").empty(),
          "what has a deletionTimestamp is being deleted");
  Require(meta->labels().size() == written["labels"].size(), "every label is read");
  for (const auto& [key, text] : written["labels"].Members()) {
    Require(meta->Label(key) == text.AsString(), "a label is as written");
  }
  std::size_t own = 0;  // others' aren't held
  for (const auto& [key, text] : written["annotations"].Members()) {
    if (!key.starts_with("cluster-watcher/") && !key.starts_with("openshift.io/")) continue;
    ++own;
    Require(meta->Annotation(key) == text.AsString(), "an annotation is as written");
  }
  Require(meta->annotations().size() == own, "every annotation of ours is read");
  CheckOwnerReferences(*meta, written["ownerReferences"]);
  CheckMarks(*meta);
}

}  // namespace cluster_watcher
