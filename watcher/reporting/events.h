// Kubernetes Events (events.k8s.io/v1) about the life of the cluster. A failed write is returned
// and logged at debug level; it stops nothing.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <spdlog/logger.h>

#include "probes/base/clock.h"
#include "probes/kube/kube_client.h"

namespace cluster_watcher {

enum class EventType { kNormal, kWarning };

// The object of an Event. The Event is written in `ns`, which must be the object's own.
struct Regarding {
  std::string api_version;
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;

  static Regarding Object(const KubeObject& object);
  // The Namespace itself, which outlives what is deleted in it.
  static Regarding Namespace(const std::string& ns);
};

// Joins `before`, `middle` and `after` to a note. Cuts the middle if the note would exceed its
// limit of 1,024 bytes.
std::string FitNote(std::string_view before, std::string middle, std::string_view after);

class EventRecorder {
 public:
  EventRecorder(KubeClient& client, Clock& clock, spdlog::logger& log, std::string instance);

  // Writes one Event for each of `regarding`, three at a time, each within 2 s. `reason` is a word
  // of the contract ("ClusterDeleting"), `action` a verb ("Deleting"); `note` is cut at 1,024
  // bytes. Returns for each Event why it wasn't written; nullopt if it was.
  std::vector<std::optional<ApiFailure>> Record(const std::vector<Regarding>& regarding,
                                                EventType type, std::string_view reason,
                                                std::string_view action, std::string note,
                                                std::stop_token stop);

 private:
  ApiRequest MakeRequest(const Regarding& regarding, EventType type, std::string_view reason,
                         std::string_view action, std::string_view note);

  KubeClient& client_;
  Clock& clock_;
  spdlog::logger& log_;
  std::string instance_;
};

}  // namespace cluster_watcher
