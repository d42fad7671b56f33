// Decides whether answers are evidence that an object is absent, from their raw bytes and without
// the program's own logic, to check that logic.
#pragma once

#include <span>
#include <string>

#include "test/adversary/liar.h"

namespace cluster_watcher::adversary {

struct Sought {
  std::string collection;   // "/apis/apps/v1/namespaces/lab/deployments"
  std::string api_version;  // "apps/v1"
  std::string kind;         // "Deployment"
  std::string plural;       // "deployments"
  std::string group;        // "apps"
  std::string name;
  bool custom = false;  // discovery, read after the empty answer, must offer create
};

// Whether `heard` contains an answer that proves that the object doesn't exist.
bool HasEvidence(const Sought& sought, std::span<const Exchange> heard);

// Whether `heard` contains a 200 for this path with this value in the object's metadata.
bool HasObject(const std::string& path, const char* key, const std::string& value,
               std::span<const Exchange> heard);

}  // namespace cluster_watcher::adversary
