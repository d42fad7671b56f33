// Failures that similar systems or our own first version have met; the watcher survives each one.
// CONTRIBUTING.md numbers them and names the test of each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "test/integration/fixture.h"
#include "test/integration/proxy.h"

namespace cluster_watcher::integration {

class FailureCase : public IntegrationTest {
 protected:
  void TearDown() override;

  // From now on kubeconfig() leads to the API server through a proxy that can lie.
  Proxy& BehindProxy();
  // The watcher's request for the owner.
  std::string ListOf(const std::string& plural) {
    return "GET " + PathOf(plural, ns_) + "?fieldSelector";
  }
  // Makes kubeconfig() that of an account with nothing but `rules`, a Role's.
  void UseAccount(const std::string& rules);
  // Makes another namespace for this test.
  std::string MakeNamespace(const std::string& name);

  // The driver is gone and the deletion has begun, but the member "held" can't go. All others are
  // gone but the master.
  Watcher& BeginHeldDeletion(std::vector<std::string> flags = {});
  bool OnlyTheHeldOneIsLeft();
  void Release() { api().ReleaseFinalizers("configmaps", ns_, "held"); }

  // Begins a rollout of the master that names another owner, deployment/alice, by an annotation.
  void HandTheClusterOver();

  // After some more polls the verdict is the same, this watcher has deleted nothing, and what
  // MakeMembers makes is there.
  testing::AssertionResult DeletesNothing(Watcher& watcher, const std::string& verdict);
  // No mark of a deletion is left on the master root.
  testing::AssertionResult HasNoMarksOfADeletion();
  // A Warning of the watcher's has this in its note.
  testing::AssertionResult Warns(const std::string& part);

  // Makes the StatefulSet kSet of the cluster with a pod. It would take its claim ClaimOfSet(0)
  // along, whose UID is returned.
  std::string MakeSetWithAClaim();
  static std::string ClaimOfSet(int ordinal);
  // Makes such a claim of an ordinal that was scaled away: its controller looks at it no more.
  std::string MakeClaimOfAPodThatIsNoMore(const std::string& name);

  // Nothing is left of the cluster but kSet, its pod and its claims, and the Event says so.
  void ExpectTheSetAlone();

  // The JSON of an ownerReference to an object of apps/v1.
  std::string OwnedBy(const std::string& plural, const std::string& kind, const std::string& name,
                      bool controls = false);
  // Makes a ConfigMap of the cluster that is to be kept, although the Deployment `owner` owns it.
  std::string MakeKept(const std::string& name, const std::string& owner);

  // Starts a command, with the test's namespace and kubeconfig; everything behind "--" is its
  // program. `pod` is the one that it runs in, empty for none.
  Watcher& Command(std::vector<std::string> arguments, const std::string& pod = "");
  // Sweeps the namespace. Returns what is printed.
  std::string Sweep();
  // The driver's only pod, "bob-…".
  std::string DriversPod();

  // The mark of the owner; null if there is none.
  JsonDocument RecordedOwner();
  testing::AssertionResult Records(const std::string& uid);

  static constexpr char kSet[] = "spark-s";

  // With a single verdict and no grace period, any doubt would be fatal.
  const std::vector<std::string> hasty_ = {"--confirmations=1", "--grace-period=0s",
                                           "--startup-grace=0s"};

 private:
  bool IsOwned(const std::string& plural, const std::string& name);

  std::optional<Proxy> proxy_;
};

}  // namespace cluster_watcher::integration
