#include "watcher/admission/manifest/yaml_source.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace cluster_watcher {
namespace {

bool IsNameCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '-';
}

void AppendUtf8(std::uint32_t code, std::string& text) {
  const auto add = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
  const auto add_rest = [&](int shift) { add(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | (code >> 6));
    add_rest(0);
  } else if (code < 0x10000) {
    add(0xE0 | (code >> 12));
    add_rest(6);
    add_rest(0);
  } else {
    add(0xF0 | (code >> 18));
    add_rest(12);
    add_rest(6);
    add_rest(0);
  }
}

// Returns what a letter after a backslash stands for; nullptr if it is none of these.
const char* EscapeOf(char letter) {
  switch (letter) {
    case 'a':
      return "\a";
    case 'b':
      return "\b";
    case 't':
    case '\t':
      return "\t";
    case 'n':
      return "\n";
    case 'v':
      return "\v";
    case 'f':
      return "\f";
    case 'r':
      return "\r";
    case 'e':
      return "\x1b";
    case ' ':
      return " ";
    case '"':
      return "\"";
    case '\'':
      return "'";
    case '/':
      return "/";
    case '\\':
      return "\\";
    case 'N':
      return "\u0085";
    case '_':
      return "\u00a0";
    case 'L':
      return "\u2028";
    case 'P':
      return "\u2029";
    default:
      return nullptr;
  }
}

}  // namespace

// Joins what stands on the lines of an unquoted or a quoted text.
class YamlSource::Folder {
 public:
  explicit Folder(YamlSource& source) : source_(source) {}

  // Passes white space. Returns false if it is none.
  bool Pass() {
    const std::size_t begin = source_.at_;
    while (source_.IsBlank(source_.at_) || source_.IsBreak(source_.at_)) {
      if (source_.IsBlank(source_.at_)) {
        if (!is_broken_) blanks_ += source_.At(source_.at_);
        ++source_.at_;
        continue;
      }
      ++(is_broken_ ? more_breaks_ : breaks_);
      is_broken_ = true;
      source_.PassBreak();
    }
    return source_.at_ > begin;
  }

  // Passes a line break that is escaped.
  void PassEscapedBreak() {
    source_.PassBreak();
    is_broken_ = true;
  }

  // Appends what the white space since the last call stands for.
  void Append(std::string& value) {
    if (!is_broken_) {
      value += blanks_;
    } else if (breaks_ > 0 && more_breaks_ == 0) {
      value += ' ';
    } else {
      value.append(more_breaks_, '\n');
    }
    blanks_.clear();
    breaks_ = 0;
    more_breaks_ = 0;
    is_broken_ = false;
  }

 private:
  YamlSource& source_;
  std::string blanks_;
  std::size_t breaks_ = 0;
  std::size_t more_breaks_ = 0;
  bool is_broken_ = false;
};

bool YamlSource::IsMarker(std::size_t i) const {
  if (i > 0 && At(i - 1) != '\n') return false;
  const std::string_view three = text_.substr(std::min(i, text_.size()), 3);
  return (three == "---" || three == "...") && IsWhite(i + 3);
}

int YamlSource::Column(std::size_t i) const {
  const std::size_t line = i == 0 ? std::string_view::npos : text_.rfind('\n', i - 1);
  return static_cast<int>(line == std::string_view::npos ? i : i - line - 1);
}

std::size_t YamlSource::LineEnd(std::size_t i) const {
  return std::min(text_.find_first_of("\r\n", i), text_.size());
}

std::size_t YamlSource::PropertyEnd(std::size_t i) const {
  std::size_t end = i + 1;
  const bool is_tag = At(i) == '!';
  if (is_tag && At(end) == '<') {
    end = std::min(text_.find_first_of("> \t\r\n", end), text_.size());
    return At(end) == '>' && IsWhite(end + 1) ? end + 1 : i;
  }
  while (
      IsNameCharacter(At(end)) ||
      (is_tag && !IsEnd(end) && std::string_view("!:/.").find(At(end)) != std::string_view::npos)) {
    ++end;
  }
  const bool is_delimited =
      !is_tag && flow_level_ > 0 && (At(end) == ',' || At(end) == ']' || At(end) == '}');
  const bool is_named = is_tag || end > i + 1;
  return is_named && (IsWhite(end) || is_delimited) ? end : i;
}

void YamlSource::PassBreak() { at_ += At(at_) == '\r' && At(at_ + 1) == '\n' ? 2 : 1; }

