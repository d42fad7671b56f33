// Finds a cluster's objects by its label, the root that controls an object, and other drivers.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "probes/cluster_id.h"
#include "probes/kube/discovery.h"
#include "probes/kube/kube_client.h"
#include "probes/kube/object_meta.h"
#include "probes/masters.h"
#include "probes/owner_reader.h"

namespace cluster_watcher {

struct ClusterListing {
  // Each carries the cluster's label, but for the custom resource that stands for it: ListMakers
  // adds that.
  KubeObjects objects;
  // By ListMakers only.
  std::set<std::string> masters;                           // the UIDs of those that are masters
  std::map<std::string, std::string> templates;            // of ReplicaSets among them, by UID
  std::vector<std::pair<ResourceType, ApiError>> skipped;  // kinds that the account may not list
  std::vector<ApiError> failed;  // kinds that could not be listed this time
  std::set<std::string> read;    // the others: "deployments.apps"
};

// The owner of a cluster, as far as it is known.
struct OwnerOfCluster {
  std::string ns;   // searched too; empty: the cluster's
  std::string uid;  // may be empty
};

struct OtherDrivers {
  std::optional<std::string> in_use_by;  // "deployment.apps/alice"; nullopt: none was found
  std::optional<ApiError> unknown;       // something could not be read
  // Statements of the cluster's other members, those that run no pods: one is to be kept and would
  // go with the master root, one names another owner.
  std::optional<std::string> misconfigured = {};
  std::optional<std::string> ambiguous = {};

  bool Keeps() const { return in_use_by || unknown || misconfigured || ambiguous; }
};

class ClusterProbe {
 public:
  ClusterProbe(KubeClient& client, Discovery& discovery)
      : client_(client), discovery_(discovery), reader_(client, discovery) {}

  // Follows the controller ownerReferences of `start` to the top and returns it. A step from
  // ReplicaSet to Deployment or from ReplicationController to DeploymentConfig is always taken, any
  // other only if the next object carries the cluster's label, is its custom resource, or has made
  // that and names an owner. A pod that nothing controls is below that resource. `known` saves
  // requests. Fails with kNotFound if a controller on the way is gone or has another UID. With
  // `whole` objects are read with more than their metadata, and it gets the root; it stays as it is
  // if that wasn't read.
  Result<KubeObject, ApiError> RootOf(KubeObject start, const ClusterId& cluster,
                                      const KubeObjects& known, const Patience& patience,
                                      JsonDocument* whole = nullptr);

  // Whether RootOf, from below, would return `root` still, as it is read now. Reads its controller.
  Result<bool, ApiError> IsStillRoot(const KubeObject& root, const ClusterId& cluster,
                                     const Patience& patience);

  // Reads the custom resource that stands for the cluster, by its name; nullopt: there is none, or
  // the profile knows none.
  Result<std::optional<KubeObject>, ApiError> ResourceOf(const ClusterId& cluster,
                                                         const Patience& patience,
                                                         JsonDocument* whole = nullptr);

  // Lists the metadata of the cluster's objects of these kinds. Kinds that aren't served are left
  // out.
  ClusterListing List(std::span<const ResourceType> types, const ClusterId& cluster,
                      std::size_t concurrency, const Patience& patience);

  // Shows the metadata of the cluster's objects of these kinds, as far as they can be listed.
  void EachMember(std::span<const ResourceType> types, const ClusterId& cluster,
                  const std::function<void(const KubeObject&)>& show, const Patience& patience);
  // Returns the requests with which that begins.
  static std::vector<ApiRequest> MemberRequests(std::span<const ResourceType> types,
                                                const ClusterId& cluster);

  // Lists what of the cluster can be a master, or belong to one: pods that haven't ended, by their
  // metadata, and objects of the kinds `types`, whole, but keeps no more of them than List does.
  // Pods are listed whole too, and from then on, where one is made by nothing that was listed: its
  // containers may be nowhere else. `resource` is the cluster's custom resource, if it was read
  // already.
  ClusterListing ListMakers(std::span<const ResourceType> types, const ClusterId& cluster,
                            const KubeObject* resource, const Patience& patience);
  // Returns the requests with which ListMakers begins, as far as it is known what is served.
  std::vector<ApiRequest> MakerRequests(std::span<const ResourceType> types,
                                        const ClusterId& cluster, const KubeObject* resource,
                                        const Patience& patience);

  // Looks for another driver: an object of a kind that has a row in the table of owner kinds, that
  // is labelled as a user of the cluster, wants to run, and is neither the owner nor controlled by
  // it; or one that uses it in the words of its profile.
  OtherDrivers FindOtherDrivers(const ClusterId& cluster, const OwnerOfCluster& owner,
                                const Patience& patience);
  // Whether the driver that was last found so uses the cluster still, which takes one read;
  // nullopt: there was none, it doesn't, or that can't be told.
  std::optional<OtherDrivers> FindLastUser(const ClusterId& cluster, const OwnerOfCluster& owner,
                                           const Patience& patience);
  // Returns the requests with which FindOtherDrivers begins.
  Result<std::vector<ApiRequest>, ApiError> DriverRequests(const ClusterId& cluster,
                                                           const OwnerOfCluster& owner,
                                                           const Patience& patience);
  // Returns the kind that uses the cluster in its profile's words; nullopt: none does, or it isn't
  // served.
  Result<std::optional<ResourceType>, ApiError> UsesType(const ClusterId& cluster,
                                                         const Patience& patience);
  // Returns the served kinds that such a driver can be of.
  Result<std::vector<ResourceType>, ApiError> DriverTypes(const Patience& patience);

 private:
  static ApiError Malformed(const ResourceType& type, const Error& error);
  static ApiError Endless(const KubeObject& object);  // its chain of controllers
  ClusterListing ListAll(std::span<const ResourceType> types, const ClusterId& cluster,
                         bool as_makers, std::size_t concurrency, const Patience& patience);
  Result<std::optional<KubeObject>, ApiError> ReadAbove(const KubeObject& object,
                                                        const ClusterId& cluster,
                                                        const KubeObjects& known,
                                                        const Patience& patience,
                                                        JsonDocument* whole);
  Result<KubeObject, ApiError> ReadController(const KubeObject& object,
                                              const OwnerReference& controller,
                                              const KubeObjects& known, const Patience& patience,
                                              JsonDocument* whole);
  Result<bool, ApiError> IsControlledBy(KubeObject object, const std::string& uid,
                                        const Patience& patience);
  ApiRequest MakerRequest(const ResourceType& type, const ClusterId& cluster) const;
  struct DriverSearch {
    const ClusterId& cluster;
    const OwnerOfCluster& owner;
    OtherDrivers drivers = {};
    // The UIDs of controllers below the owner; thousands of pods may share one.
    std::set<std::string> below_owner = {};
    RolloutsByUid rollouts = {};
  };
  void JudgeDriver(const ResourceType& type, JsonValue item, DriverSearch& search,
                   const Patience& patience);
  Result<std::vector<ApiRequest>, ApiError> LabelledDrivers(const ClusterId& cluster,
                                                            const OwnerOfCluster& owner,
                                                            const Patience& patience);
  void FindOwnJob(DriverSearch& search, const Patience& patience);
  void FindUsesByName(DriverSearch& search, const Patience& patience);

  KubeClient& client_;
  Discovery& discovery_;
  OwnerReader reader_;
  std::optional<KubeObject> last_user_;
  bool reads_whole_pods_ = false;  // as the last list was found to need
};

}  // namespace cluster_watcher
