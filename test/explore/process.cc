#include "test/explore/process.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "probes/owner_kinds.h"
#include "watcher/decision/confirmation.h"
#include "watcher/decision/next_step.h"
#include "watcher/decision/rules.h"
#include "watcher/deletion/members.h"
#include "watcher/deletion/pass_plan.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {

Duration explore::Length(Age age) {
  constexpr std::array<int, 4> kSeconds = {0, 3, 6, 61};
  return std::chrono::seconds(kSeconds[age]);
}

namespace explore {
namespace {

constexpr int kConfirmations = 2;
constexpr Duration kGrace = std::chrono::seconds(3);
constexpr Duration kDeadline = std::chrono::seconds(30);
const WallTime kWallNow{std::chrono::sys_days(std::chrono::year(2026) / 12 / 24)};
const MonotonicTime kNow{std::chrono::hours(1)};

const std::array<WatcherId, 4> kIds = {WatcherId{"", ""}, WatcherId{"m-0", "0"},
                                       WatcherId{"m-1", "1"}, WatcherId{"cli", "2"}};
const WatcherId& Id(int process) { return kIds[static_cast<std::size_t>(process + 1)]; }
std::string OwnerUid(int generation) { return generation == 0 ? "bob-0" : "bob-1"; }

const ResourceType& Type(const char* plural, const char* group = "") {
  return *FindBuiltInByName(plural, group);
}

// The verdict on what can be read.
Reason Judge(const World& world, int seen) {
  const bool is_readable = !world.api_fails && world.root.presence != Presence::kGone;
  const bool is_active = world.driver == Driver::kActive;
  const bool is_replaced = is_active && world.driver_generation != seen;
  const bool runs = world.driver == Driver::kPodRuns;
  static std::array<std::optional<Reason>, 128> known;
  auto& reason = known[(is_readable ? 1u : 0u) | (is_active ? 2u : 0u) | (is_replaced ? 4u : 0u) |
                       (runs ? 8u : 0u) | (world.hold ? 16u : 0u) | (world.keep ? 32u : 0u) |
                       (world.owner_fails ? 64u : 0u)];
  if (reason) return *reason;
  Facts facts;
  facts.given_owner = OwnerName{"deployment", "", "bob"};
  facts.now = kWallNow;
  facts.root_read = is_readable;
  if (!is_readable) facts.problem = "it can't be read";
  if (world.hold) facts.holds.push_back({"namespace lab", "for ever", std::nullopt});
  if (world.keep) facts.kept_root = "deployment.apps/m";
  OwnerSight sight;
  sight.observation = world.owner_fails ? Observation::kUnknown
                      : is_replaced     ? Observation::kReplaced
                      : is_active       ? Observation::kActive
                                        : Observation::kAbsent;
  sight.detail = "deployment.apps/bob";
  if (runs) sight.still_running = "pod/bob-1";
  facts.owner = sight;
  reason = Decide(facts).reason;
  return *reason;
}

Marks MarksOf(int phase, Who by, int recorded) {
  Marks marks;
  marks.phase = static_cast<Phase>(phase);
  marks.condemned_by = kIds[by];
  marks.owner = RecordedOwner{};
  marks.owner->uid = OwnerUid(recorded);
  return marks;
}

// What the last look of `process` has read.
Snapshot LookOf(const Process& process, int number) {
  Snapshot look;
  look.cluster = ClusterId{"lab", DefaultProfile(), "c"};
  look.root = KubeObject{Type("deployments", "apps"), {}};
  look.root->meta.uid = "root";
  look.marks = MarksOf(process.phase, process.by, process.recorded);
  look.owner_name = OwnerName{"deployment", "", "bob"};
  look.owner_ns = "lab";
  look.seen = RecordedOwner{};
  look.seen->uid = OwnerUid(process.seen);
  look.pod = KubeObject{Type("pods"), {}};
  look.pod->meta.uid = Id(number).uid;
  return look;
}

class Stepper {
 public:
  Stepper(State& state, int number, bool is_lost, std::string& broken)
      : world_(state.world),
        all_(state.processes),
        me_(state.processes[static_cast<std::size_t>(number)]),
        number_(number),
        is_lost_(is_lost),
        broken_(broken) {}

