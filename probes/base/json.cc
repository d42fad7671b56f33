#include "probes/base/json.h"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kMaxJsonDepth = 64;
// Each takes memory that is a multiple of its text. No real object has so many.
constexpr std::size_t kMostValues = 1'000'000;
// RapidJSON's recursive parser is safe, because Limits bounds the depth.
constexpr unsigned kParseFlags = rapidjson::kParseValidateEncodingFlag;
// In larger objects, keys are sorted to find duplicates.
constexpr std::size_t kFewMembers = 16;

bool IsAscii(std::string_view text) {
  unsigned char all = 0;
  for (const char c : text) all |= static_cast<unsigned char>(c);
  return all < 0x80;
}

const rapidjson::Value& Raw(const void* value) {
  return *static_cast<const rapidjson::Value*>(value);
}

std::string_view View(const rapidjson::Value& string) {
  return {string.GetString(), string.GetStringLength()};
}

// RapidJSON accepts the escape of a lone low surrogate and produces invalid UTF-8.
bool HasLoneSurrogate(std::string_view text) {
  // Most strings are short, and quicker to scan than to search.
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\xed' && static_cast<unsigned char>(text[at + 1]) >= 0xa0) return true;
  }
  return false;
}

// Counts levels and values while parsing, so that too many fail before they cost memory.
template <typename Document>
class Limits {
 public:
  explicit Limits(Document& document) : document_(document) {}

  bool Null() { return IsFew() && document_.Null(); }
  bool Bool(bool b) { return IsFew() && document_.Bool(b); }
  bool Int(int i) { return IsFew() && document_.Int(i); }
  bool Uint(unsigned i) { return IsFew() && document_.Uint(i); }
  bool Int64(std::int64_t i) { return IsFew() && document_.Int64(i); }
  bool Uint64(std::uint64_t i) { return IsFew() && document_.Uint64(i); }
  // RapidJSON reads some numbers that are too big as infinity, which JSON can't express.
  bool Double(double d) {
    if (!std::isfinite(d)) return Refuse("a number that is too big");
    return IsFew() && document_.Double(d);
  }
  bool RawNumber(const char* s, rapidjson::SizeType n, bool copy) {
    return IsFew() && document_.RawNumber(s, n, copy);
  }
  bool String(const char* s, rapidjson::SizeType n, bool copy) {
    return IsFew() && IsText({s, n}) && document_.String(s, n, copy);
  }
  bool Key(const char* s, rapidjson::SizeType n, bool copy) {
    return IsText({s, n}) && document_.Key(s, n, copy);
  }
  bool StartObject() { return IsFew() && Down() && document_.StartObject(); }
  bool EndObject(rapidjson::SizeType n) { return --depth_, document_.EndObject(n); }
  bool StartArray() { return IsFew() && Down() && document_.StartArray(); }
  bool EndArray(rapidjson::SizeType n) { return --depth_, document_.EndArray(n); }

  const std::string& refusal() const { return refusal_; }

 private:
  bool Refuse(std::string why) { return refusal_ = std::move(why), false; }
  bool IsFew() {
    if (++values_ <= kMostValues) return true;
    return Refuse("more than " + std::to_string(kMostValues) + " values");
  }
  bool Down() {
    if (++depth_ <= kMaxJsonDepth) return true;
    return Refuse("nested more than " + std::to_string(kMaxJsonDepth) + " levels deep");
  }
  bool IsText(std::string_view text) {
    return !HasLoneSurrogate(text) || Refuse("half a surrogate pair in a string");
  }

  Document& document_;
  std::size_t depth_ = 0;
  std::size_t values_ = 0;
  std::string refusal_;
};

// Passes on RapidJSON's events, up to the depth limit.
class Events {
 public:
  using Take = std::function<bool(JsonEvent, std::string_view)>;
  explicit Events(const Take& take) : take_(take) {}

  bool Null() { return take_(JsonEvent::kNull, {}); }
  bool Bool(bool b) { return take_(b ? JsonEvent::kTrue : JsonEvent::kFalse, {}); }
  // The parser passes numbers as text, through RawNumber.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }
  bool RawNumber(const char* s, rapidjson::SizeType n, bool) {
    return take_(JsonEvent::kNumber, {s, n});
  }
  bool String(const char* s, rapidjson::SizeType n, bool) {
    return IsText({s, n}) && take_(JsonEvent::kString, {s, n});
  }
  bool Key(const char* s, rapidjson::SizeType n, bool) {
    return IsText({s, n}) && take_(JsonEvent::kKey, {s, n});
  }
  bool StartObject() { return Down() && take_(JsonEvent::kStartObject, {}); }
  bool EndObject(rapidjson::SizeType) { return --depth_, take_(JsonEvent::kEndObject, {}); }
  bool StartArray() { return Down() && take_(JsonEvent::kStartArray, {}); }
  bool EndArray(rapidjson::SizeType) { return --depth_, take_(JsonEvent::kEndArray, {}); }

  const std::string& refusal() const { return refusal_; }

