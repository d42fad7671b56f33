// Kills the watcher at every request of a whole deletion, before or after the API server handles
// it, and restarts it: the deletion is finished, unless the driver is back by then.
#include <signal.h>

#include <algorithm>

#include "test/integration/fixture.h"
#include "test/integration/proxy.h"

namespace cluster_watcher::integration {
namespace {

// The request, counted from the condemning write, at which the watcher is killed.
struct Stroke {
  int request = 0;        // from 1; 0: never
  bool answered = false;  // kill after the API server has handled it, not before
};

std::ostream& operator<<(std::ostream& out, const Stroke& stroke) {
  return out << (stroke.answered ? "after" : "before") << " request " << stroke.request;
}

// Kills the process behind a proxy at the stroke, once it knows the process.
class Executioner {
 public:
  explicit Executioner(Stroke stroke) : stroke_(stroke) {}

  void SetVictim(pid_t pid) { pid_ = pid; }
  bool HasStruck() const { return struck_; }
  const std::string& Where() const { return where_; }  // the request it struck at
  int FirstRequest() const { return first_; }  // the condemning write's number; 0: not seen yet

  // A Proxy::Gate.
  bool LetThrough(const Passage& passage) {
    if (first_ == 0 && IsCondemnation(passage)) first_ = passage.number;
    if (first_ == 0 || passage.number < first_) return true;
    const bool is_due =
        passage.number - first_ + 1 == stroke_.request && passage.answered == stroke_.answered;
    if (!is_due) return true;
    where_ = passage.request_line;
    pid_.wait(0);
    kill(pid_, SIGKILL);
    struck_ = true;
    return false;
  }

 private:
  static bool IsCondemnation(const Passage& passage) {
    return passage.request_line.starts_with("PATCH ") &&
           passage.body.find(R"("cluster-watcher/phase":"condemned")") != std::string::npos;
  }

  const Stroke stroke_;
  std::string where_;
  std::atomic<pid_t> pid_{0};
  std::atomic<int> first_{0};
  std::atomic<bool> struck_{false};
};

class KillEverywhere : public IntegrationTest {
 protected:
  // A cluster in its own namespace, the watcher that is killed and the one that follows.
  struct Life {
    explicit Life(Stroke at) : stroke(at), executioner(at) {}
    const Stroke stroke;
    Executioner executioner;
    std::string ns;
    std::string files;
    std::string pod;
    std::string claim_uid;
    std::unique_ptr<Proxy> proxy;
    std::unique_ptr<Proxy> steps;
    std::unique_ptr<Watcher> killed;
    std::unique_ptr<Watcher> next;
  };
  using Lives = std::vector<std::unique_ptr<Life>>;

  static constexpr char kClaim[] = "data-spark-s-0";