  std::string Run() {
    switch (me_.stage) {
      case Stage::kIdle:
        return Watch();
      case Stage::kLooked:
        return Act();
      case Stage::kCondemned:
      case Stage::kWaits:
        Look();
        me_.stage = Stage::kConfirmed;
        return "looks again: " + Reads();
      case Stage::kConfirmed:
        return Confirm();
      case Stage::kBegun:
        return List();
      case Stage::kListed:
        return ReadRoot();
      case Stage::kSends:
        return SendMember();
      case Stage::kLast:
        return SendLast();
      case Stage::kRoot:
        return SendRoot();
      case Stage::kAwaits:
        me_.stage = world_.root.presence == Presence::kGone ? Stage::kDone : Stage::kAwaits;
        return "waits for the root's end";
      case Stage::kDown:
      case Stage::kDone:
        break;
    }
    return "";
  }

 private:
  bool IsAsked() const { return number_ == kCommand; }
  Who MyMark() const { return static_cast<Who>(number_ + 1); }
  SentDeletes Sent() const {
    SentDeletes sent;
    sent.any_accepted = me_.accepted != 0;
    if (!me_.LooksAgain()) sent.accepted_at.emplace("root", MonotonicTime{});
    return sent;
  }
  Duration LookLasts() const { return cluster_watcher::LookLasts(Sent(), "root"); }
  bool IsLate() const { return Length(me_.began_age) >= kDeadline; }
  std::string Reads() const { return ToString(static_cast<Reason>(me_.reason)); }

  // --- Looks.

  void Look() {
    const bool is_there = !world_.api_fails && world_.root.presence != Presence::kGone;
    if (is_there) {
      me_.phase = world_.phase;
      me_.by = world_.by;
      me_.deleting_for = world_.deleting_for;
      me_.deleting_serial = world_.deleting_serial;
      me_.recorded = world_.recorded;
    }
    Reason reason = Judge(world_, me_.seen);
    if (IsAsked() && is_there) reason = Reason::kAsked;
    me_.reason = static_cast<std::uint8_t>(reason);
    me_.read_generation = world_.driver_generation;
    me_.has_root = me_.is_root_as_read = is_there;
    me_.look_age = 0;
  }

  std::string Watch() {
    Look();
    const Reason reason = static_cast<Reason>(me_.reason);
    if (!me_.has_root && IsAsked()) {
      me_.stage = Stage::kDone;
      return "finds no cluster";
    }
    if (!IsAsked()) Count(reason);
    // What has nothing to act on looks again.
    if (me_.has_root) me_.stage = Stage::kLooked;
    return "looks: " + Reads();
  }

  Confirmation Counted() const {
    Confirmation counted;
    for (int i = 0; i < me_.count; ++i) {
      const MonotonicTime at = kNow - (i == 0 ? Length(me_.span) : Duration(0));
      counted.Add(OwnerUid(me_.count_generation), kGrace, at, at);
    }
    return counted;
  }

  void ResetCount() { me_.count = me_.count_generation = me_.span = 0; }

  void Count(Reason reason) {
    if (!IsAbandoned(reason)) return ResetCount();
    if (me_.count > 0 && me_.count_generation != me_.seen) ResetCount();
    if (me_.count == 0) me_.count_generation = me_.seen;
    me_.count = static_cast<std::uint8_t>(std::min(me_.count + 1, kConfirmations));
  }

  // --- Writes of marks: each holds only for the root as it was read.

