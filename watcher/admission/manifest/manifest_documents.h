// Text with manifests, cut into its documents.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "watcher/admission/manifest/manifest_node.h"

namespace cluster_watcher {

// YAML between two lines that begin with "---", as kubectl cuts it: such a line begins a document.
struct YamlDocument {
  std::string_view text;
  std::size_t line = 0;  // of `text`'s begin, counted from 0
  // What stays in front when the rest is written anew: the marker, comments and empty lines.
  std::size_t head = 0;
};

// Together they are `text`.
std::vector<YamlDocument> SplitYaml(std::string_view text);

bool IsUtf8(std::string_view text);

// The first byte that is no UTF-8 or that YAML doesn't allow: a control character.
std::optional<ManifestError> FindIllegalByte(std::string_view text);

// Where byte `at` is.
ManifestError ErrorAtByte(std::string_view text, std::size_t at, std::string message);

}  // namespace cluster_watcher
