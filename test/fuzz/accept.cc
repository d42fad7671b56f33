// Fuzzes the Accept header of scrapers: what was parsed parses the same again, and an invalid part
// changes nothing.
#include "metrics/http/accept.h"

#include <string>
#include <string_view>
#include <vector>

#include "metrics/http/exposition.h"
#include "test/fuzz/fuzz.h"

namespace cluster_watcher {
namespace {

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string Written(const MediaRange& range) {
  std::string text = range.type + "/" + range.subtype;
  if (!range.version.empty()) text += ";version=" + Quoted(range.version);
  if (!range.charset.empty()) text += ";charset=" + Quoted(range.charset);
  const std::string thousandths = std::to_string(1000 + range.weight);
  return text + ";q=" + (range.weight == 1000 ? "1" : "0." + thousandths.substr(1));
}

}  // namespace

void TryInput(std::string_view accept) {
  const ExpositionFormat chosen = ChooseExposition(accept);
  Require(ChooseExposition(std::string(accept) + ", /") == chosen,
          "what is no part counts nothing");
  std::string again;
  for (const MediaRange& range : ParseAccept(accept)) {
    Require(range.weight >= 0 && range.weight <= 1000, "a weight is from 0 to 1");
    Require(!range.type.empty() && !range.subtype.empty(), "a range has both of its names");
    const std::string written = Written(range);
    const std::vector<MediaRange> read = ParseAccept(written);
    Require(read.size() == 1 && Written(read.front()) == written, "what is written reads the same");
    again += written + ",";
  }
  Require(ChooseExposition(again) == chosen, "all of it, written again, chooses the same");
}

}  // namespace cluster_watcher
