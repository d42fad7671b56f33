#include "watcher/reporting/status_page.h"

#include <algorithm>
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "probes/base/duration_text.h"
#include "probes/base/names.h"
#include "probes/base/time_text.h"
#include "watcher/reporting/events.h"

namespace cluster_watcher {
namespace {

// The classes that give the tone are the words of phase, verdict and reason; later rules win.
constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="5">
<style>
:root{color-scheme:light dark;--good:#1a7f37;--doubt:#8a5a00;--bad:#c21e2b}
@media(prefers-color-scheme:dark){:root{--good:#4ac26b;--doubt:#d8a531;--bad:#ff8078}}
.keep{--tone:var(--good)}
.unknown,.misconfigured,.abandoned{--tone:var(--doubt)}
.condemned,.deleting{--tone:var(--bad)}
.done{--tone:CanvasText}
body{margin:0;background:Canvas;color:CanvasText;font:1rem/1.5 system-ui,sans-serif}
main{max-width:44rem;margin:auto;padding:1rem;overflow-wrap:anywhere}
h1{margin:0;font-size:1.5rem;line-height:1.25}
.state{margin:.75rem 0 1.25rem;padding:.25rem .75rem;border-left:.375rem solid;color:var(--tone)}
.state{font-size:1.25rem;font-weight:600}
dl{display:grid;grid-template-columns:11rem minmax(0,1fr);gap:.5rem 1rem;margin:0}
dt,footer{opacity:.75}
dd{margin:0}
progress{display:block;width:100%;max-width:20rem;margin-top:.375rem;accent-color:var(--tone)}
code{font:.875rem/1.5 ui-monospace,monospace;word-break:break-all;user-select:all}
footer{margin-top:1.5rem;padding-top:.5rem;border-top:1px solid;font-size:.875rem}
footer a{display:inline-block;padding:.5rem .75rem .5rem 0;color:inherit}
@media(max-width:34rem){dl{display:block}dd{margin-bottom:.75rem}}
</style>
)";

constexpr std::string_view kFoot = R"(<br>
<a href="metrics">/metrics</a>
<a href="healthz">/healthz</a>
<a href="readyz">/readyz</a>
</footer>
</main>
</body>
</html>
)";

// Returns `text` on one line that means nothing to HTML.
std::string Escaped(const std::string& text) {
  std::string html;
  for (const char c : FitNote("", text, "")) {
    const std::string_view entity = c == '&'    ? "&amp;"
                                    : c == '<'  ? "&lt;"
                                    : c == '>'  ? "&gt;"
                                    : c == '"'  ? "&quot;"
                                    : c == '\'' ? "&#39;"
                                                : "";
    entity.empty() ? html += c : html += entity;
  }
  return html;
}

// Returns "" where there is nothing to say.
std::string Row(std::string_view name, const std::string& html) {
  return html.empty() ? "" : fmt::format("<dt>{}</dt>\n<dd>{}</dd>\n", name, html);
}

// Returns "" without a time.
std::string When(std::optional<WallTime> time, WallTime now) {
  if (!time) return "";
  const auto in = std::chrono::round<std::chrono::seconds>(*time - now);
  return FormatTime(*time) + (in.count() > 0   ? ", in " + FormatDuration(in)
                              : in.count() < 0 ? ", " + FormatDuration(-in) + " ago"
                                               : ", now");
}

std::string Bar(std::int64_t done, std::int64_t all, const std::string& text) {
  return fmt::format("<progress value=\"{}\" max=\"{}\"></progress>{}", done, all, text);
}

const char* StateOf(const WatcherStatus& status) {
  if (status.phase == "condemned") return "is condemned: a final check follows";
  if (status.phase == "deleting") return "is being deleted";
  if (status.phase == "done") return "is deleted";
  if (status.words.why.empty()) return "was not looked at yet";
  return status.verdict == "abandoned" ? "looks abandoned" : "is kept";
}

std::string Owner(const WatcherStatus& status) {
  const bool elsewhere =
      !status.owner_namespace.empty() && status.owner_namespace != status.words.ns;
  return Escaped(status.owner) +
         (elsewhere ? " in namespace " + Escaped(status.owner_namespace) : "");
}

std::string Confirmations(const WatcherStatus& status) {
  const int all = std::max(status.words.confirmations, 1);
  const int done = std::min(status.confirmations, all);
  return done == 0 ? "" : Bar(done, all, fmt::format("{} of {}", done, all));
}

std::string Members(const WatcherStatus& status) {
  const std::int64_t found = status.members_found;
  if (found <= 0) return "";
  if (status.dry_run) return fmt::format("{} and the master root would be deleted", found);
  return Bar(found - status.members_remaining, found,
             fmt::format("{} found, {} remaining", found, status.members_remaining));
}

std::string Took(const WatcherStatus& status) {
  return FormatDuration(std::chrono::round<Duration>(status.deletion_took));
}

// The verdict's own words hold until the point of no return.
std::string Change(const WatcherStatus& status) {
  if (status.phase == "done") return "";
  if (status.phase != "deleting") return Escaped(status.words.remedy);
  return "cluster-watcher/keep on the master root, or the brake, stops it";
}

// Returns "" once nothing is due any more: it has begun.
std::string Due(const WatcherStatus& status, WallTime now) {
  const bool is_due = status.phase == "watching" || status.phase == "condemned";
  if (!is_due || !status.deletion_due) return "";
  return Row("Deletion due", When(status.deletion_due, now) + ", at the earliest") +
         Row("To keep it", "<code>" + Escaped(status.words.hold) + "</code>");
}

// Urgent rows come first: a phone shows some ten.
std::string Rows(const WatcherStatus& status, WallTime now) {
  const bool is_done = status.phase == "done";
  return Row("Owner", Owner(status)) +
         Row("Verdict", Escaped(status.verdict + ": " + status.reason)) +
         Row("Because", Escaped(status.words.why)) + Row("What would change it", Change(status)) +
         Row("Dry run", status.dry_run ? "nothing is marked or deleted" : "") + Due(status, now) +
         Row("Phase", Escaped(status.phase)) + Row("Members", Members(status)) +
         Row("Deadline", When(status.deletion_deadline, now)) +
         Row("Took", is_done ? Took(status) : "") + Row("Confirmations", Confirmations(status)) +
         Row("Abandoned since", When(status.abandoned_since, now)) +
         Row("Missing permissions", Escaped(Joined(status.missing_permissions))) +
         Row("Last definite look", When(status.last_look, now));
}

}  // namespace

std::string PageFor(const WatcherStatus& status, WallTime now) {
  const std::string name =
      status.cluster.empty() ? "Cluster" : Escaped(status.words.ns + "/" + status.cluster);
  const char* const state = StateOf(status);
  return fmt::format(
      "{}<title>{} {}</title>\n</head>\n<body>\n<main class=\"{} {} {}\">\n<h1>{}</h1>\n"
      "<p class=\"state\">{}</p>\n<dl>\n{}</dl>\n<footer>cluster-watcher, as of {}{}",
      kHead, name, state, Escaped(status.verdict), Escaped(status.reason), Escaped(status.phase),
      name, state, Rows(status, now), FormatTime(now), kFoot);
}

}  // namespace cluster_watcher
