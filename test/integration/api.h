// Changes the cluster beside the watcher, as an administrator. Any unexpected answer fails the
// test.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probes/base/json.h"
#include "probes/kube/curl_transport.h"
#include "probes/kube/resource_type.h"

namespace cluster_watcher::integration {

// A kind as its CustomResourceDefinition describes it.
struct CustomKind {
  ResourceType type;        // in the stored version
  bool has_status = false;  // has a status subresource
  bool has_scale = false;
};

// Registers the kind, so that its plural works in all later calls. Returns null if this is no
// CustomResourceDefinition.
const CustomKind* LearnKind(const std::string& definition);
// Returns null if the kind wasn't registered.
const CustomKind* FindCustomKind(const std::string& plural);

// The path of a collection ("deployments", in any group) or of an object in it.
std::string PathOf(const std::string& plural, const std::string& ns, const std::string& name = "");

class Api {
 public:
  explicit Api(const ApiServer& server);

  HttpResult Do(HttpMethod method, const std::string& target, const std::string& body = "",
                const std::string& content_type = "application/json");
  // Returns the document of a 2xx answer. Any other answer fails the test and returns null.
  JsonDocument Expect(HttpMethod method, const std::string& target, const std::string& body = "",
                      const std::string& content_type = "application/json");

  // Creates `body` and returns the UID. The API server fills in apiVersion and kind, or this
  // function does if the kind is custom.
  std::string Create(const std::string& plural, const std::string& ns, const std::string& body);
  // nullopt: there is no such object.
  std::optional<JsonDocument> Get(const std::string& plural, const std::string& ns,
                                  const std::string& name);
  // "" if there is no such object, or if it is being deleted.
  std::string Uid(const std::string& plural, const std::string& ns, const std::string& name);
  bool Exists(const std::string& plural, const std::string& ns, const std::string& name) {
    return Get(plural, ns, name).has_value();
  }
  // nullopt: there is no such annotation or object.
  std::optional<std::string> Annotation(const std::string& plural, const std::string& ns,
                                        const std::string& name, const std::string& key);
  std::vector<std::string> Names(const std::string& plural, const std::string& ns,
                                 const std::string& label_selector = "");

  // Sends a JSON merge patch. `name` may end with a subresource, as in "bob/scale".
  void Patch(const std::string& plural, const std::string& ns, const std::string& name,
             const std::string& body);
  // Merges `status` into the object's, as its operator does: by the subresource if the kind has
  // one.
  void SetStatus(const std::string& plural, const std::string& ns, const std::string& name,
                 const std::string& status);
  void Annotate(const std::string& plural, const std::string& ns, const std::string& name,
                const std::string& key, const std::string& value);
  void Scale(const std::string& plural, const std::string& ns, const std::string& name,
             int replicas);
  void Delete(const std::string& plural, const std::string& ns, const std::string& name,
              const std::string& propagation = "Background");
  // For an object that is being deleted.
  void ReleaseFinalizers(const std::string& plural, const std::string& ns, const std::string& name);

  // Returns every state of the object after `resource_version`, oldest first.
  std::vector<JsonDocument> History(const std::string& plural, const std::string& ns,
                                    const std::string& name, const std::string& resource_version);

  // Returns a token of this ServiceAccount.
  std::string Token(const std::string& ns, const std::string& account);

 private:
  std::unique_ptr<CurlTransport> transport_;
  std::string token_;
};

}  // namespace cluster_watcher::integration
