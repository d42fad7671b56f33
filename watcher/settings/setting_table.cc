#include "watcher/settings/setting_table.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>
#include <system_error>
#include <utility>

#include "metrics/http/listen_address.h"
#include "probes/base/duration_text.h"
#include "probes/base/names.h"
#include "probes/kube/resource_type.h"

namespace cluster_watcher {
namespace {

using namespace std::chrono_literals;

// Only for text that has parsed, which contains nothing to escape.
std::string Shown(std::string_view text) {
  return text.size() <= 80 ? std::string(text) : Quoted(text);
}

Unexpected<Error> OutOfBounds(std::string_view text, const std::string& bounds) {
  return Failure(Shown(text) + " is out of bounds: give " + bounds);
}

template <typename Field>
Parse DurationWithin(Field Settings::*field, Duration least, Duration most) {
  return [=](std::string_view text, Settings& settings) -> Result<Done> {
    Result<Duration> duration = ParseDuration(text);
    if (!duration) return Unexpected{duration.error()};
    if (*duration < least || *duration > most) {
      return OutOfBounds(text, FormatDuration(least) + " to " + FormatDuration(most));
    }
    settings.*field = *duration;
    return Done{};
  };
}

Parse NumberWithin(int Settings::*field, int least, int most) {
  return [=](std::string_view text, Settings& settings) -> Result<Done> {
    const std::string bounds = std::to_string(least) + " to " + std::to_string(most);
    const char* const end = text.data() + text.size();
    int number = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc::invalid_argument || stop != end) {
      return Failure(Quoted(text) + " is not a whole number: give " + bounds);
    }
    if (error == std::errc::result_out_of_range || number < least || number > most) {
      return OutOfBounds(text, bounds);
    }
    settings.*field = number;
    return Done{};
  };
}

template <typename Value>
struct Choice {
  std::string text;
  Value value;
};

template <typename Value>
Parse OneOf(Value Settings::*field, const std::vector<Choice<Value>>& choices) {
  return [=](std::string_view text, Settings& settings) -> Result<Done> {
    std::string known;
    for (const Choice<Value>& choice : choices) {
      if (choice.text == text) {
        settings.*field = choice.value;
        return Done{};
      }
      if (!known.empty()) known += &choice == &choices.back() ? " or " : ", ";
      known += choice.text;
    }
    return Failure(Quoted(text) + " is unknown: give " + known);
  };
}

Parse AnyText(std::string Settings::*field) {
  return [=](std::string_view text, Settings& settings) -> Result<Done> {
    settings.*field = text;
    return Done{};
  };
}

// `why` continues the sentence after the quoted text.
Parse TextThat(bool (*fits)(std::string_view), std::string Settings::*field,
               const std::string& why) {
  return [=](std::string_view text, Settings& settings) -> Result<Done> {
    if (!fits(text)) return Failure(Quoted(text) + why);
    settings.*field = text;
    return Done{};
  };
}

Result<Done> ParseOwner(std::string_view text, Settings& settings) {
  Result<OwnerName> owner = OwnerName::Parse(text);
  if (!owner) return Unexpected{owner.error()};
  settings.owner = *owner;
  return Done{};
}

Result<Done> ParseOwnerKind(std::string_view text, Settings& settings) {
  if (!IsKindName(text)) {
    return Failure(Quoted(text) +
                   " is not a kind: write KIND[.GROUP] as in an owner, for example deployment or "
                   "sparkapplication.sparkoperator.k8s.io");
  }
  settings.owner_kind = SplitKindName(text).ToText();
  return Done{};
}

Result<Done> ParseCompletedWhen(std::string_view text, Settings& settings) {
  if (text.empty()) {
    settings.completed_when.reset();
    return Done{};
  }
  Result<CompletedWhen> completed = CompletedWhen::Parse(text);
  if (!completed) return Unexpected{completed.error()};
  settings.completed_when = *std::move(completed);
  return Done{};
}

bool IsListenAddress(std::string_view text) { return ParseListenAddress(text).has_value(); }

// Maps names of the same type to the same text: "deployments" and "deployments.apps".
std::string ResourceIdentity(const std::string& entry) {
  const KindName name = SplitKindName(entry);
  const ResourceType* built_in = FindBuiltInByName(name.kind, name.group);
  return built_in != nullptr ? built_in->QualifiedName() : entry;
}

constexpr std::ptrdiff_t kMostResources = 100;

Result<Done> ParseResources(std::string_view text, Settings& settings) {
  std::vector<std::string> resources;
  std::set<std::string> identities;
  if (std::count(text.begin(), text.end(), ',') >= kMostResources) {
    return Failure("it names more than " + std::to_string(kMostResources) +
                   " resources: name only those that clusters consist of");
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string entry(text.substr(begin, end - begin));
    begin = end + 1;
    if (entry.empty()) {
      return Failure(Quoted(text) +
                     " has an empty entry: give PLURAL[.GROUP],..., for example "
                     "deployments.apps,services");
    }
    if (entry != LowerCase(entry) || !IsKindName(entry)) {
      return Failure(Quoted(entry) +
                     " is not a resource: write PLURAL[.GROUP], for example deployments.apps");
    }
    if (!identities.insert(ResourceIdentity(entry)).second) {
      return Failure(Quoted(entry) + " is there twice: name each resource once");
    }
    resources.push_back(entry);
  }
  settings.resources = std::move(resources);
  return Done{};
}

constexpr const char* kNotANamespace =
    " is not a namespace: give 1 to 63 of a-z, 0-9 and -, with a letter or digit at both ends";

std::vector<Setting> OwnerSettings() {
  return {
      {{"owner", "[KIND[.GROUP]/]NAME", "",
        "the object that runs the driver, for example deployment/bob; without it what the pod's "
        "master root says"},
       ParseOwner},
      {{"owner-kind", "KIND[.GROUP]", "",
        "the one kind that an owner without a kind is looked for as; without it "
        "ReplicationController, "
        "Deployment, DeploymentConfig, StatefulSet and Job"},
       ParseOwnerKind},
      {{"owner-namespace", "NAMESPACE", "", "the owner's namespace; without it the pod's"},
       TextThat(IsDnsLabel, &Settings::owner_namespace, kNotANamespace)},
      {{"owner-container", "NAME", "",
        "the container of an owner that is a Pod: once it has ended, and isn't started again, the "
        "Pod has completed, even if others run on"},
       TextThat(IsDnsLabel, &Settings::owner_container,
                " is not a container's name: write it as in base")},
  };
}

std::vector<Setting> ClusterSettings() {
  return {
      {{"cluster", "NAME", "", "the cluster; without it the value of the pod's cluster label"},
       TextThat(IsLabelValue, &Settings::cluster,
                " is not a cluster's name: give 1 to 63 of A-Z, a-z, 0-9, -, _ and ., with a "
                "letter or digit at both ends")},
      {{"cluster-label", "KEY", kDefaultClusterLabel,
        "the label that tells what is of which cluster, in Oshinko's words; a profile's label "
        "means the profile"},
       TextThat(IsLabelKey, &Settings::cluster_label,
                " is not a label's key: write [PREFIX/]NAME, for example oshinko-cluster or "
                "example.com/cluster")},
      {{"profile", "NAME", "",
        "the framework's words (oshinko, ray, dask, flink, spark-connect, spark-cluster, "
        "spark-chart); without it those that the pod's labels fit"},
       TextThat(IsDnsLabel, &Settings::profile, " is not a profile's name: write it as in ray")},
      {{"namespace", "NAMESPACE", "",
        "the pod's namespace; without it $POD_NAMESPACE, else the kubeconfig context's, else the "
        "service account's",
        false},
       TextThat(IsDnsLabel, &Settings::ns, kNotANamespace),
       "POD_NAMESPACE"},
      {{"pod", "NAME", "", "the pod that the watcher runs in; without it $POD_NAME", false},
       TextThat(IsDnsSubdomain, &Settings::pod,
                " is not a pod's name: give 1 to 253 of a-z, 0-9, - and ., with a letter or digit "
                "at both ends of each part"),
       "POD_NAME"},
  };
}

std::vector<Setting> DecisionSettings() {
  return {
      {{"poll-interval", "DURATION", "5s", "the time between two polls, 100ms to 1h"},
       DurationWithin(&Settings::poll_interval, 100ms, 1h)},
      {{"confirmations", "NUMBER", "3",
        "how many polls in a row must find the cluster abandoned, 1 to 100"},
       NumberWithin(&Settings::confirmations, 1, 100)},
      {{"grace-period", "DURATION", "",
        "they must span at least this time, 0s to 168h; without it 30s or the owner's "
        "terminationGracePeriodSeconds, whichever is longer"},
       DurationWithin(&Settings::grace_period, 0s, 168h)},
      {{"scaled-to-zero-grace-period", "DURATION", "",
        "the same where the owner is scaled to zero, 0s to 168h; without it the grace period"},
       DurationWithin(&Settings::scaled_to_zero_grace_period, 0s, 168h)},
      {{"startup-grace", "DURATION", "5m",
        "how long an owner that was never seen must be absent, 0s to 168h"},
       DurationWithin(&Settings::startup_grace, 0s, 168h)},
      {{"surge-limit", "NUMBER", "10",
        "if more clusters of the namespace than this are abandoned within a minute, that is a "
        "surge; 0 to 10000, 0: it never is"},
       NumberWithin(&Settings::surge_limit, 0, 10000)},
      {{"surge-grace", "DURATION", "10m", "the least grace period in a surge, 0s to 168h"},
       DurationWithin(&Settings::surge_grace, 0s, 168h)},
      {{"completed-when", "{PATH}[=VALUE,...]", "",
        "which field of a custom resource tells that it has completed, for example "
        "{.status.phase}=Succeeded,Failed; a path alone: that it is there"},
       ParseCompletedWhen},
      {{"observe", "poll|watch", "poll",
        "poll: the owner is looked at each poll interval; watch: when the API server says it has "
        "changed, and rarely otherwise"},
       OneOf<Observe>(&Settings::observe, {{"poll", Observe::kPoll}, {"watch", Observe::kWatch}})},
  };
}

std::vector<Setting> DeletionSettings() {
  return {
      {{"volumes", "preserve|delete|collect", "preserve",
        "what becomes of the cluster's PersistentVolumeClaims; collect leaves them to sweep"},
       OneOf<Volumes>(&Settings::volumes, {{"preserve", Volumes::kPreserve},
                                           {"delete", Volumes::kDelete},
                                           {"collect", Volumes::kCollect}})},
      {{"volume-retention", "DURATION", "24h", "how long a collected volume is kept, 0s to 8760h"},
       DurationWithin(&Settings::volume_retention, 0s, 8760h)},
      {{"resources", "PLURAL[.GROUP],...", "",
        "the kinds that belong to a cluster, instead of the built-in list"},
       ParseResources},
      {{"concurrency", "NUMBER", "8", "how many deletes go side by side, 1 to 64"},
       NumberWithin(&Settings::concurrency, 1, 64)},
      {{"steps-deadline", "DURATION", "30s",
        "the time that the steps before, and those after, may take, 1s to 24h"},
       DurationWithin(&Settings::steps_deadline, 1s, 24h)},
      {{"delete-deadline", "DURATION", "10m",
        "after this time all that is left is deleted at once, 1s to 24h"},
       DurationWithin(&Settings::delete_deadline, 1s, 24h)},
      {{"operator-grace", "DURATION", "30s",
        "how long a finalizer may hold the master root, 0s to 1h: then it is deleted in the "
        "foreground"},
       DurationWithin(&Settings::operator_grace, 0s, 1h)},
      {{"dry-run", "true|false", "false", "only say what would be deleted"},
       OneOf<bool>(&Settings::dry_run, {{"true", true}, {"false", false}})},
  };
}

std::vector<Setting> ProcessSettings() {
  return {
      {{"listen", "[ADDRESS]:PORT", ":9090", "where metrics and health are served", false},
       TextThat(IsListenAddress, &Settings::listen,
                " is not an address to listen on: write :PORT, IPV4:PORT or [IPV6]:PORT, "
                "for example :9090, 127.0.0.1:9090 or [::1]:9090")},
      {{"kubeconfig", "FILE", "",
        "how to reach the API server; without it $KUBECONFIG, else the pod's service account, "
        "else ~/.kube/config",
        false},
       AnyText(&Settings::kubeconfig)},
      {{"context", "NAME", "", "the kubeconfig's context; without it its current one", false},
       AnyText(&Settings::context)},
      {{"log-level", "trace|debug|info|warn|error", "info", "the least that is logged"},
       OneOf<LogLevel>(&Settings::log_level, {{"trace", LogLevel::kTrace},
                                              {"debug", LogLevel::kDebug},
                                              {"info", LogLevel::kInfo},
                                              {"warn", LogLevel::kWarn},
                                              {"error", LogLevel::kError}})},
      {{"log-format", "text|json", "text", "how it is logged"},
       OneOf<LogFormat>(&Settings::log_format,
                        {{"text", LogFormat::kText}, {"json", LogFormat::kJson}})},
  };
}

}  // namespace

const std::vector<Setting>& AllSettings() {
  static const std::vector<Setting> all = [] {
    std::vector<Setting> joined;
    for (const auto& part : {OwnerSettings(), ClusterSettings(), DecisionSettings(),
                             DeletionSettings(), ProcessSettings()}) {
      joined.insert(joined.end(), part.begin(), part.end());
    }
    return joined;
  }();
  return all;
}

}  // namespace cluster_watcher
