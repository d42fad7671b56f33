// The injection: a pod and settings in, a JSON Patch out. Pure; the one source of what webhook and
// `inject` do, and what the MutatingAdmissionPolicy is held against.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probes/base/json.h"
#include "watcher/admission/injection_settings.h"

namespace cluster_watcher {

inline constexpr char kSidecarName[] = "cluster-watcher";
inline constexpr char kTokenVolume[] = "cluster-watcher-token";

// An "add" of RFC 6902.
struct PatchOperation {
  std::string path;   // a JSON pointer, "/spec/volumes/-"
  std::string value;  // JSON
};

struct Injection {
  enum class Outcome {
    kInjected,
    kNotAsked,   // nothing says that it should be
    kAlready,    // it was before
    kLeftAlone,  // it is asked for and can't be; the warnings say why
  };
  Outcome outcome = Outcome::kNotAsked;
  std::vector<PatchOperation> patch;  // in this order; empty unless injected
  std::vector<std::string> warnings;  // for people: each one line, about this pod
};

// "injected", "not-asked", "already", "left-alone".
const char* ToString(Injection::Outcome outcome);

// `pod`: a Pod, or a pod template, as JSON; what is wrong with it is left to the API server.
Injection Inject(JsonValue pod, const InjectionSettings& settings);

// The patch as a webhook answers it.
std::string PatchText(const std::vector<PatchOperation>& patch);

// What the watcher would refuse or not understand in the annotations of a Pod or pod template: each
// names the annotation and the remedy.
std::vector<std::string> AnnotationProblems(JsonValue pod);

}  // namespace cluster_watcher
