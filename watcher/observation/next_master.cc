#include "watcher/observation/next_master.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "probes/base/names.h"
#include "watcher/observation/owner_names.h"
#include "watcher/protocol/annotations.h"

namespace cluster_watcher {
namespace {

constexpr std::string_view kWatcher = "cluster-watcher";  // its container, and its image

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

// What is not written out, as a `valueFrom`, stands for itself: the same text means the same value.
std::optional<std::string> Variable(JsonValue container, std::string_view name) {
  std::optional<std::string> found;
  for (const JsonValue variable : container["env"].Elements()) {
    if (variable["name"].AsString() != name) continue;
    const JsonValue from = variable["valueFrom"];
    found = from.IsObject() ? from.ToText() : variable["value"].AsString().value_or("");
  }
  return found;
}

// Replaces $(NAME), as the kubelet does.
std::string Expanded(std::string_view text, JsonValue container) {
  std::string expanded;
  for (;;) {
    const std::size_t open = text.find("$(");
    const std::size_t close = text.find(')', open);
    if (open == std::string_view::npos || close == std::string_view::npos) break;
    const auto value = Variable(container, text.substr(open + 2, close - open - 2));
    expanded += text.substr(0, open);
    expanded += value ? *value : text.substr(open, close + 1 - open);
    text.remove_prefix(close + 1);
  }
  return expanded.append(text);
}

// Returns the value of a flag among the words that start the container; "true" for one without. The
// last counts.
std::optional<std::string> Flag(JsonValue container, std::string_view flag) {
  std::vector<std::string_view> words;
  for (const char* list : {"command", "args"}) {
    for (const JsonValue word : container[list].Elements()) {
      words.push_back(word.AsString().value_or(""));
    }
  }
  std::optional<std::string> found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with(flag)) continue;
    std::string_view rest = words[i].substr(flag.size());
    if (rest.starts_with('=')) {
      found = Expanded(rest.substr(1), container);
    } else if (rest.empty()) {
      const bool has_value = flag != kDryRun.flag && i + 1 < words.size();
      found = has_value ? Expanded(words[i + 1], container) : "true";
    }
  }
  return found;
}

// "registry:5000/team/cluster-watcher:0.1.0"
bool IsWatcherImage(std::string_view image) {
  image = image.substr(image.rfind('/') + 1);
  return image.substr(0, image.find_first_of(":@")) == kWatcher;
}

JsonValue WatcherContainer(JsonValue pod) {
  std::vector<JsonValue> containers = pod["spec"]["initContainers"].Elements();
  for (const JsonValue container : pod["spec"]["containers"].Elements()) {
    containers.push_back(container);
  }
  const auto named = std::find_if(containers.begin(), containers.end(), [](JsonValue container) {
    return container["name"].AsString() == kWatcher;
  });
  if (named != containers.end()) return *named;
  const auto other = std::find_if(containers.begin(), containers.end(), [](JsonValue container) {
    return IsWatcherImage(container["image"].AsString().value_or("")) ||
           Flag(container, kOwner.flag) || Variable(container, kOwner.variable);
  });
  return other == containers.end() ? JsonValue() : *other;
}

std::string Setting(JsonValue pod, JsonValue container, const SettingNames& names) {
  if (auto flag = Flag(container, names.flag)) return *flag;
  if (auto variable = Variable(container, names.variable); variable && !variable->empty()) {
    return *variable;
  }
  return std::string(pod["metadata"]["annotations"][names.annotation].AsString().value_or(""));
}

std::string Described(const WatcherOrders& orders) {
  std::string text = Quoted(orders.owner);
  if (!orders.owner_kind.empty()) text += " of kind " + Quoted(orders.owner_kind);
  if (!orders.owner_namespace.empty()) text += " in namespace " + Quoted(orders.owner_namespace);
  return text;
}

}  // namespace

WatcherOrders ReadWatcherOrders(JsonValue pod) {
  const JsonValue container = WatcherContainer(pod);
  WatcherOrders orders;
  orders.owner = Setting(pod, container, kOwner);
  orders.owner_kind = Setting(pod, container, kOwnerKind);
  orders.owner_namespace = Setting(pod, container, kOwnerNamespace);
  orders.dry_run = Setting(pod, container, kDryRun) == "true";
  orders.opted_out = pod["metadata"]["annotations"][annotation::kInject].AsString() == "false";
  return orders;
}

JsonValue PodTemplateOf(const ResourceType& type, JsonValue root) {
  return IsWorkload(type) ? root["spec"]["template"] : JsonValue();
}

bool HasEnded(JsonValue pod) {
  const auto phase = pod["status"]["phase"].AsString();
  return phase == "Succeeded" || phase == "Failed";
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
  auto owner = OwnerName::Parse(next.owner);
  if (owner && owner->IsBare() && !next.owner_kind.empty()) {
    const KindName kind = SplitKindName(next.owner_kind);
    owner->kind = kind.kind;
    owner->group = kind.group;
  }
  if (owner && NamesOwner(look, *owner, next.owner_namespace)) return std::nullopt;
  return "names another owner, " + Described(next);
}

}  // namespace cluster_watcher
