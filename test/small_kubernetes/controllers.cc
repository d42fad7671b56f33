#include "test/small_kubernetes/controllers.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "test/small_kubernetes/deletion.h"
#include "test/small_kubernetes/garbage_collector.h"
#include "test/small_kubernetes/objects.h"
#include "test/small_kubernetes/selectors.h"

namespace cluster_watcher::small_kubernetes {
namespace {

constexpr std::string_view kNode = "small-node";

// Enough for every chain of writes by controllers to settle.
constexpr int kMaxRounds = 200;

Value OwnerReference(const Object& owner) {
  Value reference = EmptyObject();
  Set(reference, "apiVersion", Text(owner.resource->ApiVersion()));
  Set(reference, "kind", Text(owner.resource->kind));
  Set(reference, "name", Text(owner.name));
  Set(reference, "uid", Text(owner.uid));
  Set(reference, "controller", Value(true));
  Set(reference, "blockOwnerDeletion", Value(true));
  return reference;
}

Value ListOf(Value only) {
  Value list = EmptyArray();
  Append(list, std::move(only));
  return list;
}

Value Named(std::string_view ns, std::string_view name) {
  Value metadata = EmptyObject();
  Set(metadata, "name", Text(name));
  Set(metadata, "namespace", Text(ns));
  return metadata;
}

Value CopyOr(const Value* value, Value otherwise) {
  return value == nullptr ? std::move(otherwise) : Copy(*value);
}

std::string TemplateHash(const Value& pod_template) {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::uint32_t hash = 2166136261;
  for (char c : Write(pod_template)) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  std::string text;
  for (; text.size() < 10; hash = hash / 27 + hash * 31) text += kLetters[hash % 27];
  return text;
}

bool IsFinished(const Object& pod) {
  const std::string_view phase = TextOf(Find(pod.body, "status", "phase"));
  return phase == "Succeeded" || phase == "Failed";
}

bool HasCondition(const Object& object, std::string_view type) {
  const Value* conditions = Find(object.body, "status", "conditions");
  if (!HasElements(conditions)) return false;
  return std::any_of(conditions->Begin(), conditions->End(), [&](const Value& condition) {
    return TextOf(Find(condition, "type")) == type && TextOf(Find(condition, "status")) == "True";
  });
}

std::int64_t ReadyAmong(const std::vector<ObjectPtr>& pods) {
  return std::count_if(pods.begin(), pods.end(),
                       [](const ObjectPtr& pod) { return HasCondition(*pod, "Ready"); });
}

Value Condition(std::string_view type, bool holds) {
  Value condition = EmptyObject();
  Set(condition, "type", Text(type));
  Set(condition, "status", Text(holds ? "True" : "False"));
  return condition;
}

void SetUnlessZero(Value& object, std::string_view key, std::int64_t number) {
  if (number != 0) Set(object, key, Number(number));
}

std::vector<ObjectPtr> Active(std::vector<ObjectPtr> pods) {
  std::erase_if(pods, [](const ObjectPtr& pod) { return pod->deleting || IsFinished(*pod); });
  return pods;
}

std::int64_t WantedReplicas(const Object& object) {
  return NumberOf(Find(object.body, "spec", "replicas"), 1);
}

}  // namespace

Controllers::Controllers(Store& store, const ResourceTable& resources)
    : store_(store),
      resources_(resources),
      namespaces_(resources.Of("", "namespaces")),
      pods_(resources.Of("", "pods")),
      services_(resources.Of("", "services")),
      endpoints_(resources.Of("", "endpoints")),
      config_maps_(resources.Of("", "configmaps")),
      service_accounts_(resources.Of("", "serviceaccounts")),
      claims_(resources.Of("", "persistentvolumeclaims")),
      replication_controllers_(resources.Of("", "replicationcontrollers")),
      deployments_(resources.Of("apps", "deployments")),
      replica_sets_(resources.Of("apps", "replicasets")),
      stateful_sets_(resources.Of("apps", "statefulsets")),
      jobs_(resources.Of("batch", "jobs")) {}

void Controllers::Settle() {
  std::uint64_t before = 0;
  for (int round = 0; round < kMaxRounds && before != store_.Version(); ++round) {
    before = store_.Version();
    RunOnce();
  }
}

bool Controllers::Changed(std::initializer_list<const Resource*> resources,
                          std::uint64_t& seen) const {
  std::uint64_t version = 0;
  for (const Resource* resource : resources) {
    version = std::max(version, store_.VersionOf(*resource));
  }
  return std::exchange(seen, version) != version;
}

bool Controllers::NeedsWork(const Object& owner, const Resource& resource) {
  const std::uint64_t version = std::max(owner.version, store_.VersionBelow(owner.uid, resource));
  return std::exchange(seen_owners_[owner.uid], version) != version;
}

void Controllers::RunOnce() {
  if (Changed({&namespaces_, &service_accounts_, &config_maps_}, seen_.namespaces) ||
      seen_.terminating) {
    Namespaces();
  }
  if (Changed({&deployments_, &replica_sets_}, seen_.deployments)) Deployments();
  if (Changed({&replica_sets_, &pods_}, seen_.replica_sets)) ReplicaControllers(replica_sets_);
  if (Changed({&replication_controllers_, &pods_}, seen_.replication_controllers)) {
    ReplicaControllers(replication_controllers_);
  }
  if (Changed({&stateful_sets_, &pods_}, seen_.stateful_sets)) StatefulSets();
  if (Changed({&jobs_, &pods_}, seen_.jobs)) Jobs();
  if (Changed({&services_, &endpoints_}, seen_.endpoints)) Endpoints();
  if (Changed({&claims_, &pods_}, seen_.claims)) Claims();
  if (pods_run && Changed({&pods_}, seen_.pods)) Pods();
  if (std::exchange(seen_.garbage, store_.OwnershipVersion()) != store_.OwnershipVersion()) {
    CollectGarbage(store_, resources_);
  }
}

void Controllers::Namespaces() {
  seen_.terminating = false;
  for (const ObjectPtr& ns : store_.List(namespaces_, {})) {
    if (ns->deleting) {
      seen_.terminating = true;
      EmptyNamespace(ns);
      continue;
    }
    if (store_.Get(service_accounts_, ns->name, "default") == nullptr) {
      Value account = EmptyObject();
      Set(account, "metadata", Named(ns->name, "default"));
      store_.Create(service_accounts_, std::move(account));
    }
    if (store_.Get(config_maps_, ns->name, "kube-root-ca.crt") == nullptr) {
      Value map = EmptyObject();
      Set(map, "metadata", Named(ns->name, "kube-root-ca.crt"));
      Set(Child(map, "data"), "ca.crt", Text(""));
      store_.Create(config_maps_, std::move(map));
    }
  }
}

void Controllers::EmptyNamespace(const ObjectPtr& ns) {
  bool empty = true;
  DeleteOptions background;
  background.propagation = "Background";
  for (const Resource& resource : resources_.All()) {
    if (!resource.namespaced || resource.index != resource.storage) continue;
    for (const ObjectPtr& object : store_.List(resource, ns->name)) {
      if (object->deleting) {
        empty = false;
      } else if (!Delete(store_, object, background).gone) {
        empty = false;
      }
    }
  }
  if (!empty || Find(ns->body, "spec", "finalizers") == nullptr) return;
  Value body = Copy(ns->body);
  Remove(*Find(body, "spec"), "finalizers");
  UpdateOrFinish(store_, ns, std::move(body));
}

std::vector<ObjectPtr> Controllers::Controlled(const Resource& resource, const Object& owner) {
  std::vector<ObjectPtr> result;
  std::vector<std::size_t> orphans;  // which of them are adopted
  const Value* wanted = Find(owner.body, "spec", "selector");
  std::optional<LabelSelector> selector;
  Examined& examined = examined_[owner.uid];
  // What didn't match doesn't, until it or the owner is written.
  const std::uint64_t known = examined.owner == owner.version ? examined.up_to : 0;
  examined = {owner.version, store_.Version()};
  store_.ForEach(resource, owner.ns, [&](const ObjectPtr& object) {
    if (object->controller_uid == owner.uid) {
      result.push_back(object);
      return;
    }
    if (!object->controller_uid.empty() || object->version <= known) return;
    if (object->deleting || owner.deleting) return;
    if (!selector) {
      selector = owner.resource == &replication_controllers_ ? LabelSelector::FromMap(wanted)
                                                             : LabelSelector::FromObject(wanted);
    }
    if (!selector->Matches(object->Labels())) return;
    orphans.push_back(result.size());
    result.push_back(object);
  });
  for (const std::size_t orphan : orphans) {
    const ObjectPtr object = result[orphan];
    Value body = Copy(object->body);
    Value& metadata = *Find(body, "metadata");
    if (!HasElements(Find(metadata, "ownerReferences"))) {
      Set(metadata, "ownerReferences", EmptyArray());
    }
    Append(*Find(metadata, "ownerReferences"), OwnerReference(owner));
    result[orphan] = store_.Update(object, std::move(body));
  }
  return result;
}

void Controllers::SetStatus(const ObjectPtr& object, Value status) {
  if (Same(Find(object->body, "status"), &status)) return;
  Value body = Copy(object->body);
  Set(body, "status", std::move(status));
  store_.Update(object, std::move(body));
}

void Controllers::CreatePod(const Object& owner, Value metadata) {
  const ObjectPtr ns = store_.Get(namespaces_, {}, owner.ns);
  if (ns == nullptr || ns->deleting) return;
  Value body = EmptyObject();
  const Value* pod_template = Find(owner.body, "spec", "template");
  if (pod_template == nullptr) return;
  if (const Value* annotations = Find(*pod_template, "metadata", "annotations")) {
    Set(metadata, "annotations", Copy(*annotations));
  }
  Set(metadata, "namespace", Text(owner.ns));
  Set(metadata, "generation", Number(1));
  Set(metadata, "ownerReferences", ListOf(OwnerReference(owner)));
  Set(body, "metadata", std::move(metadata));
  Set(body, "spec", CopyOr(Find(*pod_template, "spec"), EmptyObject()));
  SetDefaults(pods_, body, true);
  store_.Create(pods_, std::move(body));
}

void Controllers::Deployments() {
  for (const ObjectPtr& deployment : store_.List(deployments_, {})) {
    if (!deployment->deleting && NeedsWork(*deployment, replica_sets_)) Deployment(deployment);
  }
}

ObjectPtr Controllers::NewReplicaSet(const ObjectPtr& deployment) {
  const ObjectPtr ns = store_.Get(namespaces_, {}, deployment->ns);
  const Value* pod_template = Find(deployment->body, "spec", "template");
  if (pod_template == nullptr || ns == nullptr || ns->deleting) return nullptr;
  const std::string hash = TemplateHash(*pod_template);
  const std::string name = deployment->name + "-" + hash;
  if (ObjectPtr present = store_.Get(replica_sets_, deployment->ns, name)) return present;
  Value body = EmptyObject();
  Value& metadata = Child(body, "metadata");
  metadata = Named(deployment->ns, name);
  Value labels = CopyOr(Find(*pod_template, "metadata", "labels"), EmptyObject());
  Set(labels, "pod-template-hash", Text(hash));
  Set(metadata, "labels", Copy(labels));
  Set(metadata, "generation", Number(1));
  Set(metadata, "ownerReferences", ListOf(OwnerReference(*deployment)));
  Value& spec = Child(body, "spec");
  Set(spec, "replicas", Number(WantedReplicas(*deployment)));
  Set(spec, "selector", CopyOr(Find(deployment->body, "spec", "selector"), EmptyObject()));
  Set(Child(Child(spec, "selector"), "matchLabels"), "pod-template-hash", Text(hash));
  Set(spec, "template", Copy(*pod_template));
  Set(Child(Child(spec, "template"), "metadata"), "labels", std::move(labels));
  return store_.Create(replica_sets_, std::move(body));
}

void Controllers::SyncReplicaSet(const ObjectPtr& set, const Object* deployment,
                                 std::int64_t wanted) {
  Value annotations = CopyOr(Find(set->Metadata(), "annotations"), EmptyObject());
  if (const Value* copied =
          deployment == nullptr ? nullptr : Find(deployment->Metadata(), "annotations")) {
    for (const auto& annotation : copied->GetObject()) {
      if (View(annotation.name) == "kubectl.kubernetes.io/last-applied-configuration") continue;
      Set(annotations, View(annotation.name), Copy(annotation.value));
    }
  }
  const Value* present = Find(set->Metadata(), "annotations");
  const bool same_annotations =
      present == nullptr ? annotations.ObjectEmpty() : annotations == *present;
  if (same_annotations && WantedReplicas(*set) == wanted) return;
  Value body = Copy(set->body);
  Value& metadata = *Find(body, "metadata");
  if (!annotations.ObjectEmpty()) Set(metadata, "annotations", std::move(annotations));
  if (WantedReplicas(*set) != wanted) {
    Set(Child(body, "spec"), "replicas", Number(wanted));
    Set(metadata, "generation", Number(NumberOf(Find(metadata, "generation"), 0) + 1));
  }
  store_.Update(set, std::move(body));
}

void Controllers::Deployment(const ObjectPtr& deployment) {
  std::vector<ObjectPtr> sets = Controlled(replica_sets_, *deployment);
  const ObjectPtr current = NewReplicaSet(deployment);
  if (current == nullptr) return;
  if (std::none_of(sets.begin(), sets.end(),
                   [&](const ObjectPtr& set) { return set->uid == current->uid; })) {
    sets.push_back(current);
  }
  const std::int64_t wanted = WantedReplicas(*deployment);
  std::int64_t old_ones = 0;
  for (const ObjectPtr& set : sets) {
    if (set->uid != current->uid) old_ones += WantedReplicas(*set);
  }
  // A rollout removes only as many old pods as there are ready new ones.
  const Value* current_status = Find(current->body, "status");
  const std::int64_t ready_ones =
      current_status == nullptr ? 0 : NumberOf(Find(*current_status, "readyReplicas"), 0);
  const bool at_once = TextOf(Find(deployment->body, "spec", "strategy", "type")) == "Recreate";
  std::int64_t old_left =
      at_once ? 0 : std::min(old_ones, std::max<std::int64_t>(0, wanted - ready_ones));
  const std::int64_t surge = (wanted + 3) / 4;
  const std::int64_t new_ones =
      at_once ? wanted : std::clamp<std::int64_t>(wanted + surge - old_left, 0, wanted);
  std::int64_t replicas = 0, updated = 0, ready = 0;
  for (const ObjectPtr& set : sets) {
    const bool is_current = set->uid == current->uid;
    const Value* status = Find(set->body, "status");
    const std::int64_t count = status == nullptr ? 0 : NumberOf(Find(*status, "replicas"), 0);
    replicas += count;
    if (is_current) updated = count;
    if (status != nullptr) ready += NumberOf(Find(*status, "readyReplicas"), 0);
    const std::int64_t kept = std::min(old_left, WantedReplicas(*set));
    if (!is_current) old_left -= kept;
    SyncReplicaSet(set, is_current ? deployment.get() : nullptr, is_current ? new_ones : kept);
  }
  Value status = EmptyObject();
  SetUnlessZero(status, "observedGeneration",
                NumberOf(Find(deployment->Metadata(), "generation"), 0));
  SetUnlessZero(status, "replicas", replicas);
  SetUnlessZero(status, "updatedReplicas", updated);
  SetUnlessZero(status, "readyReplicas", ready);
  SetUnlessZero(status, "availableReplicas", ready);
  SetUnlessZero(status, "unavailableReplicas",
                std::max<std::int64_t>(0, WantedReplicas(*deployment) - ready));
  SetStatus(deployment, std::move(status));
}

void Controllers::ReplicaControllers(const Resource& resource) {
  for (const ObjectPtr& owner : store_.List(resource, {})) {
    if (NeedsWork(*owner, pods_)) Replicas(owner);
  }
}

void Controllers::Replicas(const ObjectPtr& owner) {
  std::vector<ObjectPtr> pods = Active(Controlled(pods_, *owner));
  const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(0, WantedReplicas(*owner)));
  if (!owner->deleting) {
    for (; pods.size() > wanted; pods.pop_back()) Delete(store_, pods.back(), {});
    for (std::size_t count = pods.size(); count < wanted; ++count) {
      Value metadata = EmptyObject();
      Set(metadata, "name", Text(owner->name + "-" + store_.RandomName(5)));
      Set(metadata, "generateName", Text(owner->name + "-"));
      const Value* labels = Find(owner->body, "spec", "template", "metadata");
      if (labels != nullptr) labels = Find(*labels, "labels");
      Set(metadata, "labels", CopyOr(labels, EmptyObject()));
      CreatePod(*owner, std::move(metadata));
    }
    pods = Active(Controlled(pods_, *owner));
  }
  const auto count = static_cast<std::int64_t>(pods.size());
  const std::int64_t ready = ReadyAmong(pods);
  Value status = EmptyObject();
  Set(status, "replicas", Number(count));
  SetUnlessZero(status, "fullyLabeledReplicas", count);
  SetUnlessZero(status, "readyReplicas", ready);
  SetUnlessZero(status, "availableReplicas", ready);
  SetUnlessZero(status, "observedGeneration", NumberOf(Find(owner->Metadata(), "generation"), 0));
  SetStatus(owner, std::move(status));
}

