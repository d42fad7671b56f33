#include "test/simulation/history.h"

#include <algorithm>

#include "test/simulation/actors.h"

namespace cluster_watcher::simulation {
namespace {

using small_kubernetes::ObjectPtr;
using std::chrono::seconds;

// How soon after `calm` the true state stops changing.
constexpr seconds kRest{2};
// What the protocol may take beyond the grace period and the deadline: another watcher's
// condemnation that is valid for a minute, backoffs, restarts, polls.
constexpr seconds kMargin{180};
// How soon marks that no longer hold are removed.
constexpr seconds kCleaning{110};
constexpr seconds kAfterwards{3};
// Those of the driver's side, from 9 on.
constexpr std::array<const char*, 5> kDriversPromises{
    "9, a claim or the point of no return", "10, ready is ready", "11, absent is absent",
    "12, a claim that is refused leaves no label", "13, what is created is there"};

class History {
 public:
  History(Workshop& workshop, std::uint64_t seed, bool verbose)
      : plan_(Plan::Draw(seed)),
        journal_(timeline_, verbose),
        world_(timeline_, plan_, journal_, seed),
        truth_(timeline_, world_),
        drivers_judge_(world_),
        judge_(timeline_, world_, truth_, drivers_judge_),
        actors_(timeline_, world_, judge_, drivers_judge_, Random(seed ^ 0x3333)),
        network_(timeline_, world_, Random(seed ^ 0x1111), actors_),
        kubelet_(workshop, timeline_, world_, network_, Random(seed ^ 0x2222)),
        drivers_(workshop, timeline_, world_, network_, drivers_judge_, Random(seed ^ 0x4444)) {
    judge_.SetExchanges(network_.exchanges());
    actors_.Meet(network_, kubelet_, drivers_);
    network_.write_token = [&](const std::string& token) { workshop.WriteToken(token); };
    if (plan_.token_rotates) network_.write_token(network_.token());
  }

  void Run() {
    actors_.Begin();
    kubelet_.Look();
    drivers_.Look();
    end_ = plan_.calm + kRest;
    timeline_.At(end_, [this] { Expect(); });
    while (judge_.broken().empty() && timeline_.RunNext(end_)) {
      kubelet_.Look();
      actors_.Look();
      truth_.Look();
      if (plan_.watch) network_.LookAtWatches();
      if (plan_.drivers) LookAtDrivers();
      if (!truth_.lost().empty()) judge_.Break("2, nothing else is deleted", truth_.lost());
      if (expected_ && world_.Root() == nullptr && LeftOfRoot().empty()) {
        end_ = std::min(end_, timeline_.Now() + kAfterwards);
      }
    }
    if (judge_.broken().empty()) CheckEnd();
    if (judge_.broken().empty()) judge_.CheckEvents();
  }

  Outcome Take(std::uint64_t seed) const;

 private:
  enum class End { kOpen, kGoes, kStays };

  void LookAtDrivers();
  void Expect();
  void CheckEnd();
  void NoteMembers();
  std::string LeftOfRoot();
  bool MayLeavePods() const;
  Duration Cleaning() const;
  // From when on each request is answered.
  MonotonicTime Settled() const {
    return plan_.ailing == nullptr ? plan_.calm : std::max(plan_.calm, plan_.ails_until);
  }

