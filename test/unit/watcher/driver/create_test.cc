#include "watcher/driver/create.h"

#include <gtest/gtest.h>

#include <functional>

#include "probes/base/names.h"
#include "probes/base/time_text.h"
#include "test/unit/support/lab.h"
#include "watcher/driver/await.h"
#include "watcher/driver/claim.h"
#include "watcher/driver/creation_mark.h"

namespace cluster_watcher {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kFile = R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: $(CLUSTER)-w, labels: {oshinko-type: worker}}
spec:
  replicas: 2
  selector: {matchLabels: {app: $(CLUSTER)-w}}
  template:
    metadata: {labels: {app: $(CLUSTER)-w, oshinko-type: worker}}
    spec: {containers: [{name: w, image: spark}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: $(CLUSTER)-m}
spec:
  replicas: 1
  selector: {matchLabels: {app: $(CLUSTER)-m}}
  template:
    metadata: {labels: {app: $(CLUSTER)-m, oshinko-type: master}}
    spec: {containers: [{name: m, image: spark}]}
---
apiVersion: v1
kind: Service
metadata: {name: $(CLUSTER), labels: {oshinko-type: master}}
spec: {selector: {app: $(CLUSTER)-m}, ports: [{port: 7077}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: $(CLUSTER)-data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
)";

const std::string kNs = "/api/v1/namespaces/lab/";
const std::string kDeployments = "/apis/apps/v1/namespaces/lab/deployments/";
const std::string kDemoRoot = kDeployments + "demo-m";
const std::string kDemoWorker = kDeployments + "demo-w";
const std::string kDemoService = kNs + "services/demo";
const std::string kDemoClaim = kNs + "persistentvolumeclaims/demo-data";
const ClusterId kDemo{"lab", "oshinko-cluster", "demo"};

// Shows each request before it is sent. After a kill none is sent any more.
class WatchedTransport final : public Transport {
 public:
  WatchedTransport(Transport& transport, std::stop_source& kill)
      : transport_(transport), kill_(kill) {}

  std::vector<HttpResult> Perform(std::span<const HttpRequest> requests, std::size_t,
                                  std::stop_token stop) override {
    std::vector<HttpResult> results;
    if (round) round(requests.size());
    for (const HttpRequest& request : requests) {
      if (before) before(count);
      ++count;
      if (kill_.stop_requested()) stop = kill_.get_token();
      results.push_back(std::move(transport_.Perform({&request, 1}, 1, stop).front()));
    }
    return results;
  }

  std::function<void(int)> before;
  std::function<void(std::size_t)> round;  // before requests that go side by side, with how many
  int count = 0;

 private:
  Transport& transport_;
  std::stop_source& kill_;
};

// Everything that a test needs beside its own expectations; several worlds may be made in one test.
class World : public Lab {
 public:
  // One process that runs the command.
  class Command {
   public:
    Command(World& world, const std::string& app = "", bool ephemeral = false)
        : world_(world), transport(world.transport_, kill_) {
      order.cluster = kDemo;
      SetFile(world.file_);
      if (!app.empty()) order.app = *OwnerName::Parse(app);
      order.ephemeral = ephemeral;
      order.creator = {"cli", "c" + std::to_string(++world.commands_)};
      order.timeout = minutes(1);
      order.say = [this](const std::string& line) { said.push_back(line); };
    }
    void SetFile(const std::string& text) {
      auto objects = ReadClusterFile("c.yaml", text, kDemo);
      ASSERT_TRUE(objects) << Joined(objects.error());
      order.objects = *std::move(objects);
    }
    DriverOutcome Run() {
      TokenSource tokens(world_.server_, world_.clock_);
      KubeClient client(transport, tokens, [](const RequestRecord&) {});
      Discovery discovery(client);
      const DriverTools tools{client, discovery, world_.clock_, kill_.get_token()};
      return cluster_watcher::Create(tools, order);
    }
    void Kill() { kill_.request_stop(); }

   private:
    World& world_;
    std::stop_source kill_;

   public:
    WatchedTransport transport;
    CreateOrder order;
    std::vector<std::string> said;
  };

  DriverOutcome Create(const std::string& app = "", bool ephemeral = false) {
    return Command(*this, app, ephemeral).Run();
  }
  // Runs a command that is killed before its request number `n`.
  DriverOutcome CreateUntil(int n) {
    Command command(*this, "deployment/bob", true);
    command.transport.before = [&](int count) {
      if (count == n) command.Kill();
    };
    return command.Run();
  }

  std::string Field(const std::string& path, const std::string& map, const std::string& key) {
    const auto object = JsonDocument::Parse(Read(path).body);
    return std::string(object->root()["metadata"][map][key].AsString().value_or(""));
  }
  std::string LabelOf(const std::string& path, const std::string& label) {
    return Field(path, "labels", label);
  }
  std::string MarkOf(const std::string& path, const std::string& mark) {
    return Field(path, "annotations", "cluster-watcher/" + mark);
  }
  void Label(const std::string& path, const std::string& label) {
    Patch(path, R"({"metadata":{"labels":{)" + label + "}}}");
  }
  void Patch(const std::string& path, const std::string& body, const std::string& manager = "") {
    const auto answer =
        kubernetes_.Admin("PATCH", path + (manager.empty() ? "" : "?fieldManager=" + manager), body,
                          "application/merge-patch+json");
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
  void MakeClaim(const std::string& labels) {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" +
                      Meta("demo-data", R"(,"labels":{)" + labels + "}") +
                      R"(,"spec":{"accessModes":["ReadWriteOnce"],)"
                      R"("resources":{"requests":{"storage":"1Gi"}}}})");
  }
  void MakePod(const std::string& name) {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" + Meta(name) +
                      R"(,"spec":{"containers":[{"name":"m","image":"x"}]}})");
  }

  // All of the file is there, once, without marks of a creation.
  void ExpectComplete() {
    for (const std::string& path : {kDemoRoot, kDemoWorker, kDemoService, kDemoClaim}) {
      EXPECT_EQ(LabelOf(path, "oshinko-cluster"), "demo") << path;
      EXPECT_EQ(Read(path).body.find("ownerReferences"), std::string::npos) << path;
      EXPECT_EQ(Read(path).body.find("deletionTimestamp"), std::string::npos) << path;
    }
    EXPECT_EQ(MarkOf(kDemoRoot, "phase"), "");
    EXPECT_EQ(MarkOf(kDemoRoot, "created-by"), "complete");
    EXPECT_EQ(MarkOf(kDemoRoot, "root-uid"), ObjectUid(kDemoRoot));
    const auto view = ReadClusterView(client_, discovery_, kDemo, {});
    ASSERT_TRUE(view);
    EXPECT_STREQ(ToString(view->status), "Running");
  }
  // As if a command had not come to the end of a longer file, and a minute had passed.
  void Interrupt() {
    file_ += "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: $(CLUSTER)-late}\n";
    Patch(kDemoRoot,
          R"({"metadata":{"annotations":{"cluster-watcher/phase":"creating",)"
          R"("cluster-watcher/created-by":"cli/x"}}})",
          kCreateManager);
    clock_.elapsed += seconds(62);
  }
  bool IsUntouched() { return !Exists(kDemoRoot) && !Exists(kDemoWorker) && !Exists(kDemoService); }

  using Lab::Annotate;
  using Lab::clock_;
  using Lab::Delete;
  using Lab::Exists;
  using Lab::kubernetes_;
  using Lab::MakeWorkload;
  using Lab::ObjectUid;
  using Lab::Read;
  using Lab::Refuse;

  std::string file_ = kFile;

 private:
  int commands_ = 0;
};

class CreateTest : public testing::Test, protected World {};

TEST_F(CreateTest, MakesWhatTheFileSaysTheMasterFirst) {
  Command command(*this, "deployment/bob", true);
  const DriverOutcome outcome = command.Run();
  EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
  EXPECT_EQ(outcome.said, "cluster demo is created");
  EXPECT_TRUE(outcome.warnings.empty()) << Joined(outcome.warnings);
  EXPECT_EQ(command.said, (std::vector<std::string>{
                              "deployment.apps/demo-m created", "deployment.apps/demo-w created",
                              "service/demo created", "persistentvolumeclaim/demo-data created"}));
  ExpectComplete();
  EXPECT_EQ(LabelOf(kDemoRoot, "ephemeral"), "bob");
  EXPECT_EQ(MarkOf(kDemoRoot, "owner"), "deployment.apps/bob");
  EXPECT_EQ(LabelOf(kDriver, "uses-oshinko-cluster"), "demo");
}

TEST_F(CreateTest, TheMasterPodsKnowNothingOfTheCreation) {
  ASSERT_EQ(Create("deployment/bob", true).exit, DriverExit::kDone);
  const auto root = JsonDocument::Parse(Read(kDemoRoot).body);
  EXPECT_EQ(root->root()["spec"]["template"]["metadata"].ToText(),
            R"({"labels":{"app":"demo-m","oshinko-type":"master","oshinko-cluster":"demo"}})");
}

// From the first write on everybody sees who is at it.
TEST_F(CreateTest, TheMarkIsThereBeforeAnythingElseIs) {
  Command command(*this);
  std::string phases;
  command.transport.before = [&](int) {
    const std::string phase = Exists(kDemoRoot) ? MarkOf(kDemoRoot, "phase") : "none";
    if (!phases.ends_with(phase + " ")) phases += phase + " ";
    if (Exists(kDemoWorker) && phase == "creating") {
      EXPECT_EQ(MarkOf(kDemoRoot, "created-by"), "cli/c1");
      EXPECT_EQ(MarkOf(kDemoRoot, "root-uid"), ObjectUid(kDemoRoot));
    }
  };
  EXPECT_EQ(command.Run().said, "cluster demo is created");
  EXPECT_EQ(phases, "none creating ");
}

TEST_F(CreateTest, WhatIsThereAndCompleteIsUsed) {
  ASSERT_EQ(Create("deployment/bob").said, "cluster demo is created, and shared");
  EXPECT_EQ(Create().said, "cluster demo exists");
  EXPECT_EQ(Create("deployment/bob").said, "cluster demo is ready, and shared");
  Label(kDriver, R"("uses-oshinko-cluster":null)");
  DriverOutcome outcome = Create("deployment/bob", true);
  EXPECT_EQ(outcome.exit, DriverExit::kDone);
  EXPECT_EQ(Joined(outcome.warnings), "cluster demo is shared, and stays so");
  EXPECT_EQ(LabelOf(kDriver, "uses-oshinko-cluster"), "demo");
  Annotate(kDemoRoot, "owner", "deployment.apps/alice");
  EXPECT_EQ(Create("deployment/bob").exit, DriverExit::kOthers);
}

TEST_F(CreateTest, WhatIsNotTheClustersIsNamedBeforeAnythingIsWritten) {
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Service",)" + Meta("demo") +
                    R"(,"spec":{"ports":[{"port":1}]}})");
  MakeClaim(R"("oshinko-cluster":"spark")");
  const DriverOutcome outcome = Create("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_EQ(outcome.error,
            "not of the cluster demo, but there already: service/demo; "
            "persistentvolumeclaim/demo-data: give other names, or label them "
            "oshinko-cluster=demo");
  EXPECT_FALSE(Exists(kDemoRoot));
  EXPECT_EQ(LabelOf(kDriver, "uses-oshinko-cluster"), "");
}

