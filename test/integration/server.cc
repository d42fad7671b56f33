#include "test/integration/server.h"

#include "test/integration/process.h"

namespace cluster_watcher::integration {

std::string WriteKubeconfig(const std::string& file, const ApiServer& server,
                            const std::string& user) {
  std::string trust;
  if (!server.ca_pem.empty()) {
    WriteWhole(file + ".ca.crt", server.ca_pem);
    trust = "\n    certificate-authority: \"" + file + ".ca.crt\"";
  }
  WriteWhole(file, R"(apiVersion: v1
kind: Config
current-context: test
clusters:
- name: test
  cluster:
    server: ")" + server.url +
                       "\"" + trust + R"(
users:
- name: test
  user:
    )" + user + R"(
contexts:
- name: test
  context:
    cluster: test
    user: test
)");
  return file;
}

}  // namespace cluster_watcher::integration
