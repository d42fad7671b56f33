#include "watcher/settings/settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/support/words.h"

namespace cluster_watcher {
namespace {

using Errors = std::vector<std::string>;

ResolvedSettings Resolve(const TextMap& flags, const TextMap& variables = {},
                         const TextMap& annotations = {}) {
  const Environment environment = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  return ResolveSettings(flags, environment, annotations);
}

SettingValue ValueOf(const ResolvedSettings& resolved, const std::string& name) {
  const auto found =
      std::find_if(resolved.values.begin(), resolved.values.end(),
                   [&name](const SettingValue& value) { return value.name == name; });
  return found == resolved.values.end() ? SettingValue{} : *found;
}

const SettingDescription& Description(const std::string& name) {
  return *std::find_if(SettingDescriptions().begin(), SettingDescriptions().end(),
                       [&name](const SettingDescription& one) { return one.name == name; });
}

void ExpectSource(const ResolvedSettings& resolved, const std::string& name,
                  const std::string& value, SettingSource source) {
  const SettingValue found = ValueOf(resolved, name);
  EXPECT_EQ(found.value, value) << name;
  EXPECT_STREQ(ToString(found.source), ToString(source)) << name;
}

TEST(Settings, AreDescribedInOrderWithTheirDefaults) {
  const auto defaults = Pairs(
      "owner= owner-kind= owner-namespace= owner-container= cluster= cluster-label=oshinko-cluster "
      "profile= "
      "namespace= pod= "
      "poll-interval=5s confirmations=3 grace-period= scaled-to-zero-grace-period= "
      "startup-grace=5m surge-limit=10 surge-grace=10m completed-when= "
      "observe=poll "
      "volumes=preserve volume-retention=24h resources= concurrency=8 steps-deadline=30s "
      "delete-deadline=10m operator-grace=30s dry-run=false listen=:9090 kubeconfig= context= "
      "log-level=info log-format=text");
  const ResolvedSettings resolved = Resolve({});
  ASSERT_EQ(SettingDescriptions().size(), defaults.size());
  ASSERT_EQ(resolved.values.size(), defaults.size());
  for (std::size_t i = 0; i < defaults.size(); ++i) {
    const auto& [name, value] = defaults[i];
    EXPECT_EQ(SettingDescriptions()[i].name, name);
    EXPECT_EQ(SettingDescriptions()[i].default_value, value) << name;
    EXPECT_FALSE(SettingDescriptions()[i].placeholder.empty()) << name;
    EXPECT_FALSE(SettingDescriptions()[i].help.empty()) << name;
    EXPECT_EQ(resolved.values[i].name, name);
    ExpectSource(resolved, name, value, SettingSource::kDefault);
  }
}

// A default's text means the field's own default; without a text there is no default.
TEST(Settings, DefaultsParseToThemselves) {
  TextMap flags;
  for (const SettingDescription& one : SettingDescriptions()) {
    if (!one.default_value.empty()) flags[one.name] = one.default_value;
  }
  const Settings defaults;
  for (const ResolvedSettings& resolved : {Resolve(flags), Resolve({})}) {
    EXPECT_EQ(resolved.errors, Errors{});
    EXPECT_EQ(resolved.annotation_errors, Errors{});
    const Settings& given = resolved.settings;
    EXPECT_FALSE(given.owner || given.grace_period || given.scaled_to_zero_grace_period ||
                 given.completed_when);
    EXPECT_EQ(given.owner_kind + given.owner_namespace + given.cluster + given.ns + given.pod +
                  given.kubeconfig + given.context,
              "");
    EXPECT_TRUE(given.resources.empty());
    EXPECT_EQ(given.Words()->cluster_label, defaults.Words()->cluster_label);
    EXPECT_EQ(given.poll_interval, defaults.poll_interval);
    EXPECT_EQ(given.confirmations, defaults.confirmations);
    EXPECT_EQ(given.startup_grace, defaults.startup_grace);
    EXPECT_EQ(given.surge_limit, defaults.surge_limit);
    EXPECT_EQ(given.surge_grace, defaults.surge_grace);
    EXPECT_EQ(given.observe, defaults.observe);
    EXPECT_EQ(given.volumes, defaults.volumes);
    EXPECT_EQ(given.volume_retention, defaults.volume_retention);
    EXPECT_EQ(given.concurrency, defaults.concurrency);
    EXPECT_EQ(given.steps_deadline, defaults.steps_deadline);
    EXPECT_EQ(given.delete_deadline, defaults.delete_deadline);
    EXPECT_EQ(given.operator_grace, defaults.operator_grace);
    EXPECT_EQ(given.dry_run, defaults.dry_run);
    EXPECT_EQ(given.listen, defaults.listen);
    EXPECT_EQ(given.log_level, defaults.log_level);
    EXPECT_EQ(given.log_format, defaults.log_format);
  }
}

TEST(Settings, AreSet) {
  struct Case {
    std::string name;
    std::string text;
    bool (*is_set)(const Settings&);
  };
  using S = const Settings&;
  const std::vector<Case> cases = {
      {"owner", "Deploy.apps/bob",
       [](S s) {
         return s.owner == OwnerName{"deploy", "apps", "bob"};
       }},
      {"owner-kind", "StatefulSet", [](S s) { return s.owner_kind == "statefulset"; }},
      {"owner-kind", "deployment.v1.apps", [](S s) { return s.owner_kind == "deployment.apps"; }},
      {"owner-namespace", "lab-1", [](S s) { return s.owner_namespace == "lab-1"; }},
      {"cluster", "C_1.x", [](S s) { return s.cluster == "C_1.x"; }},
      {"cluster-label", "a.com/cluster", [](S s) { return s.cluster_label == "a.com/cluster"; }},
      {"namespace", "lab", [](S s) { return s.ns == "lab"; }},
      {"pod", "m-1.x", [](S s) { return s.pod == "m-1.x"; }},
      {"resources", "deployments.apps,services",
       [](S s) {
         return s.resources == Errors{"deployments.apps", "services"};
       }},
      {"resources", "rayclusters.ray.io",
       [](S s) { return s.resources == Errors{"rayclusters.ray.io"}; }},
      {"dry-run", "true", [](S s) { return s.dry_run; }},
      {"listen", "[::1]:0", [](S s) { return s.listen == "[::1]:0"; }},
      {"kubeconfig", "/a b/c", [](S s) { return s.kubeconfig == "/a b/c"; }},
      {"context", "a/b@c", [](S s) { return s.context == "a/b@c"; }},
      {"log-level", "trace", [](S s) { return s.log_level == LogLevel::kTrace; }},
      {"log-level", "debug", [](S s) { return s.log_level == LogLevel::kDebug; }},
      {"log-level", "warn", [](S s) { return s.log_level == LogLevel::kWarn; }},
      {"log-level", "error", [](S s) { return s.log_level == LogLevel::kError; }},
      {"log-format", "json", [](S s) { return s.log_format == LogFormat::kJson; }},
  };
  for (const Case& one : cases) {
    const ResolvedSettings resolved = Resolve({{one.name, one.text}});
    EXPECT_EQ(resolved.errors, Errors{});
    EXPECT_TRUE(one.is_set(resolved.settings)) << one.name << "=" << one.text;
    ExpectSource(resolved, one.name, one.text, SettingSource::kFlag);
  }
}

TEST(Settings, DurationsHaveBounds) {
  struct Case {
    std::string name;
    std::optional<Duration> (*field)(const Settings&);
    std::string least, below, most, above, bounds;
  };
  using S = const Settings&;
  using D = std::optional<Duration>;
  const std::vector<Case> cases = {
      {"poll-interval", [](S s) { return D(s.poll_interval); }, "100ms", "99.9ms", "1h", "1h1ms",
       "100ms to 1h"},
      {"grace-period", [](S s) { return s.grace_period; }, "0", "", "168h", "168h0.001s",
       "0s to 168h"},
      {"scaled-to-zero-grace-period", [](S s) { return s.scaled_to_zero_grace_period; }, "0s", "",
       "168h", "169h", "0s to 168h"},
      {"startup-grace", [](S s) { return D(s.startup_grace); }, "0s", "", "168h", "168h1ms",
       "0s to 168h"},
      {"surge-grace", [](S s) { return D(s.surge_grace); }, "0s", "", "168h", "168h1ms",
       "0s to 168h"},
      {"volume-retention", [](S s) { return D(s.volume_retention); }, "0s", "", "8760h", "8760h1ms",
       "0s to 8760h"},
      {"steps-deadline", [](S s) { return D(s.steps_deadline); }, "1s", "999ms", "24h", "24h1ms",
       "1s to 24h"},
      {"delete-deadline", [](S s) { return D(s.delete_deadline); }, "1s", "0", "24h", "2562047h",
       "1s to 24h"},
      {"operator-grace", [](S s) { return D(s.operator_grace); }, "0s", "", "1h", "1h1ms",
       "0s to 1h"},
  };
  for (const Case& one : cases) {
    for (const std::string& text : {one.least, one.most}) {
      const ResolvedSettings resolved = Resolve({{one.name, text}});
      EXPECT_EQ(resolved.errors, Errors{});
      ExpectSource(resolved, one.name, text, SettingSource::kFlag);
    }
    for (const std::string& text : {one.below, one.above}) {
      if (text.empty()) continue;
      const ResolvedSettings resolved = Resolve({{one.name, text}});
      EXPECT_EQ(resolved.errors,
                Errors{"--" + one.name + ": " + text + " is out of bounds: give " + one.bounds});
      EXPECT_EQ(one.field(resolved.settings), one.field(Settings())) << one.name;
    }
    EXPECT_EQ(one.field(Resolve({{one.name, "90s"}}).settings), Duration(90'000)) << one.name;
    EXPECT_EQ(Resolve({{one.name, "-1s"}}).errors,
              Errors{"--" + one.name + ": \"-1s\" is not a duration: it is negative"});
    EXPECT_EQ(Resolve({{one.name, ""}}).errors,
              Errors{"--" + one.name +
                     ": \"\" is not a duration: it is empty; write for example 30s or 1m30s"});
  }
}

TEST(Settings, NumbersHaveBounds) {
  struct Case {
    std::string name;
    int Settings::*field;
    int most;
  };
  for (const Case& one : {Case{"confirmations", &Settings::confirmations, 100},
                          Case{"concurrency", &Settings::concurrency, 64}}) {
    const std::string bounds = "give 1 to " + std::to_string(one.most);
    for (const int number : {1, 2, one.most}) {
      const ResolvedSettings resolved = Resolve({{one.name, std::to_string(number)}});
      EXPECT_EQ(resolved.errors, Errors{});
      EXPECT_EQ(resolved.settings.*one.field, number);
    }
    const std::string above = std::to_string(one.most + 1);
    for (const std::string& text :
         {std::string("0"), std::string("-1"), above, std::string("2147483648"),
          std::string("99999999999999999999999"), std::string("-99999999999999999999999")}) {
      const ResolvedSettings resolved = Resolve({{one.name, text}});
      EXPECT_EQ(resolved.errors,
                Errors{"--" + one.name + ": " + text + " is out of bounds: " + bounds});
      EXPECT_EQ(resolved.settings.*one.field, Settings().*one.field);
    }
    for (const std::string text :
         {"", "three", " 3", "3 ", "+3", "3.0", "0x3", "1e1", "99999999999x", "-"}) {
      EXPECT_EQ(Resolve({{one.name, text}}).errors,
                Errors{"--" + one.name + ": \"" + text + "\" is not a whole number: " + bounds});
    }
  }
}

TEST(Settings, ChoicesSayWhatCanBeChosen) {
  const std::pair<std::string, std::string> cases[] = {
      {"observe", "poll or watch"},   {"volumes", "preserve, delete or collect"},
      {"dry-run", "true or false"},   {"log-level", "trace, debug, info, warn or error"},
      {"log-format", "text or json"},
  };
  for (const auto& [name, known] : cases) {
    for (const std::string text : {"", "Orphan", "yes", "1", "TRUE", " true"}) {
      EXPECT_EQ(Resolve({{name, text}}).errors,
                Errors{"--" + name + ": \"" + text + "\" is unknown: give " + known});
    }
  }
}

TEST(Settings, RefuseWhatIsNotAName) {
  const std::string too_long_label(64, 'a');
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"owner", {"", "deployment/", "a/b/c", "Bob", "bob smith"}},
      {"owner-kind", {"", "deployment/", "deployment/bob", "/", "a b", "a.", "a_b", ".apps"}},
      {"owner-namespace", {"", "Lab", "a.b", "-a", too_long_label}},
      {"cluster", {"", "-a", "a-", "a b", "a/b", "a=b", "\xc3\xbc", too_long_label}},
      {"cluster-label", {"", "a/b/c", "/a", "a/", "-a", "a b", "A.B/c", too_long_label}},
      {"namespace", {"", "Lab", "a.b", "a_b", too_long_label}},
      {"pod", {"", "Pod", "a..b", "a_b", std::string(254, 'a')}},
      {"resources",
       {"", ",", "pods,", ",pods", "pods,,services", "pods, services", "Pods", "pods.", "a/b",
        "pods,pods", "deployments,deployments.apps", "rayclusters.ray.io,rayclusters.ray.io"}},
      {"listen",
       {"", "9090", "localhost", ":", ":x", ":-1", ":+1", ":65536", ":123456", "a:b:1", "::1:80",
        "[::1]", "[]:80", "[::1:80", "[g]:80", "a b:80", "/tmp:80", " :80", ":80 "}},
  };
  for (const auto& [name, texts] : cases) {
    for (const std::string& text : texts) {
      const ResolvedSettings resolved = Resolve({{name, text}});
      ASSERT_EQ(resolved.errors.size(), 1u) << name << "=" << text;
      EXPECT_EQ(resolved.errors[0].find("--" + name + ": \""), 0u) << resolved.errors[0];
      ExpectSource(resolved, name, Description(name).default_value, SettingSource::kDefault);
    }
  }
}

TEST(Settings, TakeNamesUpToTheirBounds) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"owner-namespace", {"a", std::string(63, 'a'), "0"}},
      {"cluster", {"a", std::string(63, 'a'), "A.b_c-D"}},
      {"cluster-label", {"a", std::string(63, 'a'), "a.b/" + std::string(63, 'a')}},
      {"namespace", {std::string(63, 'a')}},
      {"pod", {"a.b", std::string(253, 'a')}},
      {"listen", {":9090", "127.0.0.1:9090", "[::1]:9090", "0.0.0.0:0", ":65535"}},
  };
  for (const auto& [name, texts] : cases) {
    for (const std::string& text : texts) {
      const ResolvedSettings resolved = Resolve({{name, text}});
      EXPECT_EQ(resolved.errors, Errors{});
      ExpectSource(resolved, name, text, SettingSource::kFlag);
    }
  }
}