 private:
  static constexpr std::size_t kMaxEventDepth = 500;

  bool Down() {
    if (++depth_ <= kMaxEventDepth) return true;
    refusal_ = "nested more than " + std::to_string(kMaxEventDepth) + " levels deep";
    return false;
  }
  bool IsText(std::string_view text) {
    if (!HasLoneSurrogate(text)) return true;
    refusal_ = "half a surrogate pair in a string";
    return false;
  }

  const Take& take_;
  std::size_t depth_ = 0;
  std::string refusal_;
};

// The parser has bounded the depth, and so this recursion.
std::optional<std::string> DuplicateKey(const rapidjson::Value& value) {
  if (value.IsArray()) {
    for (const auto& element : value.GetArray()) {
      if (auto key = DuplicateKey(element)) return key;
    }
  } else if (value.IsObject()) {
    for (const auto& member : value.GetObject()) {
      if (auto key = DuplicateKey(member.value)) return key;
    }
    // Go's maps are written in the order of their keys.
    const auto members = value.GetObject();
    const auto out_of_order = std::adjacent_find(
        members.begin(), members.end(),
        [](const auto& one, const auto& next) { return View(one.name) >= View(next.name); });
    if (out_of_order == members.end()) return std::nullopt;
    if (value.MemberCount() <= kFewMembers) {
      for (auto one = value.MemberBegin(); one != value.MemberEnd(); ++one) {
        for (auto other = value.MemberBegin(); other != one; ++other) {
          if (View(one->name) == View(other->name)) return std::string(View(one->name));
        }
      }
      return std::nullopt;
    }
    std::vector<std::string_view> keys;
    keys.reserve(value.MemberCount());
    for (const auto& member : value.GetObject()) keys.push_back(View(member.name));
    std::sort(keys.begin(), keys.end());
    auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) return std::string(*twice);
  }
  return std::nullopt;
}

}  // namespace

struct JsonDocument::State {
  // RapidJSON's default chunks of 64 KiB are much larger than most answers.
  explicit State(std::size_t text_size)
      : pool(std::clamp<std::size_t>(2 * text_size, 512, 64u << 10)), document(&pool) {}

  rapidjson::MemoryPoolAllocator<> pool;
  rapidjson::Document document;
};

JsonDocument::JsonDocument() : JsonDocument(0) {}
JsonDocument::JsonDocument(std::size_t text_size) : state_(std::make_shared<State>(text_size)) {}

JsonValue JsonDocument::root() const { return JsonValue(&state_->document); }

Result<JsonDocument> JsonDocument::Parse(std::string_view text) {
  JsonDocument document(text.size());
  rapidjson::Reader reader;
  rapidjson::MemoryStream bytes(text.data(), text.size());
  // The stream skips a byte order mark.
  rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> stream(bytes);
  // ASCII needs no validation, which takes as long as all the rest. Nearly all answers are ASCII.
  const bool is_ascii = IsAscii(text);
  std::string refusal;
  auto generate = [&](rapidjson::Document& target) {
    Limits<rapidjson::Document> limits(target);
    const bool parsed = is_ascii ? !reader.Parse<rapidjson::kParseNoFlags>(stream, limits).IsError()
                                 : !reader.Parse<kParseFlags>(stream, limits).IsError();
    refusal = limits.refusal();
    return parsed;
  };
  document.state_->document.Populate(generate);
  if (reader.HasParseError()) {
    const std::string at = " at byte " + std::to_string(reader.GetErrorOffset());
    if (!refusal.empty()) return Failure(refusal + at);
    return Failure(std::string(rapidjson::GetParseError_En(reader.GetParseErrorCode())) + at);
  }
  // RapidJSON stops at a NUL byte.
  if (stream.Tell() != text.size()) return Failure("a NUL byte after the value");
  if (auto key = DuplicateKey(document.state_->document)) {
    return Failure("the key " + Quoted(*key) + " stands twice in one object");
  }
  return document;
}

Result<std::size_t> ReadJsonEvents(std::string_view text,
                                   const std::function<bool(JsonEvent, std::string_view)>& take) {
  constexpr unsigned kFlags =
      kParseFlags | rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseStopWhenDoneFlag;
  rapidjson::Reader reader;
  rapidjson::MemoryStream stream(text.data(), text.size());
  Events events(take);
  if (!reader.Parse<kFlags>(stream, events).IsError()) return stream.Tell();
  const std::string what = events.refusal().empty()
                               ? rapidjson::GetParseError_En(reader.GetParseErrorCode())
                               : events.refusal();
  return Failure(what + " at byte " + std::to_string(reader.GetErrorOffset()));
}

bool JsonValue::IsNull() const { return value_ != nullptr && Raw(value_).IsNull(); }
bool JsonValue::IsObject() const { return value_ != nullptr && Raw(value_).IsObject(); }
bool JsonValue::IsArray() const { return value_ != nullptr && Raw(value_).IsArray(); }

