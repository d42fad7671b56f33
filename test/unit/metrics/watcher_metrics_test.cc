#include "metrics/watcher_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "metrics/http/exposition.h"
#include "metrics/process_metrics.h"

namespace cluster_watcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// All metrics before the first poll.
std::string AtStart() {
  std::ifstream file(PROJECT_ROOT "/test/unit/watcher/loop/life/1-starting.prom");
  return {std::istreambuf_iterator<char>(file), {}};
}

WatcherMetrics::WallTime At(int unix_seconds) {
  return WatcherMetrics::WallTime(seconds(unix_seconds));
}

std::string Expose(const prometheus::Collectable& source) {
  const prometheus::Collectable* const sources[] = {&source};
  return Exposition(sources);
}

class WatcherMetricsTest : public testing::Test {
 protected:
  // The value of a series as shown; "missing" if it isn't shown.
  std::string Value(const std::string& series) const { return ValueIn(Expose(metrics_), series); }

  static std::string ValueIn(const std::string& exposition, const std::string& series) {
    std::istringstream lines(exposition);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(series + " ")) return line.substr(series.size() + 1);
    }
    return "missing";
  }

  // The labels of the family's series whose value is 1.
  static std::string Ones(const std::string& exposition, const std::string& family) {
    std::istringstream lines(exposition);
    std::string ones;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(family + "{") && line.ends_with(" 1")) {
        ones += line.substr(family.size(), line.size() - family.size() - 2);
      }
    }
    return ones;
  }

  prometheus::Registry registry_;
  WatcherMetrics metrics_{registry_, "1.2.3", "0a1b2c3"};
};

