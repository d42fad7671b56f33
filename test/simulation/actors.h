// Everybody else: those who run drivers, people with kubectl, controllers, and what happens to
// machines. Some of it happens at a time, some of it right when a watcher's request has come in,
// which is where it hurts.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

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
  kOtherDriver,
  kOtherDriverGone,
  kWatcherKilled,
  kWatcherHeldUp,
  kRollout,
  kEvicted,
  kDrained,
  kDrainedByForce,
  kRootTouched,
  kRootDeleted,
  kRootOrphans,
  kRootMadeAgain,
  kRootMadeAgainWithMarks,
  kMarksTakenOff,
  kMemberDeleted,
  kMemberMadeAgain,
  kMemberKept,
  kMemberAdded,
  kFinalizersOff,
  kOutage,
  kStaleCache,
  kTokenRotated,
  kClockJump,
  kLabelTakenOff,
};
inline constexpr std::size_t kDeeds = 37;
const char* ToString(Deed deed);

// Passes on to the judge what it hears, and strikes in between.
class Actors final : public Listener {
 public:
  Actors(Timeline& timeline, World& world, Judge& judge, Random random);
  void Meet(Network& network, Kubelet& kubelet, Workshop& workshop);

  // Draws what will happen.
  void Begin();
  // Nothing happens any more but what lets the history come to its end.
  void Calm();
  // After each event: controllers that make things again.
  void Look();

  void Sent(const Exchange& exchange) override { judge_.Sent(exchange); }
  void Arriving(const Exchange& exchange) override;
  void Handled(const Exchange& exchange, int status) override;

  const std::array<std::uint64_t, kDeeds>& deeds() const { return deeds_; }
  // A master root was deleted and its pods were not.
  bool has_orphaned_pods() const { return has_orphaned_pods_; }

 private:
  enum class Stage {
    kCondemned,  // the condemnation has come in
    kLastLook,   // the owner is read after it
    kCrossing,   // the point of no return is about to
    kCrossed,
    kBegun,
    kDelete,  // a delete is about to
    kDeleted,
    kRootDeleted,
    kRequest,  // any
  };
  struct Ambush {
    Stage stage;
    int skip;  // so many pass
    Micros delay;
    Deed deed;
  };

  Deed DrawDeed();
  void Strike(Stage stage);
  void Do(Deed deed);
  void Annotate(const char* who, const std::string& path, const std::string& annotations);
  std::string OneMember();
  void MakeRootAgain(bool with_marks);
  std::string PodPath();

  Timeline& timeline_;
  World& world_;
  Judge& judge_;
  Random random_;
  Network* network_ = nullptr;
  Kubelet* kubelet_ = nullptr;
  Workshop* workshop_ = nullptr;
  std::vector<Ambush> ambushes_;
  bool condemned_ = false;
  bool has_orphaned_pods_ = false;
  bool making_again_ = false;
  std::uint64_t version_ = 0;
  int added_ = 0;
  std::array<std::uint64_t, kDeeds> deeds_{};
};

}  // namespace cluster_watcher::simulation
