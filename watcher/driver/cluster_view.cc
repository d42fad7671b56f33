#include "watcher/driver/cluster_view.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "probes/kube/pod_state.h"
#include "probes/masters.h"
#include "probes/owner_kinds.h"
#include "watcher/observation/next_master.h"
#include "watcher/protocol/annotations.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

constexpr const char* kWebUiType = "webui";
// Roots that stand for their workers and are labelled, and Routes: kinds that need not be served or
// readable.
constexpr std::pair<const char*, const char*> kOptionalKinds[] = {
    {"routes", "route.openshift.io"},
    {"rayclusters", "ray.io"},
    {"daskclusters", "kubernetes.dask.org"},
    {"flinkdeployments", "flink.apache.org"}};

// An object of the cluster, and what else of it matters here.
struct Part {
  KubeObject object;
  std::int64_t replicas = 1;                 // of a workload
  std::optional<JsonDocument> service = {};  // its spec
  std::string host = {};                     // of a Route
  bool is_pod = false;
  bool is_master = false;
  bool is_worker = false;        // by its own label, or by that of the pods that it makes
  bool has_ended = false;        // a pod that succeeded or failed
  std::string given_owner = {};  // what a pod tells its watcher
  std::string refused = {};      // why the API server refuses the pods that it makes

  bool IsOfType(std::string_view type) const {
    return object.meta.Label(kTypeLabel) == type && !object.meta.deleting;
  }
  bool IsMasterService(const Profile& profile) const {
    return IsService() && profile.master.Holds(object.meta) && !object.meta.deleting;
  }
  bool IsService() const { return object.type->kind == "Service"; }
  JsonValue spec() const { return service ? service->root() : JsonValue(); }
};
using Parts = std::vector<Part>;

// Why no pods of it are made: what a quota or an admission said. Source: k8s.io/api,
// ReplicaSetReplicaFailure; a Deployment has a copy of its ReplicaSet's.
std::string RefusalOf(const ResourceType& type, JsonValue item) {
  if (type.kind == "Deployment") return "";
  for (JsonValue condition : item["status"]["conditions"].Elements()) {
    if (condition["type"].AsString() != "ReplicaFailure") continue;
    if (condition["status"].AsString() == "True") {
      return std::string(condition["message"].AsString().value_or(""));
    }
  }
  return "";
}

Part ReadPart(const ResourceType& type, ObjectMeta meta, JsonValue item, const Profile& profile) {
  Part part{KubeObject{type, std::move(meta)}};
  const JsonValue spec = item["spec"];
  part.is_pod = type.kind == "Pod";
  part.replicas = spec["replicas"].AsInteger().value_or(1);
  part.host = std::string(spec["host"].AsString().value_or(""));
  part.has_ended = part.is_pod && HasEnded(item);
  const bool is_over = part.is_pod && (part.object.meta.deleting || part.has_ended);
  part.is_master = IsMaster(type, item, profile) && !is_over;
  const JsonValue labels = PodTemplateOf(type, item)["metadata"]["labels"];
  // Other frameworks label their workers each in another way.
  const bool is_labelled = profile.IsDefault() ? part.IsOfType(kWorkerType) ||
                                                     labels[kTypeLabel].AsString() == kWorkerType
                                               : !part.is_master;
  part.is_worker = IsWorkload(type) && !part.object.meta.deleting && is_labelled;
  part.refused = RefusalOf(type, item);
  if (part.is_pod) part.given_owner = ReadWatcherOrders(item).owner;
  if (part.IsService()) {
    if (auto copy = JsonDocument::Parse(spec.ToText())) part.service = *std::move(copy);
  }
  return part;
}

