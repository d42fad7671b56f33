#include "watcher/command/check.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "test/unit/support/fake_transport.h"

namespace cluster_watcher {
namespace {

ResolvedSettings Settled() {
  ResolvedSettings settings;
  settings.settings.ns = "lab";
  settings.settings.cluster = "bob";
  settings.settings.pod = "bob-m-1";
  settings.values = {{"owner", "deployment/bob", SettingSource::kFlag},
                     {"grace-period", "", SettingSource::kDefault},
                     {"poll-interval", "1m30s", SettingSource::kEnvironment},
                     {"confirmations", "5", SettingSource::kAnnotation}};
  return settings;
}

// A snapshot of a cluster whose owner was found.
Snapshot Look(Observation observation, std::int64_t replicas = 1) {
  Snapshot snapshot;
  snapshot.cluster = ClusterId{"lab", DefaultProfile(), "bob"};
  snapshot.owner_name = OwnerName{"deployment", "", "bob"};
  snapshot.facts.given_owner = snapshot.owner_name;
  snapshot.facts.root_read = true;
  OwnerSight sight;
  sight.observation = observation;
  sight.detail = "the evidence";
  sight.fields.replicas = replicas;
  if (observation != Observation::kAbsent && observation != Observation::kUnknown) {
    sight.object = KubeObject{TypeOf("deployment"), {}};
    sight.object->meta.name = "bob";
    sight.object->meta.uid = "u1";
  }
  snapshot.facts.owner = sight;
  return snapshot;
}

Snapshot Shared() {
  Snapshot snapshot;
  snapshot.cluster = ClusterId{"lab", DefaultProfile(), "bob"};
  snapshot.facts.root_read = true;
  return snapshot;
}

Snapshot Unreadable() {
  Snapshot snapshot;
  snapshot.facts.problem = "get pods \"bob-m-1\": HTTP 500";
  return snapshot;
}

CheckReport ReportOn(const Snapshot& snapshot, const ResolvedSettings& settings,
                     OutputFormat format) {
  return Report(snapshot, Decide(snapshot.facts), settings, format);
}

bool Holds(const std::string& text, const std::string& line) {
  return text.find(line) != std::string::npos;
}

TEST(Check, ExitsAsTheVerdictSays) {
  Snapshot missing;
  missing.missing = Missing::kCluster;
  Snapshot no_pod;
  no_pod.missing = Missing::kPod;
  Snapshot held = Look(Observation::kAbsent);
  held.facts.holds = {{"pod m", "tomorrow", std::nullopt}};
  const Snapshot gone = Look(Observation::kAbsent);
  Snapshot wrong = Look(Observation::kAbsent);
  wrong.facts.setting_errors = {"wrong"};
  struct Case {
    const char* what;
    Snapshot snapshot;
    int exit;
    OtherDrivers others = {};
  };
  const std::vector<Case> cases = {
      {"active", Look(Observation::kActive), 0},
      {"absent", Look(Observation::kAbsent), 3},
      {"deleting", Look(Observation::kDeleting), 3},
      {"scaled to zero", Look(Observation::kScaledToZero, 0), 3},
      {"completed", Look(Observation::kCompleted), 3},
      {"replaced and adopted", Look(Observation::kReplaced), 0},
      {"shared by replicas", Look(Observation::kActive, 2), 0},
      {"shared", Shared(), 0},
      {"held", held, 0},
      {"in use", gone, 0, {"deployment.apps/alice", std::nullopt}},
      {"in use or not",
       gone,
       4,
       {std::nullopt, ApiError{ApiFailure::kForbidden, "list pods: HTTP 403", std::nullopt}}},
      {"misconfigured", wrong, 0},
      {"unknown", Look(Observation::kUnknown), 4},
      {"unreadable", Unreadable(), 4},
      {"no such cluster", missing, 1},
      {"no such pod", no_pod, 2},
  };
  for (const Case& one : cases) {
    for (const OutputFormat format : {OutputFormat::kText, OutputFormat::kJson}) {
      const CheckReport report =
          Report(one.snapshot, Decide(one.snapshot.facts, one.others), Settled(), format);
      EXPECT_EQ(static_cast<int>(report.exit), one.exit) << one.what;
      const bool is_error = one.exit == 1 || one.exit == 2;
      EXPECT_EQ(report.text.empty(), is_error) << one.what;
      EXPECT_EQ(report.error.empty(), !is_error) << one.what;
    }
  }
}

TEST(Check, NamesWhatIsMissing) {
  Snapshot snapshot;
  snapshot.missing = Missing::kCluster;
  const std::string cluster = ReportOn(snapshot, Settled(), OutputFormat::kText).error;
  EXPECT_TRUE(Holds(cluster, "\"bob\" in namespace lab")) << cluster;
  EXPECT_TRUE(Holds(cluster, "oshinko-cluster=bob")) << cluster;
  snapshot.missing = Missing::kNothing;
  snapshot.missing = Missing::kPod;
  const std::string pod = ReportOn(snapshot, Settled(), OutputFormat::kText).error;
  EXPECT_TRUE(Holds(pod, "\"bob-m-1\" in namespace lab")) << pod;
}

TEST(Check, SaysHowManyStepsHaveEndedWhileItIsDeleted) {
  Snapshot snapshot = Look(Observation::kDeleting);
  snapshot.pod_says.steps.before = {Step{}, Step{}};
  snapshot.pod_says.steps.after = {Step{}};
  EXPECT_FALSE(Holds(ReportOn(snapshot, Settled(), OutputFormat::kJson).text, "\"steps\""));
  snapshot.marks.phase = Phase::kDeleting;
  snapshot.marks.steps_done = {"before-delete/drain"};
  EXPECT_TRUE(Holds(ReportOn(snapshot, Settled(), OutputFormat::kJson).text, "\"steps\": \"1/3\""));
  EXPECT_TRUE(
      Holds(ReportOn(snapshot, Settled(), OutputFormat::kText).text, "Steps Done:     1/3\n"));
}

TEST(Check, TextSaysTheVerdictWhyEachRuleAndEachSetting) {
  const Snapshot snapshot = Look(Observation::kDeleting);
  const std::string text = ReportOn(snapshot, Settled(), OutputFormat::kText).text;
  for (const char* line :
       {"Name:           bob\nNamespace:      lab\n", "Owner:          deployment.apps/bob\n",
        "Observation:    deleting\n", "Verdict:        abandoned: owner-deleting\n",
        "Because:        the evidence has a deletionTimestamp\n", "Change:         to keep it, ",
        "Deletion:       after 3 such verdicts in a row that span 30s, or 10m if more\n"
        "                than 10 clusters of the namespace lose their drivers within a\n"
        "                minute\n"}) {
    EXPECT_TRUE(Holds(text, line)) << line << text;
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  for (const RuleOutcome& rule : Decide(snapshot.facts).rules) {
    const std::string number = std::to_string(rule.number);
    const std::string line = std::string(rule.matched ? "  -> " : "     ") +
                             std::string(2 - number.size(), ' ') + number + "  " + rule.name +
                             std::string(20 - std::string(rule.name).size(), ' ');
    EXPECT_TRUE(Holds(text, "\n" + line + rule.detail.substr(0, 20))) << line << "\n" << text;
  }
  for (const char* line :
       {"  owner          deployment/bob  flag\n", "  grace-period   -               default\n",
        "  poll-interval  1m30s           environment\n",
        "  confirmations  5               annotation\n"}) {
    EXPECT_TRUE(Holds(text, line)) << line << text;
  }
  EXPECT_EQ(text.back(), '\n');
}

TEST(Check, NamesTheAdmissionThatRefusesAndPromisesNoDeletion) {
  const Snapshot snapshot = Look(Observation::kDeleting);
  Decision decision = Decide(snapshot.facts);
  decision.refused_by = "admission webhook deny.example.com: see to it";
  const std::string text = Report(snapshot, decision, Settled(), OutputFormat::kText).text;
  EXPECT_TRUE(Holds(text, "\nRefused By:     admission webhook deny.example.com: see to it\n"))
      << text;
  EXPECT_FALSE(Holds(text, "\nDeletion:")) << text;
  const std::string json = Report(snapshot, decision, Settled(), OutputFormat::kJson).text;
  EXPECT_TRUE(Holds(json, R"("remedy": "refused by admission webhook deny.example.com: see)"))
      << json;
}

TEST(Check, TextSaysWhichSourceWonAndOverWhat) {
  const ResolvedSettings settings = ResolveSettings(
      {{"poll-interval", "1s"}},
      [](const std::string& name) {
        return name == "CLUSTER_WATCHER_POLL_INTERVAL" ? std::optional<std::string>("2s")
                                                       : std::nullopt;
      },
      {{"cluster-watcher/poll-interval", "3s"}, {"cluster-watcher/confirmations", "7"}});
  const std::string text = ReportOn(Look(Observation::kActive), settings, OutputFormat::kText).text;
  EXPECT_TRUE(Holds(text,
                    "1s               flag, not 3s from the\n"
                    "                                                annotation, not 2s from the\n"
                    "                                                environment\n"))
      << text;
  EXPECT_TRUE(Holds(text, "annotation\n")) << text;
}

TEST(Check, TextNamesTheOwnerAsFarAsItIsKnown) {
  const auto owner_line = [](const Snapshot& snapshot) {
    const std::string text = ReportOn(snapshot, Settled(), OutputFormat::kText).text;
    const std::size_t begin = text.find("Owner: ");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(owner_line(Look(Observation::kAbsent)), "Owner:          deployment/bob");
  Snapshot seen = Look(Observation::kAbsent);
  seen.seen = RecordedOwner{"replicationcontroller", "lab", "bob", "u0", std::nullopt, "", ""};
  EXPECT_EQ(owner_line(seen), "Owner:          replicationcontroller/bob");
  EXPECT_EQ(owner_line(Shared()), "Owner:          <shared>");
  EXPECT_EQ(owner_line(Unreadable()), "Owner:          <unknown>")
      << "where the master root wasn't read, nobody knows whether it is shared";
}

// Parses the whole report.
JsonDocument Json(const Snapshot& snapshot) {
  const CheckReport report = ReportOn(snapshot, Settled(), OutputFormat::kJson);
  EXPECT_EQ(report.text.back(), '\n');
  auto document = JsonDocument::Parse(report.text);
  EXPECT_TRUE(document) << report.text;
  return document ? *std::move(document) : JsonDocument();
}

TEST(Check, JsonHasTheKeysThatArePromised) {
  const JsonDocument document = Json(Look(Observation::kScaledToZero, 0));
  const JsonValue root = document.root();
  std::vector<std::string> keys;
  for (const auto& [key, value] : root.Members()) keys.emplace_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"namespace", "cluster", "owner", "ownerUID",
                                            "observation", "replicas", "verdict", "reason",
                                            "detail", "remedy", "rules", "settings"}));
  EXPECT_EQ(root["namespace"].AsString(), "lab");
  EXPECT_EQ(root["cluster"].AsString(), "bob");
  EXPECT_EQ(root["owner"].AsString(), "deployment.apps/bob");
  EXPECT_EQ(root["ownerUID"].AsString(), "u1");
  EXPECT_EQ(root["observation"].AsString(), "scaled-to-zero");
  EXPECT_EQ(root["replicas"].AsInteger(), 0);
  EXPECT_EQ(root["verdict"].AsString(), "abandoned");
  EXPECT_EQ(root["reason"].AsString(), "scaled-to-zero");

  ASSERT_EQ(root["rules"].size(), 15u);
  for (std::size_t i = 0; i < 15; ++i) {
    const JsonValue rule = root["rules"].At(i);
    EXPECT_EQ(rule.size(), 3u);
    EXPECT_EQ(rule["number"].AsInteger(), static_cast<std::int64_t>(i));
    EXPECT_EQ(rule["matched"].AsBool(), i == 10);
    EXPECT_NE(rule["detail"].AsString().value_or(""), "");
  }
  ASSERT_EQ(root["settings"].size(), 4u);
  EXPECT_EQ(root["settings"].At(0).ToText(),
            R"({"name":"owner","value":"deployment/bob","source":"flag"})");
  EXPECT_EQ(root["settings"].At(1).ToText(),
            R"({"name":"grace-period","value":"","source":"default"})");
}

// What wasn't read is no fact.
TEST(Check, SaysNothingThatWasNotSeen) {
  struct Case {
    Snapshot snapshot;
    std::vector<std::string> lines;
  };
  const std::vector<Case> cases = {
      {Unreadable(),
       {" 3  held                nothing holds, as far as could be read\n",
        " 5  ambiguous           not known\n", " 7  owner-absent        ",
        "14  in-use              "}},
      {Look(Observation::kUnknown),
       {" 6  driver-running      not known\n", "13  active              not known\n",
        "14  in-use              not known\n"}},
      {Look(Observation::kAbsent),
       {" 6  driver-running      nothing of the owner runs\n",
        " 9  owner-adopted       there is no owner\n",
        "13  active              there is no owner\n",
        "14  in-use              no other driver uses the cluster\n"}},
      {Shared(), {"13  active              no owner is given\n"}}};
  for (const auto& [snapshot, lines] : cases) {
    const std::string text = ReportOn(snapshot, Settled(), OutputFormat::kText).text;
    for (const std::string& line : lines) EXPECT_TRUE(Holds(text, line)) << line << text;
  }
}

TEST(Check, YamlSaysWhatJsonSays) {
  const std::string yaml = ReportOn(Shared(), Settled(), OutputFormat::kYaml).text;
  EXPECT_TRUE(yaml.starts_with("namespace: lab\ncluster: bob\nowner: null\n")) << yaml;
}

TEST(Check, JsonIsNullWhereNothingIsKnown) {
  const JsonDocument absent = Json(Look(Observation::kAbsent));
  EXPECT_EQ(absent.root()["owner"].AsString(), "deployment/bob");
  EXPECT_TRUE(absent.root()["ownerUID"].IsNull());
  EXPECT_TRUE(absent.root()["replicas"].IsNull());

  Snapshot seen = Look(Observation::kAbsent);
  seen.seen = RecordedOwner{"replicationcontroller", "lab", "bob", "u0", std::nullopt, "", ""};
  EXPECT_EQ(Json(seen).root()["ownerUID"].AsString(), "u0");

  const JsonDocument shared = Json(Shared());
  EXPECT_TRUE(shared.root()["owner"].IsNull());
  EXPECT_EQ(shared.root()["observation"].AsString(), "none");
  EXPECT_EQ(shared.root()["reason"].AsString(), "shared");

  const JsonDocument unreadable = Json(Unreadable());
  EXPECT_EQ(unreadable.root()["cluster"].AsString(), "bob") << "the one that was asked for";
  EXPECT_EQ(unreadable.root()["observation"].AsString(), "unknown");
  EXPECT_EQ(unreadable.root()["reason"].AsString(), "unknown");
}

TEST(Check, TheClusterIsMissingWhereNoneWasAskedForNorFound) {
  ResolvedSettings settings = Settled();
  settings.settings.cluster.clear();
  const auto json = JsonDocument::Parse(ReportOn(Unreadable(), settings, OutputFormat::kJson).text);
  ASSERT_TRUE(json);
  EXPECT_TRUE(json->root()["cluster"].IsNull());
  const std::string text = ReportOn(Unreadable(), settings, OutputFormat::kText).text;
  EXPECT_TRUE(Holds(text, "Name:           <missing>\n")) << text;
}

TEST(Check, JsonHoldsTextOfAnyKind) {
  Snapshot snapshot = Look(Observation::kActive);
  snapshot.facts.holds = {{"pod \"m\"", "\n\\\x01", std::nullopt}};
  const JsonDocument document = Json(snapshot);
  EXPECT_TRUE(Holds(std::string(document.root()["detail"].AsString().value_or("")),
                    R"(pod "m" is "\n\\\x01")"));
}

TEST(Check, NothingForeignForgesALineOrSteersATerminal) {
  Snapshot snapshot = Look(Observation::kActive);
  snapshot.facts.owner->detail = "\u202e\nVerdict:abandoned\x1b[2J";
  ResolvedSettings settings = Settled();
  settings.values[0].value = "\u009b";
  const std::string text = ReportOn(snapshot, settings, OutputFormat::kText).text;
  EXPECT_TRUE(Holds(text, "\\nVerdict:abandoned\\u001b[2J\n")) << text;
  EXPECT_TRUE(Holds(text, "owner          \\u009b  ")) << text;
  const std::string json = ReportOn(snapshot, settings, OutputFormat::kJson).text;
  for (const char* foreign : {"\x1b", "\u202e", "\u009b"}) {
    EXPECT_FALSE(Holds(text, foreign)) << text;
    EXPECT_FALSE(Holds(json, foreign)) << json;
  }
}

}  // namespace
}  // namespace cluster_watcher
