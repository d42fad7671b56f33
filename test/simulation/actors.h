// Everybody else: people who run drivers or use kubectl, controllers, and failing machines. They
// act at some time, or exactly when a watcher's request arrives, where it hurts most.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "test/simulation/drivers.h"
#include "test/simulation/judge.h"
#include "test/simulation/kubelet.h"

namespace cluster_watcher::simulation {

enum class Deed {
  kDriverDeleted,
  kDriverDeletedInForeground,
  kDriverOrphans,
  kDriverToZero,
  kDriverToOne,
  kDriverToTwo,
  kDriverReplaced,
  kDriverCreated,
  kDriverFinished,
  kHeldOnRoot,
  kHeldOnNamespace,
  kHeldBadly,
  kUnheld,
  kRootKept,
  kRootUnkept,
  kOtherDriver,
  kOtherDriverGone,
  kWatcherKilled,
  kWatcherHeldUp,
  kMachineSuspended,
  kRollout,
  kRolloutToOther,
  kRolloutHeld,
  kRolloutDry,
  kRolloutOptedOut,
  kRolloutWithoutOwner,
  kRolledBack,
  kNextDriverCreated,
  kNextDriverToZero,
  kNextDriverDeleted,
  kEvicted,
  kDrained,
  kDrainedByForce,
  kRootTouched,
  kRootDeleted,
  kRootOrphans,
  kRootMadeAgain,
  kRootMadeAgainWithMarks,
  kMarksTakenOff,
  kMarkTakenOff,
  kMarksForged,
  kMemberDeleted,
  kMemberMadeAgain,
  kMemberKept,
  kMemberAdded,
  kMemberRelabelled,
  kSetScaled,
  kFinalizersOff,
  kOutage,
  kStaleCache,
  kTokenRotated,
  kClockJump,
  kLabelTakenOff,
  kOtherComes,
  kOtherToZero,
  kOtherToOne,
  kDriversAct,
  kWatcherHeldUpLong,
  kMadeWhole,
  kSecondMaster,
  kSecondMasterGone,
};
inline constexpr std::size_t kDeeds = 61;
const char* ToString(Deed deed);

// Forwards what it hears to the judge, and acts in between.
class Actors final : public Listener {
 public:
  Actors(Timeline& timeline, World& world, Judge& judge, DriversJudge& drivers_judge,
         Random random);
  void Meet(Network& network, Kubelet& kubelet, Drivers& drivers);

  // Draws what will happen.
  void Begin();
  // From now on only what lets the history end happens.
  void Calm();
  // Lets controllers recreate objects; called after each event.
  void Look();

  void Sent(const Exchange& exchange) override;
  void Arriving(const Exchange& exchange) override;
  void Handled(const Exchange& exchange, int status) override;

  const std::array<std::uint64_t, kDeeds>& deeds() const { return deeds_; }
  // Whether a master root was deleted, but not its pods.
  bool has_orphaned_pods() const { return has_orphaned_pods_; }
  // Whether marks were written that are no watcher's, or that were taken off before.
  bool has_forged_marks() const { return has_forged_marks_; }

 private:
  enum class Stage {
    kCondemned,  // the condemnation has arrived
    kLastLook,   // the owner is read after it
    kCrossing,   // the point of no return is about to be passed
    kCrossed,
    kDelete,  // a delete is about to take effect
    kDeleted,
    kRootDeleted,
    kRequest,     // any
    kFollowing,   // any after the condemnation
    kCondemning,  // the condemnation is about to arrive
    kAbandoned,   // the cluster looks abandoned for the first time
    kLabelled,    // a driver has labelled its owner as a user of the cluster
    kMade,        // a driver has made an object of the cluster
  };
  struct Ambush {
    Stage stage;
    int skip;  // occasions to let pass
    Micros delay;
    Deed deed;
  };

  void NoteAbandoned(const Exchange& exchange, int status);
  Deed DrawDeed();
  void Scheme(Plot plot);
  void SchemeWithDrivers();
  void Strike(Stage stage);
  void Do(Deed deed);
  void Annotate(const char* who, const std::string& path, const std::string& annotations);
  std::string OneMember();
  void MakeRootAgain(bool with_marks);
  void RollOut(const Orders& orders);
  std::string ForgedMarks();
  std::string OneWatcher();
  std::string PodPath();

  Timeline& timeline_;
  World& world_;
  Judge& judge_;
  DriversJudge& drivers_judge_;
  Random random_;
  Network* network_ = nullptr;
  Kubelet* kubelet_ = nullptr;
  Drivers* drivers_ = nullptr;
  std::vector<Ambush> ambushes_;
  bool condemned_ = false;
  bool has_orphaned_pods_ = false;
  bool has_forged_marks_ = false;
  bool making_again_ = false;
  std::uint64_t version_ = 0;
  int added_ = 0;
  std::array<std::uint64_t, kDeeds> deeds_{};
};

}  // namespace cluster_watcher::simulation
