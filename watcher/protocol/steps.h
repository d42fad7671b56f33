// The steps of a deletion: HTTP requests that let a cluster clean up, before its members are
// deleted and after they are gone. An annotation holds them as a JSON list:
//   [{"name": "drain", "http": {"method": "POST", "url": "http://127.0.0.1:8080/drain"},
//     "timeout": "10s", "onFailure": "continue"}]
// `method` (POST), `timeout` (10s) and `onFailure` (continue; or retry) are optional.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probes/kube/object_meta.h"
#include "probes/kube/transport.h"

namespace cluster_watcher {

enum class OnFailure { kContinue, kRetry };

struct Step {
  std::string name;  // unique in its list
  HttpMethod method = HttpMethod::kPost;
  std::string server;  // "http://127.0.0.1:8080"
  std::string target;  // path and query, "/drain"
  Duration timeout{10'000};
  OnFailure on_failure = OnFailure::kContinue;
};

// Parses a list of at most 100 steps, of at most 64 KiB. An error names the step and the remedy.
Result<std::vector<Step>> ParseSteps(std::string_view text);

struct Steps {
  std::vector<Step> before;
  std::vector<Step> after;
  bool has_before = false;  // true also for an empty list
  bool has_after = false;
};

// Reads the annotations `before-delete` and `after-delete` of `meta`, each only if `steps` doesn't
// have that list yet. Text that doesn't parse is added to `errors`, even if its list isn't used.
void ReadSteps(const ObjectMeta& meta, Steps& steps, std::vector<std::string>& errors);

}  // namespace cluster_watcher
