// Finds out whether the installation works in a namespace: a list of checks, each of which gives a
// finding. Changes nothing. What may not be read is a warning that names the missing right: it is
// never taken for absent, nor for well.
#pragma once

#include <span>
#include <string>

#include "watcher/installation/finding.h"
#include "watcher/installation/subject.h"

namespace cluster_watcher {

struct Check {
  const char* name;  // one word, by which people and programs know it
  Finding (*look)(const Subject& subject);
  bool about_namespace = true;  // left out where that is absent
};

std::span<const Check> Checks();

// Whether a new master is injected, and taken by LimitRanges and quotas.
Finding CheckNewMasters(const Subject& subject);
// Whether accounts that aren't watchers' are bound by the guard. It isn't in the list, since those
// who made such accounts may want it so.
Finding CheckGuardedAccounts(const Subject& subject);
// Whether a Prometheus of the Prometheus operator scrapes the watchers and has the alerts.
Finding CheckMonitoring(const Subject& subject);

}  // namespace cluster_watcher
