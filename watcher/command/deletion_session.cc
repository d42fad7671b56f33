#include "watcher/command/deletion_session.h"

#include <algorithm>
#include <utility>

#include "watcher/command/step_dial.h"
#include "watcher/command/version.h"

namespace cluster_watcher {
namespace {

// People and drivers want to know what went wrong; `watch` tells all that it does.
LogLevel LevelOf(const ResolvedSettings& settings) {
  const auto level =
      std::find_if(settings.values.begin(), settings.values.end(),
                   [](const SettingValue& setting) { return setting.name == "log-level"; });
  const bool is_given = level != settings.values.end() && level->source != SettingSource::kDefault;
  return is_given ? settings.settings.log_level : LogLevel::kWarn;
}

}  // namespace

DeletionSession::DeletionSession(DriverSession& session, const Environment& environment,
                                 StepsAt steps_at, Until until)
    : session_(session),
      actor_(WhoActs(session.tools(), session.settings()->ns, environment)),
      log_(LevelOf(session.settings().resolved()), session.settings()->log_format),
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
