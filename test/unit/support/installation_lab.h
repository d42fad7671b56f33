// The lab as whoever installs cluster-watcher sees it: without a cluster, with the kinds that an
// installation is made of, and with a caller whose rights a test may take away.
#pragma once

#include <string>

#include "probes/base/names.h"
#include "test/unit/support/lab.h"
#include "watcher/driver/driver_tools.h"

namespace cluster_watcher {

class InstallationLab : public testing::Test, protected Lab {
 protected:
  InstallationLab() : Lab(OfCaller()) {
    LetCallerBe("system:masters");
    for (const char* path : {kRoot, kDriver}) Delete(path);
    for (const char* kind : {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
                             "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy",
                             "ValidatingAdmissionPolicyBinding"}) {
      Serve("admissionregistration.k8s.io", kind, false);
    }
    Serve("discovery.k8s.io", "EndpointSlice", true);
    kubernetes_.on_answer = [this](const small_kubernetes::Request& request,
                                   const small_kubernetes::User&,
                                   small_kubernetes::Response& response) {
      const bool is_asked = request.body.find("cluster-watcher/inject") == std::string_view::npos;
      if (request.target.ends_with("?dryRun=All") && response.status == 201 && is_asked) {
        if (++trials_ > trials_before_it_injects_) Inject(response.body);
      }
    };
  }

  // All of it, and the namespace enabled.
  void Install() {
    Admission("MutatingAdmissionPolicy", "cluster-watcher");
    Admission("MutatingAdmissionPolicyBinding", "cluster-watcher");
    for (const char* name :
         {"cluster-watcher-guard", "cluster-watcher-guard-namespaces", "cluster-watcher-brake"}) {
      Admission("ValidatingAdmissionPolicy", name);
      Admission("ValidatingAdmissionPolicyBinding", name, R"({"validationActions":["Deny"]})");
    }
    Admission("ValidatingAdmissionPolicyBinding", "cluster-watcher-guard-kube-system",
              R"({"validationActions":["Deny"]})");
    InstallRole();
    MakeAccount("cluster-watcher-master");
    Bind("ClusterRole", "cluster-watcher", "cluster-watcher-master");
    Label("enabled", R"("true")");
    trials_before_it_injects_ = 0;
  }
  void InstallRole() {
    MakeRole("ClusterRole", "cluster-watcher", "cluster-watcher", "guard", R"("apply","brake")");
  }
  // Makes it, in place of one of this name.
  void Admission(const std::string& kind, const std::string& name, const std::string& spec = "{}") {
    Make("/apis/admissionregistration.k8s.io/v1/" + PluralOf(kind) + "/" + name,
         R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":")" + kind +
             R"(","metadata":{"name":")" + name +
             R"(","labels":{"app.kubernetes.io/name":"cluster-watcher"}},"spec":)" + spec + "}");
  }
  void DeleteAdmission(const std::string& kind, const std::string& name) {
    Delete("/apis/admissionregistration.k8s.io/v1/" + PluralOf(kind) + "/" + name);
  }
  // Replaces what is there: an update of custom kinds would have to name its resourceVersion.
  void Make(const std::string& path, const std::string& json) {
    Delete(path);
    kubernetes_.Apply(json);
  }
  void MakeAccount(const std::string& name) {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"ServiceAccount",)" + Meta(name) + "}");
  }
  void MakeRole(const std::string& kind, const std::string& name, const std::string& group,
                const std::string& resource, const std::string& verbs) {
    const std::string meta = kind == "Role" ? Meta(name) : R"("metadata":{"name":")" + name + "\"}";
    kubernetes_.Apply(R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":")" + kind + "\"," +
                      meta + R"(,"rules":[{"apiGroups":[")" + group + R"("],"resources":[")" +
                      resource + R"("],"verbs":[)" + verbs + "]}]}");
  }
  void Bind(const std::string& kind, const std::string& role, const std::string& account,
            const std::string& binding = "cluster-watcher") {
    kubernetes_.Apply(
        R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding",)" + Meta(binding) +
        R"(,"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":")" + kind + R"(","name":")" +
        role + R"("},"subjects":[{"kind":"ServiceAccount","namespace":"lab","name":")" + account +
        R"("}]})");
  }
  // `value`: JSON; null takes it off.
  void Label(const std::string& key, const std::string& value) {
    Patch("/api/v1/namespaces/lab",
          R"({"metadata":{"labels":{"cluster-watcher/)" + key + "\":" + value + "}}}");
  }
  void LetCallerBe(const std::string& group) {
    kubernetes_.GetTokens().Add("of-caller", {"caller", {group, "system:authenticated"}});
  }
  void Serve(const std::string& group, const std::string& kind, bool namespaced,
             const std::string& version = "v1", bool removed = false) {
    small_kubernetes::Resource resource;
    resource.group = group;
    resource.version = version;
    resource.plural = PluralOf(kind);
    resource.kind = kind;
    resource.namespaced = namespaced;
    resource.removed = removed;
    kubernetes_.AddKind(resource);
  }

  const DriverTools tools_{client_, discovery_, clock_, {}};
  int trials_before_it_injects_ = 1'000'000;

 private:
  static ApiServer OfCaller() {
    ApiServer server;
    server.token = "of-caller";
    return server;
  }
  static std::string PluralOf(const std::string& kind) {
    const std::string lower = LowerCase(kind);
    return lower.ends_with('y') ? lower.substr(0, lower.size() - 1) + "ies" : lower + "s";
  }
  static void Inject(std::string& pod) {
    const std::string meta = R"("metadata":{)", spec = R"("spec":{)";
    pod.insert(pod.find(meta) + meta.size(),
               R"("annotations":{"cluster-watcher/status":"{\"port\":9090}"},)");
    pod.insert(pod.find(spec) + spec.size(),
               R"("initContainers":[{"name":"cluster-watcher","image":"it:1"}],)");
  }

  int trials_ = 0;
};

}  // namespace cluster_watcher