void Controllers::StatefulSets() {
  for (const ObjectPtr& set : store_.List(stateful_sets_, {})) {
    if (NeedsWork(*set, pods_)) StatefulSet(set);
  }
}

// Releases the claims of a StatefulSet whose policy keeps them, and takes back those of another,
// whoever let them go. Source: kubernetes/pkg/controller/statefulset, stateful_pod_control.go,
// UpdatePodClaimForRetentionPolicy.
void Controllers::FitClaims(const ObjectPtr& set, const std::string& pod, bool retains) {
  const Value* templates = Find(set->body, "spec", "volumeClaimTemplates");
  if (!HasElements(templates)) return;
  for (const Value& one : templates->GetArray()) {
    const std::string name = std::string(TextOf(Find(one, "metadata", "name"))) + "-" + pod;
    const ObjectPtr claim = store_.Get(claims_, set->ns, name);
    if (claim == nullptr) continue;
    Value owners = EmptyArray();
    bool is_owned = false;
    if (const Value* references = Find(claim->Metadata(), "ownerReferences")) {
      for (const Value& reference : references->GetArray()) {
        const bool is_set = TextOf(Find(reference, "uid")) == set->uid;
        is_owned |= is_set;
        if (!is_set) Append(owners, Copy(reference));
      }
    }
    if (is_owned == !retains) continue;
    if (!retains) Append(owners, OwnerReference(*set));
    Value body = Copy(claim->body);
    Value& metadata = *Find(body, "metadata");
    Remove(metadata, "ownerReferences");
    if (!owners.Empty()) Set(metadata, "ownerReferences", std::move(owners));
    store_.Update(claim, std::move(body));
  }
}

