// Manifests as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "probes/base/json.h"
#include "watcher/admission/manifest/manifest_node.h"

namespace cluster_watcher {

struct JsonManifest {
  ManifestNode root;
  std::size_t size = 0;  // how many bytes it takes, white space before it included
  // What makes it unfit to be changed: "" for nothing.
  std::string oddity;
};

// The first value in `text`.
Result<JsonManifest> ReadJson(std::string_view text);

// kMeant: YAML's 0777 is 511. kWritten: numbers as they are in the JSON that was read.
enum class Scalars { kMeant, kWritten };
std::string WriteJson(const ManifestNode& node, JsonWriter::Style style, Scalars scalars);

}  // namespace cluster_watcher
