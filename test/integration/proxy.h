// A server between the watcher and the API server, which answers some requests itself: with
// anything whatever, byte for byte. All others are passed on, with their token, and their true
// answers back.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "probes/kube/api_server.h"

namespace cluster_watcher::integration {

// What is sent instead of the true answer.
struct Lie {
  std::string bytes;            // head and body
  bool closes = false;          // the connection, behind it
  std::size_t repetitions = 0;  // of `chunk` behind it, as long as the client takes it
  std::string chunk = {};
  bool hangs = false;  // nothing is sent before Proxy::LetGo

  // A whole answer.
  static Lie Answer(int status, const std::string& body,
                    const std::string& content_type = "application/json",
                    const std::string& more_headers = "");
};

// A request that is passed on.
struct Passage {
  int number = 0;            // of those that were passed on, from 1
  std::string request_line;  // "GET /apis/apps/v1/…"
  std::string head;          // the line and the headers
  std::string body;
  bool answered = false;  // the API server has done it; the client doesn't know yet
  int status = 0;         // of that answer; 0: there was none
};

class Proxy {
 public:
  // Listens on a port of its own. `server` is where requests are passed on.
  explicit Proxy(ApiServer server);
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy();

  // This server, with the token of the true one.
  ApiServer Address() const;

  // Requests whose method and target hold `part`, such as "GET /apis/apps", are answered with
  // `lie`; where several do, the longest counts.
  void LieAbout(const std::string& part, Lie lie);
  void TellTheTruth();
  void LetGo();  // what hangs, now or later
  int LiesTold() const { return lies_told_; }
  // The requests that were answered so, or hang, in their order.
  std::vector<Passage> LiedTo();
  int RequestsPassedOn() const { return passed_on_; }
  // Those of them whose method and target hold `part`, in their order.
  std::vector<Passage> PassedOnWith(const std::string& part);

  // The API server is asked for no more than so many items at a time, whatever the client asks.
  void CutPages(int items) { page_size_ = items; }

  // Asked twice of each request that is passed on: before that, and before its answer goes back.
  // False cuts the connection there. It may block; connections have a thread each, all of which
  // must be let go before the proxy ends. An empty one is no gate.
  using Gate = std::function<bool(const Passage&)>;
  void SetGate(Gate gate);

 private:
  void Accept();
  void Serve(int socket);
  std::optional<Lie> LieFor(const Passage& passage);
  bool IsLetThrough(const Passage& passage);

  const ApiServer server_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> lies_told_{0};
  std::atomic<int> passed_on_{0};
  std::atomic<bool> let_go_{false};
  std::atomic<int> page_size_{0};  // 0: as the client asks
  std::mutex mutex_;               // Guards what follows.
  std::map<std::string, Lie> lies_;
  Gate gate_;
  std::vector<Passage> passages_;
  std::vector<Passage> lied_to_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace cluster_watcher::integration