  bool MayWrite() const {
    return !world_.api_fails && world_.root.presence != Presence::kGone && me_.is_root_as_read;
  }
  void Wrote() {
    for (Process& process : all_) process.is_root_as_read = process.is_root_fresh = false;
  }
  // True: it was written, as far as this process knows.
  bool Write(int phase, Who by) {
    if (!MayWrite()) return false;
    world_.phase = static_cast<std::uint8_t>(phase);
    world_.by = by;
    if (phase == static_cast<int>(Phase::kDeleting)) {
      world_.deleting_for = 0;
      world_.deleting_serial = static_cast<std::uint8_t>((world_.deleting_serial + 1) % 4);
    }
    Wrote();
    return !is_lost_;
  }

  // Whoever spares reads the root, and takes its own marks off.
  void Spare() {
    const bool is_mine = world_.by == MyMark();
    if (world_.api_fails) {
      me_.takes_marks_off = is_mine;
    } else if (is_mine && world_.root.presence != Presence::kGone) {
      me_.is_root_as_read = true;
      Write(0, 0);
      me_.takes_marks_off = false;
    }
    BackToWatching();
  }

  void BackToWatching() {
    Process watching;
    watching.seen = me_.seen;
    watching.takes_marks_off = me_.takes_marks_off;
    if (IsAsked()) watching.stage = Stage::kDone;
    me_ = watching;
  }

  // --- Acts on a look.

  std::optional<MarksSeen> Seen() const {
    if (me_.seen_phase == 0) return std::nullopt;
    const auto phase = static_cast<Phase>(me_.seen_phase);
    MarksSeen seen{phase, kIds[me_.seen_by], std::nullopt, kNow - Length(me_.seen_age)};
    if (phase == Phase::kDeleting) {
      seen.deleting_since = kWallNow + std::chrono::seconds(me_.seen_serial);
    }
    return seen;
  }

  // Whether the one who has condemned the cluster is gone, as far as one can tell.
  bool IsGone(Who by) const {
    return by != 0 && by - 1 != kCommand && all_[by - 1u].stage == Stage::kDown;
  }

  OnMarks NextOn() {
    Snapshot look = LookOf(me_, number_);
    Marks marks = look.marks;
    marks.deleting_since = kWallNow + std::chrono::seconds(me_.deleting_serial);
    const auto before = Seen();
    const auto seen = SeeMarks(before, marks, kNow);
    if (!seen) {
      me_.seen_phase = me_.seen_by = me_.seen_serial = me_.seen_age = 0;
    } else if (seen->since == kNow) {
      me_.seen_phase = me_.phase;
      me_.seen_by = me_.by;
      me_.seen_serial = marks.phase == Phase::kDeleting ? me_.deleting_serial : 0;
      me_.seen_age = 0;
    }
    look.marks.deleting_since = kWallNow - Length(me_.deleting_for);
    const MarksView view{look, Id(number_), seen, kNow, kWallNow, kDeadline};
    return NextOnMarks(view, DependsOnWhetherGone(view) && IsGone(me_.by));
  }

  Confirmed HowConfirmed() const {
    const auto reason = static_cast<Reason>(me_.reason);
    if (reason == Reason::kUnknown) return Confirmed::kUnknown;
    if (!IsAbandoned(reason)) return Confirmed::kKept;
    if (IsAsked()) return Confirmed::kYes;
    return Counted().IsConfirmed(kConfirmations) ? Confirmed::kYes : Confirmed::kNotYet;
  }

