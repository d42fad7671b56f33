#include "watcher/observation/next_master.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "probes/base/names.h"
#include "probes/watcher_container.h"
#include "watcher/observation/owner_names.h"
#include "watcher/protocol/annotations.h"

namespace cluster_watcher {
namespace {

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

std::string Setting(const PodContainer& container, const SettingNames& names) {
  if (auto flag = container.Flag(names.flag, &names == &kDryRun)) return *flag;
  if (auto variable = container.Variable(names.variable); variable && !variable->empty()) {
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
  const PodContainer container = WatcherContainerOf(pod);
  WatcherOrders orders;
  orders.owner = Setting(container, kOwner);
  orders.owner_kind = Setting(container, kOwnerKind);
  orders.owner_namespace = Setting(container, kOwnerNamespace);
  orders.dry_run = Setting(container, kDryRun) == "true";
  orders.opted_out = pod["metadata"]["annotations"][annotation::kInject].AsString() == "false";
  return orders;
}

std::string AddSettingsOfWatcher(JsonValue pod, TextMap& annotations) {
  const PodContainer container = WatcherContainerOf(pod);
  if (!container.self.IsObject()) return "";
  for (const SettingDescription& setting : SettingDescriptions()) {
    // Which cluster it is, is known.
    const bool is_cluster = setting.name.starts_with("cluster");
    if (!setting.from_annotation || is_cluster) continue;
    std::string variable = "CLUSTER_WATCHER_" + setting.name;
    std::transform(variable.begin(), variable.end(), variable.begin(), [](char c) {
      return c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    });
    auto value = container.Flag("--" + setting.name, setting.placeholder == "true|false");
    if (!value) value = container.Variable(variable);
    if (value && !value->empty()) annotations[annotation::kPrefix + setting.name] = *value;
  }
  if (container.self["envFrom"].size() == 0) return "";
  return "the watcher's container takes variables by envFrom, which can't be seen from here, and "
         "may be settings: name those in env, by annotations or by flags";
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

std::optional<std::string> NamesAnotherDriver(const Snapshot& look, const WatcherOrders& next,
                                              const std::string& ns_unsaid) {
  if (!look.owner_name || next.owner.empty()) return std::nullopt;
  if (Described(next) == Described(look.pod_says.orders)) return std::nullopt;
  const auto owner = OwnerNamedBy(next);
  const std::string& ns = next.owner_namespace.empty() ? ns_unsaid : next.owner_namespace;
  if (owner && NamesOwner(look, *owner, ns)) return std::nullopt;
  return "names another owner, " + Described(next);
}

std::optional<std::string> LeadsNowhere(const Snapshot& look, const WatcherOrders& next) {
  const WatcherOrders& ours = look.pod_says.orders;
  if (!look.owner_name) return std::nullopt;
  if (next.opted_out && !ours.opted_out) {
    return std::string("has ") + annotation::kInject + ": \"false\"";
  }
  if (next.dry_run && !ours.dry_run) return "is for a dry run";
  if (next.owner.empty() && !ours.owner.empty()) return "names no owner";
  return std::nullopt;
}

}  // namespace cluster_watcher
