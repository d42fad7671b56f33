#include "test/simulation/actors.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "test/simulation/reading.h"

namespace cluster_watcher::simulation {
namespace {

using small_kubernetes::ObjectPtr;
using std::chrono::seconds;

constexpr const char* kPerson = "person";
constexpr const char* kRunner = "driver";

// How often each Deed is drawn, in the enum's order.
constexpr std::array<int, kDeeds> kWeights{
    8, 3, 3, 6, 6, 3, 6, 8, 4,  // the driver
    3, 3, 1, 4, 4, 3,           // holds
    4, 3,                       // other drivers
    8, 6, 6, 4,                 // watchers
    5, 3, 2, 2, 3, 8, 2, 3, 3,  // rollouts of the master
    3, 4, 2,                    // its pods
    6, 3, 1, 2, 3, 3, 3, 8,     // the root
    3, 3, 2, 3, 2, 2, 3,        // members
    3, 2, 3, 4, 1,              // the rest
    0, 0, 0, 0,                 // only where drivers claim the cluster
    1, 3, 3, 3,
};

constexpr const char* kNoMarks =
    R"("cluster-watcher/phase":null,"cluster-watcher/condemned-by":null,)"
    R"("cluster-watcher/reason":null,"cluster-watcher/deleting-since":null)";

std::string NextDriverPath() {
  return World::CollectionOf("deployments") + "/" + World::kNextOwnerName;
}

std::string OtherDriverPath() {
  return World::CollectionOf("deployments") + "/" + World::kOtherName;
}

}  // namespace

const char* ToString(Deed deed) {
  constexpr const char* kWords[kDeeds] = {
      "driver deleted",
      "driver deleted in the foreground",
      "driver deleted, pods orphaned",
      "driver scaled to 0",
      "driver scaled to 1",
      "driver scaled to 2",
      "driver replaced by force",
      "driver created",
      "driver finished",
      "hold on the root",
      "hold on the namespace",
      "hold that is no time",
      "holds taken off",
      "root to be kept",
      "root no longer kept",
      "another driver",
      "other driver gone",
      "watcher killed",
      "watcher held up",
      "machine suspended",
      "rollout",
      "rollout to another driver",
      "rollout to a master that is held",
      "rollout to a dry run",
      "rollout to a master without a watcher",
      "rollout to no driver",
      "rollout undone",
      "next driver created",
      "next driver scaled to 0",
      "next driver deleted",
      "pod evicted",
      "pod drained",
      "pod deleted by force",
      "root written",
      "root deleted",
      "root deleted, pods orphaned",
      "root made again",
      "root made again with its marks",
      "marks taken off",
      "one mark taken off",
      "marks forged",
      "member deleted",
      "member made again",
      "member to be kept",
      "member added",
      "member given to another cluster",
      "workers scaled",
      "finalizers taken off",
      "API server away",
      "stale cache",
      "token rotated",
      "clock jumped",
      "label ephemeral taken off",
      "another application",
      "other application scaled to 0",
      "other application scaled to 1",
      "drivers act at once",
      "watcher held up for long",
      "missing members made",
      "second master",
      "second master gone",
  };
  return kWords[static_cast<std::size_t>(deed)];
}

Actors::Actors(Timeline& timeline, World& world, Judge& judge, DriversJudge& drivers_judge,
               Random random)
    : timeline_(timeline),
      world_(world),
      judge_(judge),
      drivers_judge_(drivers_judge),
      random_(random) {}

void Actors::Meet(Network& network, Kubelet& kubelet, Drivers& drivers) {
  network_ = &network;
  kubelet_ = &kubelet;
  drivers_ = &drivers;
}

Deed Actors::DrawDeed() {
  for (;;) {
    const auto deed = static_cast<Deed>(random_.Weighted(kWeights));
    if (deed == Deed::kClockJump && !world_.plan().clocks_jump) continue;
    const bool is_rollout = deed >= Deed::kRolloutToOther && deed <= Deed::kNextDriverDeleted;
    if (is_rollout && !world_.plan().rollouts) continue;
    if (deed == Deed::kTokenRotated && !world_.plan().token_rotates) continue;
    if (deed == Deed::kOutage && world_.plan().outages == 0) continue;
    return deed;
  }
}

void Actors::Begin() {
  const Plan& plan = world_.plan();
  const auto span = std::chrono::duration_cast<Micros>(plan.calm - Timeline::kBegin);
  if (random_.Chance(0.75)) {
    constexpr std::array<Deed, 6> kEnds{
        Deed::kDriverDeleted, Deed::kDriverDeleted, Deed::kDriverDeletedInForeground,
        Deed::kDriverToZero,  Deed::kDriverToZero,  Deed::kDriverFinished};
    const Deed deed = random_.Pick(kEnds);
    timeline_.After(random_.Between(Micros(0), Micros(12'000'000)), [this, deed] { Do(deed); });
  }
  for (int i = 0; i < plan.scripted + plan.outages; ++i) {
    const Deed deed = i < plan.outages ? Deed::kOutage : DrawDeed();
    timeline_.After(random_.Between(Micros(0), span), [this, deed] { Do(deed); });
  }
  for (int i = 0; i < plan.ambushes; ++i) {
    constexpr std::array<int, 9> kStages{4, 3, 3, 4, 4, 3, 1, 3, 3};
    const auto stage = static_cast<Stage>(random_.Weighted(kStages));
    const int most = stage >= Stage::kRequest ? 200 : stage >= Stage::kDelete ? 3 : 0;
    const Micros delay = random_.Chance(0.5)   ? Micros(0)
                         : random_.Chance(0.5) ? random_.Between(Micros(0), Micros(20'000))
                                               : random_.Between(Micros(0), Micros(3'000'000));
    ambushes_.push_back({stage, random_.Between(0, most), delay, DrawDeed()});
  }
  for (int i = 0; i < plan.crashes; ++i) {
    ambushes_.push_back(
        {Stage::kFollowing, random_.Between(0, 120), Micros(0), Deed::kWatcherKilled});
  }
  Scheme(plan.plot);
  if (plan.drivers) SchemeWithDrivers();
  for (int more = plan.rollouts ? random_.Between(1, 3) : 0; more > 0; --more) {
    constexpr std::array<Deed, 9> kRollouts{
        Deed::kRolloutToOther, Deed::kRolloutToOther,   Deed::kRolloutToOther,
        Deed::kRolloutHeld,    Deed::kRolloutDry,       Deed::kRolloutOptedOut,
        Deed::kRolledBack,     Deed::kNextDriverToZero, Deed::kNextDriverDeleted};
    const Deed deed = random_.Pick(kRollouts);
    timeline_.After(random_.Between(Micros(0), span), [this, deed] { Do(deed); });
  }
  timeline_.At(plan.calm, [this] { Calm(); });
}

void Actors::Scheme(Plot plot) {
  const Micros soon = random_.Between(Micros(1'000), Micros(2'000'000));
  const Micros at_once = soon / 10;
  switch (plot) {
    case Plot::kNone:
      return;
    case Plot::kDuel: {
      const bool by_force = random_.Chance(0.6);
      ambushes_.push_back(
          {Stage::kCrossed, 0, soon, by_force ? Deed::kDrainedByForce : Deed::kWatcherHeldUp});
      ambushes_.push_back({Stage::kDelete, 0, soon + Micros(500'000),
                           by_force ? Deed::kMemberAdded : Deed::kRollout});
      return;
    }
    case Plot::kNap: {
      constexpr std::array<Deed, 3> kNaps{Deed::kMachineSuspended, Deed::kWatcherHeldUp,
                                          Deed::kOutage};
      constexpr std::array<Deed, 3> kUses{Deed::kDriverCreated, Deed::kDriverToOne,
                                          Deed::kOtherDriver};
      ambushes_.push_back({Stage::kCrossed, 0, Micros(0), random_.Pick(kNaps)});
      ambushes_.push_back({Stage::kCrossed, 0, soon, random_.Pick(kUses)});
      return;
    }
    case Plot::kMadeAnew:
      ambushes_.push_back({Stage::kDeleted, 0, Micros(0), Deed::kMemberAdded});
      ambushes_.push_back({Stage::kDeleted, 0, at_once, Deed::kWatcherKilled});
      return;
    case Plot::kSlept: {
      constexpr std::array<Deed, 3> kBacks{Deed::kDriverCreated, Deed::kDriverToOne,
                                           Deed::kOtherDriver};
      ambushes_.push_back({Stage::kDeleted, 0, Micros(0), Deed::kWatcherHeldUpLong});
      ambushes_.push_back({Stage::kDeleted, 0, at_once, random_.Pick(kBacks)});
      ambushes_.push_back({Stage::kDeleted, 0, at_once, Deed::kDriverToOne});
      ambushes_.push_back({Stage::kDeleted, 0, soon, Deed::kRollout});
      ambushes_.push_back({Stage::kDeleted, 0, soon * 6, Deed::kMadeWhole});
      return;
    }
    case Plot::kTakenDown:
      ambushes_.push_back({Stage::kLastLook, 0, Micros(0), Deed::kRootDeleted});
      ambushes_.push_back({Stage::kLastLook, 0, at_once, Deed::kMemberAdded});
      return;
  }
}

// Drivers come back, and claim the cluster, exactly when it is condemned.
void Actors::SchemeWithDrivers() {
  const auto at = [&](int least, int most, Deed deed) {
    timeline_.After(random_.Between(Micros(least * 1'000'000), Micros(most * 1'000'000)),
                    [this, deed] { Do(deed); });
  };
  if (random_.Chance(0.6)) at(0, 6, Deed::kOtherComes);
  if (random_.Chance(0.3)) at(4, 15, Deed::kOtherToZero);
  if (random_.Chance(0.2)) at(6, 18, Deed::kOtherToOne);
  if (random_.Chance(0.4)) at(0, 15, Deed::kStaleCache);
  constexpr std::array<Stage, 8> kStages{Stage::kCondemning, Stage::kCondemning, Stage::kCondemned,
                                         Stage::kLastLook,   Stage::kCrossing,   Stage::kCrossed,
                                         Stage::kDeleted,    Stage::kRootDeleted};
  const auto soon = [&] {
    return random_.Chance(0.4)   ? Micros(0)
           : random_.Chance(0.6) ? random_.Between(Micros(0), Micros(30'000))
                                 : random_.Between(Micros(0), Micros(2'000'000));
  };
  // A claim begins before the condemnation, and goes on behind it.
  if (random_.Chance(0.7)) {
    ambushes_.push_back(
        {Stage::kAbandoned, 0, random_.Between(Micros(0), Micros(9'000'000)), Deed::kDriversAct});
  }
  for (int more = random_.Between(1, 4); more > 0; --more) {
    ambushes_.push_back({random_.Pick(kStages), 0, soon(), Deed::kDriversAct});
  }
  if (random_.Chance(0.5)) {
    constexpr std::array<Deed, 3> kBacks{Deed::kDriverToOne, Deed::kDriverCreated,
                                         Deed::kDriverReplaced};
    ambushes_.push_back({random_.Pick(kStages), 0, soon(), random_.Pick(kBacks)});
  }
  if (random_.Chance(0.3)) {
    ambushes_.push_back({Stage::kMade, random_.Between(0, 4), soon(), Deed::kRootDeleted});
  }
  if (random_.Chance(0.2)) {
    constexpr std::array<Deed, 5> kEnds{Deed::kDriverToZero, Deed::kDriverDeleted,
                                        Deed::kDriverReplaced, Deed::kOtherToZero,
                                        Deed::kOtherDriverGone};
    ambushes_.push_back({Stage::kLabelled, 0, soon(), random_.Pick(kEnds)});
  }
}

void Actors::Calm() {
  ambushes_.clear();
  drivers_->Stop();
  world_.journal().Line("history", "calm");
  world_.kubernetes().SetStaleness(0);
  kubelet_->ContinueAll();
  if (random_.Chance(0.7)) Do(Deed::kUnheld);
  if (random_.Chance(0.7)) Do(Deed::kRootUnkept);
  if (random_.Chance(0.7)) Do(Deed::kOtherDriverGone);
  if (random_.Chance(0.7)) Do(Deed::kSecondMasterGone);
  if (!world_.plan().finalizers_stay) {
    world_.TakeOffFinalizer(kPerson, world_.DriverPath());
    timeline_.After(random_.Between(Micros(0), Micros(8'000'000)),
                    [this] { Do(Deed::kFinalizersOff); });
  }
}

void Actors::Look() {
  if (!world_.plan().remade || making_again_) return;
  auto& kubernetes = world_.kubernetes();
  const auto version = kubernetes.GetStore().VersionOf(kubernetes.Resources().Of("", "configmaps"));
  if (version == version_) return;
  version_ = version;
  if (world_.Get("", "configmaps", "spark-remade") != nullptr) return;
  making_again_ = true;
  timeline_.After(random_.Between(Micros(1'000), Micros(400'000)), [this] {
    making_again_ = false;
    version_ = 0;
    if (world_.Root() == nullptr) return;
    world_.Create("controller", World::ConfigMap("spark-remade"));
  });
}

void Actors::Strike(Stage stage) {
  for (auto ambush = ambushes_.begin(); ambush != ambushes_.end();) {
    if (ambush->stage != stage || ambush->skip-- > 0) {
      ++ambush;
      continue;
    }
    const Deed deed = ambush->deed;
    const Micros delay = ambush->delay;
    ambush = ambushes_.erase(ambush);
    if (delay == Micros(0)) {
      Do(deed);
    } else {
      timeline_.After(delay, [this, deed] {
        if (timeline_.Now() < world_.plan().calm) Do(deed);
      });
    }
  }
}

void Actors::Sent(const Exchange& exchange) {
  if (!exchange.by->is_driver) return judge_.Sent(exchange);
  drivers_judge_.Sent(exchange);
  drivers_->Sent(exchange);
}

void Actors::Arriving(const Exchange& exchange) {
  if (exchange.by->is_driver) {
    Strike(Stage::kRequest);
    return drivers_judge_.Arriving();
  }
  if (!ambushes_.empty()) {
    const std::string& body = exchange.request.body;
    const bool root = exchange.request.target == World::kRootPath;
    if (exchange.Is(HttpMethod::kDelete)) Strike(Stage::kDelete);
    if (root && exchange.Is(HttpMethod::kPatch) &&
        body.find(R"(phase":"deleting")") != std::string::npos) {
      Strike(Stage::kCrossing);
    }
    if (root && body.find(R"(phase":"condemned")") != std::string::npos) {
      Strike(Stage::kCondemning);
    }
    if (condemned_ && exchange.Is(HttpMethod::kGet) &&
        exchange.request.target.find("metadata.name%3Dbob") != std::string::npos) {
      Strike(Stage::kLastLook);
    }
    Strike(Stage::kRequest);
    if (condemned_) Strike(Stage::kFollowing);
  }
  judge_.Arriving(exchange);
}

void Actors::Handled(const Exchange& exchange, int status) {
  if (exchange.by->is_driver) {
    drivers_judge_.Handled(exchange, status);
    drivers_->Handled(exchange);
    if (exchange.request.body.find(R"("uses-oshinko-cluster":"spark")") != std::string::npos) {
      Strike(Stage::kLabelled);
    }
    const bool is_event = exchange.request.target.ends_with("/events");
    if (exchange.Is(HttpMethod::kPost) && status == 201 && !is_event) Strike(Stage::kMade);
    return;
  }
  judge_.Handled(exchange, status);
  NoteAbandoned(exchange, status);
  if (ambushes_.empty() || status > 299 || exchange.Is(HttpMethod::kGet)) return;
  const std::string& body = exchange.request.body;
  const bool root = exchange.request.target == World::kRootPath;
  if (exchange.Is(HttpMethod::kDelete)) Strike(root ? Stage::kRootDeleted : Stage::kDeleted);
  if (!root || !exchange.Is(HttpMethod::kPatch)) return;
  if (body.find(R"(phase":"condemned")") != std::string::npos) {
    condemned_ = true;
    Strike(Stage::kCondemned);
  } else if (body.find(R"(phase":"deleting")") != std::string::npos) {
    Strike(Stage::kCrossed);
  }
}

// In a surge the other clusters lose their drivers at the same time.
void Actors::NoteAbandoned(const Exchange& exchange, int status) {
  constexpr std::string_view kMark = R"("cluster-watcher/abandoned-since":")";
  const std::string& body = exchange.request.body;
  const std::size_t found = body.find(kMark);
  if (status != 200 || !exchange.Is(HttpMethod::kPatch) || found == body.npos) return;
  const std::size_t begin = found + kMark.size();
  const std::string since = body.substr(begin, body.find('"', begin) - begin);
  judge_.NoteAbandoned(exchange.by->life, since);
  Strike(Stage::kAbandoned);
  world_.MarkOtherRoots(kPerson, since);
}

void Actors::Annotate(const char* who, const std::string& path, const std::string& annotations) {
  world_.Do(who, "PATCH", path, R"({"metadata":{"annotations":{)" + annotations + "}}}");
}

std::string Actors::OneMember() {
  constexpr std::array<const char*, 5> kMembers{
      "/api/v1/namespaces/lab/services/spark", "/api/v1/namespaces/lab/configmaps/spark-config",
      "/apis/apps/v1/namespaces/lab/deployments/spark-w",
      "/apis/apps/v1/namespaces/lab/statefulsets/spark-w",
      "/api/v1/namespaces/lab/replicationcontrollers/spark-w"};
  const int workers = world_.plan().workers;
  const int which = random_.Between(0, workers == 0 ? 1 : 2);
  return kMembers[static_cast<std::size_t>(which == 2 ? 1 + workers : which)];
}

std::string Actors::PodPath() {
  const auto names = kubelet_->PodNames();
  if (names.empty()) return "";
  return World::CollectionOf("pods") + "/" + names[random_.Next() % names.size()];
}

void Actors::RollOut(const Orders& orders) {
  constexpr std::array<Orders::Health, 3> kHealths{Orders::Health::kReady, Orders::Health::kUnready,
                                                   Orders::Health::kPending};
  Orders ordered = orders;
  ordered.health = random_.Pick(kHealths);
  world_.Do(kPerson, "PATCH", World::kRootPath, ordered.Patch());
}

// "POD/UID" of a watcher, of one that isn't there, or nonsense.
std::string Actors::OneWatcher() {
  std::vector<std::string> some{"spark-m-0/11111111-2222-3333-4444-555555555555", "nobody", ""};
  for (const ObjectPtr& pod : world_.All("", "pods")) {
    if (pod->name.starts_with("spark-m-")) some.push_back(pod->name + "/" + pod->uid);
  }
  // A person who forges marks takes those of a watcher that is there.
  return random_.Chance(0.7) ? some.back() : some[random_.Next() % some.size()];
}

std::string Actors::ForgedMarks() {
  const ObjectPtr root = world_.Root();
  if (root == nullptr) return "";
  std::string marks;
  const auto add = [&](const char* key, const std::string& value) {
    marks += (marks.empty() ? "\"cluster-watcher/" : ",\"cluster-watcher/") + std::string(key) +
             "\":" + value;
  };
  const auto text = [](const std::string& value) { return "\"" + value + "\""; };
  const bool of_another = random_.Chance(0.25);
  add("root-uid", text(of_another ? "99999999-2222-3333-4444-555555555555" : root->uid));
  if (random_.Chance(0.1)) add("root-uid", text("garbage"));
  constexpr std::array<const char*, 5> kPhases{"deleting", "deleting", "deleting", "condemned",
                                               "nonsense"};
  add("phase", text(random_.Pick(kPhases)));
  add("condemned-by", text(OneWatcher()));
  const WallTime now = world_.clock().WallNow();
  const std::array<std::string, 6> since{
      text(small_kubernetes::FormatTime(now)),
      text(small_kubernetes::FormatTime(now - random_.Between(0, 200) * seconds(1))),
      text(small_kubernetes::FormatTime(now - std::chrono::hours(30))),
      text(small_kubernetes::FormatTime(now + std::chrono::hours(30))),
      text("yesterday"),
      "null"};
  add("deleting-since", since[random_.Chance(0.6) ? random_.Next() % 2 : random_.Next() % 6]);
  if (random_.Chance(0.3)) add("reason", text("owner-absent"));
  return marks;
}

// As `kubectl replace --force`, or `apply` of an exported manifest, does.
void Actors::MakeRootAgain(bool with_marks) {
  std::string marks;
  if (const ObjectPtr root = world_.Root(); with_marks && root != nullptr) {
    const Body body(root->Json());
    const Json* annotations = At(body.root(), "metadata", "annotations");
    if (annotations != nullptr) {
      for (const auto& one : annotations->GetObject()) {
        const std::string key = one.name.GetString();
        // The rest is in the manifest anyway.
        const bool is_setting = key == "cluster-watcher/owner" || key.ends_with("-delete");
        if (!key.starts_with("cluster-watcher/") || is_setting) continue;
        marks += (marks.empty() ? "\"" : ",\"") + key +
                 "\":" + small_kubernetes::Quote(one.value.GetString());
      }
    }
  }
  const bool orphan = random_.Chance(0.2);
  has_orphaned_pods_ |= orphan;
  world_.Do(kPerson, "DELETE", World::kRootPath, orphan ? R"({"propagationPolicy":"Orphan"})" : "");
  timeline_.After(random_.Between(Micros(1'000), Micros(600'000)),
                  [this, marks] { world_.Create(kPerson, world_.RootManifest(marks, false)); });
}

void Actors::Do(Deed deed) {
  const Plan& plan = world_.plan();
  ++deeds_[static_cast<std::size_t>(deed)];
  world_.journal().Line("history", ToString(deed));
  Orders orders = world_.OrdersOfRoot().value_or(world_.PlannedOrders());
  const auto scale = [&](int replicas) {
    const std::string spec = plan.driver == DriverKind::kJob
                                 ? std::string(R"("suspend":)") + (replicas == 0 ? "true" : "false")
                                 : R"("replicas":)" + std::to_string(replicas);
    world_.Do(kRunner, "PATCH", world_.DriverPath(), R"({"spec":{)" + spec + "}}");
  };
  switch (deed) {
    case Deed::kDriverDeleted:
      world_.Do(kRunner, "DELETE", world_.DriverPath(), R"({"propagationPolicy":"Background"})");
      return;
    case Deed::kDriverDeletedInForeground:
      world_.Do(kRunner, "DELETE", world_.DriverPath(), R"({"propagationPolicy":"Foreground"})");
      return;
    case Deed::kDriverOrphans:
      world_.Do(kRunner, "DELETE", world_.DriverPath(), R"({"propagationPolicy":"Orphan"})");
      return;
    case Deed::kDriverToZero:
      return scale(0);
    case Deed::kDriverToOne:
      return scale(1);
    case Deed::kDriverToTwo:
      return scale(2);
    case Deed::kDriverReplaced:
      world_.Do(kRunner, "DELETE", world_.DriverPath(), R"({"propagationPolicy":"Background"})");
      timeline_.After(random_.Between(Micros(10'000), Micros(400'000)),
                      [this] { world_.Create(kRunner, world_.DriverManifest(1)); });
      return;
    case Deed::kDriverCreated:
      world_.Create(kRunner, world_.DriverManifest(1));
      return;
    case Deed::kDriverFinished:
      if (plan.driver == DriverKind::kWork) {
        // As its operator: the status, and its pods, in no certain order.
        world_.FinishWork(kRunner, random_.Chance(0.3));
        timeline_.After(random_.Between(Micros(0), Micros(15'000'000)), [this] {
          world_.Do(kRunner, "PATCH", World::CollectionOf("statefulsets") + "/bob-run",
                    R"({"spec":{"replicas":0}})");
        });
        return;
      }
      if (plan.driver != DriverKind::kJob) return scale(0);
      for (const ObjectPtr& pod : world_.All("", "pods")) {
        if (pod->name.starts_with("bob-")) {
          world_.Do(kRunner, "PATCH", World::CollectionOf("pods") + "/" + pod->name + "/status",
                    R"({"status":{"phase":"Succeeded"}})");
        }
      }
      return;
    case Deed::kHeldOnRoot:
      return Annotate(kPerson, World::kRootPath,
                      R"("cluster-watcher/hold-until":"2030-01-01T00:00:00Z")");
    case Deed::kHeldOnNamespace:
      return Annotate(kPerson, "/api/v1/namespaces/lab",
                      R"("cluster-watcher/hold-until":"2030-01-01T00:00:00Z")");
    case Deed::kHeldBadly:
      return Annotate(kPerson, World::kRootPath, R"("cluster-watcher/hold-until":"tomorrow")");
    case Deed::kUnheld:
      Annotate(kPerson, World::kRootPath, R"("cluster-watcher/hold-until":null)");
      return Annotate(kPerson, "/api/v1/namespaces/lab", R"("cluster-watcher/hold-until":null)");
    case Deed::kRootKept:
      return Annotate(kPerson, World::kRootPath, R"("cluster-watcher/keep":"true")");
    case Deed::kRootUnkept:
      return Annotate(kPerson, World::kRootPath, R"("cluster-watcher/keep":null)");
    case Deed::kOtherDriver:
      world_.Create(kPerson, World::OtherDriver(true));
      return;
    case Deed::kOtherDriverGone:
      world_.Do(kPerson, "DELETE", OtherDriverPath());
      return;
    case Deed::kWatcherKilled:
      kubelet_->KillOne();
      return;
    case Deed::kWatcherHeldUp:
      kubelet_->PauseOne(random_.Chance(0.5)
                             ? random_.Between(Micros(1'000), Micros(6'000'000))
                             : random_.Between(Micros(5'000'000), Micros(90'000'000)));
      return;
    case Deed::kMachineSuspended:
      kubelet_->SuspendOne(random_.Chance(0.5)
                               ? random_.Between(Micros(1'000), Micros(9'000'000))
                               : random_.Between(Micros(5'000'000), Micros(90'000'000)));
      return;
    case Deed::kRollout:
      world_.Do(kPerson, "PATCH", World::kRootPath,
                R"({"spec":{"template":{"metadata":{"annotations":{"restarted":")" +
                    std::to_string(random_.Next()) + R"("}}}}})");
      return;
    case Deed::kRolloutToOther:
      orders.owner = std::string("deployment/") + World::kNextOwnerName;
      return RollOut(orders);
    case Deed::kRolloutHeld:
      orders.held = true;
      return RollOut(orders);
    case Deed::kRolloutDry:
      orders.dry_run = true;
      return RollOut(orders);
    case Deed::kRolloutOptedOut:
      orders.opted_out = true;
      return RollOut(orders);
    case Deed::kRolloutWithoutOwner:
      orders.owner.clear();
      return RollOut(orders);
    case Deed::kRolledBack: {
      has_forged_marks_ = true;
      const auto sets = world_.EarlierSets();
      if (!sets.empty()) world_.RollBack(kPerson, sets[random_.Next() % sets.size()]);
      return;
    }
    case Deed::kNextDriverCreated:
      world_.Create(kRunner, World::NextDriverManifest());
      return;
    case Deed::kNextDriverToZero:
      world_.Do(kRunner, "PATCH", NextDriverPath(), R"({"spec":{"replicas":0}})");
      return;
    case Deed::kNextDriverDeleted:
      world_.Do(kRunner, "DELETE", NextDriverPath());
      return;
    case Deed::kEvicted:
      kubelet_->FailOne();
      return;
    case Deed::kDrained:
      if (const auto pod = PodPath(); !pod.empty()) world_.Do(kPerson, "DELETE", pod);
      return;
    case Deed::kDrainedByForce:
      if (const auto pod = PodPath(); !pod.empty()) {
        world_.Do(kPerson, "DELETE", pod, R"({"gracePeriodSeconds":0})");
      }
      return;
    case Deed::kRootTouched:
      return Annotate("controller", World::kRootPath,
                      "\"touched\":\"" + std::to_string(random_.Next()) + "\"");
    case Deed::kRootDeleted:
      world_.Do(kPerson, "DELETE", World::kRootPath,
                random_.Chance(0.5) ? R"({"propagationPolicy":"Foreground"})" : "");
      return;
    case Deed::kRootOrphans:
      has_orphaned_pods_ = true;
      world_.Do(kPerson, "DELETE", World::kRootPath, R"({"propagationPolicy":"Orphan"})");
      return;
    case Deed::kRootMadeAgain:
      return MakeRootAgain(false);
    case Deed::kRootMadeAgainWithMarks:
      return MakeRootAgain(true);
    case Deed::kMarksTakenOff:
      return Annotate(kPerson, World::kRootPath, kNoMarks);
    case Deed::kMarkTakenOff: {
      has_forged_marks_ = true;
      constexpr std::array<const char*, 5> kMarks{"root-uid", "phase", "reason", "condemned-by",
                                                  "deleting-since"};
      return Annotate(kPerson, World::kRootPath,
                      "\"cluster-watcher/" + std::string(random_.Pick(kMarks)) + "\":null");
    }
    case Deed::kMarksForged:
      has_forged_marks_ = true;
      return Annotate(kPerson, World::kRootPath, ForgedMarks());
    case Deed::kMemberDeleted:
      // Nothing that must survive goes with it.
      world_.Do(kPerson, "DELETE", OneMember(),
                plan.set_claims || plan.kept_owner != 0 ? R"({"propagationPolicy":"Orphan"})" : "");
      return;
    case Deed::kMemberMadeAgain: {
      world_.Do(kPerson, "DELETE", "/api/v1/namespaces/lab/configmaps/spark-config");
      timeline_.After(random_.Between(Micros(0), Micros(300'000)),
                      [this] { world_.Create(kPerson, World::ConfigMap("spark-config")); });
      return;
    }
    case Deed::kMemberKept:
      return Annotate(kPerson, OneMember(), R"("cluster-watcher/keep":"true")");
    case Deed::kMemberAdded:
      world_.Create(kPerson, World::ConfigMap("spark-more-" + std::to_string(++added_)));
      return;
    case Deed::kMemberRelabelled:
      // One that controls nothing.
      world_.Do(
          kPerson, "PATCH",
          World::CollectionOf(random_.Chance(0.5) ? "services/spark" : "configmaps/spark-config"),
          R"({"metadata":{"labels":{"oshinko-cluster":"spark2"}}})");
      return;
    case Deed::kSetScaled:
      if (!plan.set_claims) return;
      world_.Do(kPerson, "PATCH", "/apis/apps/v1/namespaces/lab/statefulsets/spark-w",
                R"({"spec":{"replicas":)" + std::to_string(random_.Between(0, 3)) + "}}");
      return;
    case Deed::kFinalizersOff:
      for (const char* member : {"/api/v1/namespaces/lab/services/spark",
                                 "/api/v1/namespaces/lab/configmaps/spark-config",
                                 "/apis/apps/v1/namespaces/lab/deployments/spark-w",
                                 "/apis/apps/v1/namespaces/lab/statefulsets/spark-w",
                                 "/api/v1/namespaces/lab/replicationcontrollers/spark-w"}) {
        world_.TakeOffFinalizer(kPerson, member);
      }
      world_.TakeOffFinalizer(kPerson, World::kRootPath);
      if (timeline_.Now() <= plan.calm) world_.TakeOffFinalizer(kPerson, world_.DriverPath());
      return;
    case Deed::kOutage:
      network_->BeginOutage(random_.Chance(0.5)
                                ? random_.Between(Micros(50'000), Micros(2'000'000))
                                : random_.Between(Micros(1'000'000), Micros(15'000'000)),
                            random_.Chance(0.5));
      return;
    case Deed::kStaleCache:
      world_.kubernetes().SetStaleness(
          static_cast<std::uint64_t>(random_.Between(1, 20)),
          std::chrono::duration_cast<Duration>(random_.Between(Micros(0), Micros(20'000'000))));
      return;
    case Deed::kTokenRotated:
      return network_->RotateToken();
    case Deed::kClockJump:
      kubelet_->JumpOneClock(std::chrono::minutes(random_.Between(-300, 300)));
      return;
    case Deed::kLabelTakenOff:
      world_.Do(kPerson, "PATCH", World::kRootPath,
                R"({"metadata":{"labels":{"ephemeral":null}}})");
      return;
    case Deed::kOtherComes:
      world_.Create(kPerson, World::OtherDriver(false));
      return;
    case Deed::kOtherToZero:
    case Deed::kOtherToOne:
      world_.Do(
          kPerson, "PATCH", OtherDriverPath(),
          std::string(R"({"spec":{"replicas":)") + (deed == Deed::kOtherToZero ? "0" : "1") + "}}");
      return;
    case Deed::kDriversAct:
      return drivers_->Nudge();
    case Deed::kWatcherHeldUpLong:
      kubelet_->PauseOne(random_.Between(Micros(20'000'000), Micros(60'000'000)));
      return;
    case Deed::kMadeWhole:
      world_.CreateMembers(kRunner);
      return;
    case Deed::kSecondMaster:
      world_.Create(kPerson, World::SecondMaster());
      return;
    case Deed::kSecondMasterGone:
      world_.Do(kPerson, "DELETE",
                World::CollectionOf("statefulsets") + "/" + World::kSecondMaster);
      return;
  }
}

}  // namespace cluster_watcher::simulation
