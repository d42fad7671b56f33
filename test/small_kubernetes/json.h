// JSON as the small Kubernetes holds it: values that own their memory, and the few helpers that
// make reading and changing them short.
#pragma once

#include <rapidjson/document.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cluster_watcher::small_kubernetes {

using Value = rapidjson::GenericValue<rapidjson::UTF8<>, rapidjson::CrtAllocator>;

// nullopt: not JSON, not UTF-8, nested deeper than 64 levels, or something after the end.
std::optional<Value> Parse(std::string_view text);
std::string Write(const Value& value);

// `text` with quotes around it, escaped.
std::string Quote(std::string_view text);

Value Text(std::string_view text);
Value Number(std::int64_t number);
inline Value EmptyObject() { return Value(rapidjson::kObjectType); }
inline Value EmptyArray() { return Value(rapidjson::kArrayType); }
Value Copy(const Value& value);

// The member named `key`; nullptr: there is none, or `value` is no object.
const Value* Find(const Value& value, std::string_view key);
inline Value* Find(Value& value, std::string_view key) {
  return const_cast<Value*>(Find(static_cast<const Value&>(value), key));
}

// The member at the end of a path of keys; nullptr: the path breaks off.
template <typename... Keys>
const Value* Find(const Value& value, std::string_view key, Keys... keys) {
  const Value* child = Find(value, key);
  return child == nullptr ? nullptr : Find(*child, keys...);
}

// What a possibly absent value holds; of another type it counts as absent.
std::string_view TextOf(const Value* value);
std::int64_t NumberOf(const Value* value, std::int64_t otherwise);
bool IsTrue(const Value* value);
inline bool HasElements(const Value* value) {
  return value != nullptr && value->IsArray() && !value->Empty();
}
inline std::string_view View(const Value& text) {
  return {text.GetString(), text.GetStringLength()};
}

// Adds or replaces. `object` must be an object.
void Set(Value& object, std::string_view key, Value value);
void Append(Value& array, Value value);
bool Remove(Value& object, std::string_view key);

// The member `key` as an object, made if it is missing or of another type.
Value& Child(Value& object, std::string_view key);

// Takes members off that are null, at any depth, as decoding into typed objects does.
void DropNulls(Value& value);

// Equal, where absent is equal to absent.
bool Same(const Value* a, const Value* b);

}  // namespace cluster_watcher::small_kubernetes
