#include "test/small_kubernetes/selectors.h"

#include <algorithm>
#include <utility>

namespace cluster_watcher::small_kubernetes {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits at commas outside of parentheses.
std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      parts.push_back(Trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  return parts;
}

struct Comparison {
  std::string_view key;
  std::string_view value;
  bool equal = true;
};

// Splits "a=b", "a==b" or "a!=b"; nullopt for anything else, as for "a=b=c".
std::optional<Comparison> SplitComparison(std::string_view text) {
  const std::size_t at = text.find('=');
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const bool equal = text[at - 1] != '!';
  std::string_view value = text.substr(at + 1);
  if (!value.empty() && value.front() == '=') value.remove_prefix(1);
  if (value.find('=') != std::string_view::npos) return std::nullopt;
  return Comparison{Trim(text.substr(0, equal ? at : at - 1)), Trim(value), equal};
}

bool IsKey(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  });
}

std::string_view Field(const Object& object, std::string_view path) {
  if (path == "metadata.name") return object.name;
  if (path == "metadata.namespace") return object.ns;
  if (path == "involvedObject.uid") return TextOf(Find(object.body, "involvedObject", "uid"));
  if (path == "spec.nodeName") return TextOf(Find(object.body, "spec", "nodeName"));
  return TextOf(Find(object.body, "status", "phase"));
}

}  // namespace

std::optional<LabelSelector> LabelSelector::Parse(std::string_view text) {
  LabelSelector selector;
  if (Trim(text).empty()) return selector;
  for (std::string_view part : Split(text)) {
    Requirement requirement{{}, Operator::kExists, {}};
    const std::size_t open = part.find('(');
    if (open != std::string_view::npos) {
      if (part.back() != ')') return std::nullopt;
      const std::string_view head = Trim(part.substr(0, open));
      const std::size_t space = head.find(' ');
      if (space == std::string_view::npos) return std::nullopt;
      const std::string_view word = Trim(head.substr(space));
      if (word != "in" && word != "notin") return std::nullopt;
      requirement.op = word == "in" ? Operator::kIn : Operator::kNotIn;
      requirement.key = head.substr(0, space);
      for (std::string_view value : Split(part.substr(open + 1, part.size() - open - 2))) {
        requirement.values.emplace_back(value);
      }
    } else if (const auto comparison = SplitComparison(part)) {
      requirement.op = comparison->equal ? Operator::kIn : Operator::kNotIn;
      requirement.key = comparison->key;
      requirement.values.emplace_back(comparison->value);
    } else if (!part.empty() && part.front() == '!') {
      requirement.op = Operator::kDoesNotExist;
      requirement.key = Trim(part.substr(1));
    } else {
      requirement.key = part;
    }
    if (!IsKey(requirement.key)) return std::nullopt;
    selector.requirements_.push_back(std::move(requirement));
  }
  return selector;
}

void LabelSelector::AddLabels(const Value* labels) {
  if (labels == nullptr || !labels->IsObject()) return;
  for (const auto& label : labels->GetObject()) {
    requirements_.push_back(
        {std::string(View(label.name)), Operator::kIn, {std::string(TextOf(&label.value))}});
  }
}

LabelSelector LabelSelector::FromMap(const Value* labels) {
  LabelSelector selector;
  selector.AddLabels(labels);
  if (selector.requirements_.empty()) selector.requirements_.push_back({{}, Operator::kNever, {}});
  return selector;
}

LabelSelector LabelSelector::FromObject(const Value* object) {
  LabelSelector selector;
  if (object != nullptr) {
    selector.AddLabels(Find(*object, "matchLabels"));
    if (const Value* expressions = Find(*object, "matchExpressions"); HasElements(expressions)) {
      for (const Value& expression : expressions->GetArray()) {
        const std::string_view word = TextOf(Find(expression, "operator"));
        Requirement requirement{
            std::string(TextOf(Find(expression, "key"))), Operator::kExists, {}};
        if (word == "In") requirement.op = Operator::kIn;
        if (word == "NotIn") requirement.op = Operator::kNotIn;
        if (word == "DoesNotExist") requirement.op = Operator::kDoesNotExist;
        if (const Value* values = Find(expression, "values"); HasElements(values)) {
          for (const Value& value : values->GetArray()) {
            requirement.values.emplace_back(TextOf(&value));
          }
        }
        selector.requirements_.push_back(std::move(requirement));
      }
    }
  }
  if (selector.requirements_.empty()) selector.requirements_.push_back({{}, Operator::kNever, {}});
  return selector;
}

bool LabelSelector::Matches(const Value* labels) const {
  for (const Requirement& requirement : requirements_) {
    const Value* label = labels == nullptr ? nullptr : Find(*labels, requirement.key);
    const bool among =
        label != nullptr && std::find(requirement.values.begin(), requirement.values.end(),
                                      TextOf(label)) != requirement.values.end();
    bool holds = false;
    switch (requirement.op) {
      case Operator::kIn:
        holds = among;
        break;
      case Operator::kNotIn:
        holds = !among;
        break;
      case Operator::kExists:
        holds = label != nullptr;
        break;
      case Operator::kDoesNotExist:
        holds = label == nullptr;
        break;
      case Operator::kNever:
        break;
    }
    if (!holds) return false;
  }
  return true;
}

std::optional<FieldSelector> FieldSelector::Parse(std::string_view text, const Resource& resource) {
  FieldSelector selector;
  if (text.empty()) return selector;
  for (std::string_view part : Split(text)) {
    const auto comparison = SplitComparison(part);
    if (!comparison) return std::nullopt;
    const bool of_all =
        comparison->key == "metadata.name" || comparison->key == "metadata.namespace";
    const bool of_pods = comparison->key == "spec.nodeName" || comparison->key == "status.phase";
    const bool of_events = comparison->key == "involvedObject.uid" && resource.group.empty();
    if (!of_all && !(of_pods && resource.kind == "Pod") &&
        !(of_events && resource.kind == "Event")) {
      return std::nullopt;
    }
    selector.requirements_.push_back(
        {std::string(comparison->key), std::string(comparison->value), comparison->equal});
  }
  return selector;
}

bool FieldSelector::Matches(const Object& object) const {
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& r) {
    return (Field(object, r.path) == r.value) == r.equal;
  });
}

std::string NameInFieldSelector(std::string_view text) {
  for (std::string_view part : Split(text)) {
    const auto comparison = SplitComparison(part);
    if (comparison && comparison->equal && comparison->key == "metadata.name") {
      return std::string(comparison->value);
    }
  }
  return {};
}

}  // namespace cluster_watcher::small_kubernetes