JsonValue JsonValue::operator[](std::string_view key) const {
  if (!IsObject()) return {};
  const rapidjson::Value name(rapidjson::StringRef(key.empty() ? "" : key.data(), key.size()));
  const auto member = Raw(value_).FindMember(name);
  return member == Raw(value_).MemberEnd() ? JsonValue() : JsonValue(&member->value);
}

JsonValue JsonValue::At(std::size_t index) const {
  if (!IsArray() || index >= Raw(value_).Size()) return {};
  return JsonValue(&Raw(value_)[static_cast<rapidjson::SizeType>(index)]);
}

std::size_t JsonValue::size() const {
  if (IsArray()) return Raw(value_).Size();
  if (IsObject()) return Raw(value_).MemberCount();
  return 0;
}

std::optional<std::string_view> JsonValue::AsString() const {
  if (value_ == nullptr || !Raw(value_).IsString()) return std::nullopt;
  return View(Raw(value_));
}

std::optional<std::int64_t> JsonValue::AsInteger() const {
  if (value_ == nullptr || !Raw(value_).IsInt64()) return std::nullopt;
  return Raw(value_).GetInt64();
}

std::optional<bool> JsonValue::AsBool() const {
  if (value_ == nullptr || !Raw(value_).IsBool()) return std::nullopt;
  return Raw(value_).GetBool();
}

std::vector<JsonValue> JsonValue::Elements() const {
  std::vector<JsonValue> elements;
  elements.reserve(size());
  if (IsArray()) {
    for (const auto& element : Raw(value_).GetArray()) elements.push_back(JsonValue(&element));
  }
  return elements;
}

std::vector<std::pair<std::string_view, JsonValue>> JsonValue::Members() const {
  std::vector<std::pair<std::string_view, JsonValue>> members;
  members.reserve(size());
  if (IsObject()) {
    for (const auto& member : Raw(value_).GetObject()) {
      members.emplace_back(View(member.name), JsonValue(&member.value));
    }
  }
  return members;
}

void JsonValue::ForEachMember(const std::function<void(std::string_view, JsonValue)>& take) const {
  if (!IsObject()) return;
  for (const auto& member : Raw(value_).GetObject())
    take(View(member.name), JsonValue(&member.value));
}

std::string JsonValue::ToText() const {
  return Exists() ? JsonWriter().Value(*this).Text() : std::string();
}

struct JsonWriter::State {
  rapidjson::StringBuffer buffer;
  std::variant<rapidjson::Writer<rapidjson::StringBuffer>,
               rapidjson::PrettyWriter<rapidjson::StringBuffer>>
      writer;

  template <typename Call>
  void Write(Call call) {
    std::visit(call, writer);
  }
};

JsonWriter::JsonWriter(Style style) : state_(std::make_unique<State>()) {
  if (style == Style::kIndented) {
    state_->writer.emplace<1>(state_->buffer).SetIndent(' ', 2);
  } else {
    state_->writer.emplace<0>(state_->buffer);
  }
}
JsonWriter::~JsonWriter() = default;

JsonWriter& JsonWriter::StartObject() {
  state_->Write([](auto& w) { w.StartObject(); });
  return *this;
}
JsonWriter& JsonWriter::EndObject() {
  state_->Write([](auto& w) { w.EndObject(); });
  return *this;
}
JsonWriter& JsonWriter::StartArray() {
  state_->Write([](auto& w) { w.StartArray(); });
  return *this;
}
JsonWriter& JsonWriter::EndArray() {
  state_->Write([](auto& w) { w.EndArray(); });
  return *this;
}
JsonWriter& JsonWriter::Key(std::string_view key) {
  state_->Write([&](auto& w) {
    w.Key(key.empty() ? "" : key.data(), static_cast<rapidjson::SizeType>(key.size()));
  });
  return *this;
}
JsonWriter& JsonWriter::String(std::string_view text) {
  state_->Write([&](auto& w) {
    w.String(text.empty() ? "" : text.data(), static_cast<rapidjson::SizeType>(text.size()));
  });
  return *this;
}
JsonWriter& JsonWriter::Integer(std::int64_t number) {
  state_->Write([&](auto& w) { w.Int64(number); });
  return *this;
}
JsonWriter& JsonWriter::Number(std::string_view text) {
  state_->Write([&](auto& w) { w.RawValue(text.data(), text.size(), rapidjson::kNumberType); });
  return *this;
}
JsonWriter& JsonWriter::Bool(bool value) {
  state_->Write([&](auto& w) { w.Bool(value); });
  return *this;
}
JsonWriter& JsonWriter::Null() {
  state_->Write([](auto& w) { w.Null(); });
  return *this;
}
JsonWriter& JsonWriter::Value(JsonValue value) {
  if (!value.Exists()) return Null();
  state_->Write([&](auto& w) { Raw(value.value_).Accept(w); });
  return *this;
}

std::string JsonWriter::Text() const {
  return {state_->buffer.GetString(), state_->buffer.GetSize()};
}

}  // namespace cluster_watcher
