// What the processes of watchers have seen: their looks, and the master roots that they read, as
// far as the raw exchanges show. Read without the program's code.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "test/simulation/exchange.h"
#include "test/simulation/reading.h"
#include "test/simulation/world.h"

namespace cluster_watcher::simulation {

// The kinds in this world that can hide a driver or a master.
inline constexpr const char* kWorkloads[] = {"deployments", "statefulsets",
                                             "replicationcontrollers", "jobs", "pods"};
// Allows for clocks that differ, and for times that have whole seconds.
inline constexpr Duration kHoldSlack{10'000};

// The parts of a path in the namespace, valid as long as the path.
struct Path {
  std::string_view group;
  std::string_view plural;
  std::string_view name;
};
std::optional<Path> PathOf(std::string_view target);
// Parses "2026-12-24T18:00:00Z"; nullopt if it isn't a time.
std::optional<WallTime> TimeOf(const std::string& text);
bool Contains(std::string_view text, std::string_view part);

// A look with consistent reads.
struct SeenLook {
  MonotonicTime began;          // when it asked for the groups, by the watcher's clock
  MonotonicTime kept_sent;      // what could keep the cluster: the first read of it,
  MonotonicTime kept_answered;  // and the last answer
  std::size_t first = 0;        // the numbers of its exchanges
  std::size_t last = 0;
  bool asked_for_pod = false;
  bool pod = false;
  bool ns = false;
  std::optional<SeenRoot> root;
  std::set<std::string> members;  // kinds whose members were listed
  std::set<std::string> drivers;  // kinds that were searched for other drivers
  std::optional<std::string> in_use_by;
  bool drivers_while_in_use = false;  // by the true state
  bool owner_read = false;
  bool owner_gone = false;
  bool owner_gone_in_truth = false;
  std::string owner_uid;
  Duration grace{0};
  bool completed = false;
  MonotonicTime owner_sent;
  MonotonicTime decided;                     // the same before other drivers were looked for
  std::map<std::string, std::string> holds;  // those in force, by what was read last
  std::set<std::string> other_kinds;         // lists of the owner's name that aren't of its kind
  std::set<std::string> failed;   // what could not be read, not even when it was asked again
  bool names_next_owner = false;  // some answer does, that of another rollout
  std::set<std::string> unauthorized;

  // Says why it isn't evidence that the cluster of this root is abandoned; empty if it is.
  std::string Doubt(const std::string& root_uid, const Plan& plan) const;
};

// What a process has seen.
struct Record {
  std::size_t next = 0;  // the next exchange to read
  std::vector<SeenLook> looks;
  bool open = false;      // the last look goes on
  std::string recorded;   // the owner's UID, once a look has read all kinds it may be of
  bool by_sight = false;  // `recorded` comes from the current look, in which
  std::string sighted;    // this UID was seen, and these
  std::set<std::string> name_failed;                    // could not be read, or
  std::set<std::string> name_read;                      // was
  std::vector<std::pair<std::size_t, SeenRoot>> roots;  // by number of the exchange
};

class SeenLooks {
 public:
  explicit SeenLooks(const World& world) : world_(world) {}
  void SetExchanges(const Exchanges& exchanges) { exchanges_ = &exchanges; }

  // Reads what this process got before `exchange`. Looks and roots are in order.
  const Record& RecordBefore(const Exchange& exchange);
  // In order, without those that began after `exchange`: a late request finds more recorded.
  std::span<const SeenLook> LooksBefore(const Exchange& exchange);

 private:
  void Read(const Exchange& one, Record& record) const;
  bool IsOwnerList(const std::string& target) const;
  static void AddKeeping(const Exchange& exchange, SeenLook& look);
  // `recorded` is the owner's UID that this process knows already; empty if it never saw one.
  void Add(const Exchange& exchange, const std::string& recorded, SeenLook& look) const;
  void ReadOwner(const Exchange& exchange, const Json* list, const std::string& recorded,
                 SeenLook& look) const;
  static void ReadDrivers(const Exchange& exchange, const Json* list, SeenLook& look);

  const World& world_;
  const Exchanges* exchanges_ = nullptr;
  std::map<int, Record> records_;  // by life
};

}  // namespace cluster_watcher::simulation
