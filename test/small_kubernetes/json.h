// JSON values of the small Kubernetes, which own their memory, and helpers to read and change them.
#pragma once

#include <rapidjson/document.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cluster_watcher::small_kubernetes {

using Value = rapidjson::GenericValue<rapidjson::UTF8<>, rapidjson::CrtAllocator>;

// Returns nullopt if the text isn't JSON or UTF-8, is nested deeper than 64 levels, or continues
// after the value.
std::optional<Value> Parse(std::string_view text);
std::string Write(const Value& value);

// Returns `text` escaped and in quotes.
std::string Quote(std::string_view text);

Value Text(std::string_view text);
Value Number(std::int64_t number);
inline Value EmptyObject() { return Value(rapidjson::kObjectType); }
inline Value EmptyArray() { return Value(rapidjson::kArrayType); }
Value Copy(const Value& value);

// Returns the member `key`; nullptr if there is none or `value` is no object.
const Value* Find(const Value& value, std::string_view key);
inline Value* Find(Value& value, std::string_view key) {
  return const_cast<Value*>(Find(static_cast<const Value&>(value), key));
}

// Returns the member at the end of a path of keys; nullptr if the path breaks off.
template <typename... Keys>
const Value* Find(const Value& value, std::string_view key, Keys... keys) {
  const Value* child = Find(value, key);
  return child == nullptr ? nullptr : Find(*child, keys...);
}

// The content of a value that may be absent; a value of another type counts as absent.
std::string_view TextOf(const Value* value);
std::int64_t NumberOf(const Value* value, std::int64_t otherwise);
bool IsTrue(const Value* value);
inline bool HasElements(const Value* value) {
  return value != nullptr && value->IsArray() && !value->Empty();
}
inline std::string_view View(const Value& text) {
  return {text.GetString(), text.GetStringLength()};
}

// Adds or replaces a member. `object` must be an object.
void Set(Value& object, std::string_view key, Value value);
void Append(Value& array, Value value);
bool Remove(Value& object, std::string_view key);

// Returns the member `key` as an object, created if it is missing or of another type.
Value& Child(Value& object, std::string_view key);

// Removes null members at any depth, as decoding into typed objects does.
void DropNulls(Value& value);

// Whether the values are equal; absent equals absent.
bool Same(const Value* a, const Value* b);

}  // namespace cluster_watcher::small_kubernetes
