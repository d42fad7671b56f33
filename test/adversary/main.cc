// The adversary: an API server that gives true, false and no answers, a million times. Whatever it
// says, an owner may be found absent only on evidence, and a cluster abandoned for that only if the
// same look has read its master root. Runs from a seed; a failure prints the answers.
//
//   adversary [ANSWERS [SEED]]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "probes/base/json.h"
#include "probes/owner_probe.h"
#include "test/adversary/evidence.h"
#include "test/adversary/liar.h"
#include "test/small_kubernetes/local_transport.h"
#include "watcher/decision/rules.h"
#include "watcher/observation/observer.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher::adversary {
namespace {

constexpr unsigned kLieOnceIn = 3;

class StillClock final : public Clock {
 public:
  MonotonicTime Now() override { return MonotonicTime(std::chrono::hours(1)); }
  WallTime WallNow() override { return WallTime(std::chrono::hours(500'000)); }
  bool WaitUntil(MonotonicTime, std::stop_token) override { return true; }
};

// An owner to look for, and the objects whose absence must be proved.
struct Owner {
  const char* written;
  const char* ns;
  bool exists;
  std::vector<Sought> sought;
};

Sought Seek(const char* kind_name, const char* ns, const char* name) {
  const ResourceType* known = FindBuiltInByName(kind_name, "");
  const ResourceType type =
      known != nullptr ? *known : ResourceType{"example.com", "v1", "gizmos", "Gizmo"};
  return {type.CollectionPath(ns), type.ApiVersion(), type.kind, type.plural, type.group, name,
          known == nullptr};
}

std::vector<Owner> AllOwners() {
  const auto bare = [](const char* name) {
    std::vector<Sought> sought;
    for (const char* kind : {"rc", "deployment", "sts", "job"}) {
      sought.push_back(Seek(kind, "lab", name));
    }
    return sought;
  };
  return {
      {"deployment/bob", "lab", true, {Seek("deployment", "lab", "bob")}},
      {"deployment/gone", "lab", false, {Seek("deployment", "lab", "gone")}},
      {"bob", "lab", true, bare("bob")},
      {"gone", "lab", false, bare("gone")},
      {"job/jim", "lab", true, {Seek("job", "lab", "jim")}},
      {"cronjob/gone", "lab", false, {Seek("cronjob", "lab", "gone")}},
      {"pod/lone", "lab", true, {Seek("pod", "lab", "lone")}},
      {"gizmo.example.com/giz", "lab", true, {Seek("gizmo", "lab", "giz")}},
      {"gizmo.example.com/gil", "lab", true, {Seek("gizmo", "lab", "gil")}},
      {"gizmo.example.com/gone", "lab", false, {Seek("gizmo", "lab", "gone")}},
      {"deployment/dan", "drivers", true, {Seek("deployment", "drivers", "dan")}},
      {"deployment/gone", "drivers", false, {Seek("deployment", "drivers", "gone")}},
      {"deployment/gone", "nowhere", true, {Seek("deployment", "nowhere", "gone")}},
  };
}

// The true state: drivers, and a cluster of its own.
class World {
 public:
  explicit World(std::uint64_t seed)
      : kubernetes_(clock_), truth_(kubernetes_, clock_), liar_(truth_, seed) {
    kubernetes_.log_requests = false;
    kubernetes_.SetPodsRun(true);
    small_kubernetes::Resource gizmos;
    gizmos.group = "example.com";
    gizmos.version = "v1";
    gizmos.plural = "gizmos";
    gizmos.kind = "Gizmo";
    gizmos.has_scale = true;
    kubernetes_.AddKind(gizmos);
    for (const char* ns : {"lab", "drivers"}) {
      Apply(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + std::string(ns) +
            "\"}}");
    }
    Apply(Deployment("bob", "lab", ""));
    Apply(Deployment("dan", "drivers", ""));
    Apply(Deployment("spark-m", "lab", R"("oshinko-cluster":"spark","oshinko-type":"master",)"));
    Apply(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"jim","namespace":"lab"},)"
          R"("spec":{"template":{"spec":{"restartPolicy":"Never","containers":[]}}}})");
    Apply(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"lone","namespace":"lab"},)"
          R"("spec":{"containers":[]}})");
    for (const char* gizmo : {"giz", "gil"}) {
      Apply(R"({"apiVersion":"example.com/v1","kind":"Gizmo","metadata":{"name":")" +
            std::string(gizmo) + R"(","namespace":"lab"},"spec":{"replicas":1}})");
    }
    kubernetes_.Settle();
    const auto answer = kubernetes_.Admin(
        "GET", "/api/v1/namespaces/lab/pods?labelSelector=oshinko-cluster%3Dspark");
    const auto pods = JsonDocument::Parse(answer.body);
    pod_ = pods->root()["items"].At(0)["metadata"]["name"].AsString().value_or("");
    const auto root = JsonDocument::Parse(kubernetes_.Admin("GET", kRoot).body);
    root_uid_ = root->root()["metadata"]["uid"].AsString().value_or("");
    if (pod_.empty() || root_uid_.empty()) {
      std::printf("the world could not be made: %s\n", answer.body.c_str());
      std::exit(1);
    }
  }

  static constexpr const char* kRoot = "/apis/apps/v1/namespaces/lab/deployments/spark-m";

  Clock& clock() { return clock_; }
  Liar& liar() { return liar_; }
  KubeClient& client() { return client_; }
  const std::string& pod() const { return pod_; }
  const std::string& root_uid() const { return root_uid_; }

 private:
  static std::string Deployment(const std::string& name, const std::string& ns,
                                const std::string& labels) {
    const std::string all = "{" + labels + R"("app":")" + name + "\"}";
    return R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":")" + name +
           R"(","namespace":")" + ns + R"(","labels":)" + all +
           R"(},"spec":{"replicas":1,"selector":{"matchLabels":{"app":")" + name +
           R"("}},"template":{"metadata":{"labels":)" + all + R"(},"spec":{"containers":[]}}}})";
  }

  void Apply(const std::string& json) {
    const auto response = kubernetes_.Apply(json);
    if (response.status > 299) {
      std::printf("%s: %s\n", json.c_str(), response.body.c_str());
      std::exit(1);
    }
  }

  StillClock clock_;
  small_kubernetes::SmallKubernetes kubernetes_;
  small_kubernetes::LocalTransport truth_;
  Liar liar_;
  ApiServer server_ = [] {
    ApiServer server;
    server.token = small_kubernetes::SmallKubernetes::kAdminToken;
    return server;
  }();
  TokenSource tokens_{server_, clock_};
  KubeClient client_{liar_, tokens_, [](const RequestRecord&) {}};
  std::string pod_;
  std::string root_uid_;
};

