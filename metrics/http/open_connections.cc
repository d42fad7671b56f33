#include "metrics/http/open_connections.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace cluster_watcher {

OpenConnections::Connection* OpenConnections::Opened(int socket, const std::string& address,
                                                     Time now) {
  return &connections_.emplace_back(Connection{socket, address, now, false, 0, std::nullopt});
}

void OpenConnections::Closed(const Connection* connection) {
  connections_.remove_if([&](const Connection& open) { return &open == connection; });
}

OpenConnections::Connection* OpenConnections::Greediest() {
  std::map<std::string_view, std::size_t> counts;
  for (const Connection& open : connections_) counts[open.address] += open.is_due ? 0 : 1;
  Connection* greediest = nullptr;
  std::size_t most = 0;
  for (Connection& open : connections_) {
    if (open.is_due || counts[open.address] <= most) continue;
    most = counts[open.address];
    greediest = &open;
  }
  return greediest;
}

std::vector<int> OpenConnections::Due(Time now) {
  std::vector<int> sockets;
  const auto go = [&](Connection& connection) {
    connection.is_due = true;
    sockets.push_back(connection.socket);
  };
  std::size_t staying = 0;
  for (Connection& open : connections_) {
    if (open.is_due) continue;
    if (now - open.opened >= longest_) {
      go(open);
    } else {
      ++staying;
    }
  }
  for (; staying > most_; --staying) go(*Greediest());
  return sockets;
}

std::optional<OpenConnections::Time> OpenConnections::NextDue() const {
  const auto oldest = std::ranges::find(connections_, false, &Connection::is_due);
  if (oldest == connections_.end()) return std::nullopt;
  return oldest->opened + longest_;
}

}  // namespace cluster_watcher
