#include "watcher/driver/claim.h"

#include <algorithm>
#include <utility>

#include "probes/base/names.h"
#include "probes/owner_kinds.h"
#include "watcher/driver/find_profile.h"
#include "watcher/driver/persistence.h"
#include "watcher/driver/write_meta.h"
#include "watcher/observation/owner_names.h"

namespace cluster_watcher {
namespace {

constexpr Duration kPatienceWithFailures{5'000};  // with what fails for the moment

// The owners that are written on the cluster, the one first that goes before the others.
std::vector<std::string> WrittenOwners(const ClusterView& view) {
  std::vector<std::string> owners = {view.given_owner};
  if (view.root) {
    owners.push_back(view.root->meta.Annotation(annotation::kOwner).value_or(""));
    owners.push_back(view.ephemeral().value_or(""));
  }
  std::erase(owners, "");
  return owners;
}

bool IsOf(const std::string& written, const Application& app) {
  const auto owner = OwnerName::Parse(written);
  return owner && Means(*owner, app);
}

std::string Said(const ClusterId& cluster, const std::string& rest) {
  return "cluster " + cluster.name + " " + rest;
}

DriverOutcome Unknown(const ApiError& error) {
  return DriverOutcome::Of(DriverExit::kUnknown, error);
}

DriverOutcome UsesTheOther(const Application& app, const std::string& remedy) {
  return DriverOutcome::Of(DriverExit::kOthers, app.Name() + " is labelled " + kUsesClusterLabel +
                                                    "=" + app.Uses().value_or("") +
                                                    ", and uses one cluster at a time: say "
                                                    "cluster-watcher " +
                                                    remedy + " first");
}

// Takes the label off the owner, whatever else changes meanwhile.
Result<Done, ApiError> Unlabel(const DriverTools& tools, const ClusterId& cluster,
                               KubeObject& owner) {
  for (int writes = 1;; ++writes) {
    if (owner.meta.Label(kUsesClusterLabel) != cluster.name) return Done{};
    const auto written = WriteMeta(tools.client, owner, {{{kUsesClusterLabel, std::nullopt}}, {}});
    if (written) return Done{};
    const bool again = IsTransient(written.error().failure);
    if (!again || writes == kMostWrites) return Unexpected{written.error()};
    auto now = ReadMetaAgain(tools.client, owner, tools.Reads());
    if (!now) return Unexpected{std::move(now).error()};
    owner = *std::move(now);
  }
}

// Takes the label off the owner, which was read before somebody labelled it. An owner that is gone
// has none.
Result<Done, ApiError> TakeLabelOff(DriverTools tools, const ClusterId& cluster,
                                    const KubeObject& owner) {
  tools.stop = {};  // to be told to stop may be why it is taken off
  auto now = ReadMetaAgain(tools.client, owner, tools.Reads());
  if (!now && now.error().failure == ApiFailure::kNotFound) return Done{};
  if (!now) return Unexpected{std::move(now).error()};
  return Unlabel(tools, cluster, *now);
}

// Why `app` may not have the cluster; nullopt: it may.
std::optional<DriverOutcome> WhyNot(const DriverTools& tools, const ClusterView& view,
                                    const Application& app, bool ephemeral) {
  if (!view.exists) {
    return DriverOutcome::Of(DriverExit::kFailed, "no cluster " + view.id.name);
  }
  if (BelongingTo(view, app) == Belonging::kAnothers) return BelongsToAnother(view, app);
  if (!view.root) {
    return DriverOutcome::Of(DriverExit::kNotReady, Said(view.id, "lacks " + Joined(view.lacks)));
  }
  if (view.status == ClusterStatus::kCondemned || view.status == ClusterStatus::kDeleting) {
    return DriverOutcome::Of(DriverExit::kNotReady,
                             Said(view.id, std::string("is ") + ToString(view.status)));
  }
  if (BelongingTo(view, app) == Belonging::kOurs) return std::nullopt;
  return ephemeral ? UsedByAnother(tools, view.id, app) : WhyNotAUser(tools, app);
}

// nullopt: the root has changed meanwhile.
std::optional<DriverOutcome> WriteClaim(const DriverTools& tools, const ClusterView& view,
                                        const Application& app, bool ephemeral) {
  if (ephemeral) {
    const auto written = WriteMeta(tools.client, *view.root, EphemeralMeta(*app.owner));
    if (!written && written.error().failure == ApiFailure::kConflict) return std::nullopt;
    if (!written) return DriverOutcome::Of(DriverExit::kFailed, written.error());
  }
  return DriverOutcome::Said(Said(view.id, "is claimed by " + app.Name()));
}

// Behind the label: what was condemned before isn't the application's any more.
DriverOutcome ClaimLabelled(const DriverTools& tools, const ClusterId& cluster,
                            const Application& app, bool ephemeral) {
  for (int looks = 0; looks < kMostWrites; ++looks) {
    const auto view = ReadClusterView(tools.client, tools.discovery, cluster, tools.Reads());
    if (!view) return Unknown(view.error());
    if (auto why = WhyNot(tools, *view, app, ephemeral)) return *std::move(why);
    if (auto claimed = WriteClaim(tools, *view, app, ephemeral)) return *std::move(claimed);
  }
  return DriverOutcome::Of(DriverExit::kFailed,
                           Said(cluster, "changes all the time: claim it again"));
}

}  // namespace

bool Means(const OwnerName& written, const Application& app) {
  const KindName kind{written.kind, written.group};
  const bool is_given =
      written.name == app.given.name && KindsAgree(kind, {app.given.kind, app.given.group});
  if (!app.owner) return is_given;
  const KindName of_owner = SplitKindName(app.owner->type->SingularName());
  if (written.name == app.owner->meta.name && KindsAgree(kind, of_owner)) return true;
  if (app.owner->type->kind == "DeploymentConfig" &&
      IsNumberedAfter(app.owner->meta.name, written.name)) {
    return KindsAgree(kind, {"replicationcontroller", ""});
  }
  // A bare name that was found is of the kind that was found.
  return is_given && !app.given.IsBare();
}

bool IsTheSame(const KubeObject& owner, const Application& app, const std::string& ns) {
  // One that isn't there is none of those that are.
  if (!app.owner) return owner.meta.ns() != ns;
  const auto is_below = [](const ObjectMeta& one, const ObjectMeta& other) {
    const OwnerReference* controller = one.Controller();
    return controller != nullptr && controller->uid == other.uid;
  };
  const ObjectMeta& meta = app.owner->meta;
  return owner.meta.uid == meta.uid || is_below(owner.meta, meta) || is_below(meta, owner.meta);
}

std::string AnotherOwner(const ClusterView& view, const Application& app) {
  const auto owners = WrittenOwners(view);
  const auto another = std::find_if(owners.begin(), owners.end(), [&](const std::string& written) {
    return !IsOf(written, app);
  });
  return another == owners.end() ? "" : *another;
}

Belonging BelongingTo(const ClusterView& view, const Application& app) {
  if (WrittenOwners(view).empty()) return Belonging::kNobodys;
  return AnotherOwner(view, app).empty() ? Belonging::kOurs : Belonging::kAnothers;
}

DriverOutcome BelongsToAnother(const ClusterView& view, const Application& app) {
  return DriverOutcome::Of(
      DriverExit::kOthers,
      Said(view.id, "belongs to " + AnotherOwner(view, app) + ", not " + app.Name()));
}

DriverOutcome WithoutOwner(const Application& app) {
  if (app.is_absent) return DriverOutcome::Of(DriverExit::kFailed, app.detail);
  return DriverOutcome::Of(DriverExit::kUnknown,
                           "owner " + app.given.ToText() + " unknown: " + app.detail);
}

std::optional<DriverOutcome> WhyNotAnother(const DriverTools& tools, const ClusterId& cluster,
                                           const Application& app) {
  const std::string used = app.Uses().value_or("");
  if (used.empty() || used == cluster.name) return std::nullopt;
  // The label is the same in all frameworks' words.
  auto found = FindProfile(tools, cluster.ns, used);
  if (!found) return std::move(found).error();
  const SharedProfile usual = cluster.profile->IsDefault() ? cluster.profile : DefaultProfile();
  const auto view = ReadClusterView(tools.client, tools.discovery,
                                    {cluster.ns, *found ? *found : usual, used}, tools.Reads());
  if (!view) return Unknown(view.error());
  if (!view->exists) return std::nullopt;
  // Released it would be nobody's, and stay for ever.
  const bool is_own = BelongingTo(*view, app) == Belonging::kOurs;
  return UsesTheOther(app, (is_own ? "delete " : "release ") + used + " --app=" + app.Name() +
                               (is_own ? " --app-status=completed" : ""));
}

std::optional<DriverOutcome> WhyNotAUser(const DriverTools& tools, const Application& app) {
  const auto types = ClusterProbe(tools.client, tools.discovery).DriverTypes(tools.Reads());
  if (!types) return Unknown(types.error());
  if (std::find(types->begin(), types->end(), app.owner->type) != types->end()) return std::nullopt;
  return DriverOutcome::Of(DriverExit::kWrongUsage,
                           "nobody would find that " + app.Name() +
                               " uses a shared cluster, because its kind is not known to be a "
                               "driver's: claim one with --ephemeral");
}

std::optional<DriverOutcome> UsedByAnother(const DriverTools& tools, const ClusterId& cluster,
                                           const Application& app) {
  ClusterProbe probe(tools.client, tools.discovery);
  OwnerOfCluster owner;
  if (app.owner) owner.uid = app.owner->meta.uid;
  const OtherDrivers others = probe.FindOtherDrivers(cluster, owner, tools.Reads());
  if (others.in_use_by) {
    return DriverOutcome::Of(DriverExit::kOthers, Said(cluster, "is used by " + *others.in_use_by));
  }
  if (others.unknown) return Unknown(*others.unknown);
  return std::nullopt;
}

std::optional<DriverOutcome> LabelAsUser(const DriverTools& tools, const ClusterId& cluster,
                                         Application& app, MonotonicTime deadline) {
  const auto before = app.Uses();
  Persistence persistence(tools, deadline);
  for (int conflicts = 0; app.Uses() != cluster.name;) {
    // The second to come uses what the first has said.
    if (app.Uses() && app.Uses() != before) {
      return UsesTheOther(app, "release " + *app.Uses() + " --app=" + app.Name());
    }
    const auto written =
        WriteMeta(tools.client, *app.owner, {{{kUsesClusterLabel, cluster.name}}, {}});
    if (written) break;
    const bool at_once =
        written.error().failure == ApiFailure::kConflict && ++conflicts < kMostWrites;
    if (!at_once && !persistence.WaitToRepeat(written.error())) {
      return DriverOutcome::Of(DriverExit::kFailed, written.error());
    }
    auto now = ReadMetaAgain(tools.client, *app.owner, tools.Reads());
    if (!now) return Unknown(now.error());
    app.owner = *std::move(now);
  }
  return std::nullopt;
}

MetaChanges EphemeralMeta(const KubeObject& owner) {
  MetaChanges changes;
  changes.annotations[annotation::kOwner] = owner.Describe();
  if (IsBareNameKind(owner.type->SingularName()) && IsLabelValue(owner.meta.name)) {
    changes.labels[kEphemeralLabel] = owner.meta.name;
  }
  return changes;
}

DriverOutcome Claim(const DriverTools& tools, const ClusterId& cluster, const OwnerName& name,
                    bool ephemeral) {
  Application app = FindApplication(tools.client, tools.discovery, name, cluster.ns, tools.Reads());
  if (!app.owner) return WithoutOwner(app);
  if (auto refused = WhyNotAnother(tools, cluster, app)) return *std::move(refused);
  const auto view = ReadClusterView(tools.client, tools.discovery, cluster, tools.Reads());
  if (!view) return Unknown(view.error());
  const bool was_claimed = app.Uses() == cluster.name;
  auto refused = WhyNot(tools, *view, app, ephemeral);
  if (!refused) {
    const MonotonicTime deadline = tools.clock.Now() + kPatienceWithFailures;
    if (auto failed = LabelAsUser(tools, cluster, app, deadline)) return *std::move(failed);
    refused = ClaimLabelled(tools, cluster, app, ephemeral);
    if (refused->exit == DriverExit::kDone) return *std::move(refused);
  } else if (!was_claimed) {
    return *std::move(refused);
  }
  // An earlier claim that still holds isn't given back for this one's sake.
  if (was_claimed && refused->exit != DriverExit::kNotReady) return *std::move(refused);
  if (auto off = TakeLabelOff(tools, cluster, *app.owner); !off) {
    refused->warnings.push_back("the label " + std::string(kUsesClusterLabel) +
                                " could not be taken off again: " + off.error().message);
  }
  return *std::move(refused);
}

DriverOutcome Release(const DriverTools& tools, const ClusterId& cluster, const OwnerName& name) {
  Application app = FindApplication(tools.client, tools.discovery, name, cluster.ns, tools.Reads());
  if (!app.owner && !app.is_absent) return WithoutOwner(app);
  DriverOutcome outcome = DriverOutcome::Said(Said(cluster, "is not claimed by " + app.Name()));
  for (int looks = 0;; ++looks) {
    const auto view = ReadClusterView(tools.client, tools.discovery, cluster, tools.Reads());
    if (!view) return Unknown(view.error());
    const Belonging belonging = BelongingTo(*view, app);
    // A label that was copied with the owner's manifest goes all the same.
    const bool is_labelled = app.Uses() == cluster.name;
    if (belonging == Belonging::kAnothers && !is_labelled) return BelongsToAnother(*view, app);
    if (belonging != Belonging::kOurs) break;
    if (!view->given_owner.empty()) {
      return DriverOutcome::Of(
          DriverExit::kFailed,
          Said(cluster, "stays that of " + view->given_owner +
                            ", which its master pods are given: take cluster-watcher/owner off "
                            "their template first"));
    }
    const auto written =
        WriteMeta(tools.client, *view->root,
                  {{{kEphemeralLabel, std::nullopt}}, {{annotation::kOwner, std::nullopt}}});
    if (written) {
      outcome.said = Said(cluster, "is released by " + app.Name());
      const bool is_going = view->status == ClusterStatus::kDeleting;
      outcome.warnings.push_back(
          Said(cluster, is_going ? "is being deleted all the same"
                                 : "is shared now: nothing deletes it by itself"));
      break;
    }
    if (written.error().failure != ApiFailure::kConflict || looks == kMostWrites) {
      return DriverOutcome::Of(DriverExit::kFailed, written.error());
    }
  }
  if (app.Uses() != cluster.name) return outcome;
  if (auto off = Unlabel(tools, cluster, *app.owner); !off) {
    return DriverOutcome::Of(DriverExit::kFailed, off.error());
  }
  outcome.said = Said(cluster, "is released by " + app.Name());
  return outcome;
}

}  // namespace cluster_watcher
