// The injection: pod and settings in, JSON Patch out, no I/O. The webhook and `inject` both use it,
// and the MutatingAdmissionPolicy is tested against it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/base/json.h"
#include "watcher/admission/injection_settings.h"
#include "watcher/admission/sidecar_patch.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

struct Injection {
  enum class Outcome {
    kInjected,
    kNotAsked,   // nothing asks for it
    kAlready,    // the pod was injected before
    kLeftAlone,  // asked for but impossible; the warnings say why
  };
  Outcome outcome = Outcome::kNotAsked;
  std::vector<PatchOperation> patch;  // in order; empty unless injected, now or before
  std::vector<std::string> warnings;  // for people: each is one line about this pod
};

// Returns "injected", "not-asked", "already" or "left-alone".
const char* ToString(Injection::Outcome outcome);

// `pod` is a Pod or a pod template in JSON. Whether it is valid is for the API server to say.
Injection Inject(JsonValue pod, const InjectionSettings& settings);

// Does the same without the patch, which takes longer than all the rest.
Injection InjectionWithoutPatch(JsonValue pod, const InjectionSettings& settings);

// Lists what the watcher would refuse or not understand in the annotations of Pods or pod
// templates. Each line names the annotation and the remedy; of those that nobody knows only the
// first few have one.
class AnnotationProblems {
 public:
  explicit AnnotationProblems(std::shared_ptr<const ProfileTable> profiles)
      : profiles_(std::move(profiles)) {}
  void Add(JsonValue pod);
  std::vector<std::string> Lines() const;
  // Returns the lines that `before` lacks. Where it has unknown annotations without a line, none of
  // them counts as new: which of them are cannot be told.
  std::vector<std::string> Since(const AnnotationProblems& before) const;

 private:
  std::shared_ptr<const ProfileTable> profiles_;
  std::vector<std::string> wrong_;
  UnknownAnnotations unknown_;
};

}  // namespace cluster_watcher
