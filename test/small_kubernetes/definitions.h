// CustomResourceDefinitions, which make the API server serve further kinds.
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

// The defaults of a definition, and its validation.
void SetDefinitionDefaults(Value& body);
std::vector<Cause> ValidateDefinition(const Value& body);

// Removes fields that the kind's schema doesn't have, and fills in its defaults.
void ApplySchema(const Resource& resource, Value& body);

class Definitions {
 public:
  // How long a deleted kind is still served after its last object, held by a finalizer, is gone. A
  // real API server checks every five seconds.
  static constexpr Duration kLinger = std::chrono::seconds(1);

  Definitions(Store& store, ResourceTable& resources, Clock& clock);

  // Runs one step: serves new definitions, deletes the objects of definitions in deletion, and then
  // those definitions. Changes nothing if there is nothing to do.
  void Sync();
  // Whether a kind may end by the passing of time alone.
  bool Lingers() const { return !terminating_.empty(); }

 private:
  struct Terminating {
    bool held = false;  // an object outlived its delete
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
