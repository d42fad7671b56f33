// Reads and writes JSON. No other part of the program uses RapidJSON.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/base/result.h"

namespace cluster_watcher {

// A read-only view of a value in a JsonDocument, valid while the document lives. Asking for a
// missing value or another type gives an absent view or nullopt, never an error.
class JsonValue {
 public:
  JsonValue() = default;

  bool Exists() const { return value_ != nullptr; }
  bool IsNull() const;  // the literal null
  bool IsObject() const;
  bool IsArray() const;

  JsonValue operator[](std::string_view key) const;
  JsonValue At(std::size_t index) const;
  std::size_t size() const;  // of an array or object, else 0

  std::optional<std::string_view> AsString() const;
  std::optional<std::int64_t> AsInteger() const;
  std::optional<bool> AsBool() const;

  std::vector<JsonValue> Elements() const;                              // of an array
  std::vector<std::pair<std::string_view, JsonValue>> Members() const;  // of an object
  // Calls `take` for each member of an object, without a copy of the list.
  void ForEachMember(const std::function<void(std::string_view, JsonValue)>& take) const;
  std::string ToText() const;  // the value as compact JSON; "" if absent

 private:
  friend class JsonDocument;
  friend class JsonWriter;
  explicit JsonValue(const void* value) : value_(value) {}
  const void* value_ = nullptr;
};

// Doesn't change once it is parsed; copies share it.
class JsonDocument {
 public:
  // Parses strictly: RFC 8259, valid UTF-8, no duplicate keys, nothing after the value, at most 64
  // levels deep, and at most a million values, which bounds its memory. The error says
  // what is wrong and at which byte.
  static Result<JsonDocument> Parse(std::string_view text);

  JsonDocument();

  JsonValue root() const;

 private:
  explicit JsonDocument(std::size_t text_size);

  struct State;
  std::shared_ptr<State> state_;
};

// The parts of a JSON text, in order.
enum class JsonEvent {
  kNull,
  kTrue,
  kFalse,
  kNumber,
  kString,
  kKey,
  kStartObject,
  kEndObject,
  kStartArray,
  kEndArray
};

// Reads the first value in `text`, after any white space, as events. They keep the order of keys
// and the spelling of numbers. `take` gets the text of numbers, strings and keys, valid during the
// call, and may return false to fail. Returns the number of bytes up to the value's end. The error
// says what is wrong and at which byte; duplicate keys are accepted.
Result<std::size_t> ReadJsonEvents(std::string_view text,
                                   const std::function<bool(JsonEvent, std::string_view)>& take);

// Writes JSON, compact or indented for people. Calls must nest as JSON does.
class JsonWriter {
 public:
  enum class Style { kCompact, kIndented };
  explicit JsonWriter(Style style = Style::kCompact);
  ~JsonWriter();

  JsonWriter& StartObject();
  JsonWriter& EndObject();
  JsonWriter& StartArray();
  JsonWriter& EndArray();
  JsonWriter& Key(std::string_view key);
  JsonWriter& String(std::string_view text);
  JsonWriter& Integer(std::int64_t number);
  JsonWriter& Number(std::string_view text);  // must be a JSON number
  JsonWriter& Bool(bool value);
  JsonWriter& Null();
  JsonWriter& Value(JsonValue value);  // a copy

  // Writes a key and its value.
  JsonWriter& Field(std::string_view key, std::string_view text) { return Key(key).String(text); }
  // The same, with null for an empty text.
  JsonWriter& TextOrNull(std::string_view key, std::string_view text) {
    return text.empty() ? Key(key).Null() : Field(key, text);
  }

  std::string Text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether a Content-Type says that a body is JSON, whatever its parameters are.
inline bool IsJson(std::string_view content_type) {
  return content_type.substr(0, content_type.find(';')) == "application/json";
}

}  // namespace cluster_watcher
