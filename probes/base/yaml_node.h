// A document in YAML or JSON as a tree that keeps the order of keys and the spelling of scalars, so
// that a change in one place preserves the meaning of everything else.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/json.h"
#include "probes/base/result.h"

namespace cluster_watcher {

// The limit for one document, with all aliases expanded.
inline constexpr std::size_t kMaxYamlNodes = 1'000'000;

struct YamlNode {
  enum class Type { kNull, kBool, kNumber, kString, kList, kMap };
  Type type = Type::kNull;
  std::string text;             // of a scalar, as JSON writes it: "true", "511", the string itself
  std::string written;          // the spelling of a boolean or number: "yes", "0777"
  bool is_flow = false;         // a list or map in [] or {}
  std::vector<YamlNode> keys;   // of a map, parallel to `items`; scalars with distinct texts
  std::vector<YamlNode> items;  // of a list or map

  YamlNode* Find(std::string_view key);  // in a map; nullptr if it isn't there
  const YamlNode* Find(std::string_view key) const;
  // Returns the string at that key; "" if there is none.
  std::string_view TextAt(std::string_view key) const;
};

// An error and its place, counted from 1.
struct YamlError {
  std::size_t line = 0;
  std::size_t column = 0;
  std::string message;

  // Returns "FILE, line 3, column 5: MESSAGE".
  std::string In(const std::string& file) const;
};

// Applies an "add" of RFC 6902; `path` is a JSON pointer relative to `node`. Fails if it doesn't
// fit.
Result<Done> AddTo(YamlNode& node, std::string_view path, YamlNode value);

// How numbers are written: kMeant as JSON means them (YAML's 0777 is 511), kWritten as they were
// read.
enum class Scalars { kMeant, kWritten };
std::string WriteJson(const YamlNode& node, JsonWriter::Style style, Scalars scalars);

}  // namespace cluster_watcher
