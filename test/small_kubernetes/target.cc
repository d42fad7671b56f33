#include "test/small_kubernetes/target.h"

namespace cluster_watcher::small_kubernetes {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string Decode(std::string_view text, bool plus_is_space) {
  if (text.find('%') == text.npos && text.find('+') == text.npos) return std::string(text);
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
                        HexDigit(text[i + 2]) >= 0;
    if (escape) {
      decoded += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      decoded += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

void ParseQuery(std::string_view text, Target& target) {
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(pair.size() < text.size() ? pair.size() + 1 : pair.size());
    const std::string_view key = pair.substr(0, pair.find('='));
    const std::string_view value = key.size() < pair.size() ? pair.substr(key.size() + 1) : "";
    target.query.emplace_back(Decode(key, true), Decode(value, true));
  }
}

// Removes the first segment of a path and returns it.
std::string TakeSegment(std::string_view& path) {
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return Decode(segment, false);
}

}  // namespace

std::string_view Target::Query(std::string_view key) const {
  for (const auto& [parameter, value] : query) {
    if (parameter == key) return value;
  }
  return {};
}

bool Target::Has(std::string_view key) const {
  for (const auto& [parameter, value] : query) {
    if (parameter == key) return true;
  }
  return false;
}

Target ParseTarget(std::string_view text) {
  Target target;
  std::string_view path = text.substr(0, text.find('?'));
  if (path.size() < text.size()) ParseQuery(text.substr(path.size() + 1), target);
  target.path = Decode(path, false);
  const std::string root = TakeSegment(path);
  if (root != "api" && root != "apis") return target;
  if (root == "apis") target.group = TakeSegment(path);
  target.version = TakeSegment(path);
  target.plural = TakeSegment(path);
  if (target.plural == "namespaces") {
    target.ns = TakeSegment(path);
    target.plural = TakeSegment(path);
    const bool of_namespace =
        target.plural.empty() || target.plural == "status" || target.plural == "finalize";
    if (of_namespace) {
      target.subresource = target.plural;
      target.plural = "namespaces";
      target.name = target.ns;
      return target;
    }
  }
  target.name = TakeSegment(path);
  target.subresource = TakeSegment(path);
  return target;
}

}  // namespace cluster_watcher::small_kubernetes
