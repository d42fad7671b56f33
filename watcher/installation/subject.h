// All that several checks of the installation need of a namespace, read once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "watcher/driver/driver_tools.h"
#include "watcher/installation/trial_master.h"

namespace cluster_watcher {

// A pod of the namespace that is a master, or has a watcher, and hasn't ended.
struct MasterPod {
  std::string name;
  bool has_watcher = false;
  bool runs = false;  // its watcher does
  std::string waits;  // why its watcher's container can't start: "ErrImagePull: …"; empty: it can
};

using Found = Result<std::optional<JsonDocument>, ApiError>;  // nullopt: definitely absent

struct Subject {
  const DriverTools& tools;
  std::string ns;
  Found its_namespace;
  TrialMaster trial;
  Result<std::vector<MasterPod>, ApiError> masters;

  bool IsAbsent() const { return its_namespace && !*its_namespace; }
  // Whether the API server answers, be it that it refuses.
  bool IsAnswered() const {
    return its_namespace || its_namespace.error().failure == ApiFailure::kForbidden;
  }
  // The value of a label of the namespace; nullopt: it has none, or isn't known.
  std::optional<std::string> Label(const char* key) const;
};

// Reads the object.
Found Find(const DriverTools& tools, const ResourceType& type, const std::string& ns,
           const std::string& name);
Found FindNamespace(const DriverTools& tools, const std::string& ns);

// Reads no more of a namespace that is absent, nor where nothing is answered.
Subject ReadSubject(const DriverTools& tools, const std::string& ns);

}  // namespace cluster_watcher
