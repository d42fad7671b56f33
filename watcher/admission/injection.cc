#include "watcher/admission/injection.h"

#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>

#include "probes/base/clock.h"
#include "probes/base/names.h"
#include "probes/base/time_text.h"
#include "probes/cluster_probe.h"
#include "probes/kube/object_meta.h"
#include "probes/masters.h"
#include "watcher/admission/sidecar_resources.h"
#include "watcher/protocol/annotations.h"
#include "watcher/protocol/member_annotations.h"
#include "watcher/protocol/steps.h"

namespace cluster_watcher {
namespace {

constexpr int kLeastGrace = 5;  // seconds
constexpr char kMirror[] = "kubernetes.io/config.mirror";

using Outcome = Injection::Outcome;

// Returns the annotations that count here, and adds those that nobody knows to `unknown` if it is
// given. There may be a hundred thousand, so that nothing is copied of the others.
TextMap AnnotationsOf(JsonValue pod, UnknownAnnotations* unknown = nullptr) {
  TextMap texts;
  pod["metadata"]["annotations"].ForEachMember([&](std::string_view key, JsonValue value) {
    const bool is_ours = key.starts_with(annotation::kPrefix);
    if (!is_ours && key != kMirror && key != kScrape) return;
    const auto text = value.AsString();
    if (!text) return;
    if (!is_ours || IsKnownAnnotation(key)) {
      texts.emplace(key, *text);
    } else if (unknown != nullptr) {
      unknown->Add(key);
    }
  });
  return texts;
}

// Whether the value is absent or of the kind that can be added to.
bool IsOrIsAbsent(JsonValue value, bool is_right_kind) {
  return !value.Exists() || value.IsNull() || is_right_kind;
}

// Says why a pod that asks for the sidecar can't get it; nullopt if it can.
std::optional<std::string> Obstacle(JsonValue pod, const InjectionSettings& settings) {
  const JsonValue spec = pod["spec"];
  const auto containers = ContainersOf(spec);
  if (HasNamed(containers, kSidecarName)) {
    return std::string("it has a container called ") + kSidecarName + " already";
  }
  if (spec["os"]["name"].AsString() == "windows" ||
      spec["nodeSelector"]["kubernetes.io/os"].AsString() == "windows") {
    return "it is for Windows";
  }
  if (!FreePort(containers, settings.port)) {
    return "the ports " + std::to_string(settings.port) + " to " +
           std::to_string(settings.port + kPortsTried - 1) + " are all taken by its containers";
  }
  if (spec["containers"].size() == 0) return "it has no containers";
  for (const char* list : {"initContainers", "volumes", "imagePullSecrets"}) {
    if (!IsOrIsAbsent(spec[list], spec[list].IsArray())) {
      return std::string("its ") + list + " are no list";
    }
  }
  return std::nullopt;
}

void WarnOfShortGrace(JsonValue spec, std::vector<std::string>& warnings) {
  const auto grace = spec["terminationGracePeriodSeconds"].AsInteger();
  if (!grace || *grace >= kLeastGrace) return;
  warnings.push_back("terminationGracePeriodSeconds is " + std::to_string(*grace) + ": " +
                     (*grace == 0 ? "the watcher is not told that its pod stops"
                                  : "the watcher may get 2 s to finish when its pod stops") +
                     "; give at least " + std::to_string(kLeastGrace));
}

}  // namespace

const char* ToString(Outcome outcome) {
  switch (outcome) {
    case Outcome::kInjected:
      return "injected";
    case Outcome::kNotAsked:
      return "not-asked";
    case Outcome::kAlready:
      return "already";
    case Outcome::kLeftAlone:
      return "left-alone";
  }
  return "";
}

Injection InjectionWithoutPatch(JsonValue pod, const InjectionSettings& settings) {
  Injection injection;
  const TextMap annotations = AnnotationsOf(pod);
  const bool is_asked = AsksForWatcher(pod["metadata"], *settings.profiles);
  // A mirror pod can't be changed: the kubelet runs the pod that it mirrors.
  if (!is_asked || annotations.contains(kMirror)) return injection;
  if (auto obstacle = Obstacle(pod, settings)) {
    const bool by_us = annotations.contains(annotation::kStatus) &&
                       HasNamed(ContainersOf(pod["spec"]), kSidecarName);
    injection.outcome = by_us ? Outcome::kAlready : Outcome::kLeftAlone;
    if (!by_us) injection.warnings.push_back("the watcher is not injected: " + *obstacle);
    return injection;
  }
  injection.outcome = Outcome::kInjected;
  injection.warnings = SidecarResourceProblems(pod["spec"], annotations);
  WarnOfShortGrace(pod["spec"], injection.warnings);
  return injection;
}

Injection Inject(JsonValue pod, const InjectionSettings& settings) {
  Injection injection = InjectionWithoutPatch(pod, settings);
  if (injection.outcome == Outcome::kInjected) {
    injection.patch = SidecarPatch(pod, AnnotationsOf(pod), settings);
  } else if (injection.outcome == Outcome::kAlready) {
    injection.patch = PortPatch(pod, settings);
  }
  return injection;
}

void AnnotationProblems::Add(JsonValue pod) {
  TextMap annotations = AnnotationsOf(pod, &unknown_);
  if (annotations.empty()) return;
  ObjectMeta meta;
  std::vector<std::string> problems = AnnotationErrors(annotations, profiles_);
  meta.common.Edit().annotations = std::move(annotations);
  Steps steps;
  ReadSteps(meta, steps, problems);
  if (auto error = DeleteOrderError(meta)) problems.push_back(*error);
  if (auto hold = meta.Annotation(annotation::kHoldUntil);
      hold && (annotation::TooLong(*hold) || !ParseTime(*hold))) {
    problems.push_back(
        "annotation " + std::string(annotation::kHoldUntil) + ": " +
        annotation::TooLong(*hold).value_or(
            Quoted(*hold) + " is no time, so it holds for ever: write it as 2026-12-24T18:00:00Z"));
  }
  if (auto inject = meta.Annotation(annotation::kInject);
      inject && *inject != "true" && *inject != "false") {
    problems.push_back("annotation " + std::string(annotation::kInject) + ": " + Quoted(*inject) +
                       " counts as false: write true or false");
  }
  std::move(problems.begin(), problems.end(), std::back_inserter(wrong_));
}

std::vector<std::string> AnnotationProblems::Lines() const {
  std::vector<std::string> lines = unknown_.Lines();
  lines.insert(lines.begin(), wrong_.begin(), wrong_.end());
  return lines;
}

std::vector<std::string> AnnotationProblems::Since(const AnnotationProblems& before) const {
  std::vector<std::string> old = before.Lines();
  const std::unordered_set<std::string_view> known(old.begin(), old.end());
  std::vector<std::string> fresh = before.unknown_.AreAllNamed() ? Lines() : wrong_;
  std::erase_if(fresh, [&](const std::string& line) { return known.contains(line); });
  return fresh;
}

}  // namespace cluster_watcher
