// The steps of a deletion: HTTP requests by which a cluster is told, before its members go and
// after they have gone, to put its things in order, as a destructor would. Written as a JSON list
// in an annotation:
//   [{"name": "drain", "http": {"method": "POST", "url": "http://127.0.0.1:8080/drain"},
//     "timeout": "10s", "onFailure": "continue"}]
// `method` (POST), `timeout` (10s) and `onFailure` (continue; or retry) may be left out.
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

// The steps in `text`. An error names the step and the remedy; a list holds at most 100 of them.
Result<std::vector<Step>> ParseSteps(std::string_view text);

struct Steps {
  std::vector<Step> before;
  std::vector<Step> after;
  bool has_before = false;  // an empty list is one, too
  bool has_after = false;
};

// Takes over the steps in the annotations `before-delete` and `after-delete` of `meta`, each where
// `steps` hasn't got them yet; what doesn't parse is added to `errors`, also where it doesn't
// count.
void ReadSteps(const ObjectMeta& meta, Steps& steps, std::vector<std::string>& errors);

}  // namespace cluster_watcher
