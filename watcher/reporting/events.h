// Kubernetes Events (events.k8s.io/v1) about the cluster's life, for people who look after the
// fact. Writing one never blocks or fails what it tells of.
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

// What an Event is about; it is written in `ns`, which must be the object's own.
struct Regarding {
  std::string api_version;
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;

  static Regarding Object(const KubeObject& object);
  // The Namespace itself, which survives what is deleted in it.
  static Regarding Namespace(const std::string& ns);
};

// `before`, `middle` and `after` as one note; where that is longer than a note may be (1,024
// bytes), the middle is cut.
std::string FitNote(std::string_view before, std::string middle, std::string_view after);

class EventRecorder {
 public:
  EventRecorder(KubeClient& client, Clock& clock, spdlog::logger& log, std::string instance);

  // `reason` as the contract has it ("ClusterDeleting"), `action` a verb ("Deleting"); `note` is
  // cut at 1,024 bytes. One for each of `regarding`, side by side, in 2 s at the most. Why each was
  // not written; nullopt: it was.
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
