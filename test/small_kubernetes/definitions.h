// CustomResourceDefinitions: the kinds that they make, for as long as they are there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "test/small_kubernetes/json.h"
#include "test/small_kubernetes/resource_table.h"
#include "test/small_kubernetes/status.h"
#include "test/small_kubernetes/store.h"

namespace cluster_watcher::small_kubernetes {

bool IsDefinition(const Resource& resource);

// What the API server fills into a definition, and what is wrong with one.
void SetDefinitionDefaults(Value& body);
std::vector<Cause> ValidateDefinition(const Value& body);

// Takes off what the kind's schema doesn't have, and fills in its defaults.
void ApplySchema(const Resource& resource, Value& body);

class Definitions {
 public:
  // For so long a kind goes on being served when its last object, which a finalizer held, is gone.
  // A real one looks every five seconds.
  static constexpr Duration kLinger = std::chrono::seconds(1);

  Definitions(Store& store, ResourceTable& resources, Clock& clock);

  // A step: serves what is newly defined, deletes the objects of a definition that is being
  // deleted, and then the definition. Changes nothing where there is nothing to do.
  void Sync();
  // Whether time alone may end a kind.
  bool Lingers() const { return !terminating_.empty(); }

 private:
  struct Terminating {
    bool held = false;  // an object didn't go at once
    std::optional<MonotonicTime> empty_since;
  };

  void Serve(const ObjectPtr& definition);
  void Terminate(const ObjectPtr& definition);

  Store& store_;
  ResourceTable& resources_;
  Clock& clock_;
  const Resource& definitions_;
  std::uint64_t seen_ = 0;
  std::map<std::string, Terminating> terminating_;  // by the definition's UID
};

}  // namespace cluster_watcher::small_kubernetes
