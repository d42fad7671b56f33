#include "probes/owner_probe.h"

#include <algorithm>

#include "probes/base/names.h"
#include "probes/kube/pod_state.h"

namespace cluster_watcher {
namespace {

// Permissions may be given later, and an API server that has just started refuses for a moment.
constexpr int kGlancesBetweenRefusals = 100;

Observation ObservationFrom(const OwnerSight& sight, const std::optional<RecordedOwner>& recorded) {
  if (sight.object->meta.deleting) return Observation::kDeleting;
  if (recorded && recorded->uid != sight.object->meta.uid) return Observation::kReplaced;
  if (sight.fields.replicas == 0 || sight.fields.suspended) return Observation::kScaledToZero;
  if (sight.fields.completed) return Observation::kCompleted;
  return Observation::kActive;
}

// A glance proves nothing, so the rest of the evidence isn't gathered for one.
bool IsToProve(const OwnerSight& sight, Freshness freshness) {
  return freshness == Freshness::kConsistent && IsOver(sight.observation);
}

Evidence EvidenceOf(std::string kind, const char* finding, const ApiAnswer& answer, JsonValue of) {
  return {std::move(kind), finding,
          std::string(of["metadata"]["resourceVersion"].AsString().value_or("")),
          answer.server_time};
}

std::string BothAre(const OwnerQuery& query, const KubeObject& one, const KubeObject& other) {
  return "\"" + query.name.name + "\" is both " + one.Describe() + " and " + other.Describe() +
         ": write KIND/NAME, or say which with --owner-kind";
}

}  // namespace

OwnerSight OwnerProbe::Look(const OwnerQuery& query, Freshness freshness,
                            const Patience& patience) {
  OwnerSight sight;
  if (query.recorded && !query.recorded->given.empty()) {
    OwnerQuery behind = query;
    const KindName kind = SplitKindName(query.recorded->kind);
    behind.name = {kind.kind, kind.group, query.recorded->name};
    behind.recorded->given.clear();
    behind.is_behind = true;
    sight = Look(behind, freshness, patience);
    sight.followed_controller = true;
    return IsToProve(sight, freshness) ? LookAsGiven(query, sight, patience) : sight;
  }
  const std::vector<ResourceType> candidates = kinds_.Candidates(query, sight, patience);
  if (candidates.empty()) return sight;
  const auto recorded =
      std::find_if(candidates.begin(), candidates.end(), [&](const ResourceType& type) {
        return query.recorded && query.recorded->kind == type.SingularName();
      });
  if (query.recorded && recorded == candidates.end()) {
    OwnerQuery unknown = query;
    unknown.recorded.reset();
    sight = Look(unknown, freshness, patience);
    sight.is_of_recorded_kind = false;
    return sight;
  }
  if (candidates.size() == 1 || recorded == candidates.end()) {
    sight = LookAs(candidates, query, freshness, patience);
  } else {
    sight = LookAs({*recorded}, query, freshness, patience);
    if (sight.observation == Observation::kAbsent) {
      sight = LookAs(candidates, query, freshness, patience);
    } else if (IsToProve(sight, freshness)) {
      NoteOthers(candidates, *recorded, query, sight, patience);
    }
  }
  if (sight.observation == Observation::kAbsent && freshness == Freshness::kConsistent) {
    ConfirmAbsence(candidates, query, sight, patience);
  }
  if (freshness == Freshness::kConsistent) NoteRunning(candidates, query, sight, patience);
  return sight;
}

// Another kind may have taken over: of two that have the name, one of which is over, nobody knows.
void OwnerProbe::NoteOthers(std::vector<ResourceType> types, const ResourceType& recorded,
                            const OwnerQuery& query, OwnerSight& sight, const Patience& patience) {
  std::erase(types, recorded);
  OwnerQuery others = query;
  others.recorded.reset();
  OwnerSight other = LookAs(types, others, Freshness::kConsistent, patience);
  if (IsOver(other.observation)) return;
  if (other.object) {
    const std::string both = BothAre(query, *sight.object, *other.object);
    other = {};
    SetUnknown(other, both);
  }
  sight = std::move(other);
}

// What has the name that is given may be another object by now, which runs. One that is terminating
// says nothing.
OwnerSight OwnerProbe::LookAsGiven(const OwnerQuery& query, const OwnerSight& recorded,
                                   const Patience& patience) {
  OwnerQuery given = query;
  given.recorded.reset();
  OwnerSight sight;
  const auto candidates = kinds_.Candidates(given, sight, patience);
  if (candidates.empty()) return sight;
  const ResourceType& type = candidates.front();
  const auto listed = client_.Do(
      ApiRequest::ListByName(type, query.ns, query.name.name, Freshness::kConsistent), patience);
  if (!listed) {
    SetUnknown(sight, listed.error());
    return sight;
  }
  const JsonValue item = OnlyItem(*listed);
  if (!item.Exists() || item["metadata"]["deletionTimestamp"].Exists()) return recorded;
  sight = SightOf(type, given, *listed, item, Freshness::kConsistent, patience);
  const bool is_same =
      sight.object && recorded.object && sight.object->meta.uid == recorded.object->meta.uid;
  if (is_same) return recorded;
  if (sight.object) sight.observation = Observation::kReplaced;
  return sight;
}

OwnerSight OwnerProbe::LookAs(const std::vector<ResourceType>& types, const OwnerQuery& query,
                              Freshness freshness, const Patience& patience) {
  if (freshness == Freshness::kCached && types.size() == 1) {
    if (auto sight = GlanceAtObject(types.front(), query, patience)) return *std::move(sight);
  }
  std::vector<ApiRequest> requests;
  for (const ResourceType& type : types) {
    requests.push_back(ApiRequest::ListByName(type, query.ns, query.name.name, freshness));
  }
  auto answers = client_.DoAll(requests, kReadsSideBySide, patience);
  std::optional<OwnerSight> found;
  OwnerSight absent;
  for (std::size_t i = 0; i < types.size(); ++i) {
    auto sight =
        ReadByName(types[i], query, std::move(answers[i]), freshness, absent.evidence, patience);
    if (!sight) {
      OwnerSight unknown;
      SetUnknown(unknown, std::move(sight).error());
      return unknown;
    }
    if (!*sight) continue;
    if (!(*sight)->object) return **sight;
    if (found) {
      OwnerSight unknown;
      SetUnknown(unknown, BothAre(query, *found->object, *(*sight)->object));
      return unknown;
    }
    found = **std::move(sight);
  }
  if (found) return *found;
  absent.observation = Observation::kAbsent;
  std::string what = "owner \"" + query.name.name + "\" of any kind";
  if (types.size() == 1) {
    what = types.front().SingularName() + "/" + query.name.name;
  } else if (query.recorded) {
    what = query.recorded->ToText();
  }
  absent.detail = "there is no " + what + " in namespace " + query.ns;
  return absent;
}

std::optional<OwnerSight> OwnerProbe::GlanceAtObject(const ResourceType& type,
                                                     const OwnerQuery& query,
                                                     const Patience& patience) {
  if (lists_at_once_ > 0) {
    --lists_at_once_;
    return std::nullopt;
  }
  ApiRequest request = ApiRequest::Get(type, query.ns, query.name.name, Freshness::kCached);
  request.may_be_known = true;
  const auto object = client_.Do(request, patience);
  if (object) {
    return SightOf(type, query, *object, object->document.root(), Freshness::kCached, patience);
  }
  OwnerSight unknown;
  switch (object.error().failure) {
    case ApiFailure::kUnreachable:
    case ApiFailure::kStopped:
    case ApiFailure::kNotSent:
    case ApiFailure::kThrottled:
      SetUnknown(unknown, object.error());
      return unknown;
    case ApiFailure::kForbidden:
      lists_at_once_ = kGlancesBetweenRefusals;
      return std::nullopt;
    case ApiFailure::kUnauthorized:
    case ApiFailure::kConflict:
    case ApiFailure::kServer:
    case ApiFailure::kUnexpected:
    case ApiFailure::kNotFound:
    case ApiFailure::kNotServed:
    case ApiFailure::kInvalid:
      break;
  }
  return std::nullopt;
}

Result<std::optional<OwnerSight>, ApiError> OwnerProbe::ReadByName(
    const ResourceType& type, const OwnerQuery& query, ApiResult listed, Freshness freshness,
    std::vector<Evidence>& absence, const Patience& patience) {
  const auto found = [&](const ApiAnswer& answer, JsonValue item) {
    return std::optional(SightOf(type, query, answer, item, freshness, patience));
  };
  if (listed) {
    const JsonValue item = OnlyItem(*listed);
    if (item.Exists()) return found(*listed, item);
    const JsonValue list = listed->document.root();
    absence.push_back(EvidenceOf(std::string(list["kind"].AsString().value_or("")), "without items",
                                 *listed, list));
    return std::optional<OwnerSight>();
  }
  if (listed.error().failure != ApiFailure::kForbidden) {
    return Unexpected{std::move(listed).error()};
  }
  // The account may still be allowed to get this object.
  auto object = client_.Do(ApiRequest::Get(type, query.ns, query.name.name), patience);
  if (object) return found(*object, object->document.root());
  if (object.error().failure == ApiFailure::kNotFound) {
    absence.push_back({"Status", "NotFound of " + type.QualifiedName(), "", std::nullopt});
    return std::optional<OwnerSight>();
  }
  return Unexpected{std::move(object).error()};
}

OwnerSight OwnerProbe::SightOf(const ResourceType& type, const OwnerQuery& query,
                               const ApiAnswer& answer, JsonValue item, Freshness freshness,
                               const Patience& patience) {
  OwnerSight sight = Found(type, query, item, freshness, patience);
  if (sight.evidence.empty()) sight.evidence = {EvidenceOf(type.kind, "found", answer, item)};
  return sight;
}

OwnerSight OwnerProbe::Found(const ResourceType& type, const OwnerQuery& query, JsonValue item,
                             Freshness freshness, const Patience& patience) {
  OwnerSight sight;
  auto meta = ReadObjectMeta(item);
  if (!meta) {
    SetUnknown(sight, type.SingularName() + "/" + query.name.name +
                          " can't be judged: " + meta.error().message);
    return sight;
  }
  const KubeObject object{type, *std::move(meta)};
  const OwnerReference* controller = object.meta.Controller();
  // Each redeploy of a DeploymentConfig makes another ReplicationController.
  const bool is_one_deploy = query.is_behind && controller != nullptr &&
                             type.kind == "ReplicationController" &&
                             controller->kind == "DeploymentConfig";
  if (is_one_deploy || (StandsForItsController(type) && controller != nullptr)) {
    return FollowController(object, query, freshness, patience);
  }
  auto fields = reader_.Read(object, item, freshness, patience);
  if (!fields) {
    SetUnknown(sight, std::move(fields).error());
    return sight;
  }
  if (query.completed_when) {
    auto completed = query.completed_when->Holds(item);
    if (IsWorkload(type)) completed = Failure("it is for custom resources: leave it out");
    if (!completed) {
      sight.setting_problem = "completed-when " + query.completed_when->text() +
                              " doesn't fit the owner " + object.Describe() + ": " +
                              completed.error().message;
      SetUnknown(sight, sight.setting_problem);
      return sight;
    }
    fields->completed = fields->completed || (*completed && fields->status_counts);
  }
  if (!query.container.empty() && IsPod(type)) {
    const auto ended = HasContainerEnded(item, query.container);
    if (!ended) {
      sight.setting_problem = "owner-container: " + object.Describe() + " has no container " +
                              Quoted(query.container) + ": correct it";
      SetUnknown(sight, sight.setting_problem);
      return sight;
    }
    fields->completed = fields->completed || *ended;
  }
  sight.object = object;
  sight.fields = *std::move(fields);
  sight.observation = ObservationFrom(sight, query.recorded);
  sight.detail = object.Describe() + " (UID " + object.meta.uid + ", resourceVersion " +
                 object.meta.resource_version + ")";
  return sight;
}

// Takes at most two steps: from a Pod to its ReplicaSet or ReplicationController, and from there to
// the Deployment or DeploymentConfig.
OwnerSight OwnerProbe::FollowController(const KubeObject& object, const OwnerQuery& query,
                                        Freshness freshness, const Patience& patience) {
  const OwnerReference& controller = *object.meta.Controller();
  const std::string controlled =
      object.Describe() + " is controlled by " + controller.kind + "/" + controller.name;
  OwnerSight sight;
  auto type = discovery_.ByKind(controller.api_version, controller.kind, patience);
  if (!type || !*type) {
    SetUnknown(sight, controlled + ": " + (type ? "its kind is not served" : type.error().message));
    return sight;
  }
  if (!CanJudge(**type) || (*type)->kind == "Pod" || **type == object.type) {
    SetUnknown(sight, controlled + ", which can't be judged");
    return sight;
  }
  auto found = client_.Do(ApiRequest::Get(**type, query.ns, controller.name, freshness), patience);
  if (!found) {
    SetUnknown(sight, controlled + ": " + found.error().message);
    return sight;
  }
  const JsonValue item = found->document.root();
  if (item["metadata"]["uid"].AsString() != controller.uid) {
    SetUnknown(sight, controlled + ", which is gone: another object has its name");
    return sight;
  }
  OwnerQuery behind = query;
  behind.name = {LowerCase((*type)->kind), (*type)->group, controller.name};
  behind.recorded.reset();
  behind.is_behind = true;
  sight = Found(**type, behind, item, freshness, patience);
  sight.evidence = {EvidenceOf((*type)->kind, "found", *found, item)};
  sight.followed_controller = true;
  return sight;
}

void OwnerProbe::ConfirmAbsence(const std::vector<ResourceType>& types, const OwnerQuery& query,
                                OwnerSight& sight, const Patience& patience) {
  // While a definition is being deleted, lists leave out objects that still exist.
  for (const ResourceType& type : types) {
    if (Discovery::IsAlwaysServed(type.group)) continue;
    auto offer = discovery_.OfferNow(type, patience);
    if (!offer) return SetUnknown(sight, offer.error().message);
    if (!*offer || !(*offer)->offers_create) {
      return SetUnknown(sight, "the definition of " + type.QualifiedName() + " is being deleted");
    }
  }
  // A pod means what controls it, which may be there with another pod by now; a ReplicaSet, too.
  if (!query.recorded && StandsForItsController(types.front())) {
    auto maker = reader_.FindMaker(query.ns, query.name.name, query.cluster, patience);
    if (!maker) return SetUnknown(sight, maker.error());
    if (!maker->empty()) {
      return SetUnknown(sight, sight.detail + ", and it was never seen: it may have been " +
                                   *maker + "'s, so name the driver itself");
    }
  }
  // A list in a namespace that doesn't exist is empty too, so the name could be misspelt.
  if (query.ns != query.home_ns && !query.recorded) {
    const ResourceType& namespaces = *FindBuiltInByName("namespaces", "");
    auto found = client_.Do(ApiRequest::Get(namespaces, "", query.ns), patience);
    if (!found) {
      return SetUnknown(sight, "the owner's namespace can't be read: " + found.error().message);
    }
  }
}

Result<std::string, ApiError> OwnerProbe::FindRunning(const OwnerQuery& query,
                                                      const OwnerSight& sight,
                                                      const Patience& patience) {
  const KubeObject& object = *sight.object;
  return reader_.FindRunning(
      {object.type, query.ns, object.meta.name, object.meta.uid, sight.fields.pod_selector,
       sight.fields.pods_not_below, sight.observation == Observation::kDeleting},
      query.cluster, patience);
}

void OwnerProbe::NoteRunning(const std::vector<ResourceType>& types, const OwnerQuery& query,
                             OwnerSight& sight, const Patience& patience) {
  const auto note = [&](Result<std::string, ApiError> running) {
    if (running) {
      sight.still_running = *std::move(running);
    } else {
      SetUnknown(sight, "what still runs of the owner can't be told: " + running.error().message);
    }
  };
  if (!IsOver(sight.observation)) return;
  if (sight.observation != Observation::kAbsent) {
    return note(FindRunning(query, sight, patience));
  }
  for (const ResourceType& type : types) {
    OwnerOfPods owner{type, query.ns, query.name.name, "", "", "", true};
    if (query.recorded && query.recorded->kind == type.SingularName()) {
      owner.uid = query.recorded->uid;
      owner.pod_selector = query.recorded->pod_selector;
    }
    note(reader_.FindRunning(owner, query.cluster, patience));
    if (sight.observation == Observation::kUnknown || !sight.still_running.empty()) return;
  }
}

}  // namespace cluster_watcher
