#include "watcher/installation/checks.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "watcher/installation/account_rights.h"

namespace cluster_watcher {
namespace {

constexpr const char* kByPolicy = "kubectl apply -k manifests/policy";
constexpr const char* kByWebhook = "kubectl apply -k manifests/webhook";
constexpr const char* kOurs = "app.kubernetes.io/name=cluster-watcher";
constexpr const char* kSelf = "cluster-watcher";  // the name of what injects

ResourceType OfAdmission(const char* plural, const char* kind) {
  return {"admissionregistration.k8s.io", "v1", plural, kind, false};
}

// Whether the kind is there in the version in which the manifests have it.
Result<bool, ApiError> Serves(const DriverTools& tools, const ResourceType& type) {
  auto served = tools.discovery.Resolve(type, tools.Reads());
  if (!served) return Unexpected{std::move(served).error()};
  return *served && (*served)->version == type.version;
}
Result<bool, ApiError> ServesPolicies(const DriverTools& tools) {
  return Serves(tools, OfAdmission("mutatingadmissionpolicies", "MutatingAdmissionPolicy"));
}

// "36+" of a provider's own build is 36.
int NumberOf(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Finding CheckVersion(const Subject& subject) {
  constexpr int kSidecars = 29;
  const auto answer =
      subject.tools.client.Do(ApiRequest::Discover("/version"), subject.tools.Reads());
  if (!answer) return Finding::Unknown("Kubernetes' version is", answer.error());
  const JsonValue version = answer->document.root();
  const std::string name =
      "Kubernetes " + std::string(version["gitVersion"].AsString().value_or("of no version"));
  const int minor = NumberOf(version["minor"].AsString().value_or(""));
  if (version["major"].AsString() == "1" && minor < kSidecars) {
    return Finding::Error(name + " has no sidecars",
                          "upgrade it to 1.29 or later, or run the watcher as a regular container "
                          "(docs/injection.md)");
  }
  const auto policies = ServesPolicies(subject.tools);
  if (!policies) return Finding::Unknown("how " + name + " can inject is", policies.error());
  if (*policies) return Finding::Ok(name + " can inject by policy (manifests/policy)");
  return Finding::Ok(name +
                     " has no MutatingAdmissionPolicy of v1, and can inject by the webhook "
                     "(manifests/webhook)");
}

// Whether the webhook's Service leads to a pod that is ready.
Finding CheckWebhook(const DriverTools& tools, JsonValue configuration) {
  const JsonValue client = configuration["webhooks"].At(0)["clientConfig"];
  const JsonValue service = client["service"];
  const std::string name(service["name"].AsString().value_or(""));
  const std::string ns(service["namespace"].AsString().value_or(""));
  if (name.empty()) return Finding::Ok("the webhook injects, from where its configuration says");
  if (client["caBundle"].AsString().value_or("").empty()) {
    return Finding::Error("the webhook's configuration has no caBundle",
                          "apply manifests/webhook with its certificate, or see to cert-manager");
  }
  const ResourceType slices{"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"};
  const auto is_ready = tools.client.AnyItem(
      ApiRequest::ListBySelector(slices, ns, "kubernetes.io/service-name=" + name, false),
      [](JsonValue slice) {
        const auto endpoints = slice["endpoints"].Elements();
        return std::any_of(endpoints.begin(), endpoints.end(), [](JsonValue endpoint) {
          return endpoint["conditions"]["ready"].AsBool().value_or(true);
        });
      },
      tools.Reads());
  if (!is_ready) return Finding::Unknown("whether the webhook runs is", is_ready.error());
  if (*is_ready) return Finding::Ok("the webhook injects");
  return Finding::Error("no pod answers for the webhook's service " + ns + "/" + name,
                        "kubectl -n " + ns + " get pods, and see why they aren't ready");
}

Finding CheckInjection(const Subject& subject) {
  const DriverTools& tools = subject.tools;
  const auto policies = ServesPolicies(tools);
  if (!policies) return Finding::Unknown("how it is injected is", policies.error());
  if (*policies) {
    const Found policy =
        Find(tools, OfAdmission("mutatingadmissionpolicies", "MutatingAdmissionPolicy"), "", kSelf);
    if (!policy) return Finding::Unknown("the policy that injects is", policy.error());
    const Found binding = Find(
        tools, OfAdmission("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding"), "",
        kSelf);
    if (!binding) return Finding::Unknown("the binding of what injects is", binding.error());
    if (*policy && *binding) return Finding::Ok("a policy injects, and is bound");
    if (*policy) return Finding::Error("the policy that injects isn't bound", kByPolicy);
  }
  const Found webhook =
      Find(tools, OfAdmission("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"), "",
           kSelf);
  if (!webhook) return Finding::Unknown("the webhook's configuration is", webhook.error());
  if (*webhook) return CheckWebhook(tools, (*webhook)->root());
  return Finding::Error("neither a policy nor a webhook of cluster-watcher is here",
                        *policies ? kByPolicy : kByWebhook);
}

// The installation's objects of one kind, by name.
using Named = std::map<std::string, JsonDocument, std::less<>>;
Result<Named, ApiError> ReadOurs(const DriverTools& tools, const ResourceType& type) {
  Named named;
  const auto read = tools.client.EachItem(
      ApiRequest::ListBySelector(type, "", kOurs, false),
      [&](JsonValue item) {
        named.emplace(item["metadata"]["name"].AsString().value_or(""),
                      *JsonDocument::Parse(item.ToText()));
      },
      tools.Reads());
  if (!read) return Unexpected{read.error()};
  return named;
}
Result<Named, ApiError> ReadBindings(const DriverTools& tools) {
  return ReadOurs(
      tools, OfAdmission("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"));
}

bool Refuses(JsonValue binding) {
  const auto actions = binding["spec"]["validationActions"].Elements();
  return std::any_of(actions.begin(), actions.end(),
                     [](JsonValue action) { return action.AsString() == "Deny"; });
}

ResourceType LockType() {
  return OfAdmission("validatingadmissionpolicies", "ValidatingAdmissionPolicy");
}
// Returns why guard and brake can't be known, or can't be here at all.
std::optional<Finding> WhyNoLock(const DriverTools& tools, const std::string& name) {
  const auto served = Serves(tools, LockType());
  if (!served) return Finding::Unknown(name + " is", served.error());
  if (*served) return std::nullopt;
  return Finding::Warning(
      "there is no ValidatingAdmissionPolicy of v1 here, so " + name + " can't be either",
      "upgrade Kubernetes to 1.30 or later; docs/guard.md says what to do before");
}

Finding CheckGuard(const Subject& subject) {
  if (auto why = WhyNoLock(subject.tools, "the guard")) return *why;
  const auto policies = ReadOurs(subject.tools, LockType());
  if (!policies) return Finding::Unknown("the guard is", policies.error());
  const auto bindings = ReadBindings(subject.tools);
  if (!bindings) return Finding::Unknown("the guard's binding is", bindings.error());
  std::vector<std::string> missing;
  for (const char* name :
       {"cluster-watcher-guard", "cluster-watcher-guard-namespaces", "cluster-watcher-brake"}) {
    if (!policies->contains(name)) missing.push_back(std::string("policy ") + name);
  }
  std::vector<std::string> telling;
  for (const char* name : {"cluster-watcher-guard", "cluster-watcher-guard-kube-system",
                           "cluster-watcher-guard-namespaces", "cluster-watcher-brake"}) {
    const auto binding = bindings->find(name);
    if (binding == bindings->end()) {
      missing.push_back(std::string("binding ") + name);
    } else if (!Refuses(binding->second.root())) {
      telling.emplace_back(name);
    }
  }
  if (!missing.empty()) {
    return Finding::Warning("guard or brake lack " + Joined(missing),
                            "apply the installation again, with manifests/components/guard");
  }
  if (!telling.empty()) {
    return Finding::Warning("bindings that refuse nothing, and only tell: " + Joined(telling),
                            "leave manifests/components/guard-audit out, once that is well");
  }
  return Finding::Ok("guard and brake are here, and bound");
}

Finding CheckNamespace(const Subject& subject) {
  const std::string& ns = subject.ns;
  if (!subject.its_namespace) {
    return Finding::Unknown("namespace " + ns + " is", subject.its_namespace.error());
  }
  if (subject.IsAbsent()) {
    return Finding::Error("there is no namespace " + ns, "kubectl create namespace " + ns);
  }
  if (subject.Label("cluster-watcher/inject") == "false") {
    return Finding::Warning("namespace " + ns + " is labelled cluster-watcher/inject=false",
                            "kubectl label namespace " + ns + " cluster-watcher/inject-");
  }
  if (subject.Label("cluster-watcher/enabled") == "true") {
    return Finding::Ok("namespace " + ns + " is labelled cluster-watcher/enabled=true");
  }
  if (subject.trial.outcome == TrialMaster::Outcome::kInjected) {
    return Finding::Ok("namespace " + ns +
                       " isn't labelled, and masters get the sidecar all the same");
  }
  return Finding::Error("namespace " + ns + " isn't labelled cluster-watcher/enabled=true",
                        "cluster-watcher enable " + ns);
}

Finding CheckBrake(const Subject& subject) {
  if (auto why = WhyNoLock(subject.tools, "a brake")) return *why;
  const auto label = subject.Label("cluster-watcher/brake");
  if (label && label != "false") {
    return Finding::Warning("the brake is on in namespace " + subject.ns + ": nothing is deleted",
                            "kubectl label namespace " + subject.ns + " cluster-watcher/brake-");
  }
  const auto bindings = ReadBindings(subject.tools);
  if (!bindings) return Finding::Unknown("the brake is", bindings.error());
  if (bindings->contains("cluster-watcher-brake-everywhere")) {
    return Finding::Warning("the brake is on in all namespaces: nothing is deleted",
                            "kubectl delete -k manifests/brake");
  }
  if (!subject.its_namespace) {
    return Finding::Unknown("the namespace's brake is", subject.its_namespace.error());
  }
  return Finding::Ok("the brake is off");
}

Finding CheckAccounts(const Subject& subject) {
  const std::string enable = "cluster-watcher enable " + subject.ns;
  const AccountRights rights = ReadAccountRights(subject.tools, subject.ns);
  std::vector<std::string> others = rights.watchers;
  const bool has_default = std::erase(others, "default") > 0;
  if (has_default) {
    const std::string text = "account default may do what a watcher may, and is every pod's";
    const std::string remedy = enable + ", and take the RoleBinding of default off";
    return others.empty() ? Finding::Error(text, remedy) : Finding::Warning(text, remedy);
  }
  if (!others.empty()) return Finding::Ok("for masters: account " + Joined(others));
  if (rights.unknown) return Finding::Unknown("who may do what a watcher may is", *rights.unknown);
  return Finding::Error("no account of the namespace may do what a watcher may", enable);
}

Finding CheckImage(const Subject& subject) {
  if (!subject.masters) return Finding::Unknown("the sidecars are", subject.masters.error());
  std::size_t running = 0;
  for (const MasterPod& pod : *subject.masters) {
    if (!pod.waits.empty()) {
      return Finding::Error("the watcher of pod " + pod.name + " can't start: " + pod.waits,
                            "kubectl -n " + subject.ns + " describe pod " + pod.name +
                                "; push the image, and name it as docs/injection.md says");
    }
    running += pod.runs ? 1 : 0;
  }
  if (running > 0) return Finding::Ok("watchers run: " + std::to_string(running));
  return Finding::Ok("no watcher was started here yet, so the image is not tried");
}

Finding CheckMasters(const Subject& subject) {
  if (!subject.masters) return Finding::Unknown("the masters are", subject.masters.error());
  std::vector<std::string> unwatched;
  for (const MasterPod& pod : *subject.masters) {
    if (!pod.has_watcher) unwatched.push_back(pod.name);
  }
  if (unwatched.empty()) return Finding::Ok("each master has a watcher");
  return Finding::Warning("masters without a watcher: " + Joined(unwatched),
                          "make the pods again, as docs/injection.md says of pods that exist");
}

constexpr Check kChecks[] = {{"version", CheckVersion, false},
                             {"injection", CheckInjection, false},
                             {"guard", CheckGuard, false},
                             {"namespace", CheckNamespace, false},
                             {"brake", CheckBrake},
                             {"account", CheckAccounts},
                             {"new-masters", CheckNewMasters},
                             {"image", CheckImage},
                             {"masters", CheckMasters},
                             {"monitoring", CheckMonitoring, false}};

}  // namespace

std::span<const Check> Checks() { return kChecks; }

Finding CheckNewMasters(const Subject& subject) {
  const TrialMaster& trial = subject.trial;
  switch (trial.outcome) {
    case TrialMaster::Outcome::kInjected:
      return Finding::Ok("a new master gets the sidecar " + trial.sidecar);
    case TrialMaster::Outcome::kNotInjected:
      return Finding::Error("a new master gets no sidecar",
                            "see to what is said of injection and namespace, then to the settings "
                            "of the sidecar (docs/injection.md)");
    case TrialMaster::Outcome::kSidecarRefused:
      return Finding::Error(
          "a new master is refused because of its sidecar: " + trial.error->message,
          "set the sidecar's cpuRequest, cpuLimit and so on to what fits, here alone by "
          "annotations (docs/injection.md), or change what refuses it");
    case TrialMaster::Outcome::kRefused:
      return Finding::Warning(
          "new masters are not known: this one is refused, with the sidecar "
          "and without: " +
              trial.error->message,
          "create a master of yours by kubectl create --dry-run=server");
    case TrialMaster::Outcome::kUnknown:
      return Finding::Unknown("new masters are", *trial.error);
  }
  return Finding::Ok("");
}

Finding CheckGuardedAccounts(const Subject& subject) {
  const AccountRights rights = ReadAccountRights(subject.tools, subject.ns);
  if (!rights.shared.empty()) {
    return Finding::Warning(
        "accounts of watchers may make workloads too, which the guard refuses them: " +
            Joined(rights.shared),
        "give what makes them an account of its own, or take the Role cluster-watcher from this");
  }
  if (rights.unknown) return Finding::Unknown("accounts that the guard binds are", *rights.unknown);
  return Finding::Ok("the guard stops nothing but watchers");
}

}  // namespace cluster_watcher
