// The page for people: what each state shows, and what becomes of foreign text. The pages in
// test/unit/watcher/loop/life are those of a cluster's life.
#include "watcher/reporting/status_page.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "probes/base/time_text.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

const WallTime kNow = *ParseTime("2026-12-24T00:05:00Z");

WatcherStatus Abandoned() {
  WatcherStatus status;
  status.cluster = "spark";
  status.owner = "deployment.apps/bob";
  status.owner_namespace = "lab";
  status.words = {"lab", "there is no deployment.apps/bob", "create the driver again",
                  "kubectl annotate -n lab deployment.apps/spark-m", 3};
  status.verdict = "abandoned";
  status.reason = "owner-absent";
  status.phase = "watching";
  status.confirmations = 2;
  status.last_look = kNow - seconds(3);
  status.abandoned_since = kNow - seconds(65);
  status.deletion_due = kNow + seconds(25);
  return status;
}

WatcherStatus In(const char* phase) {
  WatcherStatus status = Abandoned();
  status.phase = phase;
  return status;
}

std::string PageOf(const WatcherStatus& status) { return PageFor(status, kNow); }

testing::AssertionResult Has(const std::string& page, const std::string& text) {
  if (page.find(text) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no " << text << " in " << page;
}

// The content of the row of this name; "missing" if there is none.
std::string Row(const WatcherStatus& status, const std::string& name) {
  const std::string page = PageOf(status);
  const std::string begin = "<dt>" + name + "</dt>\n<dd>";
  const std::size_t at = page.find(begin);
  if (at == std::string::npos) return "missing";
  return page.substr(at + begin.size(), page.find("</dd>", at) - at - begin.size());
}

std::string State(const WatcherStatus& status) {
  const std::string page = PageOf(status);
  const std::string begin = "<p class=\"state\">";
  const std::size_t at = page.find(begin) + begin.size();
  return page.substr(at, page.find('<', at) - at);
}

TEST(StatusPageTest, IsAWholePageThatLoadsAndRunsNothing) {
  const std::string page = PageOf(Abandoned());
  EXPECT_TRUE(
      page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">"));
  EXPECT_TRUE(page.ends_with("</body>\n</html>\n"));
  EXPECT_TRUE(Has(page, "<title>lab/spark looks abandoned</title>"));
  EXPECT_TRUE(Has(page, "<h1>lab/spark</h1>"));
  EXPECT_TRUE(Has(page, "name=\"viewport\" content=\"width=device-width, initial-scale=1\""));
  EXPECT_TRUE(Has(page, "<meta http-equiv=\"refresh\" content=\"5\">"));
  EXPECT_TRUE(Has(page, "prefers-color-scheme:dark"));
  EXPECT_TRUE(Has(page, "as of 2026-12-24T00:05:00Z"));
  for (const char* link : {"metrics", "healthz", "readyz"}) {
    EXPECT_TRUE(Has(page, std::string("<a href=\"") + link + "\">/" + link + "</a>"));
  }
  for (const char* no : {"<script", "url(", "@import", "src=", "<link", "style=", "http:", "//"}) {
    EXPECT_FALSE(Has(page, no));
  }
}

TEST(StatusPageTest, BeforeTheFirstLookNothingIsKnown) {
  WatcherStatus status;
  status.verdict = "keep";
  status.reason = "unknown";
  status.phase = "watching";
  EXPECT_EQ(State(status), "was not looked at yet");
  EXPECT_TRUE(Has(PageOf(status), "<h1>Cluster</h1>"));
  for (const char* row : {"Owner", "Because", "What would change it", "Abandoned since",
                          "Confirmations", "Deletion due", "To keep it", "Members", "Deadline",
                          "Took", "Dry run", "Missing permissions", "Last definite look"}) {
    EXPECT_EQ(Row(status, row), "missing") << row;
  }
}

