// The manual: cluster-watcher(1).
#pragma once

#include <string>
#include <string_view>

namespace cluster_watcher {

// Returns the manual's source, for man(1), made of the table of commands. It has no date, so that
// the same version gives the same bytes.
std::string ManPage();

// Escapes what roff would take for more than text, in a line or a part of one.
std::string RoffText(std::string_view text);

}  // namespace cluster_watcher
