#include "metrics/http/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <system_error>

namespace cluster_watcher {
namespace {

std::optional<std::uint16_t> ParsePort(std::string_view text) {
  std::uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return port;
}

bool IsAddress(int family, const std::string& host) {
  in6_addr room{};
  // inet_pton stops at a NUL byte.
  return host.find('\0') == std::string::npos && ::inet_pton(family, host.c_str(), &room) == 1;
}

}  // namespace

std::optional<ListenAddress> ParseListenAddress(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::optional<std::uint16_t> port = ParsePort(text.substr(colon + 1));
  if (!port) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  ListenAddress address{std::string(text), std::string(host), *port};
  const bool all_interfaces = host.empty() && !bracketed;
  if (all_interfaces || IsAddress(bracketed ? AF_INET6 : AF_INET, address.host)) return address;
  return std::nullopt;
}

std::optional<std::string> ListenAddressError(std::string_view text) {
  if (ParseListenAddress(text)) return std::nullopt;
  std::string error = "\"";
  error.append(text).append(
      "\" is no address to listen on: expected :PORT (all interfaces), IPV4:PORT or [IPV6]:PORT, "
      "with a port from 0 (the system chooses) to 65535");
  return error;
}

}  // namespace cluster_watcher
