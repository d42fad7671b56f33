// The UID of an object, small: a deletion remembers tens of thousands. Those that API servers make
// are UUIDs, and their digits take 16 bytes; any other text is kept as it is.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace cluster_watcher {

class Uid {
 public:
  template <std::convertible_to<std::string_view> Text>
  Uid(const Text& text) : Uid(std::string_view(text)) {}
  Uid(std::string_view text);

  std::string ToText() const;

  friend bool operator==(const Uid& a, const Uid& b);

 private:
  friend struct std::hash<Uid>;
  using Uuid = std::array<std::uint64_t, 2>;

  std::variant<Uuid, std::shared_ptr<const std::string>> id_;
};

}  // namespace cluster_watcher

template <>
struct std::hash<cluster_watcher::Uid> {
  std::size_t operator()(const cluster_watcher::Uid& uid) const noexcept;
};
