#include "watcher/admission/manifest/write_yaml.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "probes/base/read_yaml.h"

namespace cluster_watcher {
namespace {

std::string Json(const YamlNode& node) {
  return WriteJson(node, JsonWriter::Style::kCompact, Scalars::kMeant);
}

YamlContent ReadBack(const std::string& text) {
  auto read = ReadYaml(text);
  if (!read) ADD_FAILURE() << text << ": " << read.error().message;
  if (!read || !*read) return {};
  return **std::move(read);
}

// Returns what `text` means, and checks that rewriting it keeps the meaning.
std::string Meaning(const std::string& text) {
  const YamlContent read = ReadBack(text);
  EXPECT_FALSE(read.oddity) << text << ": " << read.oddity->message;
  const std::string written = WriteYaml(read.root);
  EXPECT_EQ(Json(ReadBack(written).root), Json(read.root)) << text << "\nbecame\n" << written;
  EXPECT_EQ(WriteYaml(ReadBack(written).root), written) << text;
  return Json(read.root);
}

TEST(WriteYaml, AColonAtAnEndIsQuotedInAFlowList) {
  for (const std::string text : {"a: [\":8080\"]\n", "a: {b: \":8080\", c: [\"x:\"]}\n"}) {
    EXPECT_EQ(WriteYaml(ReadBack(text).root), text);
  }
}

TEST(WriteYaml, ScalarsKeepTheirMeaning) {
  struct Case {
    const char* yaml;
    const char* json;
  };
  const std::vector<Case> cases = {
      {"true", "true"},
      {"\"true\"", R"("true")"},
      {"'yes'", R"("yes")"},
      {"yes", "true"},
      {"0777", "511"},
      {"'0777'", R"("0777")"},
      {"1e3", "1000"},
      {"'1e3'", R"("1e3")"},
      {"~", "null"},
      {"'~'", R"("~")"},
      {"''", R"("")"},
      {"2001-12-14", R"("2001-12-14")"},
      {"'2001-12-14'", R"("2001-12-14")"},
      {"!!str 12", R"("12")"},
      {"! 12", R"("12")"},
      {"!!int '12'", "12"},
      {"!!float 1", "1"},
      {"!mine 12", R"("12")"},
      {"' a '", R"(" a ")"},
      {"'it''s \"so\"'", R"("it's \"so\"")"},
      {"'{\"a\":\"\\n\"}'", R"("{\"a\":\"\\n\"}")"},
      {"\"\\t\\r\\n\\0\\x7f\\e\"", "\"\\t\\r\\n\\u0000\x7f\\u001B\""},
      {"\"a\\nb\"", R"("a\nb")"},
      {"\"\\n\"", R"("\n")"},
      {"\"a\\n\"", R"("a\n")"},
      {"\" a\\n\"", R"(" a\n")"},
      {"\"\\ta\\n\"", R"("\ta\n")"},
      {"\"a \\n b\\n\"", R"("a \n b\n")"},
      {"\"a\\n\\n\"", R"("a\n\n")"},
      {"\"a\\n---\\nb\\n\"", R"("a\n---\nb\n")"},
      {"\"a\\n...\\nb\\n\"", R"("a\n...\nb\n")"},
      {"\"#a\\n# b\\n\"", R"("#a\n# b\n")"},
      {"é☃😀", "\"é☃😀\""},
      {"\"\\u00e9\\U0001F600\"", "\"é😀\""},
      {"\"\\u2028\\u0085\\ufeff\"", "\"\u2028\u0085\ufeff\""},
      {"a\n   b\n\n   c", R"("a b\nc")"},
      {"|\n   a\n    b\n\n   c\n", R"("a\n b\n\nc\n")"},
      {"|-\n   a\n   b\n", R"("a\nb")"},
      {"|+\n   a\n\n\n", R"("a\n\n\n")"},
      {">\n   a\n   b\n\n   c\n", R"("a b\nc\n")"},
      {"[]", "[]"},
      {"{}", "{}"},
      {"[a, [b, {c: d}], \"1\", 1,]", R"(["a",["b",{"c":"d"}],"1",1])"},
      {"{a: , b: ~, \"c\": 'x, y', d}", R"({"a":null,"b":null,"c":"x, y","d":null})"},
      {"{? a : b, \"x\":1}", R"({"a":"b","x":1})"},
  };
  for (const Case& one : cases) {
    std::string yaml = one.yaml;
    if (!yaml.ends_with('\n')) yaml += '\n';
    EXPECT_EQ(Meaning("k:\n- " + yaml), std::string(R"({"k":[)") + one.json + "]}");
    EXPECT_EQ(Meaning("- k: " + yaml), std::string(R"([{"k":)") + one.json + "}]");
  }
  EXPECT_EQ(Meaning("a: |2\n     a\n"), R"({"a":"   a\n"})");
  // These must stay quoted.
  for (const std::string text : {"a: b", "a #b", "# a", "- a", "-", "? a", "<<", "=", "*a", "&a",
                                 "!a", "%a", "@a", "`a", "{", "[a, b]", "---", "..."}) {
    EXPECT_EQ(Meaning("k:\n- '" + text + "'\n"), R"({"k":[")" + text + "\"]}");
    EXPECT_EQ(Meaning("- k: '" + text + "'\n"), R"([{"k":")" + text + "\"}]");
  }
}

TEST(WriteYaml, TextsAreReadAsKubectlReadsThem) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a: >+\n  x\n\nb: c\n", R"({"a":"x\n\n","b":"c"})"},
      {"a: >+2 # x\n    x\n\n\n", R"({"a":"  x\n\n\n"})"},
      {"a: |+\n\n\nb: |\n\n  x\n", R"({"a":"\n\n","b":"\nx\n"})"},
      {"a: |2\n  #x\nb: c\n", R"({"a":"#x\n","b":"c"})"},
      {"a:\n- |2\n  #x\n- &b >-\n\n #x\n", R"({"a":["#x\n","\n#x"]})"},
      {"a: 'x\n\n \n'\n", R"({"a":"x\n\n"})"},
      {"a: \"\n\n \nx\\\n\n \\ y \n\"\n", R"({"a":"\n\nx\n y "})"},
      {"a: '\n\n\n'\n", R"({"a":"\n\n"})"},
      {"a: \"\\N\\_\\L\\P\"\n", "{\"a\":\"\u0085\u00a0\u2028\u2029\"}"},
      {"a: &a !!str\n  x\nb: !!str\nc: *a\n", R"({"a":"x","b":"","c":"x"})"},
      {"a: !!str\n\"b\": !!str\n  ''\nc: '.51_000'\n", R"({"a":"","b":"","c":".51_000"})"},
      {"a: {b: null, c: , d: ~, e}\n", R"({"a":{"b":null,"c":null,"d":null,"e":null}})"},
      {"a:\n- &b |\n  c\n- d\n", R"({"a":["c\n","d"]})"},
      {"a:\n- - !!str c\n    d\n- e: f\n", R"({"a":[["c d"],{"e":"f"}]})"},
      {"a: [x: , {q: z, v}, w w]\nb: c\n  :d\n",
       R"({"a":[{"x":null},{"q":"z","v":null},"w w"],"b":"c :d"})"},
      {"a: [x, !a, q]\n", R"({"a":["x","","q"]})"},
      {"b: \"x\\r\\u2028y\"\r\nc: d\r\n", "{\"b\":\"x\\r\u2028y\",\"c\":\"d\"}"},
      {"b: 'x\ry'\n", R"({"b":"x y"})"},
      {"b: |\n  x\u0085\n", R"({"b":"x\n"})"},
  };
  for (const auto& [yaml, json] : cases) {
    EXPECT_EQ(Meaning(yaml), json) << yaml;
  }
}

TEST(WriteYaml, NumbersAndBooleansStayAsTheyWereWritten) {
  const std::string text = "a: 0777\nb: yes\nc: 1e3\nd: 0x1F\ne: \"0777\"\n1: y\nf: [off, 1_000]\n";
  EXPECT_EQ(WriteYaml(ReadBack(text).root), text);
  EXPECT_EQ(Meaning(text),
            R"({"a":511,"b":true,"c":1000,"d":31,"e":"0777","1":true,"f":[false,1000]})");
}

TEST(WriteYaml, KeysKeepTheirOrderAndMeaning) {
  EXPECT_EQ(
      Meaning("z: 1\na: 2\n\"m\": 3\n8080: 4\n\"true\": 5\n? long\n: 6\n\"\": 7\n'a: b': 8\n"),
      R"({"z":1,"a":2,"m":3,"8080":4,"true":5,"long":6,"":7,"a: b":8})");
  EXPECT_EQ(Meaning("'--- a': 1\n'... b': 2\n'%c': 3\n"), R"({"--- a":1,"... b":2,"%c":3})");
  EXPECT_EQ(Meaning("\"a\\nb\\n\": 1\n'<<': {c: 2}\n"), R"({"a\nb\n":1,"<<":{"c":2}})");
  EXPECT_EQ(Meaning("? " + std::string(2000, 'k') + "x\n: 1\n"),
            "{\"" + std::string(2000, 'k') + "x\":1}");
}

TEST(WriteYaml, AliasesAndMergesAreExpanded) {
  EXPECT_EQ(Meaning("a: &a [1, &b x]\nc: *a\nd: *b\n"), R"({"a":[1,"x"],"c":[1,"x"],"d":"x"})");
  EXPECT_EQ(Meaning("a: &a x\na2: &a v\nb: *a\n"), R"({"a":"x","a2":"v","b":"v"})");
  EXPECT_EQ(Meaning("&k key: *k\n"), R"({"key":"key"})");
  const std::string base = "a: &a {x: 1, v: 2}\nb: &b {x: 3, z: 4}\n";
  const std::string read = R"({"a":{"x":1,"v":2},"b":{"x":3,"z":4},"c":)";
  EXPECT_EQ(Meaning(base + "c: {<<: *a, v: 5}\n"), read + R"({"x":1,"v":5}})");
  EXPECT_EQ(Meaning(base + "c: {<<: [*a, *b], w: 5}\n"), read + R"({"x":1,"z":4,"v":2,"w":5}})");
  EXPECT_EQ(Meaning(base + "c: {<<: {x: 7}}\n"), read + R"({"x":7}})");
}

TEST(WriteYaml, WhatSurroundsADocumentChangesNothing) {
  EXPECT_EQ(Meaning("%YAML 1.1\n---\na: b\n...\n# c\n"), R"({"a":"b"})");
  EXPECT_EQ(Meaning("a: b\r\nc:\r\n- |\r\n  d\r\n  e\r\n"), R"({"a":"b","c":["d\ne\n"]})");
}

}  // namespace
}  // namespace cluster_watcher
