#include "probes/base/printable.h"

#include <cstdint>

namespace cluster_watcher {
namespace {

struct CodePoint {
  std::uint32_t value;
  std::size_t size;  // in bytes; 0: this is not UTF-8
};

CodePoint Decode(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return {0, 0};
  std::uint32_t value = first & (0xffu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0, 0};
    value = value << 6 | (byte(i) & 0x3fu);
  }
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kLeast[size] || value > 0x10ffff || surrogate) return {0, 0};
  return {value, size};
}

bool MustEscape(std::uint32_t c) {
  const bool control = c < 0x20 || (c >= 0x7f && c <= 0x9f);
  const bool separator = c == 0x2028 || c == 0x2029;
  const bool direction = c == 0x061c || c == 0x200e || c == 0x200f ||
                         (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
  return control || separator || direction;
}

void AppendEscaped(std::uint32_t c, std::string& out) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  if (c == '\n' || c == '\t' || c == '\r') {
    out += {'\\', c == '\n' ? 'n' : c == '\t' ? 't' : 'r'};
    return;
  }
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[c >> shift & 0xf];
}

}  // namespace

std::size_t CharacterSize(std::string_view text) { return Decode(text).size; }

std::string Printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const CodePoint next = Decode(text);
    if (next.size == 0) {
      shown += "\xef\xbf\xbd";
    } else if (MustEscape(next.value)) {
      AppendEscaped(next.value, shown);
    } else {
      shown += text.substr(0, next.size);
    }
    text.remove_prefix(next.size == 0 ? 1 : next.size);
  }
  return shown;
}

std::string PrintableLines(std::string_view text) {
  std::string shown;
  for (;;) {
    const std::size_t end = text.find('\n');
    shown += Printable(text.substr(0, end));
    if (end == std::string_view::npos) return shown;
    shown += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace cluster_watcher
