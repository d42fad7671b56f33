// Label and field selectors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "test/small_kubernetes/json.h"
#include "test/small_kubernetes/store.h"

namespace cluster_watcher::small_kubernetes {

// All requirements must match; an empty selector matches everything.
class LabelSelector {
 public:
  // From a query: "a=b,c!=d,e,!f,g in (h,i),j notin (k)". nullopt if it doesn't parse.
  static std::optional<LabelSelector> Parse(std::string_view text);
  // From an object: matchLabels and matchExpressions. Null or empty matches nothing.
  static LabelSelector FromObject(const Value* selector);
  // From a ReplicationController or Service: a map of labels. Null or empty matches nothing.
  static LabelSelector FromMap(const Value* labels);

  bool Matches(const Value* labels) const;

 private:
  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist, kNever };
  struct Requirement {
    std::string key;
    Operator op;
    std::vector<std::string> values;
  };
  void AddLabels(const Value* labels);

  std::vector<Requirement> requirements_;
};

// Supports metadata.name and metadata.namespace, and for pods spec.nodeName and status.phase, for
// Events involvedObject.uid, with = and !=.
class FieldSelector {
 public:
  // Returns nullopt if it doesn't parse, or a field isn't supported for the kind.
  static std::optional<FieldSelector> Parse(std::string_view text, const Resource& resource);

  bool Matches(const Object& object) const;

 private:
  struct Requirement {
    std::string path;
    std::string value;
    bool equal;
  };
  std::vector<Requirement> requirements_;
};

// Returns NAME of a selector metadata.name=NAME; empty if there is none.
std::string NameInFieldSelector(std::string_view text);

}  // namespace cluster_watcher::small_kubernetes
