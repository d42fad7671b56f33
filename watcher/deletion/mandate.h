// Tells whether a deletion may send its next delete: by the master root, which is read after each
// list, and by how fresh the evidence is that the cluster is abandoned.
#pragma once

#include <functional>
#include <optional>

#include "watcher/deletion/deletion_order.h"
#include "watcher/deletion/pass_plan.h"
#include "watcher/deletion/tools.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class Mandate {
 public:
  // The marks of `order` name us. `sent`: what was deleted so far.
  Mandate(const Tools& tools, WarnOnce& warn_once, const DeletionOrder& order,
          const SentDeletes& sent);

  // Goes on with what another look came to.
  void Take(const DeletionOrder& order);
  // Goes on by the last look, as if it were another.
  void GoOn();
  // For a cluster without a master root: reads whether there is a master that wasn't there: kOurs,
  // kGone or kUnknown.
  void ReadInstead(std::function<RootState()> read_other_master);
  bool has_root() const { return !read_other_master_; }

  // Forgets when the root was read: a list begins, after which it is read again.
  void BeginList() { root_read_.reset(); }
  RootState Read();
  // Why nothing more may be deleted; nullopt: it may. Reads the root if that is due.
  std::optional<DeletionEnd> WhyEnded();
  // Reads the root again where what it said is about to grow old. False: nothing more may be sent.
  bool Renew();
  // Whether what was read is fresh enough to send something now. Reads nothing.
  bool MaySend() const;

  // Whether an admission policy refuses the marks, as the brake does: what must not be begun is not
  // gone on with.
  bool IsBraked();

  // Whether the root was read after the list and may go.
  bool is_root_read() const { return root_read_.has_value(); }
  const KubeObject& root() const { return root_.object(); }
  const WatcherId& condemned_by() const { return condemned_by_; }
  bool is_asked() const { return is_asked_; }  // by a person

 private:
  Duration LookLasts() const;
  Duration LookAge() const;

  const Tools& tools_;
  WarnOnce& warn_once_;
  const SentDeletes& sent_;
  const ClusterId cluster_;
  const bool is_asked_;
  WatcherId condemned_by_;
  EvidenceSince seen_abandoned_;
  MasterRoot root_;
  RootState root_state_ = RootState::kUnknown;
  std::optional<BootTime> root_read_;
  std::function<RootState()> read_other_master_;  // empty: there is a root
};

}  // namespace cluster_watcher
