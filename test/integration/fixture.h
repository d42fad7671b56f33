// What every test has: its own namespace, a cluster to watch over, and bystanders that must still
// be there, untouched, at the end of every test.
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

// The options of the command line.
struct Options {
  bool real = false;
  std::string control_plane;  // the directory of a running, shared one
  std::string binary;         // the program under test
  bool sanitized = false;     // it is: that slows everything down and distorts memory figures
  std::string scripts;        // start a real control plane
  std::string definitions;    // of custom kinds
};

inline constexpr char kCluster[] = "spark";
inline constexpr char kClusterLabel[] = "oshinko-cluster";
inline constexpr char kMaster[] = "spark-m";
inline constexpr char kAccount[] = "watcher";
inline constexpr char kOwner[] = "cluster-watcher/owner";
inline constexpr char kActive[] = "keep: active";
inline constexpr char kClaims[] = "persistentvolumeclaims";
inline constexpr char kLongAgo[] = "2001-12-24T18:00:00Z";
inline constexpr char kFarAway[] = "2099-01-01T00:00:00Z";

// Waits until `condition` holds.
template <typename Condition>
testing::AssertionResult Eventually(Condition condition, Duration timeout = kPatience) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::chrono::milliseconds pause(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) {
      return testing::AssertionFailure() << "not within " << timeout.count() << " ms";
    }
    std::this_thread::sleep_for(pause);
    // Slow conditions needn't ask the API server a hundred times a second.
    pause = std::min(pause * 3 / 2, std::chrono::milliseconds(50));
  }
  return testing::AssertionSuccess();
}

// The API server of the whole run; main.cc starts and stops it.
class Kubernetes : public testing::Environment {
 public:
  explicit Kubernetes(Options options) : options_(std::move(options)) {}
  void SetUp() override;
  void TearDown() override;

  const Options& GetOptions() const { return options_; }
  Server& GetServer() { return *server_; }
  Api& GetApi() { return *api_; }
  const std::string& Directory() const { return directory_; }  // for files; removed at the end
  std::string Elsewhere() const;                               // a namespace without a cluster

 private:
  const Options options_;
  std::string directory_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Api> api_;
};
inline Kubernetes* kubernetes = nullptr;
inline bool IsSanitized() { return kubernetes->GetOptions().sanitized; }

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
  static void TearDownTestSuite();  // removes the kinds that the tests installed

  Server& server() { return kubernetes->GetServer(); }
  Api& api() { return kubernetes->GetApi(); }

  // Switches the test to another namespace, with bystanders of its own.
  void EnterNamespace();
  // Checks the bystanders in all of the test's namespaces and deletes the namespaces.
  void LeaveNamespaces();

  void MakeCluster(const Cluster& cluster);
  void MakeCluster() { MakeCluster(Cluster()); }
  void MakeMembers();  // the same without a master
  // Makes a Deployment, unless another kind is given.
  void MakeDriver(const std::string& name = "bob", const std::string& plural = "deployments");
  // Makes a ConfigMap that is a member.
  void MakeMember(const std::string& name, bool held = false);
  // Makes the API server serve a custom kind by its definition test/custom_resources/`name`.json
  // ("rayjobs.ray.io"), and waits until it can be created and listed. The kind stays for the
  // suite's later tests; if it is already there, it is left alone. Needs an API server that nobody
  // else uses.
  static void InstallKind(const std::string& name);
  // Deletes the kind and all of its objects, even held ones, and waits until it isn't served any
  // more.
  static void RemoveKind(const std::string& name);
  // Makes the ServiceAccount kAccount and binds this Role of the same name to it.
  void MakeAccount(const std::string& role);
  Metadata Labelled(const std::string& name, const std::string& type = "") const;
  std::string MasterPod();  // waits for the pod and returns its name

  // Watches over the master's pod with fast polls. `flags` override the defaults.
  Watcher& Watch(std::vector<std::string> flags = {});
  Watcher& WatchOver(const std::string& owner, std::vector<std::string> flags = {});
  // Watches as this pod: the master may have several pods, or none any more.
  Watcher& WatchAs(const std::string& pod, std::vector<std::string> flags);
  // Runs the program with exactly these arguments and this environment.
  Watcher& Run(const std::vector<std::string>& arguments,
               const std::vector<std::string>& environment = {});
  const std::string& kubeconfig() const { return kubeconfig_; }
  // The line that a command which writes begins with on stderr.
  std::string WhereItWrites() const {
    return "cluster-watcher: namespace " + ns_ + " (kubeconfig " + kubeconfig_ +
           ", context test)\n";
  }
  // A path for a file of this test.
  std::string File(const std::string& name) const { return files_ + "." + name; }

  // --- What a watcher reaches in time.
  testing::AssertionResult Shows(Watcher& watcher, const std::string& verdict);
  // Deletes a namespace, and waits until this Deployment in it is gone: the namespace controller
  // begins again, later each time, where it meets what is being made.
  testing::AssertionResult DeleteNamespace(const std::string& ns, const std::string& deployment);
  testing::AssertionResult Reaches(Watcher& watcher, const std::string& phase);
  // The watcher is done, and nothing is left of the cluster.
  testing::AssertionResult Finishes(Watcher& watcher);
  // This many more polls were made; fewer where a verdict lasts, of which they come ever more
  // seldom.
  testing::AssertionResult PollsOn(Watcher& watcher, int polls = 8);
  // After this many more polls the verdict is the same and the cluster is whole.
  testing::AssertionResult Keeps(Watcher& watcher, const std::string& verdict, int polls = 8);
  testing::AssertionResult StopsWell(Watcher& watcher);  // exits with 0 on SIGTERM

  // Every object that MakeCluster made in this namespace still has its UID and isn't being deleted.
  testing::AssertionResult IsWhole();
  testing::AssertionResult IsGone();
  // What MakeMembers makes is there, whether original or made again.
  testing::AssertionResult HasItsMembers();
  // "deployments/spark-m": what is left of the cluster, even if it is being deleted.
  std::vector<std::string> Members();
  // A mark on the master root, or "" if there is none.
  std::string Mark(const std::string& mark);
  // A field of the mark `recorded-owner`, empty if it isn't there.
  std::string OwnerMark(const std::string& field);
  // Writes these annotations on the master root.
  void MarkTheRoot(const TextMap& marks);
  // The notes of the watcher's Events with this reason.
  std::vector<std::string> Events(const std::string& reason);
  // The same, but waits for `count` of them: metrics change before Events are written.
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
