// The mark `first-deletes`: what a deletion deletes first. Once one of these objects is gone the
// cluster is proven half, whoever reads the mark.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probes/kube/object_meta.h"

namespace cluster_watcher {

struct FirstDelete {
  std::string plural;  // "deployments"
  std::string group;   // "apps"; empty for the core group
  std::string name;
  std::string uid_hash;  // 16 hexadecimal digits

  static FirstDelete Of(const KubeObject& object);
  bool HasUid(std::string_view uid) const;
  std::string Describe() const;  // "deployments.apps/bob-w"
  bool operator==(const FirstDelete&) const = default;
};

// "deployments.apps/bob-w=0011223344556677,services/bob=…", as it stands in the annotation.
std::string FirstDeletesMark(const std::vector<FirstDelete>& deletes);
// The inverse. What doesn't parse is left out, and so is what is beyond the first 64.
std::vector<FirstDelete> ParseFirstDeletes(std::string_view text);

}  // namespace cluster_watcher
