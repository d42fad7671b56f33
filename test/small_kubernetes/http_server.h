// The small Kubernetes behind HTTP on the loopback interface.
//
// Besides the API it serves these paths to admin tokens, for tests in other processes:
// - POST /__faults adds a fault, as FaultFromJson reads it; DELETE removes all of them
// - POST /__kinds adds a kind: group, version, plural, kind, namespaced, status, scale; DELETE
//   (group, plural) removes one or, with "terminate": true, begins to
// - POST /__settings: staleVersions, staleMilliseconds, settle, podsRun, definitionLinger
//   (milliseconds)
// - POST /__tokens adds a user: token, user, groups; or removes one: revoke
// - GET /__requests returns the log; DELETE clears it
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "probes/base/clock.h"
#include "probes/base/result.h"
#include "test/small_kubernetes/small_kubernetes.h"

struct mg_connection;
struct mg_context;

namespace cluster_watcher::small_kubernetes {

class HttpServer {
 public:
  // `kubernetes` must outlive the server. While the server runs, use it only through Locked.
  explicit HttpServer(SmallKubernetes& kubernetes) : kubernetes_(kubernetes) {}
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer() { Stop(); }

  // Listens on 127.0.0.1; with port 0 the system chooses one. Each kept-alive connection and each
  // watch takes one of the threads.
  Result<Done> Start(int port = 0, int threads = 16);
  // Ends watches and hanging requests; may take a second.
  void Stop();

  int Port() const { return port_; }
  std::string Url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // Returns a kubeconfig for this server.
  std::string Kubeconfig(const std::string& token = std::string(SmallKubernetes::kAdminToken),
                         const std::string& ns = "default") const;

  // Runs `what` while no request is being answered, and notifies watches.
  void Locked(const std::function<void(SmallKubernetes&)>& what);

 private:
  static int Handle(mg_connection* connection, void* self);
  int Handle(mg_connection* connection);
  Response Control(const Request& request);
  void StreamWatch(mg_connection* connection, Watch& watch, const std::string& target);
  // Returns whether the server goes on.
  bool Wait(std::unique_lock<std::mutex>& lock, Duration time);

  SmallKubernetes& kubernetes_;
  mg_context* context_ = nullptr;
  int port_ = 0;
  bool stopping_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace cluster_watcher::small_kubernetes
