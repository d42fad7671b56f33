// Finds what the sidecar requests and is limited to: the settings, and what its pod asks for by
// annotation, within bounds. The policies have the same bounds in CEL, and know the annotations of
// the pod's namespace too, which nobody tells the webhook and `inject`.
#pragma once

#include <string>
#include <vector>

#include "probes/base/json.h"
#include "watcher/admission/injection_settings.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

inline constexpr char kNoLimit[] = "none";

struct SidecarAmounts {
  const char* resource;  // "cpu" or "memory"
  std::string request;
  std::string limit;  // kNoLimit: it has none
};

// `spec` is the pod's. Of what it has for all its containers the sidecar takes its share.
// `annotations` are those it has of ours.
std::vector<SidecarAmounts> SidecarResources(JsonValue spec, const TextMap& annotations,
                                             const InjectionSettings& settings);

// Names the annotations that SidecarResources doesn't take, with the remedy.
std::vector<std::string> SidecarResourceProblems(JsonValue spec, const TextMap& annotations);

}  // namespace cluster_watcher
