// What loses its owner because that is deleted with propagationPolicy=Orphan. The garbage collector
// leaves it, so it is deleted here, each object by its UID.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "probes/cluster_probe.h"
#include "watcher/deletion/tools.h"
#include "watcher/protocol/first_deletes.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class Orphans {
 public:
  // What `survives` is left alone, and so is what bears another cluster's label.
  Orphans(const Tools& tools, WarnOnce& warn_once, ClusterId cluster,
          std::function<bool(const KubeObject&)> survives)
      : tools_(tools),
        warn_once_(warn_once),
        cluster_(std::move(cluster)),
        survives_(std::move(survives)) {}

  // Finds what has no other owners than these and those of earlier calls, whatever its labels;
  // claims aside. False: a kind could not be listed; call it again.
  bool Find(const std::vector<const KubeObject*>& owners);
  // Takes up what an earlier watcher found and marked. Marks may be forged, so only what has no
  // living owner counts: the others are found again before their owner goes. Claims count where
  // they are to be deleted (--volumes) and the StatefulSet of which they bear the name is marked as
  // well, and gone.
  void TakeUp(const std::vector<FirstDelete>& marked);

  bool empty() const { return found_.empty() && marked_.empty(); }
  bool Contains(const std::string& uid) const { return found_.contains(uid); }
  // By UID, as they were last read.
  const std::map<std::string, KubeObject>& found() const { return found_; }
  std::vector<FirstDelete> Marks() const;
  // Returns those that are still there, as they are now. One that can't be read counts as there; a
  // claim whose set can't be read is among the untold.
  std::vector<KubeObject> Remaining();
  // Those that were marked and can't be told yet.
  const std::vector<FirstDelete>& untold() const { return marked_; }
  // How many of them are worth waiting for: the account may read them.
  std::size_t awaited() const;

 private:
  bool MayGo(const KubeObject& object) const;
  // Whether it is a claim of a set that was marked as deleted first, and is gone; nullopt: that
  // can't be told yet.
  std::optional<bool> IsClaimLeft(const KubeObject& object);
  void FindMarked();
  // Whether it can be told what becomes of what a mark names.
  bool IsTold(const FirstDelete& marked);
  // Asks again whose claim it is: its set may have been made anew.
  void JudgeClaimAgain(const KubeObject& claim);

  const Tools& tools_;
  WarnOnce& warn_once_;
  const ClusterId cluster_;
  const std::function<bool(const KubeObject&)> survives_;
  std::set<std::string> owner_uids_;         // of all owners that Find() was asked for
  std::map<std::string, KubeObject> found_;  // by UID
  std::vector<FirstDelete> marked_;          // of an earlier watcher, and not told yet
  std::set<std::string> refused_;            // of those, by the hash of the UID
  std::vector<FirstDelete> sets_;            // StatefulSets that it deleted first
  std::set<std::string> claims_;             // UIDs of claims whose set is gone
};

}  // namespace cluster_watcher
