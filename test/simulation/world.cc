#include "test/simulation/world.h"

#include <cstdlib>

#include "test/simulation/reading.h"

namespace cluster_watcher::simulation {
namespace {

using small_kubernetes::Find;
using small_kubernetes::ObjectPtr;
using small_kubernetes::TextOf;

constexpr WallTime kWallBegin{std::chrono::hours(500'000)};

struct KindText {
  const char* group;
  const char* api_version;
  const char* kind;
  const char* plural;
};

KindText KindOf(DriverKind driver) {
  switch (driver) {
    case DriverKind::kDeployment:
      return {"apps", "apps/v1", "Deployment", "deployments"};
    case DriverKind::kStatefulSet:
      return {"apps", "apps/v1", "StatefulSet", "statefulsets"};
    case DriverKind::kReplicationController:
      return {"", "v1", "ReplicationController", "replicationcontrollers"};
    case DriverKind::kJob:
      return {"batch", "batch/v1", "Job", "jobs"};
    case DriverKind::kWork:
      return {"example.com", "example.com/v1", "Work", "works"};
  }
  return {};
}

// Returns a workload whose pods carry its labels, too.
std::string Workload(const char* api_version, const char* kind, const std::string& name,
                     const std::string& labels, const std::string& more_metadata, int replicas,
                     const std::string& pod_spec = R"("containers":[])") {
  if (std::string_view(kind) == "Work" || std::string_view(kind) == "Farm") {
    return std::string(R"({"apiVersion":")") + api_version + R"(","kind":")" + kind +
           R"(","metadata":{"name":")" + name + R"(","namespace":"lab","labels":{)" + labels +
           R"("app":")" + name + "\"}" + more_metadata + R"(},"spec":{"replicas":)" +
           std::to_string(replicas) + "}}";
  }
  const std::string all = "{" + labels + R"("app":")" + name + "\"}";
  const bool plain_selector = std::string_view(kind) == "ReplicationController";
  const std::string labels_wanted = R"({"app":")" + name + "\"}";
  std::string json = std::string(R"({"apiVersion":")") + api_version + R"(","kind":")" + kind +
                     R"(","metadata":{"name":")" + name + R"(","namespace":"lab","labels":)" + all +
                     more_metadata + R"(},"spec":{)";
  if (std::string_view(kind) == "Job") {
    return json + R"("suspend":)" + (replicas == 0 ? "true" : "false") +
           R"(,"template":{"metadata":{"labels":)" + all + R"(},"spec":{"restartPolicy":"Never",)" +
           pod_spec + "}}}}";
  }
  return json + R"("replicas":)" + std::to_string(replicas) + R"(,"selector":)" +
         (plain_selector ? labels_wanted : R"({"matchLabels":)" + labels_wanted + "}") +
         (std::string_view(kind) == "StatefulSet" ? R"(,"serviceName":"s")" : "") +
         R"(,"template":{"metadata":{"labels":)" + all + R"(},"spec":{)" + pod_spec + "}}}}";
}

std::string Plain(const char* kind, const std::string& ns, const std::string& name,
                  const std::string& labels, const std::string& more_metadata,
                  const std::string& more = "") {
  return std::string(R"({"apiVersion":"v1","kind":")") + kind + R"(","metadata":{"name":")" + name +
         R"(","namespace":")" + ns + R"(","labels":{)" + labels + "}" + more_metadata + "}" + more +
         "}";
}

// Returns the pod template without what a ReplicaSet adds to it.
std::string TemplateOf(const small_kubernetes::Object& workload) {
  auto pods = small_kubernetes::Copy(*Find(workload.body, "spec", "template"));
  if (auto* labels = Find(*Find(pods, "metadata"), "labels")) {
    small_kubernetes::Remove(*labels, "pod-template-hash");
  }
  return small_kubernetes::Write(pods);
}

// The manifest with an ownerReference.
std::string ControlledBy(std::string manifest, const small_kubernetes::Object& owner) {
  const std::string before = R"("namespace":"lab",)";
  return manifest.insert(manifest.find(before) + before.size(),
                         R"("ownerReferences":[{"controller":true,"apiVersion":")" +
                             owner.resource->ApiVersion() + R"(","kind":")" + owner.resource->kind +
                             R"(","name":")" + owner.name + R"(","uid":")" + owner.uid + "\"}],");
}

std::string Finalizer() { return std::string(R"(,"finalizers":[")") + World::kFinalizer + "\"]"; }

