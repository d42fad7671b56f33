#include "watcher/command/check.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "probes/base/duration_text.h"
#include "probes/base/printable.h"
#include "probes/base/time_text.h"
#include "watcher/command/driver_session.h"
#include "watcher/command/print_errors.h"
#include "watcher/command/shared_flags.h"
#include "watcher/decision/confirmation.h"
#include "watcher/deletion/judged_look.h"

namespace cluster_watcher {
namespace {

std::string ClusterName(const Snapshot& snapshot, const ResolvedSettings& settings) {
  return snapshot.cluster ? snapshot.cluster->name : settings.settings.cluster;
}

std::string StepNames(const std::vector<Step>& steps) {
  std::string names;
  for (const Step& step : steps) names += (names.empty() ? "" : ", ") + step.name;
  return names;
}

// One look doesn't count who else is abandoned.
std::string InSurge(const Settings& settings, Reason reason, Duration grace) {
  const bool waits = settings.surge_limit > 0 && settings.surge_grace > grace;
  if (!waits || reason == Reason::kCompleted) return "";
  return fmt::format(
      ", or {} if more than {} clusters of the namespace lose their drivers within a minute",
      FormatDuration(settings.surge_grace), settings.surge_limit);
}

std::string JsonReport(const Snapshot& snapshot, const Decision& decision,
                       const ResolvedSettings& settings) {
  JsonWriter json(JsonWriter::Style::kIndented);
  const auto& owner = snapshot.facts.owner;
  json.StartObject().Field("namespace", settings.settings.ns);
  json.TextOrNull("cluster", ClusterName(snapshot, settings));
  json.TextOrNull("owner", snapshot.OwnerText());
  json.TextOrNull("ownerUID", snapshot.OwnerUid());
  json.Field("observation", snapshot.facts.ObservationText()).Key("replicas");
  owner && owner->object ? json.Integer(owner->fields.replicas) : json.Null();
  json.Field("verdict", decision.verdict()).Field("reason", ToString(decision.reason));
  json.Field("detail", decision.detail).Field("remedy", decision.remedy());
  if (const std::string steps = snapshot.StepsText(); !steps.empty()) json.Field("steps", steps);
  json.Key("rules").StartArray();
  for (const RuleOutcome& rule : decision.rules) {
    json.StartObject().Key("number").Integer(rule.number).Key("matched").Bool(rule.matched);
    json.Field("detail", rule.detail).EndObject();
  }
  json.EndArray().Key("settings").StartArray();
  for (const SettingValue& setting : settings.values) {
    json.StartObject().Field("name", setting.name).Field("value", setting.value);
    json.Field("source", ToString(setting.source)).EndObject();
  }
  return PrintableLines(json.EndArray().EndObject().Text()) + "\n";
}

std::string TextReport(const Snapshot& snapshot, const Decision& decision,
                       const ResolvedSettings& settings) {
  const std::string cluster = ClusterName(snapshot, settings);
  std::string owner = snapshot.OwnerText();
  if (owner.empty()) owner = decision.reason == Reason::kShared ? "<shared>" : "<unknown>";
  std::string text;
  const auto line = [&text](const char* what, const std::string& value) {
    if (!value.empty()) text += fmt::format("{:<12} {}\n", what, Printable(value));
  };
  const Facts& facts = snapshot.facts;
  line("cluster", settings.settings.ns + "/" + (cluster.empty() ? "<missing>" : cluster));
  line("master root", snapshot.root ? snapshot.root->Describe() : "<unknown>");
  line("owner", owner);
  line("owner UID", snapshot.OwnerUid());
  line("ephemeral", facts.ephemeral_label.value_or(""));
  line("observation", facts.ObservationText());
  if (facts.owner && facts.owner->object) {
    line("replicas", std::to_string(facts.owner->fields.replicas));
  }
  line("phase", ToString(snapshot.marks.phase));
  if (const auto& since = snapshot.marks.abandoned_since) {
    line("abandoned", "since " + FormatTime(*since));
  }
  line("verdict", fmt::format("{}: {}", decision.verdict(), ToString(decision.reason)));
  line("because", decision.detail);
  line("refused by", decision.refused_by);
  line("change", RemedyFor(decision.reason));
  const bool is_due = decision.abandoned() && decision.refused_by.empty();
  if (is_due && snapshot.marks.phase != Phase::kDeleting) {
    const Duration grace = std::max(GraceFor(settings.settings, decision.reason, snapshot.seen),
                                    TerminatesIn(snapshot.facts));
    line("deletion", fmt::format("after {} such verdicts in a row that span {}",
                                 settings.settings.confirmations, FormatDuration(grace)) +
                         InSurge(settings.settings, decision.reason, grace));
  }
  line("steps done", snapshot.StepsText());
  line("steps before", StepNames(snapshot.pod_says.steps.before));
  line("steps after", StepNames(snapshot.pod_says.steps.after));
  text += "\nrules, the first that matches decides:\n";
  for (const RuleOutcome& rule : decision.rules) {
    text += fmt::format("  {} {:>2}  {:<18}  {}\n", rule.matched ? "->" : "  ", rule.number,
                        rule.name, Printable(rule.detail));
  }
  text += "\nsettings:\n";
  std::size_t widest = 0;
  for (const SettingValue& setting : settings.values)
    widest = std::max(widest, setting.name.size());
  for (const SettingValue& setting : settings.values) {
    text += fmt::format("  {:<{}}  {:<12}  {}", setting.name, widest,
                        setting.value.empty() ? "-" : Printable(setting.value),
                        ToString(setting.source));
    for (const SettingValue::Given& given : setting.overridden) {
      text += fmt::format(", not {} from the {}", Printable(given.value), ToString(given.source));
    }
    text += "\n";
  }
  return text;
}

}  // namespace

CheckReport Report(const Snapshot& snapshot, const Decision& decision,
                   const ResolvedSettings& settings, OutputFormat format) {
  if (snapshot.missing == Missing::kCluster) {
    return {
        "",
        fmt::format("there is no cluster \"{}\" in namespace {}: no workload is labelled {}",
                    settings.settings.cluster, settings.settings.ns,
                    ClusterId{"", settings.settings.Words(), settings.settings.cluster}.Selector()),
        CheckExit::kNoSuchCluster};
  }
  if (snapshot.missing == Missing::kPod) {
    return {"",
            fmt::format("there is no pod \"{}\" in namespace {}: correct --pod and --namespace",
                        settings.settings.pod, settings.settings.ns),
            CheckExit::kNoTarget};
  }
  CheckReport report;
  switch (format) {
    case OutputFormat::kText:
    case OutputFormat::kWide:
      report.text = TextReport(snapshot, decision, settings);
      break;
    case OutputFormat::kJson:
      report.text = JsonReport(snapshot, decision, settings);
      break;
  }
  report.exit = decision.abandoned()                  ? CheckExit::kAbandoned
                : decision.reason == Reason::kUnknown ? CheckExit::kUnknown
                                                      : CheckExit::kKeep;
  return report;
}

int RunCheck(const Invocation& invocation, const Environment& environment, std::stop_token stop) {
  Session session = MakeSession(invocation, environment);
  if (!session.errors.empty()) return PrintErrors(session.errors);
  DriverSession driver(std::move(session), stop);
  if (const auto failed = driver.FindWords()) {
    PrintErrors({failed->error});
    return static_cast<int>(failed->exit);
  }
  KubeClient& client = driver.tools().client;
  SettingsInForce& settings = driver.settings();
  Observer observer(client, driver.tools().discovery, driver.tools().clock, settings);
  observer.AsksForPeople();
  JudgedLook look = LookAndDecide(observer, stop, OtherDriversToo::kAlways);
  // Without this it would promise a deletion that is refused.
  if (look.decision.abandoned()) {
    look.decision =
        AskPolicy(client, PodOf(look.snapshot), look.snapshot, std::move(look.decision));
  }
  const CheckReport report =
      Report(look.snapshot, look.decision, settings.resolved(), invocation.output);
  PrintText(report.text);
  if (!report.error.empty()) PrintErrors({report.error});
  return static_cast<int>(report.exit);
}

CommandDescription DescribeCheck() {
  CommandDescription command = {
      .name = "check",
      .command = Command::kCheck,
      .usage = "check [CLUSTER] [-o text|json] [FLAGS]",
      .help = "Look once, and say what watch would make of it and why",
      .flags = {OwnFlag("output", "text|json", "text", "how the outcome is shown", 'o')},
      .about =
          "One sure look at the cluster CLUSTER, else at that of the pod. It changes nothing.\n",
      .ending =
          "and all flags of watch: \"cluster-watcher help watch\" shows them.\n\n"
          "Exit codes:\n"
          "  0  keep\n"
          "  1  no such cluster\n"
          "  2  neither a cluster nor a pod given, or wrong usage or settings\n"
          "  3  abandoned\n"
          "  4  unknown\n",
      .takes_cluster = true};
  Flags settings = SettingFlags();
  for (Flag& setting : settings) setting.is_shown = false;
  command.flags.insert(command.flags.end(), settings.begin(), settings.end());
  const Flags connection = ConnectionFlags();
  command.flags.insert(command.flags.end(), connection.begin(), connection.end());
  return command;
}

}  // namespace cluster_watcher
