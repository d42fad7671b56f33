// The naming rules of Kubernetes, and how messages show text of unknown origin.
// Source: kubernetes.io "Object Names and IDs", "Labels and Selectors".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cluster_watcher {

// At most 63 of a-z, 0-9 and "-", with a letter or digit at both ends (RFC 1123): the form of
// namespaces and of the plurals of kinds.
bool IsDnsLabel(std::string_view text);

// Parts like DNS labels of any length, joined by ".", at most 253 characters together (RFC 1123 as
// the API server applies it): the form of most objects' names and of groups.
bool IsDnsSubdomain(std::string_view text);

// A non-empty label value: at most 63 of A-Z, a-z, 0-9, "-", "_" and ".", with a letter or digit at
// both ends.
bool IsLabelValue(std::string_view text);

// A label key, "[PREFIX/]NAME": the prefix is a DNS subdomain, the name has the form of a label
// value.
bool IsLabelKey(std::string_view text);

// A kind as people write it: "KIND[.GROUP]".
struct KindName {
  std::string kind;
  std::string group;  // empty if none was given

  std::string ToText() const { return group.empty() ? kind : kind + "." + group; }
  bool operator==(const KindName&) const = default;
};

// Splits "Deployment.v1.apps" into kind "deployment" and group "apps": lower-cased, without the
// version. Any text splits; IsKindName says whether the parts can name a resource.
KindName SplitKindName(std::string_view text);
bool IsKindName(std::string_view text);

std::string LowerCase(std::string_view text);  // A-Z only

// Returns `text` in quotes on one line of ASCII: cut off after 80 bytes, with unprintable ones
// escaped as in C.
std::string Quoted(std::string_view text);

// Returns the first `size` bytes of `text` at most, and never half a UTF-8 character.
std::string_view CutText(std::string_view text, std::size_t size);

// Returns "a; b": several messages on one line. Of very many, how many more there are.
std::string Joined(const std::vector<std::string>& parts);

}  // namespace cluster_watcher
