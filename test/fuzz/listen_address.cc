// Fuzzes addresses to listen on: only addresses are accepted, and everything else gets a reason.
#include "metrics/http/listen_address.h"

#include <string>
#include <string_view>

#include "test/fuzz/fuzz.h"

namespace cluster_watcher {

void TryInput(std::string_view input) {
  const auto address = ParseListenAddress(input);
  const auto error = ListenAddressError(input);
  Require(address.has_value() != error.has_value(), "it is an address, or there is a reason");
  if (error) {
    Require(error->find(input) != std::string::npos, "the reason names the text");
    return;
  }
  Require(address->text == input, "the text is as written");
  Require(address->host.find_first_not_of("0123456789abcdefABCDEF.:") == std::string::npos,
          "the host is an address");
  const bool is_ipv6 = address->host.find(':') != std::string::npos;
  const auto again = ParseListenAddress((is_ipv6 ? "[" + address->host + "]" : address->host) +
                                        ":" + std::to_string(address->port));
  Require(again && again->host == address->host && again->port == address->port,
          "what is written reads the same");
}

}  // namespace cluster_watcher