  // Uses every part of a deletion: steps before and after, a member that the master mounts, and a
  // StatefulSet that would take its claims along.
  void MakeLife(Life& life) {
    EnterNamespace();
    life.ns = ns_;
    life.files = File("");
    life.steps = std::make_unique<Proxy>(server().Admin());
    life.steps->LieAbout(" /", Lie::Answer(200, ""));
    const auto step = [&](const std::string& name) {
      return R"([{"name": ")" + name + R"(", "http": {"url": ")" + life.steps->Address().url + "/" +
             name + R"("}}])";
    };
    MakeCluster(
        {.pod_annotations = {{"cluster-watcher/before-delete", step("drain")},
                             {"cluster-watcher/after-delete", step("report")}},
         .pod_spec = R"("volumes": [{"name": "x", "configMap": {"name": "spark-config"}}], )"});
    api().Create(
        "statefulsets", ns_,
        StatefulSetWithClaimsOf({Labelled("spark-s", "worker"), 1, Labelled("", "worker").labels}));
    MakeDriver();
    life.proxy = std::make_unique<Proxy>(server().Admin());
    life.proxy->SetGate([&life](const Passage& p) { return life.executioner.LetThrough(p); });
  }

  std::unique_ptr<Watcher> StartWatcher(const Life& life, const ApiServer& by_way_of,
                                        const std::string& name) {
    const std::string token = "token: \"" + server().Admin().token + "\"";
    return std::make_unique<Watcher>(
        std::vector<std::string>{
            kubernetes->GetOptions().binary, "watch",
            "--kubeconfig=" + WriteKubeconfig(life.files + name + "-kubeconfig", by_way_of, token),
            "--listen=127.0.0.1:0", "--owner=deployment/bob", "--poll-interval=100ms",
            "--confirmations=1", "--grace-period=0s", "--startup-grace=0s", "--concurrency=3"},
        std::vector<std::string>{"POD_NAMESPACE=" + life.ns, "POD_NAME=" + life.pod},
        life.files + name);
  }

  // Starts a life for each stroke and waits until each driver has been seen.
  Lives Begin(const std::vector<Stroke>& strokes) {
    Lives lives;
    for (const Stroke& stroke : strokes)
      MakeLife(*lives.emplace_back(std::make_unique<Life>(stroke)));
    for (auto& life : lives) {
      ns_ = life->ns;
      life->pod = MasterPod();
      EXPECT_TRUE(Eventually([&] {
        const auto claim = api().Get("persistentvolumeclaims", ns_, kClaim);
        return claim && claim->root()["metadata"]["ownerReferences"].size() == 1;
      }));
      life->claim_uid = api().Uid("persistentvolumeclaims", ns_, kClaim);
      life->killed = StartWatcher(*life, life->proxy->Address(), "killed");
      life->executioner.SetVictim(life->killed->Pid());
    }
    for (auto& life : lives) {
      ns_ = life->ns;
      EXPECT_TRUE(Eventually([&] { return !OwnerMark("uid").empty(); })) << life->killed->Log();
    }
    return lives;
  }

  // Deletes the drivers and waits until each watcher is killed, or done if its deletion took fewer
  // requests.
  void KillThemAll(Lives& lives) {
    for (auto& life : lives) api().Delete("deployments", life->ns, "bob");
    for (auto& life : lives) {
      EXPECT_TRUE(Eventually([&] {
        return life->executioner.HasStruck() || life->killed->Phase() == "done";
      })) << life->killed->Log();
      if (!life->executioner.HasStruck()) continue;
      EXPECT_EQ(life->killed->WaitForExit(), -SIGKILL);
    }
  }

  // Only the bystanders carry annotations of ours.
  testing::AssertionResult HasNoStrayMarks() {
    for (const char* plural : {"configmaps", "services", "deployments", "persistentvolumeclaims"}) {
      const JsonDocument list = api().Expect(HttpMethod::kGet, PathOf(plural, ns_));
      for (const JsonValue object : list.root()["items"].Elements()) {
        const std::string annotations = object["metadata"]["annotations"].ToText();
        if (annotations.find("cluster-watcher/") == std::string::npos ||
            annotations.find("cluster-watcher/keep") != std::string::npos) {
          continue;
        }
        return testing::AssertionFailure() << plural << " " << annotations;
      }
    }
    return testing::AssertionSuccess();
  }

  static bool IsOver(Life& life) {
    Watcher& last = life.next ? *life.next : *life.killed;
    return !last.IsRunning() || last.Phase() == "done";
  }
  // Whether the next watcher keeps what there is of the cluster, without marks.
  bool IsSpared(Life& life) {
    return life.next && life.next->Phase() == "watching" &&
           life.next->LinesWith("keep: active") > 0 &&
           !api().Uid("deployments", ns_, kMaster).empty() && Mark("phase").empty();
  }

  // The next watcher exits by itself if its pod is already gone.
  void ExpectFinished(Life& life) {
    EXPECT_TRUE(Eventually([&] { return IsOver(life); }));
    EXPECT_TRUE(IsGone());
    EXPECT_TRUE(HasNoStrayMarks());
    EXPECT_EQ(api().Uid("persistentvolumeclaims", ns_, kClaim), life.claim_uid);
    // A watcher killed before it could mark a step as done makes the next one repeat it.
    for (const char* step : {"POST /drain", "POST /report"}) {
      const auto asked = life.steps->LiedTo();
      const auto times = std::count_if(asked.begin(), asked.end(), [&](const Passage& passage) {
        return passage.request_line == step;
      });
      EXPECT_GE(times, 1) << step;
      EXPECT_LE(times, 2) << step;
    }
  }

  void ExpectSpared(Life& life) {
    EXPECT_TRUE(Shows(*life.next, "keep: active"));
    EXPECT_EQ(Mark("condemned-by") + Mark("deleting-since"), "");
    const double polls = life.next->Polls();
    EXPECT_TRUE(Eventually([&] { return life.next->Polls() >= polls + 3; }));
    EXPECT_EQ(life.next->Phase(), "watching");
    EXPECT_EQ(life.next->Metric("cluster_watcher_deletes_total"), 0);
  }

  void StartAgain(Life& life) { life.next = StartWatcher(life, server().Admin(), "next"); }

  void TellFailure(const Life& life) {
    std::cout << "--- killed " << life.stroke << ", " << life.executioner.Where() << "\n"
              << life.killed->Log() << "--- the next one\n"
              << (life.next ? life.next->Log() : "") << "---\n";
  }

  static int RequestsOf(const Life& life) {
    return life.proxy->RequestsPassedOn() - life.executioner.FirstRequest() + 1;
  }

  // Returns the number of requests in an uninterrupted deletion.
  int CountRequests() {
    Lives lives = Begin({Stroke{}});
    Life& life = *lives.front();
    KillThemAll(lives);
    ExpectFinished(life);
    EXPECT_EQ(Told("ClusterDeleted").size(), 1u);
    const int count = RequestsOf(life);
    life.killed->Stop(SIGKILL);
    LeaveNamespaces();
    return count;
  }

  // Every `stride`th request up to the last, before and after. A real API server and sanitizers are
  // slow, so they get fewer.
  std::vector<Stroke> Strokes(int stride, int long_stride) {
    const int last = CountRequests();
    RecordProperty("requests", last);
    EXPECT_GT(last, 40);
    std::vector<Stroke> strokes;
    const bool few = kubernetes->GetOptions().real || IsSanitized();
    for (int request = 1; request <= last; request += few ? long_stride : stride) {
      for (const bool answered : {false, true}) {
        // With few strokes, alternates between before and after.
        if (few && answered != (strokes.size() % 2 == 1)) continue;
        strokes.push_back({request, answered});
      }
    }
    return strokes;
  }

  // Kills at each stroke, several clusters side by side. `and_then` starts the next watcher and
  // returns what to expect of it.
  template <typename AndThen>
  void KillAt(const std::vector<Stroke>& strokes, AndThen and_then) {
    std::size_t struck = 0;
    for (std::size_t first = 0; first < strokes.size() && !HasFailure(); first += kSideBySide) {
      const std::size_t end = std::min(strokes.size(), first + kSideBySide);
      Lives lives = Begin({strokes.begin() + static_cast<std::ptrdiff_t>(first),
                           strokes.begin() + static_cast<std::ptrdiff_t>(end)});
      KillThemAll(lives);
      std::vector<std::function<void()>> expectations;
      for (auto& life : lives) {
        if (life->executioner.HasStruck()) {
          ++struck;
        } else {
          EXPECT_LE(RequestsOf(*life), life->stroke.request) << "it was not killed";
        }
        ns_ = life->ns;
        expectations.push_back(and_then(*life));
      }
      for (std::size_t i = 0; i < lives.size(); ++i) {
        ns_ = lives[i]->ns;
        expectations[i]();
        if (HasFailure()) {
          TellFailure(*lives[i]);
          break;
        }
      }
      lives.clear();
      LeaveNamespaces();
    }
    // The number of requests varies: a deletion polls while it waits.
    if (HasFailure()) return;
    EXPECT_GE(struck * 2, strokes.size());
  }

  static constexpr std::size_t kSideBySide = 10;
};

TEST_F(KillEverywhere, TheNextWatcherFinishesTheDeletion) {
  KillAt(Strokes(1, 9), [this](Life& life) -> std::function<void()> {
    if (life.executioner.HasStruck()) StartAgain(life);
    return [this, &life] { ExpectFinished(life); };
  });
}

TEST_F(KillEverywhere, ADriverThatComesBackKeepsWhatIsLeftOrFindsItGone) {
  KillAt(Strokes(2, 17), [this](Life& life) -> std::function<void()> {
    MakeDriver();
    const std::string uid = api().Uid("deployments", ns_, "bob");
    if (life.executioner.HasStruck()) StartAgain(life);
    return [this, &life, uid] {
      EXPECT_TRUE(Eventually([&] { return IsSpared(life) || IsOver(life); }));
      IsSpared(life) ? ExpectSpared(life) : ExpectFinished(life);
      EXPECT_EQ(api().Uid("deployments", ns_, "bob"), uid);
    };
  });
}

}  // namespace
}  // namespace cluster_watcher::integration
