// The small Kubernetes behind HTTP on the loopback interface.
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
  // Ends watches; may take a second.
  void Stop();

  // How often a watch that allows bookmarks gets one. A real API server sends them about once a
  // minute.
  Duration bookmarks = std::chrono::minutes(1);

  int Port() const { return port_; }
  std::string Url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // An administrator's kubeconfig.
  std::string Kubeconfig() const;

  // Runs `what` while no request is being answered, and notifies watches.
  void Locked(const std::function<void(SmallKubernetes&)>& what);

 private:
  static int Handle(mg_connection* connection, void* self);
  int Handle(mg_connection* connection);
  void StreamWatch(mg_connection* connection, Watch& watch, const std::string& target);

  SmallKubernetes& kubernetes_;
  mg_context* context_ = nullptr;
  int port_ = 0;
  bool stopping_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace cluster_watcher::small_kubernetes
