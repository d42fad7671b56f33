// The connections that a server has open, and which of them have to go.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <vector>

namespace cluster_watcher {

// A connection has to go when it has had its time, whatever it does with it; and where there are
// too many, the oldest one of the address that has the most. So whoever comes gets in, and those
// who hold many make room for those who hold few.
class OpenConnections {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Connection {
    int socket;
    std::string address;
    Time opened;
    bool is_due = false;  // Due has named it.
    // For the server's use.
    std::size_t body_bytes = 0;
    std::optional<Time> collected;
  };

  OpenConnections(std::size_t most, std::chrono::milliseconds longest)
      : most_(most), longest_(longest) {}

  // The connection is there, under the same address, until it is closed.
  Connection* Opened(int socket, const std::string& address, Time now);
  void Closed(const Connection* connection);

  // The sockets of those that have to go, each named once. They count no more.
  std::vector<int> Due(Time now);

  // When Due will name one although none is opened; nullopt: never.
  std::optional<Time> NextDue() const;

  bool empty() const { return connections_.empty(); }

 private:
  Connection* Greediest();

  const std::size_t most_;
  const std::chrono::milliseconds longest_;
  std::list<Connection> connections_;  // the oldest first
};

}  // namespace cluster_watcher
