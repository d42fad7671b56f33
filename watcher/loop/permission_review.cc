#include "watcher/loop/permission_review.h"

#include <algorithm>
#include <utility>

#include "probes/owner_kinds.h"
#include "watcher/deletion/member_listing.h"

namespace cluster_watcher {
namespace {

// The shortest time between two reviews, whatever changes meanwhile.
constexpr Duration kSoonest = std::chrono::minutes(1);
// A review costs as much as some polls.
constexpr Duration kRareReviewInterval = std::chrono::hours(24);

const ResourceType& BuiltIn(const char* plural) { return *FindBuiltInByName(plural, ""); }

class Permissions {
 public:
  // A permission for any object covers the same one by name.
  void Add(Permission permission) {
    const bool covered = std::any_of(all_.begin(), all_.end(), [&](const Permission& present) {
      Permission any = permission;
      any.name.clear();
      return present == permission || present == any;
    });
    if (!covered) all_.push_back(std::move(permission));
  }
  void Add(std::string_view verb, const ResourceType& type, std::string_view ns,
           std::string_view name = "") {
    Add(Permission::For(verb, type, ns, name));
  }
  // To RBAC these aren't the Events of core/v1.
  void AddEvents(const std::string& ns) { Add({"create", "events.k8s.io", "events", ns, ""}); }
  // For RBAC a namespace is in itself, so a Role there can authorize reading it.
  void AddNamespace(const std::string& ns) { Add({"get", "", "namespaces", ns, ns}); }

  std::vector<Permission> Take() { return std::move(all_); }