TEST(StatusPageTest, OfAClusterThatIsKeptItSaysWhyAndWhatWouldChangeThat) {
  WatcherStatus status = Abandoned();
  status.verdict = "keep";
  status.reason = "active";
  status.words = {"lab", "bob wants 1 replica", "it is abandoned once bob is deleted", "", 3};
  status.confirmations = 0;
  status.abandoned_since = status.deletion_due = std::nullopt;
  EXPECT_EQ(State(status), "is kept");
  EXPECT_TRUE(Has(PageOf(status), "<main class=\"keep active watching\">"));
  EXPECT_EQ(Row(status, "Owner"), "deployment.apps/bob");
  EXPECT_EQ(Row(status, "Phase"), "watching");
  EXPECT_EQ(Row(status, "Verdict"), "keep: active");
  EXPECT_EQ(Row(status, "Because"), "bob wants 1 replica");
  EXPECT_EQ(Row(status, "What would change it"), "it is abandoned once bob is deleted");
  EXPECT_EQ(Row(status, "Last definite look"), "2026-12-24T00:04:57Z, 3s ago");
  for (const char* row : {"Abandoned since", "Confirmations", "Deletion due", "To keep it"}) {
    EXPECT_EQ(Row(status, row), "missing") << row;
  }
}

TEST(StatusPageTest, AnOwnerElsewhereHasItsNamespace) {
  WatcherStatus status = Abandoned();
  status.owner_namespace = "drivers";
  EXPECT_EQ(Row(status, "Owner"), "deployment.apps/bob in namespace drivers");
  status.owner = "<shared>";
  status.owner_namespace = "";
  EXPECT_EQ(Row(status, "Owner"), "&lt;shared&gt;");
}

TEST(StatusPageTest, OfAnAbandonedClusterItSaysWhenItGoesAndWhatKeepsIt) {
  const WatcherStatus status = Abandoned();
  EXPECT_EQ(State(status), "looks abandoned");
  EXPECT_EQ(Row(status, "Abandoned since"), "2026-12-24T00:03:55Z, 1m5s ago");
  EXPECT_EQ(Row(status, "Confirmations"), "<progress value=\"2\" max=\"3\"></progress>2 of 3");
  EXPECT_EQ(Row(status, "Deletion due"), "2026-12-24T00:05:25Z, in 25s, at the earliest");
  EXPECT_EQ(Row(status, "To keep it"),
            "<code>kubectl annotate -n lab deployment.apps/spark-m</code>");
  EXPECT_EQ(State(In("condemned")), "is condemned: a final check follows");
  EXPECT_EQ(Row(In("condemned"), "What would change it"), "create the driver again");
  EXPECT_NE(Row(In("condemned"), "Deletion due"), "missing");
}

TEST(StatusPageTest, ConfirmationsFillTheirBarAndNoMore) {
  WatcherStatus status = Abandoned();
  status.confirmations = 7;
  EXPECT_EQ(Row(status, "Confirmations"), "<progress value=\"3\" max=\"3\"></progress>3 of 3");
  status.words.confirmations = 0;
  EXPECT_EQ(Row(status, "Confirmations"), "<progress value=\"1\" max=\"1\"></progress>1 of 1");
}

TEST(StatusPageTest, ADeletionShowsHowFarItIs) {
  WatcherStatus status = In("deleting");
  EXPECT_EQ(Row(status, "Members"), "missing") << "none were listed yet";
  status.members_found = 5;
  status.members_remaining = 2;
  status.deletion_deadline = kNow + std::chrono::minutes(10);
  EXPECT_EQ(State(status), "is being deleted");
  EXPECT_TRUE(Has(PageOf(status), "<main class=\"abandoned owner-absent deleting\">"));
  EXPECT_EQ(Row(status, "Members"),
            "<progress value=\"3\" max=\"5\"></progress>5 found, 2 remaining");
  EXPECT_EQ(Row(status, "Deadline"), "2026-12-24T00:15:00Z, in 10m");
  EXPECT_EQ(Row(status, "What would change it"),
            "cluster-watcher/keep on the master root, or the brake, stops it");
  EXPECT_EQ(Row(status, "Deletion due"), "missing");
  EXPECT_EQ(Row(status, "To keep it"), "missing");
  EXPECT_EQ(Row(status, "Took"), "missing");
}

