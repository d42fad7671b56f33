#include "probes/permissions.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cluster_watcher {
namespace {

constexpr Duration kTimeout{2'000};  // of one request
// After this time no more requests are sent: the poll that waits for them matters more.
constexpr Duration kPatience{5'000};

using Account = std::optional<ServiceAccountName>;

ResourceType ReviewsOf(const Account& account, const Permission& permission) {
  const char* group = "authorization.k8s.io";
  if (!account) return {group, "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", false};
  if (permission.ns.empty()) {
    return {group, "v1", "subjectaccessreviews", "SubjectAccessReview", false};
  }
  return {group, "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview", true};
}

void WriteAccount(JsonWriter& spec, const ServiceAccountName& account) {
  spec.Field("user", "system:serviceaccount:" + account.ns + ":" + account.name);
  spec.Key("groups").StartArray().String("system:serviceaccounts");
  spec.String("system:serviceaccounts:" + account.ns).String("system:authenticated").EndArray();
}

ApiRequest ReviewOf(const Account& account, const Permission& permission) {
  const ResourceType reviews = ReviewsOf(account, permission);
  const std::size_t slash = permission.resource.find('/');
  JsonWriter body;
  body.StartObject().Field("apiVersion", reviews.ApiVersion()).Field("kind", reviews.kind);
  if (reviews.namespaced) {
    body.Key("metadata").StartObject().Field("namespace", permission.ns).EndObject();
  }
  body.Key("spec").StartObject().Key("resourceAttributes").StartObject();
  body.Field("verb", permission.verb).Field("group", permission.group);
  body.Field("resource", permission.resource.substr(0, slash));
  if (slash != std::string::npos) body.Field("subresource", permission.resource.substr(slash + 1));
  if (!permission.ns.empty()) body.Field("namespace", permission.ns);
  if (!permission.name.empty()) body.Field("name", permission.name);
  body.EndObject();
  if (account) WriteAccount(body, *account);
  body.EndObject().EndObject();
  ApiRequest request = ApiRequest::Create(reviews, permission.ns, body.Text());
  request.http.timeout = kTimeout;
  return request;
}

Result<bool, ApiError> IsAllowed(const ApiAnswer& answer, const ResourceType& reviews) {
  const JsonValue review = answer.document.root();
  const auto allowed = review["status"]["allowed"].AsBool();
  if (review["kind"].AsString() != reviews.kind || !allowed) {
    return Unexpected{ApiError{ApiFailure::kUnexpected,
                               "the answer to a " + reviews.kind + " is none", std::nullopt}};
  }
  return *allowed;
}

// Ranks verbs in the order in which people write them in a rule.
std::size_t RankOf(const std::string& verb) {
  static constexpr std::array kVerbs = std::to_array<std::string_view>(
      {"get", "list", "watch", "create", "update", "patch", "delete"});
  return static_cast<std::size_t>(std::find(kVerbs.begin(), kVerbs.end(), verb) - kVerbs.begin());
}

struct Rule {
  std::string ns;
  std::string group;
  std::vector<std::string> resources;
  std::vector<std::string> verbs;
};

void AddOnce(std::vector<std::string>& words, const std::string& word) {
  if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
}

// JSON strings and arrays are valid YAML.
std::string ListText(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "[" : ", ") + JsonWriter().String(word).Text();
  }
  return text + "]";
}

// Returns one rule for each resource.
std::vector<Rule> RulesByResource(std::span<const Permission> missing) {
  std::vector<Rule> rules;
  for (const Permission& permission : missing) {
    auto rule = std::find_if(rules.begin(), rules.end(), [&](const Rule& r) {
      return r.ns == permission.ns && r.group == permission.group &&
             r.resources.front() == permission.resource;
    });
    if (rule == rules.end()) {
      rule = rules.insert(rule, {permission.ns, permission.group, {permission.resource}, {}});
    }
    AddOnce(rule->verbs, permission.verb);
  }
  for (Rule& rule : rules) {
    std::stable_sort(rule.verbs.begin(), rule.verbs.end(),
                     [](const auto& a, const auto& b) { return RankOf(a) < RankOf(b); });
  }
  return rules;
}

}  // namespace

