// The sidecar, volume, label and annotations that the injection writes into a pod.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/json.h"
#include "watcher/admission/injection_settings.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

inline constexpr char kSidecarName[] = "cluster-watcher";
inline constexpr char kScrape[] = "prometheus.io/scrape";  // an annotation
inline constexpr int kPortsTried = 10;

// An "add" operation of RFC 6902.
struct PatchOperation {
  std::string path;   // a JSON pointer, "/spec/volumes/-"
  std::string value;  // JSON
};

// Returns the patch in the form in which a webhook answers it.
std::string PatchText(const std::vector<PatchOperation>& patch);

// Returns those in a Pod's spec, and the init containers, which sidecars are.
std::vector<JsonValue> ContainersOf(JsonValue spec);
bool HasNamed(const std::vector<JsonValue>& list, std::string_view name);
// Returns the first port from `first` on that they don't declare; nullopt if all that are tried are
// taken.
std::optional<int> FreePort(const std::vector<JsonValue>& containers, int first);

// Puts the sidecar into a Pod, which has none and a free port. `annotations` are those it has of
// ours.
std::vector<PatchOperation> SidecarPatch(JsonValue pod, const TextMap& annotations,
                                         const InjectionSettings& settings);

// Returns the image of a sidecar that is there among the init containers; nullopt: there is none.
std::optional<std::string> SidecarImage(JsonValue spec);
// Gives a sidecar that is there the image of the settings. Empty: it has it, or is no init
// container.
std::vector<PatchOperation> ImagePatch(JsonValue pod, const InjectionSettings& settings);

// Leaves the port of a sidecar that is there to a container that has been given it since, as by
// another injector, and takes the next. Empty: nobody else has it, or none is free.
std::vector<PatchOperation> PortPatch(JsonValue pod, const InjectionSettings& settings);

}  // namespace cluster_watcher
