// A program that runs under our supervision, in our place: it has our environment, stdin, stdout
// and stderr, gets the signals that we get, and we end as it ended. We may be PID 1 of a container.
#pragma once

#include <signal.h>

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/base/result.h"
#include "watcher/driver/signals.h"

namespace cluster_watcher {

// Questions that RunChild asks of its SignalSource, besides SIGTERM and SIGINT: how children end,
// and what is forwarded. SIGHUP, SIGQUIT (a thread dump of the JVM), SIGUSR1 and SIGUSR2 mean
// something to many programs, and their default would end us; SIGWINCH and SIGCONT are news of the
// terminal. SIGTSTP, SIGTTIN and SIGTTOU aren't forwarded: nobody could continue a container's only
// program.
inline constexpr std::array kChildSignals = {SIGCHLD, SIGHUP,   SIGQUIT, SIGUSR1,
                                             SIGUSR2, SIGWINCH, SIGCONT};

// Returns our descriptors that a child would inherit, stdin, stdout and stderr among them.
std::set<int> InheritableDescriptors();

struct ChildCommand {
  std::vector<std::string> argv;                   // not empty
  std::map<std::string, std::string> environment;  // added to ours, or in place of ours
  // Descriptors that the child inherits besides stdin, stdout and stderr: InheritableDescriptors()
  // at the start of the program, so that what whoever started us meant for the command reaches it.
  std::set<int> descriptors;
  Duration stop_timeout = std::chrono::seconds(10);
};

struct ChildEnd {
  int exit_code = 0;             // as a shell tells it: 128+n if signal n killed it
  std::optional<int> killed_by;  // the signal
  // The first SIGTERM or SIGINT that reached us before the child was reaped. What a terminal sends
  // to the child, by Ctrl-C, isn't among them.
  std::optional<int> stopped_by;
};

struct NotStarted {
  int exit_code = 0;   // as a shell tells it: 127 if the command doesn't exist, else 126
  std::string reason;  // names the command and the remedy
};

// Runs the command and waits for its end.
//
// The command is looked up in our PATH, as execvp does; no shell is involved, so a script without a
// `#!` line can't be executed. The child has default signal dispositions, an empty signal mask and
// a process group of its own. What the command isn't to inherit of our descriptors is
// close-on-exec from now on, whoever opened it.
//
// Signals that are pending or come before the child was reaped are forwarded to its process group;
// those that come later stay pending in `signals`. None is in both, or lost, or can reach another
// process that has got the child's pid. A SIGCONT follows SIGTERM and SIGINT, since a child that is
// stopped hears nothing else. If the child still runs `stop_timeout` after the first of these, its
// group gets SIGKILL. Once the child has ended nobody else of its group is killed or waited for: as
// with a shell, what the command leaves behind is its own affair, and in a container the kernel
// ends it with PID 1.
//
// Where our stdin is a terminal and we are in its foreground, the child's group is until it ends.
// If the child is stopped there (Ctrl-Z), so is our own process group, and whoever continues us
// continues it; where nobody could continue us the child goes on at once.
//
// Reaps orphans that are re-parented to us meanwhile. The thread tells them from children that
// others wait for: the kernel gives orphans to the main thread, and only children of the calling
// thread are reaped.
//
// REQUIRES: called in the main thread, which has no other child that somebody waits for; `signals`
// holds kChildSignals, and nobody else takes from it meanwhile. SIGCHLD gets its default
// disposition, since children can't be waited for where it is ignored.
Result<ChildEnd, NotStarted> RunChild(const ChildCommand& command, SignalSource& signals);

// Waits for SIGTERM or SIGINT, takes it and returns it; other signals are dropped. Reaps what
// RunChild's child left behind. REQUIRES: as RunChild.
int AwaitStop(SignalSource& signals);

}  // namespace cluster_watcher
