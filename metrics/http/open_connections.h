// The open connections of a server, and which of them must be closed.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <vector>

namespace cluster_watcher {

// A connection must be closed once it reaches the maximum age, and, if there are too many, when it
// is the oldest one of the address that has the most. So newcomers get in, and clients with many
// connections make room for those with few.
class OpenConnections {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Connection {
    int socket;
    std::string address;
    Time opened;
    bool is_due = false;  // Due has returned it.
    // For the server's use.
    std::size_t body_bytes = 0;
    std::optional<Time> collected;
  };

  OpenConnections(std::size_t most, std::chrono::milliseconds longest)
      : most_(most), longest_(longest) {}

  // The connection is stored at a fixed address until it is closed.
  Connection* Opened(int socket, const std::string& address, Time now);
  void Closed(const Connection* connection);

  // Returns the sockets to close, each of them once. They no longer count.
  std::vector<int> Due(Time now);

  // When Due will return a socket even if none is opened; nullopt if never.
  std::optional<Time> NextDue() const;

  bool empty() const { return connections_.empty(); }

 private:
  Connection* Greediest();

  const std::size_t most_;
  const std::chrono::milliseconds longest_;
  std::list<Connection> connections_;  // the oldest first
};

}  // namespace cluster_watcher
