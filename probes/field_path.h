// Names one field of an object like `kubectl wait --for=jsonpath=…`, and the values that mean that
// the object has completed. Source: kubernetes.io "JSONPath Support".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "probes/base/json.h"
#include "probes/base/result.h"

namespace cluster_watcher {

// The subset of JSONPath that leads to at most one value: `{.status.phase}`, `{.status['job
// state']}`, `{.metadata.labels.example\.com/state}`, `{.status.runs[0].state}`,
// `{.status.runs[-1]}` and `{.status.conditions[?(@.type=="Complete")].status}`. The braces and the
// first dot are optional.
class FieldPath {
 public:
  // An error says what is wrong with `text`, without quoting it.
  static Result<FieldPath> Parse(std::string_view text);

  // Returns what it leads to, which needn't exist. Fails if it goes on within a list without an
  // index, or a filter matches more than one element.
  Result<JsonValue> Locate(JsonValue object) const;
  // Returns the value as kubectl prints it; nullopt if there is none or it is null. Fails where
  // Locate does, and if the path leads to a list or object.
  Result<std::optional<std::string>> Find(JsonValue object) const;

 private:
  struct Filter {
    std::vector<std::string> path;  // within an element
    std::string value;
  };
  // A key, the index of an element (negative: from the end), or the element with this value.
  using Step = std::variant<std::string, int, Filter>;

  friend class FieldPathParser;
  std::vector<Step> steps_;
};

// `{PATH}=VALUE,…`: completed if the field has one of these values. `{PATH}`: if it is there.
class CompletedWhen {
 public:
  // An error says what is wrong with `text` and how to write it.
  static Result<CompletedWhen> Parse(std::string_view text);

  // Whether `object` has completed. Fails where FieldPath does.
  Result<bool> Holds(JsonValue object) const;

  const std::string& text() const { return text_; }  // as written

 private:
  std::string text_;
  FieldPath path_;
  std::vector<std::string> values_;  // empty: any
};

}  // namespace cluster_watcher
