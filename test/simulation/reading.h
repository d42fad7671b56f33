// Parses bodies for the judge, without the program's code.
#pragma once

#include <rapidjson/document.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "test/simulation/exchange.h"

namespace cluster_watcher::simulation {

using Json = rapidjson::Value;

// Returns the member at the end of a path of keys; null if the path breaks off.
const Json* At(const Json* value, std::string_view key);
template <typename... Keys>
const Json* At(const Json* value, std::string_view key, Keys... keys) {
  return At(At(value, key), keys...);
}
// Returns "" if it isn't a text.
std::string_view TextAt(const Json* value);

// A body, parsed while this object lives.
class Body {
 public:
  explicit Body(std::string_view text) { document_.Parse(text.data(), text.size()); }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  // Returns null if it isn't JSON.
  const Json* root() const { return document_.HasParseError() ? nullptr : &document_; }

 private:
  char memory_[16 << 10];  // enough for most bodies
  rapidjson::MemoryPoolAllocator<> pool_{memory_, sizeof memory_};
  rapidjson::Document document_{&pool_};
};

// Whether the path can be a master root: the Deployment, or a ReplicaSet that it has left behind.
bool IsRootPath(std::string_view target);

// What an answer shows of a master root.
struct SeenRoot {
  std::string path;
  bool gone = false;        // 404
  bool controlled = false;  // so it isn't a root
  std::string uid;
  std::string resource_version;
  bool deleting = false;
  std::string ephemeral;  // the label
  std::string owner;      // the annotation
  std::string hold_until;
  bool kept = false;
  // A hash of what a writer of the status can't change and that says something: labels, our
  // annotations, ownerReferences, and the spec by its generation.
  std::uint64_t content = 0;
  // Marks; empty unless they belong to this very object.
  std::string phase;
  std::string condemned_by;
  std::string deleting_since;
  std::string owner_uid;

  static SeenRoot Read(const Json* object);
  // Whether it is the other application's own.
  bool NamesOther() const;
};

// Returns nullopt if the answer doesn't show one.
std::optional<SeenRoot> RootIn(const Exchange& exchange);

}  // namespace cluster_watcher::simulation
