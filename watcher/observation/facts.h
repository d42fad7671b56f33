// Facts that one look established, in the terms that the rules ask for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/owner_name.h"
#include "probes/owner_probe.h"
#include "watcher/observation/holds.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

struct Facts {
  // Rule 0: annotations that don't parse, settings that contradict.
  std::vector<std::string> setting_errors;

  std::optional<OwnerName> given_owner;        // by flag or annotation
  std::optional<std::string> ephemeral_label;  // on the master root
  bool label_agrees = false;                   // the label names the owner given
  std::optional<std::string> root_owner;       // the owner annotation of the master root
  bool root_owner_agrees = false;              // it names the owner given

  std::vector<Hold> holds;
  std::string kept_root;  // the master root, if it is annotated keep; else empty
  std::string opted_out;  // for a sweep: the pod or template that opts out; else empty
  WallTime now;           // by the local clock
  std::optional<WallTime> server_time;  // by the API server's

  // Why the master root, our pod, the namespace or the cluster's other roots can't be read; empty:
  // they were. The owner counts as absent only if the same look read the master root under its
  // recorded UID.
  std::string problem;
  bool root_read = false;
  // Why not all settings of the watcher can be seen from outside of its pod; empty: they are.
  std::string unseen;
  std::vector<std::string> ambiguities;
  std::vector<std::string>
      unlistable;  // kinds that may not be listed, so masters of them aren't seen

  std::optional<OwnerSight> owner;  // nullopt: none is given, or it wasn't looked for
  // The driver's word on how the application ended, for one command: "completed" counts.
  std::optional<std::string> app_status;
  // A pod of the owner that runs in spite of that, "pod/bob-2": beside the pod that says so, or
  // where no pod does, beside one. Empty: nothing.
  std::string also_running;

  // The name of the owner: the one given, else the label's.
  std::optional<std::string> OwnerNameText() const;
  // The observation as metrics and people have it: "none" if there is no owner.
  const char* ObservationText() const;
};

}  // namespace cluster_watcher
