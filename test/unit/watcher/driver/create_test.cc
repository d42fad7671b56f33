#include "watcher/driver/create.h"

#include <gtest/gtest.h>

#include <functional>

#include "probes/base/names.h"
#include "test/unit/support/lab.h"
#include "watcher/driver/claim.h"

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
const ClusterId kDemo{"lab", DefaultProfile(), "demo"};

// Shows each request before it is sent. After a kill none is sent any more.
class WatchedTransport final : public Transport {
 public:
  WatchedTransport(Transport& transport, std::stop_source& kill)
      : transport_(transport), kill_(kill) {}

  std::vector<HttpResult> Perform(std::span<const HttpRequest> requests, std::size_t,
                                  std::stop_token stop) override {
    std::vector<HttpResult> results;
    for (const HttpRequest& request : requests) {
      if (before) before(request);
      if (kill_.stop_requested()) stop = kill_.get_token();
      results.push_back(std::move(transport_.Perform({&request, 1}, 1, stop).front()));
    }
    return results;
  }

  std::function<void(const HttpRequest&)> before;

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
      const auto objects =
          ReadClusterFiles(std::vector<ManifestFile>{{"c.yaml", world.file_}}, kDemo);
      EXPECT_TRUE(objects) << (objects ? "" : Joined(objects.error()));
      if (objects) order.objects = objects->objects;
      order.cluster = kDemo;
      if (!app.empty()) order.app = *OwnerName::Parse(app);
      order.ephemeral = ephemeral;
      order.timeout = minutes(1);
      order.say = [this](const std::string& line) { said.push_back(line); };
    }
    DriverOutcome Run() {
      TokenSource tokens(world_.server_, world_.clock_);
      KubeClient client(transport, tokens, [](const RequestRecord&) {});
      Discovery discovery(client);
      const DriverTools tools{client, discovery, world_.clock_, kill_.get_token()};
      return cluster_watcher::Create(tools, order);
    }
    void Kill() { kill_.request_stop(); }
    // Lets something happen once, right before the object of this path is posted.
    void BeforePostOf(const std::string& name, std::function<void()> happens) {
      transport.before = [name, happens = std::move(happens),
                          done = false](const HttpRequest& request) mutable {
        const bool is_it = request.method == HttpMethod::kPost &&
                           request.body.find("\"name\":\"" + name + "\"") != std::string::npos;
        if (is_it && !std::exchange(done, true)) happens();
      };
    }

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
  // Makes a cluster and takes its worker away.
  void CreateIncomplete(const std::string& app = "", bool ephemeral = false) {
    ASSERT_EQ(Create(app, ephemeral).exit, DriverExit::kDone);
    Delete(kDemoWorker);
    kubernetes_.Settle();
  }

  std::string Field(const std::string& path, const std::string& map, const std::string& key) {
    const auto object = JsonDocument::Parse(Read(path).body);
    return std::string(object->root()["metadata"][map][key].AsString().value_or(""));
  }
  std::string LabelOf(const std::string& path, const std::string& label) {
    return Field(path, "labels", label);
  }
  std::string AnnotationOf(const std::string& path, const std::string& name) {
    return Field(path, "annotations", "cluster-watcher/" + name);
  }
  void Label(const std::string& path, const std::string& label) {
    Patch(path, R"({"metadata":{"labels":{)" + label + "}}}");
  }
  void Patch(const std::string& path, const std::string& body) {
    const auto answer = kubernetes_.Admin("PATCH", path, body, "application/merge-patch+json");
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
  void MakeClaim(const std::string& labels) {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" +
                      Meta("demo-data", R"(,"labels":{)" + labels + "}") +
                      R"(,"spec":{"accessModes":["ReadWriteOnce"],)"
                      R"("resources":{"requests":{"storage":"1Gi"}}}})");
  }
  void Condemn(const std::string& root = kDemoRoot) {
    Annotate(root, "root-uid", ObjectUid(root));
    Annotate(root, "phase", "condemned");
  }

  // All of the file is there, and nothing of ours beside it.
  void ExpectComplete() {
    for (const std::string& path : {kDemoRoot, kDemoWorker, kDemoService, kDemoClaim}) {
      EXPECT_TRUE(Exists(path)) << path;
      EXPECT_EQ(Read(path).body.find("ownerReferences"), std::string::npos) << path;
    }
    EXPECT_EQ(AnnotationOf(kDemoRoot, "phase") + AnnotationOf(kDemoRoot, "root-uid"), "");
    const auto view = ReadClusterView(client_, discovery_, kDemo, {});
    ASSERT_TRUE(view);
    EXPECT_STREQ(ToString(view->status), "Running");
  }
  bool IsUntouched() { return !Exists(kDemoRoot) && !Exists(kDemoWorker) && !Exists(kDemoService); }

  using Lab::Annotate;
  using Lab::clock_;
  using Lab::Delete;
  using Lab::Exists;
  using Lab::kubernetes_;
  using Lab::ObjectUid;
  using Lab::Read;

  std::string file_ = kFile;
};

