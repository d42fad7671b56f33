#include "probes/base/json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace cluster_watcher {
namespace {

std::string Nested(std::size_t depth, char open = '[', char close = ']') {
  return std::string(depth, open) + std::string(depth, close);
}

std::string NestedObjects(std::size_t depth, const std::string& innermost) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += R"({"a":)";
  return text + innermost + std::string(depth, '}');
}

// Parses the text and writes it again, or returns the error.
std::string Reread(std::string_view text) {
  const auto document = JsonDocument::Parse(text);
  return document ? document->root().ToText() : "error: " + document.error().message;
}

TEST(JsonDocument, ReadsWhatJsonHas) {
  const auto document = JsonDocument::Parse(
      R"( {"text":"a\u00fc\ud83d\ude00\n","number":-7,"yes":true,"nothing":null,)"
      R"("list":[1,[],{}],"":"empty key"} )");
  ASSERT_TRUE(document);
  const JsonValue root = document->root();
  EXPECT_EQ(root.size(), 6u);
  EXPECT_EQ(root["text"].AsString(), "a\xc3\xbc\xf0\x9f\x98\x80\n");
  EXPECT_EQ(root["number"].AsInteger(), -7);
  EXPECT_EQ(root["yes"].AsBool(), true);
  EXPECT_TRUE(root["nothing"].Exists() && root["nothing"].IsNull());
  EXPECT_EQ(root["list"].size(), 3u);
  EXPECT_EQ(root["list"].At(0).AsInteger(), 1);
  EXPECT_EQ(root["list"].Elements().size(), 3u);
  EXPECT_EQ(root[""].AsString(), "empty key");
  EXPECT_EQ(root.Members()[1].first, "number");
  for (const char* text : {"null", "true", "\"a\"", "0", "[]", "{}"}) EXPECT_EQ(Reread(text), text);
}

