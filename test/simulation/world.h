// The true state: a small Kubernetes with a driver, its cluster, and objects that aren't theirs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/clock.h"
#include "test/simulation/journal.h"
#include "test/simulation/orders.h"
#include "test/simulation/plan.h"
#include "test/simulation/timeline.h"
#include "test/small_kubernetes/small_kubernetes.h"

namespace cluster_watcher::simulation {

// The clocks of a machine: virtual time, and a wall clock that may be wrong.
class MachineClock final : public Clock {
 public:
  explicit MachineClock(const Timeline& timeline) : timeline_(timeline) {}

  MonotonicTime Now() override { return timeline_.Now() - slept_; }
  WallTime WallNow() override;
  // Nobody waits on this clock.
  bool WaitUntil(MonotonicTime, std::stop_token) override { return true; }

  void Jump(Duration by) { wrong_by_ += by; }
  void SetWrong(Duration by) { wrong_by_ = by; }
  // While a machine is suspended its monotonic clock stands still.
  void FallAsleep() { asleep_since_ = timeline_.Now(); }
  void WakeUp() { slept_ += timeline_.Now() - asleep_since_; }
  MonotonicTime::duration slept() const { return slept_; }

 private:
  const Timeline& timeline_;
  Duration wrong_by_{0};
  MonotonicTime asleep_since_;
  MonotonicTime::duration slept_{0};
};

class World {
 public:
  static constexpr const char* kNamespace = "lab";
  static constexpr const char* kCluster = "spark";
  static constexpr const char* kOwnerName = "bob";
  // An application that may use the cluster as well.
  static constexpr const char* kOtherName = "alice";
  // The driver that a rollout of the master names instead.
  static constexpr const char* kNextOwnerName = "carol";
  static constexpr const char* kRootName = "spark-m";
  // Another master of the cluster, by its pod template alone, and without pods.
  static constexpr const char* kSecondMaster = "spark-m2";
  static constexpr const char* kRootPath = "/apis/apps/v1/namespaces/lab/deployments/spark-m";
  // The node of the watchers' master pods, which the simulated kubelet manages.
  static constexpr const char* kNode = "simulated";
  // A node on which nothing runs.
  static constexpr const char* kDeadNode = "nowhere";
  static constexpr const char* kFinalizer = "example.com/slow";
  // So many other clusters lose their drivers in a surge.
  static constexpr int kOtherRoots = 2;

  World(Timeline& timeline, const Plan& plan, const Journal& journal, std::uint64_t seed);

  small_kubernetes::SmallKubernetes& kubernetes() { return kubernetes_; }
  MachineClock& clock() { return clock_; }
  const Plan& plan() const { return plan_; }
  const Journal& journal() const { return journal_; }

  // Acts as an admin and returns the answer's status. The journal names `who`.
  int Do(const char* who, std::string_view method, const std::string& target,
         const std::string& body = "", std::string_view content_type = {});
  int Create(const char* who, const std::string& json);
  // Marks the other clusters as abandoned since then, as their watchers would.
  void MarkOtherRoots(const char* who, const std::string& since);
  void TakeOffFinalizer(const char* who, const std::string& path);
  // As `kubectl rollout undo`: the template and the annotations of an earlier ReplicaSet come back.
  void RollBack(const char* who, const small_kubernetes::ObjectPtr& set);

  // The driver, if it is a Work, says that it has succeeded. `is_behind`: that was before it was
  // changed last.
  void FinishWork(const char* who, bool is_behind);
  // Makes what is missing of the cluster's members.
  void CreateMembers(const char* who);

  // --- Manifests and paths.
  static std::string CollectionOf(std::string_view plural);  // in the namespace
  std::string DriverPath() const;
  std::string DriverManifest(int replicas) const;
  std::string DriverKindName() const;  // "Deployment"
  // As people write it: "deployment".
  std::string KindOfApplication(std::string_view name) const;
  // `shared`: without the label that names its driver.
  std::string RootManifest(const std::string& annotations, bool shared) const;
  static std::string NextDriverManifest();
  static std::string OtherRootPath(int number);
  // What the plan tells the watchers of the master pods.
  Orders PlannedOrders() const;
  static std::string ConfigMap(const std::string& name);  // a member
  // A Deployment that may say that it uses the cluster.
  static std::string OtherDriver(bool uses_it);
  static std::string SecondMaster();
  // Those of the root and of the members that make a cluster.
  std::vector<std::string> ClusterManifests(bool shared);

  // --- The true state. Null: there is none.
  small_kubernetes::ObjectPtr Driver();
  // What runs the application of this name: the driver, or another one.
  small_kubernetes::ObjectPtr Application(std::string_view name);
  small_kubernetes::ObjectPtr Root();
  small_kubernetes::ObjectPtr Namespace();
  small_kubernetes::ObjectPtr Get(std::string_view group, std::string_view plural,
                                  std::string_view name);
  std::vector<small_kubernetes::ObjectPtr> All(std::string_view group, std::string_view plural);
  // What the root's pod template says; nullopt: there is no root.
  std::optional<Orders> OrdersOfRoot();
  // The root's ReplicaSets of other templates than its present one.
  std::vector<small_kubernetes::ObjectPtr> EarlierSets();
  // Whether a driver of this name exists and wants to run.
  bool WantsDriverToRun();
  static bool WantsToRun(const small_kubernetes::ObjectPtr& driver);
  // Whether pods of a driver run: of one that is there, or that has left them behind.
  bool HasDriverLeftPods();
  bool IsOfWork(const small_kubernetes::Object& pod, const small_kubernetes::Object& work);
  // The UID of the Work that controls what controls it; empty: none does.
  std::string WorkOf(const small_kubernetes::Object& pod);
  static bool IsPodOfJob(const small_kubernetes::Object& pod, const small_kubernetes::Object& job);
  // Whether another driver wants to run on this cluster.
  bool IsInUse();

 private:
  void Populate();
  std::vector<std::string> MemberManifests();
  void EvictMaster(const char* who);
  void RunWork(const char* who);
  std::string SetOfWorkers();
  std::string KeptMember();
  std::string Finalizers();

  const Plan& plan_;
  const Journal& journal_;
  MachineClock clock_;
  small_kubernetes::SmallKubernetes kubernetes_;
  int finalizers_left_;
  unsigned served_ = 0;
};

}  // namespace cluster_watcher::simulation