// Passes white space and comments.
bool YamlSource::PassWhite() {
  const std::size_t begin = at_;
  while (!IsEnd(at_)) {
    if (At(at_) == '#') {
      at_ = LineEnd(at_);
    } else if (IsBlank(at_) || IsBreak(at_)) {
      ++at_;
    } else {
      break;
    }
  }
  return at_ > begin;
}

// Passes one token that is no scalar.
bool YamlSource::PassOne() {
  const char c = At(at_);
  const bool is_marker = IsMarker(at_);
  if (c == '%' && !has_content_ && Column(at_) == 0) {
    at_ = LineEnd(at_);
    return true;
  }
  has_content_ = true;
  if (is_marker) {
    at_ += 3;
    return true;
  }
  if (c == '&' || c == '*' || c == '!') {
    const std::size_t end = PropertyEnd(at_);
    if (end == at_) return false;
    at_ = end;
    return true;
  }
  const bool is_indicator = std::string_view(",[]{}").find(c) != std::string_view::npos;
  const bool is_key_or_value = (c == '?' || c == ':') && (flow_level_ > 0 || IsWhite(at_ + 1));
  const bool is_item = c == '-' && IsWhite(at_ + 1);
  if (!is_indicator && !is_key_or_value && !is_item) return false;
  if (c == '[' || c == '{') ++flow_level_;
  if (c == ']' || c == '}') --flow_level_;
  ++at_;
  return true;
}

bool YamlSource::PassTo(std::size_t end) {
  while (at_ < end) {
    if (!PassWhite() && !PassOne()) return false;
  }
  return at_ == end;
}

int YamlSource::BlockColumn(std::size_t begin) const {
  YamlSource rest = *this;
  rest.at_ = begin;
  bool has_property = false;
  while (rest.At(rest.at_) == '&' || rest.At(rest.at_) == '!') {
    has_property = true;
    const std::size_t end = rest.PropertyEnd(rest.at_);
    if (end == rest.at_) break;
    rest.at_ = end;
    while (rest.IsBlank(rest.at_)) ++rest.at_;
  }
  if (!has_property) return Column(begin);
  rest.PassWhite();
  return Column(rest.at_);
}

bool YamlSource::PassNull(std::size_t begin, int indent) {
  // The mark of what is missing is that of something else.
  if (begin < at_) return true;
  if (!PassTo(begin)) return false;
  YamlSource rest = *this;
  while (rest.PassWhite() ||
         ((rest.At(rest.at_) == '&' || rest.At(rest.at_) == '!') && rest.PassOne())) {
  }
  const auto plain = rest.ReadPlain(indent);
  if (plain && (*plain == "~" || *plain == "null" || *plain == "Null" || *plain == "NULL")) {
    *this = rest;
  }
  return true;
}

std::optional<std::string> YamlSource::ReadScalar(std::size_t begin, int indent,
                                                  std::string_view value) {
  if (begin < at_ || !PassTo(begin)) return std::nullopt;
  std::size_t properties_end = begin;
  bool is_beside = true;
  while (At(at_) == '&' || At(at_) == '!') {
    if (!PassOne()) return std::nullopt;
    properties_end = at_;
    PassWhite();
    // A line that isn't indented more belongs to what is around.
    is_beside = flow_level_ > 0 || Column(at_) > indent;
  }
  has_content_ = true;
  if (value.empty() && !is_beside) {
    at_ = properties_end;
    return std::string();
  }
  if (At(at_) == '"' || At(at_) == '\'') return ReadQuoted();
  if (flow_level_ == 0 && (At(at_) == '|' || At(at_) == '>')) return ReadBlock(indent);
  if (value.empty() && properties_end > begin) {
    at_ = properties_end;
    return std::string();
  }
  auto plain = ReadPlain(indent);
  if (plain && *plain != value) return std::nullopt;
  return plain;
}

bool YamlSource::BeginsPlain(std::size_t i) const {
  if (IsWhite(i)) return false;
  const char c = At(i);
  if (c == '-') return !IsBlank(i + 1);
  if (c == '?' || c == ':') return flow_level_ == 0 && !IsWhite(i + 1);
  return std::string_view(",[]{}#&*!|>'\"%@`").find(c) == std::string_view::npos;
}

