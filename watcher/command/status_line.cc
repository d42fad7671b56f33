#include "watcher/command/status_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "probes/base/names.h"
#include "probes/base/printable.h"
#include "watcher/command/print_errors.h"

namespace cluster_watcher {
namespace {

constexpr const char* kClearLine = "\r\x1b[K";

bool IsTerminal() {
  const char* kind = std::getenv("TERM");
  const bool is_dumb = kind == nullptr || std::string_view(kind) == "dumb";
  return isatty(STDERR_FILENO) != 0 && !is_dumb;
}

std::size_t Columns() {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : kUsual;
}

void Write(const std::string& text) {
  // Nobody misses what can't be written there.
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

StatusLine::StatusLine() : is_on_(IsTerminal()) {}

void StatusLine::Show(const std::string& text) {
  if (!is_on_) return;
  // A terminal breaks a line that fills it.
  std::string line(CutText(Printable(text), Columns() - 1));
  if (line == shown_) return;
  Write(kClearLine + line);
  shown_ = std::move(line);
}

void StatusLine::Clear() {
  if (!std::exchange(shown_, "").empty()) Write(kClearLine);
}

void StatusSink::sink_it_(const spdlog::details::log_msg& message) {
  const std::string text(message.payload.data(), message.payload.size());
  if (message.level >= spdlog::level::warn) {
    line_.Clear();
    PrintErrors({text});
  } else {
    line_.Show(text);
  }
}

}  // namespace cluster_watcher