// The result of one part.
struct Tally {
  const char* part;
  std::uint64_t looks = 0;
  std::uint64_t absent = 0;        // owners that really don't exist
  std::uint64_t false_absent = 0;  // existing owners, by answers indistinguishable from true ones
  bool failed = false;
};

bool IsAbsentByEvidence(const Owner& owner, bool namespace_counts, Liar& liar) {
  for (const Sought& sought : owner.sought) {
    if (!HasEvidence(sought, liar.Heard())) return false;
  }
  const std::string ns = owner.ns;
  return !namespace_counts || ns == "lab" ||
         HasObject("/api/v1/namespaces/" + ns, "name", ns, liar.Heard());
}

void Accuse(Tally& tally, const Owner& owner, const std::string& detail, Liar& liar) {
  tally.failed = true;
  std::printf("%s: %s in %s was found absent without evidence: %s\n", tally.part, owner.written,
              owner.ns, detail.c_str());
  for (const Exchange& one : liar.Heard()) {
    std::printf("  %s %s\n    %s\n", ToString(one.request.method), one.request.target.c_str(),
                one.answer ? (std::to_string(one.answer->status) + " " + one.answer->content_type +
                              " " + one.answer->body)
                                 .c_str()
                           : one.answer.error().message.c_str());
  }
}