  std::string Act() {
    me_.stage = Stage::kIdle;
    const Reason reason = static_cast<Reason>(me_.reason);
    const CaseView view{IsAsked() ? Caller::kPerson : Caller::kWatcher,
                        false,
                        IsAsked() ? OnMarks::kNone : NextOn(),
                        false,
                        SinceMark::kRight,
                        HowConfirmed()};
    const CaseStep step = NextOnCase(view);
    const bool is_condemned = me_.phase == static_cast<int>(Phase::kCondemned);
    if (IsOnMarks(step) && (is_condemned || step != CaseStep::kWait)) ResetCount();
    switch (step) {
      case CaseStep::kWait:
        return "waits for another";
      case CaseStep::kCallOff:
        Write(0, 0);
        return "calls a condemnation off";
      case CaseStep::kResume:
        if (std::exchange(me_.takes_marks_off, false)) {
          Spare();
          return "takes its marks off";
        }
        return Resume("resumes its deletion");
      case CaseStep::kTakeOver:
        if (!Write(static_cast<int>(Phase::kDeleting), MyMark())) return "can't take it over";
        me_.takes_marks_off = false;
        return Resume("takes the deletion over");
      case CaseStep::kCondemn:
        return Condemn();
      case CaseStep::kKeep:
      case CaseStep::kConfirm:
      case CaseStep::kClear:
      case CaseStep::kMarkSince:
      case CaseStep::kSpare:
      case CaseStep::kRehearse:
        break;
    }
    if (reason == Reason::kOwnerAdopted) me_.seen = me_.read_generation;
    if (reason == Reason::kUnknown || me_.seen == me_.recorded || !MayWrite()) return "watches on";
    world_.recorded = me_.seen;
    Wrote();
    return "records the owner";
  }

  std::string Resume(std::string what) {
    me_.is_resumed = true;
    me_.condemned_generation = 0;
    me_.look_age = 0;
    me_.stage = Stage::kWaits;
    return what;
  }

  std::string Condemn() {
    ResetCount();
    if (!Write(static_cast<int>(Phase::kCondemned), MyMark())) {
      if (IsAsked()) me_.stage = Stage::kDone;
      return "can't condemn it";
    }
    world_.recorded = me_.seen;
    me_.is_resumed = me_.takes_marks_off = false;
    me_.condemned_generation = me_.seen;
    me_.stage = Stage::kCondemned;
    return "condemns it";
  }

  std::string Confirm() {
    const Snapshot look = LookOf(me_, number_);
    Decision decision;
    decision.reason = static_cast<Reason>(me_.reason);
    Condemnation of{Id(number_), "", IsAsked(), me_.is_resumed || me_.accepted != 0};
    if (!me_.is_resumed) of.owner_identity = "lab/bob/" + OwnerUid(me_.condemned_generation);
    const AfterCondemning next = NextAfterCondemning(of, look, decision, false);
    if (std::holds_alternative<cluster_watcher::Spare>(next)) {
      Spare();
      return "spares it";
    }
    me_.stage = Stage::kCondemned;
    const bool waits = std::holds_alternative<cluster_watcher::AwaitRead>(next);
    if (waits && me_.accepted != 0) {
      if (!IsLate()) return "waits for what it can't read";
      NextPass();
      me_.goes_on = true;
      me_.is_root_read = me_.is_root_fresh = false;
      me_.look_age = me_.root_age = 0;
      return "goes on without a look, for its deadline has passed";
    }
    if (!std::holds_alternative<cluster_watcher::Begin>(next)) {
      BackToWatching();
      return "leaves it";
    }
    if (me_.accepted != 0) {
      NextPass();
      me_.goes_on = me_.is_root_read = me_.is_root_fresh = false;
      me_.root_age = 0;
      return "goes on";
    }
    if (Length(me_.look_age) >= kFreshEvidence) return "finds its evidence too old";
    if (!Write(static_cast<int>(Phase::kDeleting), MyMark())) return "can't begin";
    me_.stage = me_.has_view ? Stage::kListed : Stage::kBegun;
    me_.is_view_old = me_.has_view;
    me_.is_root_read = me_.is_root_fresh = true;
    me_.goes_on = false;
    me_.root_age = 0;
    // The deadline counts from the first.
    if (!me_.has_view) me_.began_age = 0;
    return "writes the point of no return";
  }

  // --- Deletes.

  void NextPass() {
    me_.has_view = me_.is_view_old = me_.is_complete = me_.worker_terminates = false;
    me_.view = me_.unsent = 0;
    me_.stage = Stage::kBegun;
  }

