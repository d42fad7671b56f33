#include "test/small_kubernetes/json.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <utility>

namespace cluster_watcher::small_kubernetes {
namespace {

constexpr int kMaxDepth = 64;
constexpr unsigned kParseFlags = rapidjson::kParseValidateEncodingFlag;

// Parsing, copying and destroying values is recursive.
bool TooDeep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

rapidjson::SizeType Size(std::string_view text) {
  return static_cast<rapidjson::SizeType>(text.size());
}

}  // namespace

std::optional<Value> Parse(std::string_view text) {
  if (TooDeep(text)) return std::nullopt;
  rapidjson::GenericDocument<rapidjson::UTF8<>, rapidjson::CrtAllocator> document;
  document.Parse<kParseFlags>(text.data(), text.size());
  if (document.HasParseError()) return std::nullopt;
  Value value;
  value.Swap(document);
  return value;
}

std::string Write(const Value& value) {
  thread_local rapidjson::StringBuffer buffer;  // keeps its memory
  buffer.Clear();
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

std::string Quote(std::string_view text) { return Write(Text(text)); }

Value Text(std::string_view text) {
  rapidjson::CrtAllocator allocator;
  return Value(text.empty() ? "" : text.data(), Size(text), allocator);
}

Value Number(std::int64_t number) { return Value(number); }

Value Copy(const Value& value) {
  rapidjson::CrtAllocator allocator;
  return Value(value, allocator);
}

const Value* Find(const Value& value, std::string_view key) {
  if (!value.IsObject()) return nullptr;
  for (auto member = value.MemberBegin(); member != value.MemberEnd(); ++member) {
    if (View(member->name) == key) return &member->value;
  }
  return nullptr;
}

std::string_view TextOf(const Value* value) {
  return value != nullptr && value->IsString() ? View(*value) : std::string_view();
}

std::int64_t NumberOf(const Value* value, std::int64_t otherwise) {
  return value != nullptr && value->IsInt64() ? value->GetInt64() : otherwise;
}

bool IsTrue(const Value* value) { return value != nullptr && value->IsTrue(); }

void Set(Value& object, std::string_view key, Value value) {
  if (Value* present = Find(object, key)) {
    *present = std::move(value);
    return;
  }
  rapidjson::CrtAllocator allocator;
  object.AddMember(Text(key), value, allocator);
}

void Append(Value& array, Value value) {
  rapidjson::CrtAllocator allocator;
  array.PushBack(value, allocator);
}

bool Remove(Value& object, std::string_view key) {
  if (!object.IsObject()) return false;
  // `<`, because clang finds `!=` between RapidJSON's iterators ambiguous.
  for (auto member = object.MemberBegin(); member < object.MemberEnd(); ++member) {
    if (View(member->name) != key) continue;
    object.EraseMember(member);
    return true;
  }
  return false;
}

Value& Child(Value& object, std::string_view key) {
  if (Value* present = Find(object, key); present != nullptr && present->IsObject()) {
    return *present;
  }
  Set(object, key, EmptyObject());
  return *Find(object, key);
}

void DropNulls(Value& value) {
  if (value.IsArray()) {
    for (Value& element : value.GetArray()) DropNulls(element);
  } else if (value.IsObject()) {
    for (auto member = value.MemberBegin(); member < value.MemberEnd();) {
      if (member->value.IsNull()) {
        member = value.EraseMember(member);
      } else {
        DropNulls(member->value);
        ++member;
      }
    }
  }
}

bool Same(const Value* a, const Value* b) {
  return a == nullptr || b == nullptr ? a == b : *a == *b;
}

}  // namespace cluster_watcher::small_kubernetes
