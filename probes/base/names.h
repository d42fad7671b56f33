// How Kubernetes lets things be named, and how text of unknown origin is shown in a message.
// Source: kubernetes.io "Object Names and IDs", "Labels and Selectors".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cluster_watcher {

// At most 63 of a-z, 0-9 and "-", a letter or digit at both ends (RFC 1123). Namespaces, and the
// plurals of kinds, are named so.
bool IsDnsLabel(std::string_view text);

// Parts as in a DNS label but of any length, joined by ".", at most 253 characters (RFC 1123 as the
// API server applies it). Most objects, and groups, are named so.
bool IsDnsSubdomain(std::string_view text);

// A label's value other than the empty one: at most 63 of A-Z, a-z, 0-9, "-", "_" and ".", a letter
// or digit at both ends.
bool IsLabelValue(std::string_view text);

// A label's key, "[PREFIX/]NAME": the prefix a DNS subdomain, the name written as a label's value.
bool IsLabelKey(std::string_view text);

// A kind as people write it, "KIND[.GROUP]".
struct KindName {
  std::string kind;
  std::string group;  // empty: none was given

  std::string ToText() const { return group.empty() ? kind : kind + "." + group; }
  bool operator==(const KindName&) const = default;
};

// "Deployment.v1.apps" is kind "deployment" of group "apps": all in lower case, and a version is
// dropped. Anything splits; IsKindName tells whether the parts can be the name of a resource.
KindName SplitKindName(std::string_view text);
bool IsKindName(std::string_view text);

std::string LowerCase(std::string_view text);  // A-Z only

// `text` on one line of ASCII, between quotes: cut off after 80 characters, and whatever isn't
// printable escaped as in C.
std::string Quoted(std::string_view text);

// The first `size` bytes of `text` at most, never half a UTF-8 character.
std::string_view CutText(std::string_view text, std::size_t size);

// "a; b": several findings on one line.
std::string Joined(const std::vector<std::string>& parts);

}  // namespace cluster_watcher
