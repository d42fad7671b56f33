#include "watcher/installation/subject.h"

#include <utility>

#include "probes/masters.h"
#include "probes/watcher_container.h"

namespace cluster_watcher {
namespace {

// A pod that is made waits so until its containers are due.
bool IsOnItsWay(std::string_view reason) {
  return reason.empty() || reason == "PodInitializing" || reason == "ContainerCreating";
}

std::string WhyItWaits(JsonValue pod, std::string_view container) {
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const JsonValue status : pod["status"][list].Elements()) {
      const JsonValue waiting = status["state"]["waiting"];
      const std::string reason(waiting["reason"].AsString().value_or(""));
      if (status["name"].AsString() != container || IsOnItsWay(reason)) continue;
      const auto message = waiting["message"].AsString();
      return message ? reason + ": " + std::string(*message) : reason;
    }
  }
  return "";
}

Result<std::vector<MasterPod>, ApiError> ReadMasters(const DriverTools& tools,
                                                     const std::string& ns) {
  std::vector<MasterPod> masters;
  const auto read = tools.client.EachItem(
      ApiRequest::ListUnendedPods(ns, "", false),
      [&](JsonValue pod) {
        const JsonValue watcher = WatcherContainerOf(pod).self;
        if (!watcher.IsObject() && !AsksForWatcher(pod["metadata"], *tools.profiles)) return;
        const std::string container(watcher["name"].AsString().value_or(""));
        masters.push_back({std::string(pod["metadata"]["name"].AsString().value_or("")),
                           watcher.IsObject(), IsWatched(pod), WhyItWaits(pod, container)});
      },
      tools.Reads());
  if (!read) return Unexpected{read.error()};
  return masters;
}

}  // namespace

std::optional<std::string> Subject::Label(const char* key) const {
  if (!its_namespace || !*its_namespace) return std::nullopt;
  const auto value = (*its_namespace)->root()["metadata"]["labels"][key].AsString();
  return value ? std::optional<std::string>(*value) : std::nullopt;
}

Found Find(const DriverTools& tools, const ResourceType& type, const std::string& ns,
           const std::string& name) {
  auto answer = tools.client.Do(ApiRequest::Get(type, ns, name), tools.Reads());
  if (answer) return std::optional(std::move(answer->document));
  if (answer.error().failure == ApiFailure::kNotFound) return std::optional<JsonDocument>();
  return Unexpected{std::move(answer).error()};
}

Found FindNamespace(const DriverTools& tools, const std::string& ns) {
  return Find(tools, *FindBuiltInByName("namespaces", ""), "", ns);
}

Subject ReadSubject(const DriverTools& tools, const std::string& ns) {
  Subject subject{tools, ns, FindNamespace(tools, ns), {}, std::vector<MasterPod>()};
  if (subject.IsAbsent() || !subject.IsAnswered()) return subject;
  subject.trial = TryMaster(tools, ns);
  subject.masters = ReadMasters(tools, ns);
  return subject;
}

}  // namespace cluster_watcher
