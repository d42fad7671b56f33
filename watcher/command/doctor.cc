#include "watcher/command/doctor.h"

#include <algorithm>

#include "probes/base/printable.h"
#include "watcher/command/driver_session.h"
#include "watcher/command/print_errors.h"
#include "watcher/command/shared_flags.h"
#include "watcher/installation/checks.h"

namespace cluster_watcher {
namespace {

const char* ToString(Finding::State state) {
  switch (state) {
    case Finding::State::kOk:
      return "ok";
    case Finding::State::kWarning:
      return "warning";
    case Finding::State::kError:
      return "error";
  }
  return "";
}

NamedFindings Examine(const Subject& subject) {
  NamedFindings findings;
  for (const Check& check : Checks()) {
    if (check.about_namespace && subject.IsAbsent()) continue;
    findings.emplace_back(check.name, check.look(subject));
  }
  return findings;
}

}  // namespace

std::string FindingsText(const NamedFindings& findings) {
  constexpr std::size_t kColumn = 9;
  std::string text;
  for (const auto& [name, finding] : findings) {
    std::string line = ToString(finding.state);
    line.resize(kColumn, ' ');
    line += name + ": " + finding.text;
    if (!finding.remedy.empty()) line += "; remedy: " + finding.remedy;
    text += Printable(AsCalled(line)) + "\n";
  }
  return text;
}

std::string FindingsJson(const std::string& ns, const NamedFindings& findings) {
  JsonWriter writer(JsonWriter::Style::kIndented);
  writer.StartObject().Field("namespace", ns).Key("checks").StartArray();
  for (const auto& [name, finding] : findings) {
    writer.StartObject().Field("name", name).Field("state", ToString(finding.state));
    writer.Field("text", finding.text).TextOrNull("remedy", finding.remedy).EndObject();
  }
  return PrintableLines(writer.EndArray().EndObject().Text()) + "\n";
}

int RunDoctor(const Invocation& invocation, const Environment& environment, std::stop_token stop) {
  return WithDriverSession(
      invocation, environment, std::move(stop), {}, [&](DriverSession& session) {
        const std::string ns = session.settings()->ns;
        const Subject subject = ReadSubject(session.tools(), ns);
        if (!subject.IsAnswered()) {
          return DriverOutcome::Of(DriverExit::kFailed, subject.its_namespace.error());
        }
        const NamedFindings findings = Examine(subject);
        PrintText(invocation.output == OutputFormat::kJson ? FindingsJson(ns, findings)
                                                           : FindingsText(findings));
        DriverOutcome outcome;
        if (std::any_of(findings.begin(), findings.end(), [](const auto& one) {
              return one.second.state == Finding::State::kError;
            })) {
          outcome.exit = DriverExit::kFailed;
        }
        return outcome;
      });
}

CommandDescription DescribeDoctor() {
  CommandDescription command = {
      .name = "doctor",
      .command = Command::kDoctor,
      .usage = "doctor [-n NAMESPACE] [-o text|json] [FLAGS]",
      .help = "Find out whether the installation works in a namespace",
      .flags = {OwnFlag("output", "text|json", "text", "how the outcome is shown", 'o')},
      .about =
          "It looks at what is installed, the namespace, its accounts, its masters and the "
          "Prometheus\noperator, and tries what becomes of a new master, by a dry run. It changes "
          "nothing. What your\naccount may not read is a warning that names the right.\n",
      .ending =
          "\nExit codes:\n"
          "  0  no errors; there may be warnings\n"
          "  1  errors, each with its remedy, or there is no answer\n"
          "  2  wrong usage or settings\n"};
  return WithSettingsOf(std::move(command), {"namespace", "kubeconfig", "context"});
}

}  // namespace cluster_watcher
