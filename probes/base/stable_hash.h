// A hash that is the same in every process and every build. Not for what somebody may forge.
#pragma once

#include <cstdint>
#include <string_view>

namespace cluster_watcher {

// FNV-1a in 64 bits, with the length of each text in front, so that texts don't run into each
// other.
class StableHash {
 public:
  void Add(std::string_view text) {
    constexpr std::uint64_t kPrime = 1099511628211u;
    hash_ = (hash_ ^ text.size()) * kPrime;
    for (const char byte : text) hash_ = (hash_ ^ static_cast<unsigned char>(byte)) * kPrime;
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 14695981039346656037u;
};

}  // namespace cluster_watcher
