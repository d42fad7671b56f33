// Deletes a cluster now, because its application has ended or because somebody asks for it, by the
// protocol that a watcher follows: the watcher in the cluster stands aside, and finishes what is
// left should we end before.
#pragma once

#include <optional>
#include <string>

#include "watcher/driver/application.h"
#include "watcher/driver/deletion_work.h"
#include "watcher/driver/outcome.h"

namespace cluster_watcher {

// How an application ended, by its own word.
struct AppStatus {
  OwnerName app;
  std::string status;    // "completed" or "terminated"
  std::string uid = {};  // of the owner; empty: whoever has the name
};

struct DeleteRequest {
  ClusterId cluster;
  // Whose word it is: the rules decide then, without confirmations and grace periods. nullopt: the
  // deletion is asked for, whatever the rules say, and neither a hold nor `keep` on the master root
  // binds it.
  std::optional<AppStatus> ended;
  // Whether it waits for a deletion that somebody else is at, too. How far its own goes says
  // Tools::until.
  bool waits = false;
  // Of the cluster that is meant, "" if it has no master root; nullopt: of whichever has the name.
  std::optional<std::string> root_uid = {};
};

// Its Events name the user that asks, as the API server knows it.
//
// kDone: deleted; or kept by the rules (said: "kept: REASON"); or somebody else is at it (said:
// "already being deleted by X"). kNoCluster: there is none. kFailed: the cluster is shared or
// another application's, its owner isn't known, or the account may not delete it; nothing was
// deleted then.
//
// Until the point of no return `work.driver.stop` is heeded; a deletion that was begun goes on
// until it is done, or an admission policy such as the brake holds it: whoever watches the cluster
// finishes it then.
DriverOutcome Delete(const DeletionWork& work, const DeleteRequest& request);

// Finishes the deletion that `work.me`, a pod, began before it was started again, or another that
// is gone, or whose time is over; or takes off what was only condemned so. nullopt: there is
// neither.
std::optional<DriverOutcome> FinishOwnDeletion(const DeletionWork& work, const ClusterId& cluster);

}  // namespace cluster_watcher
