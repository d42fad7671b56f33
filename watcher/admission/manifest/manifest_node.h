// A manifest as a tree that keeps the order of keys and the spelling of scalars, so that a change
// in one place preserves the meaning of everything else.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/result.h"

namespace cluster_watcher {

// The limit for one document, with all aliases expanded.
inline constexpr std::size_t kMaxManifestNodes = 1'000'000;

struct ManifestNode {
  enum class Type { kNull, kBool, kNumber, kString, kList, kMap };
  Type type = Type::kNull;
  std::string text;      // of a scalar, as JSON writes it: "true", "511", the string itself
  std::string written;   // the spelling of a boolean or number: "yes", "0777"
  bool is_flow = false;  // a list or map in [] or {}
  std::vector<ManifestNode> keys;   // of a map, parallel to `items`; scalars with distinct texts
  std::vector<ManifestNode> items;  // of a list or map

  ManifestNode* Find(std::string_view key);  // in a map; nullptr if it isn't there
  const ManifestNode* Find(std::string_view key) const;
  // Returns the string at that key; "" if there is none.
  std::string_view TextAt(std::string_view key) const;
};

// An error and its place, counted from 1.
struct ManifestError {
  std::size_t line = 0;
  std::size_t column = 0;
  std::string message;
};

// Applies an "add" of RFC 6902; `path` is a JSON pointer relative to `node`. Fails if it doesn't
// fit.
Result<Done> AddTo(ManifestNode& node, std::string_view path, ManifestNode value);

}  // namespace cluster_watcher