TEST_F(CreateTest, AClaimWithoutALabelIsTakenOver) {
  MakeClaim("");
  const std::string uid = ObjectUid(kDemoClaim);
  EXPECT_EQ(Create().exit, DriverExit::kDone);
  ExpectComplete();
  EXPECT_EQ(ObjectUid(kDemoClaim), uid);
}

TEST_F(CreateTest, WhatIsIncompleteIsCompleted) {
  ASSERT_EQ(Create("deployment/bob", true).exit, DriverExit::kDone);
  const std::string uid = ObjectUid(kDemoRoot);
  Delete(kDemoWorker);
  Command command(*this, "deployment/bob", true);
  EXPECT_EQ(command.Run().said, "cluster demo is completed");
  EXPECT_EQ(command.said[0] + ", " + command.said[1],
            "deployment.apps/demo-m configured, deployment.apps/demo-w created");
  ExpectComplete();
  EXPECT_EQ(ObjectUid(kDemoRoot), uid);
}

// It may be in use, and is no creation that was interrupted.
TEST_F(CreateTest, KilledWhileItCompletesItNothingIsDeleted) {
  for (int n = 0;; ++n) {
    SCOPED_TRACE("killed before request " + std::to_string(n));
    World world;
    ASSERT_EQ(world.Create("deployment/bob", true).exit, DriverExit::kDone);
    const std::string uid = world.ObjectUid(kDemoRoot);
    world.Delete(kDemoWorker);
    const DriverOutcome killed = world.CreateUntil(n);
    world.clock_.elapsed += seconds(62);
    EXPECT_EQ(world.Create("deployment/bob", true).exit, DriverExit::kDone);
    world.ExpectComplete();
    EXPECT_EQ(world.ObjectUid(kDemoRoot), uid);
    if (killed.exit == DriverExit::kDone || HasFailure()) break;
  }
}

TEST_F(CreateTest, WhatIsCompletedIsClaimed) {
  ASSERT_EQ(Create().exit, DriverExit::kDone);
  Delete(kDemoWorker);
  EXPECT_EQ(Create("deployment/bob", true).said, "cluster demo is completed");
  EXPECT_EQ(LabelOf(kDriver, "uses-oshinko-cluster"), "demo");
  EXPECT_EQ(LabelOf(kDemoRoot, "ephemeral"), "bob");
}

TEST_F(CreateTest, AMasterOfAnotherNameIsNotJoinedByASecond) {
  MakeWorkload("other-m", R"("oshinko-cluster":"demo","oshinko-type":"master",)");
  const DriverOutcome outcome = Create();
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_EQ(outcome.error,
            "cluster demo has another master, deployment.apps/other-m, and not "
            "deployment.apps/demo-m");
  EXPECT_TRUE(IsUntouched());
}

TEST_F(CreateTest, WithoutItsOwnerTheClusterIsShared) {
  const DriverOutcome outcome = Create("deployment/carol", true);
  EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
  EXPECT_EQ(outcome.said, "cluster demo is created, and shared");
  EXPECT_EQ(Joined(outcome.warnings),
            "there is no deployment.apps/carol in namespace lab: cluster demo is made a shared "
            "one, which nothing deletes by itself");
  EXPECT_EQ(LabelOf(kDemoRoot, "ephemeral") + MarkOf(kDemoRoot, "owner"), "");
}

TEST_F(CreateTest, WhereTheOwnerCanNotBeReadNothingIsCreated) {
  Refuse("GET", "/deployments?fieldSelector", 500);
  const DriverOutcome outcome = Create("deployment/bob", true);
  EXPECT_EQ(outcome.exit, DriverExit::kUnknown);
  EXPECT_TRUE(outcome.error.starts_with("owner deployment/bob unknown: ")) << outcome.error;
  EXPECT_TRUE(IsUntouched());
}