  std::string List() {
    NextPass();
    me_.has_view = true;
    me_.is_root_read = me_.is_root_fresh = false;
    me_.root_age = 0;
    me_.stage = Stage::kListed;
    if (world_.api_fails) return "can't list";
    if (world_.worker.presence != Presence::kGone) {
      me_.view |= world_.worker.generation == 0 ? kWorker0 : kWorker1;
      me_.worker_terminates = world_.worker.presence == Presence::kTerminating;
    }
    me_.is_complete = !world_.maps_fail;
    if (world_.maps_fail) return "lists all but ConfigMaps";
    if (world_.config.presence != Presence::kGone) me_.view |= kConfig;
    if (world_.kept.presence != Presence::kGone) me_.view |= kKept;
    return "lists";
  }

  struct Pass {
    PassView view;
    DeletionMemory memory;
    SentDeletes sent;
    PassTerms terms;
  };

  static KubeObject Object(const ResourceType& type, const char* name) {
    KubeObject object{type, {}};
    object.meta.name = object.meta.uid = name;
    return object;
  }

  Pass MakePass(bool with_root) const {
    static const ResourceType& deployments = Type("deployments", "apps");
    static const ResourceType& maps = Type("configmaps");
    Pass pass;
    pass.memory.root_uid = "root";
    pass.memory.mounted = {{maps, "conf"}};
    const auto uid = [](std::uint8_t object) {
      return Uid(object == kWorker0   ? "w0"
                 : object == kWorker1 ? "w1"
                 : object == kConfig  ? "conf"
                                      : "root");
    };
    for (const std::uint8_t object : {kWorker0, kWorker1, kConfig}) {
      if (me_.known & object) pass.memory.listed.emplace(uid(object), 0);
    }
    pass.sent = Sent();
    for (const std::uint8_t object : {kWorker0, kWorker1, kConfig, kRootObject}) {
      if (me_.accepted & object) pass.sent.accepted_at.emplace(uid(object), kNow);
    }
    KubeObjects objects;
    if (me_.view & (kWorker0 | kWorker1)) {
      objects.push_back(Object(deployments, me_.view & kWorker0 ? "w0" : "w1"));
      objects.back().meta.deleting = me_.worker_terminates;
    }
    if (me_.view & kConfig) objects.push_back(Object(maps, "conf"));
    if (me_.view & kKept) {
      objects.push_back(Object(maps, "kept"));
      objects.back().meta.common.Edit().annotations[annotation::kKeep] = "true";
    }
    pass.view.complete = me_.is_complete;
    if (!me_.is_complete) pass.view.failed = {"configmaps: 500"};
    pass.view.is_old = me_.is_view_old;
    // As Survivors has it.
    const bool is_shown = (me_.view & kKept) != 0 && world_.is_kept_owned;
    if (is_shown || (me_.holds_back && !me_.is_complete)) {
      pass.view.survivors.held_back["w0"] = {"kept would go with it", false};
    }
    pass.view.members = SortMembers(std::move(objects), pass.memory);
    pass.terms.now = kNow;
    pass.terms.late = IsLate();
    pass.terms.blind_passes = me_.blind;
    pass.terms.is_root_read = me_.is_root_read;
    pass.terms.may_begin = true;
    pass.terms.with_root = with_root;
    return pass;
  }

  static std::uint8_t BitOf(const KubeObject& object) {
    return object.meta.name == "w0" ? kWorker0 : object.meta.name == "w1" ? kWorker1 : kConfig;
  }

  std::optional<DeletionEnd> WhyEnded() {
    if (!me_.is_root_read) {
      if (world_.api_fails) {
        return me_.LooksAgain() ? std::optional(DeletionEnd::kStale) : std::nullopt;
      }
      me_.is_root_read = me_.is_root_fresh = world_.root.presence != Presence::kGone;
      me_.root_age = 0;
    }
    ObjectMeta root;
    root.uid = "root";
    auto& annotations = root.common.Edit().annotations;
    annotations[annotation::kRootUid] = "root";
    annotations[annotation::kPhase] = ToString(static_cast<Phase>(world_.phase));
    annotations[annotation::kCondemnedBy] = kIds[world_.by].ToText();
    if (world_.keep) annotations[annotation::kKeep] = "true";
    const bool is_gone = world_.root.presence == Presence::kGone;
    const ClusterId cluster{"lab", DefaultProfile(), "c"};
    // What was read is told once: later changes are met by the next read.
    const auto why = WhyEndedBy(is_gone ? RootState::kGone : RootState::kOurs, root,
                                {cluster, Id(number_), IsAsked()});
    if (why) return why;
    if (Length(me_.look_age) >= LookLasts()) return DeletionEnd::kStale;
    return std::nullopt;
  }

