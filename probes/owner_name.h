// An owner as people write it: `[KIND[.GROUP]/]NAME`, like an object in kubectl.
#pragma once

#include <string>
#include <string_view>

#include "probes/base/result.h"

namespace cluster_watcher {

struct OwnerName {
  std::string
      kind;  // as written, lower case, without group: "deployment", "rc"; empty: a bare name
  std::string group;  // "apps"; empty if none was given
  std::string name;   // an RFC 1123 subdomain

  bool IsBare() const { return kind.empty(); }
  std::string ToText() const;  // "deployment.apps/bob", "bob"

  // An error says what is wrong with `text` and how an owner is written.
  static Result<OwnerName> Parse(std::string_view text);

  bool operator==(const OwnerName&) const = default;
};

}  // namespace cluster_watcher
