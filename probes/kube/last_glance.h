// Keeps the answer to the last glance: the same one isn't parsed at each poll.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "probes/base/json.h"

namespace cluster_watcher {

class LastGlance {
 public:
  // The document that was kept, if the last glance was at this target (path and query) and `body`
  // is the text that it was parsed from; else nullopt.
  std::optional<JsonDocument> Same(std::string_view target, std::string_view body) const;
  // Keeps `body` and the document that it was parsed to, or nothing if it is large.
  void Keep(std::string_view target, std::string body, const JsonDocument& document);

 private:
  struct Glance {
    std::string target;
    std::string body;
    JsonDocument document;
  };
  std::optional<Glance> last_;
};

}  // namespace cluster_watcher