TEST_F(WatcherMetricsTest, ShowsEveryFamilyAndLabelValueFromTheStart) {
  EXPECT_GT(AtStart().size(), 1'000u);
  EXPECT_EQ(Expose(metrics_), AtStart());
  EXPECT_EQ(Expose(registry_), AtStart()) << "the registry holds the same";
}

TEST_F(WatcherMetricsTest, CountsAPollAndShowsTheOwnersState) {
  metrics_.Polled("active", milliseconds(3), At(1'700'000'000));
  metrics_.Polled("absent", seconds(20), At(1'700'000'005));
  EXPECT_EQ(Value(R"(cluster_watcher_polls_total{outcome="active"})"), "1");
  EXPECT_EQ(Value(R"(cluster_watcher_polls_total{outcome="absent"})"), "1");
  EXPECT_EQ(Value(R"(cluster_watcher_poll_duration_seconds_bucket{le="0.005"})"), "1");
  EXPECT_EQ(Value(R"(cluster_watcher_poll_duration_seconds_bucket{le="+Inf"})"), "2");
  EXPECT_EQ(Value("cluster_watcher_poll_duration_seconds_sum"), "20.003");
  EXPECT_EQ(Ones(Expose(metrics_), "cluster_watcher_owner_state"), R"({state="absent"})");
  const std::string definite = "cluster_watcher_last_definite_poll_timestamp_seconds";
  EXPECT_EQ(Value(definite), "1700000005");
  metrics_.Polled("unknown", milliseconds(3), At(1'700'000'010));
  EXPECT_EQ(Ones(Expose(metrics_), "cluster_watcher_owner_state"), R"({state="unknown"})");
  EXPECT_EQ(Value(definite), "1700000005") << "it established nothing";
  metrics_.Polled("none", milliseconds(3), At(1'700'000'015));
  EXPECT_EQ(Value(definite), "1700000015") << "that there is no owner is definite";
}

TEST_F(WatcherMetricsTest, ShowsOneClusterAndItsOwner) {
  const auto value = [&](const char* owner, const char* ns) {
    return Value(std::string("cluster_watcher_cluster_info{cluster_name=\"spark\",owner=\"") +
                 owner + "\",owner_namespace=\"" + ns + "\"}");
  };
  metrics_.SetCluster("spark", "<shared>", "");
  EXPECT_EQ(value("<shared>", ""), "1");
  metrics_.SetCluster("spark", "deployment.apps/bob", "lab");
  metrics_.SetCluster("spark", "deployment.apps/bob", "lab");
  EXPECT_EQ(value("<shared>", ""), "missing");
  EXPECT_EQ(value("deployment.apps/bob", "lab"), "1");
}

TEST_F(WatcherMetricsTest, ShowsOneVerdictAndOnePhase) {
  for (const auto& [verdict, reason] :
       {std::pair{"keep", "active"}, std::pair{"abandoned", "scaled-to-zero"}}) {
    metrics_.SetVerdict(verdict, reason);
    EXPECT_EQ(Ones(Expose(metrics_), "cluster_watcher_verdict"),
              std::string("{reason=\"") + reason + "\",verdict=\"" + verdict + "\"}");
  }
  for (const char* phase : {"condemned", "deleting", "done", "watching"}) {
    metrics_.SetPhase(phase);
    EXPECT_EQ(Ones(Expose(metrics_), "cluster_watcher_phase"),
              std::string("{phase=\"") + phase + "\"}");
  }
}

TEST_F(WatcherMetricsTest, ShowsTheWayToADeletionAndBack) {
  metrics_.SetOwnerReplicas(4);
  metrics_.SetAbandonedSince(At(1'700'000'000) + milliseconds(250));
  metrics_.SetDeletionDue(At(1'700'000'030));
  metrics_.SetConfirmations(2);
  metrics_.SetDryRun(true);
  metrics_.Refused("owner-back");
  metrics_.Refused("owner-back");
  metrics_.SetMembers(7, 3);
  metrics_.SetDeletionDuration(milliseconds(1500));
  metrics_.SetDeletionDeadline(At(1'700'000'600));
  metrics_.StepRun("timed-out");
  const std::pair<const char*, const char*> values[] = {
      {"owner_replicas", "4"},
      {"abandoned_since_timestamp_seconds", "1700000000.25"},
      {"deletion_due_timestamp_seconds", "1700000030"},
      {"confirmations", "2"},
      {"dry_run", "1"},
      {R"(refusals_total{reason="owner-back"})", "2"},
      {R"(members{state="found"})", "7"},
      {R"(members{state="remaining"})", "3"},
      {"deletion_duration_seconds", "1.5"},
      {"deletion_deadline_timestamp_seconds", "1700000600"},
      {R"(steps_total{result="timed-out"})", "1"}};
  for (const auto& [series, value] : values) {
    EXPECT_EQ(Value(std::string("cluster_watcher_") + series), value) << series;
  }
  metrics_.SetAbandonedSince(std::nullopt);
  metrics_.SetDeletionDue(std::nullopt);
  metrics_.SetConfirmations(0);
  metrics_.SetDryRun(false);
  metrics_.SetDeletionDeadline(std::nullopt);
  for (const char* series : {"abandoned_since_timestamp_seconds", "deletion_due_timestamp_seconds",
                             "confirmations", "dry_run", "deletion_deadline_timestamp_seconds"}) {
    EXPECT_EQ(Value(std::string("cluster_watcher_") + series), "0") << series;
  }
}

TEST_F(WatcherMetricsTest, CountsDeletesByResourceAndResult) {
  metrics_.Deleted("deployments.apps", "deleted");
  metrics_.Deleted("deployments.apps", "deleted");
  metrics_.Deleted("services", "forbidden");
  const auto deletes = [&](const std::string& resource, const std::string& result) {
    return Value("cluster_watcher_deletes_total{resource=\"" + resource + "\",result=\"" + result +
                 "\"}");
  };
  EXPECT_EQ(deletes("deployments.apps", "deleted"), "2");
  EXPECT_EQ(deletes("services", "forbidden"), "1");
  EXPECT_EQ(deletes("services", "deleted"), "missing");
}

TEST_F(WatcherMetricsTest, ShowsMissingPermissionsAsLongAsTheyAre) {
  const auto missing = [&](const std::string& verb, const std::string& resource) {
    return Value("cluster_watcher_permission_missing{resource=\"" + resource + "\",verb=\"" + verb +
                 "\"}");
  };
  metrics_.SetMissingPermissions(
      {{"list", "deployments.apps"}, {"delete", "services"}, {"list", "deployments.apps"}});
  EXPECT_EQ(missing("list", "deployments.apps"), "1");
  EXPECT_EQ(missing("delete", "services"), "1");
  metrics_.SetMissingPermissions({{"delete", "services"}, {"get", "pods"}});
  EXPECT_EQ(missing("list", "deployments.apps"), "missing");
  EXPECT_EQ(missing("delete", "services"), "1");
  EXPECT_EQ(missing("get", "pods"), "1");
  metrics_.SetMissingPermissions({});
  EXPECT_EQ(Expose(metrics_), AtStart());
}

TEST_F(WatcherMetricsTest, CountsRequestsByCodeAndMethod) {
  metrics_.Requested("200", "GET", milliseconds(1));
  metrics_.Requested("200", "GET", milliseconds(2));
  metrics_.Requested("<error>", "GET", seconds(5));
  metrics_.Requested("200", "DELETE", milliseconds(4));
  metrics_.Retried();
  EXPECT_EQ(Value(R"(rest_client_requests_total{code="200",method="GET"})"), "2");
  EXPECT_EQ(Value(R"(rest_client_requests_total{code="200",method="DELETE"})"), "1");
  EXPECT_EQ(Value(R"(rest_client_requests_total{code="<error>",method="GET"})"), "1");
  EXPECT_EQ(Value("rest_client_request_duration_seconds_count"), "4");
  EXPECT_EQ(Value(R"(rest_client_request_duration_seconds_bucket{le="0.005"})"), "3");
  EXPECT_EQ(Value("rest_client_request_retries_total"), "1");
}

using WatcherMetricsDeathTest = WatcherMetricsTest;

TEST_F(WatcherMetricsDeathTest, AWordThatIsNotInTheContractIsAMistake) {
  EXPECT_DEBUG_DEATH(metrics_.Polled("gone", milliseconds(3), At(1'700'000'000)), "contract");
  EXPECT_DEBUG_DEATH(metrics_.SetVerdict("keep", "owner-absent"), "contract");
  EXPECT_DEBUG_DEATH(metrics_.SetPhase("dead"), "contract");
  EXPECT_DEBUG_DEATH(metrics_.Refused("no"), "contract");
  EXPECT_DEBUG_DEATH(metrics_.Deleted("pods", "gone"), "contract");
  EXPECT_DEBUG_DEATH(metrics_.StepRun("skipped"), "contract");
  EXPECT_EQ(Expose(metrics_), AtStart());
}

TEST_F(WatcherMetricsTest, AScrapeNeverMeetsAChangeHalfway) {
  std::atomic<bool> stop = false;
  std::thread changes([&] {
    for (bool even = true; !stop; even = !even) {
      metrics_.SetVerdict(even ? "keep" : "abandoned", even ? "active" : "owner-absent");
      metrics_.SetPhase(even ? "watching" : "condemned");
      metrics_.Polled(even ? "active" : "absent", milliseconds(1), At(1'700'000'000));
      metrics_.Requested(even ? "200" : "404", "GET", milliseconds(1));
    }
  });
  for (int i = 0; i < 200; ++i) {
    const std::string text = Expose(metrics_);
    for (const char* family :
         {"cluster_watcher_verdict", "cluster_watcher_phase", "cluster_watcher_owner_state"}) {
      const std::string ones = Ones(text, family);
      EXPECT_EQ(std::ranges::count(ones, '{'), 1) << family << ones;
    }
  }
  stop = true;
  changes.join();
}

TEST_F(WatcherMetricsTest, WhatIsChangedTogetherIsSeenTogether) {
  std::atomic<bool> stop = false;
  std::thread changes([&] {
    for (int count = 1; !stop; ++count) {
      {
        const auto together = metrics_.Together();
        metrics_.SetConfirmations(count);
        metrics_.SetMembers(count, 0);
      }
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 200; ++i) {
    const std::string text = Expose(metrics_);
    EXPECT_EQ(ValueIn(text, "cluster_watcher_confirmations"),
              ValueIn(text, R"(cluster_watcher_members{state="found"})"));
  }
  stop = true;
  changes.join();
}

TEST_F(WatcherMetricsTest, TheStatusIsWhatTheMetricsSay) {
  const WatcherStatus start = metrics_.Status();
  EXPECT_EQ(start.verdict + "/" + start.reason + "/" + start.phase, "keep/unknown/watching");
  EXPECT_EQ(start.cluster + start.owner + start.owner_namespace + start.words.why, "");
  EXPECT_EQ(start.confirmations, 0);
  EXPECT_EQ(start.members_found, 0);
  EXPECT_EQ(start.members_remaining, 0);
  EXPECT_FALSE(start.last_look || start.abandoned_since || start.deletion_due);
  EXPECT_FALSE(start.deletion_deadline || start.dry_run);

  metrics_.Polled("absent", seconds(1), At(1'700'000'000));
  metrics_.SetCluster("spark", "deployment.apps/bob", "drivers");
  metrics_.SetVerdict("abandoned", "owner-absent");
  metrics_.Explain({"lab", "there is no bob", "make it", "kubectl", 3});
  metrics_.SetAbandonedSince(At(1'700'000'001));
  metrics_.SetDeletionDue(At(1'700'000'002));
  metrics_.SetDeletionDeadline(At(1'700'000'003));
  metrics_.SetConfirmations(2);
  metrics_.SetPhase("deleting");
  metrics_.SetMembers(5, 4);
  metrics_.SetDeletionDuration(milliseconds(1500));
  metrics_.SetDryRun(true);
  metrics_.SetMissingPermissions({{"list", "pods"}, {"get", "jobs"}, {"list", "pods"}});
  const WatcherStatus now = metrics_.Status();
  EXPECT_EQ(now.cluster + "/" + now.owner + "/" + now.owner_namespace,
            "spark/deployment.apps/bob/drivers");
  EXPECT_EQ(now.verdict + "/" + now.reason + "/" + now.phase, "abandoned/owner-absent/deleting");
  EXPECT_EQ(now.words.ns + "/" + now.words.why + "/" + now.words.remedy + "/" + now.words.hold,
            "lab/there is no bob/make it/kubectl");
  EXPECT_EQ(now.words.confirmations, 3);
  EXPECT_EQ(now.confirmations, 2);
  EXPECT_EQ(now.last_look, At(1'700'000'000));
  EXPECT_EQ(now.abandoned_since, At(1'700'000'001));
  EXPECT_EQ(now.deletion_due, At(1'700'000'002));
  EXPECT_EQ(now.deletion_deadline, At(1'700'000'003));
  EXPECT_EQ(now.deletion_took, milliseconds(1500));
  EXPECT_EQ(now.members_found, 5);
  EXPECT_EQ(now.members_remaining, 4);
  EXPECT_TRUE(now.dry_run);
  EXPECT_EQ(now.missing_permissions, (std::vector<std::string>{"list pods", "get jobs"}));
  metrics_.SetMissingPermissions({});
  EXPECT_TRUE(metrics_.Status().missing_permissions.empty());
}

TEST(ProcessMetricsTest, ShowsThisProcess) {
  const ProcessMetrics process;
  std::map<std::string, prometheus::MetricFamily> families;
  for (const prometheus::MetricFamily& family : process.Collect()) families[family.name] = family;
  ASSERT_EQ(families.size(), 4U);
  const auto now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const double start = families["process_start_time_seconds"].metric.at(0).gauge.value;
  EXPECT_LT(start, now + 2);
  EXPECT_GT(start, now - 3600);
  EXPECT_GT(families["process_resident_memory_bytes"].metric.at(0).gauge.value, 100'000);
  EXPECT_GE(families["process_open_fds"].metric.at(0).gauge.value, 1);
  EXPECT_GT(families["process_cpu_seconds_total"].metric.at(0).counter.value, 0);
  EXPECT_EQ(families["process_cpu_seconds_total"].type, prometheus::MetricType::Counter);
}

TEST(ProcessMetricsTest, CountsAFileThatIsOpened) {
  const ProcessMetrics process;
  const auto open_files = [&] {
    for (const prometheus::MetricFamily& family : process.Collect()) {
      if (family.name == "process_open_fds") return family.metric.at(0).gauge.value;
    }
    return -1.0;
  };
  const double before = open_files();
  const std::ifstream file("/proc/self/stat");
  EXPECT_EQ(open_files(), before + 1);
}

}  // namespace
}  // namespace cluster_watcher
