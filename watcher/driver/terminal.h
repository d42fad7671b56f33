// Whose turn it is at the terminal that is our stdin. Only its foreground process group may read
// from it; others are stopped.
#pragma once

#include <sys/types.h>

#include <optional>

namespace cluster_watcher {

// Returns the terminal's foreground process group; nothing if our stdin isn't our controlling
// terminal.
std::optional<pid_t> ForegroundGroup();

// Makes the group, of our session, the foreground process group. Doesn't stop us by SIGTTOU, even
// where we are in the background ourselves. Nothing happens if the group or the terminal is gone.
void MakeForeground(pid_t group);

}  // namespace cluster_watcher
