#include "watcher/installation/enable.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "watcher/installation/checks.h"

namespace cluster_watcher {
namespace {

constexpr const char* kName = "cluster-watcher";  // of the ClusterRole, and of its usual binding
constexpr const char* kUsualAccount = "cluster-watcher-master";
constexpr const char* kLabel = "cluster-watcher/enabled";
constexpr const char* kRbac = "rbac.authorization.k8s.io";
// An API server's own caches learn of the label within milliseconds.
constexpr Duration kLongest = std::chrono::seconds(5);
constexpr Duration kBetweenTrials{100};

// A thing that the namespace needs.
struct Part {
  std::string name;
  bool is_there;
  ApiRequest request;  // makes it
};

// Names are those of Kubernetes, and need no escapes.
std::string InJson(const std::string& key, const std::string& value) {
  return "\"" + key + "\":\"" + value + "\"";
}

Part AccountPart(const EnableOrder& order, bool is_there) {
  const ResourceType& type = *FindBuiltInByName("serviceaccounts", "");
  const std::string body = R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{)" +
                           InJson("name", order.account) + "}}";
  return {"serviceaccount " + order.account, is_there, ApiRequest::Create(type, order.ns, body)};
}

const ResourceType& Bindings() {
  static const ResourceType type{kRbac, "v1", "rolebindings", "RoleBinding"};
  return type;
}

Part BindingPart(const EnableOrder& order, const std::string& name, bool is_there) {
  const std::string body =
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{)" +
      InJson("name", name) + R"(},"roleRef":{"kind":"ClusterRole",)" + InJson("apiGroup", kRbac) +
      "," + InJson("name", kName) + R"(},"subjects":[{"kind":"ServiceAccount",)" +
      InJson("name", order.account) + "," + InJson("namespace", order.ns) + "}]}";
  return {"rolebinding " + name, is_there, ApiRequest::Create(Bindings(), order.ns, body)};
}

Part LabelPart(const EnableOrder& order, bool is_there) {
  const std::string body = R"({"metadata":{"labels":{)" + InJson(kLabel, "true") + "}}}";
  return {std::string("label ") + kLabel + "=true", is_there,
          ApiRequest::MergePatch(*FindBuiltInByName("namespaces", ""), "", order.ns, body)};
}

bool Binds(const EnableOrder& order, JsonValue binding) {
  const auto subjects = binding["subjects"].Elements();
  return binding["roleRef"]["kind"].AsString() == "ClusterRole" &&
         binding["roleRef"]["name"].AsString() == kName &&
         std::any_of(subjects.begin(), subjects.end(), [&](JsonValue subject) {
           return subject["kind"].AsString() == "ServiceAccount" &&
                  subject["name"].AsString() == order.account &&
                  subject["namespace"].AsString() == order.ns;
         });
}

// Finds the binding, or a name for it that is free.
Result<Part> ReadBinding(const DriverTools& tools, const EnableOrder& order) {
  const std::string own = kName + ("-" + order.account);
  std::vector names = {own};
  if (order.account == kUsualAccount) names.insert(names.begin(), kName);
  for (const std::string& name : names) {
    const Found binding = Find(tools, Bindings(), order.ns, name);
    if (!binding) return Failure(WhyRefused(binding.error()));
    if (!*binding || Binds(order, (*binding)->root())) {
      return BindingPart(order, name, binding->has_value());
    }
  }
  return Failure("rolebinding " + own + " in namespace " + order.ns +
                 " binds something else: see what it is for, or give another --service-account");
}

// Finds what is there. The label comes last: from then on masters are injected.
Result<std::vector<Part>> ReadParts(const DriverTools& tools, const EnableOrder& order) {
  const Found ns = FindNamespace(tools, order.ns);
  if (!ns) return Failure(WhyRefused(ns.error()));
  if (!*ns) {
    return Failure("there is no namespace " + order.ns + ": kubectl create namespace " + order.ns);
  }
  const JsonValue meta = (*ns)->root()["metadata"];
  if (meta["deletionTimestamp"].Exists()) {
    return Failure("namespace " + order.ns + " is being deleted: wait, and create it again");
  }
  // It may be bound by accounts that may not read it.
  const Found role = Find(tools, {kRbac, "v1", "clusterroles", "ClusterRole", false}, "", kName);
  if (role && !*role) {
    return Failure(
        "there is no ClusterRole cluster-watcher: install it first, by kubectl apply -k "
        "manifests/policy, or manifests/webhook before Kubernetes 1.36");
  }
  const Found account =
      Find(tools, *FindBuiltInByName("serviceaccounts", ""), order.ns, order.account);
  if (!account) return Failure(WhyRefused(account.error()));
  auto binding = ReadBinding(tools, order);
  if (!binding) return Unexpected{std::move(binding).error()};
  return std::vector{AccountPart(order, account->has_value()), *std::move(binding),
                     LabelPart(order, meta["labels"][kLabel].AsString() == "true")};
}

std::vector<std::string> Warnings(const DriverTools& tools, const std::string& ns) {
  const MonotonicTime deadline = tools.clock.Now() + kLongest;
  Subject subject{tools, ns, std::optional<JsonDocument>(), {}, std::vector<MasterPod>()};
  do {
    subject.trial = TryMaster(tools, ns);
  } while (subject.trial.outcome == TrialMaster::Outcome::kNotInjected &&
           tools.clock.Now() < deadline &&
           tools.clock.WaitUntil(tools.clock.Now() + kBetweenTrials, tools.stop));
  std::vector<std::string> warnings;
  for (const Finding& finding : {CheckNewMasters(subject), CheckGuardedAccounts(subject)}) {
    if (finding.state == Finding::State::kOk) continue;
    warnings.push_back(finding.text + ": " + finding.remedy);
  }
  return warnings;
}

}  // namespace

DriverOutcome Enable(const DriverTools& tools, const EnableOrder& order) {
  const auto parts = ReadParts(tools, order);
  if (!parts) return DriverOutcome::Of(DriverExit::kFailed, parts.error().message);
  std::string done;
  for (const Part& part : *parts) {
    if (!part.is_there) {
      const auto made = tools.client.Do(part.request, tools.Reads());
      if (!made) {
        return DriverOutcome::Of(DriverExit::kFailed, WhyRefused(made.error()) +
                                                          (done.empty() ? "" : "; before:" + done));
      }
    }
    done += (done.empty() ? " " : ", ") + part.name + (part.is_there ? " was there" : " made");
  }
  DriverOutcome outcome =
      DriverOutcome::Said("namespace " + order.ns + " is enabled:" + done +
                          "; masters name it: serviceAccountName: " + order.account);
  outcome.warnings = Warnings(tools, order.ns);
  return outcome;
}

}  // namespace cluster_watcher
