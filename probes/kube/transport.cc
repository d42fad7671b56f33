#include "probes/kube/transport.h"

namespace cluster_watcher {

const char* ToString(HttpMethod method) {
  switch (method) {
    case HttpMethod::kGet:
      return "GET";
    case HttpMethod::kPost:
      return "POST";
    case HttpMethod::kPatch:
      return "PATCH";
    case HttpMethod::kPut:
      return "PUT";
    case HttpMethod::kDelete:
      return "DELETE";
  }
  return "";
}

}  // namespace cluster_watcher
