// Manifests in, the same with the sidecar out. Pure.
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
  // For people, each one line that begins with file and object.
  std::vector<std::string> warnings;
  std::vector<std::string> annotation_problems;
};

// A document that gets no sidecar stays as it is, byte for byte. One that does keeps its form (YAML
// or JSON), the order of its keys and what everything in it means, but not its comments. The files
// are put behind each other. The error names file, line and column.
Result<InjectedManifests> InjectManifests(std::span<const ManifestFile> files,
                                          const InjectionSettings& settings);

}  // namespace cluster_watcher
