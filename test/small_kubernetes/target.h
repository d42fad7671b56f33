// Parses a request's path and query as an API server does.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cluster_watcher::small_kubernetes {

struct Target {
  std::string path;  // decoded
  std::vector<std::pair<std::string, std::string>> query;

  // For requests to resources; `version` is empty for all others.
  std::string group;
  std::string version;
  std::string ns;  // for a namespace by name it is that name, as in real servers
  std::string plural;
  std::string name;
  std::string subresource;

  bool IsResource() const { return !plural.empty(); }
  // Returns "" if it isn't given.
  std::string_view Query(std::string_view key) const;
  bool Has(std::string_view key) const;
};

Target ParseTarget(std::string_view target);

}  // namespace cluster_watcher::small_kubernetes
