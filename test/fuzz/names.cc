// Fuzzes Kubernetes' names: the forms agree with each other, splitting a kind again gives the same
// parts, and text of unknown origin can be recovered from messages and URLs.
#include "probes/base/names.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "probes/kube/resource_type.h"
#include "test/fuzz/fuzz.h"

namespace cluster_watcher {
namespace {

bool IsMadeOf(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

void CheckForms(std::string_view text) {
  const bool is_value = IsLabelValue(text);
  Require(!IsDnsLabel(text) || (IsDnsSubdomain(text) && is_value), "a DNS label is a subdomain");
  Require(!IsDnsLabel(text) || text.find('.') == std::string_view::npos, "a DNS label has no dot");
  Require(!IsDnsSubdomain(text) || (!text.empty() && text.size() <= 253 &&
                                    IsMadeOf(text, "abcdefghijklmnopqrstuvwxyz0123456789-.")),
          "a subdomain is made of what may be in one");
  Require(!is_value || text.find_first_of("/,=!()\" \n") == std::string_view::npos,
          "a label's value needs no quotes in a selector");
  Require(!is_value || IsLabelKey(text), "a label's value can be its key");
  Require(!IsLabelKey(text) || text.size() <= 253 + 1 + 63, "a label's key is bounded");
}

void CheckKind(std::string_view text) {
  const KindName kind = SplitKindName(text);
  Require(kind.kind.find('.') == std::string::npos, "a kind has no dot");
  Require(LowerCase(kind.ToText()) == kind.ToText(), "a kind is in lower case");
  if (const ResourceType* type = FindBuiltInByName(kind.kind, kind.group)) {
    Require(kind.group.empty() || kind.group == type->group, "a built-in kind is of its group");
    Require(FindBuiltInByName(type->QualifiedName(), "") == type, "its own name finds a kind");
  }
  if (!IsKindName(text)) return;
  Require(IsDnsLabel(kind.kind), "a kind is a DNS label");
  Require(kind.group.empty() || IsDnsSubdomain(kind.group), "a group is a subdomain");
  Require(SplitKindName(kind.ToText()) == kind, "what is written splits the same");
}

int HexDigit(char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return static_cast<int>(kDigits.find(LowerCase({&c, 1}).front()));
}

// Undoes escapes with two hexadecimal digits.
std::string Decoded(std::string_view text, std::string_view escape) {
  std::string decoded;
  while (!text.empty()) {
    if (text.starts_with(escape) && text.size() >= escape.size() + 2) {
      text.remove_prefix(escape.size());
      decoded += static_cast<char>(HexDigit(text[0]) * 16 + HexDigit(text[1]));
      text.remove_prefix(2);
    } else if (text.front() == '\\' && text.size() > 1) {
      decoded += text[1] == 'n' ? '\n' : text[1] == 't' ? '\t' : text[1];
      text.remove_prefix(2);
    } else {
      decoded += text.front();
      text.remove_prefix(1);
    }
  }
  return decoded;
}

void CheckEscapes(std::string_view text) {
  std::string quoted = Quoted(text);
  Require(
      IsOneLine(quoted) && std::all_of(quoted.begin(), quoted.end(), [](char c) { return c > 0; }),
      "quoted text is one line of ASCII");
  Require(quoted.ends_with("...") == (text.size() > 80), "what is cut off shows");
  if (text.size() > 80) quoted.erase(quoted.size() - 3);
  Require(quoted.size() >= 2 && quoted.front() == '"' && quoted.back() == '"',
          "quotes are around it");
  Require(Decoded(quoted.substr(1, quoted.size() - 2), "\\x") == text.substr(0, 80),
          "quoted text tells what it was");

  const std::string encoded = PercentEncode(text);
  Require(IsMadeOf(encoded, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%"),
          "encoded text can stand in a URL");
  Require(Decoded(encoded, "%") == text, "encoded text tells what it was");
}

}  // namespace

void TryInput(std::string_view input) {
  CheckForms(input);
  CheckKind(input);
  CheckEscapes(input);
}

}  // namespace cluster_watcher
