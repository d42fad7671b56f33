#include "watcher/admission/sidecar_patch.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <utility>

#include "watcher/admission/sidecar_resources.h"
#include "watcher/protocol/annotations.h"
#include "watcher/protocol/injection_status.h"

namespace cluster_watcher {
namespace {

constexpr int kImageUser = 65'532;
constexpr char kTokenPath[] = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr char kTokenVolume[] = "cluster-watcher-token";
constexpr char kInjectedLabel[] = "cluster-watcher/injected";
constexpr char kScrapePort[] = "prometheus.io/port";
constexpr char kListen[] = "CLUSTER_WATCHER_LISTEN";
constexpr char kPortName[] = "watcher-metrics";

std::optional<std::size_t> PlaceOf(const std::vector<JsonValue>& list, std::string_view name) {
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](JsonValue one) { return one["name"].AsString() == name; });
  if (found == list.end()) return std::nullopt;
  return static_cast<std::size_t>(found - list.begin());
}

// `address` is a port with a colon before it.
bool Declares(const std::vector<JsonValue>& containers, const std::string& address) {
  return std::any_of(containers.begin(), containers.end(), [&](JsonValue container) {
    const auto ports = container["ports"].Elements();
    return std::any_of(ports.begin(), ports.end(), [&](JsonValue port) {
      return ":" + std::to_string(port["containerPort"].AsInteger().value_or(0)) == address;
    });
  });
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
  json.StartObject().Field("name", kListen);
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

void WriteResources(JsonWriter& json, const std::vector<SidecarAmounts>& amounts) {
  json.Key("resources").StartObject().Key("requests").StartObject();
  for (const SidecarAmounts& one : amounts) json.Field(one.resource, one.request);
  json.EndObject().Key("limits").StartObject();
  for (const SidecarAmounts& one : amounts) {
    if (one.limit != kNoLimit) json.Field(one.resource, one.limit);
  }
  json.EndObject().EndObject();
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

std::string SidecarText(JsonValue spec, const TextMap& annotations,
                        const InjectionSettings& settings, int port) {
  JsonWriter json;
  json.StartObject().Field("name", kSidecarName).Field("image", settings.image);
  json.Field("imagePullPolicy", settings.image_pull_policy).Field("restartPolicy", "Always");
  WriteEnvironment(json, settings, port);
  // On the host's network the scheduler would reserve a declared port on the node, and the probe
  // might be answered by another program.
  if (spec["hostNetwork"].AsBool() != true) {
    json.Key("ports").StartArray().StartObject().Field("name", kPortName);
    json.Key("containerPort").Integer(port).Field("protocol", "TCP").EndObject().EndArray();
    WriteLivenessProbe(json, port);
  }
  WriteResources(json, SidecarResources(spec, annotations, settings));
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
    added[kScrapePort] = std::to_string(port);
    added["prometheus.io/path"] = "/metrics";
  }
  added[annotation::kStatus] = StatusText(settings, port);
  return added;
}

void AddPullSecrets(JsonValue spec, const InjectionSettings& settings,
                    std::vector<PatchOperation>& patch) {
  const JsonValue present = spec["imagePullSecrets"];
  if (!present.IsArray() && !settings.image_pull_secrets.empty()) {
    patch.push_back({"/spec/imagePullSecrets", "[]"});
  }
  for (const std::string& name : settings.image_pull_secrets) {
    if (HasNamed(present.Elements(), name)) continue;
    patch.push_back({"/spec/imagePullSecrets/-",
                     JsonWriter().StartObject().Field("name", name).EndObject().Text()});
  }
}

}  // namespace

std::string PatchText(const std::vector<PatchOperation>& patch) {
  std::string text;
  for (const PatchOperation& operation : patch) {
    text += text.empty() ? "[" : ",";
    text += R"({"op":"add","path":)" + TextValue(operation.path) + R"(,"value":)" +
            operation.value + "}";
  }
  return text.empty() ? "[]" : text + "]";
}

std::vector<JsonValue> ContainersOf(JsonValue spec) {
  std::vector<JsonValue> containers = spec["containers"].Elements();
  for (JsonValue container : spec["initContainers"].Elements()) containers.push_back(container);
  return containers;
}

bool HasNamed(const std::vector<JsonValue>& list, std::string_view name) {
  return PlaceOf(list, name).has_value();
}

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