constexpr const char* kMember = R"("oshinko-cluster":"spark")";
constexpr const char* kWorkerLabels = R"("oshinko-cluster":"spark","oshinko-type":"worker",)";
// Of drivers, in the enum's order.
constexpr const char* kShortKinds[] = {"deployment", "statefulset", "rc", "job",
                                       "work.example.com"};
constexpr const char* kPorts = R"(,"spec":{"ports":[{"port":7077}]})";

}  // namespace

WallTime MachineClock::WallNow() {
  return kWallBegin + std::chrono::duration_cast<WallTime::duration>(timeline_.Elapsed()) +
         wrong_by_;
}

World::World(Timeline& timeline, const Plan& plan, const Journal& journal, std::uint64_t seed)
    : plan_(plan),
      journal_(journal),
      clock_(timeline),
      kubernetes_(clock_, seed),
      finalizers_left_(plan.finalizers) {
  kubernetes_.log_requests = false;
  Populate();
}

void World::Populate() {
  kubernetes_.settle_after_writes = false;
  kubernetes_.SetPodsRun(true);
  for (const auto& [plural, kind] : {std::pair("works", "Work"), std::pair("farms", "Farm")}) {
    small_kubernetes::Resource resource;
    resource.group = "example.com";
    resource.version = "v1";
    resource.plural = plural;
    resource.kind = kind;
    resource.has_status = true;
    kubernetes_.AddKind(std::move(resource));
  }
  const char* me = "setup";
  for (const char* ns : {"lab", "yard"}) {
    Create(me, R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + std::string(ns) +
                   "\"}}");
  }
  Create(me, RootManifest("", plan_.shared_at_first));
  if (plan_.driver_exists) Create(me, DriverManifest(1));
  if (plan_.rollouts) Create(me, NextDriverManifest());
  if (plan_.set_of_farm) {
    Create(me, Workload("example.com/v1", "Farm", "spark-farm", std::string(kMember) + ",", "", 1));
  }
  CreateMembers(me);
  if (plan_.evicted_master) EvictMaster(me);
  if (plan_.workers == 2 && plan_.set_claims && plan_.scaled_away) {
    kubernetes_.Settle();
    Do(me, "PATCH", CollectionOf("statefulsets") + "/spark-w", R"({"spec":{"replicas":1}})");
  }
  if (plan_.plain_pod) {
    Create(me, Plain("Pod", "lab", "spark-shell", kMember, "", R"(,"spec":{"containers":[]})"));
  }
  if (plan_.kept_member) {
    Create(me, KeptMember());
  }
  if (plan_.claim) {
    Create(me, Plain("PersistentVolumeClaim", "lab", "spark-data", kMember, "",
                     R"(,"spec":{"accessModes":["ReadWriteOnce"],)"
                     R"("resources":{"requests":{"storage":"1Gi"}}})"));
  }
  if (plan_.remade) Create(me, ConfigMap("spark-remade"));
  // Objects that aren't the cluster's.
  if (plan_.second_cluster) {
    const std::string second =
        R"("oshinko-cluster":"spark2","oshinko-type":"master","ephemeral":"bob",)";
    Create(me, Workload("apps/v1", "Deployment", "spark2-m", second, "", 1));
    Create(me, Plain("Service", "lab", "spark2", R"("oshinko-cluster":"spark2")", "", kPorts));
  }
  for (int i = 0; plan_.surge_grace && i < kOtherRoots; ++i) {
    Create(me, Workload("apps/v1", "Deployment", "other-" + std::to_string(i),
                        R"("oshinko-cluster":"other",)", "", 0));
  }
  Create(me, Plain("ConfigMap", "lab", "spark2-config", R"("oshinko-cluster":"spark2")", ""));
  Create(me, Plain("ConfigMap", "lab", "spark-notes", R"("app":"spark")", ""));
  Create(me, Plain("ConfigMap", "yard", "spark-config", kMember, ""));
  kubernetes_.settle_after_writes = true;
  kubernetes_.Settle();
}