Result<std::vector<ApiRequest>, ApiError> Lists(Discovery& discovery, const ClusterId& cluster,
                                                const Patience& patience, std::size_t& required) {
  std::vector<ApiRequest> lists;
  const std::string selector = cluster.Selector();
  const auto add = [&](const ResourceType& type) {
    lists.push_back(ApiRequest::ListBySelector(type, cluster.ns, selector, false));
  };
  add(*FindBuiltInByName("services", ""));
  for (const ResourceType& known : WorkloadTypes()) {
    auto type = discovery.Resolve(known, patience);
    if (!type) return Unexpected{std::move(type).error()};
    if (*type) add(**type);
  }
  required = lists.size();
  for (const auto& [plural, group] : kOptionalKinds) {
    auto type = discovery.ByPlural(plural, group, patience);
    if (!type) return Unexpected{std::move(type).error()};
    if (*type) add(**type);
  }
  return lists;
}

// `optional`: why a kind that not each cluster needs could not be read.
Result<Parts, ApiError> ReadParts(KubeClient& client, Discovery& discovery,
                                  const ClusterId& cluster, const Patience& patience,
                                  std::optional<ApiError>& optional) {
  std::size_t required = 0;
  auto lists = Lists(discovery, cluster, patience, required);
  if (!lists) return Unexpected{std::move(lists).error()};
  Parts parts;
  const auto read = client.EachItemSideBySide(
      *lists, kUrgentReadsSideBySide,
      [&](std::size_t which, JsonValue item) {
        auto meta = ReadObjectMeta(item);
        if (!meta || !cluster.Owns(*meta)) return;
        parts.push_back(ReadPart((*lists)[which].type, *std::move(meta), item, *cluster.profile));
      },
      patience);
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i]) continue;
    if (i < required) return Unexpected{read[i].error()};
    if (read[i].error().failure != ApiFailure::kForbidden) optional = read[i].error();
  }
  auto resource = ClusterProbe(client, discovery).ResourceOf(cluster, patience);
  if (!resource) return Unexpected{std::move(resource).error()};
  if (!*resource) return parts;
  std::erase_if(parts, [&](const Part& part) {
    return part.object.meta.uid == (*resource)->meta.uid;  // a label made it a part too
  });
  Part stands_for_it{**std::move(resource)};
  stands_for_it.is_master = true;
  parts.push_back(std::move(stands_for_it));
  return parts;
}

// The roots of the cluster's masters, each once.
Result<KubeObjects, ApiError> FindRoots(ClusterProbe& probe, const Parts& parts,
                                        const ClusterId& cluster, const Patience& patience) {
  KubeObjects known;
  for (const Part& part : parts) known.push_back(part.object);
  KubeObjects roots;
  for (const Part& part : parts) {
    if (!part.is_master) continue;
    auto root = probe.RootOf(part.object, cluster, known, patience);
    // Its controller has gone meanwhile, and it goes as well.
    if (!root && root.error().failure == ApiFailure::kNotFound) continue;
    if (!root) return Unexpected{std::move(root).error()};
    const bool is_new = std::none_of(roots.begin(), roots.end(), [&](const KubeObject& one) {
      return one.meta.uid == root->meta.uid;
    });
    if (is_new) roots.push_back(*std::move(root));
  }
  if (!roots.empty()) return roots;
  // A bare pod that a watcher was deleting, whatever ended it.
  for (const Part& part : parts) {
    const bool is_marked = ReadMarks(part.object.meta).phase == Phase::kDeleting;
    if (part.is_pod && is_marked) roots.push_back(part.object);
  }
  return roots;
}

std::int64_t CountWorkers(const Parts& parts, bool& any) {
  std::int64_t replicas = 0;
  std::int64_t pods = 0;
  any = false;
  for (const Part& part : parts) {
    if (!part.is_worker) continue;
    if (part.is_pod) {
      pods += part.has_ended ? 0 : 1;
    } else if (part.object.meta.Controller() == nullptr) {
      replicas += part.replicas;
      any = true;
    }
  }
  if (!any) replicas = pods;
  any = any || pods > 0;
  return replicas;
}

