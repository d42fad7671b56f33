#include "watcher/observation/next_master.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "probes/base/names.h"
#include "watcher/observation/owner_names.h"
#include "watcher/protocol/annotations.h"

namespace cluster_watcher {
namespace {

constexpr std::string_view kWatcher = "cluster-watcher";  // its container, and its image
constexpr std::size_t kLongestSetting = 4'096;            // bytes; none that is valid is longer

// A setting by each of its names.
struct SettingNames {
  std::string_view flag;
  std::string_view variable;
  std::string_view annotation;
};
constexpr SettingNames kOwner{"--owner", "CLUSTER_WATCHER_OWNER", "cluster-watcher/owner"};
constexpr SettingNames kOwnerKind{"--owner-kind", "CLUSTER_WATCHER_OWNER_KIND",
                                  "cluster-watcher/owner-kind"};
constexpr SettingNames kOwnerNamespace{"--owner-namespace", "CLUSTER_WATCHER_OWNER_NAMESPACE",
                                       "cluster-watcher/owner-namespace"};
constexpr SettingNames kDryRun{"--dry-run", "CLUSTER_WATCHER_DRY_RUN", "cluster-watcher/dry-run"};

// A container and the pod, or pod template, that it is of.
struct Container {
  JsonValue pod;
  JsonValue self;
};

// Returns what "metadata.labels['KEY']" or "metadata.annotations['KEY']" says, empty if there is no
// such key; nullopt for another path.
std::optional<std::string> FieldOf(JsonValue pod, std::string_view path) {
  for (const char* map : {"labels", "annotations"}) {
    const std::string before = "metadata." + std::string(map) + "['";
    if (!path.starts_with(before) || !path.ends_with("']")) continue;
    const std::string_view key = path.substr(before.size(), path.size() - before.size() - 2);
    return std::string(pod["metadata"][map][key].AsString().value_or(""));
  }
  return std::nullopt;
}

// Any other reference, as to a ConfigMap's key, stands for itself: the same text means the same
// value. What the ConfigMap said when our container started may have been another: that isn't seen.
std::string Referred(JsonValue pod, JsonValue from) {
  const auto path = from["fieldRef"]["fieldPath"].AsString();
  auto field = path ? FieldOf(pod, *path) : std::nullopt;
  return field ? *std::move(field) : from.ToText();
}

std::string ValueOf(const Container& container, JsonValue variable) {
  const JsonValue from = variable["valueFrom"];
  const std::string value = from.IsObject()
                                ? Referred(container.pod, from)
                                : std::string(variable["value"].AsString().value_or(""));
  return value.substr(0, kLongestSetting);
}

// All of them. Of two with one name the last counts.
std::map<std::string, std::string, std::less<>> Variables(const Container& container) {
  std::map<std::string, std::string, std::less<>> variables;
  for (const JsonValue variable : container.self["env"].Elements()) {
    variables.insert_or_assign(std::string(variable["name"].AsString().value_or("")),
                               ValueOf(container, variable));
  }
  return variables;
}

std::optional<std::string> Variable(const Container& container, std::string_view name) {
  std::optional<std::string> found;
  for (const JsonValue variable : container.self["env"].Elements()) {
    if (variable["name"].AsString() == name) found = ValueOf(container, variable);
  }
  return found;
}

// Replaces $(NAME), as the kubelet does. What is too long to be a setting is cut off.
std::string Expanded(std::string_view text, const Container& container) {
  text = text.substr(0, kLongestSetting);
  std::map<std::string, std::string, std::less<>> known;  // there may be thousands of variables
  std::string expanded;
  while (expanded.size() < kLongestSetting) {
    const std::size_t open = text.find("$(");
    const std::size_t close = text.find(')', open);
    if (open == std::string_view::npos || close == std::string_view::npos) break;
    if (known.empty()) known = Variables(container);
    const auto value = known.find(text.substr(open + 2, close - open - 2));
    expanded += text.substr(0, open);
    expanded += value != known.end() ? value->second : text.substr(open, close + 1 - open);
    text.remove_prefix(close + 1);
  }
  return expanded.append(text).substr(0, kLongestSetting);
}

// Returns the value of a flag among the words that start the container; "true" for one without. The
// last counts.
std::optional<std::string> Flag(const Container& container, std::string_view flag,
                                bool is_boolean = false) {
  std::vector<std::string_view> words;
  for (const char* list : {"command", "args"}) {
    for (const JsonValue word : container.self[list].Elements()) {
      words.push_back(word.AsString().value_or(""));
    }
  }
  std::optional<std::string_view> found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with(flag)) continue;
    std::string_view rest = words[i].substr(flag.size());
    if (rest.starts_with('=')) {
      found = rest.substr(1);
    } else if (rest.empty()) {
      const bool has_value = !is_boolean && i + 1 < words.size();
      found = has_value ? words[i + 1] : "true";
    }
  }
  return found ? std::optional(Expanded(*found, container)) : std::nullopt;
}

// "registry:5000/team/cluster-watcher:0.1.0"
bool IsWatcherImage(std::string_view image) {
  image = image.substr(image.rfind('/') + 1);
  return image.substr(0, image.find_first_of(":@")) == kWatcher;
}

bool HasWatcherName(JsonValue container) { return container["name"].AsString() == kWatcher; }

bool LooksLikeWatcher(const Container& container) {
  return IsWatcherImage(container.self["image"].AsString().value_or("")) ||
         Flag(container, kOwner.flag) || Variable(container, kOwner.variable);
}

