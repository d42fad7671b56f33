// The judge of the driver's side. It goes by the stored objects and their history alone: what a
// command says is held against what was true while it ran.
//
//  9. Of a claim and the point of no return at most one succeeds. A claim succeeds only if at some
//     moment behind its label the master root was there, unmarked and not terminating. Behind that
//     no watcher passes the point of no return of this root, as long as the claiming owner, which
//     was there before, exists, wants to run, and has not taken its label off again.
// 10. `await` says that a cluster is ready only if at one moment of its last look it was complete,
//     and neither condemned nor being deleted.
// 11. It says that there is none only if at one moment of its last look nothing of it was there.
// 12. A claim that comes to 12 leaves no label behind, or says that it could not take it off.
// 13. `create` deletes nothing, and writes nothing that is there but the application's owner. It
// says
//     that a cluster is created only if the master root was there, unmarked and not terminating, at
//     some moment behind its last write.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "test/simulation/driver_command.h"
#include "test/simulation/exchange.h"
#include "test/simulation/world.h"

namespace cluster_watcher::simulation {

class DriversJudge {
 public:
  explicit DriversJudge(World& world);

  // The process of this number begins a command, ends it, or is gone before that.
  void Begin(int life, const std::string& app, const DriverCommand& command);
  void End(int life, const DriverOutcome& outcome);
  void Gone(int life) { running_.erase(life); }

  // Requests of drivers.
  void Sent(const Exchange& exchange);
  void Arriving() { Look(0); }
  void Handled(const Exchange& exchange, int status);

  // Notes what has changed. To be called after each event.
  void Look() { Look(0); }

  // Which claim a watcher overrides that passes the point of no return of this root now; empty:
  // none.
  std::string WhyNot(const std::string& root_uid);

  // The first broken promise, and how; both empty if none.
  const std::string& broken() const { return broken_; }
  const std::string& how() const { return how_; }

  // How often commands came to which exit code: "claim: 12".
  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  // How often each promise, from 9 on, was put to the test.
  const std::array<std::uint64_t, 5>& tests() const { return tests_; }

 private:
  using Version = std::uint64_t;  // of the store
  // An application's owner, as it is now.
  struct Owner {
    std::string name;
    std::string kind;
    std::string uid = {};        // empty: there is none
    Version wants_since = 0;     // without a break; 0: it doesn't want to run
    Version labelled_since = 0;  // 0: it has no label
    int labelled_by = 0;         // by this process; 0: by somebody else
  };
  struct Running {
    DriverCommand command;
    std::size_t owner = 0;
    Owner before;                                  // as it was when the command began
    Version since;                                 // when that was
    Version look;                                  // when its last look began
    Version wrote;                                 // when it last wrote
    std::string root_plural, root_name, root_uid;  // that it has read last
  };
  // A claim that has succeeded.
  struct Claimed {
    std::size_t owner;
    std::string uid;
    Version since;
    std::string root_uid;
    MonotonicTime succeeded;
    bool over = false;
  };

  void Look(int writer);
  void Note(const small_kubernetes::Change& change, int writer);
  void EndClaim(int life, const Running& running, const DriverOutcome& outcome);
  bool IsThereSince(const Owner& owner, const std::string& uid, Version since) const;
  bool AtSomeMoment(Version since, const std::function<bool(Version)>& holds);
  bool IsFree(const Running& of, Version at);
  bool HasRoot(Version at);
  bool IsReady(Version at);
  bool IsAbsent(Version at);
  void Break(const std::string& promise, const std::string& how);
  template <typename Is>
  bool Any(std::string_view group, std::string_view plural, Version at, const Is& is);

  World& world_;
  std::vector<Owner> owners_;
  std::map<int, Running> running_;  // by process
  std::vector<Claimed> claimed_;
  Version seen_;
  std::string broken_;
  std::string how_;
  std::map<std::string, std::uint64_t> counts_;
  std::array<std::uint64_t, 5> tests_{};
};

}  // namespace cluster_watcher::simulation