// Whether each label that the service selects by is among these.
bool Selects(JsonValue service, const ObjectMeta::Texts& labels) {
  const JsonValue selector = service["selector"];
  if (selector.size() == 0) return false;
  const auto wanted = selector.Members();
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
    const auto found = labels.find(label.first);
    return found != labels.end() && found->second == label.second.AsString();
  });
}

// The labels of the master's pods: those of the root's pod template, else of a pod that there is.
ObjectMeta::Texts LabelsOfMaster(const Parts& parts, const ClusterView& view, JsonValue whole) {
  ObjectMeta::Texts labels;
  JsonDocument made;
  MasterTemplateOf(view.id, *view.root, whole, made)["metadata"]["labels"].ForEachMember(
      [&](std::string_view key, JsonValue value) {
        labels.emplace(key, value.AsString().value_or(""));
      });
  if (!labels.empty()) return labels;
  const auto pod = std::find_if(parts.begin(), parts.end(),
                                [](const Part& part) { return part.is_pod && part.is_master; });
  return pod == parts.end() ? labels : pod->object.meta.labels();
}

std::string UrlOf(const char* scheme, const Part& service, int usual_port) {
  const auto port = service.spec()["ports"].At(0)["port"].AsInteger();
  return std::string(scheme) + "://" + service.object.meta.name + ":" +
         std::to_string(port.value_or(usual_port));
}

void FindServices(const Parts& parts, JsonValue root, ClusterView& view) {
  const auto find = [&](const auto& is_it) -> const Part* {
    const auto found = std::find_if(parts.begin(), parts.end(), is_it);
    return found == parts.end() ? nullptr : &*found;
  };
  const auto labelled = [&](const char* type) {
    return find([&](const Part& part) { return part.IsService() && part.IsOfType(type); });
  };
  const Profile& profile = *view.id.profile;
  const Part* master = find([&](const Part& part) { return part.IsMasterService(profile); });
  if (master == nullptr && view.root) {
    const auto labels = LabelsOfMaster(parts, view, root);
    master = find([&](const Part& part) {
      return part.IsService() && !part.object.meta.deleting && !part.IsOfType(kWebUiType) &&
             Selects(part.spec(), labels);
    });
  }
  const bool is_spark = profile.name.starts_with("spark") || profile.IsDefault();
  if (master != nullptr) view.master = UrlOf(is_spark ? "spark" : "tcp", *master, 7077);
  if (const Part* web_ui = labelled(kWebUiType)) view.web_ui = UrlOf("http", *web_ui, 8080);
  const Part* route = find([](const Part& part) {
    return part.object.type->kind == "Route" && !part.object.meta.deleting;
  });
  if (route != nullptr) view.route = route->host;
}

std::string GivenOwner(const Parts& parts, const ClusterView& view, JsonValue root) {
  // The pods have copies of what the resource says.
  if (view.root && view.id.profile->inherits && view.id.IsFrameworks(*view.root)) {
    JsonDocument made;
    const auto given = ReadWatcherOrders(MasterTemplateOf(view.id, *view.root, root, made)).owner;
    return given == view.root->meta.Annotation(annotation::kOwner) ? "" : given;
  }
  // The newest living pod speaks.
  const Part* speaks = nullptr;
  for (const Part& part : parts) {
    if (!part.is_pod || !part.is_master || part.object.meta.deleting) continue;
    // Times are of a second.
    const bool is_newer =
        speaks == nullptr || part.object.meta.created > speaks->object.meta.created ||
        (part.object.meta.created == speaks->object.meta.created && speaks->given_owner.empty());
    if (is_newer) speaks = &part;
  }
  if (speaks != nullptr && !speaks->given_owner.empty()) return speaks->given_owner;
  if (!view.root) return "";
  JsonDocument made;
  return ReadWatcherOrders(MasterTemplateOf(view.id, *view.root, root, made)).owner;
}

