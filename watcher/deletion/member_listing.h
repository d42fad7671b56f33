// Lists the objects with the cluster's label, of all kinds that members can be. A kind that can't
// be listed blocks nothing; it is logged, and counted if it is skipped.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "probes/cluster_probe.h"
#include "watcher/deletion/tools.h"
#include "watcher/observation/member_kinds.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

// A StatefulSet that makes claims. Source: kubernetes.io "StatefulSets", volumeClaimTemplates and
// persistentVolumeClaimRetentionPolicy.
struct ClaimingSet {
  KubeObject object;
  std::vector<std::string> templates;           // names
  std::map<std::string, std::string> selector;  // its claims are labelled so
  bool deletes_claims = false;                  // whenDeleted: Delete

  // Whether the set has made, or would take for its own, a claim of that name and with these
  // labels.
  bool HasMade(const ObjectMeta& claim) const;
};

class MemberListing {
 public:
  struct Listed {
    KubeObjects objects;  // with the cluster's label, but for claims
    KubeObjects kept;     // the same, annotated so, of kinds that --resources leaves out
    // Those of the whole namespace, for most claims of a StatefulSet lack that label.
    KubeObjects claims;  // that have a label of a cluster, an owner or a StatefulSet
    std::vector<ClaimingSet> sets;
    std::optional<ApiError> claims_problem;  // why claims or StatefulSets could not be listed
    bool complete = true;                    // false: a kind could not be listed this time
    std::vector<std::string> failed;         // why kinds could not be listed this time
  };

  // `is_asked`: by a person, whom no use of the cluster binds.
  MemberListing(const Tools& tools, WarnOnce& warn_once, ClusterId cluster, bool is_asked);

  Listed List(const Patience& patience = {});

  // Asks with the next listing again what is served.
  void RefreshKinds() { refresh_kinds_ = true; }

  // Returns the kinds that are skipped, and why: "widgets.example.com: not served".
  const std::vector<std::string>& skipped() const { return skipped_; }

 private:
  // Kinds of no member, of which there may be what is to be kept.
  std::vector<ResourceType> OtherKinds(MemberKinds& kinds, const Patience& patience) const;
  void AddUses(Listed& listed, const Patience& patience);
  std::vector<ApiRequest> Requests(std::span<const ResourceType> types) const;
  void Note(const ApiRequest& request, JsonValue item, Listed& listed) const;
  void NoteSet(const ApiRequest& request, JsonValue item, const ObjectMeta& meta,
               Listed& listed) const;
  void NoteKinds(const MemberKinds& kinds, const std::vector<ApiRequest>& requests,
                 const std::vector<Result<Done, ApiError>>& read, Listed& listed);
  std::vector<Result<Done, ApiError>> ReadAll(const std::vector<ApiRequest>& requests,
                                              Listed& listed, const Patience& patience) const;
  void AskAgain(const std::vector<ApiRequest>& requests, std::vector<Result<Done, ApiError>>& read,
                Listed& listed, const Patience& patience);
  void Skip(const std::string& plural, const char* result, std::string why);

  const Tools& tools_;
  WarnOnce& warn_once_;
  const ClusterId cluster_;
  const bool is_asked_;
  std::vector<std::string> skipped_;
  std::set<std::string> readable_;   // kinds that a listing could read, and that are still served
  std::set<std::string> forbidden_;  // kinds of which a list was refused, and asked for again
  bool refresh_kinds_ = false;       // the last listing had gaps, so discovery is refreshed
};

}  // namespace cluster_watcher
