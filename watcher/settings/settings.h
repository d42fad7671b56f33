// The settings of all commands. A setting comes from its flag, else from the environment
// (CLUSTER_WATCHER_POLL_INTERVAL), else from the pod's annotation (cluster-watcher/poll-interval),
// else it has its default.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/clock.h"
#include "probes/cluster_probe.h"
#include "probes/field_path.h"
#include "probes/kube/api_server.h"
#include "probes/owner_name.h"

namespace cluster_watcher {

enum class Observe { kPoll, kWatch };
enum class Volumes { kPreserve, kDelete, kCollect };
enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };

struct Settings {
  std::optional<OwnerName> owner;
  std::string owner_kind;       // the one kind that a bare name may mean; empty: any
  std::string owner_namespace;  // empty: the pod's
  std::string owner_container;  // of a Pod; empty: the Pod as a whole

  std::string cluster;        // empty: the value of the pod's cluster label
  std::string cluster_label;  // empty: the profile's
  std::string profile;        // empty: the one that the pod's labels fit
  std::shared_ptr<const ProfileTable> profiles = BuiltInProfiles();  // never null
  // The profile that is given by these, or that a command has found; null: neither.
  SharedProfile words;
  std::string ns;   // --namespace; empty: the context's, else the service account's
  std::string pod;  // --pod

  Duration poll_interval{5'000};
  int confirmations = 3;
  std::optional<Duration> grace_period;  // none: 30 s, or the owner's own up to 1 h if longer
  std::optional<Duration> scaled_to_zero_grace_period;  // none: grace_period
  Duration startup_grace{300'000};
  int surge_limit = 10;  // 0: none
  Duration surge_grace{600'000};
  std::optional<CompletedWhen> completed_when;  // for custom resources
  Observe observe = Observe::kPoll;

  Volumes volumes = Volumes::kPreserve;
  Duration volume_retention{86'400'000};
  std::vector<std::string> resources;  // plural[.group]; empty: the built-in list
  int concurrency = 8;
  Duration steps_deadline{30'000};
  Duration delete_deadline{600'000};
  Duration operator_grace{30'000};
  bool dry_run = false;

  std::string listen = ":9090";
  std::string kubeconfig;
  std::string context;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;

  // The profile of a cluster of which no pod tells.
  SharedProfile Words() const { return words ? words : profiles->rows().front(); }
  // The namespace of the owner.
  const std::string& OwnerNamespace() const {
    return owner_namespace.empty() ? ns : owner_namespace;
  }
};

enum class SettingSource { kDefault, kAnnotation, kEnvironment, kFlag };
const char* ToString(SettingSource source);  // "default", "annotation", ...

// The value of one setting and its origin; `value` is the text, "" if unset.
struct SettingValue {
  struct Given {
    std::string value;
    SettingSource source;
  };
  std::string name;  // the flag without dashes: "poll-interval"
  std::string value;
  SettingSource source = SettingSource::kDefault;
  std::vector<Given> overridden = {};  // valid values from sources of lower precedence
};

// Describes a setting to people.
struct SettingDescription {
  std::string name;
  std::string placeholder;    // "DURATION", "NAME", "poll|watch"
  std::string default_value;  // as a person would write it; "" if none
  std::string help;
  bool from_annotation = true;  // false: only by flag or environment
};
const std::vector<SettingDescription>& SettingDescriptions();

// The names of those that say who the owner is, and how it ends.
inline constexpr std::array kOwnerSettings{"owner", "owner-kind", "owner-namespace",
                                           "owner-container", "completed-when"};
// `environment` without these, for who looks at clusters from outside: each has its own.
Environment WithoutOwner(const Environment& environment);

struct ResolvedSettings {
  Settings settings;
  std::vector<SettingValue> values;  // every setting, in the order of the descriptions
  std::vector<std::string> errors;  // of flags and environment; each names the thing and the remedy
  std::vector<std::string> annotation_errors;  // of annotations, even of overridden ones
  // What is wrong with the rows of profiles that the installation adds, of which then none counts;
  // "" if nothing. All its sidecars have them, so it is no error that ends a watcher.
  std::string rows_error;
};

using TextMap = std::map<std::string, std::string, std::less<>>;

// `flags` are named without dashes. `annotations` are all of the pod's: an unknown one that begins
// with "cluster-watcher/" is an error, and so is a value that is too long to be parsed
// (annotation::TooLong); other keys are ignored. POD_NAME and POD_NAMESPACE serve as --pod and
// --namespace when those aren't set. A value that doesn't parse is reported, and the setting falls
// back to its next source.
ResolvedSettings ResolveSettings(const TextMap& flags, const Environment& environment,
                                 const TextMap& annotations);

// Whether the program reads or writes an annotation under this key: a setting, or one of
// protocol/annotations.h.
bool IsKnownAnnotation(std::string_view key);

// Collects annotations that begin with "cluster-watcher/" and that nobody knows. There may be a
// hundred thousand: the first few are named, the others are counted.
class UnknownAnnotations {
 public:
  static constexpr std::size_t kNamed = 8;

  void Add(std::string_view key);
  bool AreAllNamed() const { return unnamed_ == 0; }
  // Returns a line for each that is named, and one for the others.
  std::vector<std::string> Lines() const;

 private:
  std::vector<std::string> named_;  // in quotes
  std::size_t unnamed_ = 0;
};

// Returns the errors in a pod's setting annotations, where these profiles are known.
std::vector<std::string> AnnotationErrors(const TextMap& annotations,
                                          std::shared_ptr<const ProfileTable> profiles);

}  // namespace cluster_watcher