TEST(StatusPageTest, ADeletionThatIsDoneSaysHowLongItTook) {
  WatcherStatus status = In("done");
  status.deletion_took = std::chrono::milliseconds(12'400);
  EXPECT_EQ(State(status), "is deleted");
  EXPECT_EQ(Row(status, "Took"), "12.4s") << "as the Event says it";
  EXPECT_EQ(Row(status, "What would change it"), "missing");
  EXPECT_EQ(Row(status, "Deletion due"), "missing");
}

TEST(StatusPageTest, ADryRunSaysThatNothingIsDeleted) {
  WatcherStatus status = Abandoned();
  status.dry_run = true;
  status.deletion_due.reset();
  status.members_found = status.members_remaining = 5;
  EXPECT_EQ(Row(status, "Dry run"), "nothing is marked or deleted");
  EXPECT_EQ(Row(status, "Members"), "5 and the master root would be deleted");
  EXPECT_EQ(Row(status, "To keep it"), "missing");
}

TEST(StatusPageTest, PermissionsThatAreMissingAreNamed) {
  WatcherStatus status = Abandoned();
  status.missing_permissions = {"list deployments", "get <b>"};
  EXPECT_EQ(Row(status, "Missing permissions"), "list deployments; get &lt;b&gt;");
}

TEST(StatusPageTest, ATimeThatIsNowIsNeitherPastNorFuture) {
  WatcherStatus status = Abandoned();
  status.last_look = kNow - std::chrono::milliseconds(400);
  EXPECT_EQ(Row(status, "Last definite look"), "2026-12-24T00:04:59Z, now");
}

// Puts `text` wherever foreign text may stand.
WatcherStatus Full(const std::string& text) {
  WatcherStatus status = Abandoned();
  for (std::string* each : {&status.cluster, &status.owner, &status.owner_namespace,
                            &status.words.ns, &status.words.why, &status.words.remedy,
                            &status.words.hold, &status.verdict, &status.reason}) {
    *each = text;
  }
  status.missing_permissions.assign(2, text);
  return status;
}

TEST(StatusPageTest, ForeignTextIsTextAndNothingElse) {
  const std::string plain = PageOf(Full("x"));
  const auto count = [](const std::string& page, char c) { return std::ranges::count(page, c); };
  const std::string hostile =
      "</title></style><script>alert('1')</script>\"onload=\"x&lt;\n\x1b[2J\xe2\x80\xae\xff";
  const std::string page = PageOf(Full(hostile));
  for (const char c : {'<', '>', '"'}) EXPECT_EQ(count(page, c), count(plain, c)) << c;
  EXPECT_TRUE(Has(page,
                  "&lt;/title&gt;&lt;/style&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"
                  "&quot;onload=&quot;x&amp;lt;\\n\\u001b[2J\\u202e\xef\xbf\xbd"));
  for (const char* phase : {"<b>", "\"", "\xe2\x81\xa6"}) {
    WatcherStatus status = Abandoned();
    status.phase = phase;
    EXPECT_FALSE(Has(PageOf(status), "<b>"));
    EXPECT_FALSE(Has(PageOf(status), "\"\"\""));
    EXPECT_FALSE(Has(PageOf(status), "\xe2\x81\xa6"));
  }
}

TEST(StatusPageTest, LongTextIsCut) {
  const std::string long_text(250'000, 'x');
  WatcherStatus status = Abandoned();
  status.words.why = long_text;
  EXPECT_EQ(Row(status, "Because"), std::string(1'021, 'x') + "...");
  EXPECT_LT(PageOf(Full(long_text)).size(), 24'000U);
  EXPECT_LT(PageOf(Full(std::string(250'000, '"'))).size(), 100'000U);
  EXPECT_LT(PageOf(Full(std::string(250'000, '\x01'))).size(), 24'000U);
}

}  // namespace
}  // namespace cluster_watcher