JsonValue WatcherContainer(JsonValue pod) {
  std::vector<JsonValue> containers = pod["spec"]["initContainers"].Elements();
  for (const JsonValue container : pod["spec"]["containers"].Elements()) {
    containers.push_back(container);
  }
  const auto named = std::find_if(containers.begin(), containers.end(), HasWatcherName);
  if (named != containers.end()) return *named;
  const auto other = std::find_if(containers.begin(), containers.end(), [&](JsonValue container) {
    return LooksLikeWatcher({pod, container});
  });
  return other == containers.end() ? JsonValue() : *other;
}

std::string Setting(const Container& container, const SettingNames& names) {
  if (auto flag = Flag(container, names.flag, &names == &kDryRun)) return *flag;
  if (auto variable = Variable(container, names.variable); variable && !variable->empty()) {
    return *variable;
  }
  return std::string(
      container.pod["metadata"]["annotations"][names.annotation].AsString().value_or(""));
}

std::string Described(const WatcherOrders& orders) {
  std::string text = Quoted(orders.owner);
  if (!orders.owner_kind.empty()) text += " of kind " + Quoted(orders.owner_kind);
  if (!orders.owner_namespace.empty()) text += " in namespace " + Quoted(orders.owner_namespace);
  return text;
}

}  // namespace

WatcherOrders ReadWatcherOrders(JsonValue pod) {
  const Container container{pod, WatcherContainer(pod)};
  WatcherOrders orders;
  orders.owner = Setting(container, kOwner);
  orders.owner_kind = Setting(container, kOwnerKind);
  orders.owner_namespace = Setting(container, kOwnerNamespace);
  orders.dry_run = Setting(container, kDryRun) == "true";
  orders.opted_out = pod["metadata"]["annotations"][annotation::kInject].AsString() == "false";
  return orders;
}

void AddSettingsOfWatcher(JsonValue pod, TextMap& annotations) {
  const Container container{pod, WatcherContainer(pod)};
  if (!container.self.IsObject()) return;
  for (const SettingDescription& setting : SettingDescriptions()) {
    // Which cluster it is, is known.
    const bool is_cluster = setting.name.starts_with("cluster");
    if (!setting.from_annotation || is_cluster) continue;
    std::string variable = "CLUSTER_WATCHER_" + setting.name;
    std::transform(variable.begin(), variable.end(), variable.begin(), [](char c) {
      return c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    });
    auto value = Flag(container, "--" + setting.name, setting.placeholder == "true|false");
    if (!value) value = Variable(container, variable);
    if (value && !value->empty()) annotations[annotation::kPrefix + setting.name] = *value;
  }
}

JsonValue PodTemplateOf(const ResourceType& type, JsonValue root) {
  if (!IsWorkload(type)) return {};
  const JsonValue spec = root["spec"];
  return type.kind == "CronJob" ? spec["jobTemplate"]["spec"]["template"] : spec["template"];
}

bool MakesMasters(const ResourceType& type, JsonValue workload) {
  return PodTemplateOf(type, workload)["metadata"]["labels"][kTypeLabel].AsString() == kMasterType;
}

bool WaitsForItsWatcher(JsonValue pod) {
  for (const JsonValue condition : pod["status"]["conditions"].Elements()) {
    if (condition["type"].AsString() == "Initialized" && condition["status"].AsString() == "True") {
      return false;
    }
  }
  const auto may_be_watcher = [&](JsonValue container) {
    return HasWatcherName(container) || LooksLikeWatcher({pod, container});
  };
  bool waits = false;
  for (const JsonValue container : pod["spec"]["initContainers"].Elements()) {
    if (!may_be_watcher(container)) continue;
    if (container["restartPolicy"].AsString() == "Always") return false;
    waits = true;
  }
  const auto others = pod["spec"]["containers"].Elements();
  return waits && std::none_of(others.begin(), others.end(), may_be_watcher);
}

bool HasEnded(JsonValue pod) {
  const auto phase = pod["status"]["phase"].AsString();
  return phase == "Succeeded" || phase == "Failed";
}

bool IsWatched(JsonValue pod) {
  const auto name = WatcherContainer(pod)["name"].AsString();
  if (!name || pod["metadata"]["deletionTimestamp"].AsString()) return false;
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const JsonValue container : pod["status"][list].Elements()) {
      if (container["name"].AsString() == name && container["state"]["running"].IsObject()) {
        return true;
      }
    }
  }
  return false;
}

std::optional<OwnerName> OwnerNamedBy(const WatcherOrders& orders) {
  auto owner = OwnerName::Parse(orders.owner);
  if (!owner) return std::nullopt;
  if (owner->IsBare() && !orders.owner_kind.empty()) {
    const KindName kind = SplitKindName(orders.owner_kind);
    owner->kind = kind.kind;
    owner->group = kind.group;
  }
  return *owner;
}

bool RunsAnotherDriver(const Snapshot& look, const WatcherOrders& next) {
  return OwnerNamedBy(next) && !(next.opted_out && !look.orders.opted_out) &&
         !(next.dry_run && !look.orders.dry_run);
}

std::optional<std::string> LeadsElsewhere(const Snapshot& look, const WatcherOrders& next) {
  const WatcherOrders& ours = look.orders;
  if (!look.owner_name) return std::nullopt;
  if (next.opted_out && !ours.opted_out) {
    return std::string("has ") + annotation::kInject + ": \"false\"";
  }
  if (next.dry_run && !ours.dry_run) return "is for a dry run";
  if (next.owner.empty()) {
    return ours.owner.empty() ? std::nullopt : std::optional<std::string>("names no owner");
  }
  if (Described(next) == Described(ours)) return std::nullopt;
  const auto owner = OwnerNamedBy(next);
  if (owner && NamesOwner(look, *owner, next.owner_namespace)) return std::nullopt;
  return "names another owner, " + Described(next);
}

}  // namespace cluster_watcher