  std::string End(DeletionEnd end) {
    switch (end) {
      case DeletionEnd::kStale:
        me_.stage = Stage::kCondemned;
        return "needs another look";
      case DeletionEnd::kKept:
      case DeletionEnd::kCalledOff:
      case DeletionEnd::kRootMustStay:
        Spare();
        return "spares it in the middle";
      case DeletionEnd::kDone:
      case DeletionEnd::kReplaced:
      case DeletionEnd::kRootGone:
      case DeletionEnd::kNewMaster:
      case DeletionEnd::kOvertaken:
      case DeletionEnd::kHeld:
      case DeletionEnd::kGivenUp:
        break;
    }
    BackToWatching();
    return "ends: it is another's, or the root is gone";
  }

  std::string ReadRoot() {
    const bool was_read = me_.is_root_read;
    if (!was_read || !me_.is_view_old) {
      if (auto end = WhyEnded()) return End(*end);
    } else if (Length(me_.look_age) >= LookLasts()) {
      return End(DeletionEnd::kStale);
    }
    const bool is_blind = !me_.is_complete && me_.is_root_read;
    me_.blind =
        static_cast<std::uint8_t>(is_blind ? std::min(me_.blind + (IsLate() ? 1 : 0), 2) : 0);
    Pass pass = MakePass(false);
    me_.known |= me_.view & (kWorker0 | kWorker1 | kConfig);
    me_.holds_back = pass.view.survivors.held_back.contains("w0");
    const PassPlan plan = PlanPass(pass.view, pass.memory, pass.sent, pass.terms);
    if (plan.root_stays != nullptr) return End(DeletionEnd::kRootMustStay);
    me_.unsent = 0;
    for (const KubeObject* object : plan.due) me_.unsent |= BitOf(*object);
    me_.stage = Stage::kSends;
    if (me_.unsent == 0)
      return Conclude(me_.is_root_read ? "finds nothing to send" : "reads no root");
    return "reads the root";
  }

  // Whether what a send rests on is fresh; it is read again before a batch.
  bool MaySendNow() {
    if (me_.is_root_read && me_.root_age >= 1) {
      me_.is_root_read = false;
      if (WhyEnded()) me_.is_root_read = false;
    }
    return MaySend(Length(me_.look_age),
                   me_.is_root_read ? std::optional(Length(me_.root_age)) : std::nullopt,
                   LookLasts());
  }

  std::string SendMember() {
    if (!MaySendNow()) {
      me_.unsent = 0;
      return Conclude("may send nothing more");
    }
    const std::uint8_t object = me_.unsent & kWorker0   ? kWorker0
                                : me_.unsent & kWorker1 ? kWorker1
                                                        : kConfig;
    me_.unsent &= static_cast<std::uint8_t>(~object);
    Deletes(object);
    const std::string said = object == kConfig ? "deletes the ConfigMap" : "deletes the worker";
    return me_.unsent == 0 ? Conclude(said) : said;
  }

  // A delete arrives. False: it wasn't accepted, as far as this process knows.
  bool Deletes(std::uint8_t object) {
    if (world_.api_fails) return false;
    const bool is_worker = object == kWorker0 || object == kWorker1;
    Thing& thing = is_worker ? world_.worker : object == kConfig ? world_.config : world_.root;
    const bool is_it = thing.presence != Presence::kGone &&
                       (!is_worker || thing.generation == (object == kWorker0 ? 0 : 1));
    if (is_it) {
      Check(object);
      thing.presence =
          is_worker && world_.worker_finalizer ? Presence::kTerminating : Presence::kGone;
      world_.is_begun = true;
    }
    if (is_lost_) return false;
    me_.accepted |= object;
    return true;
  }

