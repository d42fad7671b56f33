// What the last glances were answered: the same answer isn't parsed at each poll.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/json.h"

namespace cluster_watcher {

class KnownGlances {
 public:
  // The document that was kept for this target (path and query), if `body` is the same text as its
  // own but for the list's own resourceVersion, which rises with each write to the server, whatever
  // was written: so the document has an older one. nullopt if it says anything else.
  std::optional<JsonDocument> Same(std::string_view target, std::string_view body) const;
  // Keeps `body` and the document that it was parsed to. Does nothing if it is large.
  void Keep(std::string_view target, std::string body, const JsonDocument& document);

 private:
  struct Glance {
    std::string target;
    std::string body;
    JsonDocument document;
  };
  std::vector<Glance> glances_;
};

}  // namespace cluster_watcher
