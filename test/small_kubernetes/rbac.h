// Who asks, and what they may do.
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

// What is asked for. Paths that aren't resources have an empty `resource`.
struct Access {
  std::string_view verb;
  std::string_view group;
  std::string_view resource;
  std::string_view subresource;
  std::string_view ns;
  std::string_view name;
  std::string_view path;
};

// Bearer tokens. Unlike real ones they don't expire; a test may revoke them.
class Tokens {
 public:
  void Add(std::string token, User user) { users_[std::move(token)] = std::move(user); }
  // Acts as system:serviceaccount:NS:NAME.
  std::string AddServiceAccount(const std::string& ns, const std::string& name);
  void Revoke(std::string_view token);
  // Whom requests without a token act as; system:anonymous unless set.
  void SetAnonymous(User user) { anonymous_ = std::move(user); }
  // Null: unknown.
  const User* Find(std::string_view token) const;

 private:
  User anonymous_{"system:anonymous", {"system:unauthenticated"}};
  std::map<std::string, User, std::less<>> users_;
  int issued_ = 0;
};

// Decides by the Roles, ClusterRoles and their bindings that are stored. Members of system:masters
// may all; everyone authenticated may use discovery and ask what they may.
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

// The words after "is forbidden: ".
std::string DescribeDenial(const User& user, const Access& access);

}  // namespace cluster_watcher::small_kubernetes
