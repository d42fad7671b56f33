// A port on the loopback whose connections are served side by side.
#pragma once

#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cluster_watcher::integration {

class Listener {
 public:
  // Listens on a port of its own. `serve` gets each connection's socket in a thread of its own, and
  // leaves it open.
  explicit Listener(std::function<void(int socket)> serve);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  // Cuts all connections, and waits until they are no longer served.
  ~Listener();

  int Port() const { return port_; }
  void CutConnections();

 private:
  void Accept();

  const std::function<void(int socket)> serve_;
  int listener_ = -1;
  int port_ = 0;
  std::mutex mutex_;  // guards what follows
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace cluster_watcher::integration