TEST(JsonDocument, TakesNoMoreThan64Levels) {
  EXPECT_TRUE(JsonDocument::Parse(Nested(64)));
  EXPECT_FALSE(JsonDocument::Parse(Nested(65)));
  EXPECT_TRUE(JsonDocument::Parse(NestedObjects(64, "1")));
  EXPECT_FALSE(JsonDocument::Parse(NestedObjects(65, "1")));
  EXPECT_FALSE(JsonDocument::Parse(NestedObjects(32, Nested(33))));
  const auto many = JsonDocument::Parse("[" + Nested(63) + "," + Nested(63) + "]");
  EXPECT_TRUE(many) << "levels are counted, not brackets";
  const auto deep = JsonDocument::Parse(Nested(65));
  EXPECT_NE(deep.error().message.find("64 levels"), std::string::npos);
  EXPECT_FALSE(JsonDocument::Parse(std::string(100'000, '[')));
  EXPECT_FALSE(JsonDocument::Parse(Nested(100'000)));
  EXPECT_FALSE(JsonDocument::Parse(NestedObjects(100'000, "")));
}

TEST(JsonDocument, RefusesMoreValuesThanMemoryIsThereFor) {
  std::string zeros = "[";
  for (int i = 0; i < 999'998; ++i) zeros += "0,";
  EXPECT_TRUE(JsonDocument::Parse(zeros + "{}]"));
  const auto many = JsonDocument::Parse(zeros + "{},\"\"]");
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().message.find("more than 1000000 values"), 0u) << many.error().message;
}

TEST(JsonDocument, RefusesAKeyTwiceAtAnyDepth) {
  for (const std::string& text :
       {std::string(R"({"a":1,"a":1})"), std::string(R"({"a":1,"b":2,"a":3})"),
        std::string(R"([{"a":1},{"b":{"c":1,"c":2}}])"), std::string(R"({"a":1,"\u0061":2})"),
        std::string(R"({"":1,"":2})"), NestedObjects(63, R"({"x":1,"x":2})")}) {
    const auto document = JsonDocument::Parse(text);
    ASSERT_FALSE(document) << text;
    EXPECT_NE(document.error().message.find("twice"), std::string::npos);
  }
  EXPECT_TRUE(JsonDocument::Parse(R"({"a":{"a":1},"b":{"a":1},"A":1})"));
  std::string large = "{\"k\":0";
  for (int i = 0; i < 100; ++i) large += ",\"k" + std::to_string(i) + "\":0";
  EXPECT_TRUE(JsonDocument::Parse(large + "}"));
  EXPECT_FALSE(JsonDocument::Parse(large + ",\"k7\":0}"));
  EXPECT_TRUE(JsonDocument::Parse(R"({"a":1,"a\u0000":2})"));
}

TEST(JsonDocument, RefusesWhatIsNotJson) {
  for (const char* text :
       {"",         " ",       "{",        "[",       "}",         "{]",       "[}",
        "[1",       "[1,",     "[1,]",     "{\"a\"}", "{\"a\":}",  "{\"a\":1", "{\"a\":1,}",
        "{a:1}",    "{'a':1}", "\"a",      "\"\\x\"", "\"\\u12\"", "\"\n\"",   "nul",
        "True",     "NaN",     "Infinity", "-",       "+1",        "01",       "1.",
        ".5",       "1e",      "0x1",      "{}{}",    "{} x",      "[] ]",     "null,",
        "// a\n{}", "{}// a",  "/**/{}",   "<html/>", "{1:2}",     "[1 2]",    "{\"a\" 1}"}) {
    EXPECT_FALSE(JsonDocument::Parse(text)) << text;
  }
  // Half a surrogate pair.
  for (const char* text :
       {R"("\ud800")", R"("\ud800a")", R"("\ud800\n")", R"("\ud800\ud800")", R"("\udc00")",
        R"("a\udfffb")", R"({"\udc00":1})", R"("\ude00\ud83d")"}) {
    EXPECT_FALSE(JsonDocument::Parse(text)) << text;
  }
  // Not UTF-8.
  for (const char* bytes : {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    EXPECT_FALSE(JsonDocument::Parse("{\"a\":\"" + std::string(bytes) + "\"}"));
    EXPECT_FALSE(JsonDocument::Parse("{\"" + std::string(bytes) + "\":1}"));
  }
  using std::string_view;
  for (const string_view text :
       {string_view("\0", 1), string_view("{}\0", 3), string_view("{}\0{}", 5),
        string_view("{}\0garbage", 10), string_view("[1\0]", 4), string_view("\"a\0b\"", 5)}) {
    EXPECT_FALSE(JsonDocument::Parse(text)) << testing::PrintToString(std::string(text));
  }
  EXPECT_NE(Reread("[1,x]").find("at byte 3"), std::string::npos) << Reread("[1,x]");
}

TEST(JsonDocument, ReadsPastAByteOrderMark) {
  EXPECT_EQ(Reread("\xef\xbb\xbf{}"), "{}");
  EXPECT_FALSE(JsonDocument::Parse("\xef\xbb\xbf"));
  EXPECT_FALSE(JsonDocument::Parse("\xff\xfe{\0}\0"));
  EXPECT_FALSE(JsonDocument::Parse("{}\xef\xbb\xbf"));
}

TEST(JsonDocument, ATruncatedDocumentIsAlwaysAnError) {
  const std::string whole = R"({"a":[1,{"b":"c\u00e4"},null,true,-1.5e3],"d":{}})";
  ASSERT_TRUE(JsonDocument::Parse(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(JsonDocument::Parse(std::string_view(whole).substr(0, size))) << size;
  }
}

TEST(JsonDocument, IsNullWhereNothingWasParsedAndAfterAMove) {
  JsonDocument empty;
  EXPECT_TRUE(empty.root().IsNull());
  auto document = JsonDocument::Parse(R"({"a":"b"})");
  const JsonValue root = document->root();
  empty = *std::move(document);
  EXPECT_EQ(root["a"].AsString(), "b") << "a view goes on with the document that moved";
}

TEST(JsonValue, IntegersAreExactOrNone) {
  for (const char* text : {"0", "7", "9223372036854775807", "-9223372036854775808"}) {
    EXPECT_EQ(JsonDocument::Parse(text)->root().AsInteger(), std::stoll(text)) << text;
  }
  EXPECT_EQ(JsonDocument::Parse("-0")->root().AsInteger(), 0);
  for (const char* text :
       {"9223372036854775808", "18446744073709551615", "18446744073709551616",
        "-9223372036854775809", "1.0", "1e0", "1e300", "\"1\"", "true", "null"}) {
    EXPECT_EQ(JsonDocument::Parse(text)->root().AsInteger(), std::nullopt) << text;
  }
  EXPECT_FALSE(JsonDocument::Parse("1e400"));
  EXPECT_FALSE(JsonDocument::Parse("-1" + std::string(100'000, '0')));
}

TEST(JsonValue, OfAnotherTypeIsAbsentNeverAnError) {
  const char* kTexts[] = {"null", "true", "1", "1.5", "\"a\"", "[]", "[1]", "{}", "{\"a\":1}"};
  for (const char* text : kTexts) {
    const auto document = JsonDocument::Parse(text);
    const JsonValue value = document->root();
    EXPECT_EQ(value.AsString().has_value(), text[0] == '"') << text;
    EXPECT_EQ(value.AsInteger().has_value(), std::string(text) == "1") << text;
    EXPECT_EQ(value.AsBool().has_value(), text[0] == 't') << text;
    EXPECT_EQ(value.IsNull(), text[0] == 'n') << text;
    EXPECT_EQ(value.IsArray(), text[0] == '[') << text;
    EXPECT_EQ(value.IsObject(), text[0] == '{') << text;
    EXPECT_FALSE(value["b"]["c"].At(3)["d"].Exists()) << text;
    EXPECT_FALSE(value.At(9).Exists()) << text;
    EXPECT_EQ(value["a"].Exists(), std::string(text) == "{\"a\":1}") << text;
    EXPECT_EQ(value.At(0).Exists(), std::string(text) == "[1]") << text;
    EXPECT_EQ(value.Elements().size(), std::string(text) == "[1]" ? 1u : 0u) << text;
    EXPECT_EQ(value.Members().size(), std::string(text) == "{\"a\":1}" ? 1u : 0u) << text;
  }
}

TEST(JsonValue, ThatIsAbsentAnswersEverything) {
  const JsonValue absent;
  EXPECT_FALSE(absent.Exists() || absent.IsNull() || absent.IsObject() || absent.IsArray());
  EXPECT_FALSE(absent["a"].Exists() || absent[""].Exists() || absent.At(0).Exists());
  EXPECT_FALSE(absent[std::string_view()].Exists());
  EXPECT_FALSE(absent.AsString() || absent.AsInteger() || absent.AsBool());
  EXPECT_EQ(absent.size(), 0u);
  EXPECT_TRUE(absent.Elements().empty() && absent.Members().empty());
  EXPECT_EQ(absent.ToText(), "");
}

TEST(JsonValue, KeysAndTextAreComparedWhole) {
  const auto document = JsonDocument::Parse(R"({"a\u0000b":"c\u0000d","a":"plain"})");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root()["a"].AsString(), "plain");
  EXPECT_EQ(document->root()[std::string_view("a\0b", 3)].AsString(), std::string_view("c\0d", 3));
  EXPECT_NE(document->root()[std::string_view("a\0b", 3)].AsString(), "c");
  EXPECT_FALSE(document->root()[std::string_view("a\0c", 3)].Exists());
}

TEST(JsonWriter, WritesCompactAndIndented) {
  const auto write = [](JsonWriter::Style style) {
    JsonWriter writer(style);
    writer.StartObject().Field("a", "b").Key("list").StartArray().Integer(-1).Bool(true).Null();
    return writer.EndArray().EndObject().Text();
  };
  EXPECT_EQ(write(JsonWriter::Style::kCompact), R"({"a":"b","list":[-1,true,null]})");
  EXPECT_EQ(write(JsonWriter::Style::kIndented),
            "{\n  \"a\": \"b\",\n  \"list\": [\n    -1,\n    true,\n    null\n  ]\n}");
}

TEST(JsonWriter, EscapesSoThatItReadsBack) {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  all += "\xc3\xbc\xf0\x9f\x98\x80";
  const std::string text =
      JsonWriter().StartObject().Field(all, all).Field("", "").EndObject().Text();
  for (const char c : text) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  const auto document = JsonDocument::Parse(text);
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->root()[all].AsString(), all);
  EXPECT_EQ(document->root()[""].AsString(), "");
  EXPECT_EQ(document->root().size(), 2u);
}

TEST(JsonWriter, CopiesWhatWasRead) {
  const std::string text =
      R"({"a":[1,-9223372036854775808,18446744073709551615,null,true,"\u0001\"\\"],"b":{}})";
  EXPECT_EQ(Reread(text), text);
  EXPECT_EQ(JsonWriter().StartArray().Value(JsonValue()).EndArray().Text(), "[null]");
}

// "ka n1.50 {": each event as a letter, followed by its text.
std::string EventsOf(std::string_view text, std::size_t most = 1000) {
  static const std::string kLetters = "0TFnsk{}[]";
  std::string events;
  std::size_t count = 0;
  const auto read = ReadJsonEvents(text, [&](JsonEvent event, std::string_view value) {
    events += kLetters[static_cast<std::size_t>(event)];
    events += std::string(value) + " ";
    return ++count <= most;
  });
  return read ? events + std::to_string(*read) : read.error().message;
}

TEST(JsonEvents, KeepOrderAndNumbers) {
  EXPECT_EQ(EventsOf(R"( {"b":1.50,"a":[null,true,false,-0,1e3,"x"],"b":{}}  {)"),
            "{ kb n1.50 ka [ 0 T F n-0 n1e3 sx ] kb { } } 51");
  EXPECT_EQ(EventsOf("12345678901234567890123 7"), "n12345678901234567890123 23");
  EXPECT_EQ(EventsOf(R"("\u00e9\ud83d\ude00")"), "s\u00e9\U0001F600 20");
}

TEST(JsonEvents, SayWhatIsWrong) {
  EXPECT_EQ(EventsOf("{\"a\":}"), "Invalid value. at byte 5");
  EXPECT_EQ(EventsOf(R"("\udc00")").find("half a surrogate pair in a string at byte "), 0u);
  EXPECT_EQ(EventsOf(std::string(501, '[')).find("nested more than 500 levels deep at byte "), 0u);
  EXPECT_EQ(EventsOf(std::string(500, '[') + std::string(500, ']')).substr(0, 2), "[ ");
  EXPECT_NE(EventsOf("[1,2,3]", 2).find(" at byte "), std::string::npos);
  EXPECT_NE(EventsOf("").find(" at byte "), std::string::npos);
}

}  // namespace
}  // namespace cluster_watcher