  const Plan plan_;
  Timeline timeline_;
  Journal journal_;
  World world_;
  Truth truth_;
  DriversJudge drivers_judge_;
  Judge judge_;
  Actors actors_;
  Network network_;
  Kubelet kubelet_;
  Drivers drivers_;
  MonotonicTime end_;
  bool expected_ = false;
  bool as_planned_ = true;  // at the time of the expectation: the masters and their template
  bool is_begun_ = false;   // at the time of the expectation
  End expectation_ = End::kOpen;
  std::string root_uid_;
  std::vector<std::string> members_;  // their UIDs
};

void History::LookAtDrivers() {
  drivers_.Look();
  drivers_judge_.Look();
  if (!drivers_judge_.broken().empty()) judge_.Break(drivers_judge_.broken(), drivers_judge_.how());
}

// Derives from the true state how the history must end, now that nothing more happens.
void History::Expect() {
  expected_ = true;
  end_ += seconds(10);
  const ObjectPtr root = world_.Root();
  if (root == nullptr || root->deleting) return;
  root_uid_ = root->uid;
  const Body body(root->Json());
  const SeenRoot seen = SeenRoot::Read(body.root());
  // Its watchers judge another driver.
  if (seen.NamesOther()) return;
  is_begun_ = seen.phase == "deleting";
  as_planned_ = kubelet_.AllAsPlanned() && world_.OrdersOfRoot()->AreSameAs(world_.PlannedOrders());
  // A watcher that has done its work may run in pods of the next root.
  if (!judge_.BereftRoots().empty() && actors_.has_orphaned_pods()) return;
  const bool abandoned =
      truth_.keepers().empty() && !world_.WantsDriverToRun() && !world_.HasDriverLeftPods();
  // What the watchers of two rollouts make of two drivers that are gone is left to them.
  if (abandoned && as_planned_) {
    expectation_ = End::kGoes;
    const Duration grace = std::max({plan_.grace, plan_.zero_grace.value_or(Duration(0)),
                                     plan_.startup_grace, plan_.surge_grace.value_or(Duration(0))});
    end_ = Settled() + grace + plan_.delete_deadline + kMargin + network_.WatchSlack();
    NoteMembers();
  } else if (!truth_.keepers().empty() &&
             !(world_.HasDriverLeftPods() && !world_.WantsDriverToRun())) {
    expectation_ = End::kStays;
    if (!seen.phase.empty()) end_ = Settled() + Cleaning();
  }
  if (journal_.on()) {
    journal_.Line("history", expectation_ == End::kGoes    ? "it must go"
                             : expectation_ == End::kStays ? "it must stay"
                                                           : "it may go or stay");
  }
}

// A deletion is left to the watcher that the marks name until it is overdue, and forged ones may
// name one that knows nothing of them. The root of an active driver is read once a minute.
Duration History::Cleaning() const {
  const Duration cleaning = kCleaning + network_.WatchSlack();
  if (!actors_.has_forged_marks() && !is_begun_) return cleaning;
  return cleaning + std::chrono::minutes(1) + plan_.delete_deadline + plan_.steps_deadline;
}

// What has to go with the root, as long as nobody interferes.
void History::NoteMembers() {
  if (plan_.finalizers_stay || plan_.ailing != nullptr || !plan_.all_kinds) return;
  for (const char* plural : {"services", "configmaps"}) {
    for (const ObjectPtr& object : world_.All("", plural)) {
      // What is made again each time may be made behind the last list.
      const bool is_remade = plan_.remade && object->name == "spark-remade";
      if (judge_.IsToGo(*object) && !is_remade) members_.push_back(object->uid);
    }
  }
}

void History::CheckEnd() {
  const ObjectPtr root = world_.Root();
  const bool there = root != nullptr && root->uid == root_uid_;
  switch (expectation_) {
    case End::kOpen:
      return;
    case End::kGoes: {
      constexpr const char* kPromise = "6, what is abandoned goes";
      const bool is_held = there && root->deleting && plan_.root_finalizer && plan_.finalizers_stay;
      if (there && !is_held && kubelet_.AnyActs()) judge_.Break(kPromise, "it is there");
      if (there && !is_held) return;
      if (const std::string left = LeftOfRoot();
          !actors_.has_orphaned_pods() && !MayLeavePods() && !left.empty()) {
        judge_.Break(kPromise, left + " is there");
      }
      for (const std::string& uid : members_) {
        const ObjectPtr member = world_.kubernetes().GetStore().FindUid(uid);
        if (member != nullptr && !member->deleting && judge_.IsToGo(*member)) {
          judge_.Break(kPromise, member->name + " is there");
        }
      }
      return;
    }
    case End::kStays: {
      // It may be deleted on older evidence; the judge has checked that evidence.
      const bool went = !there || root->deleting;
      if (went && judge_.BereftRoots().contains(root_uid_)) return;
      if (went) return judge_.Break("7, what is in use stays", "it is gone");
      const Body body(root->Json());
      const std::string phase = SeenRoot::Read(body.root()).phase;
      if (!phase.empty() && as_planned_ && end_ == Settled() + Cleaning() && kubelet_.AnyActs()) {
        judge_.Break("7, what is in use stays", "it is still marked as " + phase);
      }
      return;
    }
  }
}

// At the deadline the root goes although what it controls could not be listed; that is named.
bool History::MayLeavePods() const {
  const std::string_view ailing = plan_.ailing == nullptr ? "" : plan_.ailing;
  return ailing == "replicasets" || ailing == "pods";
}

// What the root had controlled: "the master pod x".
std::string History::LeftOfRoot() {
  for (const ObjectPtr& pod : world_.All("", "pods")) {
    const Body body(pod->Json());
    const Json* labels = At(body.root(), "metadata", "labels");
    const bool is_master = TextAt(At(labels, "oshinko-cluster")) == World::kCluster &&
                           TextAt(At(labels, "oshinko-type")) == "master";
    if (is_master && !pod->deleting) return "the master pod " + pod->name;
  }
  return "";
}

Outcome History::Take(std::uint64_t seed) const {
  Outcome outcome;
  outcome.seed = seed;
  outcome.broken = judge_.broken();
  auto& counts = outcome.counts;
  const Judge::Counts& judged = judge_.counts();
  counts["promises put to the test/1, the point of no return"] = judged.crossed + judged.resumed;
  counts["promises put to the test/2, nothing else is deleted"] =
      judged.deletes + judged.roots_deleted;
  counts["promises put to the test/3, deletes by UID"] = judged.sent;
  counts["promises put to the test/4, one watcher at a time"] = judged.sent;
  counts["promises put to the test/5, the master root last"] = judged.roots_deleted;
  counts["promises put to the test/6, what is abandoned goes"] = expectation_ == End::kGoes;
  counts["promises put to the test/7, what is in use stays"] = expectation_ == End::kStays;
  counts["promises put to the test/8, what is kept loses nothing"] =
      judged.deletes + judged.roots_deleted;
  for (std::size_t i = 0; i < kDriversPromises.size(); ++i) {
    counts[std::string("promises put to the test/") + kDriversPromises[i]] =
        drivers_judge_.tests()[i];
  }
  for (const auto& [what, times] : drivers_judge_.counts()) {
    counts["commands of drivers, and their exit codes/" + what] = times;
  }
  counts["histories with/drivers that claim the cluster"] = plan_.drivers;
  counts["histories with/a watch on the owner"] = plan_.watch;
  counts["watchers/watches that were opened"] = network_.watches();
  counts["requests and answers/events of watches that lied or got lost"] = network_.tampered();
  counts["watchers/processes of drivers"] = drivers_.lives();
  counts["all/requests"] = network_.exchanges().size();
  counts["histories with/condemned"] = judged.condemned > 0;
  counts["histories with/marks taken off"] = judged.spared > 0;
  counts["histories with/point of no return"] = judged.crossed > 0;
  counts["histories with/surge"] = plan_.surge_grace.has_value();
  counts["histories with/deletes begun"] = !judge_.BereftRoots().empty();
  counts["histories with/a deletion resumed"] = judged.resumed > 0;
  counts["histories with/said to be deleted"] = judged.said_deleted > 0;
  counts["histories with/master root deleted"] = judged.roots_deleted > 0;
  counts["histories with/taken over"] = judged.taken_over > 0;
  counts["histories that, in the end,/must go"] = expectation_ == End::kGoes;
  counts["histories that, in the end,/must stay"] = expectation_ == End::kStays;
  counts["histories that, in the end,/may go or stay"] = expectation_ == End::kOpen;
  counts["watchers/started"] = kubelet_.counts().lives;
  counts["watchers/told to stop"] = kubelet_.counts().terminations;
  for (std::size_t i = 0; i < kDeeds; ++i) {
    counts[std::string("done to them/") + ToString(static_cast<Deed>(i))] = actors_.deeds()[i];
  }
  for (std::size_t i = 1; i < kFates; ++i) {
    counts[std::string("requests and answers/") + ToString(static_cast<Fate>(i))] =
        network_.fates()[i];
  }
  return outcome;
}

}  // namespace

Outcome RunHistory(Workshop& workshop, std::uint64_t seed, bool verbose) {
  History history(workshop, seed, verbose);
  history.Run();
  return history.Take(seed);
}

}  // namespace cluster_watcher::simulation
