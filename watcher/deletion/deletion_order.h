// The basis of a deletion, from the point of no return on.
#pragma once

#include <set>
#include <string>

#include "watcher/observation/snapshot.h"

namespace cluster_watcher {

struct DeletionOrder {
  Snapshot look;            // it showed the cluster abandoned, or the deletion that is resumed
  Marks marks;              // as they are written since
  std::string why;          // for people
  bool is_asked = false;    // by a person, whatever the rules and `keep` on the master root say
  BootTime marked_at = {};  // when the marks were sent, or read, under the root's resourceVersion
  // The UIDs of owners beside the one that the look and the marks tell of.
  std::set<std::string> other_owners = {};
};

}  // namespace cluster_watcher
