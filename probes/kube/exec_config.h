// How the user of a kubeconfig gets its credentials from a program, a credential plugin: the
// entry `exec`. Source: kubernetes.io "Authenticating" (client-go credential plugins),
// k8s.io/client-go tools/clientcmd.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "probes/base/json.h"

namespace cluster_watcher {

// Whether the plugin gets our standard input, so that it may ask a person.
enum class InteractiveMode { kNever, kIfAvailable, kAlways };

struct ExecConfig {
  std::string api_version;             // "client.authentication.k8s.io/v1" or ".../v1beta1"
  std::string command;                 // a path if it contains a slash, else looked up in PATH
  std::vector<std::string> arguments;  // may hold secrets, as the environment may
  std::map<std::string, std::string> environment;  // added to ours
  std::string install_hint;                        // for people who lack the plugin
  bool provide_cluster_info = false;
  InteractiveMode interactive_mode = InteractiveMode::kIfAvailable;
  std::string source;   // for messages: "kubeconfig /home/a/.kube/config, user "dev""
  std::string cluster;  // the plugin's spec.cluster, JSON; empty: it gets none
};

// The problem of a value that is no text; kubectl refuses it, too.
inline constexpr const char* kNotAText =
    " is not a text; what YAML takes for a number or a truth value needs quotes";

// Reads a map. Calls `problem` with each thing that is wrong. A command with a slash is relative to
// `directory`.
ExecConfig ReadExecConfig(JsonValue exec, const std::string& directory,
                          const std::function<void(const std::string&)>& problem);

// Returns what the entry of a cluster keeps for plugins in its extensions, as JSON; "" if nothing.
std::string ReadExecExtension(JsonValue cluster);

}  // namespace cluster_watcher
