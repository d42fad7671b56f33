// Reads kubeconfigs: their entries as they are written. What they mean is api_server.cc's subject.
// Source: kubernetes.io "Organizing Cluster Access Using kubeconfig Files"; k8s.io/client-go
// tools/clientcmd.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/base/result.h"
#include "probes/kube/exec_config.h"

namespace cluster_watcher {

// The largest kubeconfig, and the largest file that one names, in bytes.
inline constexpr std::size_t kCredentialFileLimit = 4u << 20;

// An entry of the lists of clusters, users and contexts.
struct KubeconfigEntry {
  std::string name;
  std::string file;  // the kubeconfig that contains it
  // The fields that kubectl knows: non-empty texts, "true", non-empty lists and maps as "".
  std::map<std::string, std::string> fields;
  std::optional<ExecConfig> exec;     // of a user
  std::string exec_extension;         // of a cluster: JSON for plugins
  std::vector<std::string> problems;  // of `exec`

  bool Has(const std::string& key) const { return fields.count(key) > 0; }
  std::string Text(const std::string& key) const {
    const auto field = fields.find(key);
    return field == fields.end() ? std::string() : field->second;
  }
};

struct Kubeconfig {
  std::string files;  // as in $KUBECONFIG
  std::string current_context;
  std::vector<KubeconfigEntry> clusters;
  std::vector<KubeconfigEntry> users;
  std::vector<KubeconfigEntry> contexts;
};

// Returns the entry with this name; nullptr: there is none.
const KubeconfigEntry* Find(const std::vector<KubeconfigEntry>& entries, const std::string& name);
// Returns their names, quoted, for people.
std::string NamesOf(const std::vector<KubeconfigEntry>& entries);

// Reads a file as kubectl does, but for a key that stands twice in a map: that is an error. An
// error names the file, and the place, the entry or the field at fault.
Result<Kubeconfig> LoadKubeconfig(const std::string& file);
// Reads the files of a colon-separated list as in $KUBECONFIG, but those that don't exist: the
// first definition of a name wins.
Result<Kubeconfig> LoadKubeconfigList(const std::string& list);

}  // namespace cluster_watcher