 private:
  std::vector<Permission> all_;
};

// Adds what it takes to read the owner, its pods, other drivers and their controllers.
void AddDrivers(Permissions& permissions, const ScopeOfWork& work, const std::string& ns) {
  for (const ResourceType& type : work.driver_types) {
    permissions.Add("list", type, ns);
    permissions.Add("get", type, ns);
    if (const ResourceType* runs = RunsOf(type)) permissions.Add("list", *runs, ns);
  }
}

void AddWatches(Permissions& permissions, const ScopeOfWork& work) {
  if (!work.watched || !work.root) return;
  for (const KubeObject* object : {&*work.watched, &*work.root}) {
    permissions.Add("watch", object->type, object->meta.ns(), object->meta.name);
  }
}

void AddDeletion(Permissions& permissions, const ScopeOfWork& work) {
  const ResourceType& sets = BuiltIn("statefulsets");
  const ResourceType& claims = BuiltIn("persistentvolumeclaims");
  for (const ResourceType& type : work.member_types) {
    permissions.Add("list", type, work.ns);
    if (type != claims || work.volumes == Volumes::kDelete) {
      permissions.Add("delete", type, work.ns);
    }
  }
  // Their claims are let go of before they are deleted.
  const bool has_sets = Has(work.member_types, sets) || (work.root && work.root->type == sets);
  if (has_sets) {
    permissions.Add("list", sets, work.ns);
    permissions.Add("patch", sets, work.ns);
    permissions.Add("list", claims, work.ns);
  }
  const bool collects = work.volumes != Volumes::kPreserve && Has(work.member_types, claims);
  if (has_sets || collects) permissions.Add("patch", claims, work.ns);
  if (work.uses) {
    permissions.Add("list", *work.uses, work.ns);
    if (work.uses_block) permissions.Add("delete", *work.uses, work.ns);
  }
  if (work.runs_pods) {
    permissions.Add("create", BuiltIn("pods"), work.ns);
    permissions.Add("get", BuiltIn("pods"), work.ns);
  }
  if (!work.root) return;
  permissions.Add("list", work.root->type, work.ns);  // to count those that are abandoned at once
  permissions.Add("patch", work.root->type, work.ns, work.root->meta.name);
  permissions.Add("delete", work.root->type, work.ns, work.root->meta.name);
}

}  // namespace

std::vector<Permission> PermissionsFor(const ScopeOfWork& work) {
  Permissions permissions;
  permissions.AddNamespace(work.ns);
  AddDrivers(permissions, work, work.ns);
  if (work.root) permissions.Add("get", work.root->type, work.ns, work.root->meta.name);
  if (work.shared) return permissions.Take();
  if (work.owner_ns != work.ns) {
    AddDrivers(permissions, work, work.owner_ns);
    if (!work.owner_seen) permissions.AddNamespace(work.owner_ns);
  }
  AddWatches(permissions, work);
  AddDeletion(permissions, work);
  permissions.AddEvents(work.ns);
  permissions.AddEvents(work.owner_ns);
  return permissions.Take();
}

PermissionReview::PermissionReview(const Tools& tools, const Observer& observer, Duration interval)
    : tools_(tools),
      observer_(observer),
      cluster_probe_(tools.client, tools.discovery),
      interval_(interval),
      probe_(tools.client, tools.clock) {}

bool PermissionReview::IsDue(const std::string& subject) const {
  if (!asked_at_) return true;
  const auto ago = tools_.clock.Now() - *asked_at_;
  const bool is_rare = tools_.settings->observe == Observe::kWatch;
  return ago >= (is_rare && is_known_ && missing_.empty() ? std::max(interval_, kRareReviewInterval)
                                                          : interval_) ||
         (subject != subject_ && ago >= kSoonest);
}

void PermissionReview::AskIfDue(const Snapshot& look, std::stop_token stop) {
  // If the API server doesn't answer, asking more is no use. A refusal is an answer.
  if (!look.root && !look.forbidden) return;
  std::string subject = look.root ? look.root->Describe() : "";
  if (look.owner_name) {
    subject += " " + look.owner_ns + "/" + look.owner_name->ToText();
    if (look.seen) subject += " " + look.seen->ToText();
  }
  const bool is_due = IsDue(subject);
  is_put_off_ = !is_due && subject != subject_;
  if (!is_due) return;
  asked_at_ = tools_.clock.Now();
  is_known_ = false;
  subject_ = std::move(subject);
  const Patience patience = Patience::UntilTimeout(stop);
  auto work = ScopeOf(look, patience);
  if (!work) return tools_.log.debug("permissions: {}", work.error().message);
  const std::vector<Permission> needed = PermissionsFor(*work);
  auto missing = probe_.FindMissing(needed, patience);
  if (!missing) return tools_.log.debug("permissions: {}", missing.error().message);
  if (missing->empty()) tools_.log.debug("permissions: all {} are granted", needed.size());
  is_known_ = true;
  Show(*std::move(missing));
}

Result<ScopeOfWork, ApiError> PermissionReview::ScopeOf(const Snapshot& look,
                                                        const Patience& patience) {
  const Settings& settings = *tools_.settings;
  ScopeOfWork work;
  work.ns = settings.ns;
  work.root = look.root;
  work.shared = look.root && !look.owner_name && !settings.owner;
  work.owner_ns = settings.OwnerNamespace();
  work.owner_seen = look.seen.has_value();
  if (settings.observe == Observe::kWatch && look.facts.owner) {
    work.watched = look.facts.owner->object;
  }
  work.volumes = settings.volumes;

  auto drivers = cluster_probe_.DriverTypes(patience);
  if (!drivers) return Unexpected{std::move(drivers).error()};
  work.driver_types = *std::move(drivers);
  const KindName own = SplitKindName(observer_.OwnerKind(look));
  if (!own.kind.empty() && FindBuiltInByName(own.kind, own.group) == nullptr) {
    auto named = tools_.discovery.ByName(own, patience);
    if (!named) return Unexpected{std::move(named).error()};
    work.driver_types.insert(work.driver_types.end(), named->begin(), named->end());
  }
  MemberKinds kinds = FindMemberKinds(settings, tools_.discovery, patience);
  if (!kinds.errors.empty()) return Unexpected{std::move(kinds.errors.front())};
  work.member_types = std::move(kinds.types);
  for (const std::string& kind : kinds.not_served) SayNotServed(kind);
  if (!look.cluster) return work;
  auto uses = cluster_probe_.UsesType(*look.cluster, patience);
  if (!uses) return Unexpected{std::move(uses).error()};
  work.uses = *std::move(uses);
  work.runs_pods = look.pod_says.steps.HavePods();
  work.uses_block = work.uses && look.cluster->profile->uses->blocks;
  return work;
}

void PermissionReview::SayNotServed(const std::string& kind) {
  if (!not_served_.insert(kind).second) return;
  tools_.log.warn(
      "--resources: {} is not served and will be passed over: correct it, or install it", kind);
}

void PermissionReview::Show(std::vector<Permission> missing) {
  if (missing == missing_) return;
  std::vector<std::pair<std::string, std::string>> shown;
  for (const Permission& permission : missing) {
    shown.emplace_back(permission.verb, permission.resource);
  }
  tools_.metrics.SetMissingPermissions(shown);
  for (const MissingRules& rules : RulesThatGrant(missing)) {
    tools_.log.warn("permissions are missing: {} needs rules: {}",
                    rules.ns.empty() ? "a ClusterRole" : "a Role in namespace " + rules.ns,
                    rules.text);
  }
  const bool of_claims = std::any_of(missing.begin(), missing.end(), [](const Permission& one) {
    return one.resource == "persistentvolumeclaims";
  });
  if (of_claims) {
    tools_.log.warn(
        "for claims the ClusterRole cluster-watcher-volumes has these rules, and what the guard "
        "asks for: bind it instead");
  }
  if (missing.empty()) tools_.log.info("the permissions that were missing are granted");
  missing_ = std::move(missing);
}

}  // namespace cluster_watcher