void Controllers::StatefulSet(const ObjectPtr& set) {
  const Value& spec = *Find(set->body, "spec");
  const bool retains =
      TextOf(Find(spec, "persistentVolumeClaimRetentionPolicy", "whenDeleted")) != "Delete";
  const std::int64_t wanted = WantedReplicas(*set);
  const bool parallel = TextOf(Find(spec, "podManagementPolicy")) == "Parallel";
  const Value* claim_templates = Find(spec, "volumeClaimTemplates");
  for (std::int64_t ordinal = 0; ordinal < wanted && !set->deleting; ++ordinal) {
    const std::string name = set->name + "-" + std::to_string(ordinal);
    if (const ObjectPtr pod = store_.Get(pods_, set->ns, name)) {
      // Not those of ordinals behind it, nor of such that were scaled away.
      FitClaims(set, name, retains);
      if (!parallel && !HasCondition(*pod, "Ready")) break;
      continue;
    }
    if (HasElements(claim_templates)) {
      for (const Value& claim_template : claim_templates->GetArray()) {
        const std::string claim =
            std::string(TextOf(Find(claim_template, "metadata", "name"))) + "-" + name;
        if (store_.Get(claims_, set->ns, claim) != nullptr) continue;
        Value body = EmptyObject();
        Value metadata = Named(set->ns, claim);
        // The labels come from the selector, not from the template.
        Set(metadata, "labels", CopyOr(Find(spec, "selector", "matchLabels"), EmptyObject()));
        if (!retains) {
          Set(metadata, "ownerReferences", ListOf(OwnerReference(*set)));
        }
        Set(body, "metadata", std::move(metadata));
        Set(body, "spec", CopyOr(Find(claim_template, "spec"), EmptyObject()));
        SetDefaults(claims_, body, true);
        store_.Create(claims_, std::move(body));
      }
    }
    Value metadata = EmptyObject();
    Set(metadata, "name", Text(name));
    Set(metadata, "generateName", Text(set->name + "-"));
    Value labels = CopyOr(Find(spec, "template", "metadata", "labels"), EmptyObject());
    Set(labels, "apps.kubernetes.io/pod-index", Text(std::to_string(ordinal)));
    Set(labels, "controller-revision-hash", Text(set->name + "-" + TemplateHash(spec)));
    Set(labels, "statefulset.kubernetes.io/pod-name", Text(name));
    Set(metadata, "labels", std::move(labels));
    CreatePod(*set, std::move(metadata));
    if (!parallel && !pods_run) break;
  }
  std::vector<ObjectPtr> pods = Active(Controlled(pods_, *set));
  for (const ObjectPtr& pod : pods) {
    const std::string_view ordinal =
        TextOf(Find(pod->Metadata(), "labels", "apps.kubernetes.io/pod-index"));
    if (!set->deleting && std::atoll(std::string(ordinal).c_str()) >= wanted) {
      Delete(store_, pod, {});
    }
  }
  pods = Active(Controlled(pods_, *set));
  Value status = EmptyObject();
  SetUnlessZero(status, "observedGeneration", NumberOf(Find(set->Metadata(), "generation"), 0));
  Set(status, "replicas", Number(static_cast<std::int64_t>(pods.size())));
  SetUnlessZero(status, "readyReplicas", ReadyAmong(pods));
  Set(status, "availableReplicas", Number(ReadyAmong(pods)));
  SetStatus(set, std::move(status));
}

