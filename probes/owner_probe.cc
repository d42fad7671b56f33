#include "probes/owner_probe.h"

#include <algorithm>

namespace cluster_watcher {
namespace {

void SetUnknown(OwnerSight& sight, std::string why) {
  sight.observation = Observation::kUnknown;
  sight.detail = std::move(why);
}

Observation Judge(const OwnerSight& sight, const std::optional<RecordedOwner>& recorded) {
  if (sight.object->meta.deleting) return Observation::kDeleting;
  if (recorded && recorded->uid != sight.object->meta.uid) return Observation::kReplaced;
  if (sight.fields.replicas == 0 || sight.fields.suspended) return Observation::kScaledToZero;
  if (sight.fields.completed) return Observation::kCompleted;
  return Observation::kActive;
}

OwnerSight Found(const ResourceType& type, const OwnerQuery& query, JsonValue item) {
  OwnerSight sight;
  auto meta = ReadObjectMeta(item);
  auto fields = ReadOwnerFields(type, item);
  if (!meta || !fields) {
    SetUnknown(sight, type.QualifiedName() + " \"" + query.name.name + "\" can't be judged: " +
                          (meta ? fields.error().message : meta.error().message));
    return sight;
  }
  sight.object = KubeObject{type, *std::move(meta)};
  sight.fields = *std::move(fields);
  sight.observation = Judge(sight, query.recorded);
  sight.detail = sight.object->Describe() + " (UID " + sight.object->meta.uid +
                 ", resourceVersion " + sight.object->meta.resource_version + ")";
  return sight;
}

bool IsRunning(JsonValue pod, const ObjectMeta& meta) {
  const auto phase = pod["status"]["phase"].AsString();
  return !meta.deleting && phase != "Succeeded" && phase != "Failed";
}

}  // namespace

const char* ToString(Observation observation) {
  switch (observation) {
    case Observation::kActive:
      return "active";
    case Observation::kScaledToZero:
      return "scaled-to-zero";
    case Observation::kAbsent:
      return "absent";
    case Observation::kReplaced:
      return "replaced";
    case Observation::kDeleting:
      return "deleting";
    case Observation::kCompleted:
      return "completed";
    case Observation::kUnknown:
      return "unknown";
  }
  return "unknown";
}

OwnerSight OwnerProbe::Look(const OwnerQuery& query, Freshness freshness, std::stop_token stop) {
  OwnerSight sight;
  const std::vector<ResourceType> candidates = Candidates(query, sight, stop);
  if (candidates.empty()) return sight;
  const bool narrowed = query.name.IsBare() && query.only_kind.empty() && query.recorded;
  if (!narrowed) {
    sight = LookAs(candidates, query, freshness, stop);
  } else {
    sight = LookAs({query.recorded->type}, query, freshness, stop);
    if (sight.observation == Observation::kAbsent) {
      sight = LookAs(candidates, query, freshness, stop);
    }
  }
  // A glance proves nothing, so the rest of the evidence isn't gathered for one.
  if (sight.observation == Observation::kAbsent && freshness == Freshness::kSure) {
    ConfirmAbsence(query, sight, stop);
  }
  return sight;
}

std::vector<ResourceType> OwnerProbe::Candidates(const OwnerQuery& query, OwnerSight& sight,
                                                 std::stop_token stop) {
  const std::string& kind = query.name.IsBare() ? query.only_kind : query.name.kind;
  std::vector<ResourceType> wanted;
  if (kind.empty()) {
    wanted.assign(BareNameTypes().begin(), BareNameTypes().end());
  } else {
    const std::size_t dot = kind.find('.');
    const std::string group =
        query.name.IsBare() && dot != std::string::npos ? kind.substr(dot + 1) : query.name.group;
    const ResourceType* type = FindBuiltInByName(kind.substr(0, dot), group);
    if (type == nullptr || !CanJudge(*type)) {
      sight.kind_problem = "an owner of kind \"" + kind + (group.empty() ? "" : "." + group) +
                           "\" can't be judged by this version: give a deployment, replicaset, "
                           "replicationcontroller, deploymentconfig, statefulset or job";
      SetUnknown(sight, sight.kind_problem);
      return {};
    }
    wanted.push_back(*type);
  }
  std::vector<ResourceType> served;
  for (const ResourceType& type : wanted) {
    auto resolved = discovery_.Resolve(type, stop);
    if (!resolved) {
      SetUnknown(sight, resolved.error().message);
      return {};
    }
    if (*resolved) served.push_back(**resolved);
  }
  if (served.empty()) {
    sight.kind_problem = "the API server doesn't serve " + wanted.front().QualifiedName() +
                         ": correct the owner's kind";
    SetUnknown(sight, sight.kind_problem);
  }
  return served;
}

OwnerSight OwnerProbe::LookAs(const std::vector<ResourceType>& types, const OwnerQuery& query,
                              Freshness freshness, std::stop_token stop) {
  std::vector<ApiRequest> requests;
  for (const ResourceType& type : types) {
    requests.push_back(ApiRequest::ListByName(type, query.ns, query.name.name, freshness));
  }
  auto answers = client_.DoAll(requests, kReadsSideBySide, stop);
  OwnerSight result;
  for (std::size_t i = 0; i < types.size(); ++i) {
    auto sight = ReadByName(types[i], query, std::move(answers[i]), stop);
    if (!sight) {
      OwnerSight unknown;
      SetUnknown(unknown, std::move(sight).error().message);
      return unknown;
    }
    if (!*sight) continue;
    if (!(*sight)->object) return **sight;
    if (result.object) {
      SetUnknown(result, "\"" + query.name.name + "\" is both " + result.object->Describe() +
                             " and " + (*sight)->object->Describe() +
                             ": say which with --owner-kind");
      result.object.reset();
      return result;
    }
    result = **std::move(sight);
  }
  if (!result.object) {
    result.observation = Observation::kAbsent;
    const bool known = types.size() == 1 || query.recorded.has_value();
    const ResourceType& type = types.size() > 1 && known ? query.recorded->type : types.front();
    result.detail = "there is no " +
                    (known ? type.SingularName() + "/" + query.name.name
                           : "owner \"" + query.name.name + "\" of any kind") +
                    " in namespace " + query.ns;
  }
  return result;
}

Result<std::optional<OwnerSight>, ApiError> OwnerProbe::ReadByName(const ResourceType& type,
                                                                   const OwnerQuery& query,
                                                                   ApiResult listed,
                                                                   std::stop_token stop) {
  if (listed) {
    const JsonValue item = OnlyItem(*listed);
    if (!item.Exists()) return std::optional<OwnerSight>();
    return std::optional(Found(type, query, item));
  }
  if (listed.error().failure != ApiFailure::kForbidden) {
    return Unexpected{std::move(listed).error()};
  }
  // An account that may get this object but not list it.
  auto object = client_.Do(ApiRequest::Get(type, query.ns, query.name.name), stop);
  if (object) return std::optional(Found(type, query, object->document.root()));
  if (object.error().failure == ApiFailure::kNotFound) return std::optional<OwnerSight>();
  return Unexpected{std::move(object).error()};
}

void OwnerProbe::ConfirmAbsence(const OwnerQuery& query, OwnerSight& sight, std::stop_token stop) {
  // A misspelt namespace answers empty lists too.
  if (query.ns != query.home_ns && !query.recorded) {
    const ResourceType& namespaces = *FindBuiltInByName("namespaces", "");
    auto found = client_.Do(ApiRequest::Get(namespaces, "", query.ns), stop);
    if (!found) {
      return SetUnknown(sight, "the owner's namespace can't be read: " + found.error().message);
    }
  }
  if (query.recorded && !query.recorded->pod_selector.empty()) {
    CountRunningPods(*query.recorded, sight, stop);
  }
}

void OwnerProbe::CountRunningPods(const RecordedOwner& recorded, OwnerSight& sight,
                                  std::stop_token stop) {
  const ResourceType& pods = *FindBuiltInByName("pods", "");
  auto pages = client_.ListAll(
      ApiRequest::ListBySelector(pods, recorded.ns, recorded.pod_selector, false), stop);
  if (!pages) {
    return SetUnknown(sight, "the owner's pods can't be listed: " + pages.error().message);
  }
  for (const ApiAnswer& page : *pages) {
    for (JsonValue pod : page.document.root()["items"].Elements()) {
      auto meta = ReadObjectMeta(pod);
      if (meta && IsRunning(pod, *meta)) ++sight.running_pods;
    }
  }
}

}  // namespace cluster_watcher
