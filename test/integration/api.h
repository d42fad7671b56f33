// What the tests do to the cluster beside the watcher, as an administrator. Every answer that
// wasn't expected fails the test.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probes/base/json.h"
#include "probes/kube/curl_transport.h"
#include "probes/kube/resource_type.h"

namespace cluster_watcher::integration {

// A kind as its definition has it.
struct CustomKind {
  ResourceType type;        // in the version that is stored
  bool has_status = false;  // a status subresource
  bool has_scale = false;
};

// Makes the kind known here, so that its plural can be given to all that follows. Null: it is no
// CustomResourceDefinition.
const CustomKind* LearnKind(const std::string& definition);
// Null: nothing was learnt of it.
const CustomKind* FindCustomKind(const std::string& plural);

// The path of a collection ("deployments", in any group) or of an object in it.
std::string PathOf(const std::string& plural, const std::string& ns, const std::string& name = "");

class Api {
 public:
  explicit Api(const ApiServer& server);

  HttpResult Do(HttpMethod method, const std::string& target, const std::string& body = "",
                const std::string& content_type = "application/json");
  // The document that a 2xx answers; fails the test and is null where it was another answer.
  JsonDocument Expect(HttpMethod method, const std::string& target, const std::string& body = "",
                      const std::string& content_type = "application/json");

  // `body` without apiVersion and kind, which the API server fills in, or this where the kind is
  // custom. The UID.
  std::string Create(const std::string& plural, const std::string& ns, const std::string& body);
  // nullopt: there is none.
  std::optional<JsonDocument> Get(const std::string& plural, const std::string& ns,
                                  const std::string& name);
  // "" where there is none, or where it is being deleted.
  std::string Uid(const std::string& plural, const std::string& ns, const std::string& name);
  bool Exists(const std::string& plural, const std::string& ns, const std::string& name) {
    return Get(plural, ns, name).has_value();
  }
  // nullopt: no such annotation, or no such object.
  std::optional<std::string> Annotation(const std::string& plural, const std::string& ns,
                                        const std::string& name, const std::string& key);
  std::vector<std::string> Names(const std::string& plural, const std::string& ns,
                                 const std::string& label_selector = "");

  // A JSON merge patch; `name` may end with a subresource, "bob/scale".
  void Patch(const std::string& plural, const std::string& ns, const std::string& name,
             const std::string& body);
  // `status` is merged into the object's, by the subresource if the kind has one, as its operator
  // does it.
  void SetStatus(const std::string& plural, const std::string& ns, const std::string& name,
                 const std::string& status);
  void Annotate(const std::string& plural, const std::string& ns, const std::string& name,
                const std::string& key, const std::string& value);
  void Scale(const std::string& plural, const std::string& ns, const std::string& name,
             int replicas);
  void Delete(const std::string& plural, const std::string& ns, const std::string& name,
              const std::string& propagation = "Background");
  // Of an object that is being deleted.
  void ReleaseFinalizers(const std::string& plural, const std::string& ns, const std::string& name);

  // Every state that the object took after `resource_version`, oldest first.
  std::vector<JsonDocument> History(const std::string& plural, const std::string& ns,
                                    const std::string& name, const std::string& resource_version);

  // A token of this ServiceAccount.
  std::string Token(const std::string& ns, const std::string& account);

 private:
  std::unique_ptr<CurlTransport> transport_;
  std::string token_;
};

}  // namespace cluster_watcher::integration
