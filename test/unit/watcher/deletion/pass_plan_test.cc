#include "watcher/deletion/pass_plan.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "test/unit/support/objects.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;
using Names = std::vector<std::string>;

KubeObject PlanObject(const char* type, const std::string& name, const std::string& above = "") {
  KubeObject object{TypeOf(type), {}};
  object.meta.name = object.meta.uid = name;
  if (!above.empty())
    object.meta.common.Edit().owner_references = {{"v1", "Any", above, above, true}};
  return object;
}

// A cluster of a worker, its pod, a Service, and a claim that is mounted by the master.
struct World {
  PassView view;
  DeletionMemory memory;
  SentDeletes sent;
  PassTerms terms;

  World() {
    memory.root_uid = "root";
    memory.volumes = Volumes::kDelete;
    memory.mounted = {{*FindBuiltInByName("configmaps", ""), "conf"}};
    KubeObjects objects;
    objects.push_back(PlanObject("deployments.apps", "worker"));
    objects.push_back(PlanObject("pods", "worker-1", "worker"));
    objects.push_back(PlanObject("services", "ui"));
    objects.push_back(PlanObject("configmaps", "conf"));
    view.members = SortMembers(std::move(objects), memory);
    view.complete = true;
    terms.now = MonotonicTime(seconds(100));
    terms.is_root_read = terms.may_begin = true;
  }
  KubeObject& Find(const std::string& name) {
    for (auto* group : {&view.members.to_delete, &view.members.leftovers, &view.members.last}) {
      for (KubeObject& object : *group) {
        if (object.meta.name == name) return object;
      }
    }
    ADD_FAILURE() << name;
    return view.members.last.front();
  }
  void Accept(const std::string& uid, int ago = 0) {
    sent.accepted_at[Uid(uid)] = terms.now - seconds(ago);
    sent.any_accepted = true;
  }
  // All but what goes last is gone.
  void Empty() {
    view.members.to_delete.clear();
    view.members.leftovers.clear();
  }
  void HoldBack(const std::string& uid, bool may_pass) {
    view.survivors.held_back[uid] = {"it must stay", may_pass};
  }
  Names Due() const {
    Names names;
    for (const auto* one : PlanPass(view, memory, sent, terms).due) names.push_back(one->meta.name);
    return names;
  }
  bool MustRootStay() const { return PlanPass(view, memory, sent, terms).root_stays != nullptr; }
  PassEnd End() const { return ConcludePass(view, memory, sent, terms); }
};

struct DueCase {
  const char* what;
  std::function<void(World&)> change;
  Names due;
};

TEST(PassPlan, WhatIsDue) {
  const std::vector<DueCase> cases = {
      {"controllers first; what they control is the garbage collector's",
       [](World&) {},
       {"worker", "ui"}},
      {"what terminates is waited for",
       [](World& w) { w.Find("ui").meta.deleting = true; },
       {"worker"}},
      {"what must stay isn't sent, nor what it controls",
       [](World& w) {
         w.HoldBack("worker", true);
         w.terms.late = true;
       },
       {"ui"}},
      {"what a controller left is sent after a while",
       [](World& w) {
         w.Accept("worker", 1);
         w.Find("worker").meta.deleting = true;
       },
       {"ui", "worker-1"}},
      {"and not at once",
       [](World& w) {
         w.Accept("worker");
         w.Find("worker").meta.deleting = true;
       },
       {"ui"}},
      {"past the deadline all of it",
       [](World& w) { w.terms.late = true; },
       {"worker", "ui", "worker-1"}},
      {"but for what a forbidden one would make again",
       [](World& w) {
         w.terms.late = true;
         w.sent.forbidden.emplace(Uid("worker"), "");
       },
       {"worker", "ui"}},
      {"nothing while a kind could not be listed",
       [](World& w) {
         w.view.complete = false;
         w.view.failed = {"pods: timed out"};
       },
       {}},
      {"past the deadline neither, if it failed once",
       [](World& w) {
         w.view.complete = false;
         w.view.failed = {"pods: timed out"};
         w.terms.late = true;
         w.terms.blind_passes = 1;
       },
       {}},
      {"if it failed twice it is treated as forbidden",
       [](World& w) {
         w.view.complete = false;
         w.view.failed = {"pods: timed out"};
         w.terms.late = true;
         w.terms.blind_passes = 2;
       },
       {"worker", "ui", "worker-1"}},
      {"nothing while it isn't known what must survive",
       [](World& w) {
         w.view.survivors.unknown = ApiError{ApiFailure::kServer, "503", std::nullopt};
         w.terms.late = true;
       },
       {}},
      {"of an old list what hardly owns anything", [](World& w) { w.view.is_old = true; }, {"ui"}},
      {"past the deadline all of it too",
       [](World& w) { w.view.is_old = w.terms.late = true; },
       {"worker", "ui", "worker-1"}},
      {"nothing where the root may have to stay and all is whole",
       [](World& w) { w.HoldBack("root", true); },
       {}},
      {"what is there where it isn't whole any more",
       [](World& w) {
         w.HoldBack("root", true);
         w.sent.any_accepted = true;
       },
       {"worker", "ui"}},
      {"nothing before it is known what there is", [](World& w) { w.terms.may_begin = false; }, {}},
  };
  for (const DueCase& one : cases) {
    SCOPED_TRACE(one.what);
    World world;
    one.change(world);
    EXPECT_EQ(world.Due(), one.due);
    EXPECT_FALSE(world.MustRootStay());
  }
}

