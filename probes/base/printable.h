// Makes text of others safe to show: a log, an Event, a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cluster_watcher {

// Returns the length in bytes of the first character of a text that isn't empty; 0 if it isn't
// valid UTF-8 (Unicode, table 3-7).
std::size_t CharacterSize(std::string_view text);

// Returns `text` on one line, with nothing that could forge another or steer a terminal: control
// characters (C0, DEL, C1), line and paragraph separators and marks of direction are escaped as in
// JSON (`\n`, `\u001b`, `\u202e`), so that JSON stays what it says; what is not UTF-8 becomes
// U+FFFD. Source: Unicode, "Bidirectional Algorithm" (UAX 9), and CVE-2021-42574.
std::string Printable(std::string_view text);

// The same of each line of a text whose line breaks are ours.
std::string PrintableLines(std::string_view text);

}  // namespace cluster_watcher
