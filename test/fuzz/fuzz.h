// Shared by the fuzz targets. A target is one source file that defines TryInput; if a check fails
// it aborts, and libFuzzer keeps the input. Inputs are text, so that people can write them: if a
// target takes more than one thing, the first lines describe them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace cluster_watcher {

void TryInput(std::string_view input);

// Aborts unless `holds`; the message names the `promise`.
inline void Require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "ERROR: this does not hold: %s\n", promise);
  std::abort();
}

// Whether `text`, which may be UTF-8, isn't empty and fits on one line of a log.
inline bool IsOneLine(std::string_view text) {
  return !text.empty() && std::none_of(text.begin(), text.end(),
                                       [](char c) { return (c >= 0 && c < ' ') || c == 127; });
}

// Removes and returns the text before `end`, and removes `end`; takes all of it if there is no
// `end`.
inline std::string_view TakeUntil(std::string_view& text, std::string_view end) {
  const std::size_t size = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, size);
  text.remove_prefix(std::min(size + end.size(), text.size()));
  return taken;
}

inline std::string_view TakeLine(std::string_view& text) { return TakeUntil(text, "\n"); }
inline std::string_view TakeWord(std::string_view& text) { return TakeUntil(text, " "); }

}  // namespace cluster_watcher

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cluster_watcher::TryInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
