// Reads what one pass of a deletion rests on: the members that there are, and what must survive.
#pragma once

#include <string>
#include <vector>

#include "watcher/deletion/mandate.h"
#include "watcher/deletion/member_listing.h"
#include "watcher/deletion/members.h"
#include "watcher/deletion/pass_plan.h"
#include "watcher/deletion/survivors.h"
#include "watcher/deletion/tools.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class PassReader {
 public:
  // `memory` learns what is read.
  PassReader(const Tools& tools, WarnOnce& warn_once, const ClusterId& cluster, Mandate& mandate,
             DeletionMemory& memory);

  // Lists first what there is; the root, which tells whose it is, is read after it: what was listed
  // before the root was found to be ours is of this cluster. `late`: what can't be listed isn't
  // waited for any more.
  PassView Read(bool late);

  // Whether a list without gaps has told what there is. Without a root nothing tells whose it is
  // that is made later: that is no member.
  bool is_closed() const { return is_closed_; }
  // Whether `object` stays although it is of the cluster.
  bool IsAnothers(const ObjectMeta& object) {
    return survivors_.IsAnothers(object, mandate_.root(), memory_);
  }
  // Names what is left alone, and the kinds that can't be read: "pod/x: kept".
  std::vector<std::string> Left() const;
  // The latter alone.
  const std::vector<std::string>& Unread() const { return listing_.skipped(); }

 private:
  KubeObjects WithClaims(MemberListing::Listed& listed, PassView& view) const;
  void NoteLeft(std::vector<std::string> left, bool is_all);

  const Tools& tools_;
  WarnOnce& warn_once_;
  const ClusterId& cluster_;
  Mandate& mandate_;
  DeletionMemory& memory_;
  MemberListing listing_;
  Survivors survivors_;
  bool is_closed_ = false;
  std::vector<std::string> left_;
};

}  // namespace cluster_watcher
