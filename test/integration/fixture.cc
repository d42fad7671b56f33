#include "test/integration/fixture.h"

#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

namespace cluster_watcher::integration {
namespace {

// Keeps namespaces apart from those of other users of the same API server.
std::string OfThisProcess(const std::string& name) { return name + "-" + std::to_string(getpid()); }
constexpr char kBystander[] = "bystander";
constexpr const char* kMemberKinds[] = {
    "deployments", "statefulsets", "replicasets", "jobs",
    "pods",        "services",     "configmaps",  "replicationcontrollers"};

constexpr char kDefinitions[] = "customresourcedefinitions";

std::set<std::string>& InstalledKinds() {
  static std::set<std::string> kinds;
  return kinds;
}

std::string DefinitionOf(const std::string& name) {
  return ReadWhole(kubernetes->GetOptions().definitions + "/" + name + ".json");
}

// Whether discovery shows the kind with this verb; "" stands for any verb.
bool IsOffered(Api& api, const ResourceType& kind, const std::string& verb) {
  const HttpResult answer = api.Do(HttpMethod::kGet, "/apis/" + kind.ApiVersion());
  const auto list = answer && answer->status == 200 ? JsonDocument::Parse(answer->body)
                                                    : JsonDocument::Parse("{}");
  for (const JsonValue entry : list->root()["resources"].Elements()) {
    if (entry["name"].AsString() != kind.plural) continue;
    if (verb.empty()) return true;
    for (const JsonValue offered : entry["verbs"].Elements()) {
      if (offered.AsString() == verb) return true;
    }
  }
  return false;
}

int ListStatus(Api& api, const ResourceType& kind) {
  const HttpResult answer = api.Do(HttpMethod::kGet, kind.CollectionPath(""));
  return answer ? answer->status : 0;
}

TextMap OfCluster(const std::string& value) { return {{kClusterLabel, value}}; }

}  // namespace

void Kubernetes::SetUp() {
  std::string pattern = (std::filesystem::temp_directory_path() / "integration-XXXXXX").string();
  directory_ = mkdtemp(pattern.data());
  auto server = !options_.control_plane.empty() ? JoinRealServer(options_.control_plane)
                : options_.real ? StartRealServer(options_.scripts, directory_ + "/control-plane")
                                : StartSmallServer();
  ASSERT_TRUE(server) << server.error().message;
  server_ = *std::move(server);
  api_ = std::make_unique<Api>(server_->Admin());
  api_->Create("namespaces", "", NamedOf({Elsewhere()}));
}

std::string Kubernetes::Elsewhere() const { return OfThisProcess("elsewhere"); }

void Kubernetes::TearDown() {
  api_.reset();
  server_.reset();
  std::filesystem::remove_all(directory_);
}

void IntegrationTest::SetUp() {
  ASSERT_FALSE(HasFatalFailure());
  EnterNamespace();
}

void IntegrationTest::EnterNamespace() {
  static int number = 0;
  ns_ = OfThisProcess("test") + "-" + std::to_string(++number);
  files_ = kubernetes->Directory() + "/" + ns_;
  kubeconfig_ = WriteKubeconfig(File("kubeconfig"), server().Admin(),
                                "token: \"" + server().Admin().token + "\"");
  api().Create("namespaces", "", NamedOf({ns_}));
  namespaces_.push_back(ns_);
  // Without it no pod may be made.
  ASSERT_TRUE(Eventually([&] { return api().Exists("serviceaccounts", ns_, "default"); }));
  MakeBystanders();
}

void IntegrationTest::LeaveNamespaces() {
  for (const Bystander& bystander : bystanders_) {
    EXPECT_EQ(api().Uid(bystander.plural, bystander.ns, bystander.name), bystander.uid)
        << "the bystander " << bystander.plural << "/" << bystander.name << " in " << bystander.ns
        << " was touched";
  }
  for (const std::string& ns : namespaces_) {
    api().Delete("configmaps", kubernetes->Elsewhere(), kBystander + ns);
    // Nobody waits for the end, but Services left behind would use up the cluster's IP addresses.
    api().Delete("namespaces", "", ns);
  }
  bystanders_.clear();
  namespaces_.clear();
}

void IntegrationTest::TearDown() {
  for (Watcher& watcher : watchers_) watcher.Signal(SIGKILL);
  LeaveNamespaces();
  for (std::size_t i = 0; HasFailure() && i < watchers_.size(); ++i) {
    std::cout << "--- log of watcher " << i << "\n" << watchers_[i].Log() << "---\n";
  }
  watchers_.clear();
}

void IntegrationTest::TearDownTestSuite() {
  const std::set<std::string> installed = InstalledKinds();
  for (const std::string& name : installed) RemoveKind(name);
}

void IntegrationTest::AddBystander(const std::string& plural, const std::string& body) {
  auto parsed = JsonDocument::Parse(body);
  ASSERT_TRUE(parsed) << body;
  const std::string name(parsed->root()["metadata"]["name"].AsString().value_or(""));
  bystanders_.push_back({plural, ns_, name, api().Create(plural, ns_, body)});
}

void IntegrationTest::MakeBystanders() {
  const std::string prefix = std::string(kBystander) + "-";
  const Metadata ours{"", OfCluster(kCluster)};
  const auto named = [&](const std::string& name, const TextMap& labels) {
    return Metadata{prefix + name, labels};
  };
  TextMap other_master = OfCluster("spark2");
  other_master["oshinko-type"] = "master";
  AddBystander("deployments",
               DeploymentOf({named("master", other_master), 1, OfCluster("spark2")}));
  AddBystander("services", ServiceOf(named("service", OfCluster("spark2")), "x"));
  AddBystander("configmaps", ConfigMapOf(named("other", OfCluster("Spark"))));
  AddBystander("configmaps", ConfigMapOf(named("empty-label", OfCluster(""))));
  AddBystander("services", ServiceOf(named("empty-label", OfCluster("")), "x"));
  AddBystander("configmaps", ConfigMapOf(named("unlabelled", {})));
  AddBystander("deployments", DeploymentOf({named("app", {}), 0}));
  AddBystander("serviceaccounts", NamedOf(named("account", ours.labels)));
  AddBystander("roles", WatcherRoleOf(named("role", ours.labels)));
  AddBystander("rolebindings", RoleBindingOf(named("binding", ours.labels), "none", "none"));
  AddBystander("persistentvolumeclaims", ClaimOf(named("claim", ours.labels)));
  Metadata kept = named("kept", ours.labels);
  kept.annotations["cluster-watcher/keep"] = "true";
  AddBystander("configmaps", ConfigMapOf(kept));
  AddBystander("services", ServiceOf(kept, "x"));
  const std::string elsewhere = kBystander + ns_;
  bystanders_.push_back(
      {"configmaps", kubernetes->Elsewhere(), elsewhere,
       api().Create("configmaps", kubernetes->Elsewhere(), ConfigMapOf({elsewhere, ours.labels}))});
}

Metadata IntegrationTest::Labelled(const std::string& name, const std::string& type) const {
  Metadata metadata{name, OfCluster(kCluster)};
  if (!type.empty()) metadata.labels["oshinko-type"] = type;
  return metadata;
}

void IntegrationTest::MakeCluster(const Cluster& cluster) {
  Workload master{Labelled(kMaster, "master"), 1, Labelled("", "master").labels,
                  cluster.pod_annotations, cluster.pod_spec};
  master.metadata.labels.insert(cluster.root_labels.begin(), cluster.root_labels.end());
  master.metadata.annotations = cluster.root_annotations;
  made_[PathOf("deployments", ns_, kMaster)] =
      api().Create("deployments", ns_, DeploymentOf(master));
  MakeMembers();
}

void IntegrationTest::MakeMembers() {
  const Workload worker{Labelled("spark-w", "worker"), 1, Labelled("", "worker").labels};
  made_[PathOf("deployments", ns_, "spark-w")] =
      api().Create("deployments", ns_, DeploymentOf(worker));
  for (const char* service : {"spark", "spark-ui"}) {
    made_[PathOf("services", ns_, service)] =
        api().Create("services", ns_, ServiceOf(Labelled(service), kMaster));
  }
  MakeMember("spark-config");
}

void IntegrationTest::MakeMember(const std::string& name, bool held) {
  Metadata metadata = Labelled(name);
  metadata.held = held;
  made_[PathOf("configmaps", ns_, name)] = api().Create("configmaps", ns_, ConfigMapOf(metadata));
}

void IntegrationTest::MakeDriver(const std::string& name, const std::string& plural) {
  api().Create(plural, ns_, WorkloadOf(plural, {{name}}));
}

void IntegrationTest::MakeAccount(const std::string& role) {
  api().Create("serviceaccounts", ns_, NamedOf({kAccount}));
  api().Create("roles", ns_, role);
  api().Create("rolebindings", ns_, RoleBindingOf({kAccount}, kAccount, kAccount));
}

void IntegrationTest::InstallKind(const std::string& name) {
  const std::string definition = DefinitionOf(name);
  const CustomKind* kind = LearnKind(definition);
  ASSERT_NE(kind, nullptr) << name << " is not defined";
  ASSERT_TRUE(kubernetes->GetOptions().control_plane.empty())
      << "kinds are not installed where others use the API server";
  Api& api = kubernetes->GetApi();
  InstalledKinds().insert(name);
  // An older definition may still have to go.
  EXPECT_TRUE(Eventually([&] {
    if (!api.Uid(kDefinitions, "", name).empty()) return true;
    const HttpResult made = api.Do(HttpMethod::kPost, PathOf(kDefinitions, ""), definition);
    if (made && made->status == 201) return true;
    const bool wait = made && made->status == 409;
    EXPECT_TRUE(wait) << (made ? made->body : made.error().message);
    return !wait;
  }));
  // A new kind's cache takes a while to fill.
  EXPECT_TRUE(Eventually([&] {
    return IsOffered(api, kind->type, "create") && ListStatus(api, kind->type) == 200;
  })) << name
      << " isn't served";
}

void IntegrationTest::RemoveKind(const std::string& name) {
  const CustomKind* known = LearnKind(DefinitionOf(name));
  ASSERT_NE(known, nullptr) << name << " is not defined";
  const ResourceType& kind = known->type;
  Api& api = kubernetes->GetApi();
  InstalledKinds().erase(name);
  const HttpResult deleted = api.Do(HttpMethod::kDelete, PathOf(kDefinitions, "", name));
  ASSERT_TRUE(deleted && (deleted->status == 200 || deleted->status == 404));
  EXPECT_TRUE(Eventually([&] {
    const HttpResult held = api.Do(HttpMethod::kGet, kind.CollectionPath(""));
    const auto list = held ? JsonDocument::Parse(held->body) : JsonDocument::Parse("{}");
    if (held && held->status == 200 && list) {
      for (const JsonValue object : list->root()["items"].Elements()) {
        const JsonValue metadata = object["metadata"];
        if (!metadata["finalizers"].Exists()) continue;
        (void)api.Do(HttpMethod::kPatch,
                     kind.ObjectPath(metadata["namespace"].AsString().value_or(""),
                                     metadata["name"].AsString().value_or("")),
                     R"({"metadata": {"finalizers": null}})", "application/merge-patch+json");
      }
    }
    return !api.Exists(kDefinitions, "", name) && !IsOffered(api, kind, "") &&
           ListStatus(api, kind) == 404;
  })) << name
      << " is still served";
}

std::string IntegrationTest::MasterPod() {
  std::vector<std::string> pods;
  EXPECT_TRUE(Eventually([&] {
    pods =
        api().Names("pods", ns_, std::string(kClusterLabel) + "=" + kCluster + ",app=" + kMaster);
    return pods.size() == 1;
  }));
  return pods.empty() ? "" : pods.front();
}

Watcher& IntegrationTest::Run(const std::vector<std::string>& arguments,
                              const std::vector<std::string>& environment) {
  std::vector<std::string> all = {kubernetes->GetOptions().binary};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return watchers_.emplace_back(all, environment,
                                File("watcher-" + std::to_string(watchers_.size())));
}

Watcher& IntegrationTest::WatchAs(const std::string& pod, std::vector<std::string> flags) {
  flags.insert(flags.begin(), {"watch", "--kubeconfig=" + kubeconfig_, "--listen=127.0.0.1:0",
                               "--poll-interval=100ms", "--confirmations=3", "--grace-period=500ms",
                               "--startup-grace=500ms"});
  return Run(flags, {"POD_NAMESPACE=" + ns_, "POD_NAME=" + pod});
}

Watcher& IntegrationTest::Watch(std::vector<std::string> flags) {
  return WatchAs(MasterPod(), std::move(flags));
}

Watcher& IntegrationTest::WatchOver(const std::string& owner, std::vector<std::string> flags) {
  flags.push_back("--owner=" + owner);
  return Watch(std::move(flags));
}

testing::AssertionResult IntegrationTest::DeleteNamespace(const std::string& ns,
                                                          const std::string& deployment) {
  api().Delete("namespaces", "", ns);
  return Eventually([&] { return !api().Exists("deployments", ns, deployment); });
}

testing::AssertionResult IntegrationTest::Shows(Watcher& watcher, const std::string& verdict) {
  const auto shown =
      Eventually([&] { return watcher.Verdict() == verdict || !watcher.IsRunning(); });
  if (shown && watcher.IsRunning()) return shown;
  return testing::AssertionFailure()
         << "\"" << verdict << "\" is not shown, but \"" << watcher.Verdict() << "\"";
}

testing::AssertionResult IntegrationTest::Reaches(Watcher& watcher, const std::string& phase) {
  const auto reached = Eventually([&] { return watcher.Phase() == phase || !watcher.IsRunning(); });
  if (reached && watcher.IsRunning()) return reached;
  return testing::AssertionFailure() << "the phase is not " << phase << ", but " << watcher.Phase();
}

testing::AssertionResult IntegrationTest::Finishes(Watcher& watcher) {
  if (auto done = Reaches(watcher, "done"); !done) return done;
  return IsGone();
}

testing::AssertionResult IntegrationTest::PollsOn(Watcher& watcher, int polls) {
  const double before = watcher.Polls();
  const auto all = Eventually([&] { return watcher.Polls() >= before + polls; },
                              std::chrono::seconds(IsSanitized() ? 15 : 3));
  if (all || Eventually([&] { return watcher.Polls() > before; })) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "it polls no more";
}

testing::AssertionResult IntegrationTest::Keeps(Watcher& watcher, const std::string& verdict,
                                                int polls) {
  if (auto shown = Shows(watcher, verdict); !shown) return shown;
  if (auto polled = PollsOn(watcher, polls); !polled) return polled;
  if (watcher.Verdict() != verdict) {
    return testing::AssertionFailure()
           << "\"" << verdict << "\" has become \"" << watcher.Verdict() << "\"";
  }
  if (watcher.Phase() != "watching") {
    return testing::AssertionFailure() << "the phase is " << watcher.Phase();
  }
  return IsWhole();
}

testing::AssertionResult IntegrationTest::StopsWell(Watcher& watcher) {
  const auto code = watcher.Stop(SIGTERM);
  if (code == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << (code ? "it exited with " + std::to_string(*code) : "it goes on after SIGTERM");
}

testing::AssertionResult IntegrationTest::IsWhole() {
  for (const auto& [path, uid] : made_) {
    if (path.find("/" + ns_ + "/") == std::string::npos) continue;
    const JsonDocument object = api().Expect(HttpMethod::kGet, path);
    const JsonValue metadata = object.root()["metadata"];
    if (metadata["uid"].AsString() != uid || metadata["deletionTimestamp"].Exists()) {
      return testing::AssertionFailure() << path << " is gone or going";
    }
  }
  return testing::AssertionSuccess();
}

std::vector<std::string> IntegrationTest::Members() {
  std::vector<std::string> members;
  for (const char* plural : kMemberKinds) {
    for (const std::string& name :
         api().Names(plural, ns_, std::string(kClusterLabel) + "=" + kCluster)) {
      if (!name.starts_with(kBystander)) members.push_back(std::string(plural) + "/" + name);
    }
  }
  return members;
}

testing::AssertionResult IntegrationTest::HasItsMembers() {
  for (const auto& [name, plural] : TextMap{{"spark-w", "deployments"},
                                            {"spark", "services"},
                                            {"spark-ui", "services"},
                                            {"spark-config", "configmaps"}}) {
    if (!api().Uid(plural, ns_, name).empty()) continue;
    return testing::AssertionFailure() << plural << "/" << name << " is gone or going";
  }
  return testing::AssertionSuccess();
}

// Waits for what the garbage collector still has to delete.
testing::AssertionResult IntegrationTest::IsGone() {
  if (Eventually([&] { return Members().empty(); })) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "left: " << testing::PrintToString(Members());
}

std::string IntegrationTest::Mark(const std::string& mark) {
  return api().Annotation("deployments", ns_, kMaster, "cluster-watcher/" + mark).value_or("");
}

std::string IntegrationTest::OwnerMark(const std::string& field) {
  const auto mark = JsonDocument::Parse(Mark("recorded-owner"));
  return mark ? std::string(mark->root()[field].AsString().value_or("")) : "";
}

void IntegrationTest::MarkTheRoot(const TextMap& marks) {
  api().Patch("deployments", ns_, kMaster, R"({"metadata": {"annotations": )" + Json(marks) + "}}");
}

std::vector<std::string> IntegrationTest::Events(const std::string& reason) {
  const JsonDocument list = api().Expect(HttpMethod::kGet, PathOf("events", ns_));
  std::vector<std::string> notes;
  for (const JsonValue event : list.root()["items"].Elements()) {
    if (event["reportingController"].AsString() != "cluster-watcher") continue;
    if (event["reason"].AsString() == reason)
      notes.emplace_back(event["note"].AsString().value_or(""));
  }
  return notes;
}

std::vector<std::string> IntegrationTest::Told(const std::string& reason, std::size_t count) {
  std::vector<std::string> notes;
  const auto written = Eventually([&] { return (notes = Events(reason)).size() >= count; });
  EXPECT_TRUE(written) << notes.size() << " Events " << reason << " of " << count;
  return notes;
}

}  // namespace cluster_watcher::integration
