// What the injected sidecar looks like: the keys of the ConfigMap that policy, webhook and `inject`
// share. A key that is missing has its default; `image` must be there.
#pragma once

#include <string>
#include <vector>

#include "watcher/settings/settings.h"

namespace cluster_watcher {

struct InjectionSettings {
  std::string image;  // as a container names it: "cluster-watcher:0.1.0"
  std::string image_pull_policy = "IfNotPresent";
  int port = 9090;  // where metrics and health are served; the next one where that is taken
  std::string cpu_request = "10m";
  std::string memory_request = "32Mi";
  std::string cpu_limit = "500m";
  std::string memory_limit = "64Mi";
  std::string token_audience;  // empty: the API server's own
  int token_expiration_seconds = 3600;
  bool scrape = false;  // prometheus.io/ annotations
  TextMap defaults;     // settings of the watcher for pods that don't say otherwise, by name
};

struct ResolvedInjectionSettings {
  InjectionSettings settings;
  std::vector<std::string> errors;  // each names the key and the remedy
};

// `data` is the ConfigMap's. A default of the watcher's settings is the key "default.SETTING":
// what an annotation on the pod would say.
ResolvedInjectionSettings ResolveInjectionSettings(const TextMap& data);

}  // namespace cluster_watcher
