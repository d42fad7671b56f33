// Lists the objects with the cluster's label, of all kinds that members can be. A kind that can't
// be listed blocks nothing; it is logged, and counted if it is skipped.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "probes/cluster_probe.h"
#include "watcher/deletion/tools.h"
#include "watcher/observation/member_kinds.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class MemberListing {
 public:
  struct Listed {
    KubeObjects objects;
    KubeObjects preserved;            // claims, listed only because they must survive
    bool complete = true;             // false: a kind could not be listed this time
    bool any = true;                  // false: no kind could
    bool workloads = true;            // false: one that runs pods could not
    std::vector<std::string> failed;  // why kinds could not be listed this time
  };

  MemberListing(const Tools& tools, WarnOnce& warn_once, ClusterId cluster);

  Listed List(const Patience& patience = {});

  // Returns the kinds that are skipped, and why: "widgets.example.com: not served".
  const std::vector<std::string>& skipped() const { return skipped_; }

 private:
  void Skip(const std::string& plural, const char* result, std::string why);

  const Tools& tools_;
  ClusterProbe cluster_probe_;
  WarnOnce& warn_once_;
  const ClusterId cluster_;
  std::vector<std::string> skipped_;
  std::set<std::string> readable_;  // kinds that a listing could read, and that are still served
  bool refresh_kinds_ = false;      // the last listing had gaps, so discovery is refreshed
};

}  // namespace cluster_watcher