void Controllers::Jobs() {
  for (const ObjectPtr& job : store_.List(jobs_, {})) {
    const bool over = HasCondition(*job, "Complete") || HasCondition(*job, "Failed");
    if (!job->deleting && !over && NeedsWork(*job, pods_)) Job(job);
  }
}

void Controllers::Job(const ObjectPtr& job) {
  const Value& spec = *Find(job->body, "spec");
  const std::vector<ObjectPtr> all = Controlled(pods_, *job);
  const auto in_phase = [&](std::string_view phase) {
    return std::count_if(all.begin(), all.end(), [&](const ObjectPtr& pod) {
      return TextOf(Find(pod->body, "status", "phase")) == phase;
    });
  };
  const std::int64_t succeeded = in_phase("Succeeded"), failed = in_phase("Failed");
  const std::int64_t completions = NumberOf(Find(spec, "completions"), 0);
  const bool suspended = IsTrue(Find(spec, "suspend"));
  const bool complete = completions > 0 && succeeded >= completions;
  const bool given_up = failed > NumberOf(Find(spec, "backoffLimit"), 6);
  std::int64_t wanted = NumberOf(Find(spec, "parallelism"), 1);
  if (completions > 0) wanted = std::min(wanted, completions - succeeded);
  if (suspended || complete || given_up) wanted = 0;
  std::vector<ObjectPtr> active = Active(all);
  for (; static_cast<std::int64_t>(active.size()) > wanted; active.pop_back()) {
    Delete(store_, active.back(), {});
  }
  for (auto count = static_cast<std::int64_t>(active.size()); count < wanted; ++count) {
    Value metadata = EmptyObject();
    Set(metadata, "name", Text(job->name + "-" + store_.RandomName(5)));
    Set(metadata, "generateName", Text(job->name + "-"));
    Set(metadata, "labels", CopyOr(Find(spec, "template", "metadata", "labels"), EmptyObject()));
    CreatePod(*job, std::move(metadata));
  }
  Value status = CopyOr(Find(job->body, "status"), EmptyObject());
  for (const char* key : {"active", "succeeded", "failed"}) Remove(status, key);
  SetUnlessZero(status, "active",
                static_cast<std::int64_t>(Active(Controlled(pods_, *job)).size()));
  SetUnlessZero(status, "succeeded", succeeded);
  SetUnlessZero(status, "failed", failed);
  if (!suspended && Find(status, "startTime") == nullptr) {
    Set(status, "startTime", Text(store_.Timestamp()));
  }
  if (complete) {
    Set(status, "completionTime", Text(store_.Timestamp()));
    Set(status, "conditions", ListOf(Condition("SuccessCriteriaMet", true)));
    Append(*Find(status, "conditions"), Condition("Complete", true));
  } else if (given_up) {
    Set(status, "conditions", ListOf(Condition("FailureTarget", true)));
    Append(*Find(status, "conditions"), Condition("Failed", true));
  } else if (suspended != HasCondition(*job, "Suspended")) {
    Set(status, "conditions", ListOf(Condition("Suspended", suspended)));
    if (suspended) Remove(status, "startTime");
  }
  SetStatus(job, std::move(status));
}

