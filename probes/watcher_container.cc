#include "probes/watcher_container.h"

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "probes/kube/pod_state.h"

namespace cluster_watcher {
namespace {

constexpr std::string_view kWatcher = "cluster-watcher";  // its container, and its image
constexpr std::size_t kLongestSetting = 4'096;            // bytes; none that is valid is longer

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

std::string ValueOf(const PodContainer& container, JsonValue variable) {
  const JsonValue from = variable["valueFrom"];
  const std::string value = from.IsObject()
                                ? Referred(container.pod, from)
                                : std::string(variable["value"].AsString().value_or(""));
  return value.substr(0, kLongestSetting);
}

// All of them. Of two with one name the last counts.
std::map<std::string, std::string, std::less<>> Variables(const PodContainer& container) {
  std::map<std::string, std::string, std::less<>> variables;
  for (const JsonValue variable : container.self["env"].Elements()) {
    variables.insert_or_assign(std::string(variable["name"].AsString().value_or("")),
                               ValueOf(container, variable));
  }
  return variables;
}

// Replaces $(NAME), as the kubelet does. What is too long to be a setting is cut off.
std::string Expanded(std::string_view text, const PodContainer& container) {
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

// "registry:5000/team/cluster-watcher:0.1.0"
bool IsWatcherImage(std::string_view image) {
  image = image.substr(image.rfind('/') + 1);
  return image.substr(0, image.find_first_of(":@")) == kWatcher;
}

bool HasWatcherName(JsonValue container) { return container["name"].AsString() == kWatcher; }

// By its image, or by what it is told of the owner.
bool LooksLikeWatcher(const PodContainer& container) {
  if (IsWatcherImage(container.self["image"].AsString().value_or(""))) return true;
  const auto variables = container.self["env"].Elements();
  return container.Flag("--owner") || container.Flag("--owner-namespace") ||
         std::any_of(variables.begin(), variables.end(), [](JsonValue variable) {
           return variable["name"].AsString().value_or("").starts_with("CLUSTER_WATCHER_OWNER");
         });
}

}  // namespace

std::optional<std::string> PodContainer::Variable(std::string_view name) const {
  std::optional<std::string> found;
  for (const JsonValue variable : self["env"].Elements()) {
    if (variable["name"].AsString() == name) found = ValueOf(*this, variable);
  }
  return found;
}

std::optional<std::string> PodContainer::Flag(std::string_view flag, bool is_boolean) const {
  std::vector<std::string_view> words;
  for (const char* list : {"command", "args"}) {
    for (const JsonValue word : self[list].Elements()) {
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
  return found ? std::optional(Expanded(*found, *this)) : std::nullopt;
}

PodContainer WatcherContainerOf(JsonValue pod) {
  std::vector<JsonValue> containers = pod["spec"]["initContainers"].Elements();
  for (const JsonValue container : pod["spec"]["containers"].Elements()) {
    containers.push_back(container);
  }
  const auto named = std::find_if(containers.begin(), containers.end(), HasWatcherName);
  if (named != containers.end()) return {pod, *named};
  const auto other = std::find_if(containers.begin(), containers.end(), [&](JsonValue container) {
    return LooksLikeWatcher({pod, container});
  });
  return {pod, other == containers.end() ? JsonValue() : *other};
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

bool IsWatched(JsonValue pod) {
  const auto name = WatcherContainerOf(pod).self["name"].AsString();
  if (!name || !IsRunning(pod) || WaitsForItsWatcher(pod)) return false;
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const JsonValue container : pod["status"][list].Elements()) {
      if (container["name"].AsString() == name && container["state"]["running"].IsObject()) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace cluster_watcher
