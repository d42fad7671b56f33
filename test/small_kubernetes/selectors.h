// Label and field selectors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "test/small_kubernetes/json.h"
#include "test/small_kubernetes/store.h"

namespace cluster_watcher::small_kubernetes {

// A conjunction; an empty one matches everything.
class LabelSelector {
 public:
  // As in a query: "a=b,c!=d,e,!f,g in (h,i),j notin (k)". nullopt: doesn't parse.
  static std::optional<LabelSelector> Parse(std::string_view text);
  // As in an object: matchLabels and matchExpressions. Null or empty matches nothing.
  static LabelSelector FromObject(const Value* selector);
  // As in a ReplicationController or Service: a map of labels. Null or empty matches nothing.
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

// metadata.name and metadata.namespace, and for pods spec.nodeName and status.phase; = and !=.
class FieldSelector {
 public:
  // nullopt: doesn't parse, or a field that isn't supported for the kind.
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

// The name that a selector asks for with metadata.name=NAME; empty: none.
std::string NameInFieldSelector(std::string_view text);

}  // namespace cluster_watcher::small_kubernetes
