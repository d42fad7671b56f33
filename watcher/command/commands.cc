#include "watcher/command/commands.h"

#include <errno.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "watcher/command/check.h"
#include "watcher/command/claims.h"
#include "watcher/command/completion.h"
#include "watcher/command/create.h"
#include "watcher/command/delete.h"
#include "watcher/command/doctor.h"
#include "watcher/command/enable.h"
#include "watcher/command/hold.h"
#include "watcher/command/inject.h"
#include "watcher/command/list.h"
#include "watcher/command/run.h"
#include "watcher/command/shared_flags.h"
#include "watcher/command/sweep.h"
#include "watcher/command/watch.h"
#include "watcher/command/webhook.h"

namespace cluster_watcher {
const std::vector<CommandDescription>& Commands() {
  static const std::vector<CommandDescription> commands = {
      DescribeWatch(),
      DescribeRun(),
      DescribeCreate(),
      DescribeAwait(),
      DescribeClaim(),
      DescribeRelease(),
      DescribeDelete(),
      DescribeSweep(),
      DescribeHold(),
      DescribeUnhold(),
      DescribeList(),
      DescribeCheck(),
      DescribeDoctor(),
      DescribeEnable(),
      DescribeInject(),
      DescribeWebhook(),
      DescribeCompletion(),
      {"version", Command::kVersion, "version", "Show the version", {}, "", kUsualExits},
      {"help",
       std::nullopt,
       "help [COMMAND]",
       "Show how the program, or a command, is used",
       {},
       "",
       kUsualExits},
  };
  return commands;
}

const CommandDescription* FindCommand(std::string_view name) {
  const auto found =
      std::find_if(Commands().begin(), Commands().end(), [name](const CommandDescription& command) {
        const auto& aliases = command.aliases;
        return command.name == name ||
               std::find(aliases.begin(), aliases.end(), name) != aliases.end();
      });
  return found == Commands().end() ? nullptr : &*found;
}

const Flag* FindFlag(const Flags& flags, const IsFlag& is_it) {
  const auto found = std::find_if(flags.begin(), flags.end(), is_it);
  return found == flags.end() ? nullptr : &*found;
}

const Flag* FindFlag(const Flags& flags, std::string_view name) {
  return FindFlag(flags, [name](const Flag& one) { return one.name == name; });
}

const Flag* FindFlagOfAny(const IsFlag& is_it) {
  for (const CommandDescription& command : Commands()) {
    if (const Flag* flag = FindFlag(command.flags, is_it)) return flag;
  }
  return nullptr;
}

const CommandDescription& Program() {
  static const CommandDescription program = {
      .name = "cluster-watcher",
      .command = std::nullopt,
      .usage = "[COMMAND] [FLAGS]",
      .help = "deletes an ephemeral compute cluster once its driver is gone",
      .flags = {},
      .about = "Without a command it is watch. Flags stand before or after the command.\n",
      .ending =
          "\nExit codes:\n"
          "  0  done\n"
          "  1  failed\n"
          "  2  wrong usage or settings\n"};
  return program;
}

std::string CalledAs() {
  const bool is_plugin =
      std::string_view(program_invocation_short_name) == "kubectl-cluster_watcher";
  return (is_plugin ? "kubectl " : "") + Program().name;
}

std::string AsCalled(std::string text) {
  const std::string called = CalledAs();
  if (called == Program().name) return text;
  std::vector<std::string> next = {"[COMMAND]"};
  for (const CommandDescription& command : Commands()) next.push_back(command.name);
  for (const std::string& word : next) {
    const std::string call = Program().name + " " + word;
    for (std::size_t at = 0; (at = text.find(call, at)) != std::string::npos;) {
      text.replace(at, Program().name.size(), called);
      at += called.size();
    }
  }
  return text;
}

GivenFlag ReadFlag(const std::string& argument) {
  const bool is_long = argument.starts_with("--");
  const std::size_t name = is_long ? 2 : 1;
  const std::size_t end = is_long ? std::min(argument.find('=', name), argument.size()) : 2;
  const std::string given = argument.substr(name, end - name);
  const Flag* flag = FindFlagOfAny([&](const Flag& one) {
    return is_long ? one.name == given : std::string(1, one.letter) == given;
  });
  if (flag == nullptr || end == argument.size()) return {flag, std::nullopt};
  return {flag, argument.substr(argument[end] == '=' ? end + 1 : end)};
}

std::vector<std::string> SplitLetters(std::string argument) {
  std::vector<std::string> parts;
  while (argument.size() > 2 && argument[1] != '-' && argument[2] != '=') {
    const std::string first = argument.substr(0, 2);
    const Flag* flag = ReadFlag(first).flag;
    if (flag == nullptr || !flag->IsBoolean()) break;
    parts.push_back(first);
    argument.erase(1, 1);
  }
  parts.push_back(std::move(argument));
  return parts;
}

}  // namespace cluster_watcher
