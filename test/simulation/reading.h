// How the judge reads bodies: with none of the program's own code.
#pragma once

#include <rapidjson/document.h>

#include <optional>
#include <string>
#include <string_view>

#include "test/simulation/exchange.h"

namespace cluster_watcher::simulation {

using Json = rapidjson::Value;

// The member at the end of a path of keys; null: the path breaks off.
const Json* At(const Json* value, std::string_view key);
template <typename... Keys>
const Json* At(const Json* value, std::string_view key, Keys... keys) {
  return At(At(value, key), keys...);
}
// "": it isn't a text.
std::string_view TextAt(const Json* value);

// A body that is read while this lives.
class Body {
 public:
  explicit Body(std::string_view text) { document_.Parse(text.data(), text.size()); }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  // Null: not JSON.
  const Json* root() const { return document_.HasParseError() ? nullptr : &document_; }

 private:
  char memory_[16 << 10];  // what most of them need
  rapidjson::MemoryPoolAllocator<> pool_{memory_, sizeof memory_};
  rapidjson::Document document_{&pool_};
};

// What can be a master root: the Deployment, or a ReplicaSet that it has left behind.
bool IsRootPath(std::string_view target);

// What an answer shows of a master root.
struct SeenRoot {
  std::string path;
  bool gone = false;        // 404
  bool controlled = false;  // so it is none
  std::string uid;
  std::string resource_version;
  bool deleting = false;
  std::string ephemeral;  // the label
  std::string hold_until;
  // Marks; empty where they are not of this very object.
  std::string phase;
  std::string condemned_by;
  bool deletes_begun = false;
  std::string owner_uid;

  static SeenRoot Read(const Json* object);
};

// nullopt: the answer doesn't tell.
std::optional<SeenRoot> RootIn(const Exchange& exchange);

}  // namespace cluster_watcher::simulation
