#include "watcher/deletion/step_pod.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "probes/base/duration_text.h"
#include "probes/base/json.h"
#include "probes/base/stable_hash.h"
#include "probes/base/time_text.h"
#include "probes/kube/kube_client.h"
#include "probes/kube/pod_state.h"
#include "watcher/protocol/master_root.h"

namespace cluster_watcher {
namespace {

using Outcome = StepAttempt::Outcome;

constexpr const char* kContainer = "step";
constexpr Duration kFirstPauseOfReads{500};
constexpr Duration kLongestPauseOfReads{5'000};
constexpr Duration kLongestRequest{5'000};
constexpr std::size_t kLongestMessage = 400;  // several steps share the note of an Event

const ResourceType& Pods() {
  static const ResourceType& pods = *FindBuiltInByKind("v1", "Pod");
  return pods;
}

// The mark abandoned-since lasts from the first abandoned look to the end of the deletion, and is
// another one in the next.
std::string NameOf(const KubeObject& root, const Marks& marks, const std::string& id) {
  StableHash hash;
  hash.Add(root.meta.uid);
  hash.Add(marks.abandoned_since ? FormatTime(*marks.abandoned_since) : "");
  hash.Add(id);
  std::string name = "cluster-watcher-step-";
  for (int shift = 60; shift >= 0; shift -= 4) {
    name += "0123456789abcdef"[hash.value() >> shift & 15];
  }
  return name;
}

void WriteMetadata(JsonWriter& pod, const std::string& name, const std::string& id,
                   const KubeObject& root) {
  pod.Key("metadata").StartObject().Field("name", name);
  pod.Key("labels").StartObject().Field(kStepLabel, id.substr(0, id.find('/'))).EndObject();
  pod.Key("ownerReferences").StartArray().StartObject();
  pod.Field("apiVersion", root.type->ApiVersion()).Field("kind", root.type->kind);
  pod.Field("name", root.meta.name).Field("uid", root.meta.uid);
  pod.EndObject().EndArray().EndObject();
}

void WriteContainer(JsonWriter& pod, const PodToRun& step) {
  pod.StartObject().Field("name", kContainer).Field("image", step.image);
  if (!step.command.empty()) {
    pod.Key("command").StartArray();
    for (const std::string& word : step.command) pod.String(word);
    pod.EndArray();
  }
  pod.Key("env").StartArray();
  for (const auto& [name, value] : step.env) {
    pod.StartObject().Field("name", name).Field("value", value).EndObject();
  }
  pod.EndArray();
  pod.Field("terminationMessagePolicy", "FallbackToLogsOnError");
  pod.Key("securityContext").StartObject();
  pod.Key("allowPrivilegeEscalation").Bool(false);
  pod.Key("capabilities").StartObject().Key("drop").StartArray().String("ALL").EndArray();
  pod.EndObject();
  pod.Key("seccompProfile").StartObject().Field("type", "RuntimeDefault").EndObject();
  pod.EndObject().EndObject();
}

// Ends after `timeout` even if nobody is there to end it.
std::string PodText(const std::string& name, const PodToRun& step, const std::string& id,
                    const KubeObject& root, Duration timeout) {
  JsonWriter pod;
  pod.StartObject().Field("apiVersion", "v1").Field("kind", "Pod");
  WriteMetadata(pod, name, id, root);
  pod.Key("spec").StartObject();
  pod.Field("serviceAccountName", kStepsAccount);
  pod.Key("automountServiceAccountToken").Bool(false);
  pod.Field("restartPolicy", "Never");
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(timeout).count();
  pod.Key("activeDeadlineSeconds").Integer(std::max<std::int64_t>(1, seconds));
  pod.Key("containers").StartArray();
  WriteContainer(pod, step);
  pod.EndArray().EndObject().EndObject();
  return pod.Text();
}

// Others may have added containers of theirs.
JsonValue StateOf(JsonValue pod) {
  for (const JsonValue status : pod["status"]["containerStatuses"].Elements()) {
    if (status["name"].AsString() == kContainer) return status["state"];
  }
  return {};
}

ApiRequest DeleteOf(const std::string& ns, const ObjectMeta& pod) {
  return ApiRequest::Delete(Pods(), ns, pod.name, {pod.uid}, PropagationPolicy::kBackground, false);
}

// Returns `reason` and the end of `message`, where there are any.
std::string Words(JsonValue said) {
  std::string text(said["reason"].AsString().value_or(""));
  std::string_view message = said["message"].AsString().value_or("");
  while (message.ends_with('\n')) message.remove_suffix(1);
  if (message.empty()) return text;
  const bool is_cut = message.size() > kLongestMessage;
  if (is_cut) message.remove_prefix(message.size() - kLongestMessage);
  return text.append(text.empty() ? "" : ": ").append(is_cut ? "..." : "").append(message);
}

// How a pod that has ended did.
StepAttempt EndOf(JsonValue pod) {
  const JsonValue ended = StateOf(pod)["terminated"];
  const auto code = ended["exitCode"].AsInteger();
  const auto phase = pod["status"]["phase"].AsString();
  // A program that is cut off may exit with 0.
  if (phase == "Succeeded" || (phase != "Failed" && code == 0)) return {Outcome::kSucceeded};
  std::string why = Words(pod["status"]);
  if (code) {
    why.append(why.empty() ? "" : "; ").append("exit code ").append(std::to_string(*code));
    if (const std::string words = Words(ended); !words.empty()) why.append(", ").append(words);
  }
  const bool is_late = pod["status"]["reason"].AsString() == "DeadlineExceeded";
  return {is_late ? Outcome::kTimedOut : Outcome::kFailed, why.empty() ? "it failed" : why};
}

// Returns why a pod that has not ended waits; empty: it runs.
std::string WaitsFor(JsonValue pod) {
  if (const JsonValue waiting = StateOf(pod)["waiting"]; waiting.Exists()) return Words(waiting);
  for (const JsonValue condition : pod["status"]["conditions"].Elements()) {
    const bool is_scheduled = condition["status"].AsString() == "True";
    if (condition["type"].AsString() == "PodScheduled" && !is_scheduled) return Words(condition);
  }
  return "";
}

class Attempt {
 public:
  Attempt(const Tools& tools, const KubeObject& root, const std::string& name,
          const std::string& text, Duration timeout, bool adopts)
      : tools_(tools),
        root_(root),
        ns_(root.meta.ns()),
        name_(name),
        text_(text),
        timeout_(timeout),
        began_(tools.clock.Now()),
        adopts_(adopts) {}

  StepAttempt Run() {
    for (;;) {
      if (auto ended = Look()) return *std::move(ended);
      const MonotonicTime now = tools_.clock.Now();
      const Duration pause =
          std::min(kFirstPauseOfReads + std::chrono::duration_cast<Duration>(now - began_) / 10,
                   kLongestPauseOfReads);
      tools_.turn(pause);
      tools_.clock.WaitUntil(std::min(began_ + timeout_, now + pause), {});
      if (tools_.clock.Now() < began_ + timeout_) continue;
      const std::string why = last_.empty() ? "" : ": " + last_;
      return *End(Outcome::kTimedOut, "not ended within " + FormatDuration(timeout_) + why);
    }
  }

 private:
  // nullopt: it goes on.
  using Ended = std::optional<StepAttempt>;

  Ended End(Outcome outcome, const std::string& why, bool is_final = false) const {
    return StepAttempt{outcome, "pod " + name_ + ": " + why, is_final};
  }
  ApiResult Ask(ApiRequest request) {
    const auto left = std::chrono::ceil<Duration>(began_ + timeout_ - tools_.clock.Now());
    request.http.timeout = std::clamp(left, Duration(1), kLongestRequest);
    tools_.turn(request.http.timeout);
    ApiResult answer = tools_.client.Do(request, {});
    if (!answer) last_ = answer.error().message;
    return answer;
  }

  Ended Look() {
    const ApiResult read = Ask(ApiRequest::Get(Pods(), ns_, name_));
    if (read) return Judge(read->document.root());
    if (read.error().failure != ApiFailure::kNotFound) return {};
    if (uid_.empty()) return Create();
    // It may have been evicted, or be gone with the root.
    const RootState root = MasterRoot(tools_.client, root_).Read({}, kLongestRequest);
    return End(Outcome::kFailed, "was deleted", root != RootState::kOurs);
  }

  Ended Create() {
    adopts_ = true;  // whatever is there from now on was created here
    const ApiResult made = Ask(ApiRequest::Create(Pods(), ns_, text_));
    if (made) {
      tools_.log.info("pod {} runs a step", name_);
    } else if (!IsTransient(made.error().failure)) {
      return StepAttempt{Outcome::kFailed, made.error().message};
    }
    return {};
  }

  Ended Judge(JsonValue pod) {
    const auto meta = ReadObjectMeta(pod);
    if (!meta || !meta->Label(kStepLabel)) {
      return End(Outcome::kFailed, "there is one of that name that is no step", true);
    }
    if (uid_.empty() && !adopts_ && !meta->deleting) {
      static_cast<void>(Ask(DeleteOf(ns_, *meta)));
    } else if (meta->deleting) {
      last_ = "it is being deleted";
    }
    if (meta->deleting || (uid_.empty() && !adopts_)) return {};
    if (!uid_.empty() && uid_ != meta->uid) return End(Outcome::kFailed, "was replaced", true);
    uid_ = meta->uid;
    last_ = WaitsFor(pod);
    if (!HasEnded(pod) && HasContainerEnded(pod, kContainer) != true) return {};
    StepAttempt ended = EndOf(pod);
    if (ended.outcome == Outcome::kSucceeded) return ended;
    return End(ended.outcome, ended.why);
  }

  const Tools& tools_;
  const KubeObject& root_;
  const std::string& ns_;
  const std::string& name_;
  const std::string& text_;
  const Duration timeout_;
  const MonotonicTime began_;
  bool adopts_;
  std::string uid_;   // of the pod, once it was seen
  std::string last_;  // why it hasn't ended yet
};

}  // namespace

StepPod::StepPod(const Tools& tools, const KubeObject& root, const Marks& marks, std::string id)
    : tools_(tools), root_(root), id_(std::move(id)), name_(NameOf(root, marks, id_)) {}

StepAttempt StepPod::Run(const PodToRun& pod, Duration timeout, bool is_first) {
  const std::string text = PodText(name_, pod, id_, root_, timeout);
  return Attempt(tools_, root_, name_, text, timeout, is_first).Run();
}

void StepPod::End() {
  tools_.turn(2 * kLongestRequest);
  ApiRequest get = ApiRequest::GetMetadata(Pods(), root_.meta.ns(), name_);
  get.http.timeout = kLongestRequest;
  const ApiResult read = tools_.client.Do(get, {});
  if (!read) return;
  const auto meta = ReadObjectMeta(read->document.root());
  if (!meta || !meta->Label(kStepLabel) || meta->deleting) return;
  ApiRequest gone = DeleteOf(root_.meta.ns(), *meta);
  gone.http.timeout = kLongestRequest;
  const ApiResult deleted = tools_.client.Do(gone, {});
  if (!deleted && deleted.error().failure != ApiFailure::kNotFound) {
    tools_.log.warn("the pod of the step {} is left: {}", id_, deleted.error().message);
  }
}

}  // namespace cluster_watcher
