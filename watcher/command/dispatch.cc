#include "watcher/command/dispatch.h"

#include <optional>
#include <set>
#include <string_view>
#include <variant>

#include "watcher/command/check.h"
#include "watcher/command/claims.h"
#include "watcher/command/command_line.h"
#include "watcher/command/completion_names.h"
#include "watcher/command/create.h"
#include "watcher/command/delete.h"
#include "watcher/command/doctor.h"
#include "watcher/command/enable.h"
#include "watcher/command/hold.h"
#include "watcher/command/inject.h"
#include "watcher/command/list.h"
#include "watcher/command/print_errors.h"
#include "watcher/command/run.h"
#include "watcher/command/sweep.h"
#include "watcher/command/version.h"
#include "watcher/command/watch.h"
#include "watcher/command/webhook.h"
#include "watcher/driver/child_process.h"
#include "watcher/driver/signals.h"

namespace cluster_watcher {
namespace {

// Returns what a shell says of a command that a signal ended before it was done.
int EndedBy(StopOnSignal& stop, int code) {
  const auto signal = stop.End();
  return signal && code != 0 ? ExitBySignal(*signal) : code;
}

bool CompletesForShell(std::span<const char* const> arguments, const Environment& environment) {
  if (arguments.size() < 2 || arguments[1] != std::string_view("__complete")) return false;
  const auto find = [&environment](NamesOfWhat what, const TextMap& flags) {
    return FindNames(what, flags, environment);
  };
  PrintText(Complete(arguments.subspan(2), find));
  return true;
}

int RunUntil(StopOnSignal& stop, const Invocation& invocation, const Environment& environment) {
  switch (invocation.command) {
    case Command::kRun:
      break;
    case Command::kWatch: {
      SystemClock clock;
      return RunWatch(invocation, environment, clock, stop.token());
    }
    case Command::kCreate:
      return EndedBy(stop, RunCreate(invocation, environment, stop.token()));
    case Command::kAwait:
      return EndedBy(stop, RunAwait(invocation, environment, stop.token()));
    case Command::kClaim:
      return RunClaim(invocation, environment, stop.token());
    case Command::kRelease:
      return RunRelease(invocation, environment, stop.token());
    case Command::kDelete:
      return EndedBy(stop, RunDelete(invocation, environment, stop.token()));
    case Command::kSweep:
      return EndedBy(stop, RunSweep(invocation, environment, stop.token()));
    case Command::kHold:
      return RunHold(invocation, environment, stop.token());
    case Command::kUnhold:
      return RunUnhold(invocation, environment, stop.token());
    case Command::kList:
      return EndedBy(stop, RunList(invocation, environment, stop.token()));
    case Command::kCheck:
      return RunCheck(invocation, environment, stop.token());
    case Command::kDoctor:
      return RunDoctor(invocation, environment, stop.token());
    case Command::kEnable:
      return RunEnable(invocation, environment, stop.token());
    case Command::kInject:
      return RunInject(invocation);
    case Command::kWebhook:
      return RunWebhook(invocation, stop.token());
    case Command::kCompletion:
      PrintText(CompletionScript(invocation.shell));
      return 0;
    case Command::kVersion:
      PrintText(std::string("cluster-watcher ") + kVersion + " (" + kRevision + ")\n");
      return 0;
  }
  return kUsageExit;
}

}  // namespace

int Run(std::span<const char* const> arguments, const Environment& environment) {
  if (CompletesForShell(arguments, environment)) return 0;
  const CommandLine command_line = ParseCommandLine(arguments);
  if (const auto* help = std::get_if<HelpText>(&command_line)) {
    PrintText(AsCalled(help->text));
    return 0;
  }
  if (const auto* errors = std::get_if<UsageErrors>(&command_line)) {
    return PrintErrors(errors->lines, errors->exit);
  }
  const auto& invocation = std::get<Invocation>(command_line);
  if (invocation.command == Command::kRun) {
    // Before anything is opened, and before there are threads.
    const std::set<int> descriptors = InheritableDescriptors();
    SignalSource signals(kChildSignals);
    return RunRun(invocation, environment, signals, descriptors);
  }
  const SignalSource signals;
  StopOnSignal stop(signals);
  return RunUntil(stop, invocation, environment);
}

}  // namespace cluster_watcher
