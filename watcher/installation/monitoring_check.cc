#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "watcher/installation/checks.h"

namespace cluster_watcher {
namespace {

constexpr const char* kOurMonitors =
    "app.kubernetes.io/name=cluster-watcher,app.kubernetes.io/component=monitoring";
constexpr const char* kInstall = "kubectl apply -k manifests/chart/objects/monitoring";

// Source: kubernetes.io "Labels and Selectors", metav1.LabelSelectorRequirement.
bool Fits(JsonValue requirement, JsonValue labels) {
  const auto operation = requirement["operator"].AsString();
  const auto label = labels[requirement["key"].AsString().value_or("")].AsString();
  const auto values = requirement["values"].Elements();
  const bool is_one = label && std::any_of(values.begin(), values.end(), [&](JsonValue value) {
                        return value.AsString() == label;
                      });
  if (operation == "In") return is_one;
  if (operation == "NotIn") return !is_one;
  if (operation == "Exists") return label.has_value();
  return operation == "DoesNotExist" && !label;
}

// An empty selector fits all.
bool Selects(JsonValue selector, JsonValue labels) {
  const auto pairs = selector["matchLabels"].Members();
  const auto requirements = selector["matchExpressions"].Elements();
  return std::all_of(pairs.begin(), pairs.end(),
                     [&](const auto& pair) {
                       return labels[pair.first].AsString() == pair.second.AsString();
                     }) &&
         std::all_of(requirements.begin(), requirements.end(),
                     [&](JsonValue requirement) { return Fits(requirement, labels); });
}

// The objects of one kind that the installation brings along, and how a Prometheus selects them.
struct Shipped {
  const char* plural;
  const char* selector;
  const char* namespace_selector;
};
constexpr Shipped kShipped[] = {
    {"podmonitors", "podMonitorSelector", "podMonitorNamespaceSelector"},
    {"prometheusrules", "ruleSelector", "ruleNamespaceSelector"}};

// Source: the Prometheus operator's API reference. Without a selector it takes none, without one of
// namespaces those of its own.
bool Takes(JsonValue prometheus, const Shipped& kind, JsonValue object, JsonValue its_namespace) {
  const JsonValue selector = prometheus["spec"][kind.selector];
  if (!selector.IsObject() || !Selects(selector, object["metadata"]["labels"])) return false;
  const JsonValue namespaces = prometheus["spec"][kind.namespace_selector];
  if (namespaces.IsObject()) return Selects(namespaces, its_namespace["metadata"]["labels"]);
  return prometheus["metadata"]["namespace"].AsString() ==
         object["metadata"]["namespace"].AsString();
}

using Documents = std::vector<JsonDocument>;

Result<std::optional<ResourceType>, ApiError> TypeOf(const DriverTools& tools, const char* plural) {
  return tools.discovery.ByPlural(plural, "monitoring.coreos.com", tools.Reads());
}

// Reads those of all namespaces.
Result<Documents, ApiError> Read(const DriverTools& tools, const ApiRequest& list) {
  Documents all;
  const auto read = tools.client.EachItem(
      list, [&](JsonValue item) { all.push_back(*JsonDocument::Parse(item.ToText())); },
      tools.Reads());
  if (!read) return Unexpected{read.error()};
  return all;
}

std::string NameOf(const ResourceType& type, JsonValue object) {
  return type.SingularName() + " " +
         std::string(object["metadata"]["namespace"].AsString().value_or("")) + "/" +
         std::string(object["metadata"]["name"].AsString().value_or(""));
}

// Finds what is wrong with the objects of one kind.
Finding CheckKind(const DriverTools& tools, const Shipped& kind, const Documents& prometheuses) {
  const auto type = TypeOf(tools, kind.plural);
  if (!type) return Finding::Unknown("the monitoring is", type.error());
  if (!*type) return Finding::Ok("");
  const auto objects = Read(tools, ApiRequest::ListBySelector(**type, "", kOurMonitors, false));
  if (!objects) return Finding::Unknown("the monitoring is", objects.error());
  if (objects->empty()) {
    return Finding::Warning("there are no " + (*type)->QualifiedName() + " of cluster-watcher",
                            kInstall);
  }
  for (const JsonDocument& object : *objects) {
    const std::string ns(object.root()["metadata"]["namespace"].AsString().value_or(""));
    const Found its_namespace = FindNamespace(tools, ns);
    if (!its_namespace) return Finding::Unknown("namespace " + ns + " is", its_namespace.error());
    const JsonValue labels = *its_namespace ? (*its_namespace)->root() : JsonValue();
    if (std::none_of(prometheuses.begin(), prometheuses.end(), [&](const JsonDocument& one) {
          return Takes(one.root(), kind, object.root(), labels);
        })) {
      return Finding::Warning("no Prometheus selects " + NameOf(**type, object.root()),
                              std::string("let a Prometheus match it by ") + kind.selector +
                                  " and " + kind.namespace_selector + " (docs/metrics.md)");
    }
  }
  return Finding::Ok("");
}

}  // namespace

Finding CheckMonitoring(const Subject& subject) {
  const DriverTools& tools = subject.tools;
  const auto type = TypeOf(tools, "prometheuses");
  if (!type) return Finding::Unknown("the Prometheus operator is", type.error());
  if (!*type) return Finding::Ok("not looked at: the Prometheus operator isn't here");
  const auto prometheuses = Read(tools, ApiRequest::List(**type, ""));
  if (!prometheuses) return Finding::Unknown("Prometheuses are", prometheuses.error());
  for (const Shipped& kind : kShipped) {
    Finding finding = CheckKind(tools, kind, *prometheuses);
    if (finding.state != Finding::State::kOk) return finding;
  }
  return Finding::Ok("a Prometheus selects what scrapes the watchers, and the alerts");
}

}  // namespace cluster_watcher
