#include "watcher/admission/manifest/manifest_documents.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>

#include "probes/base/printable.h"

namespace cluster_watcher {
namespace {

constexpr std::string_view kMarker = "---";

std::string_view FirstLine(std::string_view text) {
  const std::size_t end = text.find('\n');
  return end == std::string_view::npos ? text : text.substr(0, end + 1);
}

bool IsBlankOrComment(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos || line[first] == '#';
}

bool IsMarker(std::string_view line) {
  return line.starts_with(kMarker) &&
         (line.size() == kMarker.size() ||
          std::string_view(" \t\r\n").find(line[kMarker.size()]) != std::string_view::npos);
}

std::size_t HeadOf(std::string_view text) {
  std::size_t head = 0;
  const std::string_view first = FirstLine(text);
  if (IsMarker(first)) {
    // Content on the marker's line can't be kept: the document is written below a marker of its
    // own.
    if (!IsBlankOrComment(first.substr(kMarker.size()))) return 0;
    head = first.size();
  }
  while (head < text.size()) {
    const std::string_view line = FirstLine(text.substr(head));
    if (!IsBlankOrComment(line)) break;
    head += line.size();
  }
  return head;
}

bool IsForbidden(char c) {
  const bool is_white = c == '\t' || c == '\n' || c == '\r';
  return (static_cast<unsigned char>(c) < ' ' && !is_white) || c == 0x7F;
}

}  // namespace

std::vector<YamlDocument> SplitYaml(std::string_view text) {
  std::vector<YamlDocument> documents;
  std::size_t begin = 0;
  std::size_t begin_line = 0;
  const auto cut = [&](std::size_t end) {
    const std::string_view document = text.substr(begin, end - begin);
    if (!document.empty()) documents.push_back({document, begin_line, HeadOf(document)});
  };
  std::size_t line = 0;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::string_view here = FirstLine(text.substr(at));
    if (IsMarker(here)) {
      cut(at);
      begin = at;
      begin_line = line;
    }
    at += here.size();
  }
  cut(text.size());
  return documents;
}

std::optional<YamlError> FindIllegalByte(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = CharacterSize(text.substr(at));
    if (size == 0 || IsForbidden(text[at])) {
      std::array<char, 8> byte{};
      std::snprintf(byte.data(), byte.size(), "0x%02x", static_cast<unsigned char>(text[at]));
      return ErrorAtByte(text, at, std::string("the byte ") + byte.data() + " is no text in UTF-8");
    }
    at += size;
  }
  return std::nullopt;
}

YamlError ErrorAtByte(std::string_view text, std::size_t at, std::string message) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const std::size_t lines =
      static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t begin = before.rfind('\n') + 1;  // 0 if there is none
  return {lines + 1, before.size() - begin + 1, std::move(message)};
}

}  // namespace cluster_watcher