class CreateTest : public testing::Test, protected World {};

TEST_F(CreateTest, MakesWhatTheFileSaysTheMasterFirst) {
  Command command(*this, "deployment/bob", true);
  const DriverOutcome outcome = command.Run();
  EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
  EXPECT_EQ(outcome.said, "cluster demo is created");
  EXPECT_TRUE(outcome.warnings.empty()) << Joined(outcome.warnings);
  EXPECT_EQ(command.said,
            (std::vector<std::string>{"deployment.apps/demo-m created",
                                      "persistentvolumeclaim/demo-data created",
                                      "deployment.apps/demo-w created", "service/demo created"}));
  ExpectComplete();
  for (const std::string& path : {kDemoRoot, kDemoWorker, kDemoService, kDemoClaim}) {
    EXPECT_EQ(LabelOf(path, "oshinko-cluster"), "demo") << path;
  }
  EXPECT_EQ(LabelOf(kDemoRoot, "ephemeral"), "bob");
  EXPECT_EQ(AnnotationOf(kDemoRoot, "owner"), "deployment.apps/bob");
  EXPECT_EQ(LabelOf(kDriver, "uses-oshinko-cluster"), "demo");
  const auto root = JsonDocument::Parse(Read(kDemoRoot).body);
  EXPECT_EQ(root->root()["spec"]["template"]["metadata"].ToText(),
            R"({"labels":{"app":"demo-m","oshinko-type":"master","oshinko-cluster":"demo"}})");
}

TEST_F(CreateTest, WhatIsCompleteIsUsedAsItIs) {
  ASSERT_EQ(Create("deployment/bob").said, "cluster demo is created, and shared");
  Delete(kDemoClaim);
  EXPECT_EQ(Create().said, "cluster demo exists");
  EXPECT_EQ(Create("deployment/bob").said, "cluster demo is ready, and shared");
  Label(kDriver, R"("uses-oshinko-cluster":null)");
  const DriverOutcome outcome = Create("deployment/bob", true);
  EXPECT_EQ(outcome.exit, DriverExit::kDone);
  EXPECT_EQ(Joined(outcome.warnings), "cluster demo is shared, and stays so");
  EXPECT_EQ(LabelOf(kDriver, "uses-oshinko-cluster"), "demo");
  EXPECT_EQ(LabelOf(kDemoRoot, "ephemeral") + AnnotationOf(kDemoRoot, "owner"), "");
  EXPECT_FALSE(Exists(kDemoClaim));
}

TEST_F(CreateTest, WhatIsNotTheClustersIsNamedBeforeAnythingIsWritten) {
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Service",)" + Meta("demo") +
                    R"(,"spec":{"ports":[{"port":1}]}})");
  MakeClaim(R"("oshinko-cluster":"spark")");
  const DriverOutcome outcome = Create("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_EQ(outcome.error,
            "not of the cluster demo, but there already: persistentvolumeclaim/demo-data; "
            "service/demo: give other names, or label them oshinko-cluster=demo");
  EXPECT_FALSE(Exists(kDemoRoot));
  EXPECT_EQ(LabelOf(kDriver, "uses-oshinko-cluster"), "");
}

TEST_F(CreateTest, AClaimWithoutALabelIsTakenAsItIs) {
  MakeClaim("");
  const std::string before = Read(kDemoClaim).body;
  EXPECT_EQ(Create().exit, DriverExit::kDone);
  ExpectComplete();
  EXPECT_EQ(Read(kDemoClaim).body, before);
}

