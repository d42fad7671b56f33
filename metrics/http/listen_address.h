// The address that a server listens on, as people write it: `:9090`, `127.0.0.1:9090`,
// `[::1]:9090`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cluster_watcher {

struct ListenAddress {
  std::string text;        // As written, for error texts.
  std::string host;        // An IPv4 or IPv6 address without brackets; empty: all interfaces.
  std::uint16_t port = 0;  // 0: the system chooses.
};

// Returns nullopt if `text` has none of these forms. Names aren't resolved.
std::optional<ListenAddress> ParseListenAddress(std::string_view text);

// Says why `text` isn't an address, naming it and the accepted forms; nullopt if it is one.
std::optional<std::string> ListenAddressError(std::string_view text);

}  // namespace cluster_watcher
