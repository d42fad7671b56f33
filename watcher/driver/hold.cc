#include "watcher/driver/hold.h"

#include <utility>

#include "probes/base/names.h"
#include "probes/base/time_text.h"
#include "watcher/decision/rules.h"
#include "watcher/deletion/judged_look.h"
#include "watcher/driver/cluster_view.h"
#include "watcher/driver/write_meta.h"
#include "watcher/observation/next_master.h"
#include "watcher/protocol/annotations.h"

namespace cluster_watcher {
namespace {

std::string NameOf(const HoldTarget& target) {
  return target.is_namespace() ? "namespace " + target.cluster.ns
                               : "cluster " + target.cluster.name;
}

Result<KubeObject, ApiError> ReadNamespace(const DriverTools& tools, const std::string& ns) {
  const ResourceType& type = *FindBuiltInByName("namespaces", "");
  auto answer = tools.client.Do(ApiRequest::GetMetadata(type, "", ns), tools.Reads());
  if (!answer) return Unexpected{std::move(answer).error()};
  auto meta = ReadObjectMeta(answer->document.root());
  if (meta) return KubeObject{type, *std::move(meta)};
  return Unexpected{ApiError{ApiFailure::kUnexpected, meta.error().message, std::nullopt}};
}

Result<KubeObject, ApiError> Find(const DriverTools& tools, const HoldTarget& target) {
  if (target.is_namespace()) return ReadNamespace(tools, target.cluster.ns);
  auto view = ReadClusterView(tools.client, tools.discovery, target.cluster, tools.Reads());
  if (!view) return Unexpected{std::move(view).error()};
  if (view->root) return *std::move(view->root);
  const std::string name = target.cluster.name;
  std::string why = "no cluster " + name + " in namespace " + target.cluster.ns;
  if (view->exists) {
    why = "cluster " + name + " has no master to hold it by: hold the namespace instead, by " +
          "--namespace-wide";
  }
  if (!view->rivals.empty()) {
    why = "cluster " + name + " has several masters, " + Joined(view->rivals) +
          ": nothing deletes it; to hold it all the same, use --namespace-wide";
  }
  return Unexpected{ApiError{ApiFailure::kNotFound, why, std::nullopt}};
}

// By the API server's clock, which watchers heed too: this machine's may be slow. By this one's
// where the API server doesn't say.
WallTime Now(const DriverTools& tools, const KubeObject& object) {
  const auto read = tools.client.Do(
      ApiRequest::GetMetadata(object.type, object.meta.ns(), object.meta.name), tools.Reads());
  return read ? read->server_time.value_or(tools.clock.WallNow()) : tools.clock.WallNow();
}

// Writes the annotations on what is held, as it is then.
Result<Done, ApiError> Write(const DriverTools& tools, KubeObject object,
                             const AnnotationChanges& changes) {
  for (int writes = 1;; ++writes) {
    const auto written = WriteMeta(tools.client, object, {{}, changes});
    if (written) return Done{};
    if (written.error().failure != ApiFailure::kConflict || writes == kMostWrites) {
      return Unexpected{written.error()};
    }
    auto now = ReadMetaAgain(tools.client, object, tools.Reads());
    if (!now) return Unexpected{std::move(now).error()};
    object = *std::move(now);
  }
}

DriverOutcome Refused(const ApiError& error) {
  return DriverOutcome::Of(DriverExit::kFailed, error);
}

std::string Because(const Decision& decision) {
  return std::string(" (") + ToString(decision.reason) + "): " + decision.detail;
}

// The verdict on the cluster if nobody held it.
std::string WithoutHold(const DriverTools& tools, Observer& observer) {
  JudgedLook look = LookAndDecide(observer, tools.stop);
  if (look.snapshot.marks.phase == Phase::kDeleting) {
    return "; its deletion was begun before: what is gone by then is gone";
  }
  look.snapshot.facts.holds.clear();
  const Decision decision = DecideWithOthers(observer, look.snapshot, tools.stop);
  return std::string("; otherwise it would be ") + (decision.abandoned() ? "deleted" : "kept") +
         Because(decision);
}

}  // namespace

std::optional<std::string> WhyNotAReason(const std::string& reason) {
  return annotation::TooLong(reason);
}

DriverOutcome WriteHold(const DriverTools& tools, Observer& observer, const HoldTarget& target,
                        const HoldOrder& order) {
  auto object = Find(tools, target);
  if (!object) return Refused(object.error());
  const WallTime end = Now(tools, *object) + order.duration;
  std::string until = FormatTime(end);
  const auto earlier = object->meta.Annotation(annotation::kHoldUntil);
  const auto earlier_end = earlier ? ParseTime(*earlier) : std::nullopt;
  if (earlier && !order.overwrites && (!earlier_end || *earlier_end > end)) {
    until = (earlier_end ? *earlier + " already"
                         : Quoted(*earlier) + ", which is no time, is changed") +
            "; --overwrite makes that " + until;
  } else {
    AnnotationChanges changes = {{annotation::kHoldUntil, until},
                                 {annotation::kHoldReason, std::nullopt}};
    if (!order.reason.empty()) changes[annotation::kHoldReason] = order.reason;
    if (auto written = Write(tools, *object, changes); !written) return Refused(written.error());
  }
  const std::string else_it_would = target.is_namespace() ? "" : WithoutHold(tools, observer);
  return DriverOutcome::Said(NameOf(target) + " is held until " + until + else_it_would);
}

DriverOutcome TakeHoldOff(const DriverTools& tools, Observer& observer, const HoldTarget& target) {
  auto object = Find(tools, target);
  if (!object) return Refused(object.error());
  const bool was_held = object->meta.Annotation(annotation::kHoldUntil).has_value();
  std::string said = NameOf(target) + (was_held ? " is no longer held" : " was not held");
  if (was_held) {
    const auto written =
        Write(tools, *object,
              {{annotation::kHoldUntil, std::nullopt}, {annotation::kHoldReason, std::nullopt}});
    if (!written) return Refused(written.error());
  }
  if (!target.is_namespace()) {
    const Decision decision = LookAndDecide(observer, tools.stop).decision;
    said += (decision.abandoned() ? "; it will be deleted" : "; it is kept") + Because(decision);
  }
  return DriverOutcome::Said(said);
}

}  // namespace cluster_watcher
