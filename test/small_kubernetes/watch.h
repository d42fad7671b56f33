// Turns the store's history into the events of one watch.
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
  // `after` is the version that the client has seen. With 0 it has seen nothing and first gets
  // every object as added.
  Watch(const Store& store, Filter filter, bool metadata_only, std::uint64_t after)
      : store_(store), filter_(std::move(filter)), metadata_only_(metadata_only), seen_(after) {}

  // Returns the events since the last call, one line of JSON each. An ERROR ends the watch.
  std::string Next();
  // Returns a BOOKMARK of all that was returned so far, for a client that allows it.
  std::string Bookmark() const;
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