std::vector<PatchOperation> SidecarPatch(JsonValue pod, const TextMap& present,
                                         const InjectionSettings& settings) {
  const int port = *FreePort(ContainersOf(pod["spec"]), settings.port);
  std::vector<PatchOperation> patch;
  const JsonValue spec = pod["spec"];
  const JsonValue annotations = pod["metadata"]["annotations"];
  if (!annotations.IsObject()) patch.push_back({"/metadata/annotations", "{}"});
  for (const auto& [key, value] : NewAnnotations(present, settings, port)) {
    patch.push_back({"/metadata/annotations/" + PointerToken(key), TextValue(value)});
  }
  if (!pod["metadata"]["labels"].IsObject()) patch.push_back({"/metadata/labels", "{}"});
  patch.push_back({"/metadata/labels/" + PointerToken(kInjectedLabel), TextValue("true")});
  if (!spec["initContainers"].IsArray()) patch.push_back({"/spec/initContainers", "[]"});
  // First, so that it already watches while the other init containers run.
  patch.push_back({"/spec/initContainers/0", SidecarText(spec, present, settings, port)});
  if (!spec["volumes"].IsArray()) patch.push_back({"/spec/volumes", "[]"});
  // One may be left of an earlier injection.
  if (!HasNamed(spec["volumes"].Elements(), kTokenVolume)) {
    patch.push_back({"/spec/volumes/-", VolumeText(settings)});
  }
  AddPullSecrets(spec, settings, patch);
  return patch;
}

std::optional<std::string> SidecarImage(JsonValue spec) {
  const auto init_containers = spec["initContainers"].Elements();
  const auto place = PlaceOf(init_containers, kSidecarName);
  if (!place) return std::nullopt;
  return std::string(init_containers[*place]["image"].AsString().value_or(""));
}

std::vector<PatchOperation> ImagePatch(JsonValue pod, const InjectionSettings& settings) {
  const auto init_containers = pod["spec"]["initContainers"].Elements();
  const auto place = PlaceOf(init_containers, kSidecarName);
  if (!place || init_containers[*place]["image"].AsString() == settings.image) return {};
  std::vector<PatchOperation> patch = {
      {"/spec/initContainers/" + std::to_string(*place) + "/image", TextValue(settings.image)}};
  if (const auto port = PortInStatus(pod)) {
    patch.push_back({"/metadata/annotations/" + PointerToken(annotation::kStatus),
                     TextValue(StatusText(settings, static_cast<int>(*port)))});
  }
  return patch;
}

std::vector<PatchOperation> PortPatch(JsonValue pod, const InjectionSettings& settings) {
  const JsonValue spec = pod["spec"];
  const auto init_containers = spec["initContainers"].Elements();
  const auto place = PlaceOf(init_containers, kSidecarName);
  if (!place) return {};
  const JsonValue sidecar = init_containers[*place];
  const auto env = sidecar["env"].Elements();
  const auto listen = PlaceOf(env, kListen);
  auto others = ContainersOf(spec);
  std::erase_if(others, [](JsonValue one) { return one["name"].AsString() == kSidecarName; });
  const auto free = FreePort(others, settings.port);
  if (!listen || !free) return {};
  const std::string old(env[*listen]["value"].AsString().value_or(""));
  if (!Declares(others, old)) return {};
  const std::string port = std::to_string(*free);
  const std::string at = "/spec/initContainers/" + std::to_string(*place);
  std::vector<PatchOperation> patch = {
      {at + "/env/" + std::to_string(*listen) + "/value", TextValue(":" + port)}};
  // Somebody may have rewritten the others.
  const auto has_old = [&](JsonValue value) {
    return ":" + std::to_string(value.AsInteger().value_or(0)) == old;
  };
  const auto ports = sidecar["ports"].Elements();
  const auto metrics = PlaceOf(ports, kPortName);
  if (metrics && has_old(ports[*metrics]["containerPort"])) {
    patch.push_back({at + "/ports/" + std::to_string(*metrics) + "/containerPort", port});
  }
  if (has_old(sidecar["livenessProbe"]["httpGet"]["port"])) {
    patch.push_back({at + "/livenessProbe/httpGet/port", port});
  }
  const std::string annotations = "/metadata/annotations/";
  patch.push_back(
      {annotations + PointerToken(annotation::kStatus), TextValue(StatusText(settings, *free))});
  const JsonValue scraped = pod["metadata"]["annotations"][kScrapePort];
  if (":" + std::string(scraped.AsString().value_or("")) == old) {
    patch.push_back({annotations + PointerToken(kScrapePort), TextValue(port)});
  }
  return patch;
}

}  // namespace cluster_watcher
