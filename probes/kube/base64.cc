#include "probes/kube/base64.h"

#include <openssl/evp.h>

#include <cctype>
#include <cstddef>

namespace cluster_watcher {
namespace {

const unsigned char* Bytes(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::optional<std::string> DecodeBase64(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  // The library takes padding anywhere, and skips what it takes for an end.
  const bool is_base64 = text.size() % 4 == 0 && text.find_first_of("=-") >= text.size() - padding;
  if (!is_base64) return std::nullopt;
  std::string decoded(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(decoded.data()), Bytes(text),
                                   static_cast<int>(text.size()));
  if (size != static_cast<int>(decoded.size())) return std::nullopt;
  decoded.resize(decoded.size() - padding);
  return decoded;
}

std::string EncodeBase64(const std::string& data) {
  std::string text((data.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), Bytes(data),
                                   static_cast<int>(data.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

}  // namespace cluster_watcher