// Whoever says it, and without writing what is there.
TEST_F(CreateTest, KilledAnywhereItIsCompletedByTheNext) {
  bool came_to_the_end = false;
  for (int n = 0; !came_to_the_end && !HasFailure(); ++n) {
    SCOPED_TRACE("killed before request " + std::to_string(n));
    World world;
    Command first(world, "deployment/bob", true);
    int count = 0;
    first.transport.before = [&](const HttpRequest&) {
      if (count++ == n) first.Kill();
    };
    came_to_the_end = first.Run().exit == DriverExit::kDone;
    std::string before;
    if (world.Exists(kDemoRoot)) before = world.Read(kDemoRoot).body;
    const DriverOutcome outcome = world.Create("deployment/bob", true);
    EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
    world.ExpectComplete();
    EXPECT_EQ(world.AnnotationOf(kDemoRoot, "owner"), "deployment.apps/bob");
    EXPECT_TRUE(before.empty() || world.Read(kDemoRoot).body == before);
  }
}

TEST_F(CreateTest, OfTwoAtOnceEachObjectIsMadeOnce) {
  for (const char* name : {"demo-m", "demo-data", "demo-w", "demo"}) {
    SCOPED_TRACE(name);
    World world;
    Command first(world, "deployment/bob", true);
    first.BeforePostOf(
        name, [&] { EXPECT_EQ(world.Create("deployment/bob", true).exit, DriverExit::kDone); });
    const DriverOutcome outcome = first.Run();
    EXPECT_EQ(outcome.said, "cluster demo is ready") << outcome.error;
    world.ExpectComplete();
  }
}

TEST_F(CreateTest, ASharedOneThatWasInterruptedIsCompleted) {
  CreateIncomplete("deployment/bob");
  const std::string root = Read(kDemoRoot).body;
  Command command(*this, "deployment/bob");
  EXPECT_EQ(command.Run().said, "cluster demo is completed, and shared");
  EXPECT_EQ(Joined(command.said), "deployment.apps/demo-w created");
  ExpectComplete();
  EXPECT_EQ(Read(kDemoRoot).body, root);
}

// It would be deleted with the driver.
TEST_F(CreateTest, ASharedOneIsNotCompletedForAnEphemeralOne) {
  CreateIncomplete();
  const DriverOutcome outcome = Create("deployment/bob", true);
  EXPECT_EQ(outcome.exit, DriverExit::kNotReady);
  EXPECT_EQ(outcome.error, "cluster demo lacks a worker");
  EXPECT_FALSE(Exists(kDemoWorker));
  EXPECT_EQ(LabelOf(kDemoRoot, "ephemeral"), "");
}

TEST_F(CreateTest, WhatSomebodyElseHasMadeIsWaitedFor) {
  MakeWorkload("demo-m", R"("oshinko-cluster":"demo","oshinko-type":"master",)");
  EXPECT_EQ(Create().exit, DriverExit::kNotReady);
  EXPECT_FALSE(Exists(kDemoWorker));
  // `create` has made it, but for another application.
  Delete(kDemoRoot);
  MakeWorkload("alice", "");
  CreateIncomplete("deployment/alice", true);
  EXPECT_EQ(Create("deployment/bob").exit, DriverExit::kOthers);
  EXPECT_EQ(Create().exit, DriverExit::kNotReady);
  EXPECT_FALSE(Exists(kDemoWorker));
}

