#include "watcher/command/deletion_session.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "watcher/command/status_line.h"
#include "watcher/command/step_dial.h"
#include "watcher/command/version.h"

namespace cluster_watcher {
namespace {

bool IsGiven(const ResolvedSettings& settings, std::string_view name) {
  return std::any_of(settings.values.begin(), settings.values.end(),
                     [name](const SettingValue& setting) {
                       return setting.name == name && setting.source != SettingSource::kDefault;
                     });
}

// People and drivers want to know what went wrong; `watch` tells all that it does.
Log MakeLog(const ResolvedSettings& resolved, LogReader reader) {
  const Settings& settings = resolved.settings;
  const bool is_level_given = IsGiven(resolved, "log-level");
  const LogLevel level = is_level_given ? settings.log_level : LogLevel::kWarn;
  const bool is_asked_for = is_level_given || IsGiven(resolved, "log-format");
  if (is_asked_for || reader == LogReader::kCollector) return Log(level, settings.log_format);
  auto sink = std::make_shared<StatusSink>();
  return Log(sink->level(), settings.log_format, sink);
}

}  // namespace

DeletionSession::DeletionSession(DriverSession& session, const Environment& environment,
                                 StepsAt steps_at, Until until, LogReader reader)
    : session_(session),
      actor_(WhoActs(session.tools(), session.settings()->ns, environment)),
      log_(MakeLog(session.settings().resolved(), reader)),
      metrics_(registry_, kVersion, kRevision),
      tools_{.client = session.tools().client,
             .discovery = session.tools().discovery,
             .clock = session.tools().clock,
             .settings = session.settings(),
             .metrics = metrics_,
             .log = log_.logger(),
             .turn = [](Duration) {},
             .until = until,
             .heeds_stop = true,
             .hurry = session.tools().stop},
      observer_(session.tools().client, session.tools().discovery, session.tools().clock,
                session.settings()),
      events_(session.tools().client, session.tools().clock, log_.logger(),
              actor_.pod.empty() ? actor_.id.ToText() : actor_.pod),
      announcer_(events_, session.tools().clock, log_),
      dial_(DialSteps(session.server(), SystemAuthoritiesFile(), steps_at)),
      steps_at_(steps_at) {
  observer_.SetCaller(actor_.pod_uid, actor_.pod);
}

}  // namespace cluster_watcher
