#include "watcher/loop/owner_glance.h"

#include "probes/owner_kinds.h"

namespace cluster_watcher {
namespace {

// Whether what is known of an active owner once it is gone stays the same. Runs of an owner that
// has some come and go, and are found by its UID as well.
bool IsTheSameOnceGone(const OwnerSight& sight, const OwnerFields& before) {
  const OwnerFields& now = sight.fields;
  const bool has_runs = RunsOf(*sight.object->type) != nullptr;
  return now.replicas == before.replicas && now.termination_grace == before.termination_grace &&
         (has_runs || now.pod_selector == before.pod_selector);
}

}  // namespace

void OwnerGlance::NoteLook(const Snapshot& look) {
  const auto& owner = look.facts.owner;
  const bool is_seen = owner && owner->object;
  root_read_ = look.when.began;
  fields_ = is_seen ? owner->fields : OwnerFields();
  version_ = is_seen ? owner->object->meta.resource_version : "";
  active_owner_.reset();
  is_unseen_ = false;
}

bool OwnerGlance::GlanceAround(std::optional<Duration> root_interval, const std::stop_token& stop) {
  const MonotonicTime now = tools_.clock.Now();
  const bool looks_around = root_interval && now - root_read_ >= *root_interval;
  if (looks_around) {
    if (!IsActiveAsBefore(observer_.Glance(Freshness::kConsistent, stop))) return false;
    if (!observer_.IsAroundAsBefore(stop)) return false;
    root_read_ = now;
  }
  // A consistent read asks other objects too, which no watch shows.
  return (looks_around && !watch_.IsAskedFor()) || GlanceAtOwner(stop);
}

bool OwnerGlance::GlanceAtOwner(const std::stop_token& stop) {
  const auto sight = observer_.Glance(Freshness::kCached, stop);
  if (IsActiveAsBefore(sight)) {
    active_owner_ = sight->object;
    return true;
  }
  const bool is_same = sight && sight->object && sight->object->meta.resource_version == version_;
  is_unseen_ = !is_same;
  return false;
}

bool OwnerGlance::IsActiveAsBefore(const std::optional<OwnerSight>& sight) const {
  return sight && sight->observation == Observation::kActive &&
         IsTheSameOnceGone(*sight, fields_) && watch_.IsAsNew(sight->object->meta.resource_version);
}

}  // namespace cluster_watcher
