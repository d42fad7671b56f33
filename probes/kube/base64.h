// Base64, as it stands in kubeconfigs and in patches of admission. Source: RFC 4648.
#pragma once

#include <optional>
#include <string>

namespace cluster_watcher {

// Decodes base64, including its padding, but ignoring white space: data may be wrapped. Returns
// nullopt for anything else.
std::optional<std::string> DecodeBase64(std::string text);
std::string EncodeBase64(const std::string& data);

}  // namespace cluster_watcher