TEST(PassPlan, TheRootMustStayBeforeAnythingIsDeleted) {
  World world;
  world.HoldBack("root", false);
  EXPECT_TRUE(world.MustRootStay());
  world.sent.any_accepted = true;
  EXPECT_FALSE(world.MustRootStay()) << "what was begun goes on, but for the root";
  world.terms.late = true;
  EXPECT_FALSE(world.MustRootStay());
  world.terms.with_root = true;
  EXPECT_TRUE(world.MustRootStay());
}

struct EndCase {
  const char* what;
  std::function<void(World&)> change;
  bool is_over;
  bool root;
};

TEST(PassPlan, WhenItIsOver) {
  const std::vector<EndCase> cases = {
      {"members are left", [](World&) {}, false, false},
      {"none is left", [](World& w) { w.Empty(); }, true, true},
      {"none is left, by an incomplete list",
       [](World& w) {
         w.Empty();
         w.view.complete = false;
       },
       false, false},
      {"none is left, and the root could not be read",
       [](World& w) {
         w.Empty();
         w.terms.is_root_read = false;
       },
       false, false},
      {"an old list shows the end only while all is whole",
       [](World& w) {
         w.Empty();
         w.view.is_old = w.sent.any_accepted = true;
       },
       false, false},
      {"what goes last is sent on an old list, and the root waits for another",
       [](World& w) {
         w.Empty();
         w.view.is_old = true;
       },
       true, false},
      {"which it needn't where that may not be deleted",
       [](World& w) {
         w.Empty();
         w.view.is_old = true;
         w.sent.forbidden.emplace(Uid("conf"), "");
       },
       true, true},
      {"the root would take along what stays",
       [](World& w) {
         w.Empty();
         w.HoldBack("root", true);
         w.sent.any_accepted = true;
       },
       true, false},
      {"all terminates, which is waited for",
       [](World& w) {
         for (const char* name : {"worker", "worker-1", "ui"}) w.Find(name).meta.deleting = true;
       },
       false, false},
      {"which nobody waits for",
       [](World& w) {
         for (const char* name : {"worker", "worker-1", "ui"}) w.Find(name).meta.deleting = true;
         w.terms.terminating_is_gone = true;
       },
       true, true},
      {"past the deadline all of it was sent",
       [](World& w) {
         w.terms.late = true;
         for (const char* name : {"worker", "worker-1", "ui"}) w.Accept(name);
       },
       true, true},
      {"or may not be deleted",
       [](World& w) {
         w.terms.late = true;
         w.sent.forbidden = {{Uid("worker"), ""}, {Uid("ui"), ""}};
       },
       true, true},
      {"before the deadline that is waited for",
       [](World& w) {
         w.sent.forbidden = {{Uid("worker"), ""}, {Uid("ui"), ""}};
       },
       false, false},
  };
  for (const EndCase& one : cases) {
    SCOPED_TRACE(one.what);
    World world;
    world.terms.with_root = true;
    one.change(world);
    const PassEnd end = world.End();
    EXPECT_EQ(end.is_over, one.is_over);
    EXPECT_EQ(end.root, one.root);
  }
}

