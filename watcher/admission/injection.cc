#include "watcher/admission/injection.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>

#include "probes/base/clock.h"
#include "probes/base/names.h"
#include "probes/base/time_text.h"
#include "probes/cluster_probe.h"
#include "probes/kube/object_meta.h"
#include "watcher/protocol/annotations.h"
#include "watcher/protocol/member_annotations.h"
#include "watcher/protocol/steps.h"

namespace cluster_watcher {
namespace {

constexpr int kPortsTried = 10;
constexpr int kLeastGrace = 5;  // seconds
constexpr int kImageUser = 65'532;
constexpr char kTokenPath[] = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr char kMirror[] = "kubernetes.io/config.mirror";
constexpr char kInjectedLabel[] = "cluster-watcher/injected";
constexpr char kScrape[] = "prometheus.io/scrape";

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

// Includes init containers, which sidecars are.
std::vector<JsonValue> ContainersOf(JsonValue spec) {
  std::vector<JsonValue> containers = spec["containers"].Elements();
  for (JsonValue container : spec["initContainers"].Elements()) containers.push_back(container);
  return containers;
}

bool HasNamed(const std::vector<JsonValue>& list, std::string_view name) {
  return std::any_of(list.begin(), list.end(),
                     [&](JsonValue one) { return one["name"].AsString() == name; });
}

// Returns nullopt if every port that is tried is taken.
std::optional<int> FreePort(const std::vector<JsonValue>& containers, int first) {
  std::bitset<kPortsTried> taken;
  for (JsonValue container : containers) {
    for (JsonValue port : container["ports"].Elements()) {
      const std::int64_t number = port["containerPort"].AsInteger().value_or(0);
      if (number >= first && number < first + kPortsTried) {
        taken.set(static_cast<std::size_t>(number - first));
      }
    }
  }
  for (int i = 0; i < kPortsTried; ++i) {
    if (!taken.test(static_cast<std::size_t>(i))) return first + i;
  }
  return std::nullopt;
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
  if (HasNamed(spec["volumes"].Elements(), kTokenVolume)) {
    return std::string("it has a volume called ") + kTokenVolume + " already";
  }
  if (!FreePort(containers, settings.port)) {
    return "the ports " + std::to_string(settings.port) + " to " +
           std::to_string(settings.port + kPortsTried - 1) + " are all taken by its containers";
  }
  if (spec["containers"].size() == 0) return "it has no containers";
  for (const char* list : {"initContainers", "volumes"}) {
    if (!IsOrIsAbsent(spec[list], spec[list].IsArray())) {
      return std::string("its ") + list + " are no list";
    }
  }
  return std::nullopt;
}

// Escapes a key for a JSON pointer (RFC 6901).
std::string PointerToken(std::string_view key) {
  std::string token;
  for (const char c : key) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return token;
}

std::string TextValue(std::string_view text) { return JsonWriter().String(text).Text(); }

std::string StatusText(const InjectionSettings& settings, int port) {
  JsonWriter status;
  status.StartObject();
  status.Key("initContainers").StartArray().String(kSidecarName).EndArray();
  status.Key("volumes").StartArray().String(kTokenVolume).EndArray();
  status.Field("image", settings.image).Key("port").Integer(port).EndObject();
  return status.Text();
}

void WriteFieldRef(JsonWriter& json, const char* path) {
  json.Key("fieldRef").StartObject().Field("fieldPath", path).EndObject();
}

void WriteEnvironment(JsonWriter& json, const InjectionSettings& settings, int port) {
  json.Key("env").StartArray();
  for (const auto& [name, path] :
       {std::pair{"POD_NAME", "metadata.name"}, std::pair{"POD_NAMESPACE", "metadata.namespace"}}) {
    json.StartObject().Field("name", name).Key("valueFrom").StartObject();
    WriteFieldRef(json, path);
    json.EndObject().EndObject();
  }
  json.StartObject().Field("name", "CLUSTER_WATCHER_LISTEN");
  json.Field("value", ":" + std::to_string(port)).EndObject();
  if (!settings.profile_rows.empty()) {
    json.StartObject().Field("name", "CLUSTER_WATCHER_PROFILES");
    json.Field("value", settings.profile_rows).EndObject();
  }
  json.EndArray();
}

void WriteLivenessProbe(JsonWriter& json, int port) {
  json.Key("livenessProbe").StartObject().Key("httpGet").StartObject().Field("path", "/healthz");
  json.Key("port").Integer(port).EndObject().Key("periodSeconds").Integer(20);
  json.Key("timeoutSeconds").Integer(5).Key("failureThreshold").Integer(3).EndObject();
}

// Of resources of the pod's own the container takes its share: nothing of its requests, and no more
// than its limits. Without a word of ours a LimitRange would add what may exceed them.
void WriteResources(JsonWriter& json, JsonValue spec, const InjectionSettings& settings) {
  const JsonValue own = spec["resources"];
  const bool shares = own.size() > 0;
  const auto limit = [&](const char* resource, const std::string& usual) {
    const std::string pods = own["limits"][resource].AsString().value_or("");
    const auto quantity = ParseQuantity(pods);
    return quantity && *quantity < *ParseQuantity(usual) ? pods : usual;
  };
  json.Key("resources").StartObject();
  json.Key("requests").StartObject().Field("cpu", shares ? "0" : settings.cpu_request);
  json.Field("memory", shares ? "0" : settings.memory_request).EndObject();
  json.Key("limits").StartObject().Field("cpu", limit("cpu", settings.cpu_limit));
  json.Field("memory", limit("memory", settings.memory_limit)).EndObject().EndObject();
}

// Meets the restricted Pod Security Standard, unless the seccomp profile is left out.
void WriteSecurityContext(JsonWriter& json, JsonValue spec, const InjectionSettings& settings) {
  json.Key("securityContext").StartObject().Key("allowPrivilegeEscalation").Bool(false);
  json.Key("capabilities").StartObject().Key("drop").StartArray().String("ALL").EndArray();
  json.EndObject().Key("readOnlyRootFilesystem").Bool(true).Key("runAsNonRoot").Bool(true);
  // A pod's runAsUser of 0 would override the image's user. In any other case the field stays
  // unset, because OpenShift assigns users itself.
  if (spec["securityContext"]["runAsUser"].AsInteger() == 0) {
    json.Key("runAsUser").Integer(kImageUser);
  }
  if (settings.seccomp_profile) {
    json.Key("seccompProfile").StartObject().Field("type", "RuntimeDefault").EndObject();
  }
  json.EndObject();
}

std::string SidecarText(JsonValue spec, const InjectionSettings& settings, int port) {
  JsonWriter json;
  json.StartObject().Field("name", kSidecarName).Field("image", settings.image);
  json.Field("imagePullPolicy", settings.image_pull_policy).Field("restartPolicy", "Always");
  WriteEnvironment(json, settings, port);
  // On the host's network the scheduler would reserve a declared port on the node, and the probe
  // might be answered by another program.
  if (spec["hostNetwork"].AsBool() != true) {
    json.Key("ports").StartArray().StartObject().Field("name", "watcher-metrics");
    json.Key("containerPort").Integer(port).Field("protocol", "TCP").EndObject().EndArray();
    WriteLivenessProbe(json, port);
  }
  WriteResources(json, spec, settings);
  WriteSecurityContext(json, spec, settings);
  json.Field("terminationMessagePolicy", "FallbackToLogsOnError");
  json.Key("volumeMounts").StartArray().StartObject().Field("name", kTokenVolume);
  json.Field("mountPath", kTokenPath).Key("readOnly").Bool(true).EndObject().EndArray();
  return json.EndObject().Text();
}

std::string VolumeText(const InjectionSettings& settings) {
  JsonWriter json;
  json.StartObject().Field("name", kTokenVolume).Key("projected").StartObject();
  json.Key("sources").StartArray();
  json.StartObject().Key("serviceAccountToken").StartObject();
  if (!settings.token_audience.empty()) json.Field("audience", settings.token_audience);
  json.Key("expirationSeconds").Integer(settings.token_expiration_seconds);
  json.Field("path", "token").EndObject().EndObject();
  json.StartObject().Key("configMap").StartObject().Field("name", "kube-root-ca.crt");
  json.Key("items").StartArray().StartObject().Field("key", "ca.crt").Field("path", "ca.crt");
  json.EndObject().EndArray().EndObject().EndObject();
  json.StartObject().Key("downwardAPI").StartObject().Key("items").StartArray();
  json.StartObject().Field("path", "namespace");
  WriteFieldRef(json, "metadata.namespace");
  json.EndObject().EndArray().EndObject().EndObject();
  return json.EndArray().EndObject().EndObject().Text();
}

// Returns the annotations to add, by key.
TextMap NewAnnotations(const TextMap& present, const InjectionSettings& settings, int port) {
  TextMap added;
  for (const auto& [name, value] : settings.defaults) {
    const std::string key = annotation::kPrefix + name;
    if (!present.contains(key)) added[key] = value;
  }
  if (settings.scrape && !present.contains(kScrape)) {
    added[kScrape] = "true";
    added["prometheus.io/port"] = std::to_string(port);
    added["prometheus.io/path"] = "/metrics";
  }
  added[annotation::kStatus] = StatusText(settings, port);
  return added;
}

std::vector<PatchOperation> MakePatch(JsonValue pod, const InjectionSettings& settings, int port) {
  std::vector<PatchOperation> patch;
  const JsonValue spec = pod["spec"];
  const JsonValue annotations = pod["metadata"]["annotations"];
  if (!annotations.IsObject()) patch.push_back({"/metadata/annotations", "{}"});
  for (const auto& [key, value] : NewAnnotations(AnnotationsOf(pod), settings, port)) {
    patch.push_back({"/metadata/annotations/" + PointerToken(key), TextValue(value)});
  }
  if (!pod["metadata"]["labels"].IsObject()) patch.push_back({"/metadata/labels", "{}"});
  patch.push_back({"/metadata/labels/" + PointerToken(kInjectedLabel), TextValue("true")});
  if (!spec["initContainers"].IsArray()) patch.push_back({"/spec/initContainers", "[]"});
  // First, so that it already watches while the other init containers run.
  patch.push_back({"/spec/initContainers/0", SidecarText(spec, settings, port)});
  if (!spec["volumes"].IsArray()) patch.push_back({"/spec/volumes", "[]"});
  patch.push_back({"/spec/volumes/-", VolumeText(settings)});
  return patch;
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
  const auto asked = annotations.find(annotation::kInject);
  const bool is_asked = asked != annotations.end() ? asked->second == "true"
                                                   : settings.profiles->IsMaster(pod["metadata"]);
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
  WarnOfShortGrace(pod["spec"], injection.warnings);
  return injection;
}

Injection Inject(JsonValue pod, const InjectionSettings& settings) {
  Injection injection = InjectionWithoutPatch(pod, settings);
  if (injection.outcome == Outcome::kInjected) {
    const int port = *FreePort(ContainersOf(pod["spec"]), settings.port);
    injection.patch = MakePatch(pod, settings, port);
  }
  return injection;
}

std::string PatchText(const std::vector<PatchOperation>& patch) {
  std::string text;
  for (const PatchOperation& operation : patch) {
    text += text.empty() ? "[" : ",";
    text += R"({"op":"add","path":)" + TextValue(operation.path) + R"(,"value":)" +
            operation.value + "}";
  }
  return text.empty() ? "[]" : text + "]";
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