TEST_F(CreateTest, AnOwnerUsesOneCluster) {
  Label(kDriver, R"("uses-oshinko-cluster":"spark")");
  const DriverOutcome outcome = Create("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kOthers);
  EXPECT_EQ(outcome.error, "deployment.apps/bob uses the cluster spark: release that first");
  EXPECT_TRUE(IsUntouched());
}

// Two commands of one driver make different clusters.
TEST_F(CreateTest, AnOwnerThatUsesAnotherMeanwhileHasOnlyThat) {
  Command command(*this, "deployment/bob", true);
  command.transport.before = [&](int) {
    if (Exists(kDemoRoot)) Label(kDriver, R"("uses-oshinko-cluster":"spark")");
  };
  EXPECT_EQ(command.Run().exit, DriverExit::kOthers);
  EXPECT_TRUE(IsUntouched());
  EXPECT_EQ(LabelOf(kDriver, "uses-oshinko-cluster"), "spark");
}

// The one that came first is at it, or may be.
TEST_F(CreateTest, WhatSomebodyElseCreatesIsLeftToHim) {
  CreateUntil(-1);
  Annotate(kDemoRoot, "phase", "creating");
  Patch(kDemoRoot, R"({"metadata":{"annotations":{"cluster-watcher/created-by":"cli/x"}}})",
        kCreateManager);
  clock_.elapsed += seconds(59);
  const DriverOutcome outcome = Create("deployment/bob", true);
  EXPECT_EQ(outcome.exit, DriverExit::kNotReady);
  EXPECT_EQ(outcome.error, "cluster demo is being created by cli/x");
  clock_.elapsed += seconds(3);
  EXPECT_EQ(Create("deployment/bob", true).exit, DriverExit::kDone);
  ExpectComplete();
}

// Of what was never written by a named manager nobody knows since when it is so.
TEST_F(CreateTest, AMarkOfUnknownAgeIsLeftAlone) {
  MakeWorkload("demo-m", R"("oshinko-cluster":"demo","oshinko-type":"master",)");
  Annotate(kDemoRoot, "phase", "creating");
  Annotate(kDemoRoot, "created-by", "cli/x");
  clock_.elapsed += minutes(10);
  EXPECT_EQ(Create().error, "cluster demo is being created by cli/x");
}

TEST_F(CreateTest, APodThatCreatesIsAtItAsLongAsItIsThere) {
  MakePod("driver");
  Command command(*this);
  command.order.creator = {"driver", ObjectUid(kNs + "pods/driver")};
  command.transport.before = [&](int) {
    if (Exists(kDemoWorker)) command.Kill();
  };
  ASSERT_EQ(command.Run().exit, DriverExit::kFailed);
  clock_.elapsed += minutes(10);
  EXPECT_EQ(Create().exit, DriverExit::kNotReady);
  Delete(kNs + "pods/driver");
  MakePod("driver");
  EXPECT_EQ(Create().exit, DriverExit::kDone) << "another pod of that name";
  ExpectComplete();
}

// Its container was started again.
TEST_F(CreateTest, ThePodThatCreatedBeginsAnewAtOnce) {
  MakePod("driver");
  const WatcherId pod{"driver", ObjectUid(kNs + "pods/driver")};
  Command first(*this);
  first.order.creator = pod;
  first.transport.before = [&](int) {
    if (Exists(kDemoWorker)) first.Kill();
  };
  ASSERT_EQ(first.Run().exit, DriverExit::kFailed);
  Command second(*this);
  second.order.creator = pod;
  EXPECT_EQ(second.Run().exit, DriverExit::kDone);
  ExpectComplete();
}

// For each request: what it was killed before. The next one, a minute later, completes it.
TEST_F(CreateTest, KilledAnywhereItIsCompletedByTheNext) {
  for (int n = 0;; ++n) {
    SCOPED_TRACE("killed before request " + std::to_string(n));
    World world;
    const DriverOutcome killed = world.CreateUntil(n);
    world.clock_.elapsed += seconds(62);
    const DriverOutcome outcome = world.Create("deployment/bob", true);
    EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
    world.ExpectComplete();
    EXPECT_EQ(world.LabelOf(kDriver, "uses-oshinko-cluster"), "demo");
    EXPECT_EQ(world.LabelOf(kDemoRoot, "ephemeral"), "bob");
    if (killed.exit == DriverExit::kDone || HasFailure()) break;
  }
}

// The second is killed too, while it clears up what the first one left, or later.
TEST_F(CreateTest, ClearingUpIsCompletedAsWell) {
  for (int n = 0;; ++n) {
    SCOPED_TRACE("killed before request " + std::to_string(n));
    World world;
    Command first(world, "deployment/bob", true);
    first.transport.before = [&](int) {
      if (world.Exists(kDemoService)) first.Kill();
    };
    ASSERT_EQ(first.Run().exit, DriverExit::kFailed);
    world.clock_.elapsed += seconds(62);
    const DriverOutcome killed = world.CreateUntil(n);
    world.clock_.elapsed += seconds(62);
    const DriverOutcome outcome = world.Create("deployment/bob", true);
    EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
    world.ExpectComplete();
    if (killed.exit == DriverExit::kDone || HasFailure()) break;
  }
}

// Before each request of one of them the other runs from the beginning to the end.
TEST_F(CreateTest, OfTwoAtOnceOneCreates) {
  for (int n = 0;; ++n) {
    SCOPED_TRACE("before request " + std::to_string(n));
    World world;
    Command one(world, "deployment/bob", true);
    Command other(world, "deployment/bob", true);
    DriverOutcome of_other;
    one.transport.before = [&](int count) {
      if (count == n) of_other = other.Run();
    };
    const DriverOutcome of_one = one.Run();
    const bool one_created = of_one.said == "cluster demo is created";
    const bool other_created = of_other.said == "cluster demo is created";
    EXPECT_NE(one_created, other_created) << of_one.error << of_other.error;

    const DriverOutcome& loser = one_created ? of_other : of_one;
    const bool came_later = loser.said == "cluster demo is ready";
    EXPECT_TRUE(came_later || loser.exit == DriverExit::kNotReady || other.transport.count == 0)
        << loser.error;
    EXPECT_TRUE((one_created ? other : one).said.empty()) << "it wrote something";
    world.ExpectComplete();
    if (other.transport.count == 0 || HasFailure()) break;
  }
}

TEST_F(CreateTest, WhatAnInterruptedOneLeftGoesButForClaimsAndWhatIsKept) {
  ASSERT_EQ(Create().exit, DriverExit::kDone);
  const std::string claim = ObjectUid(kDemoClaim);
  const std::string service = ObjectUid(kDemoService);
  const std::string worker = ObjectUid(kDemoWorker);
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"ConfigMap",)" +
                    Meta("mine", R"(,"labels":{"oshinko-cluster":"demo"})") + "}");
  Annotate(kDemoService, "keep", "true");
  Interrupt();
  Command command(*this);
  EXPECT_EQ(command.Run().exit, DriverExit::kDone);
  EXPECT_EQ(command.said[0] + ", " + command.said[1],
            "deployment.apps/demo-w deleted, deployment.apps/demo-m deleted");
  ExpectComplete();
  EXPECT_EQ(ObjectUid(kDemoClaim), claim);
  EXPECT_EQ(ObjectUid(kDemoService), service);
  EXPECT_NE(ObjectUid(kDemoWorker), worker);
  EXPECT_TRUE(MapExists("mine")) << "create did not apply it";
}