  // What must not happen when a delete arrives.
  void Check(std::uint8_t object) {
    const bool is_used = world_.driver != Driver::kAbsent || world_.hold;
    const Age seen_by = me_.accepted == 0 ? kOld : kVeryOld;
    if (!IsAsked() && is_used && world_.used_for >= seen_by && !me_.goes_on) {
      broken_ = "something is deleted of a cluster that is in use";
    }
    if (!IsAsked() && world_.keep && world_.kept_for >= kOld) {
      broken_ = "something is deleted of a cluster whose root is to be kept";
    }
    const bool is_root = object == kRootObject;
    if (!is_root && world_.root.presence == Presence::kGone && world_.root_gone_for >= kOld) {
      broken_ = "something is deleted behind the root's end";
    }
    const bool takes_along = object == kWorker0 && world_.is_kept_owned;
    // Past the deadline a kind that fails is treated as one that may not be read.
    const bool is_blind = me_.blind == 2 && !me_.holds_back;
    if (takes_along && !is_blind && world_.kept.presence != Presence::kGone) {
      broken_ = "what is to be kept goes with its owner";
    }
    const bool is_worker_there = world_.worker.presence == Presence::kThere &&
                                 world_.worker.generation == 0 && !world_.is_kept_owned;
    if (is_root && (world_.config.presence != Presence::kGone || is_worker_there) && !IsLate()) {
      broken_ = "the root goes before a member";
    }
  }

  std::string Conclude(const std::string& said) {
    Pass pass = MakePass(false);
    const PassEnd members = ConcludePass(pass.view, pass.memory, pass.sent, pass.terms);
    if (!members.is_over) {
      NextPass();
      return said;
    }
    if (Length(me_.look_age) >= LookLasts()) return said + ", " + End(DeletionEnd::kStale);
    pass.terms.with_root = true;
    const PassPlan plan = PlanPass(pass.view, pass.memory, pass.sent, pass.terms);
    if (plan.root_stays != nullptr) return said + ", " + End(DeletionEnd::kRootMustStay);
    const PassEnd end = ConcludePass(pass.view, pass.memory, pass.sent, pass.terms);
    if (!end.last.empty()) {
      me_.stage = Stage::kLast;
    } else if (end.root) {
      me_.stage = Stage::kRoot;
    } else {
      NextPass();
    }
    return said;
  }

  std::string SendLast() {
    if (!MaySendNow()) {
      NextPass();
      return "may send nothing more";
    }
    if (Deletes(kConfig) && !me_.is_view_old) {
      me_.stage = Stage::kRoot;
    } else {
      NextPass();
    }
    return "deletes what the master mounts";
  }

  std::string SendRoot() {
    if (!MaySendNow() || !me_.is_root_fresh) {
      NextPass();
      return "can't delete the root as it has read it";
    }
    if (Deletes(kRootObject)) {
      me_.stage = Stage::kAwaits;
    } else {
      NextPass();
    }
    return "deletes the root";
  }

  World& world_;
  std::array<Process, kProcesses>& all_;
  Process& me_;
  const int number_;
  const bool is_lost_;
  std::string& broken_;
};

}  // namespace

std::string Step(State& state, int process, bool is_lost, std::string& broken) {
  return Stepper(state, process, is_lost, broken).Run();
}

bool Writes(const State& state, int process) {
  switch (state.processes[static_cast<std::size_t>(process)].stage) {
    case Stage::kLooked:
    case Stage::kConfirmed:
    case Stage::kSends:
    case Stage::kLast:
    case Stage::kRoot:
      return true;
    case Stage::kDown:
    case Stage::kIdle:
    case Stage::kCondemned:
    case Stage::kWaits:
    case Stage::kBegun:
    case Stage::kListed:
    case Stage::kAwaits:
    case Stage::kDone:
      break;
  }
  return false;
}

}  // namespace explore
}  // namespace cluster_watcher