std::vector<std::string> World::MemberManifests() {
  std::vector<std::string> members;
  const std::string labels = kWorkerLabels;
  if (plan_.workers == 1) {
    members.push_back(Workload("apps/v1", "Deployment", "spark-w", labels, Finalizers(), 1));
  } else if (plan_.workers == 2) {
    members.push_back(SetOfWorkers());
  } else if (plan_.workers == 3) {
    members.push_back(Workload("v1", "ReplicationController", "spark-w", labels, Finalizers(), 2));
  }
  members.push_back(Plain("Service", "lab", "spark",
                          kMember + std::string(R"(,"oshinko-type":"master")"), Finalizers(),
                          kPorts));
  if (plan_.web_service) {
    members.push_back(Plain("Service", "lab", "spark-ui", kMember, "", kPorts));
  }
  std::string more = Finalizers();
  if (plan_.waves) more += R"(,"annotations":{"cluster-watcher/delete-order":"1"})";
  members.push_back(Plain("ConfigMap", "lab", "spark-config", kMember, more));
  return members;
}

void World::CreateMembers(const char* who) {
  for (const std::string& member : MemberManifests()) Create(who, member);
}

std::vector<std::string> World::ClusterManifests(bool shared) {
  std::vector<std::string> all = MemberManifests();
  all.insert(all.begin(), RootManifest("", shared));
  return all;
}

// It fails on a node where nothing runs; its pod is left.
void World::EvictMaster(const char* who) {
  kubernetes_.Settle();
  for (const ObjectPtr& set : All("apps", "replicasets")) {
    if (!set->name.starts_with(kRootName)) continue;
    Create(who,
           Plain("Pod", "lab", "spark-m-0",
                 kMember + std::string(R"(,"oshinko-type":"master","app":"spark-m")"),
                 R"(,"annotations":{"cluster-watcher/hold-until":"2030-01-01T00:00:00Z",)"
                 R"("cluster-watcher/owner":"deployment/nobody"},"ownerReferences":[{)"
                 R"("apiVersion":"apps/v1","kind":"ReplicaSet","controller":true,"name":")" +
                     set->name + R"(","uid":")" + set->uid + "\"}]",
                 R"(,"spec":{"nodeName":")" + std::string(kDeadNode) + R"(","containers":[]})"));
    Do(who, "PATCH", CollectionOf("pods") + "/spark-m-0/status",
       R"({"status":{"phase":"Failed","reason":"Evicted"}})");
  }
}

std::string World::SetOfWorkers() {
  const std::string labels = kWorkerLabels;
  if (!plan_.set_claims) {
    return Workload("apps/v1", "StatefulSet", "spark-w", labels, Finalizers(), 1);
  }
  const std::string node =
      plan_.workers_unwell ? std::string(R"("nodeName":")") + kDeadNode + "\"," : "";
  std::string set = Workload("apps/v1", "StatefulSet", "spark-w", labels, Finalizers(), 2,
                             node + R"("containers":[])");
  const std::string before = R"("spec":{)";
  std::string claims =
      R"("podManagementPolicy":"Parallel","volumeClaimTemplates":[{"metadata":{"name":"data"},)"
      R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],)";
  if (plan_.claims_go) {
    claims += R"("persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete",)"
              R"("whenScaled":"Retain"},)";
  }
  set.insert(set.find(before) + before.size(), claims);
  const ObjectPtr farm = Get("example.com", "farms", "spark-farm");
  return farm == nullptr ? set : ControlledBy(std::move(set), *farm);
}

std::string World::KeptMember() {
  constexpr const char* kWorkers[] = {"", "Deployment", "StatefulSet", "ReplicationController"};
  std::string more = R"(,"annotations":{"cluster-watcher/keep":"true"})";
  const bool by_service = plan_.kept_owner == 1 || plan_.workers == 0;
  const std::string kind = by_service ? "Service" : kWorkers[plan_.workers];
  const bool of_core = by_service || plan_.workers == 3;
  std::string plural = kind + "s";
  plural[0] = static_cast<char>(plural[0] + 32);
  if (kind == "StatefulSet") plural = "statefulsets";
  if (kind == "ReplicationController") plural = "replicationcontrollers";
  const ObjectPtr owner = Get(of_core ? "" : "apps", plural, by_service ? "spark" : "spark-w");
  if (plan_.kept_owner != 0 && owner != nullptr) {
    more += std::string(R"(,"ownerReferences":[{"apiVersion":")") + (of_core ? "v1" : "apps/v1") +
            R"(","kind":")" + kind + R"(","name":")" + owner->name + R"(","uid":")" + owner->uid +
            "\"}]";
  }
  return Plain("ConfigMap", "lab", "spark-kept", kMember, more);
}