void Controllers::Endpoints() {
  constexpr std::string_view kManagedBy = "endpoints.kubernetes.io/managed-by";
  for (const ObjectPtr& service : store_.List(services_, {})) {
    if (Find(service->body, "spec", "selector") == nullptr || service->deleting) continue;
    Value labels = CopyOr(service->Labels(), EmptyObject());
    if (TextOf(Find(service->body, "spec", "clusterIP")) == "None") {
      Set(labels, "service.kubernetes.io/headless", Text(""));
    }
    Set(labels, kManagedBy, Text("endpoint-controller"));
    if (const ObjectPtr present = store_.Get(endpoints_, service->ns, service->name)) {
      Value body = Copy(present->body);
      Set(*Find(body, "metadata"), "labels", std::move(labels));
      store_.Update(present, std::move(body));
      continue;
    }
    const ObjectPtr ns = store_.Get(namespaces_, {}, service->ns);
    if (ns == nullptr || ns->deleting) continue;
    Value body = EmptyObject();
    Value metadata = Named(service->ns, service->name);
    Set(metadata, "labels", std::move(labels));
    Set(body, "metadata", std::move(metadata));
    store_.Create(endpoints_, std::move(body));
  }
  for (const ObjectPtr& endpoints : store_.List(endpoints_, {})) {
    const Value* labels = endpoints->Labels();
    const bool ours = labels != nullptr && Find(*labels, kManagedBy) != nullptr;
    if (ours && store_.Get(services_, endpoints->ns, endpoints->name) == nullptr) {
      Delete(store_, endpoints, {});
    }
  }
}