TEST_F(CreateTest, AMasterThatIsKeptIsTakenOverAsItIs) {
  ASSERT_EQ(Create().exit, DriverExit::kDone);
  const std::string root = ObjectUid(kDemoRoot);
  const std::string worker = ObjectUid(kDemoWorker);
  Annotate(kDemoRoot, "keep", "true");
  Interrupt();
  EXPECT_EQ(Create().said, "cluster demo is created");
  ExpectComplete();
  EXPECT_EQ(ObjectUid(kDemoRoot), root);
  EXPECT_NE(ObjectUid(kDemoWorker), worker);
}

// The first attempt failed, and somebody else was quicker than the second.
TEST_F(CreateTest, AMasterOfAnothersIsNotTakenForOnesOwn) {
  Refuse("POST", "/deployments", 503, 0, 1);
  Command command(*this, "deployment/bob", true);
  Command other(*this, "deployment/bob", true);
  clock_.At(clock_.elapsed + std::chrono::milliseconds(50), [&] {
    EXPECT_EQ(other.Run().exit, DriverExit::kDone);
    Annotate(kDemoRoot, "phase", "creating");
    Annotate(kDemoRoot, "created-by", "cli/c2");
  });
  const DriverOutcome outcome = command.Run();
  EXPECT_EQ(outcome.exit, DriverExit::kNotReady);
  EXPECT_EQ(outcome.error, "cluster demo is being created by cli/c2");
  EXPECT_TRUE(command.said.empty());
}

// The claims of a set that would take them along.
TEST_F(CreateTest, ClaimsOfAnInterruptedSetStay) {
  Command command(*this);
  command.SetFile(std::string(kFile) + R"(
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: $(CLUSTER)-s}
spec:
  replicas: 1
  serviceName: $(CLUSTER)
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}
  selector: {matchLabels: {app: $(CLUSTER)-s}}
  template:
    metadata: {labels: {app: $(CLUSTER)-s}}
    spec: {containers: [{name: s, image: x}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
)");
  ASSERT_EQ(command.Run().exit, DriverExit::kDone);
  const std::string path = kNs + "persistentvolumeclaims/data-demo-s-0";
  const std::string claim = ObjectUid(path);
  const std::string set = ObjectUid("/apis/apps/v1/namespaces/lab/statefulsets/demo-s");
  ASSERT_NE(Read(path).body.find(set), std::string::npos) << "it owns the claim";
  // Its pod isn't ready, so its controller doesn't look at the claim again.
  kubernetes_.settle_after_writes = false;
  kubernetes_.on_answer = [&](const small_kubernetes::Request& request,
                              const small_kubernetes::User&, small_kubernetes::Response&) {
    if (request.method == "DELETE") kubernetes_.Settle();
  };
  Interrupt();
  EXPECT_EQ(Create().exit, DriverExit::kDone);
  EXPECT_FALSE(Exists("/apis/apps/v1/namespaces/lab/statefulsets/demo-s"));
  EXPECT_EQ(ObjectUid(path), claim);
}

TEST_F(CreateTest, WhatIsHeldFromGoingIsWaitedFor) {
  ASSERT_EQ(Create().exit, DriverExit::kDone);
  Patch(kDemoWorker, R"({"metadata":{"finalizers":["example.com/held"]}})");
  Interrupt();
  const DriverOutcome outcome = Create();
  EXPECT_EQ(outcome.exit, DriverExit::kNotReady);
  EXPECT_EQ(outcome.error,
            "cluster demo is still there from an interrupted creation: deployment.apps/demo-m; "
            "deployment.apps/demo-w");
  EXPECT_TRUE(Exists(kDemoRoot)) << "it goes last, and says who is at it";
}

TEST_F(CreateTest, WhatIsCondemnedIsWaitedForAndThenCreated) {
  ASSERT_EQ(Create().exit, DriverExit::kDone);
  Annotate(kDemoRoot, "phase", "deleting");
  EXPECT_EQ(Create().error, "cluster demo is Deleting");
  clock_.At(clock_.elapsed + seconds(20), [this] {
    for (const std::string& path : {kDemoWorker, kDemoService, kDemoRoot}) Delete(path);
  });
  EXPECT_EQ(Create().said, "cluster demo is created");
  ExpectComplete();
}

TEST_F(CreateTest, WhatFailsInPassingIsSentAgain) {
  Refuse("POST", "/deployments", 503, 0, 2);
  Refuse("PATCH", "/deployments/demo-w", 429, 0, 2);
  Refuse("PATCH", "/deployments/demo-m", 500, 0, 2);
  Refuse("PATCH", "/deployments/bob", 503, 0, 2);
  EXPECT_EQ(Create("deployment/bob", true).said, "cluster demo is created");
  ExpectComplete();
}

TEST_F(CreateTest, WhatFailsForTooLongStaysMarkedAndIsCompletedLater) {
  Refuse("PATCH", "/services/demo", 503);
  const DriverOutcome outcome = Create();
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_TRUE(outcome.error.ends_with(
      "; cluster demo stays marked as being created: say it again to complete it"))
      << outcome.error;
  EXPECT_EQ(MarkOf(kDemoRoot, "phase"), "creating");
  kubernetes_.GetFaults().Clear();
  clock_.elapsed += seconds(62);

  EXPECT_EQ(Create().exit, DriverExit::kDone);
  ExpectComplete();
}

// The answers to all writes are lost once, after they took effect.
TEST_F(CreateTest, LostAnswersAreNoInterruption) {
  for (const char* method : {"POST", "PATCH"}) {
    for (const char* path : {"/deployments?", "/demo-m?", "/demo-w?", "/services/demo?"}) {
      small_kubernetes::Fault fault;
      fault.method = method;
      fault.contains = path;
      fault.action = small_kubernetes::Fault::Action::kPass;
      fault.delay_after = seconds(11);
      kubernetes_.GetFaults().Add(fault);
    }
  }
  Command command(*this, "deployment/bob", true);
  command.order.timeout = minutes(5);
  const DriverOutcome outcome = command.Run();
  EXPECT_EQ(outcome.said, "cluster demo is created") << outcome.error;
  ExpectComplete();
}

// Somebody else would take it for gone.
TEST_F(CreateTest, ACreationThatTakesLongSaysThatItIsAtIt) {
  Refuse("PATCH", "/services/demo", 503);
  Command command(*this);
  command.order.timeout = minutes(4);
  DriverOutcome of_other;
  clock_.At(clock_.elapsed + seconds(100), [&] {
    of_other = Create();
    kubernetes_.GetFaults().Clear();
  });
  EXPECT_EQ(command.Run().said, "cluster demo is created");
  EXPECT_EQ(of_other.exit, DriverExit::kNotReady) << of_other.said;
  EXPECT_TRUE(of_other.error.starts_with("cluster demo is being created by cli/c1."))
      << of_other.error;
  ExpectComplete();
}

TEST_F(CreateTest, WhoWasTakenForGoneWritesNoMore) {
  Command command(*this);
  command.transport.before = [&](int) {
    if (!Exists(kDemoWorker) || Exists(kDemoService)) return;
    // Its machine is suspended, and somebody else begins anew.
    command.transport.before = nullptr;
    clock_.elapsed += seconds(62);
    Patch(kDemoRoot, R"({"metadata":{"annotations":{"cluster-watcher/created-by":"cli/x"}}})",
          kCreateManager);
  };
  const DriverOutcome outcome = command.Run();
  EXPECT_EQ(outcome.exit, DriverExit::kNotReady);
  EXPECT_EQ(outcome.error, "cluster demo is being created by cli/x");
  EXPECT_EQ(MarkOf(kDemoRoot, "phase"), "creating");
  EXPECT_FALSE(Exists(kDemoClaim));
  EXPECT_TRUE(Exists(kDemoWorker)) << "it is the other's by now";
}