TEST(PassPlan, HowLongALookLasts) {
  SentDeletes sent;
  EXPECT_EQ(LookLasts(sent, "root"), kFreshEvidence);
  sent.accepted_at.emplace("worker", MonotonicTime{});
  sent.any_accepted = true;
  EXPECT_EQ(LookLasts(sent, "root"), std::chrono::minutes(1));
  sent.unanswered.emplace("root");
  EXPECT_EQ(LookLasts(sent, "root"), std::chrono::minutes(1));
  sent.accepted_at.emplace("root", MonotonicTime{});
  EXPECT_EQ(LookLasts(sent, "root"), Duration::max());
}

// A list with gaps may lack what says that a claim's StatefulSet stays.
TEST(PassPlan, ClaimsAreMarkedForCollectionOnceSomethingIsDeletedAndAllIsKnown) {
  World world;
  EXPECT_FALSE(world.End().collects);
  world.sent.any_accepted = true;
  EXPECT_TRUE(world.End().collects);
  world.view.complete = false;
  EXPECT_FALSE(world.End().collects);
}

TEST(PassPlan, WhatIsToGoLastAndIsHeldBackIsNamed) {
  PassView view;
  view.members.last.push_back(KubeObject{*FindBuiltInByName("configmaps", ""), {}});
  view.members.last.front().meta.uid = view.members.last.front().meta.name = "conf";
  EXPECT_TRUE(NamesOfLeft(view, {}, {}, true).empty());
  view.survivors.held_back["conf"] = {"kept would go with it", false};
  EXPECT_EQ(NamesOfLeft(view, {}, {}, false),
            std::vector<std::string>{"configmap/conf: kept would go with it"});
}

TEST(PassPlan, WhatIsNotGoneByTheDeadlineIsNamedWithWhatIsKnownOfIt) {
  World world;
  world.Find("worker").meta.deleting = true;
  world.Find("worker").meta.held_by.names = "example.com/a, example.com/b";
  world.Find("worker-1").meta.deleting = true;
  world.sent.failed[Uid("ui")] = "delete services \"ui\": HTTP 500";
  EXPECT_EQ(NamesOfLeft(world.view, world.memory, world.sent, true),
            (Names{"deployment.apps/worker: not gone by the deadline, held by the finalizer "
                   "example.com/a, example.com/b",
                   "service/ui: not gone by the deadline: delete services \"ui\": HTTP 500",
                   "pod/worker-1: not gone by the deadline, terminating"}));
  EXPECT_TRUE(NamesOfLeft(world.view, world.memory, world.sent, false).empty());
  world.sent.failed[Uid("conf")] = "HTTP 503";
  EXPECT_EQ(NamesOfLeft(world.view, world.memory, world.sent, true).back(),
            "configmap/conf: not gone by the deadline: HTTP 503");
}

TEST(PassPlan, WhatEndsItByTheRoot) {
  const ClusterId cluster{"lab", DefaultProfile(), "spark"};
  const WatcherId me{"m", "1"};
  ObjectMeta root;
  root.uid = "root";
  auto& annotations = root.common.Edit().annotations;
  annotations[annotation::kRootUid] = "root";
  annotations[annotation::kPhase] = "deleting";
  annotations[annotation::kCondemnedBy] = me.ToText();
  const auto why = [&](RootState state, bool is_asked = false) {
    return WhyEndedBy(state, root, {cluster, me, is_asked});
  };
  EXPECT_EQ(why(RootState::kOurs), std::nullopt);
  EXPECT_EQ(why(RootState::kUnknown), std::nullopt);
  EXPECT_EQ(why(RootState::kGone), DeletionEnd::kRootGone);
  EXPECT_EQ(why(RootState::kReplaced), DeletionEnd::kReplaced);
  annotations[annotation::kKeep] = "true";
  EXPECT_EQ(why(RootState::kTerminating), DeletionEnd::kKept);
  EXPECT_EQ(why(RootState::kTerminating, true), std::nullopt);
  annotations[annotation::kCondemnedBy] = "other/2";
  EXPECT_EQ(why(RootState::kOurs), DeletionEnd::kOvertaken);
  annotations[annotation::kPhase] = "condemned";
  EXPECT_EQ(why(RootState::kOurs), DeletionEnd::kCalledOff);
  annotations[annotation::kPhase] = "deleting";
  root.common.Edit().labels["oshinko-cluster"] = "other";
  EXPECT_EQ(why(RootState::kOurs), DeletionEnd::kCalledOff);
}

}  // namespace
}  // namespace cluster_watcher
