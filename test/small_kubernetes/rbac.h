// Authentication and authorization.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "test/small_kubernetes/resource_table.h"
#include "test/small_kubernetes/store.h"

namespace cluster_watcher::small_kubernetes {

struct User {
  std::string name;
  std::vector<std::string> groups;

  bool IsIn(std::string_view group) const;
};

// What a request asks for. A path that isn't a resource has an empty `resource`.
struct Access {
  std::string_view verb;
  std::string_view group;
  std::string_view resource;
  std::string_view subresource;
  std::string_view ns;
  std::string_view name;
  std::string_view path;
};

// Bearer tokens. Unlike real ones they don't expire, but a test may revoke them.
class Tokens {
 public:
  void Add(std::string token, User user) { users_[std::move(token)] = std::move(user); }
  // Issues a token for system:serviceaccount:NS:NAME.
  std::string AddServiceAccount(const std::string& ns, const std::string& name);
  void Revoke(std::string_view token);
  // Sets the user of requests without a token; system:anonymous by default.
  void SetAnonymous(User user) { anonymous_ = std::move(user); }
  // Returns null if the token is unknown.
  const User* Find(std::string_view token) const;

 private:
  User anonymous_{"system:anonymous", {"system:unauthenticated"}};
  std::map<std::string, User, std::less<>> users_;
  int issued_ = 0;
};

// Decides by the stored Roles, ClusterRoles and bindings. Members of system:masters may do
// everything; all authenticated users may use discovery and review their own access.
class Authorizer {
 public:
  Authorizer(const Store& store, const ResourceTable& resources);

  bool Allows(const User& user, const Access& access) const;

 private:
  bool BindingsAllow(const Resource& bindings, std::string_view ns, const User& user,
                     const Access& access) const;

  const Store& store_;
  const Resource& roles_;
  const Resource& role_bindings_;
  const Resource& cluster_roles_;
  const Resource& cluster_role_bindings_;
};

// Returns the words after "is forbidden: ".
std::string DescribeDenial(const User& user, const Access& access);

}  // namespace cluster_watcher::small_kubernetes