std::string World::Finalizers() {
  if (finalizers_left_ == 0) return "";
  --finalizers_left_;
  return Finalizer();
}

std::string World::CollectionOf(std::string_view plural) {
  const char* group = plural == "deployments" || plural == "statefulsets" || plural == "replicasets"
                          ? "/apis/apps/v1"
                      : plural == "jobs"                       ? "/apis/batch/v1"
                      : plural == "works" || plural == "farms" ? "/apis/example.com/v1"
                                                               : "/api/v1";
  return group + std::string("/namespaces/lab/") + std::string(plural);
}

std::string World::DriverPath() const {
  return CollectionOf(KindOf(plan_.driver).plural) + "/" + kOwnerName;
}

std::string World::DriverManifest(int replicas) const {
  const KindText kind = KindOf(plan_.driver);
  return Workload(kind.api_version, kind.kind, kOwnerName, "",
                  plan_.driver_finalizer ? Finalizer() : "", replicas);
}

std::string World::DriverKindName() const { return KindOf(plan_.driver).kind; }

std::string World::KindOfApplication(std::string_view name) const {
  return name == kOwnerName ? kShortKinds[static_cast<int>(plan_.driver)] : "deployment";
}

std::string World::OtherRootPath(int number) {
  return CollectionOf("deployments") + "/other-" + std::to_string(number);
}

void World::MarkOtherRoots(const char* who, const std::string& since) {
  for (int i = 0; plan_.surge_grace && i < kOtherRoots; ++i) {
    const std::string path = OtherRootPath(i);
    const ObjectPtr root = Get("apps", "deployments", path.substr(path.rfind('/') + 1));
    Do(who, "PATCH", path,
       R"({"metadata":{"annotations":{"cluster-watcher/root-uid":")" + root->uid +
           R"(","cluster-watcher/abandoned-since":")" + since + "\"}}}",
       "application/merge-patch+json");
  }
}

std::string World::NextDriverManifest() {
  return Workload("apps/v1", "Deployment", kNextOwnerName, "", "", 1);
}

Orders World::PlannedOrders() const {
  Orders orders;
  if (plan_.given == OwnerGiven::kByFlag || plan_.given == OwnerGiven::kByBoth) {
    orders.owner = KindOfApplication(kOwnerName) + "/" + kOwnerName;
  }
  return orders;
}

std::string World::RootManifest(const std::string& annotations, bool shared) const {
  std::string labels = kMember + std::string(R"(,"oshinko-type":"master",)");
  std::string spec = std::string(R"("nodeName":")") + kNode + "\"," + PlannedOrders().Containers();
  if (plan_.mounted_config) {
    spec += R"(,"volumes":[{"name":"c","configMap":{"name":"spark-config"}}])";
  }
  std::string owner;
  if (plan_.given == OwnerGiven::kByAnnotation) {
    owner = R"("cluster-watcher/owner":")" + KindOfApplication(kOwnerName) + "/bob\"";
  }
  const auto add_steps = [&](const char* key, int steps) {
    if (steps == 0) return;
    owner += (owner.empty() ? "\"" : ",\"") + std::string(key) + R"(":"[)";
    for (int i = 0; i < steps; ++i) {
      owner += (i == 0 ? "" : ",") + std::string(R"({\"name\":\"s)") + std::to_string(i) +
               R"(\",\"http\":{\"url\":\"http://127.0.0.1:8080/s\"},\"timeout\":\"2s\")" +
               (i == 0 ? R"(,\"onFailure\":\"retry\"})" : "}");
    }
    owner += "]\"";
  };
  add_steps("cluster-watcher/before-delete", plan_.steps_before);
  add_steps("cluster-watcher/after-delete", plan_.steps_after);
  if (!annotations.empty()) owner += (owner.empty() ? "" : ",") + annotations;
  std::string json = Workload(
      "apps/v1", "Deployment", kRootName, labels,
      R"(,"annotations":{)" + owner + "}" + (plan_.root_finalizer ? Finalizer() : ""), 1, spec);
  // Only the root has the label, not its pods.
  if (!shared && (plan_.given == OwnerGiven::kByLabel || plan_.given == OwnerGiven::kByBoth)) {
    const std::string before = R"("labels":{)";
    json.insert(json.find(before) + before.size(), R"("ephemeral":"bob",)");
  }
  return json;
}

