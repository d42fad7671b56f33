#include "probes/field_path.h"

#include <algorithm>
#include <charconv>

#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kLongestPath = 1024;

// Returns a scalar as kubectl prints it; nullopt if it isn't one.
std::optional<std::string> ScalarText(JsonValue value) {
  if (!value.Exists() || value.IsNull() || value.IsArray() || value.IsObject()) return std::nullopt;
  if (auto text = value.AsString()) return std::string(*text);
  return value.ToText();
}

}  // namespace

// A recursive-descent parser for one path.
class FieldPathParser {
 public:
  explicit FieldPathParser(std::string_view text) : text_(text) {}

  Result<FieldPath> Parse() {
    if (text_.size() > kLongestPath) return Failure("the path is longer than 1024 characters");
    if (Take("{") && !text_.ends_with('}')) return Failure("the brace isn't closed");
    if (at_ > 0) text_.remove_suffix(1);
    if (Peek() == '$') ++at_;
    FieldPath path;
    if (at_ < text_.size() && Peek() != '.' && Peek() != '[') {
      if (auto done = TakeKey(path); !done) return Unexpected{std::move(done).error()};
    }
    while (at_ < text_.size()) {
      auto done = Take(".") ? TakeKey(path) : Take("[") ? TakeBracket(path) : Unknown();
      if (!done) return Unexpected{std::move(done).error()};
    }
    if (path.steps_.empty()) return Failure("the path names no field");
    return path;
  }

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool Take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  void TakeSpaces() {
    while (Peek() == ' ') ++at_;
  }

  Result<Done> Unknown() const {
    return Failure("character " + std::to_string(at_ + 1) + " of the path, " +
                   Quoted(text_.substr(at_, 1)) + ", can't stand there");
  }

  // Reads up to the next step. A backslash makes a dot part of the key.
  Result<std::string> Key(std::string_view ends) {
    std::string key;
    for (; at_ < text_.size() && ends.find(Peek()) == std::string_view::npos; ++at_) {
      if (Peek() == '\\' && at_ + 1 < text_.size()) ++at_;
      if (std::string_view("*?@$(){}'\" ").find(Peek()) != std::string_view::npos) {
        return Unexpected{Unknown().error()};
      }
      key += Peek();
    }
    if (key.empty()) return Failure("a name is missing at character " + std::to_string(at_ + 1));
    return key;
  }

  Result<Done> TakeKey(FieldPath& path) {
    auto key = Key(".[");
    if (!key) return Unexpected{std::move(key).error()};
    path.steps_.emplace_back(*std::move(key));
    return Done{};
  }

  Result<std::string> QuotedText() {
    const char quote = Peek();
    if (quote != '\'' && quote != '"') return Unexpected{Unknown().error()};
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return Failure("a quote isn't closed");
    std::string text(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return text;
  }

  Result<Done> TakeBracket(FieldPath& path) {
    if (Take("?(")) return TakeFilter(path);
    if (Peek() == '\'' || Peek() == '"') {
      auto key = QuotedText();
      if (!key) return Unexpected{std::move(key).error()};
      path.steps_.emplace_back(*std::move(key));
    } else {
      int index = 0;
      const char* const begin = text_.data() + at_;
      const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), index);
      if (error != std::errc()) {
        return Failure("only an index, a quoted name or a filter can stand in brackets");
      }
      at_ += static_cast<std::size_t>(stop - begin);
      path.steps_.emplace_back(index);
    }
    return Take("]") ? Done{} : Result<Done>(Failure("a bracket isn't closed"));
  }

  // Reads `@.type=="Complete")]`.
  Result<Done> TakeFilter(FieldPath& path) {
    FieldPath::Filter filter;
    TakeSpaces();
    if (!Take("@")) return Failure("a filter begins with @");
    while (Take(".")) {
      auto key = Key(".= ");
      if (!key) return Unexpected{std::move(key).error()};
      filter.path.push_back(*std::move(key));
    }
    TakeSpaces();
    if (filter.path.empty() || !Take("=="))
      return Failure("a filter is written @.FIELD==\"VALUE\"");
    TakeSpaces();
    auto value = QuotedText();
    if (!value) return Unexpected{std::move(value).error()};
    filter.value = *std::move(value);
    TakeSpaces();
    if (!Take(")]")) return Failure("a filter isn't closed");
    path.steps_.emplace_back(std::move(filter));
    return Done{};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Result<FieldPath> FieldPath::Parse(std::string_view text) { return FieldPathParser(text).Parse(); }

Result<JsonValue> FieldPath::Locate(JsonValue object) const {
  JsonValue value = object;
  for (const Step& step : steps_) {
    if (const auto* key = std::get_if<std::string>(&step)) {
      if (value.IsArray()) return Failure("it leads into a list: give an index or a filter");
      value = value[*key];
    } else if (const auto* index = std::get_if<int>(&step)) {
      const auto size = static_cast<std::ptrdiff_t>(value.size());
      const std::ptrdiff_t at = *index < 0 ? size + *index : *index;
      value = value.IsArray() && at >= 0 && at < size ? value.At(static_cast<std::size_t>(at))
                                                      : JsonValue();
    } else {
      const auto& filter = std::get<Filter>(step);
      std::vector<JsonValue> matches;
      for (JsonValue element : value.Elements()) {
        JsonValue field = element;
        for (const std::string& name : filter.path) field = field[name];
        if (ScalarText(field) == filter.value) matches.push_back(element);
      }
      if (matches.size() > 1) return Failure("its filter finds more than one element");
      value = matches.empty() ? JsonValue() : matches.front();
    }
  }
  return value;
}

Result<std::optional<std::string>> FieldPath::Find(JsonValue object) const {
  const auto value = Locate(object);
  if (!value) return Unexpected{value.error()};
  if (value->IsArray()) return Failure("it leads to a list: give an index or a filter");
  if (value->IsObject()) return Failure("it leads to an object: name one of its fields");
  return ScalarText(*value);
}

Result<CompletedWhen> CompletedWhen::Parse(std::string_view text) {
  const auto fail = [text](const std::string& why) {
    return Failure(Quoted(text) + " doesn't parse: " + why +
                   "; write {PATH} or {PATH}=VALUE,..., for example "
                   "{.status.phase}=Succeeded,Failed");
  };
  // Skips the "=" characters within a filter.
  const std::size_t behind = text.starts_with('{') ? text.find("}=") : text.rfind(")]");
  std::size_t equals = text.find('=', behind == std::string_view::npos ? 0 : behind);
  if (text.starts_with('{') && behind == std::string_view::npos) equals = behind;
  CompletedWhen completed;
  auto path = FieldPath::Parse(text.substr(0, equals));
  if (!path) return fail(path.error().message);
  completed.path_ = *std::move(path);
  completed.text_ = text;
  if (equals == std::string_view::npos) return completed;
  for (std::size_t begin = equals + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    completed.values_.emplace_back(text.substr(begin, end - begin));
    if (completed.values_.back().empty()) return fail("a value is empty");
    begin = end + 1;
  }
  return completed;
}

Result<bool> CompletedWhen::Holds(JsonValue object) const {
  if (values_.empty()) {
    const auto there = path_.Locate(object);
    if (!there) return Unexpected{there.error()};
    return there->Exists() && !there->IsNull();
  }
  auto found = path_.Find(object);
  if (!found) return Unexpected{std::move(found).error()};
  return *found && std::find(values_.begin(), values_.end(), **found) != values_.end();
}

}  // namespace cluster_watcher