bool YamlSource::EndsPlain(std::size_t i) const {
  if (At(i) == ':' && IsWhite(i + 1)) return true;
  return flow_level_ > 0 && std::string_view(",?[]{}").find(At(i)) != std::string_view::npos;
}

std::optional<std::string> YamlSource::ReadPlain(int indent) {
  if (!BeginsPlain(at_)) return std::nullopt;
  std::string value;
  Folder folder(*this);
  while (!IsMarker(at_) && At(at_) != '#') {
    while (!IsWhite(at_) && !EndsPlain(at_)) {
      folder.Append(value);
      value += At(at_++);
    }
    if (!folder.Pass()) break;
    if (flow_level_ == 0 && Column(at_) < indent + 1) break;
  }
  return value;
}

std::optional<std::string> YamlSource::ReadQuoted() {
  const char quote = At(at_++);
  const bool is_double = quote == '"';
  std::string value;
  for (Folder folder(*this);;) {
    if (IsEnd(at_) || IsMarker(at_)) return std::nullopt;
    if (folder.Pass()) continue;
    folder.Append(value);
    if (At(at_) == quote) {
      ++at_;
      if (is_double || At(at_) != quote) return value;
      value += quote;
      ++at_;
    } else if (is_double && At(at_) == '\\' && IsBreak(at_ + 1)) {
      ++at_;
      folder.PassEscapedBreak();
    } else if (is_double && At(at_) == '\\') {
      ++at_;
      if (!ReadEscape(value)) return std::nullopt;
    } else {
      value += At(at_++);
    }
  }
}

bool YamlSource::ReadEscape(std::string& value) {
  const char letter = At(at_++);
  if (letter == '0') {
    value += '\0';
    return true;
  }
  if (const char* text = EscapeOf(letter)) {
    value += text;
    return true;
  }
  const std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
  if (digits == 0 || text_.size() - at_ < digits) return false;
  std::uint32_t code = 0;
  const char* const end = text_.data() + at_ + digits;
  const auto [stop, error] = std::from_chars(text_.data() + at_, end, code, 16);
  if (error != std::errc() || stop != end) return false;
  if ((code >= 0xD800 && code <= 0xDFFF) || code > 0x10FFFF) return false;
  AppendUtf8(code, value);
  at_ += digits;
  return true;
}

// Passes indentation and empty lines. An indentation of 0 is found out.
void YamlSource::PassIndent(int parent, int& indent, std::string& breaks) {
  int most = 0;
  for (;; PassBreak()) {
    const std::size_t line = at_;
    const auto column = [&] { return static_cast<int>(at_ - line); };
    while ((indent == 0 || column() < indent) && At(at_) == ' ') ++at_;
    most = std::max(most, column());
    if (!IsBreak(at_)) break;
    breaks += '\n';
  }
  if (indent == 0) indent = std::max({most, parent + 1, 1});
}

std::optional<std::string> YamlSource::ReadBlock(int parent) {
  const bool is_literal = At(at_++) == '|';
  int chomping = 0;
  int indent = 0;
  for (; std::string_view("+-123456789").find(At(at_)) != std::string_view::npos && !IsEnd(at_);
       ++at_) {
    const char c = At(at_);
    if (c == '+' || c == '-') {
      chomping = c == '+' ? 1 : -1;
    } else {
      indent = std::max(parent, 0) + (c - '0');
    }
  }
  while (IsBlank(at_)) ++at_;
  if (At(at_) == '#') at_ = LineEnd(at_);
  if (!IsBreak(at_)) return IsEnd(at_) ? std::optional<std::string>("") : std::nullopt;
  PassBreak();

  std::string value;
  std::string breaks;
  bool has_break = false;
  bool was_blank = false;
  PassIndent(parent, indent, breaks);
  while (Column(at_) == indent && !IsEnd(at_)) {
    const bool is_blank = IsBlank(at_);
    if (has_break && (is_literal || was_blank || is_blank)) {
      value += '\n';
    } else if (has_break && breaks.empty()) {
      value += ' ';
    }
    value += breaks;
    breaks.clear();
    was_blank = is_blank;
    const std::size_t end = LineEnd(at_);
    value += text_.substr(at_, end - at_);
    at_ = end;
    has_break = IsBreak(at_);
    if (has_break) PassBreak();
    PassIndent(parent, indent, breaks);
  }
  if (chomping != -1 && has_break) value += '\n';
  if (chomping == 1) value += breaks;
  return value;
}

}  // namespace cluster_watcher
