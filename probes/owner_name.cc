#include "probes/owner_name.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

Unexpected<Error> NotAnOwner(std::string_view text, const std::string& why) {
  return Failure(Quoted(text) + " is not an owner: " + why +
                 "; write [KIND[.GROUP]/]NAME, for example deployment/bob, "
                 "sparkapplication.sparkoperator.k8s.io/pi or bob");
}

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

std::string OwnerName::ToText() const {
  return IsBare() ? name : KindName{kind, group}.ToText() + "/" + name;
}

Result<OwnerName> OwnerName::Parse(std::string_view text) {
  if (text.empty()) return NotAnOwner(text, "it is empty");
  if (std::any_of(text.begin(), text.end(), IsSpace)) {
    return NotAnOwner(text, "it holds white space");
  }

  OwnerName owner;
  std::string_view name = text;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const std::string_view kind = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) return NotAnOwner(text, "it has two slashes");
    if (kind.empty()) return NotAnOwner(text, "no kind stands before the slash");
    if (!IsKindName(kind)) return NotAnOwner(text, "its kind can't be the name of a resource");
    const KindName parts = SplitKindName(kind);
    owner.kind = parts.kind;
    owner.group = parts.group;
  }

  if (name.empty()) return NotAnOwner(text, "no name follows the slash");
  if (name.size() > 253) return NotAnOwner(text, "its name is longer than 253 characters");
  if (!IsDnsSubdomain(name)) {
    return NotAnOwner(text,
                      "its name can only hold a-z, 0-9, - and ., and each part of it begins "
                      "and ends with a letter or digit");
  }
  owner.name = name;
  return owner;
}

}  // namespace cluster_watcher
