// Fuzzes settings: each has a value and a source, each mistake is one line, and the result is
// accepted again. Each line of the input is one setting as a flag, in the environment or as an
// annotation: "--listen=:80", "CLUSTER_WATCHER_LISTEN=:80" or "cluster-watcher/listen=:80"; \n in
// it means a new line.
#include "watcher/settings/settings.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "test/fuzz/fuzz.h"

namespace cluster_watcher {
namespace {

std::string Unescaped(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t before = text.size();
    const std::string_view piece = TakeUntil(text, "\\n");
    plain += piece;
    if (before > piece.size()) plain += '\n';
  }
  return plain;
}

void CheckValues(const ResolvedSettings& resolved) {
  const auto& descriptions = SettingDescriptions();
  Require(resolved.values.size() == descriptions.size(), "every setting has a value");
  for (std::size_t i = 0; i < descriptions.size(); ++i) {
    const SettingValue& value = resolved.values[i];
    Require(value.name == descriptions[i].name, "the values stand in the descriptions' order");
    Require(value.source != SettingSource::kDefault || value.value == descriptions[i].default_value,
            "what isn't given has its default");
    Require(value.source != SettingSource::kAnnotation || descriptions[i].from_annotation,
            "an annotation sets what it may");
  }
}

// Given as flags, the values have the same result.
void CheckAgain(const ResolvedSettings& resolved) {
  TextMap flags;
  for (const SettingValue& value : resolved.values) {
    if (value.source != SettingSource::kDefault) flags.emplace(value.name, value.value);
  }
  const auto nothing = [](const std::string&) { return std::nullopt; };
  const ResolvedSettings again = ResolveSettings(flags, nothing, {});
  for (std::size_t i = 0; i < resolved.values.size(); ++i) {
    Require(again.values[i].value == resolved.values[i].value, "what came out is accepted again");
  }
  // Valid settings can contradict each other: an owner and a kind, volumes and resources.
  Require(again.errors.size() <= 1 && again.annotation_errors.size() <= 1, "without a mistake");
}

}  // namespace

void TryInput(std::string_view input) {
  TextMap flags, variables, annotations;
  while (!input.empty()) {
    std::string_view line = TakeLine(input);
    std::string_view name = TakeUntil(line, "=");
    TextMap* where = &variables;
    if (name.starts_with("--")) {
      name.remove_prefix(2);
      where = &flags;
    } else if (name.find('/') != std::string_view::npos) {
      where = &annotations;
    }
    where->insert_or_assign(std::string(name), Unescaped(line));
  }
  const Environment environment = [&variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  const ResolvedSettings resolved = ResolveSettings(flags, environment, annotations);
  for (const auto* errors : {&resolved.errors, &resolved.annotation_errors}) {
    for (const std::string& error : *errors) Require(IsOneLine(error), "a mistake is one line");
  }
  Require(resolved.rows_error.empty() || IsOneLine(resolved.rows_error), "so is one in a row");
  CheckValues(resolved);
  CheckAgain(resolved);
}

}  // namespace cluster_watcher
