// A token that is read from a file, and can be rotated.
#pragma once

#include <string>

#include "probes/kube/api_server.h"
#include "test/small_kubernetes/small_kubernetes.h"
#include "test/unit/support/temporary_directory.h"

namespace cluster_watcher {

class TokenFile {
 public:
  TokenFile() { Write(std::string(small_kubernetes::SmallKubernetes::kAdminToken)); }

  ApiServer Server() const {
    ApiServer server;
    server.token_file = directory_.Path("token");
    return server;
  }
  // From now on the file holds another token of the same account.
  void Rotate(small_kubernetes::SmallKubernetes& kubernetes) const {
    auto& tokens = kubernetes.GetTokens();
    tokens.Add("fresh", *tokens.Find(small_kubernetes::SmallKubernetes::kAdminToken));
    Write("fresh");
  }

 private:
  void Write(const std::string& token) const { directory_.Write("token", token); }

  const TemporaryDirectory directory_;
};

}  // namespace cluster_watcher
