#include "watcher/driver/create.h"

#include <gtest/gtest.h>

#include <functional>

#include "probes/base/names.h"
#include "test/unit/support/lab.h"
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
    for (const HttpRequest& request : requests) {
      if (before) before(count);
      ++count;
      if (kill_.stop_requested()) stop = kill_.get_token();
      results.push_back(std::move(transport_.Perform({&request, 1}, 1, stop).front()));
    }
    return results;
  }

  std::function<void(int)> before;
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
      SetFile(kFile);
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
    EXPECT_EQ(MarkOf(kDemoRoot, "phase") + MarkOf(kDemoRoot, "created-by"), "");
    EXPECT_EQ(MarkOf(kDemoRoot, "root-uid"), ObjectUid(kDemoRoot));
    const auto view = ReadClusterView(client_, discovery_, kDemo, {});
    ASSERT_TRUE(view);
    EXPECT_STREQ(ToString(view->status), "Running");
  }
  // As if a command had not come to the end, and a minute had passed.
  void Interrupt() {
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
        "kinds that the API server doesn't serve: RayJob x is of ray.io/v1: install them first"}}};
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

}  // namespace
}  // namespace cluster_watcher
