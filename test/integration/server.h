// The API server that the suite runs against: the small Kubernetes behind HTTP, or a real control
// plane. What the tests ask of both is the same.
#pragma once

#include <memory>
#include <string>

#include "probes/base/result.h"
#include "probes/kube/api_server.h"

namespace cluster_watcher::integration {

class Server {
 public:
  virtual ~Server() = default;

  // As an administrator.
  virtual const ApiServer& Admin() const = 0;

  // Connections are refused, and again answered under the same address with the same objects.
  virtual void StopApi() = 0;
  virtual void StartApi() = 0;
  // Connections are made, nothing answers; then what was asked meanwhile is answered.
  virtual void PauseApi() = 0;
  virtual void ResumeApi() = 0;

  // From now on, or at the latest in some seconds, `token` of that ServiceAccount is answered 401.
  // The account is there afterwards as well, under another UID perhaps.
  virtual void Revoke(const std::string& token, const std::string& ns,
                      const std::string& account) = 0;
};

// A kubeconfig for `server`, whose files are written beside it. `user` is the user's entry, such as
// "token: x" or "tokenFile: /a/b".
std::string WriteKubeconfig(const std::string& file, const ApiServer& server,
                            const std::string& user);

Result<std::unique_ptr<Server>> StartSmallServer();
// By the scripts in `scripts`; its state is in `directory`, which must not exist.
Result<std::unique_ptr<Server>> StartRealServer(const std::string& scripts,
                                                const std::string& directory);
// One that runs, with its state in `directory`, and that others use as well: a test that would have
// it stopped or paused fails.
Result<std::unique_ptr<Server>> JoinRealServer(const std::string& directory);

}  // namespace cluster_watcher::integration
