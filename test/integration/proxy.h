// A server between the watcher and the API server. It answers some requests itself, with arbitrary
// bytes. It passes all others on with their token, and their true answers back.
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
  bool closes = false;          // closes the connection afterwards
  std::size_t repetitions = 0;  // of `chunk` at the end, while the client takes it
  std::string chunk = {};
  bool hangs = false;  // sends nothing before Proxy::LetGo

  // A complete answer.
  static Lie Answer(int status, const std::string& body,
                    const std::string& content_type = "application/json",
                    const std::string& more_headers = "");
};

// A request that is passed on.
struct Passage {
  int number = 0;            // counts the requests passed on, from 1
  std::string request_line;  // "GET /apis/apps/v1/…"
  std::string head;          // the line and the headers
  std::string body;
  bool answered = false;  // the API server has handled it, but the client doesn't know yet
  int status = 0;         // of the answer; 0: there was none
};

class Proxy {
 public:
  // Listens on a port of its own and passes requests on to `server`.
  explicit Proxy(ApiServer server);
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy();

  // This proxy's address, with the true server's token.
  ApiServer Address() const;

  // Answers requests whose method and target contain `part`, such as "GET /apis/apps", with `lie`.
  // If several parts match, the longest counts.
  void LieAbout(const std::string& part, Lie lie);
  void TellTheTruth();
  void LetGo();  // releases what hangs now or later
  int LiesTold() const { return lies_told_; }
  // The requests that were answered with a lie or hang, in order.
  std::vector<Passage> LiedTo();
  int RequestsPassedOn() const { return passed_on_; }
  // The requests passed on whose method and target contain `part`, in order.
  std::vector<Passage> PassedOnWith(const std::string& part);

  // Asks the API server for no more than `items` at a time, whatever the client asks for.
  void CutPages(int items) { page_size_ = items; }

  // Called twice for each request that is passed on: before it is sent, and before its answer goes
  // back. If it returns false, the connection is cut. It may block; each connection has its own
  // thread, and all must be released before the proxy ends. An empty gate lets everything through.
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
  std::mutex mutex_;               // guards what follows
  std::map<std::string, Lie> lies_;
  Gate gate_;
  std::vector<Passage> passages_;
  std::vector<Passage> lied_to_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace cluster_watcher::integration