// Tries the probes alone; each look starts from nothing.
Tally TryProbes(World& world, std::uint64_t answers) {
  Tally tally{"probes"};
  const std::vector<Owner> owners = AllOwners();
  Liar& liar = world.liar();
  Discovery discovery(world.client());
  OwnerProbe probe(world.client(), discovery);
  liar.LieOnceIn(kLieOnceIn);
  const std::uint64_t end = liar.Answers() + answers;
  while (liar.Answers() < end && !tally.failed) {
    const Owner& owner = owners[tally.looks++ % owners.size()];
    liar.Heard().clear();
    liar.RefuseListsByName(tally.looks / owners.size() % 4 == 0);
    if (!discovery.Refresh({})) continue;
    OwnerQuery query;
    query.name = *OwnerName::Parse(owner.written);
    query.ns = owner.ns;
    query.home_ns = "lab";
    const OwnerSight sight = probe.Look(query, Freshness::kConsistent, {});
    if (sight.observation != Observation::kAbsent) continue;
    ++(owner.exists ? tally.false_absent : tally.absent);
    if (!IsAbsentByEvidence(owner, true, liar)) Accuse(tally, owner, sight.detail, liar);
  }
  return tally;
}

// Tries whole looks and the rules. The first look of each watcher is undisturbed.
Tally TryRules(World& world, std::uint64_t answers) {
  Tally tally{"rules"};
  const std::vector<Owner> owners = AllOwners();
  Liar& liar = world.liar();
  const std::uint64_t end = liar.Answers() + answers;
  for (std::size_t watcher = 0; liar.Answers() < end && !tally.failed; ++watcher) {
    const Owner& owner = owners[watcher % owners.size()];
    const auto settle = [&](const TextMap& annotations) {
      return ResolveSettings(
          {{"owner", owner.written},
           {"owner-namespace", owner.ns},
           {"namespace", "lab"},
           {"pod", world.pod()}},
          [](const std::string&) { return std::nullopt; }, annotations);
    };
    SettingsInForce settings(settle({}), settle);
    Discovery discovery(world.client());
    Observer observer(world.client(), discovery, world.clock(), settings);
    liar.LieOnceIn(0);
    liar.RefuseListsByName(watcher / owners.size() % 4 == 0);
    observer.SureLook({});
    liar.LieOnceIn(kLieOnceIn * 4);  // a look takes more than ten answers
    for (int look = 0; look < 20 && !tally.failed; ++look, ++tally.looks) {
      liar.Heard().clear();
      const Snapshot snapshot = observer.SureLook({});
      const Decision decision = Decide(snapshot.facts);
      if (decision.reason != Reason::kOwnerAbsent) continue;
      ++(owner.exists ? tally.false_absent : tally.absent);
      const bool was_seen = snapshot.seen.has_value();
      if (!IsAbsentByEvidence(owner, !was_seen, liar)) {
        Accuse(tally, owner, decision.detail, liar);
      } else if (!HasObject(World::kRoot, "uid", world.root_uid(), liar.Heard())) {
        Accuse(tally, owner, "without its master root as a witness", liar);
      }
    }
  }
  return tally;
}

int Run(std::uint64_t answers, std::uint64_t seed) {
  const auto begin = std::chrono::steady_clock::now();
  World world(seed);
  int failed = 0;
  for (const auto try_part : {TryProbes, TryRules}) {
    Tally tally = try_part(world, answers / 2);
    // Without any absence the part would prove nothing.
    tally.failed = tally.failed || tally.absent == 0;
    failed += tally.failed;
    std::printf(
        "%-7s %8llu looks, %7llu absent, %llu more by what can't be told from the truth: %s\n",
        tally.part, static_cast<unsigned long long>(tally.looks),
        static_cast<unsigned long long>(tally.absent),
        static_cast<unsigned long long>(tally.false_absent),
        tally.failed ? "FAILED" : "each on evidence");
  }
  for (const auto& [lie, times] : world.liar().Lies()) {
    std::printf("  %8llu %s\n", static_cast<unsigned long long>(times), lie.c_str());
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%llu answers from seed %llu in %.1f s\n",
              static_cast<unsigned long long>(world.liar().Answers()),
              static_cast<unsigned long long>(seed), took.count());
  std::printf("%d passed, %d failed\n", 2 - failed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cluster_watcher::adversary

int main(int argc, char** argv) {
  const auto number = [&](int at, std::uint64_t otherwise) {
    return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise;
  };
  return cluster_watcher::adversary::Run(number(1, 1'200'000), number(2, 1));
}
