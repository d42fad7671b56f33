// What a scalar without quotes is in YAML 1.1, as kubectl reads it.
// Source: go.yaml.in/yaml/v2, "resolve.go", as sigs.k8s.io/yaml uses it: no sexagesimal numbers,
// and dates stay strings.
#pragma once

#include <string>
#include <string_view>

namespace cluster_watcher {

struct YamlScalar {
  enum class Type { kNull, kBool, kNumber, kInfinite, kString };  // infinite: or not a number
  Type type = Type::kString;
  std::string text;  // as JSON writes it: "true", "511"; the string itself
};

YamlScalar ReadPlainScalar(std::string_view text);

}  // namespace cluster_watcher