TEST_F(CreateTest, ACondemnationIsNotTakenOff) {
  Command command(*this);
  command.transport.before = [&](int) {
    if (Exists(kDemoClaim) && MarkOf(kDemoRoot, "phase") == "creating") {
      Annotate(kDemoRoot, "phase", "condemned");
    }
  };
  const DriverOutcome outcome = command.Run();
  EXPECT_EQ(outcome.exit, DriverExit::kNotReady);
  EXPECT_EQ(outcome.error, "cluster demo is Condemned");
  EXPECT_EQ(MarkOf(kDemoRoot, "phase"), "condemned");
}

TEST_F(CreateTest, FieldsOfAnotherManagerAreNamed) {
  ASSERT_EQ(Create().exit, DriverExit::kDone);
  Patch(kDemoService, R"({"spec":{"ports":[{"port":7078}]}})", "kubectl");
  Delete(kDemoWorker);
  const DriverOutcome outcome = Create();
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_EQ(outcome.error,
            "service/demo: .spec.ports is managed by \"kubectl\": take it out of the file, or take "
            "it over by kubectl apply --server-side --field-manager=cluster-watcher-create "
            "--force-conflicts; say it again to complete cluster demo");
}

// What was posted is its own.
TEST_F(CreateTest, AMasterThatIsChangedInTheFileIsChanged) {
  ASSERT_EQ(Create().exit, DriverExit::kDone);
  Delete(kDemoWorker);
  Command command(*this);
  std::string file = kFile;
  file.replace(file.find("replicas: 1"), 11, "replicas: 0");
  command.SetFile(file);
  EXPECT_EQ(command.Run().exit, DriverExit::kDone);
  const auto root = JsonDocument::Parse(Read(kDemoRoot).body);
  EXPECT_EQ(root->root()["spec"]["replicas"].AsInteger(), 0);
}

TEST_F(CreateTest, AKindThatCanNotBeOfAClusterIsNamedBeforeAnythingIsWritten) {
  const std::pair<const char*, std::pair<DriverExit, const char*>> cases[] = {
      {"apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n",
       {DriverExit::kWrongUsage,
        "of no namespace, so of no cluster: Namespace x: create them by kubectl"}},
      {"apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: x}\n",
       {DriverExit::kFailed,
        "kinds that the API server doesn't serve: RayJob x is of ray.io/v1: install them first"}},
      {"apiVersion: ray.io/\nkind: RayJob\nmetadata: {name: x}\n",
       {DriverExit::kFailed,
        "kinds that the API server doesn't serve: RayJob x is of ray.io/: install them first"}}};
  for (const auto& [text, expected] : cases) {
    Command command(*this);
    command.SetFile(std::string(kFile) + "---\n" + text);
    const DriverOutcome outcome = command.Run();
    EXPECT_EQ(outcome.exit, expected.first);
    EXPECT_EQ(outcome.error, expected.second);
    EXPECT_TRUE(IsUntouched());
  }
}

TEST_F(CreateTest, WhatTheFileLacksIsSaid) {
  Command command(*this);
  const std::string file = kFile;
  command.SetFile(file.substr(file.find("---\n")));
  const DriverOutcome outcome = command.Run();
  EXPECT_EQ(outcome.exit, DriverExit::kDone);
  EXPECT_EQ(Joined(outcome.warnings),
            "cluster demo lacks a worker: nobody who awaits it will find it ready");
}

// Controllers write status all the time.
TEST_F(CreateTest, NewStatusIsNoConflict) {
  int writes = 0;
  Command command(*this, "deployment/bob", true);
  command.transport.before = [&](int count) {
    if (!Exists(kDemoRoot) || count % 3 != 0) return;
    kubernetes_.Admin("PATCH", kDemoRoot + "/status",
                      R"({"status":{"observedGeneration":)" + std::to_string(++writes) + "}}",
                      "application/merge-patch+json");
  };
  EXPECT_EQ(command.Run().said, "cluster demo is created");
}

// --- What is in use isn't cleared ---------------------------------------------------------------

constexpr const char* kForever = "2099-01-01T00:00:00Z";

// Killed before its mark is taken off: all is there, and alice wants it.
TEST_F(CreateTest, WhatIsBeingCreatedIsNotClaimedNorClearedIfAllIsThere) {
  MakeWorkload("alice", "");
  Command first(*this);
  first.transport.before = [&](int) {
    if (Exists(kDemoClaim)) first.Kill();
  };
  ASSERT_NE(first.Run().exit, DriverExit::kDone);
  ASSERT_EQ(MarkOf(kDemoRoot, "phase"), "creating");
  kubernetes_.Settle();
  const DriverTools tools{client_, discovery_, clock_, {}};
  const DriverOutcome claimed = Claim(tools, kDemo, *OwnerName::Parse("deployment/alice"), false);
  EXPECT_EQ(claimed.exit, DriverExit::kNotReady) << "claimed: " << claimed.said;
  EXPECT_EQ(LabelOf(kDeployments + "alice", "uses-oshinko-cluster"), "");
  clock_.elapsed += minutes(10);
  const std::string root = ObjectUid(kDemoRoot), worker = ObjectUid(kDemoWorker);
  const DriverOutcome again = Create();
  EXPECT_EQ(again.said, "cluster demo is created");
  EXPECT_EQ(ObjectUid(kDemoRoot), root);
  EXPECT_EQ(ObjectUid(kDemoWorker), worker);
  ExpectComplete();
}

// Whoever labels itself by hand, or holds the cluster, is heeded also where something lacks.
TEST_F(CreateTest, WhatAnInterruptedOneLeftStaysWhileItIsHeldOrUsed) {
  MakeWorkload("alice", "");
  ASSERT_EQ(Create().exit, DriverExit::kDone);
  Interrupt();
  const std::string root = ObjectUid(kDemoRoot), worker = ObjectUid(kDemoWorker);
  const auto expect_kept = [&](DriverExit exit, const std::string& why) {
    const DriverOutcome outcome = Create("deployment/bob", true);
    EXPECT_EQ(outcome.exit, exit) << outcome.said;
    EXPECT_NE(outcome.error.find(why), std::string::npos) << outcome.error;
    EXPECT_EQ(ObjectUid(kDemoRoot), root) << why;
    EXPECT_EQ(ObjectUid(kDemoWorker), worker) << why;
    clock_.elapsed += minutes(2);
  };
  const std::string ns = "/api/v1/namespaces/lab";
  Annotate(ns, "hold-until", kForever);
  expect_kept(DriverExit::kFailed, "hold-until on the namespace lab is 2099");
  Patch(ns, R"({"metadata":{"annotations":{"cluster-watcher/hold-until":"someday"}}})");
  expect_kept(DriverExit::kFailed, "\"someday\", which is not an RFC 3339 time and so holds");
  Patch(ns, R"({"metadata":{"annotations":{"cluster-watcher/hold-until":null}}})");
  Annotate(kDemoRoot, "hold-until", kForever);
  expect_kept(DriverExit::kFailed, "hold-until on the master root deployment.apps/demo-m");
  Patch(kDemoRoot, R"({"metadata":{"annotations":{"cluster-watcher/hold-until":null}}})");
  Label(kDeployments + "alice", R"("uses-oshinko-cluster":"demo")");
  expect_kept(DriverExit::kOthers, "is used by deployment.apps/alice");
  Label(kDeployments + "alice", R"("uses-oshinko-cluster":null)");
  EXPECT_EQ(Create("deployment/bob", true).said, "cluster demo is created");
  EXPECT_NE(ObjectUid(kDemoRoot), root);
}

