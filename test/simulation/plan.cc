#include "test/simulation/plan.h"

#include "test/simulation/timeline.h"

namespace cluster_watcher::simulation {

Plan Plan::Draw(std::uint64_t seed) {
  Random random(seed);
  using std::chrono::seconds;
  Plan plan{};
  plan.confirmations = random.Between(1, 3);
  plan.poll = seconds(random.Between(5, 8));
  plan.grace = seconds(std::array{0, 4, 8, 8, 12}[random.Next() % 5]);
  if (random.Chance(0.3)) plan.zero_grace = seconds(random.Between(0, 15));
  plan.startup_grace = seconds(random.Between(8, 18));
  plan.delete_deadline = seconds(random.Pick(std::array{20, 30, 60, 120}));
  plan.operator_grace = seconds(random.Between(1, 20));
  plan.steps_deadline = seconds(random.Between(1, 8));
  plan.concurrency = random.Pick(std::array{1, 2, 8, 8});
  plan.volumes = random.Pick(std::array{"preserve", "preserve", "delete", "collect"});
  plan.all_kinds = random.Chance(0.1);
  plan.given = random.Pick(std::array{OwnerGiven::kByLabel, OwnerGiven::kByFlag,
                                      OwnerGiven::kByBoth, OwnerGiven::kByAnnotation});

  plan.driver = random.Pick(std::array{DriverKind::kDeployment, DriverKind::kDeployment,
                                       DriverKind::kDeployment, DriverKind::kDeployment,
                                       DriverKind::kStatefulSet, DriverKind::kReplicationController,
                                       DriverKind::kJob, DriverKind::kWork});
  // A bare name isn't looked for among custom kinds.
  if (plan.driver == DriverKind::kWork) {
    plan.given = random.Chance(0.5) ? OwnerGiven::kByFlag : OwnerGiven::kByAnnotation;
  }
  plan.workers = random.Between(0, 3);
  plan.web_service = random.Chance(0.3);
  plan.mounted_config = random.Chance(0.3);
  plan.plain_pod = random.Chance(0.2);
  plan.kept_member = random.Chance(0.2);
  plan.claim = random.Chance(0.2);
  plan.set_claims = plan.workers == 2 && random.Chance(0.5);
  plan.claims_go = random.Chance(0.5);
  plan.scaled_away = random.Chance(0.5);
  plan.workers_unwell = random.Chance(0.3);
  plan.set_of_farm = plan.set_claims && random.Chance(0.3);
  plan.kept_owner = plan.kept_member ? random.Between(0, 2) : 0;
  plan.second_cluster = random.Chance(0.1);
  if (random.Chance(0.15)) plan.skew = Duration(random.Between(-4'000, 4'000));
  if (random.Chance(0.05)) plan.skew = Duration(random.Between(-60'000, 60'000));
  plan.evicted_master = random.Chance(0.1);
  plan.remade = random.Chance(0.05);
  plan.token_rotates = random.Chance(0.1);
  plan.rollouts = random.Chance(0.2);
  plan.driver_exists = random.Chance(0.95);
  plan.steps_before = random.Chance(0.15) ? random.Between(1, 2) : 0;
  plan.steps_after = random.Chance(0.1) ? 1 : 0;
  plan.waves = random.Chance(0.1);
  plan.finalizers = random.Chance(0.2) ? random.Between(1, 2) : 0;
  plan.root_finalizer = random.Chance(0.1);
  plan.driver_finalizer = random.Chance(0.1);
  plan.finalizers_stay = random.Chance(0.3);

  plan.plot = static_cast<Plot>(random.Weighted(std::array{78, 8, 4, 3, 3, 4}));
  if (plan.plot == Plot::kSlept) plan.delete_deadline = seconds(random.Pick(std::array{6, 12, 20}));
  if (plan.plot == Plot::kDuel) {
    plan.finalizers = random.Between(1, 2);
    plan.finalizers_stay = random.Chance(0.5);
    plan.delete_deadline = seconds(random.Pick(std::array{12, 20, 60}));
  }

  const bool faulty = random.Chance(0.7);
  plan.calm = Timeline::kBegin + seconds(random.Between(10, 22));
  if (plan.plot != Plot::kNone) plan.calm += seconds(plan.plot == Plot::kSlept ? 60 : 20);
  if (faulty && random.Chance(0.6)) plan.read_faults = random.Pick(std::array{0.002, 0.01, 0.03});
  if (faulty && random.Chance(0.7)) plan.write_faults = random.Pick(std::array{0.03, 0.1, 0.3});
  plan.uneven = random.Chance(0.3);
  plan.latency = Micros(
      random.Pick(std::array{500, 500, 3'000, 3'000, 30'000, 30'000, 200'000, 200'000, 500'000}));
  if (random.Chance(0.1)) plan.flaky = random.Pick(std::array{0.005, 0.03});
  if (random.Chance(plan.set_claims ? 0.3 : 0.08)) {
    plan.ailing = random.Pick(std::array{"services", "services", "configmaps", "statefulsets",
                                         "jobs", "persistentvolumeclaims", "replicasets"});
    plan.ailing_writes = random.Chance(0.2);
    if (plan.set_claims && random.Chance(0.5)) {
      plan.ailing = random.Chance(0.5) ? "statefulsets" : "persistentvolumeclaims";
      plan.ailing_writes = random.Chance(0.8);
    }
    plan.ailing_hangs = random.Chance(0.3);
    plan.ails_from = Timeline::kBegin + seconds(random.Between(0, 15));
    plan.ails_until = plan.ails_from + seconds(random.Between(5, 240));
  }
  if (faulty && random.Chance(0.3)) plan.dawdling = 0.01;
  plan.scripted = random.Between(0, 4);
  plan.ambushes = random.Between(0, 3);
  if (faulty && random.Chance(0.3)) plan.outages = random.Between(1, 2);
  if (faulty && random.Chance(0.15)) plan.crashes = random.Between(1, 2);
  plan.ask_permissions = random.Chance(0.04);
  plan.clocks_jump = random.Chance(0.2);
  if (random.Chance(0.04)) plan.surge_grace = seconds(random.Between(10, 40));

  plan.drivers = random.Chance(0.2);
  if (plan.drivers) {
    // Without workers a cluster is never complete.
    if (plan.workers == 0 && random.Chance(0.8)) plan.workers = random.Pick(std::array{1, 3});
    plan.set_of_farm = false;
    plan.shared_at_first = plan.given == OwnerGiven::kByLabel && random.Chance(0.3);
    plan.calm += seconds(random.Between(0, 8));
  }

  plan.watch = random.Chance(0.3);
  if (faulty) plan.watch_faults = random.Pick(std::array{0.0, 0.05, 0.3});
  // A poll and more pass before anything is watched.
  if (plan.watch) plan.calm += seconds(random.Between(0, 30));
  return plan;
}

}  // namespace cluster_watcher::simulation
