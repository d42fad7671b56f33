// Writes what `help` prints, from the descriptions of the commands.
#pragma once

#include <cstddef>
#include <string>

#include "watcher/command/commands.h"

namespace cluster_watcher {

// Writes `left`, and beside it, from the column on, `right`: over as many lines of 80 columns as it
// takes, broken between words.
std::string FilledRow(const std::string& left, const std::string& right, std::size_t column);

// Returns the flag's help with its default and note, on one line.
std::string Explained(const Flag& flag);

// Returns the command's help with its aliases, on one line.
std::string Summary(const CommandDescription& command);

// Returns what `help COMMAND` prints; for nullptr what `help` prints.
std::string HelpFor(const CommandDescription* command);

}  // namespace cluster_watcher
