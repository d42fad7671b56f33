// The mark `first-deletes`: what a deletion deletes first. Once one of these objects is gone the
// cluster is proven half, whoever reads the mark. Beside them stand orphans: what lost its owner
// because that was deleted with propagationPolicy=Orphan, and goes after it.
#pragma once

#include <cstddef>
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
  bool is_orphan = false;

  static FirstDelete Of(const KubeObject& object);
  bool HasUid(std::string_view uid) const;
  // Whether somebody has deleted it if it is gone: Pods and Jobs may go by themselves.
  bool ProvesHalf() const;
  std::string Describe() const;  // "deployments.apps/bob-w"
  bool operator==(const FirstDelete&) const = default;
};

// "deployments.apps/bob-w=0011223344556677,+pods/bob-w-1=…", as it stands in the annotation; "+" is
// an orphan.
std::string FirstDeletesMark(const std::vector<FirstDelete>& deletes);
// The inverse. What doesn't parse is left out, and so is what is beyond the first 64, or of orphans
// beyond kMostOrphansMarked.
inline constexpr std::size_t kMostOrphansMarked = 1'024;
std::vector<FirstDelete> ParseFirstDeletes(std::string_view text);

}  // namespace cluster_watcher