// What `kubectl rollout undo` restores: the annotations of the ReplicaSet, to which the
// Deployment's were copied while it was created. Those that were taken off since are never taken
// off there.
TEST_F(CreateTest, AMarkThatAnUndoBringsBackCountsNoMore) {
  MakeWorkload("alice", "");
  Command first(*this);
  first.transport.before = [&](int) { kubernetes_.Settle(); };
  ASSERT_EQ(first.Run().exit, DriverExit::kDone);
  kubernetes_.Settle();
  ExpectComplete();
  const DriverTools tools{client_, discovery_, clock_, {}};
  ASSERT_EQ(Claim(tools, kDemo, *OwnerName::Parse("deployment/alice"), false).exit,
            DriverExit::kDone);
  const auto sets = JsonDocument::Parse(
      Read("/apis/apps/v1/namespaces/lab/replicasets?labelSelector=app%3Ddemo-m").body);
  std::string patch;
  sets->root()["items"].At(0)["metadata"]["annotations"].ForEachMember(
      [&](std::string_view key, JsonValue value) {
        if (!key.starts_with("cluster-watcher/")) return;
        patch += (patch.empty() ? "\"" : ",\"") + std::string(key) + "\":\"" +
                 std::string(value.AsString().value_or("")) + "\"";
      });
  ASSERT_NE(patch.find("creating"), std::string::npos) << patch;
  ASSERT_NE(patch.find(ObjectUid(kDemoRoot)), std::string::npos) << patch;
  clock_.elapsed += std::chrono::hours(100);
  Patch(kDemoRoot, R"({"metadata":{"annotations":{)" + patch + "}}}", "kubectl-rollout");
  ASSERT_EQ(MarkOf(kDemoRoot, "phase"), "creating");
  clock_.elapsed += minutes(2);
  kubernetes_.Settle();
  EXPECT_EQ(Await(tools, kDemo, *OwnerName::Parse("deployment/alice"), seconds(0)).exit,
            DriverExit::kDone);
  const std::string root = ObjectUid(kDemoRoot), worker = ObjectUid(kDemoWorker);
  EXPECT_EQ(Create().said, "cluster demo exists");
  Delete(kDemoService);
  EXPECT_EQ(Create().said, "cluster demo is completed");
  EXPECT_EQ(ObjectUid(kDemoRoot), root) << "alice uses it";
  EXPECT_EQ(ObjectUid(kDemoWorker), worker);
}

// Two commands of one pod (two containers, or a wrapper that says it twice): the first one ends,
// and uses the cluster, while the second one looks.
TEST_F(CreateTest, TheSecondOfAPodDoesNotClearWhatTheFirstHasFinished) {
  for (int n = 0; n < 60; ++n) {
    SCOPED_TRACE("finished before request " + std::to_string(n));
    World world;
    world.MakePod("driver");
    const WatcherId pod{"driver", world.ObjectUid(kNs + "pods/driver")};
    Command first(world);
    first.order.creator = pod;
    first.transport.before = [&](int) {
      if (world.Exists(kDemoClaim)) first.Kill();
    };
    ASSERT_NE(first.Run().exit, DriverExit::kDone);
    Command second(world);
    second.order.creator = pod;
    std::string root, worker;
    second.transport.before = [&](int count) {
      if (count != n) return;
      for (const std::string& path : {kDemoRoot, kDemoWorker, kDemoService}) {
        if (!world.Exists(path)) return;
        if (world.Read(path).body.find("deletionTimestamp") != std::string::npos) return;
      }
      root = world.ObjectUid(kDemoRoot);
      worker = world.ObjectUid(kDemoWorker);
      // What the first one's last request does.
      world.Patch(kDemoRoot,
                  R"({"metadata":{"annotations":{"cluster-watcher/phase":null,)"
                  R"("cluster-watcher/created-by":"complete"}}})",
                  kCreateManager);
    };
    second.Run();
    if (root.empty()) continue;
    EXPECT_EQ(world.ObjectUid(kDemoRoot), root) << "it was complete, and in use";
    EXPECT_EQ(world.ObjectUid(kDemoWorker), worker) << "it was complete, and in use";
  }
}

// Somebody deletes the cluster while it is created, and is told that it is deleted.
TEST_F(CreateTest, WhatIsAppliedBehindADeletionIsNotLeft) {
  Command command(*this, "deployment/bob", true);
  kubernetes_.on_request = [&, done = false](const small_kubernetes::Request& request,
                                             const small_kubernetes::User&) mutable {
    if (done || request.method != "PATCH" || !request.target.starts_with(kDemoWorker)) return;
    done = true;
    Delete(kDemoRoot);
    kubernetes_.Settle();
  };
  const DriverOutcome outcome = command.Run();
  kubernetes_.on_request = nullptr;
  kubernetes_.Settle();
  ASSERT_FALSE(Exists(kDemoRoot));
  EXPECT_FALSE(Exists(kDemoWorker) || Exists(kDemoService))
      << "left without a master and an owner: no sweep deletes it";
  EXPECT_EQ(outcome.exit, DriverExit::kNotReady);
  EXPECT_EQ(outcome.error, "cluster demo is gone: it was deleted while it was created");
}

// What the garbage collector takes along with a worker that is cleared.
TEST_F(CreateTest, ClearingTakesNoClaimAndNothingKeptAlong) {
  ASSERT_EQ(Create().exit, DriverExit::kDone);
  const std::string owner = R"({"metadata":{"ownerReferences":[{"apiVersion":"apps/v1",)"
                            R"("kind":"Deployment","name":"demo-w","uid":")" +
                            ObjectUid(kDemoWorker) + R"("}]}})";
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"ConfigMap",)" +
                    Meta("kept", R"(,"labels":{"oshinko-cluster":"demo"},)"
                                 R"("annotations":{"cluster-watcher/keep":"true"})") +
                    "}");
  Patch(kDemoClaim, owner);
  Patch(kMaps + std::string("/kept"), owner);
  kubernetes_.Settle();
  const std::string claim = ObjectUid(kDemoClaim);
  Interrupt();
  EXPECT_EQ(Create().exit, DriverExit::kDone);
  kubernetes_.Settle();
  EXPECT_TRUE(Exists(kDemoClaim) && ObjectUid(kDemoClaim) == claim) << "its data is lost";
  EXPECT_TRUE(Exists(kMaps + std::string("/kept")));
}

// Those that are owned by what a remnant controls, too.
TEST_F(CreateTest, ClearingLetsGoOfWhatIsFurtherBelow) {
  ASSERT_EQ(Create().exit, DriverExit::kDone);
  kubernetes_.Settle();
  const auto sets = JsonDocument::Parse(
      Read("/apis/apps/v1/namespaces/lab/replicasets?labelSelector=app%3Ddemo-w").body);
  const JsonValue set = sets->root()["items"].At(0)["metadata"];
  Patch(kDemoClaim,
        R"({"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":")" +
            std::string(*set["name"].AsString()) + R"(","uid":")" +
            std::string(*set["uid"].AsString()) + R"("}]}})");
  const std::string claim = ObjectUid(kDemoClaim);
  Interrupt();
  EXPECT_EQ(Create().exit, DriverExit::kDone);
  kubernetes_.Settle();
  EXPECT_EQ(ObjectUid(kDemoClaim), claim);
}

