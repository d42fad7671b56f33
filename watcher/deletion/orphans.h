// What loses its owner because that is deleted with propagationPolicy=Orphan. The garbage collector
// leaves it, so it is deleted here, each object by its UID.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "probes/cluster_probe.h"
#include "watcher/deletion/tools.h"
#include "watcher/protocol/first_deletes.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class Orphans {
 public:
  Orphans(const Tools& tools, WarnOnce& warn_once, std::string ns)
      : tools_(tools), warn_once_(warn_once), ns_(std::move(ns)) {}

  // Finds what `owner` alone owns, of all kinds that members can be, whatever its labels; claims
  // and what is to be kept aside. False: a kind could not be listed; call it again.
  bool Find(const KubeObject& owner);
  // Finds what an earlier watcher found and named.
  void FindAgain(const std::vector<FirstDelete>& named);

  bool empty() const { return found_.empty(); }
  std::vector<FirstDelete> Named() const;
  // Returns those that are still there, as they are now. One that can't be read counts as there.
  std::vector<KubeObject> Remaining();

 private:
  const Tools& tools_;
  WarnOnce& warn_once_;
  const std::string ns_;
  std::map<std::string, KubeObject> found_;  // by UID
};

}  // namespace cluster_watcher
