#include "test/simulation/drivers.h"

#include <algorithm>
#include <utility>

#include "test/simulation/reading.h"

namespace cluster_watcher::simulation {
namespace {

using small_kubernetes::ObjectPtr;

// The processes of watchers have smaller numbers.
constexpr int kFirstLife = 1'000'000;

}  // namespace

Drivers::Drivers(Workshop& workshop, Timeline& timeline, World& world, Network& network,
                 DriversJudge& judge, Random random)
    : workshop_(workshop),
      timeline_(timeline),
      world_(world),
      network_(network),
      judge_(judge),
      random_(random) {
  if (!world.plan().drivers) return;
  for (const char* name : {World::kOwnerName, World::kOtherName}) {
    applications_.push_back(
        std::make_unique<Application>(Application{name, MachineClock(timeline)}));
  }
}

void Drivers::Look() {
  if (stopped_) return;
  for (const auto& application : applications_) {
    const ObjectPtr owner = world_.Application(application->name);
    const bool wants = World::WantsToRun(owner);
    if (application->process) {
      if (application->process->ended()) {
        Bury(*application);
      } else if (!wants || owner->uid != application->uid) {
        End(*application);
      }
    } else if (wants && !application->starting && owner->uid != application->uid) {
      StartLater(*application);
    }
    if (!wants && !application->process) application->uid.clear();
  }
}

void Drivers::StartLater(Application& application) {
  application.starting = true;
  timeline_.After(random_.Between(Micros(100), Micros(random_.Chance(0.6) ? 30'000 : 2'000'000)),
                  [this, &application] {
                    application.starting = false;
                    Start(application);
                  });
}

void Drivers::Start(Application& application) {
  const ObjectPtr owner = world_.Application(application.name);
  if (stopped_ || application.process || !World::WantsToRun(owner)) return;
  application.uid = owner->uid;
  application.stopping = false;
  application.requests_left = random_.Chance(0.35) ? random_.Between(1, 60) : 0;
  application.crashes = random_.Chance(0.6);
  application.dwells = random_.Chance(0.3);
  Identity identity;
  identity.life = kFirstLife + ++lives_;
  identity.pod = application.name;
  identity.pod_uid = owner->uid;
  identity.is_driver = true;
  application.process = std::make_unique<DriverProcess>(
      workshop_, timeline_, world_, network_, judge_, application.wall, Random(random_.Next()),
      std::move(identity), application.name);
  world_.journal().Line(application.name, "its container starts");
  application.process->Start();
}

// As the kubelet ends a container.
void Drivers::End(Application& application) {
  if (std::exchange(application.stopping, true)) return;
  application.process->Terminate();
  timeline_.After(random_.Between(Micros(0), Micros(1'500'000)),
                  [this, &application, life = application.process->identity().life] {
                    if (!application.process || application.process->identity().life != life)
                      return;
                    Bury(application);
                  });
}

void Drivers::Bury(Application& application) {
  judge_.Gone(application.process->identity().life);
  application.process.reset();
}

void Drivers::Nudge() {
  for (const auto& application : applications_) {
    if (application->process) application->process->Nudge();
  }
}

Drivers::Application* Drivers::RunBy(int life) {
  const auto found = std::find_if(applications_.begin(), applications_.end(), [&](const auto& one) {
    return one->process && one->process->identity().life == life;
  });
  return found == applications_.end() ? nullptr : found->get();
}

void Drivers::HoldUp(Application& application, Micros length) {
  world_.journal().Line(application.name, "is held up");
  application.process->Pause();
  timeline_.After(length, [this, life = application.process->identity().life] {
    if (Application* held = RunBy(life)) held->process->Continue();
  });
}

void Drivers::Sent(const Exchange& exchange) {
  Application* application = RunBy(exchange.by->life);
  if (application == nullptr || application->requests_left == 0 ||
      --application->requests_left > 0) {
    return;
  }
  // Deferred, because that very process is the caller.
  timeline_.After(Micros(0), [this, life = exchange.by->life] {
    Application* hit = RunBy(life);
    if (hit == nullptr) return;
    if (!hit->crashes) return HoldUp(*hit, random_.Between(Micros(1'000), Micros(9'000'000)));
    world_.journal().Line(hit->name, "its container crashes");
    Bury(*hit);
    hit->uid.clear();  // it is started again
  });
}

void Drivers::Handled(const Exchange& exchange) {
  Application* application = RunBy(exchange.by->life);
  if (application == nullptr || !application->dwells || application->process->paused() ||
      !exchange.Is(HttpMethod::kGet) || !IsRootPath(exchange.request.target)) {
    return;
  }
  application->dwells = false;
  HoldUp(*application, random_.Between(Micros(1'000), Micros(9'000'000)));
}

void Drivers::Stop() {
  stopped_ = true;
  for (const auto& application : applications_) {
    if (application->process) Bury(*application);
  }
}

}  // namespace cluster_watcher::simulation
