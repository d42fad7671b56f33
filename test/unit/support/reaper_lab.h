// Runs the deletion's protocol in the lab, with hooks to interfere at the worst moments.
#pragma once

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "probes/base/time_text.h"
#include "test/unit/support/fake_transport.h"
#include "test/unit/support/lab.h"
#include "watcher/deletion/reaper.h"

namespace cluster_watcher {

// A step, as JSON in JSON.
inline constexpr const char* kStep = R"([{\"name\":\"a\",\"http\":{\"url\":\"http://h/\"}}])";

// Another watcher.
inline constexpr const char* kOther = "other-pod/other-uid";

// The mark of the point of no return, as a write of it has it in its body.
inline constexpr const char* kPointOfNoReturn = R"("cluster-watcher/phase":"deleting")";

inline bool WritesPointOfNoReturn(const small_kubernetes::Request& request) {
  return request.method == "PATCH" && request.body.find(kPointOfNoReturn) != std::string::npos;
}

class ReaperLab : public testing::Test, protected Lab {
 protected:
  explicit ReaperLab(ApiServer server = WithToken()) : Lab(std::move(server)) { StartWatcher(); }

  // Starts a watcher in the current master pod.
  void StartWatcher() {
    settings_.settings.pod = NameOfPod();
    in_force_ =
        std::make_unique<SettingsInForce>(settings_, [this](const TextMap&) { return settings_; });
    observer_ = std::make_unique<Observer>(client_, discovery_, clock_, *in_force_);
    const auto dial = [this](const std::string&) -> Result<std::unique_ptr<Transport>> {
      return std::unique_ptr<Transport>(std::make_unique<Step>(*this));
    };
    reaper_ = std::make_unique<Reaper>(MakeTools(), *observer_, announcer_, dial);
  }
  Tools MakeTools() {
    Tools tools{client_, discovery_, clock_, *in_force_, metrics_, log_.logger(), [](Duration) {}};
    tools.gives_up = gives_up_;
    tools.heeds_stop = gives_up_ || until_ != Until::kGone;
    tools.until = until_;
    return tools;
  }

  // What cluster_watcher_refusals_total counts.
  double Refusals(const std::string& reason) {
    for (const auto& family : metrics_.Collect()) {
      if (family.name != "cluster_watcher_refusals_total") continue;
      for (const auto& metric : family.metric) {
        if (metric.label.front().value == reason) return metric.counter.value;
      }
    }
    return -1;
  }
  // Not those that were only tried.
  std::size_t MarksWritten() {
    return kubernetes_.Count("PATCH", "spark-m") - kubernetes_.Count("PATCH", "spark-m?dryRun");
  }
  std::size_t DeletesOf(const std::string& what) { return kubernetes_.Count("DELETE", what); }
  std::size_t Deletes() { return kubernetes_.Count("DELETE"); }

  // Does what the master pod's watcher does once the driver has been gone for the grace period.
  Reaper::Outcome Condemn() {
    observer_->SureLook({});
    Delete(kDriver);
    return CondemnNow();
  }
  Reaper::Outcome CondemnNow() {
    const auto [snapshot, decision] = LookAndDecide(*observer_, {});
    EXPECT_TRUE(decision.abandoned()) << decision.detail;
    me_ = {snapshot.pod->meta.name, snapshot.pod->meta.uid};
    return reaper_->Condemn(me_, snapshot, decision, {}, stop_.get_token());
  }
  Reaper::Outcome Resume() {
    const Snapshot snapshot = observer_->SureLook({});
    me_ = {snapshot.pod->meta.name, snapshot.pod->meta.uid};
    EXPECT_EQ(snapshot.marks.phase, Phase::kDeleting);
    EXPECT_EQ(snapshot.marks.condemned_by, me_);
    return reaper_->Resume(me_, snapshot, stop_.get_token());
  }
  void RecordOwner() {
    const Snapshot look = observer_->SureLook({});
    EXPECT_TRUE(MasterRoot(client_, *look.root).WriteMarks(OwnerMarks(*look.seen)));
  }
  // Writes the marks as an earlier watcher of this pod would have that has begun to delete the
  // cluster of the driver this long ago.
  void WriteMarks(Duration ago = std::chrono::seconds(1)) {
    const Snapshot look = observer_->SureLook({});
    me_ = {look.pod->meta.name, look.pod->meta.uid};
    AnnotationChanges changes = OwnerMarks(*look.seen);
    changes[annotation::kPhase] = "deleting";
    changes[annotation::kReason] = "owner-absent";
    changes[annotation::kCondemnedBy] = me_.ToText();
    changes[annotation::kDeletingSince] = FormatTime(clock_.WallNow() - ago);
    EXPECT_TRUE(MasterRoot(client_, *look.root).WriteMarks(changes));
  }

