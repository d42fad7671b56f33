#include "probes/base/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>

namespace cluster_watcher {
namespace {

using ScalarType = YamlScalar::Type;

constexpr double kWholeLimit = 0x1p53;  // below it a double holds every whole number

const YamlScalar* FindWord(std::string_view text) {
  static const std::map<std::string_view, YamlScalar> words = [] {
    std::map<std::string_view, YamlScalar> all;
    for (const char* word : {"", "~", "null", "Null", "NULL"})
      all[word] = {ScalarType::kNull, "null"};
    for (const char* word :
         {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}) {
      all[word] = {ScalarType::kBool, "true"};
    }
    for (const char* word :
         {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}) {
      all[word] = {ScalarType::kBool, "false"};
    }
    for (const char* word : {".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf",
                             "+.INF", "-.inf", "-.Inf", "-.INF"}) {
      all[word] = {ScalarType::kInfinite, word};
    }
    return all;
  }();
  const auto found = words.find(text);
  return found == words.end() ? nullptr : &found->second;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads like strconv.ParseInt, or else ParseUint, with base 0: the prefixes "0x", "0b", "0o" and
// "0" give the base.
std::optional<std::string> ReadWhole(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  const bool has_sign = is_negative || text.starts_with('+');
  if (has_sign) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text.front() == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
    text.remove_prefix(mark == 'x' || mark == 'b' || mark == 'o' ? 2 : 1);
  }
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  const std::uint64_t most =
      has_sign ? std::uint64_t{INT64_MAX} + (is_negative ? 1 : 0) : UINT64_MAX;
  if (number > most) return std::nullopt;
  return (is_negative && number != 0 ? "-" : "") + std::to_string(number);
}

// True if each underscore stands between digits.
bool SeparatesDigits(std::string_view text) {
  for (std::size_t at = text.find('_'); at != std::string_view::npos; at = text.find('_', at + 1)) {
    const bool is_between = at > 0 && IsDigit(text[at - 1]) && at + 1 < text.size();
    if (!is_between || !IsDigit(text[at + 1])) return false;
  }
  return true;
}

// ^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$
bool IsFraction(std::string_view text) {
  const auto take_digits = [&text] {
    const std::size_t count = static_cast<std::size_t>(
        std::find_if_not(text.begin(), text.end(), IsDigit) - text.begin());
    text.remove_prefix(count);
    return count > 0;
  };
  const auto take_one_of = [&text](std::string_view characters) {
    if (text.empty() || characters.find(text.front()) == std::string_view::npos) return false;
    text.remove_prefix(1);
    return true;
  };
  take_one_of("-+");
  const bool has_whole = take_digits();
  if (take_one_of(".")) {
    if (!take_digits() && !has_whole) return false;
  } else if (!has_whole) {
    return false;
  }
  if (take_one_of("eE")) {
    take_one_of("-+");
    if (!take_digits()) return false;
  }
  return text.empty();
}

// Returns nullopt if it is too big for a double.
std::optional<std::string> ReadFraction(const std::string& text) {
  const double number = std::strtod(text.c_str(), nullptr);
  if (!std::isfinite(number)) return std::nullopt;
  if (std::abs(number) < kWholeLimit && number == std::trunc(number)) {
    return std::to_string(static_cast<std::int64_t>(number));
  }
  // The shortest that is read back as the same number. std::to_chars does it too, with 130 KB of
  // tables.
  std::array<char, 512> buffer{};
  for (int digits = 15; digits <= 17; ++digits) {
    std::snprintf(buffer.data(), buffer.size(), "%.*g", digits, number);
    if (std::strtod(buffer.data(), nullptr) == number) break;
  }
  const std::string shortest(buffer.data());
  if (number != std::trunc(number)) return shortest;
  std::snprintf(buffer.data(), buffer.size(), "%.0f", number);
  const std::string whole(buffer.data());
  return whole.size() <= shortest.size() ? whole : shortest;
}

}  // namespace

YamlScalar ReadPlainScalar(std::string_view text) {
  if (const YamlScalar* word = FindWord(text)) return *word;
  const char first = text.front();
  std::string plain(text);
  plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
  if (IsDigit(first) || first == '-' || first == '+') {
    if (auto whole = ReadWhole(plain)) return {ScalarType::kNumber, *whole};
  } else if (first != '.' || !SeparatesDigits(text)) {
    return {ScalarType::kString, std::string(text)};
  }
  if (IsFraction(plain)) {
    if (auto fraction = ReadFraction(plain)) return {ScalarType::kNumber, *fraction};
  }
  return {ScalarType::kString, std::string(text)};
}

}  // namespace cluster_watcher
