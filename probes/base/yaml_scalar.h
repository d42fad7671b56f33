// Types an unquoted YAML 1.1 scalar as kubectl does: without sexagesimal numbers, and dates stay
// strings.
// Source: go.yaml.in/yaml/v2, "resolve.go", as sigs.k8s.io/yaml uses it.
#pragma once

#include <string>
#include <string_view>

namespace cluster_watcher {

struct YamlScalar {
  enum class Type { kNull, kBool, kNumber, kInfinite, kString };  // kInfinite: also not a number
  Type type = Type::kString;
  std::string text;  // as JSON writes it: "true", "511"; or the string itself
};

YamlScalar ReadPlainScalar(std::string_view text);

}  // namespace cluster_watcher
