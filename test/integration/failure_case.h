// Failures that similar systems have met; the watcher survives each one. CONTRIBUTING.md numbers
// them and names the test of each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "test/integration/fixture.h"
#include "test/integration/proxy.h"

namespace cluster_watcher::integration {

class FailureCase : public IntegrationTest {
 protected:
  void TearDown() override {
    IntegrationTest::TearDown();  // stops the watchers
    proxy_.reset();
  }

  // From now on kubeconfig() leads to the API server through a proxy that can lie.
  Proxy& BehindProxy() {
    proxy_.emplace(server().Admin());
    WriteKubeconfig(kubeconfig(), proxy_->Address(), "token: \"" + server().Admin().token + "\"");
    return *proxy_;
  }

  // The watcher's request for the owner.
  std::string ListOf(const std::string& plural) {
    return "GET " + PathOf(plural, ns_) + "?fieldSelector";
  }

  // Makes kubeconfig() that of an account with nothing but `rules`, a Role's.
  void UseAccount(const std::string& rules) {
    MakeAccount(R"({"metadata": {"name": "watcher"}, "rules": )" + rules + "}");
    WriteKubeconfig(kubeconfig(), server().Admin(),
                    "token: \"" + api().Token(ns_, kAccount) + "\"");
  }

  // Makes another namespace for this test.
  std::string MakeNamespace(const std::string& name) {
    const std::string full = ns_ + "-" + name;
    api().Create("namespaces", "", NamedOf({full}));
    return full;
  }

  static Lie EmptyList(const std::string& kind, const std::string& metadata) {
    return Lie::Answer(200, R"({"kind": ")" + kind +
                                R"(", "apiVersion": "apps/v1", "metadata": {)" + metadata +
                                R"(}, "items": []})");
  }

  // With a single verdict and no grace period, any doubt would be fatal.
  const std::vector<std::string> hasty_ = {"--confirmations=1", "--grace-period=0s",
                                           "--startup-grace=0s"};

 private:
  std::optional<Proxy> proxy_;
};

}  // namespace cluster_watcher::integration
