#include "watcher/command/cluster_table.h"

#include <gtest/gtest.h>

#include "probes/base/file.h"
#include "watcher/command/yaml_of.h"

namespace cluster_watcher {
namespace {

std::vector<ClusterRow> Rows() {
  ClusterRow bob;
  bob.ns = "lab";
  bob.cluster = "bob";
  bob.status = "Running";
  bob.owner = "deployment.apps/bob";
  bob.replicas = 1;
  bob.verdict = "keep";
  bob.reason = "active";
  bob.phase = "watching";
  bob.ephemeral = "bob";
  bob.drivers = {"deployment.apps/alice", "deployment.apps/bob"};
  bob.workers = 2;
  bob.master = "spark://bob:7077";
  bob.age = std::chrono::hours(52);
  ClusterRow shared;
  shared.ns = "lab";
  shared.cluster = "long-running";
  shared.status = "Incomplete";
  shared.shared = true;
  shared.verdict = "keep";
  shared.reason = "shared";
  shared.phase = "watching";
  return {bob, shared};
}

std::string Table(const std::vector<ClusterRow>& rows, const TableStyle& style) {
  ColumnWidths widths;
  return ClusterTable(rows, style, widths);
}

// As the page for drivers shows it.
TEST(ClusterTable, HasAValueInEachCell) {
  std::vector<ClusterRow> rows = Rows();
  rows[0].cluster = "bob-cluster";
  const std::string table = Table(rows, {});
  EXPECT_EQ(table,
            "CLUSTER        STATUS       OWNER                 REPLICAS    VERDICT    REASON     "
            "EPHEMERAL   AGE\n"
            "bob-cluster    Running      deployment.apps/bob   1           keep       active     "
            "bob         2d4h\n"
            "long-running   Incomplete   <missing>             <missing>   <shared>   <shared>   "
            "<shared>    <missing>\n");
  const auto page = ReadFile(PROJECT_ROOT "/docs/drivers.md", 1 << 20);
  ASSERT_TRUE(page);
  EXPECT_NE(page->find(table), std::string::npos);
}

TEST(ClusterTable, IsWiderWhereThatIsAskedFor) {
  const std::string table = Table({Rows().front()}, {true, true, true, true});
  EXPECT_EQ(
      table,
      "NAMESPACE   CLUSTER   STATUS    LEFT        OWNER                 REPLICAS   VERDICT   "
      "REASON   EPHEMERAL   WORKERS   MASTER             WEBUI       ROUTE       DRIVERS"
      "                                     AGE\n"
      "lab         bob       Running   <missing>   deployment.apps/bob   1          keep      "
      "active   bob         2         spark://bob:7077   <missing>   <missing>   "
      "deployment.apps/alice,deployment.apps/bob   2d4h\n");
}

TEST(ClusterTable, HeadersMayBeLeftOut) {
  TableStyle style;
  style.with_headers = false;
  EXPECT_EQ(Table({}, style), "");
  EXPECT_EQ(Table(Rows(), style).find("CLUSTER"), std::string::npos);
}

TEST(ClusterTable, KeepsLaterRowsUnderAHeader) {
  ClusterRow row = Rows().front();
  ColumnWidths widths;
  const std::string first = ClusterTable({row}, {}, widths);
  row.status = "Up";
  row.age = std::chrono::hours(200);
  const std::string narrower = ClusterTable({row}, {}, widths);
  EXPECT_EQ(narrower.find("CLUSTER"), std::string::npos) << narrower;
  EXPECT_EQ(narrower.find("deployment"), first.find("OWNER"));
  row.status = "Incomplete";
  const std::string wider = ClusterTable({row}, {}, widths);
  EXPECT_EQ(wider.find("deployment") - wider.find("\n") - 1, wider.find("OWNER")) << wider;
}

TEST(ClusterTable, ShowsWhatIsLeft) {
  std::vector<ClusterRow> rows = {Rows().front()};
  rows[0].left = Duration(25'300);
  TableStyle style;
  style.with_left = true;
  EXPECT_NE(Table(rows, style).find("   25s   "), std::string::npos);
  rows[0].left = Duration(-5'000);
  EXPECT_NE(Table(rows, style).find("   due   "), std::string::npos);
}

// Labels of owners are anybody's text.
TEST(ClusterTable, HasNoSpacesAndNoControlCharactersInCells) {
  std::vector<ClusterRow> rows = {Rows().front()};
  rows[0].ephemeral = "a b\x1b[2J\nc";
  TableStyle style;
  style.with_headers = false;
  const std::string table = Table(rows, style);
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
  EXPECT_EQ(table.find('\n'), table.size() - 1);
  EXPECT_EQ(table.find("a b"), std::string::npos);
}

TEST(ClusterJson, HasNullForWhatIsNotThere) {
  EXPECT_EQ(ClusterJson({Rows().back()}),
            R"({
  "items": [
    {
      "namespace": "lab",
      "cluster": "long-running",
      "status": "Incomplete",
      "owner": null,
      "replicas": null,
      "verdict": "keep",
      "reason": "shared",
      "phase": "watching",
      "ephemeral": null,
      "drivers": []
    }
  ]
}
)");
  std::vector<ClusterRow> rows = {Rows().front()};
  rows[0].steps = "1/2";
  EXPECT_NE(ClusterJson(rows).find("\"steps\": \"1/2\""), std::string::npos);
  EXPECT_EQ(ClusterJson({}), "{\n  \"items\": []\n}\n");
}

TEST(ClusterYaml, SaysWhatJsonSays) {
  std::vector<ClusterRow> rows = {Rows().front()};
  rows[0].drivers = {"a\x1b[2J\u202e\u009b", "no"};
  EXPECT_EQ(YamlOf(ClusterJson(rows)),
            R"(items:
  - namespace: lab
    cluster: bob
    status: Running
    owner: deployment.apps/bob
    replicas: 1
    verdict: keep
    reason: active
    phase: watching
    ephemeral: bob
    drivers:
      - "a\x1b[2J\u202e\x9b"
      - "no"
)");
  EXPECT_EQ(YamlOf(ClusterJson({})), "items: []\n");
}

TEST(NameLines, NameAClusterOnEach) {
  EXPECT_EQ(NameLines(Rows()), "cluster/bob\ncluster/long-running\n");
}

// JSON itself escapes but some of what steers a terminal.
TEST(ClusterJson, HasNoControlCharacters) {
  std::vector<ClusterRow> rows = {Rows().front()};
  rows[0].ephemeral = "a\x1b[2J\x7f\u009b2J\u202e";
  EXPECT_NE(ClusterJson(rows).find(R"("a\u001B[2J\u007f\u009b2J\u202e")"), std::string::npos)
      << ClusterJson(rows);
}

}  // namespace
}  // namespace cluster_watcher
