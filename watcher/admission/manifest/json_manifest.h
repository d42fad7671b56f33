// Reads and writes manifests as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "probes/base/json.h"
#include "watcher/admission/manifest/manifest_node.h"

namespace cluster_watcher {

struct JsonManifest {
  ManifestNode root;
  std::size_t size = 0;  // bytes that it takes, including white space before it
  // Why it can't be changed safely; "" if it can.
  std::string oddity;
};

// Reads the first value in `text`.
Result<JsonManifest> ReadJson(std::string_view text);

// How numbers are written: kMeant as JSON means them (YAML's 0777 is 511), kWritten as they were
// read.
enum class Scalars { kMeant, kWritten };
std::string WriteJson(const ManifestNode& node, JsonWriter::Style style, Scalars scalars);

}  // namespace cluster_watcher
