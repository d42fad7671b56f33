// The command `list`: the clusters as a table or as JSON.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "watcher/command/command_line.h"
#include "watcher/command/commands.h"
#include "watcher/driver/cluster_list.h"

namespace cluster_watcher {

struct TableStyle {
  OutputFormat format = OutputFormat::kText;  // or kWide
  bool with_namespace = false;
  bool with_headers = true;
  bool with_left = false;  // how long each has until its deletion
};

// Columns as kubectl writes them. Each cell has a value, and no value has a space.
std::string ClusterTable(const std::vector<ClusterRow>& rows, const TableStyle& style);

// {"items": [{"namespace": …}]}, with null for what isn't there.
std::string ClusterJson(const std::vector<ClusterRow>& rows);

// Lists them, again and again with `--watch`, until `stop`. Returns the exit code.
int RunList(const Invocation& invocation, const Environment& environment, std::stop_token stop);

CommandDescription DescribeList();

}  // namespace cluster_watcher
