// The API server that the suite runs against: the small Kubernetes over HTTP, or a real control
// plane. The tests ask the same of both.
#pragma once

#include <memory>
#include <string>

#include "probes/base/result.h"
#include "probes/kube/api_server.h"

namespace cluster_watcher::integration {

class Server {
 public:
  virtual ~Server() = default;

  // With an administrator's credentials.
  virtual const ApiServer& Admin() const = 0;

  // Refuses connections, and later serves the same objects at the same address again.
  virtual void StopApi() = 0;
  virtual void StartApi() = 0;
  // Accepts connections without answering, and later answers what was asked meanwhile.
  virtual void PauseApi() = 0;
  virtual void ResumeApi() = 0;

  // Within some seconds at most, `token` of that ServiceAccount gets a 401. The account still
  // exists afterwards, possibly with another UID.
  virtual void Revoke(const std::string& token, const std::string& ns,
                      const std::string& account) = 0;
};

// Writes a kubeconfig for `server`, with its files beside it, and returns its path. `user` is the
// user's entry, such as "token: x" or "tokenFile: /a/b".
std::string WriteKubeconfig(const std::string& file, const ApiServer& server,
                            const std::string& user);

Result<std::unique_ptr<Server>> StartSmallServer();
// Starts it by the scripts in `scripts`. Its state is in `directory`, which must not exist.
Result<std::unique_ptr<Server>> StartRealServer(const std::string& scripts,
                                                const std::string& directory);
// Uses a running server with its state in `directory`, which others use as well: stopping or
// pausing it fails the test.
Result<std::unique_ptr<Server>> JoinRealServer(const std::string& directory);

}  // namespace cluster_watcher::integration
