#include "watcher/command/sweep.h"

#include <deque>
#include <utility>
#include <vector>

#include "probes/base/printable.h"
#include "watcher/command/deletion_session.h"
#include "watcher/command/print_errors.h"
#include "watcher/command/shared_flags.h"
#include "watcher/command/status_line.h"
#include "watcher/command/step_dial.h"

namespace cluster_watcher {
namespace {

const char* Verb(Swept::What what) {
  switch (what) {
    case Swept::What::kDeleted:
      return "deleted";
    case Swept::What::kWouldDelete:
      return "would be deleted";
    case Swept::What::kKept:
      return "kept";
    case Swept::What::kFailed:
      return "not deleted";
  }
  return "";
}

std::string Line(const std::string& ns, const std::string& what, const Swept& swept) {
  std::string line = ns.empty() ? what : ns + "/" + what;
  line += std::string(" ") + Verb(swept.what);
  if (!swept.why.empty()) line += ": " + swept.why;
  if (!swept.detail.empty()) line += (swept.why.empty() ? ": " : " (") + swept.detail;
  if (!swept.why.empty() && !swept.detail.empty()) line += ")";
  return Printable(line) + "\n";
}

// Prints what becomes of each, line by line, and on a terminal how far the sweep is.
class Reporter {
 public:
  explicit Reporter(bool dry_run) : dry_run_(dry_run) {}

  SweepListener Listener() {
    return {
        [this](const std::string& ns, const std::string& what, const Swept& swept) {
          line_.Clear();
          PrintText(AsCalled(Line(ns, what, swept)));
        },
        [this](const SweepProgress& progress) { line_.Show(SweepSummary(progress, dry_run_)); }};
  }

 private:
  const bool dry_run_;
  StatusLine line_;
};

DriverOutcome SweepWith(DriverSession& session, const Environment& environment,
                        const std::string& ns) {
  DeletionSession deletion(session, environment, StepsAt::kElsewhere, Until::kGone,
                           LogReader::kCollector);
  const auto profiles = session.ProfilesMeant();
  if (!profiles) return DriverOutcome::Of(DriverExit::kFailed, profiles.error());
  std::deque<ListedTools> glances;
  std::vector<SweepRequest::Words> words;
  for (const SharedProfile& profile : *profiles) {
    words.push_back({profile, glances.emplace_back(session, ns, profile->cluster_label).tools});
  }
  Reporter reporter(session.settings()->dry_run);
  // A sweep of many namespaces is nobody's pod, for those who look there for it.
  const WatcherId me = deletion.actor().pod.empty() ? deletion.actor().id : SomeCommand();
  const auto progress = Sweep(deletion.sweep(session.with_annotations()),
                              {ns, me, std::move(words)}, reporter.Listener());
  if (!progress) return DriverOutcome::Of(DriverExit::kFailed, progress.error());
  DriverOutcome outcome = DriverOutcome::Said(SweepSummary(*progress, session.settings()->dry_run));
  const bool is_stopped = session.tools().stop.stop_requested();
  if (progress->failed > 0 || is_stopped) outcome.exit = DriverExit::kFailed;
  return outcome;
}

}  // namespace

std::string SweepSummary(const SweepProgress& progress, bool dry_run) {
  const auto counted = [](std::size_t number, const std::string& what) {
    return std::to_string(number) + " " + what;
  };
  std::size_t kept = 0;
  std::string reasons;
  for (const auto& [reason, number] : progress.kept) {
    kept += number;
    reasons += (reasons.empty() ? " (" : ", ") + reason + " " + std::to_string(number);
  }
  if (!reasons.empty()) reasons += ")";
  const std::string deleted = dry_run ? "to be deleted" : "deleted";
  std::string text =
      counted(progress.clusters, progress.clusters == 1 ? "cluster: " : "clusters: ");
  text += counted(progress.deleted, deleted) + ", " + counted(kept, "kept") + reasons;
  if (progress.failed > 0) text += ", " + counted(progress.failed, "failed");
  text += ", " + counted(progress.watched, "watched over");
  const std::size_t open = progress.clusters - progress.watched - progress.settled;
  if (open > 0) text += ", " + counted(open, "to be settled");
  if (progress.claims > 0) {
    text += "; " + counted(progress.claims, progress.claims == 1 ? "claim " : "claims ") + deleted;
  }
  return text;
}

int RunSweep(const Invocation& invocation, const Environment& environment, std::stop_token stop) {
  const bool is_all = invocation.options.at("all-namespaces") == "true";
  return WithDriverSession(invocation, environment, std::move(stop), {},
                           [&](DriverSession& session) {
                             const std::string ns = is_all ? "" : session.settings()->ns;
                             SayWhere(session, is_all ? "all namespaces" : "namespace " + ns);
                             return SweepWith(session, environment, ns);
                           });
}

CommandDescription DescribeSweep() {
  CommandDescription command = {
      .name = "sweep",
      .command = Command::kSweep,
      .usage = "sweep [-A] [--dry-run] [FLAGS]",
      .help = "Delete the abandoned clusters that no watcher sees to, and claims left to it",
      .flags = {SwitchFlag("all-namespaces", "the clusters of all namespaces", 'A')},
      .about =
          "One pass, for a CronJob. It leaves alone each cluster in whose master pod a watcher "
          "runs, and\ntreats the others as a watcher would: rules, confirmations over the grace "
          "period, holds, surge\nand brake. So it takes minutes where anything is abandoned. A "
          "cluster without a master\nis named, and kept: \"cluster-watcher delete NAME\" ends "
          "it.\n",
      .ending =
          "\nExit codes:\n"
          "  0      done\n"
          "  1      a deletion failed, or what there is could not be read\n"
          "  2      wrong usage or settings\n"
          "  128+n  signal n ended it\n"};
  return WithSettings(
      std::move(command),
      {"dry-run", "confirmations", "grace-period", "scaled-to-zero-grace-period", "startup-grace",
       "surge-limit", "surge-grace", "poll-interval", "completed-when", "volumes",
       "volume-retention", "resources", "concurrency", "steps-deadline", "delete-deadline",
       "operator-grace", "log-level", "log-format"});
}

}  // namespace cluster_watcher
