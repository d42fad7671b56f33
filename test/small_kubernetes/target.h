// A request's path and query, taken apart the way an API server does.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cluster_watcher::small_kubernetes {

struct Target {
  std::string path;  // decoded
  std::vector<std::pair<std::string, std::string>> query;

  // Of a resource request; `version` is empty for every other.
  std::string group;
  std::string version;
  std::string ns;  // for a namespace by name, that name, as real ones count it
  std::string plural;
  std::string name;
  std::string subresource;

  bool IsResource() const { return !plural.empty(); }
  // Empty: not given.
  std::string_view Query(std::string_view key) const;
  bool Has(std::string_view key) const;
};

Target ParseTarget(std::string_view target);

}  // namespace cluster_watcher::small_kubernetes
