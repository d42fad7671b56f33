// A small Kubernetes in memory: answers HTTP requests like kube-apiserver 1.36 with a
// controller-manager, but without scheduler and kubelets. Deterministic: UIDs and generated names
// depend on a seed, times on the clock. Not thread-safe; HttpServer serializes access.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/clock.h"
#include "test/small_kubernetes/controllers.h"
#include "test/small_kubernetes/definitions.h"
#include "test/small_kubernetes/deletion.h"
#include "test/small_kubernetes/faults.h"
#include "test/small_kubernetes/managed_fields.h"
#include "test/small_kubernetes/rbac.h"
#include "test/small_kubernetes/render.h"
#include "test/small_kubernetes/resource_table.h"
#include "test/small_kubernetes/status.h"
#include "test/small_kubernetes/store.h"
#include "test/small_kubernetes/target.h"
#include "test/small_kubernetes/watch.h"

namespace cluster_watcher::small_kubernetes {

class SmallKubernetes {
 public:
  // A token whose user may do everything.
  static constexpr std::string_view kAdminToken = "admin";

  // Creates the namespaces that every cluster has.
  explicit SmallKubernetes(Clock& clock, std::uint64_t seed = 1);
  SmallKubernetes(const SmallKubernetes&) = delete;
  SmallKubernetes& operator=(const SmallKubernetes&) = delete;

  // --- For transports and servers. `fault`, from GetFaults, determines the answer. A watch is
  // answered with the events so far, unless `watch` is given; then it is set if the request is a
  // watch and is allowed.
  Response Serve(const Request& request, const Fault* fault = nullptr,
                 std::optional<Watch>* watch = nullptr);

  // --- For tests: changes to the cluster, as admin, without faults, hooks or log.
  Response Admin(std::string_view method, std::string_view target, std::string_view body = {},
                 std::string_view content_type = {});
  // Creates an object, or replaces it and then its status. Kind and namespace ("default" if
  // missing) come from the object.
  Response Apply(std::string_view json);

  // Serves another kind as a CustomResourceDefinition would, but without one. Sets `custom`.
  const Resource& AddKind(Resource resource);
  Tokens& GetTokens() { return tokens_; }
  Faults& GetFaults() { return faults_; }
  Store& GetStore() { return store_; }
  const ResourceTable& Resources() const { return resources_; }

  // Runs the controllers until nothing changes; every write does so unless `settle_after_writes` is
  // off.
  void Settle();
  bool settle_after_writes = true;
  void SetPodsRun(bool run);

  // Answers reads with resourceVersion=0 from a state that is `versions` or `age` old, whichever
  // lies further back.
  void SetStaleness(std::uint64_t versions, Duration age = Duration{0});

  // Called before a request takes effect, and before its answer is sent; may call Admin.
  std::function<void(const Request&, const User&)> on_request;
  std::function<void(const Request&, const User&, Response&)> on_answer;

  // Refuses what is served as the policy of manifests/brake does: marks that are added, and
  // deletes.
  bool brake = false;
  // With it, refuses `abandoned-since` as well.
  bool freeze = false;

  bool log_requests = true;
  // Of the logged requests, those of this method (empty: any) whose target holds `contains`.
  std::size_t Count(std::string_view method, std::string_view contains = {}) const;

 private:
  struct Call {
    const Request& request;
    Target target;
    const User& user;
    const Resource* resource = nullptr;
    Representation representation = Representation::kWhole;
    bool dry_run = false;
  };

  Response Dispatch(const Request& request, std::optional<Watch>* watch);
  Response Route(Call& call, std::optional<Watch>* watch);
  Response Discover(const Call& call) const;
  Response Get(const Call& call) const;
  Response List(const Call& call, std::optional<Watch>* watch) const;
  Response Create(const Call& call, Value body);
  Response Post(const Call& call);
  Response Put(const Call& call);
  Response Patch(const Call& call);
  // Stores the result of PUT or PATCH on `old`.
  Response Replace(const Call& call, const ObjectPtr& old, Value body);
  FieldWrite WriteOf(const Call& call) const;
  Response ReadScale(const Call& call, const Object& object) const;
  Response WriteScale(const Call& call, const ObjectPtr& old);
  Response DeleteOne(const Call& call);
  Response Evict(const Call& call, const Value& body);
  Response DeleteMany(const Call& call);
  Response Review(const Call& call, Value body) const;
  static Response Reviewed(const Call& call, Value body);
  Response RequestToken(const Call& call, Value body);

  std::optional<Response> Brake(const Call& call, const Object& object, const Value* changed) const;
  // Says why a body doesn't fit the requested object; nullopt if it does.
  std::optional<Response> Refuse(const Call& call, const Value& body) const;
  std::optional<DeleteOptions> ReadDeleteOptions(const Call& call, Response& refusal) const;
  std::optional<Filter> ReadFilter(const Call& call, Response& refusal) const;
  // Returns the version to read from; nullopt if it is in the future.
  std::optional<std::uint64_t> ReadVersion(const Call& call) const;
  ObjectPtr Stored(const Call& call) const;
  Response Show(const Call& call, const Object& object, int status = 200) const;

  ResourceTable resources_;
  Store store_;
  Controllers controllers_;
  Definitions definitions_;
  Authorizer authorizer_;
  Tokens tokens_;
  User nobody_;
  Faults faults_;
  std::vector<std::pair<std::string, std::string>> log_;  // method, target
  bool serves_ = false;                                   // a request that comes from outside
  std::uint64_t stale_versions_ = 0;
  Duration stale_age_{0};
};

}  // namespace cluster_watcher::small_kubernetes
