#include "probes/base/names.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace cluster_watcher {
namespace {

bool IsLowerAlphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsAlphanumeric(char c) { return IsLowerAlphanumeric(c) || (c >= 'A' && c <= 'Z'); }

bool IsDnsPart(std::string_view text) {
  return !text.empty() && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsLowerAlphanumeric(c) || c == '-'; });
}

// Whether it names a version of an API group: "v1", "v2beta1".
bool IsApiVersion(std::string_view text) {
  const auto skip_number = [&text] {
    const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(end);
    return end > 0;
  };
  if (!text.starts_with('v')) return false;
  text.remove_prefix(1);
  if (!skip_number()) return false;
  if (text.empty()) return true;
  for (const std::string_view stage : {"alpha", "beta"}) {
    if (!text.starts_with(stage)) continue;
    text.remove_prefix(stage.size());
    return skip_number() && text.empty();
  }
  return false;
}

}  // namespace

bool IsDnsLabel(std::string_view text) { return text.size() <= 63 && IsDnsPart(text); }

bool IsDnsSubdomain(std::string_view text) {
  if (text.size() > 253) return false;
  for (std::size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.')) {
    if (!IsDnsPart(text.substr(0, dot))) return false;
    text.remove_prefix(dot + 1);
  }
  return IsDnsPart(text);
}

bool IsLabelValue(std::string_view text) {
  return !text.empty() && text.size() <= 63 && IsAlphanumeric(text.front()) &&
         IsAlphanumeric(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
           return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

bool IsLabelKey(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsLabelValue(text);
  return IsDnsSubdomain(text.substr(0, slash)) && IsLabelValue(text.substr(slash + 1));
}

KindName SplitKindName(std::string_view text) {
  const std::string lower = LowerCase(text);
  const std::size_t dot = lower.find('.');
  if (dot == std::string::npos) return {lower, ""};
  // "v1" at the end may itself be the group; only a version before a group is dropped.
  std::string_view group = std::string_view(lower).substr(dot + 1);
  // Repeated, so that the result splits into the same parts again.
  for (std::size_t next = group.find('.');
       next != std::string::npos && IsApiVersion(group.substr(0, next)); next = group.find('.')) {
    group.remove_prefix(next + 1);
  }
  return {lower.substr(0, dot), std::string(group)};
}

bool IsKindName(std::string_view text) {
  const KindName name = SplitKindName(text);
  const bool has_group = text.find('.') != std::string_view::npos;
  return IsDnsLabel(name.kind) && (!has_group || IsDnsSubdomain(name.group));
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string Quoted(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  static constexpr std::size_t kLongest = 80;
  std::string quoted = "\"";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (byte < 0x20 || byte >= 0x7f) {
      quoted += {'\\', 'x', kHex[byte >> 4], kHex[byte & 0xf]};
    } else {
      quoted += c;
    }
  }
  return quoted + (text.size() > kLongest ? "\"..." : "\"");
}

std::string_view CutText(std::string_view text, std::size_t size) {
  if (text.size() <= size) return text;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

}  // namespace cluster_watcher
