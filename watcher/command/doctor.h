// The command `doctor`: finds out whether the installation works in a namespace.
#pragma once

#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "watcher/command/command_line.h"
#include "watcher/command/commands.h"
#include "watcher/installation/finding.h"

namespace cluster_watcher {

using NamedFindings = std::vector<std::pair<std::string, Finding>>;  // by the check's name

// A line for each: "error    image: …; remedy: …".
std::string FindingsText(const NamedFindings& findings);
// {"namespace": …, "checks": [{"name": …, "state": …, "text": …, "remedy": …}]}.
std::string FindingsJson(const std::string& ns, const NamedFindings& findings);

int RunDoctor(const Invocation& invocation, const Environment& environment, std::stop_token stop);

CommandDescription DescribeDoctor();

}  // namespace cluster_watcher
