// The steps of a deletion: HTTP requests and pods that let a cluster clean up, before its members
// are deleted and after they are gone. An annotation holds them as a JSON list:
//   [{"name": "drain", "http": {"method": "POST", "url": "http://127.0.0.1:8080/drain"},
//     "timeout": "10s", "onFailure": "continue"},
//    {"name": "save", "image": "books:1", "command": ["save", "--all"],
//     "env": [{"name": "TO", "value": "s3://books"}], "timeout": "1m", "onFailure": "retry"}]
// `method` (POST), `timeout` (10s; of a pod: what is left of --steps-deadline), `onFailure`
// (continue; or retry), `command` (the image's) and `env` are optional.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "probes/kube/object_meta.h"
#include "probes/kube/transport.h"

namespace cluster_watcher {

enum class OnFailure { kContinue, kRetry };

struct StepRequest {
  HttpMethod method = HttpMethod::kPost;
  std::string server;  // "http://127.0.0.1:8080"
  std::string target;  // path and query, "/drain"
};
struct PodToRun {
  std::string image;
  std::vector<std::string> command;  // empty: the image's
  std::vector<std::pair<std::string, std::string>> env;
};

struct Step {
  std::string name;  // unique in its list
  std::variant<StepRequest, PodToRun> what;
  Duration timeout{10'000};
  OnFailure on_failure = OnFailure::kContinue;

  bool IsPod() const { return std::holds_alternative<PodToRun>(what); }
};

// Parses a list of at most 100 steps, of at most 64 KiB. An error names the step and the remedy.
Result<std::vector<Step>> ParseSteps(std::string_view text);

struct Steps {
  std::vector<Step> before;
  std::vector<Step> after;
  bool has_before = false;  // true also for an empty list
  bool has_after = false;

  bool HavePods() const;
};

// Reads the annotations `before-delete` and `after-delete` of `meta`, each only if `steps` doesn't
// have that list yet. Text that doesn't parse is added to `errors`, even if its list isn't used.
void ReadSteps(const ObjectMeta& meta, Steps& steps, std::vector<std::string>& errors);

}  // namespace cluster_watcher
