#include "watcher/command/list.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

#include "probes/base/duration_text.h"
#include "probes/base/json.h"
#include "probes/base/printable.h"
#include "watcher/command/driver_session.h"
#include "watcher/command/print_errors.h"
#include "watcher/command/shared_flags.h"

namespace cluster_watcher {
namespace {

constexpr Duration kBetweenLooks{2'000};
constexpr std::size_t kBetweenColumns = 3;
constexpr const char* kMissing = "<missing>";
constexpr const char* kShared = "<shared>";
constexpr const char* kClearScreen = "\x1b[H\x1b[2J";

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
  if (style.format == OutputFormat::kWide) {
    for (const char* name : {"WORKERS", "MASTER", "WEBUI", "ROUTE", "DRIVERS"}) {
      cells.emplace_back(name);
    }
  }
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
  if (style.format == OutputFormat::kWide) {
    const std::string drivers =
        std::accumulate(row.drivers.begin(), row.drivers.end(), std::string(),
                        [](std::string all, const std::string& one) {
                          return std::move(all) + (all.empty() ? "" : ",") + one;
                        });
    cells.insert(cells.end(),
                 {std::to_string(row.workers), row.master, row.web_ui, row.route, drivers});
  }
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

// The terminal that stdout is; nullopt: it is none.
std::optional<winsize> Terminal() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0) return std::nullopt;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    size.ws_col = 80;
    size.ws_row = 24;
  }
  return size;
}

// Cuts each line, so that the terminal doesn't break it, and says how many lines don't fit.
std::string FitTo(const winsize& terminal, const std::string& text) {
  std::vector<std::string> fitted;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    fitted.emplace_back(CutText(line, terminal.ws_col));
  }
  // The cursor stands in the last line.
  const std::size_t most = std::max<std::size_t>(terminal.ws_row, 4) - 1;
  if (fitted.size() > most) {
    const std::size_t more = fitted.size() - (most - 1);
    fitted.resize(most - 1);
    fitted.emplace_back(CutText("(" + std::to_string(more) + " more)", terminal.ws_col));
  }
  std::string all;
  for (const std::string& line : fitted) all += line + "\n";
  return all;
}

class Lister {
 public:
  Lister(const Invocation& invocation, DriverSession& session, ClusterFilter filter)
      : invocation_(invocation), session_(session), filter_(std::move(filter)) {
    style_.format = invocation.output;
    style_.with_namespace = IsAsked("all-namespaces");
    style_.with_headers = !IsAsked("no-headers");
    style_.with_left = IsAsked("watch");
  }

  DriverOutcome Run() {
    DriverOutcome outcome = ShowOnce();
    while (IsAsked("watch") && !is_closed_ && outcome.exit == DriverExit::kDone) {
      Clock& clock = session_.tools().clock;
      if (!clock.WaitUntil(clock.Now() + kBetweenLooks, session_.tools().stop)) break;
      // A read that fails now may succeed at the next look.
      const DriverOutcome next = ShowOnce();
      if (!next.error.empty()) PrintErrors({next.error});
    }
    return outcome;
  }

 private:
  bool IsAsked(const char* flag) const { return invocation_.options.at(flag) == "true"; }

  DriverOutcome ShowOnce() {
    const bool is_one = !filter_.cluster.empty();
    auto profiles = is_one ? std::vector{session_.cluster().profile} : session_.ProfilesMeant();
    if (!profiles) return DriverOutcome::Of(DriverExit::kFailed, profiles.error());
    std::vector<ClusterRow> rows;
    for (const SharedProfile& profile : *profiles) {
      filter_.profile = profile;
      auto read = is_one ? ListClusters(session_.tools(), session_.with_annotations(), filter_)
                         : ReadRows();
      if (!read) return DriverOutcome::Of(DriverExit::kFailed, read.error());
      std::move(read->begin(), read->end(), std::back_inserter(rows));
    }
    std::stable_sort(rows.begin(), rows.end(), [](const ClusterRow& one, const ClusterRow& other) {
      return std::tie(one.ns, one.cluster) < std::tie(other.ns, other.cluster);
    });
    const bool is_named = is_one || filter_.app;
    if (rows.empty() && is_named) return DriverOutcome::Of(DriverExit::kFailed, NothingFound());
    Show(rows);
    return {};
  }

