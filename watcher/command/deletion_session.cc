#include "watcher/command/deletion_session.h"

#include <algorithm>
#include <random>
#include <utility>

#include "watcher/command/step_dial.h"
#include "watcher/command/version.h"

namespace cluster_watcher {
namespace {

constexpr int kRandomLetters = 10;

std::string RandomName() {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::random_device device;
  std::uniform_int_distribution<std::size_t> letter(0, kLetters.size() - 1);
  std::string name;
  for (int i = 0; i < kRandomLetters; ++i) name += kLetters[letter(device)];
  return name;
}

// People and drivers want to know what went wrong; `watch` tells all that it does.
LogLevel LevelOf(const ResolvedSettings& settings) {
  const auto level =
      std::find_if(settings.values.begin(), settings.values.end(),
                   [](const SettingValue& setting) { return setting.name == "log-level"; });
  const bool is_given = level != settings.values.end() && level->source != SettingSource::kDefault;
  return is_given ? settings.settings.log_level : LogLevel::kWarn;
}

}  // namespace

Caller FindCaller(const DriverTools& tools, const std::string& ns, const Environment& environment) {
  Caller caller{{"cli", RandomName()}, {}, {}};
  const std::string pod = environment("POD_NAME").value_or("");
  if (pod.empty()) return caller;
  const std::string pod_ns = environment("POD_NAMESPACE").value_or(ns);
  auto answer = tools.client.Do(
      ApiRequest::GetMetadata(*FindBuiltInByName("pods", ""), pod_ns, pod), tools.Reads());
  const auto meta =
      answer ? ReadObjectMeta(answer->document.root()) : Result<ObjectMeta>(Failure(""));
  if (!meta) {
    if (!answer) caller.warning = "POD_NAME is " + pod + ", but: " + answer.error().message;
    return caller;
  }
  caller.pod_uid = meta->uid;
  // A watcher looks for the pod in its own namespace.
  if (pod_ns == ns) caller.id = {pod, meta->uid};
  return caller;
}

DeletionSession::DeletionSession(DriverSession& session, const Environment& environment,
                                 StepsAt steps_at)
    : session_(session),
      caller_(FindCaller(session.tools(), session.settings()->ns, environment)),
      log_(LevelOf(session.settings().resolved()), session.settings()->log_format),
      metrics_(registry_, kVersion, kRevision),
      tools_{session.tools().client,
             session.tools().discovery,
             session.tools().clock,
             session.settings(),
             metrics_,
             log_.logger(),
             [](Duration) {}},
      observer_(session.tools().client, session.tools().discovery, session.tools().clock,
                session.settings()),
      events_(session.tools().client, session.tools().clock, log_.logger(), caller_.id.pod),
      announcer_(events_, session.tools().clock, log_),
      reaper_(tools_, observer_, announcer_, DialSteps(session.server(), SystemAuthoritiesFile()),
              steps_at) {
  observer_.SetCaller(caller_.pod_uid);
}

}  // namespace cluster_watcher
