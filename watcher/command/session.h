// The tools of commands that talk to the API server, made from what was asked for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "probes/kube/api_server.h"
#include "probes/kube/curl_transport.h"
#include "watcher/command/command_line.h"
#include "watcher/settings/settings_in_force.h"

namespace cluster_watcher {

struct Session {
  ResolvedSettings settings;  // without the pod's annotations
  SettingsInForce::WithAnnotations with_annotations;
  ApiServer server;
  std::unique_ptr<CurlTransport> transport;
  // Why it can't be used: each names the thing and the remedy. Empty: it can.
  std::vector<std::string> errors;
};

// Connects nowhere. `invocation` is of a command that asks the API server: `known`, where a command
// has found it before, so that all that it does is done there.
Session MakeSession(const Invocation& invocation, const Environment& environment,
                    const ApiServer* known = nullptr);

}  // namespace cluster_watcher
