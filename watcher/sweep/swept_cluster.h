// A cluster that nobody watches and that looks abandoned, on its way to its deletion or to being
// kept: by the rules, confirmations, surge and protocol of a watcher.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "watcher/driver/driver_tools.h"
#include "watcher/engine/engine.h"
#include "watcher/reporting/announcer.h"
#include "watcher/reporting/events.h"

namespace cluster_watcher {

// The tools of a sweep.
struct SweepTools {
  const DriverTools& driver;
  const SettingsInForce::WithAnnotations& settings;
  WatcherMetrics& metrics;
  Log& log;
  EventRecorder& events;
  Dial dial;
  std::string asker = {};  // as WhoAsks names them
};

// The end of a cluster or a claim.
struct Swept {
  enum class What { kDeleted, kWouldDelete, kKept, kFailed };

  What what = What::kKept;
  std::string why;      // a reason of the rules, "owner-absent"; empty: none of these
  std::string detail;   // for people
  bool matters = true;  // false: it is as it should be, so nobody needs to know

  static Swept KeptFor(std::string why) { return {What::kKept, "", std::move(why)}; }
};

// Puts `decision`, which keeps a cluster, into the words of a sweep.
Swept KeptBy(const Decision& decision);

// Returns the settings of `cluster`, with the annotations of its master pods to come.
std::unique_ptr<SettingsInForce> SettingsOf(const SettingsInForce::WithAnnotations& settings,
                                            const ClusterId& cluster);

class SweptCluster {
 public:
  SweptCluster(const SweepTools& sweep, ClusterId cluster, KubeObject root, WatcherId me);
  SweptCluster(const SweptCluster&) = delete;
  SweptCluster& operator=(const SweptCluster&) = delete;

  const ClusterId& cluster() const { return cluster_; }
  // When the next step is due.
  MonotonicTime next() const { return next_; }

  // Looks, and does what the look is reason for: a step may be a whole deletion. nullopt: a further
  // step is needed.
  std::optional<Swept> Step();

 private:
  // Why the pods of the root aren't, by their labels, this cluster's in these words, as their own
  // watcher would say; empty: they are, or the deletion was begun.
  Result<std::string, ApiError> WhyNotItsPods(const Snapshot& look);
  std::optional<Swept> ActOn(const Snapshot& look);
  std::optional<Swept> TellOf(Engine::Outcome outcome, const Snapshot& look,
                              const Decision& decision);
  std::optional<Swept> Keep(const Decision& decision);
  Swept WouldBe(const Snapshot& look);
  std::optional<Swept> WaitForOthers(const Snapshot& look, const Decision& decision);
  std::optional<Swept> AfterSparing(const Snapshot& look, const Decision& decision);
  std::optional<Swept> LookAgain(const Snapshot& look, const std::string& why);
  std::optional<Swept> LookAt(MonotonicTime next);
  MonotonicTime NextConfirmation() const;
  // Requires an abandoned verdict. None outlasts the sweep.
  bool IsDueTooLate() const;
  bool IsStopped() const { return driver_.stop.stop_requested(); }

  const DriverTools& driver_;
  const ClusterId cluster_;
  const WatcherId me_;
  const std::unique_ptr<SettingsInForce> settings_;
  Tools tools_;
  Observer observer_;
  Announcer announcer_;
  Engine engine_;
  MonotonicTime next_;
  std::string root_uid_;  // empty: no look has read it
  int fruitless_ = 0;     // looks in a row that came to nothing
  int spared_ = 0;
};

}  // namespace cluster_watcher
