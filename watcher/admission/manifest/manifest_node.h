// A manifest as a tree that remembers the order of its keys and how its scalars were written, so
// that it can be changed in one place and written with the same meaning everywhere else.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/result.h"

namespace cluster_watcher {

// Of one document, with all that aliases stand for.
inline constexpr std::size_t kMaxManifestNodes = 1'000'000;

struct ManifestNode {
  enum class Type { kNull, kBool, kNumber, kString, kList, kMap };
  Type type = Type::kNull;
  std::string text;      // of a scalar, as JSON means it: "true", "511", the string itself
  std::string written;   // how a boolean or number was written: "yes", "0777"
  bool is_flow = false;  // a list or map within [] or {}
  std::vector<ManifestNode> keys;   // of a map, beside `items`; scalars, no two with the same text
  std::vector<ManifestNode> items;  // of a list or map

  ManifestNode* Find(std::string_view key);  // in a map; nullptr: it isn't there
  const ManifestNode* Find(std::string_view key) const;
  // The string at that key; "" where there is none.
  std::string_view TextAt(std::string_view key) const;
};

// Where something stands that is wrong, counted from 1.
struct ManifestError {
  std::size_t line = 0;
  std::size_t column = 0;
  std::string message;
};

// An "add" of RFC 6902, below what is at `path`, a JSON pointer. Fails where the patch doesn't fit.
Result<Done> AddTo(ManifestNode& node, std::string_view path, ManifestNode value);

}  // namespace cluster_watcher
