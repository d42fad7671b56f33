#include "watcher/command/list.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "probes/base/names.h"
#include "watcher/command/cluster_table.h"
#include "watcher/command/driver_session.h"
#include "watcher/command/print_errors.h"
#include "watcher/command/shared_flags.h"
#include "watcher/command/yaml_of.h"
#include "watcher/driver/find_profile.h"
#include "watcher/driver/label_selection.h"

namespace cluster_watcher {
namespace {

constexpr Duration kBetweenTables{2'000};
constexpr const char* kClearScreen = "\x1b[H\x1b[2J";

using Rows = std::vector<ClusterRow>;
using Texts = std::vector<std::string>;
using Lines = std::map<std::string, std::string>;  // by namespace and name

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
  // `names`: of the clusters; empty: of all that `filter` lets pass.
  Lister(const Invocation& invocation, DriverSession& session, ClusterFilter filter,
         const std::set<std::string>& names)
      : invocation_(invocation), session_(session), filter_(std::move(filter)), names_(names) {
    style_.is_wide = invocation.output == OutputFormat::kWide;
    style_.with_namespace = IsAsked("all-namespaces");
    style_.with_headers = !IsAsked("no-headers");
    style_.with_left = IsAsked("watch");
  }

  DriverOutcome Run() {
    DriverOutcome outcome = ShowOnce();
    std::vector<std::string> told;
    while (IsAsked("watch") && !is_closed_ && outcome.error.empty()) {
      Clock& clock = session_.tools().clock;
      if (!clock.WaitUntil(clock.Now() + kBetweenTables, session_.tools().stop)) break;
      // A read that fails now may succeed at the next look.
      DriverOutcome next = ShowOnce();
      if (!next.error.empty()) next.warnings.push_back(next.error);
      if (next.warnings != told) PrintErrors(next.warnings);
      told = std::move(next.warnings);
    }
    return outcome;
  }

 private:
  bool IsAsked(const char* flag) const { return invocation_.options.at(flag) == "true"; }

  DriverOutcome ShowOnce() {
    DriverOutcome outcome;
    const auto given = invocation_.options.find("selector");
    const std::string selector = given == invocation_.options.end() ? "" : given->second;
    LabelSelection selection(session_.tools(), filter_.ns, selector);
    if (!selector.empty()) {
      filter_.selects = [&](const KubeObject& root) { return selection.Finds(root); };
      // Tells that it is wrong also where there is no cluster.
      const auto found = selection.Finds({*FindBuiltInByName("deployments", "apps"), {}});
      if (!found) return DriverOutcome::Of(DriverExit::kFailed, found.error());
    }
    Rows rows;
    const auto failed =
        names_.empty() ? ReadAll(rows, outcome.warnings) : ReadNamed(rows, outcome.warnings);
    if (failed) return *failed;
    std::stable_sort(rows.begin(), rows.end(), [](const ClusterRow& one, const ClusterRow& other) {
      return std::tie(one.ns, one.cluster) < std::tie(other.ns, other.cluster);
    });
    if (rows.empty() && filter_.app && names_.empty()) {
      return DriverOutcome::Of(DriverExit::kFailed, filter_.app->ToText() + " uses no cluster");
    }
    if (!outcome.warnings.empty()) outcome.exit = DriverExit::kFailed;
    if (!rows.empty() || names_.empty()) Show(rows);
    return outcome;
  }

  // Reads from lists, but what isn't there of a framework.
  std::optional<DriverOutcome> ReadAll(Rows& rows, Texts& unread) {
    const auto profiles = session_.ProfilesMeant();
    if (!profiles) return DriverOutcome::Of(DriverExit::kFailed, profiles.error());
    for (const SharedProfile& profile : *profiles) {
      if (!profile->IsDefault()) {
        const auto names = FindClusterNames(session_.tools(), profile, filter_.ns);
        if (!names) return DriverOutcome::Of(DriverExit::kFailed, names.error());
        if (names->empty()) continue;
      }
      filter_.profile = profile;
      const ListedTools cached(session_, filter_.ns, profile->cluster_label);
      if (auto failed = Read(cached.tools, rows, unread)) return failed;
    }
    return std::nullopt;
  }

  // `unread`: of each name that isn't found, too.
  std::optional<DriverOutcome> ReadNamed(Rows& rows, Texts& unread) {
    const std::string used =
        filter_.app ? " that " + filter_.app->ToText() + " uses" : std::string();
    for (const std::string& name : names_) {
      filter_.cluster = name;
      filter_.profile = session_.cluster().profile;
      if (!session_.HasWords()) {
        auto found = FindProfile(session_.tools(), filter_.ns, name);
        if (!found) return std::move(found).error();
        if (*found) filter_.profile = *std::move(found);
      }
      const std::size_t before = rows.size() + unread.size();
      if (auto failed = Read(session_.tools(), rows, unread)) return failed;
      if (rows.size() + unread.size() == before) unread.push_back("no cluster " + name + used);
    }
    return std::nullopt;
  }

  // Adds what the filter lets pass, and why one can't be read.
  std::optional<DriverOutcome> Read(const DriverTools& tools, Rows& rows, Texts& unread) {
    auto read = ListClusters(tools, session_.with_annotations(), filter_);
    if (!read) return DriverOutcome::Of(DriverExit::kFailed, read.error());
    std::move(read->rows.begin(), read->rows.end(), std::back_inserter(rows));
    std::move(read->unread.begin(), read->unread.end(), std::back_inserter(unread));
    return std::nullopt;
  }

  void Show(const Rows& rows) {
    switch (invocation_.output) {
      case OutputFormat::kText:
      case OutputFormat::kWide:
        return ShowTable(rows);
      case OutputFormat::kJson:
        return Print(ClusterJson(rows));
      case OutputFormat::kYaml:
        return Print((IsAsked("watch") ? "---\n" : "") + YamlOf(ClusterJson(rows)));
      case OutputFormat::kName:
        return Print(NameLines(TakeChanged(rows)));
    }
  }

  void ShowTable(const Rows& rows) {
    const std::string none = filter_.ns.empty()
                                 ? "No clusters found."
                                 : "No clusters found in " + filter_.ns + " namespace.";
    const auto terminal = Terminal();
    if (IsAsked("watch") && terminal) {
      ColumnWidths widths;
      const std::string table = rows.empty() ? none : ClusterTable(rows, style_, widths);
      return Print(kClearScreen + FitTo(*terminal, table));
    }
    const bool had_any = !shown_ || !shown_->empty();
    if (rows.empty() && had_any) std::fprintf(stderr, "%s\n", none.c_str());
    const Rows changed = TakeChanged(rows);
    if (!changed.empty()) Print(ClusterTable(changed, style_, widths_));
  }

  // Those that are not as they were when they were shown last, but for what runs with the time.
  Rows TakeChanged(const Rows& rows) {
    TableStyle style = style_;
    style.with_headers = false;
    const Lines before = std::exchange(shown_, Lines()).value_or(Lines());
    Rows changed;
    for (const ClusterRow& row : rows) {
      ClusterRow timeless = row;
      timeless.left = timeless.age = std::nullopt;
      ColumnWidths widths;
      const std::string name = row.ns + "/" + row.cluster;
      const std::string& line = (*shown_)[name] = ClusterTable({timeless}, style, widths);
      const auto was = before.find(name);
      if (was == before.end() || was->second != line) changed.push_back(row);
    }
    return changed;
  }

  void Print(const std::string& text) { is_closed_ = !PrintText(text); }

  const Invocation& invocation_;
  DriverSession& session_;
  ClusterFilter filter_;
  const std::set<std::string>& names_;
  TableStyle style_;
  ColumnWidths widths_;
  std::optional<Lines> shown_;  // nullopt: not yet
  bool is_closed_ = false;      // nobody reads what is printed
};

}  // namespace

int RunList(const Invocation& invocation, const Environment& environment, std::stop_token stop) {
  std::vector<std::string> errors;
  ClusterFilter filter;
  filter.app = ReadApp(invocation, errors);
  std::set<std::string> names(invocation.words.begin(), invocation.words.end());
  const bool is_named = !invocation.cluster.empty();
  if (is_named) names.insert(invocation.cluster);
  const bool is_all = invocation.options.at("all-namespaces") == "true";
  if (is_all && (filter.app || is_named)) {
    errors.push_back("--all-namespaces contradicts CLUSTER and --app, which are of one namespace");
  }
  if (is_named && invocation.options.contains("selector")) {
    errors.push_back("--selector contradicts CLUSTER: give one of them");
  }
  // Each is found in words of its own.
  Invocation of_all = invocation;
  of_all.cluster.clear();
  of_all.flags.erase("cluster");
  return WithDriverSession(of_all, environment, std::move(stop), std::move(errors),
                           [&](DriverSession& session) {
                             if (!is_all) filter.ns = session.settings()->ns;
                             return Lister(invocation, session, filter, names).Run();
                           });
}

CommandDescription DescribeList() {
  CommandDescription command = {
      .name = "list",
      .command = Command::kList,
      .usage =
          "list [CLUSTER...] [-A] [-l SELECTOR] [-w] [--app=OWNER] "
          "[-o table|wide|json|yaml|name] [FLAGS]",
      .help = "Show the clusters, and what watch would make of each",
      .flags = {OwnFlag("output", "table|wide|json|yaml|name", "table", "how they are shown", 'o'),
                SwitchFlag("all-namespaces", "the clusters of all namespaces", 'A'),
                OwnFlag("selector", "SELECTOR", "",
                        "only the clusters whose master root has such labels, as in kubectl's -l",
                        'l'),
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
