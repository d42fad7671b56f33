// Fuzzes the JSON reader: it accepts only UTF-8 within its limits on depth and keys. A document can
// be walked and, written compact or indented, reads the same again (except fractions, which are
// read to about 15 digits).
#include "probes/base/json.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "test/fuzz/fuzz.h"

namespace cluster_watcher {
namespace {

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const auto byte = [text](std::size_t i) {
      return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
    };
    const std::size_t size = byte(0) < 0x80   ? 1
                             : byte(0) < 0xc2 ? 0
                             : byte(0) < 0xe0 ? 2
                             : byte(0) < 0xf0 ? 3
                             : byte(0) < 0xf5 ? 4
                                              : 0;
    if (size == 0) return false;
    for (std::size_t i = 1; i < size; ++i) {
      if (byte(i) < 0x80 || byte(i) > 0xbf) return false;
    }
    const bool overlong =
        (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xf0 && byte(1) < 0x90);
    const bool surrogate = byte(0) == 0xed && byte(1) > 0x9f;
    const bool beyond = byte(0) == 0xf4 && byte(1) > 0x8f;
    if (overlong || surrogate || beyond) return false;
    text.remove_prefix(size);
  }
  return true;
}

// Returns whether it contains a fraction, a type that can't be asked for.
bool Walk(JsonValue value, int depth) {
  Require(depth <= 64, "no document is deeper than 64 levels");
  Require(value.Exists(), "what is in a document exists");
  const auto text = value.AsString();
  Require(!text || IsUtf8(*text), "strings are UTF-8");
  const int types = value.IsNull() + value.IsObject() + value.IsArray() + text.has_value() +
                    value.AsInteger().has_value() + value.AsBool().has_value();
  Require(types <= 1, "a value has one type");
  bool has_fraction = types == 0 && value.ToText().find_first_of(".eE") != std::string::npos;

  const auto elements = value.Elements();
  const auto members = value.Members();
  Require(value.size() == elements.size() + members.size(), "size() counts what is inside");
  Require(!value.At(elements.size()).Exists(), "nothing is behind the last element");
  Require(!value["no such key"].Exists() || value.IsObject(), "only objects have keys");
  for (std::size_t i = 0; i < elements.size(); ++i) {
    Require(value.At(i).Exists(), "each element can be asked for");
    has_fraction |= Walk(elements[i], depth + 1);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    Require(IsUtf8(members[i].first), "keys are UTF-8");
    // A look-up is linear, so only some of very many members are tried.
    if (i < 32) Require(value[members[i].first].Exists(), "each member can be asked for");
    has_fraction |= Walk(members[i].second, depth + 1);
  }
  return has_fraction;
}

}  // namespace

void TryInput(std::string_view input) {
  const auto document = JsonDocument::Parse(input);
  if (!document) {
    Require(IsOneLine(document.error().message), "the reason is one line");
    return;
  }
  const bool has_fraction = Walk(document->root(), 0);
  const std::string text = document->root().ToText();
  const std::string indented =
      JsonWriter(JsonWriter::Style::kIndented).Value(document->root()).Text();
  for (const std::string& written : {text, indented}) {
    const auto again = JsonDocument::Parse(written);
    Require(again.has_value(), "what is written can be read");
    Require(has_fraction || again->root().ToText() == text, "what is written reads the same");
  }
}

}  // namespace cluster_watcher