int World::Do(const char* who, std::string_view method, const std::string& target,
              const std::string& body, std::string_view content_type) {
  // Through one API server, then through the other.
  clock_.SetWrong(served_++ % 2 == 0 ? Duration(0) : plan_.skew);
  const auto response = kubernetes_.Admin(method, target, body, content_type);
  clock_.SetWrong(Duration(0));
  if (journal_.on()) {
    journal_.Line(who, std::string(method) + " " + target + " " + body + " -> " +
                           std::to_string(response.status));
  }
  return response.status;
}

int World::Create(const char* who, const std::string& json) {
  const auto body = small_kubernetes::Parse(json);
  const std::string kind(TextOf(Find(*body, "kind")));
  std::string plural = kind == "Namespace" ? "" : kind + "s";
  for (char& c : plural) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  std::string target = "/api/v1/namespaces";
  if (!plural.empty()) {
    const std::string ns(TextOf(Find(*body, "metadata", "namespace")));
    target = CollectionOf(plural);
    if (ns != kNamespace) target.replace(target.find("/lab/"), 5, "/" + ns + "/");
  }
  const int status = Do(who, "POST", target, json);
  if (status != 201 && status != 409 && std::string_view(who) == "setup") {
    std::printf("the world could not be made: %d for %s\n", status, json.c_str());
    std::exit(1);
  }
  if (status == 201 && kind == "Work") RunWork(who);
  return status;
}

// As the operator of its kind: a StatefulSet that it controls runs its pods.
void World::RunWork(const char* who) {
  const ObjectPtr work = Driver();
  Create(who, ControlledBy(Workload("apps/v1", "StatefulSet", "bob-run", "", "", 1), *work));
}

void World::FinishWork(const char* who, bool is_behind) {
  const ObjectPtr work = Driver();
  if (work == nullptr) return;
  const auto generation = small_kubernetes::NumberOf(Find(work->body, "metadata", "generation"), 0);
  Do(who, "PATCH", DriverPath() + "/status",
     R"({"status":{"phase":"Succeeded","observedGeneration":)" +
         std::to_string(is_behind ? generation - 1 : generation) + "}}",
     "application/merge-patch+json");
}

std::string World::ConfigMap(const std::string& name) {
  return Plain("ConfigMap", "lab", name, kMember, "");
}

std::string World::OtherDriver(bool uses_it) {
  std::string json = Workload("apps/v1", "Deployment", kOtherName, "", "", 1);
  if (!uses_it) return json;
  // Only the object itself has the label, not its pods.
  const std::string before = R"("labels":{)";
  json.insert(json.find(before) + before.size(), R"("uses-oshinko-cluster":"spark",)");
  return json;
}

std::string World::SecondMaster() {
  std::string json =
      Workload("apps/v1", "StatefulSet", kSecondMaster, std::string(kMember) + ",", "", 0);
  const std::string before = R"("template":{"metadata":{"labels":{)";
  return json.insert(json.find(before) + before.size(), R"("oshinko-type":"master",)");
}

void World::TakeOffFinalizer(const char* who, const std::string& path) {
  const auto response = kubernetes_.Admin("GET", path);
  if (response.status != 200 || response.body.find(kFinalizer) == std::string::npos) return;
  const auto body = small_kubernetes::Parse(response.body);
  std::string left;
  for (const auto& finalizer : Find(*body, "metadata", "finalizers")->GetArray()) {
    if (TextOf(&finalizer) == kFinalizer) continue;
    left += (left.empty() ? "" : ",") + small_kubernetes::Write(finalizer);
  }
  Do(who, "PATCH", path, R"({"metadata":{"finalizers":[)" + left + "]}}");
}

void World::RollBack(const char* who, const ObjectPtr& set) {
  const auto* annotations = Find(set->body, "metadata", "annotations");
  Do(who, "PATCH", kRootPath,
     R"([{"op":"add","path":"/spec/template","value":)" + TemplateOf(*set) +
         R"(},{"op":"add","path":"/metadata/annotations","value":)" +
         (annotations == nullptr ? "{}" : small_kubernetes::Write(*annotations)) + "}]",
     "application/json-patch+json");
}

ObjectPtr World::Get(std::string_view group, std::string_view plural, std::string_view name) {
  return kubernetes_.GetStore().Get(kubernetes_.Resources().Of(group, plural), kNamespace, name);
}

std::vector<ObjectPtr> World::All(std::string_view group, std::string_view plural) {
  return kubernetes_.GetStore().List(kubernetes_.Resources().Of(group, plural), kNamespace);
}

