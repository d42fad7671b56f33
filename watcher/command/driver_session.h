// The tools of the commands of the driver's side, and of people.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/cluster_probe.h"
#include "probes/kube/cached_lists.h"
#include "probes/kube/discovery.h"
#include "probes/kube/token_source.h"
#include "watcher/command/session.h"
#include "watcher/driver/driver_tools.h"
#include "watcher/driver/outcome.h"

namespace cluster_watcher {

class DriverSession {
 public:
  // `session` has no errors.
  DriverSession(Session session, std::stop_token stop);

  const DriverTools& tools() const { return tools_; }
  SettingsInForce& settings() { return *settings_; }
  const SettingsInForce::WithAnnotations& with_annotations() const {
    return session_.with_annotations;
  }
  // For callers that answer reads themselves (CachedLists).
  Transport& transport() { return *session_.transport; }
  TokenSource& tokens() { return tokens_; }
  const ApiServer& server() const { return session_.server; }
  // The profiles of which clusters may be meant.
  Result<std::vector<SharedProfile>, ApiError> ProfilesMeant();
  // Finds out in whose words the cluster is called so, where that isn't given.
  std::optional<DriverOutcome> FindWords();
  // Whether the words are given, or were found.
  bool HasWords() const { return words_ != nullptr; }
  void Use(SharedProfile words);
  ClusterId cluster() const;

 private:
  Session session_;
  SystemClock clock_;
  SharedProfile words_;  // null: not given, nor found
  std::unique_ptr<SettingsInForce> settings_;
  TokenSource tokens_;
  KubeClient client_;
  Discovery discovery_;
  DriverTools tools_;
};

// Tools that read from lists (CachedLists) of the namespace `ns`, of which those of pods tell more
// where the cluster label `label` is.
struct ListedTools {
  ListedTools(DriverSession& session, const std::string& ns, const std::string& label);
  ListedTools(const ListedTools&) = delete;  // The client holds the address of the lists.
  ListedTools& operator=(const ListedTools&) = delete;

  CachedLists lists;
  KubeClient client;
  Discovery discovery;
  const DriverTools tools;
};

// Makes the session of `invocation`, lets `work` do its work in it and prints what that came to.
// `errors`: what is wrong with the command's own flags. `check` adds what is wrong by the settings,
// and may say in whose words the cluster is; it isn't asked where they lack a namespace. `known` as
// for MakeSession. Returns the exit code.
int WithDriverSession(
    const Invocation& invocation, const Environment& environment, std::stop_token stop,
    std::vector<std::string> errors, const std::function<DriverOutcome(DriverSession&)>& work,
    const std::function<void(Settings&, std::vector<std::string>& errors)>& check = {},
    const ApiServer* known = nullptr);

// Says on stderr in which namespace, and of which API server, a command is about to write.
void SayWhere(const DriverSession& session);
void SayWhere(const DriverSession& session, const std::string& place);

// The value of `--app`; nullopt: it isn't given, or an error was added.
std::optional<OwnerName> ReadApp(const Invocation& invocation, std::vector<std::string>& errors);

// The value of `--NAME` as a duration from `least` to `most`. An error is added to `errors`.
Duration ReadDuration(const std::string& what, const std::string& text, Duration least,
                      Duration most, std::vector<std::string>& errors);
// The value of `--NAME`, up to a day.
Duration ReadTimeout(const Invocation& invocation, const std::string& name,
                     std::vector<std::string>& errors);

}  // namespace cluster_watcher
