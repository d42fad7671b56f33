#include "watcher/deletion/step_pod.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "probes/base/duration_text.h"
#include "probes/base/json.h"
#include "probes/base/stable_hash.h"
#include "probes/kube/kube_client.h"
#include "probes/kube/pod_state.h"

namespace cluster_watcher {
namespace {

using Outcome = StepAttempt::Outcome;

constexpr const char* kContainer = "step";
constexpr Duration kBetweenReads{500};
constexpr Duration kLongestRequest{5'000};
constexpr std::size_t kLongestMessage = 400;  // several steps share the note of an Event

const ResourceType& Pods() {
  static const ResourceType& pods = *FindBuiltInByKind("v1", "Pod");
  return pods;
}

std::string NameOf(const StepsOf& of, const std::string& id) {
  StableHash hash;
  hash.Add(of.root_uid);
  hash.Add(id);
  std::string name = "cluster-watcher-step-";
  for (int shift = 60; shift >= 0; shift -= 4) {
    name += "0123456789abcdef"[hash.value() >> shift & 15];
  }
  return name;
}

void WriteLabels(JsonWriter& pod, const std::string& id, const ClusterId& cluster) {
  pod.Key("labels").StartObject().Field(cluster.label(), cluster.name);
  for (const auto& [key, values] : cluster.profile->members.labels) {
    if (key != cluster.label()) pod.Field(key, values.front());
  }
  pod.Field(kStepLabel, id.substr(0, id.find('/'))).EndObject();
}

void WriteContainer(JsonWriter& pod, const StepPod& step) {
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

// It ends at the end of `timeout` even if nobody is there to see to it.
std::string PodText(const std::string& name, const StepPod& step, const std::string& id,
                    const ClusterId& cluster, Duration timeout) {
  JsonWriter pod;
  pod.StartObject().Field("apiVersion", "v1").Field("kind", "Pod");
  pod.Key("metadata").StartObject().Field("name", name);
  WriteLabels(pod, id, cluster);
  pod.EndObject();
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

JsonValue StateOf(JsonValue pod) { return pod["status"]["containerStatuses"].At(0)["state"]; }

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

// How a pod that has failed did.
StepAttempt FailureOf(JsonValue pod) {
  if (const std::string why = Words(pod["status"]); !why.empty()) {
    const bool is_late = pod["status"]["reason"].AsString() == "DeadlineExceeded";
    return {is_late ? Outcome::kTimedOut : Outcome::kFailed, why};
  }
  const JsonValue ended = StateOf(pod)["terminated"];
  return {Outcome::kFailed, "exit code " +
                                std::to_string(ended["exitCode"].AsInteger().value_or(-1)) + ", " +
                                Words(ended)};
}

// What a pod that has not ended waits for; empty: it runs.
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
  Attempt(const Tools& tools, const Step& step, const std::string& id, const StepsOf& of,
          Duration timeout, bool adopts)
      : tools_(tools),
        step_(step),
        id_(id),
        cluster_(of.cluster),
        name_(NameOf(of, id)),
        timeout_(timeout),
        deadline_(tools.clock.Now() + timeout),
        adopts_(adopts) {}

  StepAttempt Run() {
    for (;;) {
      if (auto ended = Look()) return *std::move(ended);
      tools_.turn(kBetweenReads);
      tools_.clock.WaitUntil(std::min(deadline_, tools_.clock.Now() + kBetweenReads), {});
      if (tools_.clock.Now() < deadline_) continue;
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
  Ended WaitUnlessRefused(const ApiError& error) {
    last_ = error.message;
    return IsTransient(error.failure) ? Ended() : StepAttempt{Outcome::kFailed, error.message};
  }
  ApiResult Ask(ApiRequest request) {
    const auto left = std::chrono::ceil<Duration>(deadline_ - tools_.clock.Now());
    request.http.timeout = std::clamp(left, Duration(1), kLongestRequest);
    tools_.turn(request.http.timeout);
    return tools_.client.Do(request, {});
  }

  Ended Look() {
    const ApiResult read = Ask(ApiRequest::Get(Pods(), cluster_.ns, name_));
    if (read) return Judge(read->document.root());
    if (read.error().failure != ApiFailure::kNotFound) return WaitUnlessRefused(read.error());
    return uid_.empty() ? Create() : End(Outcome::kFailed, "was deleted");
  }

  Ended Create() {
    adopts_ = true;  // whatever is there from now on was created here
    const ApiResult made = Ask(
        ApiRequest::Create(Pods(), cluster_.ns,
                           PodText(name_, std::get<StepPod>(step_.what), id_, cluster_, timeout_)));
    if (!made) return WaitUnlessRefused(made.error());
    tools_.log.info("step {} runs as pod {}", id_, name_);
    return {};
  }

  Ended Judge(JsonValue pod) {
    const auto meta = ReadObjectMeta(pod);
    if (!meta || !cluster_.Owns(*meta)) {
      return End(Outcome::kFailed, "there is one of that name that isn't the cluster's", true);
    }
    if (uid_.empty() && !adopts_) return Delete(*meta);
    if (!uid_.empty() && uid_ != meta->uid) return End(Outcome::kFailed, "was replaced");
    uid_ = meta->uid;
    last_ = WaitsFor(pod);
    if (!HasEnded(pod)) return {};
    if (pod["status"]["phase"].AsString() == "Succeeded") return StepAttempt{Outcome::kSucceeded};
    const StepAttempt failed = FailureOf(pod);
    return End(failed.outcome, failed.why);
  }

  Ended Delete(const ObjectMeta& earlier) {
    last_ = "an earlier one has not gone yet";
    if (earlier.deleting) return {};
    const ApiResult deleted = Ask(ApiRequest::Delete(Pods(), cluster_.ns, name_, {earlier.uid},
                                                     PropagationPolicy::kBackground, false));
    return deleted ? Ended() : WaitUnlessRefused(deleted.error());
  }

  const Tools& tools_;
  const Step& step_;
  const std::string& id_;
  const ClusterId& cluster_;
  const std::string name_;
  const Duration timeout_;
  const MonotonicTime deadline_;
  bool adopts_;
  std::string uid_;   // of the pod, once it was seen
  std::string last_;  // why it hasn't ended yet
};

}  // namespace

StepAttempt RunAsPod(const Tools& tools, const Step& step, const std::string& id, const StepsOf& of,
                     Duration timeout, bool adopts) {
  return Attempt(tools, step, id, of, timeout, adopts).Run();
}

}  // namespace cluster_watcher
