// One watch: turns the store's history into events.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "test/small_kubernetes/selectors.h"
#include "test/small_kubernetes/store.h"

namespace cluster_watcher::small_kubernetes {

struct Filter {
  const Resource* resource;
  std::string ns;  // empty: all
  LabelSelector labels;
  FieldSelector fields;

  bool Matches(const Object& object) const {
    return (ns.empty() || object.ns == ns) && fields.Matches(object) &&
           labels.Matches(object.Labels());
  }
};

class Watch {
 public:
  // `after`: the version that the client has seen. 0: it has seen nothing, and is told of all that
  // is there as added.
  Watch(const Store& store, Filter filter, bool metadata_only, std::uint64_t after)
      : store_(store), filter_(std::move(filter)), metadata_only_(metadata_only), seen_(after) {}

  // The events since the last call, a line of JSON each. Once it has told an ERROR, the watch is
  // over.
  std::string Next();
  bool IsOver() const { return over_; }

 private:
  std::string Line(std::string_view type, const Object& object) const;

  const Store& store_;
  Filter filter_;
  bool metadata_only_;
  std::uint64_t seen_;
  bool over_ = false;
};

}  // namespace cluster_watcher::small_kubernetes
