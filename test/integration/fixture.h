// What every test has: a namespace of its own, a cluster to watch over, and bystanders that must be
// there, untouched, when the test is over, whatever it did.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "test/integration/api.h"
#include "test/integration/objects.h"
#include "test/integration/server.h"
#include "test/integration/watcher.h"

namespace cluster_watcher::integration {

// What the command line said.
struct Options {
  bool real = false;
  std::string control_plane;  // the directory of a real one that runs, and that others use too
  std::string binary;         // the program under test
  std::string scripts;        // that start a real control plane
  std::string definitions;    // of custom kinds
};

inline constexpr char kCluster[] = "spark";
inline constexpr char kClusterLabel[] = "oshinko-cluster";
inline constexpr char kMaster[] = "spark-m";
inline constexpr char kAccount[] = "watcher";

// With a sanitizer all is slower, and memory means something else.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Waits until `condition` holds.
template <typename Condition>
testing::AssertionResult Eventually(Condition condition,
                                    Duration timeout = std::chrono::seconds(30)) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::chrono::milliseconds pause(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) {
      return testing::AssertionFailure() << "not within " << timeout.count() << " ms";
    }
    std::this_thread::sleep_for(pause);
    // What takes long isn't hurried by asking the API server a hundred times a second.
    pause = std::min(pause * 3 / 2, std::chrono::milliseconds(50));
  }
  return testing::AssertionSuccess();
}

// The API server of the whole run; main.cc has it started and stopped.
class Kubernetes : public testing::Environment {
 public:
  explicit Kubernetes(Options options) : options_(std::move(options)) {}
  void SetUp() override;
  void TearDown() override;

  const Options& GetOptions() const { return options_; }
  Server& GetServer() { return *server_; }
  Api& GetApi() { return *api_; }
  const std::string& Directory() const { return directory_; }  // for files; removed at the end
  std::string Elsewhere() const;  // a namespace in which nobody has a cluster

 private:
  const Options options_;
  std::string directory_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Api> api_;
};
inline Kubernetes* kubernetes = nullptr;

class IntegrationTest : public testing::Test {
 protected:
  // The master Deployment spark-m and its pod, the worker Deployment spark-w, the Services spark
  // and spark-ui, the ConfigMap spark-config.
  struct Cluster {
    TextMap root_labels = {};
    TextMap root_annotations = {};
    TextMap pod_annotations = {};
    std::string pod_spec = "";  // more fields of the master's pods: "\"volumes\": [], "
  };

  void SetUp() override;
  void TearDown() override;
  static void TearDownTestSuite();  // removes the kinds that its tests have installed

  Server& server() { return kubernetes->GetServer(); }
  Api& api() { return kubernetes->GetApi(); }

  // Another namespace, with bystanders of its own, is the test's from now on.
  void EnterNamespace();
  // Looks after the bystanders in all of the test's namespaces, and deletes these.
  void LeaveNamespaces();

  void MakeCluster(const Cluster& cluster);
  void MakeCluster() { MakeCluster(Cluster()); }
  void MakeMembers();  // the same without a master
  // A Deployment, unless another kind is given.
  void MakeDriver(const std::string& name = "bob", const std::string& plural = "deployments");
  // A member, of the kind ConfigMap.
  void MakeMember(const std::string& name, bool held = false);
  // Has the API server serve a custom kind, by its definition test/custom_resources/`name`.json
  // ("rayjobs.ray.io"); in the end it offers to create objects and lists them. It stays for the
  // tests of the suite that follow, and is left alone where it is there. Needs an API server that
  // nobody else uses.
  static void InstallKind(const std::string& name);
  // In the end the kind isn't served any more. Its objects go, whatever holds them.
  static void RemoveKind(const std::string& name);
  // The ServiceAccount kAccount, and bound to it this Role, which has the same name.
  void MakeAccount(const std::string& role);
  Metadata Labelled(const std::string& name, const std::string& type = "") const;
  std::string MasterPod();  // its name, once there is one

  // Watches over the master's pod, polling fast. What `flags` repeat counts instead.
  Watcher& Watch(std::vector<std::string> flags = {});
  Watcher& WatchOver(const std::string& owner, std::vector<std::string> flags = {});
  // As the watcher of this pod: the master may have several, or none any more.
  Watcher& WatchAs(const std::string& pod, std::vector<std::string> flags);
  // The program with exactly these arguments and this environment.
  Watcher& Run(const std::vector<std::string>& arguments,
               const std::vector<std::string>& environment = {});
  const std::string& kubeconfig() const { return kubeconfig_; }
  // For a file of this test.
  std::string File(const std::string& name) const { return files_ + "." + name; }

  // --- What a watcher comes to, in time.
  testing::AssertionResult Shows(Watcher& watcher, const std::string& verdict);
  testing::AssertionResult Reaches(Watcher& watcher, const std::string& phase);
  // It is done, and nothing of the cluster is left.
  testing::AssertionResult Finishes(Watcher& watcher);
  // After so many more polls the verdict is still this one and the cluster is whole.
  testing::AssertionResult Keeps(Watcher& watcher, const std::string& verdict, int polls = 8);
  testing::AssertionResult StopsWell(Watcher& watcher);  // exit code 0 upon SIGTERM

  // Every object that MakeCluster made in this namespace has its UID still, and isn't being
  // deleted.
  testing::AssertionResult IsWhole();
  testing::AssertionResult IsGone();
  // What MakeMembers makes is there, be it the same or made again.
  testing::AssertionResult HasItsMembers();
  // "deployments/spark-m": what is left of the cluster, being deleted or not.
  std::vector<std::string> Members();
  // A mark on the master root; "" where there is none.
  std::string Mark(const std::string& mark);
  // The notes of the watcher's Events with this reason.
  std::vector<std::string> Events(const std::string& reason);
  // The same, once there are so many: metrics show what is done before people are told.
  std::vector<std::string> Told(const std::string& reason, std::size_t count = 1);

  std::string ns_;

 private:
  struct Bystander {
    std::string plural;
    std::string ns;
    std::string name;
    std::string uid;
  };
  void MakeBystanders();
  void AddBystander(const std::string& plural, const std::string& body);

  std::string files_;
  std::string kubeconfig_;
  std::vector<std::string> namespaces_;
  std::vector<Bystander> bystanders_;
  std::map<std::string, std::string> made_;  // path to UID
  std::deque<Watcher> watchers_;
};

}  // namespace cluster_watcher::integration
