#include "watcher/loop/owner_watch.h"

#include <algorithm>
#include <utility>

#include "probes/owner_kinds.h"
#include "watcher/loop/health.h"
#include "watcher/loop/look_pace.h"

namespace cluster_watcher {
namespace {

// The part of the poll interval that passes at least between two looks of which the first found
// nothing.
constexpr int kLooksInPollInterval = 10;

const char* ToString(ObjectWatch::Restart restart) {
  switch (restart) {
    case ObjectWatch::Restart::kClosed:
      return "closed";
    case ObjectWatch::Restart::kExpired:
      return "expired";
    case ObjectWatch::Restart::kStalled:
      return "stalled";
    case ObjectWatch::Restart::kError:
      return "error";
  }
  return "";
}

}  // namespace

OwnerWatch::OwnerWatch(const Tools& tools, const WatchAccess* access)
    : tools_(tools),
      access_(access),
      jitter_(static_cast<unsigned>(tools.clock.Now().time_since_epoch().count())) {}

bool OwnerWatch::IsAskedFor() const {
  return access_ != nullptr && tools_.settings->observe == Observe::kWatch;
}

void OwnerWatch::Aim(const KubeObject& owner, const KubeObject& root) {
  const bool counted = owner.meta.generation > 0;  // so that each change of the spec shows
  AimAt(owner_, owner, counted && IsJudgedBySpec(owner.type));
  AimAt(root_, root, true);
}

void OwnerWatch::AimAt(Target& target, const KubeObject& object, bool metadata_only) {
  if (target.watch) {
    const WatchedObject& now = target.watch->object();
    if (now.type == *object.type && now.ns == object.meta.ns() && now.name == object.meta.name) {
      return;
    }
  }
  const WatchedObject watched{object.type, object.meta.ns(), object.meta.name, metadata_only};
  target = {};
  const auto note = [this, what = object.Describe()](const ObjectWatch::Ended& ended) {
    Note(what, ended);
  };
  target.watch =
      std::make_unique<ObjectWatch>(tools_.client, *access_, watched, object.meta.resource_version,
                                    static_cast<unsigned>(jitter_()), note);
}

void OwnerWatch::Note(const std::string& what, const ObjectWatch::Ended& ended) {
  if (ended.was_silent) in_doubt_ = true;
  const char* const restart = ToString(ended.restart);
  tools_.metrics.WatchRestarted(restart);
  tools_.log.debug("the watch on {} has to be started again ({}): {}", what, restart, ended.why);
  if (!ended.refused || !refused_.insert(what).second) return;
  tools_.log.warn("{} can't be watched, so the owner is polled: {}", what, ended.why);
}

void OwnerWatch::Close() {
  owner_ = {};
  root_ = {};
  needs_sure_look_ = false;
}

bool OwnerWatch::AreUp() const {
  const auto is_up = [this](const Target& target) {
    return target.watch && target.watch->IsUp() && (!in_doubt_ || target.watch->HasSpoken());
  };
  return is_up(owner_) && is_up(root_);
}

void OwnerWatch::Tend(const std::stop_token& stop) {
  for (Target* target : {&owner_, &root_}) {
    if (!target->watch) continue;
    target->watch->Tend(stop);
    if (target->watch->TakeChange()) target->changed = true;
  }
  if (AreUp()) in_doubt_ = false;
}

MonotonicTime OwnerWatch::NextTend() const {
  MonotonicTime next = MonotonicTime::max();
  for (const Target* target : {&owner_, &root_}) {
    if (target->watch) next = std::min(next, target->watch->due());
  }
  return next;
}

MonotonicTime OwnerWatch::DueTo(const Target& target) const {
  return target.changed ? target.looked_at + target.gap : MonotonicTime::max();
}

Duration OwnerWatch::Jittered(Duration interval) {
  return interval * std::uniform_int_distribution<int>(50, 100)(jitter_) / 100;
}

void OwnerWatch::Wait(MonotonicTime poll, std::optional<MonotonicTime> rare,
                      const std::stop_token& stop) {
  bool were_up = AreUp();
  // A request that was begun is sent, however soon the next look is due.
  if (access_ != nullptr) access_->streams.Wait(tools_.clock.Now(), stop);
  while (!stop.stop_requested()) {
    Tend(stop);
    const MonotonicTime now = tools_.clock.Now();
    const bool are_up = AreUp();
    if (are_up && !refused_.empty()) {
      refused_.clear();
      tools_.log.info("the owner is watched now");
    }
    // All watches may have broken at once.
    if (were_up && !are_up) {
      poll = std::max(poll, now + Jittered(tools_.settings->poll_interval));
    }
    were_up = are_up;
    const MonotonicTime due =
        std::min({are_up && rare ? *rare : poll, DueTo(owner_), DueTo(root_)});
    if (now >= due) return NoteLook(now);
    const MonotonicTime wake =
        std::min({due, now + kLongestStep, std::max(NextTend(), now + Duration(1))});
    if (access_ == nullptr) {
      tools_.clock.WaitUntil(wake, stop);
    } else {
      access_->streams.Wait(wake, stop);
    }
    tools_.turn({});
  }
}

void OwnerWatch::NoteLook(MonotonicTime now) {
  if (DueTo(root_) <= now) {
    needs_sure_look_ = true;
    NoteLook(root_, now, std::max(tools_.settings->poll_interval, kRootInterval));
  }
  if (DueTo(owner_) <= now) NoteLook(owner_, now, tools_.settings->poll_interval);
  owner_.changed = false;
}

void OwnerWatch::NoteLook(Target& target, MonotonicTime now, Duration most) {
  const Duration least = tools_.settings->poll_interval / kLooksInPollInterval;
  const bool at_rest = now - target.looked_at > 2 * most;
  target.gap = at_rest ? least : std::min(2 * target.gap, most);
  target.looked_at = now;
}

void OwnerWatch::NoteSureLook() {
  needs_sure_look_ = false;
  root_.changed = false;
  if (owner_.watch) owner_.watch->NoteConsistentRead();
}

void OwnerWatch::NoteWritten(const ObjectMeta& root) {
  if (root_.watch) root_.watch->NoteKnown(root.resource_version);
}

bool OwnerWatch::IsAsNew(const std::string& owner_version) const {
  return !owner_.watch || owner_.watch->IsAsNew(owner_version);
}

}  // namespace cluster_watcher