TEST_F(CreateTest, WhatAnotherUsesIsNotAddedTo) {
  MakeWorkload("alice", "");
  CreateIncomplete("deployment/alice");
  const DriverOutcome outcome = Create("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kNotReady);
  EXPECT_EQ(outcome.error, "cluster demo is used by deployment.apps/alice");
  EXPECT_FALSE(Exists(kDemoWorker));
  EXPECT_EQ(Create("deployment/alice").exit, DriverExit::kDone);
}

TEST_F(CreateTest, AMasterOfAnotherNameIsNotJoinedByASecond) {
  MakeWorkload("other-m", R"("oshinko-cluster":"demo","oshinko-type":"master",)");
  Annotate("/apis/apps/v1/namespaces/lab/deployments/other-m", "owner", "deployment.apps/bob");
  const DriverOutcome outcome = Create("deployment/bob", true);
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
  EXPECT_EQ(LabelOf(kDemoRoot, "ephemeral") + AnnotationOf(kDemoRoot, "owner"), "");
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
  EXPECT_EQ(Create("deployment/bob").exit, DriverExit::kOthers);
  EXPECT_TRUE(IsUntouched());
  // It says so of another only now, which isn't made yet.
  Label(kDriver, R"("uses-oshinko-cluster":null)");
  Command command(*this, "deployment/bob", true);
  command.transport.before = [&](const HttpRequest& request) {
    if (request.method == HttpMethod::kPatch) Label(kDriver, R"("uses-oshinko-cluster":"next")");
  };
  EXPECT_EQ(command.Run().exit, DriverExit::kOthers);
  EXPECT_TRUE(IsUntouched());
  EXPECT_EQ(LabelOf(kDriver, "uses-oshinko-cluster"), "next");
}

// Nobody would see that it uses a shared one.
TEST_F(CreateTest, AnOwnerOfAnUnknownKindHasEphemeralClustersOnly) {
  DefineKind("example.com", "Robot", "robots", "robot");
  kubernetes_.Apply(R"({"apiVersion":"example.com/v1","kind":"Robot",)" + Meta("bob") + "}");
  EXPECT_EQ(Create("robot.example.com/bob").exit, DriverExit::kWrongUsage);
  EXPECT_TRUE(IsUntouched());
  EXPECT_EQ(Create("robot.example.com/bob", true).exit, DriverExit::kDone);
  EXPECT_EQ(AnnotationOf(kDemoRoot, "owner"), "robot.example.com/bob");
}

TEST_F(CreateTest, WhatIsCondemnedOrGoesIsWaitedForAndThenCreated) {
  CreateIncomplete("deployment/bob", true);
  const std::string uid = ObjectUid(kDemoRoot);
  Condemn();
  EXPECT_EQ(Create("deployment/bob", true).error, "cluster demo is Condemned");
  Annotate(kDemoRoot, "phase", "deleting");
  EXPECT_EQ(Create("deployment/bob", true).error, "cluster demo is Deleting");
  Patch(kDemoService, R"({"metadata":{"finalizers":["example.com/held"]}})");
  Delete(kDemoRoot);
  Delete(kDemoService);
  EXPECT_EQ(Create("deployment/bob", true).error, "cluster demo is still being deleted");
  EXPECT_FALSE(Exists(kDemoRoot));
  clock_.At(clock_.elapsed + seconds(20),
            [this] { Patch(kDemoService, R"({"metadata":{"finalizers":null}})"); });
  EXPECT_EQ(Create("deployment/bob", true).said, "cluster demo is created");
  ExpectComplete();
  EXPECT_NE(ObjectUid(kDemoRoot), uid);
}

TEST_F(CreateTest, WhatIsLeftOfAnEarlierOneIsTakenAsItIs) {
  ASSERT_EQ(Create().exit, DriverExit::kDone);
  const std::string worker = ObjectUid(kDemoWorker);
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"ConfigMap",)" +
                    Meta("notes", R"(,"labels":{"oshinko-cluster":"demo"})") + "}");
  Delete(kDemoRoot);
  kubernetes_.Settle();
  const DriverOutcome outcome = Create();
  EXPECT_EQ(outcome.said, "cluster demo is created");
  EXPECT_EQ(Joined(outcome.warnings),
            "left of an earlier cluster demo, and part of this one now: configmap/notes");
  EXPECT_EQ(ObjectUid(kDemoWorker), worker);
}

