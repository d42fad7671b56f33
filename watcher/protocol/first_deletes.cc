#include "watcher/protocol/first_deletes.h"

#include <algorithm>
#include <cstdint>

namespace cluster_watcher {
namespace {

constexpr std::size_t kMostNamed = 64;
constexpr std::size_t kHashDigits = 16;

// FNV-1a, 64 bits: UIDs are random, so this only has to be short.
std::string HashOf(std::string_view uid) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : uid) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3;
  }
  std::string digits(kHashDigits, '0');
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, hash >>= 4) {
    *digit = "0123456789abcdef"[hash & 0xf];
  }
  return digits;
}

}  // namespace

FirstDelete FirstDelete::Of(const KubeObject& object) {
  return {object.type->plural, object.type->group, object.meta.name, HashOf(object.meta.uid),
          false};
}

bool FirstDelete::HasUid(std::string_view uid) const { return HashOf(uid) == uid_hash; }

bool FirstDelete::ProvesHalf() const {
  const bool goes_by_itself =
      (plural == "pods" && group.empty()) || (plural == "jobs" && group == "batch");
  return !is_orphan && !goes_by_itself;
}

std::string FirstDelete::Describe() const {
  return plural + (group.empty() ? "" : "." + group) + "/" + name;
}

std::string FirstDeletesMark(const std::vector<FirstDelete>& deletes) {
  std::string mark;
  for (const FirstDelete& object : deletes) {
    mark += mark.empty() ? "" : ",";
    mark += (object.is_orphan ? "+" : "") + object.Describe() + "=" + object.uid_hash;
  }
  return mark;
}

std::vector<FirstDelete> ParseFirstDeletes(std::string_view text) {
  std::vector<FirstDelete> deletes;
  std::size_t first = 0;
  std::size_t orphans = 0;
  while (!text.empty()) {
    std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const bool is_orphan = entry.starts_with('+');
    if (is_orphan) entry.remove_prefix(1);
    const std::size_t slash = entry.find('/');
    const std::size_t equals = entry.find('=');
    if (slash == std::string_view::npos || equals == std::string_view::npos || equals < slash) {
      continue;
    }
    const std::string_view kind = entry.substr(0, slash);
    const std::size_t dot = std::min(kind.find('.'), kind.size());
    FirstDelete object{std::string(kind.substr(0, dot)),
                       std::string(kind.substr(std::min(dot + 1, kind.size()))),
                       std::string(entry.substr(slash + 1, equals - slash - 1)),
                       std::string(entry.substr(equals + 1)), is_orphan};
    const bool is_hash = object.uid_hash.size() == kHashDigits &&
                         object.uid_hash.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!is_hash || object.plural.empty() || object.name.empty()) continue;
    const bool has_room = is_orphan ? orphans++ < kMostOrphansMarked : first++ < kMostNamed;
    if (has_room) deletes.push_back(std::move(object));
  }
  return deletes;
}

}  // namespace cluster_watcher
