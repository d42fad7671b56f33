// Fuzzes owners as people write them: an accepted one fits into a path, and is printed as it is
// parsed.
#include "probes/owner_name.h"

#include <string_view>

#include "probes/base/names.h"
#include "test/fuzz/fuzz.h"

namespace cluster_watcher {

void TryInput(std::string_view input) {
  const auto owner = OwnerName::Parse(input);
  if (!owner) {
    Require(IsOneLine(owner.error().message), "the reason is one line");
    return;
  }
  Require(IsDnsSubdomain(owner->name), "the name can be an object's");
  Require(owner->IsBare() == (input.find('/') == std::string_view::npos), "a kind has a slash");
  Require(owner->IsBare() || IsDnsLabel(owner->kind), "the kind can be a resource's");
  Require(owner->group.empty() || (!owner->IsBare() && IsDnsSubdomain(owner->group)),
          "the group can be a resource's");
  const auto again = OwnerName::Parse(owner->ToText());
  Require(again && *again == *owner, "what is written reads the same");
}

}  // namespace cluster_watcher
