#include "probes/base/read_yaml.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace cluster_watcher {
namespace {

YamlContent Read(const std::string& text) {
  auto read = ReadYaml(text);
  if (!read) ADD_FAILURE() << text << ": " << read.error().message;
  if (!read || !*read) return {};
  return **std::move(read);
}

std::string ErrorOf(const std::string& text) {
  const auto read = ReadYaml(text);
  EXPECT_FALSE(read) << text;
  if (read) return "";
  return std::to_string(read.error().line) + ":" + std::to_string(read.error().column) + ": " +
         read.error().message;
}

std::string OddityOf(const std::string& text) {
  const YamlContent read = Read(text);
  if (!read.oddity) return "";
  return std::to_string(read.oddity->line) + ":" + std::to_string(read.oddity->column) + ": " +
         read.oddity->message;
}

TEST(ReadYaml, TellsWhatCannotBeChanged) {
  EXPECT_EQ(OddityOf("a: 1\nb:\n  c: 1\n  \"c\": 2\n"),
            "4:3: the key \"c\" stands twice in one map");
  EXPECT_EQ(OddityOf("{[a]: b}\n"), "1:2: a list or map as a key");
  EXPECT_EQ(OddityOf("~: b\n"), "1:1: a key that is null");
  EXPECT_EQ(OddityOf("a: !!float 9007199254740993\n"), "1:4: !!float: leave the tag out");
  EXPECT_EQ(OddityOf("a: !!float 1.5\n"), "");
  EXPECT_EQ(OddityOf("a: .inf\n"), "1:4: \".inf\" can't be written as JSON");
  EXPECT_EQ(OddityOf("a: !!int x\n"), "1:4: \"x\" is no !!int");
  EXPECT_EQ(OddityOf("a: !!binary eA==\n"), "1:4: !!binary: write it as text");
  EXPECT_EQ(OddityOf("a: \"\\uffff\""), "1:4: a noncharacter of Unicode");
  EXPECT_EQ(OddityOf("a: \"\\uFDD0\""), "1:4: a noncharacter of Unicode");
  EXPECT_EQ(OddityOf("a: \"x\\U0010FFFE\""), "1:4: a noncharacter of Unicode");
  EXPECT_EQ(OddityOf("a: \"\\uFFFD\\uBFFF\\U0001F600\""), "");
  EXPECT_EQ(OddityOf("a:\n  <<: 1\n"), "2:3: << needs a map, or a list of maps");
}

TEST(ReadYaml, NothingIsNoDocument) {
  for (const char* text : {"", "\n", "# a\n", "---\n# a\n", "%YAML 1.2\n", "...\n"}) {
    const auto read = ReadYaml(text);
    ASSERT_TRUE(read) << text;
    EXPECT_TRUE(!*read || (*read)->root.type == YamlNode::Type::kNull) << text;
  }
}

TEST(ReadYaml, ErrorsNameThePlace) {
  EXPECT_EQ(ErrorOf("a: b\nc: d: e\n").find("2:5: "), 0u) << ErrorOf("a: b\nc: d: e\n");
  EXPECT_EQ(ErrorOf("a: [b\n").find("2:1: "), 0u) << ErrorOf("a: [b\n");
  EXPECT_EQ(ErrorOf("a: *b\n").find("1:4: "), 0u) << ErrorOf("a: *b\n");
  EXPECT_EQ(ErrorOf("a: \"\\\x7f\"\n").find('\x7f'), std::string::npos);
  EXPECT_EQ(ErrorOf("a: &a [*a]\n"), "1:8: this alias stands in what it stands for");
  EXPECT_EQ(ErrorOf("a: b\n...\nc: d\n"), "3:1: did not find expected <document start>");
  EXPECT_EQ(ErrorOf("a: b\n---\nc: d\n"),
            "2:1: another document begins here: write a line --- before it");
}

TEST(ReadYaml, BombsAreRefused) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  std::string chain = "a0: &a0 {x: 1}\n";
  for (int i = 1; i < 600; ++i) {
    const std::string name = "a" + std::to_string(i);
    const std::string last = "*a" + std::to_string(i - 1);
    if (i < 12) {
      laughs += name + ": &" + name + " [" + last;
      for (int k = 1; k < 10; ++k) laughs += ", " + last;
      laughs += "]\n";
    }
    chain += name + ": &" + name + " {x: " + last + "}\n";
  }
  std::string texts = "a: &a " + std::string(1 << 20, 'x') + "\nb:\n";
  for (int i = 0; i < 100; ++i) texts += "- *a\n";
  const std::string large =
      "the document gets too large here: split it, or write it with fewer aliases";
  EXPECT_TRUE(ErrorOf(laughs).ends_with(large));
  EXPECT_TRUE(ErrorOf(texts).ends_with(large));
  EXPECT_TRUE(ErrorOf(chain).ends_with("nested more than 500 levels deep"));
  EXPECT_TRUE(ErrorOf(std::string(1000, '[')).ends_with("nested more than 500 levels deep"));
  EXPECT_TRUE(ErrorOf(std::string(600'000, '[')).ends_with("nested more than 500 levels deep"));
}

// Returns the JSON, or the error with its place.
std::string AsJson(const std::string& text) {
  const auto json = ReadYamlAsJson(text);
  return json ? json->root().ToText() : json.error().In("it");
}

TEST(ReadYamlAsJson, GivesWhatKubectlsReaderMakesOfIt) {
  EXPECT_EQ(AsJson("a: yes\nb: 0o17\nc: '1'\nd: 2024-01-01\ne: 1_000\nf:\n"),
            R"({"a":true,"b":15,"c":"1","d":"2024-01-01","e":1000,"f":null})");
  EXPECT_EQ(AsJson("x: &x {a: 1, b: 2}\nz: {b: 3, <<: *x, a: 4}\n"),
            R"({"x":{"a":1,"b":2},"z":{"b":2,"a":4}})")
      << "the later one counts, whether it is merged or not";
  EXPECT_EQ(AsJson("{\"a\": [1.5, \"\\u00e9\"]}"), "{\"a\":[1.5,\"é\"]}");
  EXPECT_EQ(AsJson("text"), "\"text\"");
  EXPECT_EQ(AsJson(""), "null");
  EXPECT_EQ(AsJson("# nothing\n"), "null");
}

TEST(ReadYamlAsJson, TakesTheFirstDocument) {
  EXPECT_EQ(AsJson("a: 1\n---\nb: 2\n"), R"({"a":1})");
  EXPECT_EQ(AsJson("a: 1\n...\nwhat: ever: ]\n"), R"({"a":1})");
  EXPECT_EQ(AsJson("---\n---\nb: 2\n"), "null");
}

TEST(ReadYamlAsJson, RefusesWhatMayMeanSomethingElse) {
  EXPECT_EQ(AsJson("a: 1\nb: 2\na: 3\n"),
            "it, line 3, column 1: the key \"a\" stands twice in one map");
  EXPECT_EQ(AsJson("a: .inf\n"), "it, line 1, column 4: \".inf\" can't be written as JSON");
  EXPECT_EQ(AsJson(std::string(100, '[') + std::string(100, ']'))
                .find("it, line 1, column 1: it can't be written as JSON: "),
            0u);
  EXPECT_EQ(AsJson("a: b\nc: d: e\n").find("it, line 2, column 5: it is not valid YAML: "), 0u);
}

}  // namespace
}  // namespace cluster_watcher