Permission Permission::For(std::string_view verb, const ResourceType& type, std::string_view ns,
                           std::string_view name) {
  return {std::string(verb), type.group, type.plural, std::string(type.namespaced ? ns : ""),
          std::string(name)};
}

std::vector<MissingRules> RulesThatGrant(std::span<const Permission> missing) {
  std::vector<Rule> merged;
  for (const Rule& rule : RulesByResource(missing)) {
    auto same = std::find_if(merged.begin(), merged.end(), [&](const Rule& r) {
      return r.ns == rule.ns && r.group == rule.group && r.verbs == rule.verbs;
    });
    if (same == merged.end()) {
      merged.push_back(rule);
    } else {
      same->resources.push_back(rule.resources.front());
    }
  }
  std::vector<MissingRules> all;
  for (const Rule& rule : merged) {
    auto there = std::find_if(all.begin(), all.end(),
                              [&](const MissingRules& rules) { return rules.ns == rule.ns; });
    if (there == all.end()) there = all.insert(there, {rule.ns, ""});
    there->text += (there->text.empty() ? "[" : ", ") + std::string("{apiGroups: ") +
                   ListText({rule.group}) + ", resources: " + ListText(rule.resources) +
                   ", verbs: " + ListText(rule.verbs) + "}";
  }
  for (MissingRules& rules : all) rules.text += "]";
  return all;
}

// Source: k8s.io/apiserver, forbiddenMessage: `User "u" cannot list resource "pods" in API group ""
// in the namespace "lab"`.
std::optional<Permission> MissingPermission(const ApiError& refused) {
  const std::string& text = refused.message;
  std::size_t at = 0;
  const auto next = [&](std::string_view before, std::string_view after) {
    const std::size_t begin = text.find(before, at);
    if (begin == std::string::npos) return std::string();
    const std::size_t end = text.find(after, begin + before.size());
    if (end == std::string::npos) return std::string();
    at = end;
    return text.substr(begin + before.size(), end - begin - before.size());
  };
  Permission missing;
  missing.verb = next(" cannot ", " resource ");
  missing.resource = next(" resource \"", "\"");
  missing.group = next(" in API group \"", "\"");
  missing.ns = next(" in the namespace \"", "\"");
  if (missing.verb.empty() || missing.resource.empty()) return std::nullopt;
  return missing;
}

Result<std::vector<Permission>, ApiError> PermissionProbe::FindMissing(
    std::span<const Permission> permissions, const Patience& patience) {
  const MonotonicTime give_up = clock_.Now() + kPatience;
  std::vector<Permission> missing;
  // In small batches, so that an API server that refuses or hangs isn't sent the rest.
  for (std::size_t first = 0; first < permissions.size(); first += kReadsSideBySide) {
    if (clock_.Now() >= give_up) {
      return Unexpected{ApiError{ApiFailure::kUnreachable,
                                 "the answers to questions of rights are too slow", std::nullopt}};
    }
    const auto some =
        permissions.subspan(first, std::min(kReadsSideBySide, permissions.size() - first));
    std::vector<ApiRequest> requests;
    for (const Permission& permission : some) {
      requests.push_back(ReviewOf(account_, permission));
    }
    const auto answers = client_.DoAll(requests, kReadsSideBySide, patience);
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (!answers[i]) return Unexpected{answers[i].error()};
      auto allowed = IsAllowed(*answers[i], requests[i].type);
      if (!allowed) return Unexpected{std::move(allowed).error()};
      if (!*allowed) missing.push_back(some[i]);
    }
  }
  return missing;
}

}  // namespace cluster_watcher
