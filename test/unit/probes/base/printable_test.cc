#include "probes/base/printable.h"

#include <gtest/gtest.h>

#include <string>

#include "probes/base/json.h"

namespace cluster_watcher {
namespace {

TEST(Printable, LeavesWhatCanBeRead) {
  for (const char* text : {"", "deployment.apps/bob", "a \"b\" \\n", "größer als 10 €",
                           "日本 🙂", "\u00a0\u00ad", "\U0010ffff"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(Printable, EscapesWhatForgesALineOrSteersATerminal) {
  EXPECT_EQ(Printable("kept\nCluster bob is deleted\r\t"), "kept\\nCluster bob is deleted\\r\\t");
  EXPECT_EQ(Printable(std::string("\0\x1b[2J\x7f", 6)), "\\u0000\\u001b[2J\\u007f");
  EXPECT_EQ(Printable("\u0080\u009b1m\u009f"), "\\u0080\\u009b1m\\u009f") << "C1";
  EXPECT_EQ(Printable("a\u2028b\u2029"), "a\\u2028b\\u2029");
  EXPECT_EQ(Printable("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e"),
            "\\u061c\\u200e\\u200f\\u202a\\u202b\\u202c\\u202d\\u202e");
  EXPECT_EQ(Printable("\u2066\u2067\u2068\u2069\u206a"), "\\u2066\\u2067\\u2068\\u2069\u206a");
}

TEST(Printable, ReplacesWhatIsNotUtf8) {
  const std::string replaced = "\ufffd";
  EXPECT_EQ(Printable("\xff\xc3"), replaced + replaced);
  EXPECT_EQ(Printable("\xc3\x1b"), replaced + "\\u001b") << "a control character isn't swallowed";
  EXPECT_EQ(Printable("\xc0\x8a"), replaced + replaced) << "overlong line break";
  EXPECT_EQ(Printable("\xe0\x80\x8a"), replaced + replaced + replaced);
  EXPECT_EQ(Printable("\xed\xa0\x80"), replaced + replaced + replaced) << "surrogate";
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), replaced + replaced + replaced + replaced);
  EXPECT_EQ(Printable("\x80\xf5"), replaced + replaced);
}

TEST(Printable, KeepsLinesThatAreOurs) {
  EXPECT_EQ(PrintableLines("a\x1b\n\n b\u202e\n"), "a\\u001b\n\n b\\u202e\n");
  EXPECT_EQ(PrintableLines(""), "");
}

TEST(Printable, LeavesJsonWhatItSays) {
  const auto shown = JsonDocument::Parse(Printable("{\"a\":\"x\u202ey\x7f\"}"));
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->root()["a"].AsString(), "x\u202ey\x7f");
}

}  // namespace
}  // namespace cluster_watcher