void Controllers::Claims() {
  for (const ObjectPtr& claim : store_.List(claims_, {})) {
    if (!claim->deleting || !HasFinalizer(*claim, "kubernetes.io/pvc-protection")) continue;
    bool used = false;
    for (const ObjectPtr& pod : store_.List(pods_, claim->ns)) {
      const Value* volumes = Find(pod->body, "spec", "volumes");
      const bool placed = !TextOf(Find(pod->body, "spec", "nodeName")).empty();
      if (!placed || IsFinished(*pod) || !HasElements(volumes)) continue;
      for (const Value& volume : volumes->GetArray()) {
        used |= TextOf(Find(volume, "persistentVolumeClaim", "claimName")) == claim->name;
      }
    }
    if (!used) RemoveFinalizer(store_, claim, "kubernetes.io/pvc-protection");
  }
}

void Controllers::Pods() {
  for (const ObjectPtr& pod : store_.List(pods_, {})) {
    const std::string_view node = TextOf(Find(pod->body, "spec", "nodeName"));
    if (pod->deleting && node == kNode) {
      DeleteOptions at_once;
      at_once.grace_seconds = 0;
      Delete(store_, pod, at_once);
    } else if (!pod->deleting && node.empty()) {
      Value body = Copy(pod->body);
      Set(Child(body, "spec"), "nodeName", Text(kNode));
      Value& status = Child(body, "status");
      Set(status, "phase", Text("Running"));
      Set(status, "conditions", ListOf(Condition("Ready", true)));
      store_.Update(pod, std::move(body));
    }
  }
}

}  // namespace cluster_watcher::small_kubernetes