ObjectPtr World::Driver() {
  const KindText kind = KindOf(plan_.driver);
  return Get(kind.group, kind.plural, kOwnerName);
}

ObjectPtr World::Root() { return Get("apps", "deployments", kRootName); }

std::optional<Orders> World::OrdersOfRoot() {
  const ObjectPtr root = Root();
  const auto* pods = root == nullptr ? nullptr : Find(root->body, "spec", "template");
  if (pods == nullptr) return std::nullopt;
  return Orders::Read(*pods);
}

std::vector<ObjectPtr> World::EarlierSets() {
  std::vector<ObjectPtr> earlier;
  const ObjectPtr root = Root();
  if (root == nullptr) return earlier;
  for (const ObjectPtr& set : All("apps", "replicasets")) {
    if (set->controller_uid != root->uid) continue;
    if (TemplateOf(*set) != TemplateOf(*root)) earlier.push_back(set);
  }
  return earlier;
}

ObjectPtr World::Namespace() {
  return kubernetes_.GetStore().Get(kubernetes_.Resources().Of("", "namespaces"), {}, kNamespace);
}

ObjectPtr World::Application(std::string_view name) {
  return name == kOwnerName ? Driver() : Get("apps", "deployments", name);
}

bool World::WantsDriverToRun() { return WantsToRun(Driver()); }

bool World::WantsToRun(const ObjectPtr& driver) {
  if (driver == nullptr || driver->deleting) return false;
  if (driver->resource->kind == "Work") {
    const auto generation = Find(driver->body, "metadata", "generation");
    const auto seen = Find(driver->body, "status", "observedGeneration");
    return TextOf(Find(driver->body, "status", "phase")) != "Succeeded" ||
           small_kubernetes::NumberOf(seen, 0) < small_kubernetes::NumberOf(generation, 0);
  }
  if (driver->resource->kind != "Job") {
    return small_kubernetes::NumberOf(Find(driver->body, "spec", "replicas"), 1) != 0;
  }
  const auto* conditions = Find(driver->body, "status", "conditions");
  if (small_kubernetes::HasElements(conditions)) {
    for (const auto& condition : conditions->GetArray()) {
      const auto type = TextOf(Find(condition, "type"));
      if ((type == "Complete" || type == "Failed") && TextOf(Find(condition, "status")) == "True") {
        return false;
      }
    }
  }
  return !small_kubernetes::IsTrue(Find(driver->body, "spec", "suspend"));
}

bool World::IsPodOfJob(const small_kubernetes::Object& pod, const small_kubernetes::Object& job) {
  return TextOf(Find(pod.body, "metadata", "labels", "batch.kubernetes.io/controller-uid")) ==
         job.uid;
}

bool World::IsOfWork(const small_kubernetes::Object& pod, const small_kubernetes::Object& work) {
  return WorkOf(pod) == work.uid;
}

std::string World::WorkOf(const small_kubernetes::Object& pod) {
  const ObjectPtr set = kubernetes_.GetStore().FindUid(pod.controller_uid);
  return set == nullptr ? "" : set->controller_uid;
}

bool World::HasDriverLeftPods() {
  const ObjectPtr driver = Driver();
  for (const ObjectPtr& pod : All("", "pods")) {
    const auto phase = TextOf(Find(pod->body, "status", "phase"));
    if (pod->deleting || phase == "Succeeded" || phase == "Failed" ||
        !TextOf(Find(pod->body, "metadata", "labels", "app")).starts_with(kOwnerName)) {
      continue;
    }
    // Pods of an earlier Job aren't the present one's, and what a Work has orphaned is nobody's.
    const bool is_earlier =
        (plan_.driver == DriverKind::kJob && driver != nullptr && !IsPodOfJob(*pod, *driver)) ||
        (plan_.driver == DriverKind::kWork &&
         (driver == nullptr ? WorkOf(*pod).empty() : !IsOfWork(*pod, *driver)));
    if (!is_earlier) return true;
  }
  return false;
}

bool World::IsInUse() {
  const ObjectPtr other = Get("apps", "deployments", kOtherName);
  return other != nullptr &&
         TextOf(Find(other->body, "metadata", "labels", "uses-oshinko-cluster")) == kCluster &&
         small_kubernetes::NumberOf(Find(other->body, "spec", "replicas"), 1) > 0;
}

}  // namespace cluster_watcher::simulation
