// The settings of the injected sidecar: the keys of the ConfigMap that the policy, the webhook and
// `inject` share. `image` is required; the other keys have defaults.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "watcher/settings/settings.h"

namespace cluster_watcher {

struct InjectionSettings {
  std::string image;  // as a container names it: "cluster-watcher:0.1.0"
  std::string image_pull_policy = "IfNotPresent";
  std::vector<std::string> image_pull_secrets;  // that pods get for it, each once
  int port = 9090;  // of metrics and health; if it is taken in a pod, the next free one
  std::string cpu_request = "10m";
  std::string memory_request = "32Mi";
  std::string cpu_limit = "500m";
  std::string memory_limit = "64Mi";
  std::string token_audience;  // empty: the API server's own
  int token_expiration_seconds = 3600;
  bool scrape = false;  // prometheus.io/ annotations
  // Whether the container gets RuntimeDefault; some security policies of OpenShift allow none.
  bool seccomp_profile = true;
  std::string profile_rows;  // that the installation adds to the table of profiles; "": none
  std::shared_ptr<const ProfileTable> profiles = BuiltInProfiles();  // with those; never null
  TextMap defaults;  // settings of the watcher, by name, for pods that don't set them
};

struct ResolvedInjectionSettings {
  InjectionSettings settings;
  std::vector<std::string> errors;  // each names the key and the remedy
};

// Returns a Kubernetes quantity, "100m" or "64Mi", in base units; nullopt if it isn't one, is
// negative or has an exponent. Source: k8s.io/apimachinery/pkg/api/resource, "quantity.go".
std::optional<double> ParseQuantity(std::string_view text);

// `data` is the ConfigMap's. The key "default.SETTING" gives the watcher's setting a default, as
// the pod's annotation would.
ResolvedInjectionSettings ResolveInjectionSettings(const TextMap& data);

}  // namespace cluster_watcher
