// What counts as evidence that an object is absent, read from the bytes of the answers and with
// none of the program's own code: the judge of the judge.
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
  bool custom = false;  // discovery, read behind the empty answer, must offer create
};

// Whether `heard` holds an answer by which the object doesn't exist.
bool HasEvidence(const Sought& sought, std::span<const Exchange> heard);

// Whether `heard` holds the object of this path, answered 200, with this value in its metadata.
bool HasObject(const std::string& path, const char* key, const std::string& value,
               std::span<const Exchange> heard);

}  // namespace cluster_watcher::adversary
