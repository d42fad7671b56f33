// How `list` shows clusters.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "watcher/driver/cluster_list.h"

namespace cluster_watcher {

struct TableStyle {
  bool is_wide = false;
  bool with_namespace = false;
  bool with_headers = true;
  bool with_left = false;  // how long each has until its deletion
};

// The widths of a table's columns, which only grow: rows that come later stay under the header.
using ColumnWidths = std::vector<std::size_t>;

// Columns as kubectl writes them. Each cell has a value, and no value has a space. The header comes
// first, and again wherever a column had to widen.
std::string ClusterTable(const std::vector<ClusterRow>& rows, const TableStyle& style,
                         ColumnWidths& widths);

// {"items": [{"namespace": …}]}, with null for what isn't there.
std::string ClusterJson(const std::vector<ClusterRow>& rows);

std::string NameLines(const std::vector<ClusterRow>& rows);  // "cluster/bob", one on each line

}  // namespace cluster_watcher