TEST_F(CreateTest, AClaimThatIsTakenOverIsNoLongerLeftToASweep) {
  MakeClaim(R"("oshinko-cluster":"demo")");
  Annotate(kDemoClaim, "root-uid", ObjectUid(kDemoClaim));
  Annotate(kDemoClaim, "collect-after", "2026-01-01T00:00:00Z");
  Annotate(kDemoClaim, "collect-of", "oshinko-cluster=demo");
  EXPECT_EQ(Create().exit, DriverExit::kDone);
  EXPECT_EQ(MarkOf(kDemoClaim, "collect-after") + MarkOf(kDemoClaim, "collect-of"), "");
}

// Somebody who doesn't know of us deletes what was taken over.
TEST_F(CreateTest, WhatWasTakenOverAndIsGoneByTheEndIsMadeAnew) {
  file_ += "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: $(CLUSTER)-conf}\n";
  const std::string conf = kMaps + std::string("/demo-conf");
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"ConfigMap",)" +
                    Meta("demo-conf", R"(,"labels":{"oshinko-cluster":"demo"})") + "}");
  Command command(*this);
  bool is_deleted = false;
  command.transport.before = [&](int) {
    const bool is_taken_over = Read(conf).body.find(kCreateManager) != std::string::npos;
    if (is_deleted || !is_taken_over || LabelOf(kDemoClaim, "oshinko-cluster").empty()) return;
    is_deleted = true;
    Delete(conf);
  };
  EXPECT_EQ(command.Run().said, "cluster demo is created");
  EXPECT_TRUE(is_deleted);
  ExpectComplete();
  EXPECT_TRUE(Exists(conf));
}

// A sweep, which lists before.
TEST_F(CreateTest, WhatIsLeftAndBeingDeletedIsWaitedFor) {
  MakeWorkload("demo-w", R"("oshinko-cluster":"demo","oshinko-type":"worker",)");
  Annotate(kDemoWorker, "root-uid", ObjectUid(kDemoWorker));
  Annotate(kDemoWorker, "phase", "deleting");
  const DriverOutcome outcome = Create();
  EXPECT_EQ(outcome.exit, DriverExit::kNotReady);
  EXPECT_EQ(outcome.error, "cluster demo is Deleting");
  EXPECT_FALSE(Exists(kDemoRoot));
}

// Somebody deletes the root by hand, and another command adopts what the first one has made.
TEST_F(CreateTest, WhatAnotherHasAdoptedIsNotTakenFromIt) {
  Command command(*this);
  DriverOutcome other;
  bool done = false;
  std::string worker, root;
  command.transport.before = [&](int) {
    if (done || !Exists(kDemoWorker) || Exists(kDemoService)) return;
    done = true;
    Delete(kDemoRoot);
    kubernetes_.Settle();
    other = Create();
    kubernetes_.Settle();
    worker = ObjectUid(kDemoWorker);
    root = ObjectUid(kDemoRoot);
    clock_.elapsed += seconds(5);
  };
  const DriverOutcome outcome = command.Run();
  kubernetes_.Settle();
  EXPECT_EQ(other.said, "cluster demo is created") << other.error;
  ASSERT_TRUE(done);
  ASSERT_TRUE(Exists(kDemoRoot));
  EXPECT_EQ(ObjectUid(kDemoRoot), root);
  EXPECT_TRUE(Exists(kDemoWorker))
      << "the other's worker is gone: " << outcome.error << " / " << Joined(command.said);
  EXPECT_TRUE(Exists(kDemoService)) << "the other's service is gone";
}

// All of it is the other's own, and the first one applies it once more.
TEST_F(CreateTest, WhatAnotherHasMadeIsNotTakenFromIt) {
  Command command(*this);
  DriverOutcome other;
  bool done = false;
  command.transport.before = [&](int) {
    if (done || !Exists(kDemoRoot) || MarkOf(kDemoRoot, "root-uid").empty() || Exists(kDemoWorker))
      return;
    done = true;
    Delete(kDemoRoot);
    kubernetes_.Settle();
    other = Create();
    kubernetes_.Settle();
    clock_.elapsed += seconds(5);
  };
  const DriverOutcome outcome = command.Run();
  kubernetes_.Settle();
  EXPECT_EQ(other.said, "cluster demo is created") << other.error;
  ASSERT_TRUE(done);
  ASSERT_TRUE(Exists(kDemoRoot));
  EXPECT_TRUE(Exists(kDemoWorker))
      << "the other's worker is gone: " << outcome.error << " / " << Joined(command.said);
  EXPECT_TRUE(Exists(kDemoService)) << "the other's service is gone";
}

// A claim of somebody else's, whose owner may not be read.
TEST_F(CreateTest, AStrangersClaimHoldsNoClearingUp) {
  ASSERT_EQ(Create().exit, DriverExit::kDone);
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Secret",)" + Meta("pg") + "}");
  kubernetes_.Apply(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" +
      Meta("pg-1", R"(,"ownerReferences":[{"apiVersion":"v1","kind":"Secret","name":"pg","uid":")" +
                       ObjectUid("/api/v1/namespaces/lab/secrets/pg") + R"("}])") +
      R"(,"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})");
  Refuse("GET", "/secrets/pg", 403);
  Interrupt();
  const DriverOutcome o = Create();
  EXPECT_EQ(o.exit, DriverExit::kDone) << o.error;
}

// `kubectl replace --force` of the root.
TEST_F(CreateTest, ARootThatIsReplacedMeanwhileTakesNothingAlong) {
  Command command(*this);
  bool done = false;
  command.transport.before = [&](int) {
    if (done || !Exists(kDemoClaim)) return;
    done = true;
    Delete(kDemoRoot);
    kubernetes_.Settle();
    MakeWorkload("demo-m", R"("oshinko-cluster":"demo","oshinko-type":"master",)");
    kubernetes_.Settle();
  };
  const DriverOutcome outcome = command.Run();
  kubernetes_.Settle();
  ASSERT_TRUE(done);
  EXPECT_TRUE(Exists(kDemoRoot));
  EXPECT_TRUE(Exists(kDemoWorker))
      << outcome.said << outcome.error << " / " << Joined(command.said);
}

// By a sweep that was killed, or gave up.
TEST_F(CreateTest, OldMarksOnWhatIsLeftAreNotWaitedFor) {
  const auto lose_master = [&] {
    ASSERT_EQ(Create().exit, DriverExit::kDone);
    Delete(kDemoRoot);
    kubernetes_.Settle();
    Annotate(kDemoWorker, "root-uid", ObjectUid(kDemoWorker));
    Annotate(kDemoWorker, "condemned-by", "cli/dead");
  };
  lose_master();
  Annotate(kDemoWorker, "deleting-since", FormatTime(clock_.WallNow()));
  Annotate(kDemoWorker, "phase", "deleting");
  EXPECT_EQ(Create().exit, DriverExit::kNotReady);
  clock_.elapsed += std::chrono::hours(24);
  lose_master();
  Annotate(kDemoWorker, "deleting-since", FormatTime(clock_.WallNow()));
  Annotate(kDemoWorker, "condemned-by", "a-pod/that-is-gone");
  Annotate(kDemoWorker, "phase", "deleting");
  lose_master();
  Annotate(kDemoWorker, "phase", "condemned");
  EXPECT_EQ(Create().exit, DriverExit::kDone) << "a condemnation is over in seconds";
}

