// Lists what carries the cluster's label, of all kinds that members can be. What can't be listed
// blocks nothing: it is said and counted.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "probes/cluster_probe.h"
#include "watcher/deletion/tools.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

// The kinds that members can be.
struct MemberKinds {
  std::vector<ResourceType> types;      // as they are served
  std::vector<std::string> not_served;  // of those that --resources names: "widgets.example.com"
  std::vector<ApiError> errors;         // of those of which it can't be found out: left out
};
MemberKinds FindMemberKinds(const Settings& settings, Discovery& discovery,
                            const Patience& patience);

class MemberListing {
 public:
  struct Listed {
    std::vector<KubeObject> objects;
    bool complete = true;  // false: a kind could not be listed this time
    bool any = true;       // false: none could
  };

  MemberListing(const Tools& tools, WarnOnce& warn_once, ClusterId cluster);

  Listed List();

  // Kinds that are passed over: "widgets.example.com: not served".
  const std::vector<std::string>& skipped() const { return skipped_; }

 private:
  void Skip(const std::string& plural, const char* result, std::string why);

  const Tools& tools_;
  ClusterProbe cluster_probe_;
  WarnOnce& warn_once_;
  const ClusterId cluster_;
  std::vector<std::string> skipped_;
  std::size_t most_readable_ = 0;  // kinds that could be listed at one time
  bool list_anew_ = false;         // the last listing had gaps: what is served is asked again
};

}  // namespace cluster_watcher
