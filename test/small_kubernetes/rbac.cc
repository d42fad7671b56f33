#include "test/small_kubernetes/rbac.h"

#include <algorithm>

namespace cluster_watcher::small_kubernetes {
namespace {

// Whether a rule's list covers `wanted`. An absent list does so only if `absent_matches`.
bool Lists(const Value& rule, std::string_view key, std::string_view wanted,
           bool absent_matches = false) {
  const Value* list = Find(rule, key);
  if (!HasElements(list)) return absent_matches;
  return std::any_of(list->Begin(), list->End(), [&](const Value& entry) {
    return TextOf(&entry) == wanted || (TextOf(&entry) == "*" && key != "resourceNames");
  });
}

bool RuleAllows(const Value& rule, const Access& access) {
  if (!Lists(rule, "verbs", access.verb)) return false;
  if (access.resource.empty()) return Lists(rule, "nonResourceURLs", access.path);
  if (!Lists(rule, "apiGroups", access.group)) return false;
  std::string resource(access.resource);
  if (!access.subresource.empty()) resource.append("/").append(access.subresource);
  const bool any_parent = !access.subresource.empty() &&
                          Lists(rule, "resources", "*/" + std::string(access.subresource));
  if (!any_parent && !Lists(rule, "resources", resource)) return false;
  return Lists(rule, "resourceNames", access.name, true);
}

bool IsSubject(const Value& subject, const User& user, std::string_view binding_ns) {
  const std::string_view kind = TextOf(Find(subject, "kind"));
  const std::string_view name = TextOf(Find(subject, "name"));
  if (kind == "User") return user.name == name;
  if (kind == "Group") return user.IsIn(name);
  if (kind != "ServiceAccount") return false;
  std::string_view ns = TextOf(Find(subject, "namespace"));
  if (ns.empty()) ns = binding_ns;
  return user.name == "system:serviceaccount:" + std::string(ns) + ":" + std::string(name);
}

bool IsForAll(std::string_view path) {
  return path == "/version" || path == "/healthz" || path == "/livez" || path == "/readyz";
}

bool IsDiscovery(std::string_view path) {
  for (std::string_view prefix : {"/api", "/apis", "/openapi"}) {
    if (path.substr(0, prefix.size()) == prefix &&
        (path.size() == prefix.size() || path[prefix.size()] == '/')) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool User::IsIn(std::string_view group) const {
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

std::string Tokens::AddServiceAccount(const std::string& ns, const std::string& name) {
  std::string token = "sa." + ns + "." + name + "." + std::to_string(++issued_);
  users_[token] = {
      "system:serviceaccount:" + ns + ":" + name,
      {"system:serviceaccounts", "system:serviceaccounts:" + ns, "system:authenticated"}};
  return token;
}

void Tokens::Revoke(std::string_view token) {
  if (const auto found = users_.find(token); found != users_.end()) users_.erase(found);
}

const User* Tokens::Find(std::string_view token) const {
  if (token.empty()) return &anonymous_;
  const auto found = users_.find(token);
  return found == users_.end() ? nullptr : &found->second;
}

Authorizer::Authorizer(const Store& store, const ResourceTable& resources)
    : store_(store),
      roles_(resources.Of("rbac.authorization.k8s.io", "roles")),
      role_bindings_(resources.Of("rbac.authorization.k8s.io", "rolebindings")),
      cluster_roles_(resources.Of("rbac.authorization.k8s.io", "clusterroles")),
      cluster_role_bindings_(resources.Of("rbac.authorization.k8s.io", "clusterrolebindings")) {}

bool Authorizer::Allows(const User& user, const Access& access) const {
  if (user.IsIn("system:masters")) return true;
  const bool reads_path = access.resource.empty() && access.verb == "get";
  if (reads_path && IsForAll(access.path)) return true;
  if (user.IsIn("system:authenticated")) {
    if (reads_path && IsDiscovery(access.path)) return true;
    const bool is_about_itself =
        access.resource == "selfsubjectaccessreviews" || access.resource == "selfsubjectreviews";
    if (is_about_itself && access.verb == "create") return true;
  }
  return BindingsAllow(cluster_role_bindings_, {}, user, access) ||
         (!access.ns.empty() && BindingsAllow(role_bindings_, access.ns, user, access));
}

bool Authorizer::BindingsAllow(const Resource& bindings, std::string_view ns, const User& user,
                               const Access& access) const {
  for (const ObjectPtr& binding : store_.List(bindings, ns)) {
    const Value* subjects = Find(binding->body, "subjects");
    if (!HasElements(subjects) ||
        std::none_of(subjects->Begin(), subjects->End(),
                     [&](const Value& subject) { return IsSubject(subject, user, ns); })) {
      continue;
    }
    const bool cluster = TextOf(Find(binding->body, "roleRef", "kind")) == "ClusterRole";
    const ObjectPtr role =
        store_.Get(cluster ? cluster_roles_ : roles_, cluster ? std::string_view() : ns,
                   TextOf(Find(binding->body, "roleRef", "name")));
    const Value* rules = role == nullptr ? nullptr : Find(role->body, "rules");
    if (HasElements(rules) && std::any_of(rules->Begin(), rules->End(), [&](const Value& rule) {
          return RuleAllows(rule, access);
        })) {
      return true;
    }
  }
  return false;
}

std::string DescribeDenial(const User& user, const Access& access) {
  std::string text = "User " + Quote(user.name) + " cannot " + std::string(access.verb);
  if (access.resource.empty()) return text + " path " + Quote(access.path);
  std::string resource(access.resource);
  if (!access.subresource.empty()) resource.append("/").append(access.subresource);
  text += " resource " + Quote(resource) + " in API group " + Quote(access.group);
  return access.ns.empty() ? text + " at the cluster scope"
                           : text + " in the namespace " + Quote(access.ns);
}

}  // namespace cluster_watcher::small_kubernetes
