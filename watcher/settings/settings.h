// Every setting of `watch` and `check`, in one place. A setting is taken from its flag, else from
// the environment (CLUSTER_WATCHER_POLL_INTERVAL), else from the pod's annotation
// (cluster-watcher/poll-interval), else it has its default.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/clock.h"
#include "probes/field_path.h"
#include "probes/kube/api_server.h"
#include "probes/owner_name.h"

namespace cluster_watcher {

enum class ReplacedOwner { kAdopt, kAbandon };
enum class Observe { kPoll, kWatch };
enum class Propagation { kBackground, kForeground };
enum class Volumes { kPreserve, kDelete, kCollect };
enum class OnTermination { kFinish, kLeave };
enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };

struct Settings {
  std::optional<OwnerName> owner;
  std::string owner_kind;  // the one kind that a bare name is looked for as; empty: all of them
  std::string owner_namespace;  // empty: the pod's

  std::string cluster;  // empty: the value of the pod's cluster label
  std::string cluster_label = "oshinko-cluster";
  std::string ns;   // --namespace; empty: POD_NAMESPACE, the context's, the service account's
  std::string pod;  // --pod; empty: POD_NAME

  Duration poll_interval{5'000};
  int confirmations = 3;
  std::optional<Duration> grace_period;  // none: 30 s or the owner's own, whichever is longer
  std::optional<Duration> scaled_to_zero_grace_period;  // none: as grace_period
  Duration startup_grace{300'000};
  ReplacedOwner replaced_owner = ReplacedOwner::kAdopt;
  std::optional<CompletedWhen> completed_when;  // for custom resources
  Observe observe = Observe::kPoll;

  Propagation propagation = Propagation::kBackground;
  Volumes volumes = Volumes::kPreserve;
  Duration volume_retention{86'400'000};
  std::vector<std::string> resources;  // plural[.group]; empty: the built-in list
  int concurrency = 8;
  Duration steps_deadline{30'000};
  Duration delete_deadline{600'000};
  OnTermination on_termination = OnTermination::kFinish;
  bool dry_run = false;

  std::string listen = ":9090";
  std::string kubeconfig;
  std::string context;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;

  // The namespace that the owner is in.
  const std::string& OwnerNamespace() const {
    return owner_namespace.empty() ? ns : owner_namespace;
  }
};

enum class SettingSource { kDefault, kAnnotation, kEnvironment, kFlag };
const char* ToString(SettingSource source);  // "default", "annotation", ...

// One setting as it came out; `value` is its text, "" where it is unset.
struct SettingValue {
  struct Given {
    std::string value;
    SettingSource source;
  };
  std::string name;  // the flag without dashes: "poll-interval"
  std::string value;
  SettingSource source = SettingSource::kDefault;
  std::vector<Given> overridden = {};  // what was given as well, and didn't count
};

// How a setting is described to people.
struct SettingDescription {
  std::string name;
  std::string placeholder;    // "DURATION", "NAME", "background|foreground"
  std::string default_value;  // as a person would write it; "" for none
  std::string help;
  bool from_annotation = true;  // false: flag and environment only
};
const std::vector<SettingDescription>& SettingDescriptions();

struct ResolvedSettings {
  Settings settings;
  std::vector<SettingValue> values;  // every setting, in the order of the descriptions
  std::vector<std::string> errors;  // of flags and environment: each names the thing and the remedy
  std::vector<std::string> annotation_errors;  // of annotations, also of those that are overridden
};

using TextMap = std::map<std::string, std::string, std::less<>>;

// `flags`: by name without dashes. `annotations`: all of the pod's; of those that begin with
// "cluster-watcher/" unknown ones are errors, other keys are passed over.
// POD_NAME and POD_NAMESPACE stand in for --pod and --namespace. Values that fail to parse are
// named in the errors and leave the setting at its next source.
ResolvedSettings ResolveSettings(const TextMap& flags, const Environment& environment,
                                 const TextMap& annotations);

// What is wrong with the settings among a pod's annotations.
std::vector<std::string> AnnotationErrors(const TextMap& annotations);

}  // namespace cluster_watcher
