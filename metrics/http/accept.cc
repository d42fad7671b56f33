#include "metrics/http/accept.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace cluster_watcher {
namespace {

constexpr std::string_view kBlank = " \t";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
char Lower(char c) { return IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsTokenCharacter(char c) {
  return IsDigit(c) || (Lower(c) >= 'a' && Lower(c) <= 'z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

std::string LowerCase(std::string text) {
  std::ranges::transform(text, text.begin(), Lower);
  return text;
}

// Consumes one part of the header from the left.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool AtEnd() const { return text_.empty(); }
  void SkipBlank() { text_.remove_prefix(std::min(text_.find_first_not_of(kBlank), text_.size())); }
  bool Skip(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::string Token() {
    const auto end = std::ranges::find_if_not(text_, IsTokenCharacter);
    std::string token(text_.begin(), end);
    text_.remove_prefix(token.size());
    return token;
  }
  // Returns a token or the content of a quoted string; "" if there is neither.
  std::string Value() {
    if (!Skip('"')) return Token();
    std::string value;
    while (!Skip('"')) {
      Skip('\\');
      if (AtEnd()) return "";
      value += text_.front();
      text_.remove_prefix(1);
    }
    return value;
  }

 private:
  std::string_view text_;
};

// Parses 0 to 1 with at most three digits, as thousandths.
std::optional<int> ParseWeight(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text.size() > 1 && text[1] != '.')) return std::nullopt;
  int thousandths = 0;
  for (const std::size_t i : {0u, 2u, 3u, 4u}) {
    const char digit = i < text.size() ? text[i] : '0';
    if (!IsDigit(digit)) return std::nullopt;
    thousandths = thousandths * 10 + (digit - '0');
  }
  if (thousandths > 1000) return std::nullopt;
  return thousandths;
}

std::optional<MediaRange> ParseRange(std::string_view text) {
  Reader reader(text);
  MediaRange range;
  reader.SkipBlank();
  range.type = LowerCase(reader.Token());
  if (!reader.Skip('/')) return std::nullopt;
  range.subtype = LowerCase(reader.Token());
  if (range.type.empty() || range.subtype.empty()) return std::nullopt;
  if (range.type == "*" && range.subtype != "*") return std::nullopt;
  for (reader.SkipBlank(); !reader.AtEnd(); reader.SkipBlank()) {
    if (!reader.Skip(';')) return std::nullopt;
    reader.SkipBlank();
    const std::string name = LowerCase(reader.Token());
    if (name.empty()) continue;  // RFC 9110 allows ";;".
    if (!reader.Skip('=')) return std::nullopt;
    const std::string value = reader.Value();
    if (value.empty()) return std::nullopt;
    if (name == "version") range.version = value;
    if (name == "charset") range.charset = LowerCase(value);
    if (name == "q") {
      const std::optional<int> weight = ParseWeight(value);
      if (!weight) return std::nullopt;
      range.weight = *weight;
    }
  }
  return range;
}

// Returns the part before the first comma that isn't in quotes.
std::string_view FirstPart(std::string_view list) {
  bool quoted = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '"') quoted = !quoted;
    if (list[i] == '\\' && quoted) ++i;
    if (i < list.size() && list[i] == ',' && !quoted) return list.substr(0, i);
  }
  return list;
}

}  // namespace

bool MediaRange::Covers(const MediaType& offered) const {
  return (type == "*" || type == offered.type) && (subtype == "*" || subtype == offered.subtype) &&
         (version.empty() || version == offered.version) && (charset.empty() || charset == "utf-8");
}

int MediaRange::Specificity() const {
  return (type != "*") + (subtype != "*") + !version.empty() + !charset.empty();
}

std::vector<MediaRange> ParseAccept(std::string_view accept) {
  std::vector<MediaRange> ranges;
  while (!accept.empty()) {
    const std::string_view part = FirstPart(accept);
    accept.remove_prefix(std::min(part.size() + 1, accept.size()));
    if (std::optional<MediaRange> range = ParseRange(part)) ranges.push_back(*std::move(range));
  }
  return ranges;
}

const MediaRange* MostSpecific(const std::vector<MediaRange>& ranges, const MediaType& type) {
  const MediaRange* most = nullptr;
  for (const MediaRange& range : ranges) {
    if (!range.Covers(type)) continue;
    if (most == nullptr || range.Specificity() > most->Specificity()) most = &range;
  }
  return most;
}

}  // namespace cluster_watcher
