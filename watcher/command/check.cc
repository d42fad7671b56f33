#include "watcher/command/check.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "probes/base/duration_text.h"
#include "probes/base/printable.h"
#include "probes/base/time_text.h"
#include "watcher/command/driver_session.h"
#include "watcher/command/help.h"
#include "watcher/command/print_errors.h"
#include "watcher/command/seen_events.h"
#include "watcher/command/shared_flags.h"
#include "watcher/command/yaml_of.h"
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

constexpr std::size_t kValues = 16;  // the column
constexpr std::size_t kMostAligned = 30;

std::string Line(const std::string& name, const std::string& value) {
  return value.empty() ? "" : FilledRow(name + ":", Printable(value), kValues);
}

std::string RulesText(const std::vector<RuleOutcome>& rules) {
  constexpr std::size_t kDetails = 29;
  std::string text = Line("Rules", "the first that matches decides");
  for (const RuleOutcome& rule : rules) {
    text +=
        FilledRow(fmt::format("  {} {:>2}  {}", rule.matched ? "->" : "  ", rule.number, rule.name),
                  Printable(rule.detail), kDetails);
  }
  return text;
}

std::string SettingsText(const std::vector<SettingValue>& settings) {
  std::size_t names = 0;
  std::size_t values = 0;
  const auto shown = [](const SettingValue& setting) {
    return setting.value.empty() ? "-" : Printable(setting.value);
  };
  for (const SettingValue& setting : settings) {
    names = std::max(names, setting.name.size());
    values = std::max(values, std::min(shown(setting).size(), kMostAligned));
  }
  std::string text = "Settings:\n";
  const auto line = [&](const std::string& name, const std::string& value, const auto& source) {
    text += FilledRow(fmt::format("  {:<{}}  {}", name, names, value), source, names + values + 6);
  };
  line("Name", "Value", "Source");
  line("----", "-----", "------");
  for (const SettingValue& setting : settings) {
    std::string source = ToString(setting.source);
    for (const SettingValue::Given& given : setting.overridden) {
      source += fmt::format(", not {} from the {}", Printable(given.value), ToString(given.source));
    }
    line(setting.name, shown(setting), source);
  }
  return text;
}

std::string TextReport(const Snapshot& snapshot, const Decision& decision,
                       const ResolvedSettings& settings) {
  const std::string cluster = ClusterName(snapshot, settings);
  std::string owner = snapshot.OwnerText();
  if (owner.empty()) owner = decision.reason == Reason::kShared ? "<shared>" : "<unknown>";
  const Facts& facts = snapshot.facts;
  std::string text = Line("Name", cluster.empty() ? "<missing>" : cluster);
  text += Line("Namespace", settings.settings.ns);
  text += Line("Master Root", snapshot.root ? snapshot.root->Describe() : "<unknown>");
  text += Line("Owner", owner) + Line("Owner UID", snapshot.OwnerUid());
  text += Line("Ephemeral", facts.ephemeral_label.value_or(""));
  text += Line("Observation", facts.ObservationText());
  if (facts.owner && facts.owner->object) {
    text += Line("Replicas", std::to_string(facts.owner->fields.replicas));
  }
  text += Line("Phase", ToString(snapshot.marks.phase));
  if (const auto& since = snapshot.marks.abandoned_since) {
    text += Line("Abandoned", "since " + FormatTime(*since));
  }
  text += Line("Verdict", fmt::format("{}: {}", decision.verdict(), ToString(decision.reason)));
  text += Line("Because", decision.detail) + Line("Refused By", decision.refused_by);
  text += Line("Change", RemedyFor(decision.reason));
  const bool is_due = decision.abandoned() && decision.refused_by.empty();
  if (is_due && snapshot.marks.phase != Phase::kDeleting) {
    const Duration grace = std::max(GraceFor(settings.settings, decision.reason, snapshot.seen),
                                    TerminatesIn(snapshot.facts));
    text += Line("Deletion", fmt::format("after {} such verdicts in a row that span {}",
                                         settings.settings.confirmations, FormatDuration(grace)) +
                                 InSurge(settings.settings, decision.reason, grace));
  }
  text += Line("Steps Done", snapshot.StepsText());
  text += Line("Steps Before", StepNames(snapshot.pod_says.steps.before));
  text += Line("Steps After", StepNames(snapshot.pod_says.steps.after));
  return text + RulesText(decision.rules) + SettingsText(settings.values);
}

// A missing right to read them is said, and matters to nothing else.
std::string EventsText(const DriverTools& tools, const Snapshot& snapshot) {
  std::vector<KubeObject> regarding;
  for (const auto& object : {snapshot.root, snapshot.pod}) {
    const bool is_new = object && (regarding.empty() || regarding[0].meta.uid != object->meta.uid);
    if (is_new) regarding.push_back(*object);
  }
  const auto events = ReadEvents(tools.client, regarding, tools.Reads());
  const std::string title = "Events:" + std::string(kValues - 7, ' ');
  if (!events) return title + "<unknown>: " + Printable(WhyRefused(events.error())) + "\n";
  if (regarding.empty()) return title + "<unknown>\n";
  if (events->empty()) return title + "<none>\n";
  return "Events:\n" + EventTable(*events, ServerNow(snapshot, tools.clock));
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
    case OutputFormat::kName:
      report.text = TextReport(snapshot, decision, settings);
      break;
    case OutputFormat::kJson:
      report.text = JsonReport(snapshot, decision, settings);
      break;
    case OutputFormat::kYaml:
      report.text = YamlOf(JsonReport(snapshot, decision, settings));
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
  if (PrintText(report.text) && !report.text.empty() && invocation.output == OutputFormat::kText) {
    PrintText(EventsText(driver.tools(), look.snapshot));
  }
  if (!report.error.empty()) PrintErrors({report.error});
  return static_cast<int>(report.exit);
}

CommandDescription DescribeCheck() {
  CommandDescription command = {
      .name = "check",
      .command = Command::kCheck,
      .usage = "check [CLUSTER] [-o text|json|yaml] [FLAGS]",
      .help = "Look once, and say what watch would make of it and why",
      .flags = {OwnFlag("output", "text|json|yaml", "text", "how the outcome is shown", 'o')},
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
