#include "watcher/command/driver_session.h"

#include <chrono>
#include <utility>

#include "probes/base/duration_text.h"
#include "probes/base/names.h"
#include "watcher/command/print_errors.h"
#include "watcher/driver/find_profile.h"

namespace cluster_watcher {

DriverSession::DriverSession(Session session, std::stop_token stop)
    : session_(std::move(session)),
      words_(session_.settings.settings.words),
      settings_(std::make_unique<SettingsInForce>(session_.settings, session_.with_annotations)),
      tokens_(session_.server, clock_),
      client_(*session_.transport, tokens_, [](const RequestRecord&) {}),
      discovery_(client_),
      tools_{client_, discovery_, clock_, std::move(stop), session_.settings.settings.profiles} {
  tools_.user = session_.server.user;
}

Result<std::vector<SharedProfile>, ApiError> DriverSession::ProfilesMeant() {
  if (words_) return std::vector{words_};
  return ServedProfiles(tools_);
}

std::optional<DriverOutcome> DriverSession::FindWords() {
  const Settings& settings = **settings_;
  if (words_ || settings.cluster.empty()) return std::nullopt;
  auto found = FindProfile(tools_, settings.ns, settings.cluster);
  if (!found) return std::move(found).error();
  if (*found) Use(*std::move(found));
  return std::nullopt;
}

void DriverSession::Use(SharedProfile words) {
  words_ = std::move(words);
  session_.with_annotations = SettingsInForce::About(cluster(), session_.with_annotations);
  session_.settings = session_.with_annotations({});
  settings_ = std::make_unique<SettingsInForce>(session_.settings, session_.with_annotations);
}

ClusterId DriverSession::cluster() const {
  return {(*settings_)->ns, words_ ? words_ : (*settings_)->Words(), (*settings_)->cluster};
}

ListedTools::ListedTools(DriverSession& session, const std::string& ns, const std::string& label)
    : lists(session.transport(), ns, label),
      client(lists, session.tokens(), [](const RequestRecord&) {}),
      discovery(client),
      tools{client, discovery, session.tools().clock, session.tools().stop,
            session.tools().profiles} {}

int WithDriverSession(const Invocation& invocation, const Environment& environment,
                      std::stop_token stop, std::vector<std::string> errors,
                      const std::function<DriverOutcome(DriverSession&)>& work,
                      const std::function<void(Settings&, std::vector<std::string>& errors)>& check,
                      const ApiServer* known) {
  Session session = MakeSession(invocation, environment, known);
  Settings& settings = session.settings.settings;
  if (check && !settings.ns.empty()) check(settings, errors);
  session.errors.insert(session.errors.begin(), errors.begin(), errors.end());
  if (!session.errors.empty()) return PrintErrors(session.errors);
  DriverSession driver(std::move(session), std::move(stop));
  const auto failed = driver.FindWords();
  const DriverOutcome outcome = failed ? *failed : work(driver);
  if (!outcome.said.empty()) PrintText(Printable(AsCalled(outcome.said)) + "\n");
  PrintErrors(outcome.warnings);
  if (!outcome.error.empty()) PrintErrors({outcome.error});
  return static_cast<int>(outcome.exit);
}

void SayWhere(const DriverSession& session) {
  SayWhere(session, "namespace " + session.cluster().ns);
}

void SayWhere(const DriverSession& session, const std::string& place) {
  PrintErrors({place + " (" + session.server().source + ")"});
}

std::optional<OwnerName> ReadApp(const Invocation& invocation, std::vector<std::string>& errors) {
  const auto app = invocation.options.find("app");
  if (app == invocation.options.end()) return std::nullopt;
  auto name = OwnerName::Parse(app->second);
  if (name) return *std::move(name);
  errors.push_back("--app: " + name.error().message);
  return std::nullopt;
}

Duration ReadDuration(const std::string& what, const std::string& text, Duration least,
                      Duration most, std::vector<std::string>& errors) {
  const auto parsed = ParseDuration(text);
  if (!parsed) {
    errors.push_back(what + ": " + parsed.error().message);
  } else if (*parsed < least || *parsed > most) {
    errors.push_back(what + ": " + Quoted(text) + " is out of bounds: give " +
                     FormatDuration(least) + " to " + FormatDuration(most));
  }
  return parsed ? *parsed : least;
}

Duration ReadTimeout(const Invocation& invocation, const std::string& name,
                     std::vector<std::string>& errors) {
  return ReadDuration("--" + name, invocation.options.at(name), Duration(0), std::chrono::hours(24),
                      errors);
}

}  // namespace cluster_watcher
