// Splits the text of manifests into documents.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "probes/base/yaml_node.h"

namespace cluster_watcher {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
inline constexpr std::string_view kWhite = " \t\r\n";

// A YAML document. As for kubectl, each line that begins with "---" starts one.
struct YamlDocument {
  std::string_view text;
  std::size_t line = 0;  // where `text` begins, counted from 0
  // How many bytes stay when the rest is rewritten: the marker, comments and empty lines.
  std::size_t head = 0;
};

// Returns the documents in order; together they are `text`.
std::vector<YamlDocument> SplitYaml(std::string_view text);

// Returns the first byte that isn't UTF-8 or that YAML forbids: a control character.
std::optional<YamlError> FindIllegalByte(std::string_view text);

// Returns an error at byte `at`, as line and column.
YamlError ErrorAtByte(std::string_view text, std::size_t at, std::string message);

}  // namespace cluster_watcher