TEST_F(CreateTest, WhatIsMadeWhileTheRootTerminatesIsNotLeft) {
  Command command(*this, "deployment/bob", true);
  bool done = false;
  command.transport.before = [&](int) {
    if (done || !Exists(kDemoClaim)) return;
    done = true;
    Patch(kDemoRoot, R"({"metadata":{"finalizers":["a.b/c"]}})");
    Delete(kDemoRoot);
  };
  const DriverOutcome outcome = command.Run();
  Patch(kDemoRoot, R"({"metadata":{"finalizers":null}})");
  kubernetes_.Settle();
  EXPECT_FALSE(Exists(kDemoWorker)) << outcome.said << outcome.error;
  EXPECT_FALSE(Exists(kDemoRoot)) << "made again";
}

// While one clears what an interrupted creation left, another runs from beginning to end; what that
// has made stays. Who clears may be suspended meanwhile.
void ExpectTheOthersStays(Duration suspended) {
  for (int n = 0;; ++n) {
    SCOPED_TRACE("before request " + std::to_string(n));
    World world;
    World::Command first(world, "deployment/bob", true);
    first.transport.before = [&](int) {
      if (world.Exists(kDemoService)) first.Kill();
    };
    ASSERT_EQ(first.Run().exit, DriverExit::kFailed);
    world.clock_.elapsed += seconds(62);
    World::Command clears(world, "deployment/bob", true);
    World::Command other(world, "deployment/bob", true);
    DriverOutcome of_other;
    std::string root, worker;
    clears.transport.before = [&](int count) {
      if (count != n) return;
      world.kubernetes_.Settle();
      world.clock_.suspended += suspended;
      of_other = other.Run();
      if (of_other.exit != DriverExit::kDone) return;
      root = world.ObjectUid(kDemoRoot);
      worker = world.ObjectUid(kDemoWorker);
    };
    clears.Run();
    if (!root.empty()) {
      EXPECT_EQ(world.ObjectUid(kDemoRoot), root)
          << of_other.said << ": it was complete, and in use";
      EXPECT_EQ(world.ObjectUid(kDemoWorker), worker) << of_other.said;
    }
    if (suspended == Duration(0)) world.ExpectComplete();
    if (other.transport.count == 0) break;
  }
}

TEST_F(CreateTest, WhatIsCreatedWhileAnotherClearsStays) { ExpectTheOthersStays(Duration(0)); }

TEST_F(CreateTest, WhoWasSuspendedWhileItClearsDeletesNothingOfTheNext) {
  ExpectTheOthersStays(seconds(122));
}

// Its root was deleted, so it deletes what it has made; while its machine is suspended another
// adopts that, with a master of the same name or of another.
TEST_F(CreateTest, WhoWasSuspendedWhileItTidiesUpTakesNothingOfTheNext) {
  const std::string master = "metadata: {name: $(CLUSTER)-m}";
  for (const std::string& name : {std::string("demo-m"), std::string("demo-x")}) {
    bool is_over = false;
    for (int n = 0; !is_over; ++n) {
      SCOPED_TRACE(name + ", before request " + std::to_string(n));
      World world;
      Command command(world);
      Command other(world);
      std::string file = world.file_;
      file.replace(file.find(master), master.size(), "metadata: {name: " + name + "}");
      other.SetFile(file);
      std::optional<int> begin;
      std::string worker;
      command.transport.before = [&](int count) {
        if (!begin && world.Exists(kDemoWorker) && !world.Exists(kDemoService)) {
          world.Delete(kDemoRoot);
          world.kubernetes_.Settle();
          begin = count;
        }
        if (!begin || count != *begin + n) return;
        world.clock_.suspended += seconds(20);
        const DriverOutcome of_other = other.Run();
        world.kubernetes_.Settle();
        if (of_other.exit == DriverExit::kDone) worker = world.ObjectUid(kDemoWorker);
      };
      command.Run();
      is_over = other.transport.count == 0;
      world.kubernetes_.Settle();
      if (!worker.empty()) {
        EXPECT_TRUE(world.Exists(kDeployments + name));
        EXPECT_TRUE(world.Exists(kDemoService));
        ASSERT_TRUE(world.Exists(kDemoWorker));
        EXPECT_EQ(world.ObjectUid(kDemoWorker), worker);
      }
    }
  }
}

// An API server that takes long for each answer to eight requests side by side.
std::function<void(std::size_t)> Slowly(World& world, Duration each) {
  return [&world, each](std::size_t requests) {
    world.clock_.elapsed += each * ((requests + 7) / 8);
    world.kubernetes_.Settle();
  };
}

TEST_F(CreateTest, WhatAnInterruptedOneLeftGoesBySlowAnswersToo) {
  const std::string set = R"(---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: $(CLUSTER)-s}
spec:
  replicas: 1
  serviceName: x
  selector: {matchLabels: {app: $(CLUSTER)-s}}
  template:
    metadata: {labels: {app: $(CLUSTER)-s}}
    spec: {containers: [{name: w, image: spark}]}
  volumeClaimTemplates:
  - metadata: {name: d}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
)";
  struct Case {
    Duration each;
    int strangers;  // claims of other operators
  };
  for (const Case& slow :
       {Case{Duration(3'500), 0}, Case{Duration(1'200), 10}, Case{Duration(300), 60}}) {
    SCOPED_TRACE(slow.each.count());
    World world;
    world.file_ += set;
    Command first(world, "deployment/bob", true);
    first.transport.before = [&](int) {
      if (world.Exists("/apis/apps/v1/namespaces/lab/statefulsets/demo-s")) first.Kill();
    };
    ASSERT_EQ(first.Run().exit, DriverExit::kFailed);
    world.file_ += "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: $(CLUSTER)-z}\n";
    for (int i = 0; i < slow.strangers; ++i) {
      const std::string name = "db" + std::to_string(i);
      world.kubernetes_.Apply(R"({"apiVersion":"v1","kind":"ConfigMap",)" + Meta(name) + "}");
      world.kubernetes_.Apply(
          R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" +
          Meta(name, R"(,"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":")" +
                         name + R"(","uid":")" + world.ObjectUid(kNs + "configmaps/" + name) +
                         R"("}])") +
          R"(,"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})");
    }
    world.clock_.elapsed += seconds(62);
    Command clears(world, "deployment/bob", true);
    clears.order.timeout = minutes(4);
    clears.transport.round = Slowly(world, slow.each);
    const DriverOutcome outcome = clears.Run();
    EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
  }
}

TEST_F(CreateTest, WhatWasMadeBehindADeletionGoesBySlowAnswersToo) {
  for (const Duration each : {Duration(800), Duration(1'500), Duration(2'500)}) {
    SCOPED_TRACE(each.count());
    World world;
    Command command(world, "deployment/bob", true);
    bool is_done = false;
    command.transport.before = [&](int) {
      if (is_done || !world.Exists(kDemoService)) return;
      is_done = true;
      world.Delete(kDemoRoot);
      world.clock_.elapsed += seconds(16);
    };
    command.transport.round = Slowly(world, each);
    command.order.timeout = minutes(3);
    const DriverOutcome outcome = command.Run();
    world.kubernetes_.Settle();
    EXPECT_FALSE(world.Exists(kDemoWorker) || world.Exists(kDemoService)) << outcome.error;
  }
}

}  // namespace
}  // namespace cluster_watcher