  // Reads from lists, unless there is nothing of a framework.
  Result<std::vector<ClusterRow>, ApiError> ReadRows() {
    if (!filter_.profile->IsDefault()) {
      const auto names = FindClusterNames(session_.tools(), filter_.profile, filter_.ns);
      if (!names) return Unexpected{names.error()};
      if (names->empty()) return std::vector<ClusterRow>();
    }
    const ListedTools cached(session_, filter_.ns, filter_.profile->cluster_label);
    return ListClusters(cached.tools, session_.with_annotations(), filter_);
  }

  std::string NothingFound() const {
    if (!filter_.cluster.empty()) return "no cluster " + filter_.cluster;
    return filter_.app->ToText() + " uses no cluster";
  }

  void Show(const std::vector<ClusterRow>& rows) {
    if (invocation_.output == OutputFormat::kJson) {
      is_closed_ = !PrintText(ClusterJson(rows));
      return;
    }
    const auto terminal = Terminal();
    if (IsAsked("watch") && terminal) {
      is_closed_ = !PrintText(kClearScreen + FitTo(*terminal, ClusterTable(rows, style_)));
      return;
    }
    if (rows.empty()) {
      PrintErrors(
          {"there are no clusters" + (filter_.ns.empty() ? "" : " in namespace " + filter_.ns)});
    }
    const std::vector<ClusterRow> changed = TakeChanged(rows);
    if (changed.empty()) return;
    is_closed_ = !PrintText(ClusterTable(changed, style_));
    style_.with_headers = false;
  }

  // Those that are not as they were when they were shown last, but for the time that is left.
  std::vector<ClusterRow> TakeChanged(const std::vector<ClusterRow>& rows) {
    TableStyle style = style_;
    style.with_headers = style.with_left = false;
    std::map<std::string, std::string> now;
    std::vector<ClusterRow> changed;
    for (const ClusterRow& row : rows) {
      const std::string name = row.ns + "/" + row.cluster;
      const std::string& line = now[name] = ClusterTable({row}, style);
      const auto before = shown_.find(name);
      if (before == shown_.end() || before->second != line) changed.push_back(row);
    }
    shown_ = std::move(now);
    return changed;
  }

  const Invocation& invocation_;
  DriverSession& session_;
  ClusterFilter filter_;
  TableStyle style_;
  std::map<std::string, std::string> shown_;  // by namespace and name: the line
  bool is_closed_ = false;                    // nobody reads what is printed
};

}  // namespace

std::string ClusterTable(const std::vector<ClusterRow>& rows, const TableStyle& style) {
  std::vector<Cells> lines;
  if (style.with_headers) lines.push_back(Headers(style));
  for (const ClusterRow& row : rows) lines.push_back(CellsOf(row, style));
  std::vector<std::size_t> widths;
  for (const Cells& line : lines) {
    widths.resize(line.size());
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const Cells& line : lines) {
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
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

int RunList(const Invocation& invocation, const Environment& environment, std::stop_token stop) {
  std::vector<std::string> errors;
  ClusterFilter filter;
  filter.cluster = invocation.cluster;
  filter.app = ReadApp(invocation, errors);
  const bool is_all = invocation.options.at("all-namespaces") == "true";
  if (is_all && (filter.app || !filter.cluster.empty())) {
    errors.push_back("--all-namespaces contradicts CLUSTER and --app, which are of one namespace");
  }
  return WithDriverSession(invocation, environment, std::move(stop), std::move(errors),
                           [&](DriverSession& session) {
                             if (!is_all) filter.ns = session.settings()->ns;
                             return Lister(invocation, session, filter).Run();
                           });
}

CommandDescription DescribeList() {
  CommandDescription command = {
      .name = "list",
      .command = Command::kList,
      .usage = "list [CLUSTER] [-A] [-w] [--app=OWNER] [-o table|wide|json] [FLAGS]",
      .help = "Show the clusters, and what watch would make of each",
      .flags = {OwnFlag("output", "table|wide|json", "table", "how they are shown", 'o'),
                SwitchFlag("all-namespaces", "the clusters of all namespaces", 'A'),
                AppFlag("only the clusters that this application uses"),
                SwitchFlag("watch", "go on showing them, and how long each has left", 'w'),
                SwitchFlag("no-headers", "leave out the names of the columns")},
      .about =
          "The verdict is that of one look, without confirmations. A cluster without an owner "
          "is <shared>;\nwhat isn't there is <missing>.\n",
      .ending =
          "\nExit codes:\n"
          "  0  done\n"
          "  1  there is no such cluster, or they could not be read\n"
          "  2  wrong usage or settings\n",
      .aliases = {"get", "ls"},
      .takes_cluster = true};
  return WithSettings(std::move(command));
}

}  // namespace cluster_watcher