  // Something somebody else's finalizer holds, until it is released.
  void MakeHeld() { MakeMap("held", R"(,"finalizers":["example.com/held"])"); }
  void Release(const std::string& path = "/api/v1/namespaces/lab/configmaps/held") {
    Patch(path, R"({"metadata":{"finalizers":null}})");
  }
  // Requests are answered so until then.
  void RefuseUntil(Duration until, const std::string& method, const std::string& contains,
                   int status = 503) {
    Refuse(method, contains, status);
    clock_.At(until, [this] { kubernetes_.GetFaults().Clear(); });
  }
  // The driver comes back then, so that a watcher that hangs ends.
  void EndAfter(Duration time) {
    clock_.At(clock_.elapsed + time, [this] { MakeDriver(); });
  }
  std::size_t PodsOf(const std::string& app) {
    const std::string pods = "/api/v1/namespaces/lab/pods?labelSelector=app%3D" + app;
    return JsonDocument::Parse(Read(pods).body)->root()["items"].size();
  }
  bool ClaimExists(const std::string& name) {
    return Exists("/api/v1/namespaces/lab/persistentvolumeclaims/" + name);
  }

  // The set "w", whose claims go with it unless somebody sees to it, or `when_deleted` is "Retain".
  void MakeSetWithClaims(const std::string& when_deleted = "Delete") {
    kubernetes_.Apply(
        R"({"apiVersion":"apps/v1","kind":"StatefulSet",)" + Labelled("w") +
        R"(,"spec":{"replicas":1,"serviceName":"w","selector":{"matchLabels":{"app":"w"}},)"
        R"("persistentVolumeClaimRetentionPolicy":{"whenDeleted":")" +
        when_deleted +
        R"(","whenScaled":"Retain"},)"
        R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":)"
        R"(["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],)"
        R"("template":{"metadata":{"labels":{"app":"w"}},"spec":{"containers":)"
        R"([{"name":"m","image":"x"}]}}}})");
  }

  // An ownerReference to the object at `path`, as more metadata.
  std::string OwnedBy(const std::string& kind, const std::string& version,
                      const std::string& path) {
    const auto object = JsonDocument::Parse(Read(path).body);
    const auto meta = ReadObjectMeta(object->root());
    return R"(,"ownerReferences":[{"apiVersion":")" + version + R"(","kind":")" + kind +
           R"(","name":")" + meta->name + R"(","uid":")" + meta->uid + R"("}])";
  }

  // A moment later the lab is older than what happens in it.
  void AnHourPasses() { clock_.elapsed += std::chrono::hours(1); }
  // A ConfigMap without the cluster's label.
  void MakeBareMap(const std::string& name, const std::string& more = "") {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"ConfigMap",)" + Meta(name, more) + "}");
  }
  void MakeClaim(const std::string& name, const std::string& more = "") {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" +
                      Labelled(name, more) +
                      R"(,"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":)"
                      R"({"storage":"1Gi"}}}})");
  }
  // The Deployment "w", which owns the map "kept". Its pods don't bear the cluster's label.
  void MakeOwnerOfAKeptMap() {
    kubernetes_.Apply(
        R"({"apiVersion":"apps/v1","kind":"Deployment",)" + Labelled("w") +
        R"(,"spec":{"replicas":2,"selector":{"matchLabels":{"app":"w"}},"template":{"metadata":)"
        R"({"labels":{"app":"w"}},"spec":{"containers":[{"name":"main","image":"x"}]}}}})");
    MakeMap("kept",
            R"(,"annotations":{"cluster-watcher/keep":"true"})" +
                OwnedBy("Deployment", "apps/v1", "/apis/apps/v1/namespaces/lab/deployments/w"));
  }
  // The root, once deleted, terminates until somebody takes its finalizer off.
  void HoldRoot() { Patch(kRoot, R"({"metadata":{"finalizers":["example.com/held"]}})"); }
  // The marks are another watcher's now.
  void GiveMarksAway(const std::string& phase) {
    Annotate(kRoot, "phase", phase);
    Annotate(kRoot, "condemned-by", kOther);
  }
  void TakeMarksOff() {
    const Snapshot look = Observer(client_, discovery_, clock_, *in_force_).SureLook({});
    EXPECT_TRUE(MasterRoot(client_, *look.root).WriteMarks(WithoutProtocolMarks()));
  }
  std::string Notes() { return Read("/apis/events.k8s.io/v1/namespaces/lab/events").body; }

  std::ostringstream log_text_;
  Log log_{LogLevel::kDebug, LogFormat::kText,
           std::make_shared<spdlog::sinks::ostream_sink_st>(log_text_)};
  EventRecorder events_{client_, clock_, log_.logger(), "test"};
  Announcer announcer_{events_, clock_, log_};

  std::function<void()> during_step_ = [] {};
  struct Step final : Transport {
    explicit Step(ReaperLab& of_test) : test(of_test) {}
    std::vector<HttpResult> Perform(std::span<const HttpRequest>, std::size_t,
                                    std::stop_token) override {
      test.during_step_();
      return {Answer(200, "")};
    }
    ReaperLab& test;
  };
  std::unique_ptr<SettingsInForce> in_force_;
  std::unique_ptr<Observer> observer_;
  std::unique_ptr<Reaper> reaper_;
  WatcherId me_;
  std::stop_source stop_;
  // As commands do, for watchers that are started from then on.
  bool gives_up_ = false;
  Until until_ = Until::kGone;
};

}  // namespace cluster_watcher
