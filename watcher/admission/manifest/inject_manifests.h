// Adds the sidecar to manifests: text in, text out, no I/O.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "probes/base/result.h"
#include "watcher/admission/injection_settings.h"

namespace cluster_watcher {

struct ManifestFile {
  std::string name;  // for messages
  std::string text;  // YAML with any number of documents, or a stream of JSON objects
};

struct InjectedManifests {
  std::string text;  // as `kubectl apply -f -` takes it
  // For people: each is one line that begins with the file and the object.
  std::vector<std::string> warnings;
  std::vector<std::string> annotation_problems;
};

// The fate of the image of a sidecar that was injected before, where the settings have another.
enum class OldImage { kStays, kStaysWithAWarning, kIsReplaced };

// Joins the files in order. A document that gets no sidecar stays as it is, byte for byte. One that
// does keeps its format (YAML or JSON), the order of its keys and the meaning of its values, but
// not its comments. An error names file, line, column and, if it has one, the
// object.
Result<InjectedManifests> InjectManifests(std::span<const ManifestFile> files,
                                          const InjectionSettings& settings,
                                          OldImage old_image = OldImage::kStays);

}  // namespace cluster_watcher
