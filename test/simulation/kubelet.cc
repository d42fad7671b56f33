#include "test/simulation/kubelet.h"

#include <algorithm>
#include <utility>

namespace cluster_watcher::simulation {
namespace {

using small_kubernetes::Find;
using small_kubernetes::ObjectPtr;
using small_kubernetes::TextOf;

constexpr const char* kMe = "kubelet";

std::string PodPath(const std::string& pod) { return World::CollectionOf("pods") + "/" + pod; }

}  // namespace

Kubelet::Kubelet(Workshop& workshop, Timeline& timeline, World& world, Network& network,
                 Random random)
    : workshop_(workshop), timeline_(timeline), world_(world), network_(network), random_(random) {}

void Kubelet::Look() {
  auto& kubernetes = world_.kubernetes();
  const std::uint64_t version =
      kubernetes.GetStore().VersionOf(kubernetes.Resources().Of("", "pods"));
  const bool changed = version != version_;
  version_ = version;
  for (const auto& pod : pods_) {
    if (!pod->life || !pod->life->ended()) continue;
    pod->life.reset();
    if (pod->terminating || pod->failed) {
      Remove(*pod);
    } else if (!pod->gone) {
      StartLater(*pod, random_.Between(Micros(500'000), Micros(4'000'000)));
    }
  }
  if (!changed) return;
  const auto objects = world_.All("", "pods");
  for (const ObjectPtr& object : objects) {
    const auto node = TextOf(Find(object->body, "spec", "nodeName"));
    if (node == World::kDeadNode && object->deleting) Bury(object);
    if (node != World::kNode) continue;
    auto known = std::find_if(pods_.begin(), pods_.end(),
                              [&](const auto& pod) { return pod->uid == object->uid; });
    if (known == pods_.end()) {
      known = pods_.insert(
          known, std::make_unique<Pod>(Pod{object->name, object->uid, MachineClock(timeline_),
                                           Orders::Read(object->body), nullptr}));
      if (random_.Chance(0.2)) (*known)->wall.Jump(Duration(random_.Between(-3000, 3000)));
    }
    Tend(**known, object);
  }
  for (const auto& pod : pods_) {
    if (pod->gone || std::any_of(objects.begin(), objects.end(),
                                 [&](const ObjectPtr& o) { return o->uid == pod->uid; })) {
      continue;
    }
    // Deleted by force: the process may go on for a while.
    pod->gone = true;
    if (!pod->removing) TerminateSoon(*pod, random_.Between(Micros(0), Micros(15'000'000)));
  }
}

void Kubelet::Bury(const ObjectPtr& object) {
  if (!buried_.insert(object->uid).second) return;
  timeline_.After(random_.Between(Micros(1'000), Micros(2'000'000)), [this, object] {
    world_.Do(kMe, "DELETE", PodPath(object->name),
              R"({"gracePeriodSeconds":0,"preconditions":{"uid":")" + object->uid + "\"}}");
  });
}

void Kubelet::Tend(Pod& pod, const ObjectPtr& object) {
  if (object->deleting) {
    if (!pod.terminating) {
      // Grace periods can be as short as two seconds, or none.
      const std::array<int, 5> graces{0, 2, 2, 10, 30};
      TerminateSoon(pod, std::chrono::seconds(random_.Pick(graces)));
    }
    return;
  }
  if (pod.lives == 0 && !pod.starting && pod.orders.health != Orders::Health::kPending) {
    StartLater(pod, random_.Between(Micros(100'000), Micros(2'000'000)));
  }
}

void Kubelet::StartLater(Pod& pod, Micros delay) {
  pod.starting = true;
  timeline_.After(delay, [this, &pod] {
    pod.starting = false;
    if (pod.terminating || pod.gone || pod.failed || pod.life) return;
    if (pod.lives++ == 0) {
      const bool ready = pod.orders.health == Orders::Health::kReady;
      world_.Do(kMe, "PATCH", PodPath(pod.name) + "/status",
                R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":")" +
                    std::string(ready ? "True" : "False") + "\"}]}}");
    }
    if (pod.orders.opted_out) return;
    ++counts_.lives;
    pod.life = std::make_unique<Life>(workshop_, timeline_, world_, network_, pod.wall,
                                      Random(random_.Next()),
                                      Identity{++lives_, pod.name, pod.uid, pod.orders,
                                               pod.orders.AreSameAs(world_.PlannedOrders())});
    world_.journal().Line(kMe, "starts the watcher in " + pod.name);
    pod.life->Start();
  });
}

void Kubelet::TerminateSoon(Pod& pod, Micros grace) {
  pod.terminating = true;
  if (!pod.life) return Remove(pod);
  timeline_.After(random_.Between(Micros(0), Micros(500'000)), [this, &pod, grace] {
    if (!pod.life) return Remove(pod);
    ++counts_.terminations;
    world_.journal().Line(kMe, "SIGTERM for " + pod.name);
    if (grace > Micros(0)) pod.life->Terminate();
    timeline_.After(grace, [this, &pod] {
      if (!pod.life) return;
      world_.journal().Line(kMe, "SIGKILL for " + pod.name + " at the end of its grace period");
      Kill(pod);
      Look();
    });
  });
}

// The process has ended, so the pod can be removed.
void Kubelet::Remove(Pod& pod) {
  pod.removing = true;
  if (pod.gone) return;
  timeline_.After(random_.Between(Micros(1'000), Micros(300'000)), [this, &pod] {
    if (pod.gone || pod.failed) return;
    world_.Do(kMe, "DELETE", PodPath(pod.name),
              R"({"gracePeriodSeconds":0,"preconditions":{"uid":")" + pod.uid + "\"}}");
  });
}

Kubelet::Pod* Kubelet::OneRunning() {
  std::vector<Pod*> running;
  for (const auto& pod : pods_) {
    if (pod->life && !pod->life->ended()) running.push_back(pod.get());
  }
  return running.empty() ? nullptr : running[random_.Next() % running.size()];
}

bool Kubelet::KillOne() {
  Pod* pod = OneRunning();
  if (pod == nullptr) return false;
  ++counts_.kills;
  world_.journal().Line(kMe, "SIGKILL for " + pod->name);
  // Deferred, because that very process may be the caller.
  timeline_.After(Micros(0), [this, pod] {
    if (pod->life) Kill(*pod);
  });
  return true;
}

bool Kubelet::PauseOne(Micros length) { return HoldUp(length, false); }

bool Kubelet::SuspendOne(Micros length) { return HoldUp(length, true); }

bool Kubelet::HoldUp(Micros length, bool suspends) {
  Pod* pod = OneRunning();
  if (pod == nullptr || pod->life->paused()) return false;
  ++counts_.pauses;
  world_.journal().Line(kMe, pod->name + (suspends ? " is suspended" : " is held up"));
  pod->life->Pause();
  pod->asleep = suspends;
  if (suspends) pod->wall.FallAsleep();
  timeline_.After(length, [this, pod, life = pod->life->identity().life] {
    if (!pod->life || pod->life->identity().life != life || !pod->life->paused()) return;
    world_.journal().Line(kMe, pod->name + " goes on");
    GoOn(*pod);
  });
  return true;
}

// A machine that is suspended wakes up first.
void Kubelet::Kill(Pod& pod) {
  if (std::exchange(pod.asleep, false)) pod.wall.WakeUp();
  pod.life->Kill();
}

void Kubelet::GoOn(Pod& pod) {
  if (std::exchange(pod.asleep, false)) pod.wall.WakeUp();
  pod.life->Continue();
}

bool Kubelet::FailOne() {
  Pod* pod = OneRunning();
  if (pod == nullptr || pod->terminating) return false;
  pod->failed = true;
  world_.Do(kMe, "PATCH", PodPath(pod->name) + "/status",
            R"({"status":{"phase":"Failed","reason":"Evicted"}})");
  timeline_.After(Micros(0), [this, pod] {
    if (pod->life) Kill(*pod);
  });
  return true;
}

bool Kubelet::JumpOneClock(Duration by) {
  Pod* pod = OneRunning();
  if (pod == nullptr) return false;
  world_.journal().Line(
      kMe, "the wall clock of " + pod->name + " jumps by " + std::to_string(by.count()) + " ms");
  pod->wall.Jump(by);
  return true;
}

void Kubelet::ContinueAll() {
  for (const auto& pod : pods_) {
    if (pod->life && pod->life->paused()) GoOn(*pod);
  }
}

std::vector<std::string> Kubelet::PodNames() const {
  std::vector<std::string> names;
  for (const auto& pod : pods_) {
    if (!pod->gone) names.push_back(pod->name);
  }
  return names;
}

bool Kubelet::AnyActs() const {
  return std::any_of(pods_.begin(), pods_.end(), [](const auto& pod) {
    return pod->starting ? !pod->orders.opted_out && !pod->orders.dry_run
                         : pod->life && pod->life->acts();
  });
}

bool Kubelet::AllAsPlanned() const {
  return std::all_of(pods_.begin(), pods_.end(), [](const auto& pod) {
    return !pod->life || pod->life->ended() || pod->life->identity().as_planned;
  });
}

bool Kubelet::AnyAlive() const {
  return std::any_of(pods_.begin(), pods_.end(), [](const auto& pod) {
    return pod->starting || (pod->life && !pod->life->ended());
  });
}

}  // namespace cluster_watcher::simulation
