#include "watcher/command/cluster_table.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "probes/base/duration_text.h"
#include "probes/base/json.h"
#include "probes/base/printable.h"
#include "watcher/command/command_line.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kBetweenColumns = 3;
constexpr const char* kMissing = "<missing>";
constexpr const char* kShared = "<shared>";

using Cells = std::vector<std::string>;

std::string Cell(std::string text) {
  text = Printable(text);
  std::replace(text.begin(), text.end(), ' ', '_');
  return text.empty() ? kMissing : text;
}

std::string LeftText(const std::optional<Duration>& left) {
  if (!left) return kMissing;
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(*left);
  return whole.count() < 0 ? "due" : FormatDuration(whole);
}

Cells Headers(const TableStyle& style) {
  Cells cells;
  if (style.with_namespace) cells.emplace_back("NAMESPACE");
  for (const char* name :
       {"CLUSTER", "STATUS", "OWNER", "REPLICAS", "VERDICT", "REASON", "EPHEMERAL"}) {
    cells.emplace_back(name);
    // Where a narrow terminal doesn't cut it off.
    if (style.with_left && name == std::string_view("STATUS")) cells.emplace_back("LEFT");
  }
  if (style.is_wide) {
    for (const char* name : {"WORKERS", "MASTER", "WEBUI", "ROUTE", "DRIVERS"}) {
      cells.emplace_back(name);
    }
  }
  cells.emplace_back("AGE");
  return cells;
}

Cells CellsOf(const ClusterRow& row, const TableStyle& style) {
  Cells cells;
  const auto or_shared = [&](const std::string& text) { return row.shared ? kShared : text; };
  if (style.with_namespace) cells.push_back(row.ns);
  cells.insert(cells.end(), {row.cluster, row.status});
  if (style.with_left) cells.push_back(LeftText(row.left));
  cells.push_back(row.owner);
  cells.push_back(row.replicas ? std::to_string(*row.replicas) : "");
  cells.insert(cells.end(),
               {or_shared(row.verdict), or_shared(row.reason), or_shared(row.ephemeral)});
  if (style.is_wide) {
    const std::string drivers =
        std::accumulate(row.drivers.begin(), row.drivers.end(), std::string(),
                        [](std::string all, const std::string& one) {
                          return std::move(all) + (all.empty() ? "" : ",") + one;
                        });
    cells.insert(cells.end(),
                 {std::to_string(row.workers), row.master, row.web_ui, row.route, drivers});
  }
  cells.push_back(row.age ? FormatAge(*row.age) : "");
  for (std::string& cell : cells) cell = Cell(std::move(cell));
  return cells;
}

void WriteRow(JsonWriter& writer, const ClusterRow& row) {
  writer.StartObject().Field("namespace", row.ns).Field("cluster", row.cluster);
  writer.Field("status", row.status);
  writer.TextOrNull("owner", row.owner);
  writer.Key("replicas");
  if (row.replicas) {
    writer.Integer(*row.replicas);
  } else {
    writer.Null();
  }
  writer.Field("verdict", row.verdict).Field("reason", row.reason).Field("phase", row.phase);
  writer.TextOrNull("ephemeral", row.ephemeral);
  writer.Key("drivers").StartArray();
  for (const std::string& driver : row.drivers) writer.String(driver);
  writer.EndArray();
  if (!row.steps.empty()) writer.Field("steps", row.steps);
  writer.EndObject();
}

}  // namespace

std::string ClusterTable(const std::vector<ClusterRow>& rows, const TableStyle& style,
                         ColumnWidths& widths) {
  std::vector<Cells> lines;
  if (style.with_headers) lines.push_back(Headers(style));
  for (const ClusterRow& row : rows) lines.push_back(CellsOf(row, style));
  const ColumnWidths before = widths;
  for (const Cells& line : lines) {
    widths.resize(line.size() - 1);  // nothing stands behind the last
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  if (style.with_headers && widths == before) lines.erase(lines.begin());
  std::string text;
  for (const Cells& line : lines) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      text += line[i] + std::string(widths[i] - line[i].size() + kBetweenColumns, ' ');
    }
    text += line.back() + "\n";
  }
  return text;
}

std::string ClusterJson(const std::vector<ClusterRow>& rows) {
  JsonWriter writer(JsonWriter::Style::kIndented);
  writer.StartObject().Key("items").StartArray();
  for (const ClusterRow& row : rows) WriteRow(writer, row);
  return PrintableLines(writer.EndArray().EndObject().Text()) + "\n";
}

std::string NameLines(const std::vector<ClusterRow>& rows) {
  std::string text;
  for (const ClusterRow& row : rows) text += std::string(kNamePrefix) + row.cluster + "\n";
  return text;
}

}  // namespace cluster_watcher
