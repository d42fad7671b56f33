// One field of an object, named the way `kubectl wait --for=jsonpath=…` names it, and the words by
// which it tells that the object has completed. Source: kubernetes.io "JSONPath Support".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "probes/base/json.h"
#include "probes/base/result.h"

namespace cluster_watcher {

// Of JSONPath what leads to at most one value: `{.status.phase}`, `{.status['job state']}`,
// `{.metadata.labels.example\.com/state}`, `{.status.runs[0].state}`, `{.status.runs[-1]}` and
// `{.status.conditions[?(@.type=="Complete")].status}`. The braces and the first dot may be left
// out.
class FieldPath {
 public:
  // The error says what is wrong with `text`, without naming it.
  static Result<FieldPath> Parse(std::string_view text);

  // The value as kubectl prints it; nullopt: there is none, or it is null. An error where the path
  // leads to a list or an object, or a filter to more than one element.
  Result<std::optional<std::string>> Find(JsonValue object) const;

 private:
  struct Filter {
    std::vector<std::string> path;  // within an element
    std::string value;
  };
  // A key, the index of an element (from the end if negative), or the element that has this value.
  using Step = std::variant<std::string, int, Filter>;

  friend class FieldPathParser;
  std::vector<Step> steps_;
};

// `{PATH}=VALUE,…`: completed where the field has one of these values; without values, where it has
// any.
class CompletedWhen {
 public:
  // The error says what is wrong with `text` and how it is written.
  static Result<CompletedWhen> Parse(std::string_view text);

  // Whether `object` has completed. An error as FieldPath::Find has it.
  Result<bool> Holds(JsonValue object) const;

  const std::string& text() const { return text_; }  // as it was written

 private:
  std::string text_;
  FieldPath path_;
  std::vector<std::string> values_;
};

}  // namespace cluster_watcher
