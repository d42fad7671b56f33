// A server between the watcher and the API server, which answers some requests itself: with
// anything whatever, byte for byte. All others are passed on, with their token, and their true
// answers back.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "probes/api_server.h"

namespace cluster_watcher::integration {

// What is sent instead of the true answer.
struct Lie {
  std::string bytes;            // head and body
  bool closes = false;          // the connection, behind it
  std::size_t repetitions = 0;  // of `chunk` behind it, as long as the client takes it
  std::string chunk = {};

  // A whole answer.
  static Lie Answer(int status, const std::string& body,
                    const std::string& content_type = "application/json",
                    const std::string& more_headers = "");
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
  // `lie`.
  void LieAbout(const std::string& part, Lie lie);
  void TellTheTruth();
  int LiesTold() const { return lies_told_; }

 private:
  void Accept();
  void Serve(int socket);
  std::optional<Lie> LieFor(const std::string& request_line);

  const ApiServer server_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> lies_told_{0};
  std::mutex mutex_;  // Guards what follows.
  std::map<std::string, Lie> lies_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace cluster_watcher::integration