TEST(Settings, ErrorsNameThePlaceAndTheRemedy) {
  const ResolvedSettings resolved =
      Resolve({{"poll-interval", "5"}}, {{"CLUSTER_WATCHER_POLL_INTERVAL", "50ms"}},
              {{"cluster-watcher/poll-interval", "2h"}});
  EXPECT_EQ(resolved.errors,
            (Errors{"CLUSTER_WATCHER_POLL_INTERVAL: 50ms is out of bounds: give 100ms to 1h",
                    "--poll-interval: \"5\" is not a duration: it needs a unit, for example 5s"}));
  EXPECT_EQ(
      resolved.annotation_errors,
      Errors{"annotation cluster-watcher/poll-interval: 2h is out of bounds: give 100ms to 1h"});
  EXPECT_EQ(resolved.settings.poll_interval, Settings().poll_interval);
  EXPECT_EQ(Resolve({{"confirmations", std::string(1'000, '0')}}).errors,
            Errors{"--confirmations: \"" + std::string(80, '0') +
                   "\"... is out of bounds: give 1 to 100"});
}

TEST(Settings, FlagBeforeEnvironmentBeforeAnnotationBeforeDefault) {
  struct Case {
    std::string name, variable, flag, environment, annotation;
  };
  const std::vector<Case> cases = {
      {"owner", "CLUSTER_WATCHER_OWNER", "deploy/a", "deploy/b", "deploy/c"},
      {"poll-interval", "CLUSTER_WATCHER_POLL_INTERVAL", "1s", "2s", "3s"},
      {"confirmations", "CLUSTER_WATCHER_CONFIRMATIONS", "1", "2", "4"},
      {"scaled-to-zero-grace-period", "CLUSTER_WATCHER_SCALED_TO_ZERO_GRACE_PERIOD", "1s", "2s",
       "3s"},
      {"resources", "CLUSTER_WATCHER_RESOURCES", "pods", "services", "secrets"},
      {"dry-run", "CLUSTER_WATCHER_DRY_RUN", "true", "false", "true"},
  };
  for (const Case& one : cases) {
    const TextMap flags = {{one.name, one.flag}};
    const TextMap variables = {{one.variable, one.environment}};
    const TextMap annotations = {{"cluster-watcher/" + one.name, one.annotation}};
    ExpectSource(Resolve(flags, variables, annotations), one.name, one.flag, SettingSource::kFlag);
    ExpectSource(Resolve(flags, {}, annotations), one.name, one.flag, SettingSource::kFlag);
    ExpectSource(Resolve({}, variables, annotations), one.name, one.environment,
                 SettingSource::kEnvironment);
    ExpectSource(Resolve({}, {}, annotations), one.name, one.annotation,
                 SettingSource::kAnnotation);
    ExpectSource(Resolve({}), one.name, Description(one.name).default_value,
                 SettingSource::kDefault);
  }
  const ResolvedSettings resolved =
      Resolve({{"confirmations", "1"}}, {{"CLUSTER_WATCHER_CONFIRMATIONS", "2"}},
              {{"cluster-watcher/confirmations", "4"}});
  EXPECT_EQ(resolved.settings.confirmations, 1);
}

TEST(Settings, ABadValueLeavesTheNextSourceAndIsAlwaysAnError) {
  const ResolvedSettings left =
      Resolve({{"confirmations", "y"}}, {{"CLUSTER_WATCHER_CONFIRMATIONS", "x"}},
              {{"cluster-watcher/confirmations", "4"}});
  EXPECT_EQ(left.errors.size(), 2u);
  EXPECT_EQ(left.annotation_errors, Errors{});
  EXPECT_EQ(left.settings.confirmations, 4);
  ExpectSource(left, "confirmations", "4", SettingSource::kAnnotation);
  const ResolvedSettings overridden =
      Resolve({{"concurrency", "9"}}, {{"CLUSTER_WATCHER_CONCURRENCY", "0"}},
              {{"cluster-watcher/concurrency", "many"}, {"cluster-watcher/dry-run", "no"}});
  EXPECT_EQ(overridden.errors,
            Errors{"CLUSTER_WATCHER_CONCURRENCY: 0 is out of bounds: give 1 to 64"});
  EXPECT_EQ(overridden.annotation_errors,
            (Errors{"annotation cluster-watcher/concurrency: \"many\" is not a whole number: give "
                    "1 to 64",
                    "annotation cluster-watcher/dry-run: \"no\" is unknown: give true or false"}));
  EXPECT_EQ(overridden.settings.concurrency, 9);
}

TEST(Settings, EmptyVariablesCountAsNotSet) {
  TextMap variables = {{"POD_NAME", ""}, {"POD_NAMESPACE", ""}};
  for (const SettingDescription& one : SettingDescriptions()) {
    std::string variable = "CLUSTER_WATCHER_" + one.name;
    for (char& c : variable) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
    variables[variable] = "";
  }
  const ResolvedSettings resolved =
      Resolve({}, variables, {{"cluster-watcher/confirmations", "4"}});
  EXPECT_EQ(resolved.errors, Errors{});
  ExpectSource(resolved, "confirmations", "4", SettingSource::kAnnotation);
  ExpectSource(resolved, "namespace", "", SettingSource::kDefault);
  ExpectSource(resolved, "poll-interval", "5s", SettingSource::kDefault);
}

TEST(Settings, EmptyFlagsAndAnnotationsAreValues) {
  const ResolvedSettings resolved = Resolve({{"cluster", ""}}, {}, {{"cluster-watcher/owner", ""}});
  ASSERT_EQ(resolved.errors.size(), 1u);
  EXPECT_EQ(resolved.errors[0].find("--cluster: \"\" is not a cluster's name: "), 0u);
  ASSERT_EQ(resolved.annotation_errors.size(), 1u);
  EXPECT_EQ(resolved.annotation_errors[0].find("annotation cluster-watcher/owner: \"\" is not an "
                                               "owner: it is empty"),
            0u);
  const ResolvedSettings free_text =
      Resolve({{"kubeconfig", ""}, {"context", ""}, {"completed-when", ""}});
  EXPECT_EQ(free_text.errors, Errors{});
  ExpectSource(free_text, "context", "", SettingSource::kFlag);
}

TEST(Settings, PodAndNamespaceComeFromTheDownwardApi) {
  const TextMap downward = {{"POD_NAMESPACE", "lab"}, {"POD_NAME", "m-1"}};
  const ResolvedSettings resolved = Resolve({}, downward);
  EXPECT_EQ(resolved.settings.ns, "lab");
  EXPECT_EQ(resolved.settings.pod, "m-1");
  ExpectSource(resolved, "namespace", "lab", SettingSource::kEnvironment);
  ExpectSource(resolved, "pod", "m-1", SettingSource::kEnvironment);

  TextMap own = downward;
  own["CLUSTER_WATCHER_NAMESPACE"] = "own";
  own["CLUSTER_WATCHER_POD"] = "own-1";
  EXPECT_EQ(Resolve({}, own).settings.ns, "own");
  EXPECT_EQ(Resolve({}, own).settings.pod, "own-1");
  EXPECT_EQ(Resolve({{"namespace", "flag"}}, own).settings.ns, "flag");
  EXPECT_EQ(Resolve({{"pod", "flag-1"}}, own).settings.pod, "flag-1");
  // An empty value doesn't count.
  own["CLUSTER_WATCHER_NAMESPACE"] = "";
  EXPECT_EQ(Resolve({}, own).settings.ns, "lab");

  const ResolvedSettings bad = Resolve({}, {{"POD_NAME", "M 1"}});
  ASSERT_EQ(bad.errors.size(), 1u);
  EXPECT_EQ(bad.errors[0].find("POD_NAME: \"M 1\" is not a pod's name: "), 0u);
}

TEST(Settings, SomeCannotComeFromAnnotations) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"kubeconfig", "CLUSTER_WATCHER_KUBECONFIG"}, {"context", "CLUSTER_WATCHER_CONTEXT"},
      {"namespace", "CLUSTER_WATCHER_NAMESPACE"},   {"pod", "CLUSTER_WATCHER_POD"},
      {"listen", "CLUSTER_WATCHER_LISTEN"},
  };
  TextMap annotations;
  for (const auto& [name, variable] : cases) annotations["cluster-watcher/" + name] = "a";
  const ResolvedSettings all = Resolve({}, {}, annotations);
  EXPECT_EQ(all.errors, Errors{});
  EXPECT_EQ(all.annotation_errors.size(), cases.size());
  for (const auto& [name, variable] : cases) {
    const ResolvedSettings resolved = Resolve({}, {}, {{"cluster-watcher/" + name, ":1"}});
    EXPECT_EQ(resolved.annotation_errors,
              Errors{"annotation cluster-watcher/" + name + ": can't be set by annotation: use --" +
                     name + " or " + variable});
    ExpectSource(resolved, name, Description(name).default_value, SettingSource::kDefault);
  }
  for (const SettingDescription& one : SettingDescriptions()) {
    EXPECT_EQ(one.from_annotation, annotations.count("cluster-watcher/" + one.name) == 0)
        << one.name;
  }
}

TEST(Settings, OfAllOtherAnnotationsOnlyAMisspeltOneIsNamed) {
  TextMap annotations = {{"poll-interval", "x"},
                         {"example.com/poll-interval", "x"},
                         {"", ""},
                         {"cluster-watcher", "x"},
                         {"cluster-watcher/hold-untill", "2026-12-24T18:00:00Z"}};
  for (const char* name : {"inject", "status", "hold-until", "before-delete", "after-delete",
                           "delete-order", "keep", "phase", "reason", "root-uid"}) {
    annotations["cluster-watcher/" + std::string(name)] = "???";
  }
  const ResolvedSettings resolved = Resolve({}, {}, annotations);
  EXPECT_EQ(resolved.errors, Errors{});
  EXPECT_EQ(resolved.annotation_errors,
            Errors{"annotation \"cluster-watcher/hold-untill\" is unknown: correct it, or take it "
                   "off"});
}

TEST(Settings, AnnotationsBeyondFourKibibytesAreNotParsed) {
  const std::string most = "{.status.phase}=" + std::string(4095 - 16, 'x');
  ASSERT_EQ(most.size(), 4095u);
  const auto errors = [](const std::string& text) {
    return Resolve({}, {}, {{"cluster-watcher/completed-when", text}}).annotation_errors;
  };
  EXPECT_EQ(errors(most + "y"), Errors{});
  EXPECT_EQ(errors(most + "yz"),
            Errors{"annotation cluster-watcher/completed-when: its value has 4097 bytes, and at "
                   "most 4096 are read: shorten it, or take it off"});
  EXPECT_EQ(Resolve({{"completed-when", most + "yz"}}).errors, Errors{}) << "a flag may be longer";
}

TEST(Settings, OfManyUnknownAnnotationsTheFirstAreNamed) {
  TextMap annotations;
  for (int i = 0; i < 100'000; ++i) {
    annotations["cluster-watcher/x" + std::to_string(100'000 + i)] = "";
  }
  const ResolvedSettings resolved = Resolve({}, {}, annotations);
  ASSERT_EQ(resolved.annotation_errors.size(), 9u);
  EXPECT_EQ(resolved.annotation_errors[7],
            "annotation \"cluster-watcher/x100007\" is unknown: correct it, or take it off");
  EXPECT_EQ(resolved.annotation_errors[8],
            "annotations that are unknown: 99992 more: correct them, or take them off");
}

TEST(Settings, ResourcesAreAtMostAHundred) {
  std::string text = "a0";
  for (int i = 1; i < 100; ++i) text += ",a" + std::to_string(i);
  EXPECT_EQ(Resolve({{"resources", text}}).errors, Errors{});
  EXPECT_EQ(Resolve({{"resources", text.substr(0, text.rfind(',')) + ",a7"}}).errors,
            Errors{"--resources: \"a7\" is there twice: name each resource once"});
  EXPECT_EQ(Resolve({{"resources", text + ",b"}}).errors,
            Errors{"--resources: it names more than 100 resources: name only those that clusters "
                   "consist of"});
}

TEST(Settings, CompletedWhenNamesAFieldAndItsValues) {
  const ResolvedSettings good = Resolve({{"completed-when", "{.status.phase}=Succeeded,Failed"}});
  EXPECT_EQ(good.errors, Errors{});
  ASSERT_TRUE(good.settings.completed_when);
  EXPECT_EQ(good.settings.completed_when->text(), "{.status.phase}=Succeeded,Failed");
  const ResolvedSettings bad = Resolve({{"completed-when", "{.status[*].phase}=Succeeded"}});
  ASSERT_EQ(bad.errors.size(), 1u);
  EXPECT_TRUE(
      bad.errors[0].starts_with("--completed-when: \"{.status[*].phase}=Succeeded\" doesn't"))
      << bad.errors[0];
  EXPECT_FALSE(bad.settings.completed_when);
}

TEST(Settings, OwnersOwnKindMayNotBeContradicted) {
  const std::string remedy = ": leave it out, it is for an owner without a kind";
  EXPECT_EQ(Resolve({{"owner", "deployment/bob"}, {"owner-kind", "rc"}}).errors,
            Errors{"--owner-kind: \"rc\" contradicts --owner \"deployment/bob\"" + remedy});
  EXPECT_EQ(Resolve({{"owner", "pi.a.io/bob"}, {"owner-kind", "pi.b.io"}}).errors.size(), 1u);

  const ResolvedSettings mixed =
      Resolve({{"owner", "deploy/bob"}}, {}, {{"cluster-watcher/owner-kind", "job"}});
  EXPECT_EQ(mixed.errors, Errors{});
  EXPECT_EQ(mixed.annotation_errors,
            Errors{"annotation cluster-watcher/owner-kind: \"job\" contradicts --owner "
                   "\"deploy/bob\"" +
                   remedy});
  const ResolvedSettings other_way = Resolve({}, {{"CLUSTER_WATCHER_OWNER_KIND", "job"}},
                                             {{"cluster-watcher/owner", "deploy/bob"}});
  EXPECT_EQ(other_way.errors, Errors{});
  EXPECT_EQ(other_way.annotation_errors,
            Errors{"CLUSTER_WATCHER_OWNER_KIND: \"job\" contradicts annotation "
                   "cluster-watcher/owner \"deploy/bob\"" +
                   remedy});
}

// One of the rows may be the profile that is asked for.
TEST(Settings, AWrongRowOfProfilesIsAMistakeOfItsOwn) {
  const ResolvedSettings resolved = Resolve(
      {{"profile", "mine"}},
      {{"CLUSTER_WATCHER_PROFILES", R"([{"name": "mine", "a\nb": {}, "master": {"role": ["boss"]},)"
                                    R"( "cluster": "example.com/cluster"}])"}});
  EXPECT_EQ(resolved.rows_error,
            R"(CLUSTER_WATCHER_PROFILES: row 1 (mine): a\nb: there is no such field)");
  EXPECT_EQ(resolved.errors, Errors{});
  EXPECT_EQ(resolved.annotation_errors, Errors{});
  EXPECT_EQ(resolved.settings.profiles->rows().size(), BuiltInProfiles()->rows().size());
  EXPECT_EQ(Resolve({{"profile", "mine"}}).errors.size(), 1u);
}

TEST(Settings, AnOwnerKindThatAgreesIsFine) {
  const std::pair<std::string, std::string> cases[] = {{"bob", "rc"},
                                                       {"deploy/bob", "Deployment"},
                                                       {"deployment/bob", "deployments.v1.apps"},
                                                       {"pi.a.io/bob", "pi"},
                                                       {"pi/bob", "pi.a.io"}};
  for (const auto& [owner, kind] : cases) {
    EXPECT_EQ(Resolve({{"owner", owner}, {"owner-kind", kind}}).errors, Errors{}) << owner << kind;
  }
  // Only values in force can contradict each other.
  EXPECT_EQ(Resolve({{"owner", "bob"}, {"owner-kind", "rc"}}, {},
                    {{"cluster-watcher/owner", "deploy/bob"}})
                .annotation_errors,
            Errors{});
}

}  // namespace
}  // namespace cluster_watcher
