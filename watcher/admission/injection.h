// The injection: pod and settings in, JSON Patch out, no I/O. The webhook and `inject` both use it,
// and the MutatingAdmissionPolicy is tested against it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probes/base/json.h"
#include "watcher/admission/injection_settings.h"

namespace cluster_watcher {

inline constexpr char kSidecarName[] = "cluster-watcher";
inline constexpr char kTokenVolume[] = "cluster-watcher-token";

// An "add" operation of RFC 6902.
struct PatchOperation {
  std::string path;   // a JSON pointer, "/spec/volumes/-"
  std::string value;  // JSON
};

struct Injection {
  enum class Outcome {
    kInjected,
    kNotAsked,   // nothing asks for it
    kAlready,    // the pod was injected before
    kLeftAlone,  // asked for but impossible; the warnings say why
  };
  Outcome outcome = Outcome::kNotAsked;
  std::vector<PatchOperation> patch;  // in order; empty unless injected
  std::vector<std::string> warnings;  // for people: each is one line about this pod
};

// Returns "injected", "not-asked", "already" or "left-alone".
const char* ToString(Injection::Outcome outcome);

// `pod` is a Pod or a pod template in JSON. Whether it is valid is for the API server to say.
Injection Inject(JsonValue pod, const InjectionSettings& settings);

// Returns the patch in the form in which a webhook answers it.
std::string PatchText(const std::vector<PatchOperation>& patch);

// Lists what the watcher would refuse or not understand in the annotations of a Pod or pod
// template. Each entry names the annotation and the remedy.
std::vector<std::string> AnnotationProblems(JsonValue pod);

}  // namespace cluster_watcher