bool IsMadeByCreate(JsonValue root) {
  const auto entries = root["metadata"]["managedFields"].Elements();
  return std::any_of(entries.begin(), entries.end(),
                     [](JsonValue entry) { return entry["manager"].AsString() == kCreateManager; });
}

ClusterStatus StatusOf(const ClusterView& view) {
  if (view.root) {
    const ObjectMeta& root = view.root->meta;
    if (root.deleting || view.marks.phase == Phase::kDeleting) return ClusterStatus::kDeleting;
    if (view.marks.phase == Phase::kCondemned) return ClusterStatus::kCondemned;
  }
  return view.lacks.empty() ? ClusterStatus::kRunning : ClusterStatus::kIncomplete;
}

}  // namespace

const char* ToString(ClusterStatus status) {
  switch (status) {
    case ClusterStatus::kDeleting:
      return "Deleting";
    case ClusterStatus::kCondemned:
      return "Condemned";
    case ClusterStatus::kIncomplete:
      return "Incomplete";
    case ClusterStatus::kRunning:
      return "Running";
  }
  return "Incomplete";
}

std::optional<std::string> ClusterView::ephemeral() const {
  return root ? root->meta.Label(kEphemeralLabel) : std::nullopt;
}

Result<ClusterView, ApiError> ReadClusterView(KubeClient& client, Discovery& discovery,
                                              const ClusterId& cluster, const Patience& patience) {
  std::optional<ApiError> optional;
  auto parts = ReadParts(client, discovery, cluster, patience, optional);
  if (!parts) return Unexpected{std::move(parts).error()};
  ClusterProbe probe(client, discovery);
  auto roots = FindRoots(probe, *parts, cluster, patience);
  if (!roots) return Unexpected{std::move(roots).error()};
  // Those may hold the root, unless it is known to be a workload.
  if (optional && (roots->size() != 1 || !IsWorkload(roots->front().type))) {
    return Unexpected{*std::move(optional)};
  }
  ClusterView view;
  view.id = cluster;
  JsonDocument whole;
  if (roots->size() == 1) {
    const KubeObject& root = roots->front();
    auto answer = client.Do(ApiRequest::Get(root.type, root.meta.ns(), root.meta.name), patience);
    const bool is_gone = !answer && answer.error().failure == ApiFailure::kNotFound;
    if (!answer && !is_gone) return Unexpected{std::move(answer).error()};
    auto meta = is_gone ? Result<ObjectMeta>(Failure("")) : ReadObjectMeta(answer->document.root());
    if (meta && meta->uid == root.meta.uid) {
      view.root = KubeObject{root.type, *std::move(meta)};
      view.marks = ReadMarks(view.root->meta);
      whole = std::move(answer->document);
      view.is_made_by_create = IsMadeByCreate(whole.root());
    }
  } else {
    for (const KubeObject& root : *roots) {
      view.rivals.push_back(root.Describe());
      if (cluster.IsFrameworks(root)) view.resource = root;
    }
  }
  for (const Part& part : *parts) {
    // An object that is kept outlives its cluster.
    if (IsKept(part.object.meta)) continue;
    (part.object.meta.deleting ? view.is_going : view.stands) = true;
  }
  view.exists = view.root || view.stands || view.is_going;
  bool any_worker = false;
  view.workers = CountWorkers(*parts, any_worker);
  FindServices(*parts, whole.root(), view);
  view.given_owner = GivenOwner(*parts, view, whole.root());
  for (const Part& part : *parts) {
    if (part.refused.empty()) continue;
    view.refused.push_back("pods of " + part.object.Describe() + " are refused: " + part.refused);
  }
  const bool is_framework = view.root && !IsWorkload(view.root->type);
  if (!view.root) view.lacks.emplace_back("a master");
  if (!any_worker && !is_framework) view.lacks.emplace_back("a worker");
  if (view.master.empty()) view.lacks.emplace_back("a master service");
  view.status = StatusOf(view);
  return view;
}

}  // namespace cluster_watcher