// Whoever deletes it may have listed it before the last object was made.
TEST_F(CreateTest, WhatIsDeletedMeanwhileIsNotSaidToBeCreated) {
  const auto run = [](World& world, const std::function<void()>& happens) {
    Command command(world);
    command.BeforePostOf("demo", happens);
    const DriverOutcome outcome = command.Run();
    EXPECT_EQ(outcome.exit, DriverExit::kNotReady);
    EXPECT_TRUE(world.Exists(kDemoService));
    return outcome.error;
  };
  const std::string left =
      "; of it are left: deployment.apps/demo-w; service/demo; persistentvolumeclaim/demo-data";
  {
    World world;
    EXPECT_EQ(run(world, [&] { world.Delete(kDemoRoot); }),
              "cluster demo is gone: it was deleted while it was created" + left);
  }
  {
    World world;
    const std::string error = run(world, [&] { world.Condemn(); });
    EXPECT_TRUE(error.starts_with("cluster demo is Condemned; of it are left: ")) << error;
  }
  {
    World world;
    EXPECT_EQ(run(world,
                  [&] {
                    world.Patch(kDemoRoot, R"({"metadata":{"finalizers":["example.com/held"]}})");
                    world.Delete(kDemoRoot);
                  }),
              "cluster demo is Deleting" + left);
  }
}

TEST_F(CreateTest, WhatFailsInPassingIsSentAgain) {
  Refuse("POST", "/deployments", 503, 1, 3);
  EXPECT_EQ(Create("deployment/bob", true).exit, DriverExit::kDone);
  ExpectComplete();
}

// What was made stays, and is completed later.
TEST_F(CreateTest, WhatIsRefusedIsSaidInTheWordsOfTheApiServer) {
  small_kubernetes::Fault quota;
  quota.method = "POST";
  quota.contains = "/services";
  quota.times = 0;
  const std::string words = "services demo is forbidden: exceeded quota: small, " +
                            std::string(600, 'x') + ", limited: services=0";
  quota.response = {403,
                    R"({"kind":"Status","apiVersion":"v1","code":403,"reason":"Forbidden",)"
                    R"("message":")" +
                        words + R"(","details":{"causes":[{"message":"and more"}]}})",
                    "application/json", std::nullopt};
  kubernetes_.GetFaults().Add(quota);
  const Duration began = clock_.elapsed;
  const DriverOutcome outcome = Create("deployment/bob", true);
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_TRUE(outcome.error.ends_with(
      "x, limited: services=0; and more; run it again to complete cluster demo"))
      << outcome.error;
  EXPECT_EQ(clock_.elapsed, began);
  EXPECT_TRUE(Exists(kDemoRoot) && Exists(kDemoWorker));
  kubernetes_.GetFaults().Clear();
  EXPECT_EQ(Create("deployment/bob", true).said, "cluster demo is completed");
  ExpectComplete();
}

TEST_F(CreateTest, TheWarningsOfTheApiServerAreShown) {
  small_kubernetes::Fault warned;
  warned.method = "POST";
  warned.contains = "/deployments";
  warned.response = {201,
                     R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":)"
                     R"({"name":"demo-m","namespace":"lab","uid":"1","resourceVersion":"1"}})",
                     "application/json",
                     std::nullopt,
                     {"spec.x: unknown field"}};
  kubernetes_.GetFaults().Add(warned);
  EXPECT_EQ(Create().warnings, std::vector<std::string>{"Warning: spec.x: unknown field"});
}

TEST_F(CreateTest, AKindThatCanNotBeOfAClusterIsNamedBeforeAnythingIsWritten) {
  file_ += "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n";
  DriverOutcome outcome = Create();
  EXPECT_EQ(outcome.exit, DriverExit::kWrongUsage);
  EXPECT_EQ(outcome.error,
            "of no namespace, so of no cluster: Namespace x: create them by kubectl");
  file_ = std::string(kFile) + "---\napiVersion: example.com/v1\nkind: X\nmetadata: {name: x}\n";
  outcome = Create();
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_EQ(
      outcome.error,
      "kinds that the API server doesn't serve: X x is of example.com/v1: install them first");
  EXPECT_TRUE(IsUntouched());
}

TEST_F(CreateTest, WhatTheFileLacksIsSaid) {
  file_ = file_.substr(file_.find("---") + 4);
  const DriverOutcome outcome = Create();
  EXPECT_EQ(outcome.said, "cluster demo is created");
  EXPECT_EQ(Joined(outcome.warnings),
            "cluster demo lacks a worker: nobody who awaits it finds it ready");
}

}  // namespace
}  // namespace cluster_watcher
