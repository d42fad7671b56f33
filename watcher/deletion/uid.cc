#include "watcher/deletion/uid.h"

#include <optional>

namespace cluster_watcher {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kUuidSize = 36;
constexpr std::size_t kHalf = 16;  // digits

bool IsDashAt(std::size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

// nullopt: ToText() could not tell the text again.
std::optional<std::array<std::uint64_t, 2>> ParseUuid(std::string_view text) {
  if (text.size() != kUuidSize) return std::nullopt;
  std::array<std::uint64_t, 2> uuid{};
  std::size_t digits = 0;
  for (std::size_t at = 0; at < kUuidSize; ++at) {
    if (IsDashAt(at)) {
      if (text[at] != '-') return std::nullopt;
      continue;
    }
    const std::size_t digit = kDigits.find(text[at]);
    if (digit == std::string_view::npos) return std::nullopt;
    std::uint64_t& half = uuid[digits++ / kHalf];
    half = half << 4 | digit;
  }
  return uuid;
}

}  // namespace

Uid::Uid(std::string_view text) {
  if (const auto uuid = ParseUuid(text)) {
    id_ = *uuid;
  } else {
    id_ = std::make_shared<const std::string>(text);
  }
}

std::string Uid::ToText() const {
  if (const auto* text = std::get_if<1>(&id_)) return **text;
  Uuid uuid = std::get<0>(id_);
  std::string text(kUuidSize, '-');
  std::size_t digits = 2 * kHalf;
  for (std::size_t at = kUuidSize; at-- > 0;) {
    if (IsDashAt(at)) continue;
    std::uint64_t& half = uuid[--digits / kHalf];
    text[at] = kDigits[half & 0xf];
    half >>= 4;
  }
  return text;
}

bool operator==(const Uid& a, const Uid& b) {
  if (a.id_.index() != b.id_.index()) return false;
  return a.id_.index() == 0 ? std::get<0>(a.id_) == std::get<0>(b.id_)
                            : *std::get<1>(a.id_) == *std::get<1>(b.id_);
}

}  // namespace cluster_watcher

std::size_t std::hash<cluster_watcher::Uid>::operator()(
    const cluster_watcher::Uid& uid) const noexcept {
  // UUIDs are random.
  if (const auto* uuid = std::get_if<0>(&uid.id_)) return (*uuid)[0] ^ (*uuid)[1];
  return std::hash<std::string>()(*std::get<1>(uid.id_));
}
