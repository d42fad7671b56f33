// Requests to the Kubernetes API. Source: kubernetes.io "Kubernetes API Concepts".
#pragma once

#include <string>
#include <string_view>

#include "probes/kube/resource_type.h"
#include "probes/kube/transport.h"

namespace cluster_watcher {

// What is cached by the API server may lag behind; a consistent read doesn't.
enum class Freshness { kCached, kConsistent };

// The most objects of a page of a list, as kubectl asks for.
inline constexpr int kPageSize = 500;

enum class PropagationPolicy { kBackground, kForeground };

// Asks for the metadata of an object alone. A server that doesn't know this form sends all of it.
// Source: kubernetes.io "Kubernetes API Concepts".
inline constexpr std::string_view kMetadataOnly =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;q=0.1";

struct ApiRequest {
  enum class Expect { kObject, kList, kDocument };

  HttpRequest http;
  Expect expect = Expect::kDocument;
  ResourceType type;
  std::string ns;
  std::string name;  // of the object; empty for lists by selector
  bool metadata_only = false;
  // An answer that says the same as the last needn't be parsed again (LastGlance).
  bool may_be_known = false;

  static ApiRequest Get(const ResourceType& type, std::string_view ns, std::string_view name,
                        Freshness freshness = Freshness::kConsistent);
  static ApiRequest GetMetadata(const ResourceType& type, std::string_view ns,
                                std::string_view name,
                                Freshness freshness = Freshness::kConsistent);
  // A list with fieldSelector=metadata.name=NAME. An empty answer is positive evidence of absence,
  // and RBAC rules with resourceNames authorize the request.
  static ApiRequest ListByName(const ResourceType& type, std::string_view ns, std::string_view name,
                               Freshness freshness);
  // The first page of all objects of the kind.
  static ApiRequest List(const ResourceType& type, std::string_view ns);
  static ApiRequest ListMetadata(const ResourceType& type, std::string_view ns);
  // The same of pods that have neither succeeded nor failed, and that `selector` finds (empty:
  // all).
  static ApiRequest ListUnendedPods(std::string_view ns, std::string_view selector = {},
                                    bool metadata_only = true);
  // The first page of the objects that match `selector` (not empty).
  static ApiRequest ListBySelector(const ResourceType& type, std::string_view ns,
                                   std::string_view selector, bool metadata_only);
  static ApiRequest Discover(std::string path);  // "/apis", "/apis/apps/v1", "/version"
  // `body` is a JSON merge patch (RFC 7386).
  static ApiRequest MergePatch(const ResourceType& type, std::string_view ns, std::string_view name,
                               std::string body);
  static ApiRequest Create(const ResourceType& type, std::string_view ns, std::string body);
  // A creation of which nothing is kept: admission has its say, and the answer is what would be
  // made.
  static ApiRequest TryCreate(const ResourceType& type, std::string_view ns, std::string body);
  // Says which field manager writes.
  ApiRequest By(std::string_view manager) &&;
  // Deletes the object only if it has the UID, and the resourceVersion if one is given.
  struct Preconditions {
    std::string_view uid;
    std::string_view resource_version = {};  // empty: any
  };
  static ApiRequest Delete(const ResourceType& type, std::string_view ns, std::string_view name,
                           const Preconditions& preconditions, PropagationPolicy propagation,
                           bool dry_run);
};

}  // namespace cluster_watcher
